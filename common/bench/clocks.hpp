// What a GPU does while it is timed: clock, power, and why it runs slower than it could. In: NVML. Out: parts of a record.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "common/bench/record.hpp"
#include "common/bench/nvml.hpp"

namespace tile {

/// Clocks, power and temperature now; an empty object without NVML.
Record clocks_now(const Nvml& nvml);

/// Samples a GPU's SM clock, power and throttle reasons while it lives.
class ClockSampler {
 public:
  explicit ClockSampler(const Nvml& nvml);
  ~ClockSampler();
  ClockSampler(const ClockSampler&) = delete;

  /// Ends the sampling. {"samples", "sm_mhz": [lowest, median, highest], "power_w": the same, "throttled": [reasons]},
  /// or {"samples": 0} where NVML could not be asked.
  Record stop();

 private:
  void sample();

  const Nvml& nvml_;
  std::atomic<bool> running_{true};
  std::vector<GpuState> states_;
  std::thread thread_;
};

}  // namespace tile
