// What a GPU does while it is timed: clock, power, and why it runs slower than it could. In: NVML, the driver's
// management library, which is opened at run time, for it comes with the driver, and its header not everywhere. Out:
// readings, or why there are none; parts of a record.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// What a GPU does now.
struct GpuState {
  double sm_mhz, memory_mhz;
  double power_w, power_limit_w;
  double temperature_c;
  unsigned long long throttle_reasons;  ///< NVML's bits
};

class Nvml {
 public:
  /// `pci_bus_id` as CUDA gives it ("0000:19:00.0"). Where NVML cannot be opened or asked, missing() says why.
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;

  /// "", or why there are no readings: one line.
  const std::string& missing() const { return missing_; }
  /// Nothing where one of the readings is refused.
  std::optional<GpuState> state() const;
  /// The driver's version ("580.159.04"), or "".
  std::string driver() const;

 private:
  /// Calls a function of the library, and returns its status: 0 is success, -1 says that the library lacks it.
  int call(const char* name, auto... arguments) const;

  void* library_ = nullptr;
  bool initialized_ = false;
  void* device_ = nullptr;
  std::string missing_;
  mutable std::string failed_;  ///< the last call that did, and its status
};

/// Clocks, power and temperature now; an empty object without NVML.
Record clocks_now(const Nvml& nvml);

/// Samples a GPU's SM clock, power and throttle reasons while it lives.
class ClockSampler {
 public:
  explicit ClockSampler(const Nvml& nvml);
  ~ClockSampler();
  ClockSampler(const ClockSampler&) = delete;

  /// Ends the sampling. {"samples", "sm_mhz": [lowest, median, highest], "power_w": the same, "throttled":
  /// [reasons]}, or {"samples": 0} where NVML could not be asked.
  Record stop();

 private:
  void sample();

  const Nvml& nvml_;
  std::atomic<bool> running_{true};
  std::vector<GpuState> states_;
  std::thread thread_;
};

}  // namespace tile
