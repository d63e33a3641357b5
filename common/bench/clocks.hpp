// The state of a GPU while it is timed: clock, power, and throttle reasons. In: NVML, the driver's management library,
// which is opened at run time because it comes with the driver, and its header is not always installed. Out: readings, or
// the reason why there are none; parts of a record.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

class Nvml {
 public:
  /// `pci_bus_id` as CUDA gives it ("0000:19:00.0"). If NVML cannot be opened or queried, missing() says why.
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");

  /// "", or the reason why there are no readings, in one line.
  const std::string& missing() const { return missing_; }
  /// The current clocks, power and temperature, and NVML's bits of "throttle_reasons"; empty if one is not available.
  Record state() const;
  /// The driver's version ("580.159.04"), or "unknown".
  std::string driver() const;

 private:
  /// Calls a function of the library. Returns its status: 0 is success, -1 means that there is no such function.
  int call(const char* name, auto... arguments) const;

  void* library_;
  void* device_ = nullptr;
  std::string missing_;
};

/// NVML for CUDA device 0. If it cannot be queried, a line on stderr says so, once. GPU programs only, as are the next two.
const Nvml& nvml();
/// The head of a record: GPU, driver, nvcc and the architecture it compiled for, date, clock.
Record describe_gpu();
/// A kernel's attributes according to the driver: mangled name, registers, spills, shared memory, resident blocks per SM.
Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared);

/// Samples a GPU's SM clock, power and throttle reasons while it lives.
class ClockSampler {
 public:
  explicit ClockSampler(const Nvml& nvml);

  /// Ends the sampling. Returns {"samples", "sm_mhz": [lowest, median, highest], "power_w": the same, "throttled":
  /// reasons}, or {"samples": 0} if NVML could not be queried.
  Record stop();

 private:
  std::vector<Record> states_;
  std::jthread thread_;
};

}  // namespace tile
