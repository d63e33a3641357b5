// What a GPU does while it is timed: clock, power, and why it runs slower than it could.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "common/records/record.hpp"

namespace tile {

/// Samples a GPU's SM clock, power and throttle reasons through NVML, the driver's management library, while it lives.
/// NVML is opened at run time: it comes with the driver, its header not everywhere.
class ClockSampler {
 public:
  /// `pci_bus_id` as CUDA gives it ("0000:19:00.0"). Without NVML nothing is sampled.
  explicit ClockSampler(const std::string& pci_bus_id);
  ~ClockSampler();
  ClockSampler(const ClockSampler&) = delete;

  /// Ends the sampling. {"samples", "sm_mhz": [lowest, median, highest], "power_w": the same, "throttled": [reasons]},
  /// or {"samples": 0} where NVML could not be asked.
  Record stop();

 private:
  void sample();

  void* library_ = nullptr;
  void* device_ = nullptr;
  std::atomic<bool> running_{false};
  std::thread thread_;
  std::vector<double> mhz_, watts_;
  unsigned long long reasons_ = 0;  ///< all that were seen, NVML's bits
};

}  // namespace tile
