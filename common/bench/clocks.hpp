// What a GPU does while it is timed: clock, power, and why it runs slower than it could. In: NVML, the driver's
// management library, which is opened at run time, for it comes with the driver, and its header not everywhere. Out:
// readings, or why there are none; parts of a record.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

class Nvml {
 public:
  /// `pci_bus_id` as CUDA gives it ("0000:19:00.0"). Where NVML cannot be opened or asked, missing() says why.
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");

  /// "", or why there are no readings: one line.
  const std::string& missing() const { return missing_; }
  /// Clocks, power and temperature now, and NVML's bits of "throttle_reasons"; empty where one of them is refused.
  Record state() const;
  /// The driver's version ("580.159.04"), or "unknown".
  std::string driver() const;

 private:
  /// Calls a function of the library. Its status: 0 is success, -1 says that there is no such function.
  int call(const char* name, auto... arguments) const;

  void* library_;
  void* device_ = nullptr;
  std::string missing_;
};

/// NVML for the GPU that CUDA calls 0. Where it cannot be asked, a line on stderr says so, once. GPU programs only, as the next two.
const Nvml& nvml();
/// The head of a record: GPU and what one of its SMs holds, driver, nvcc and the architecture it compiled for, date, clock.
Record describe_gpu();
/// What the compiler and the driver say of a kernel: mangled name, registers, spills, shared memory, resident blocks per SM.
Record kernel_attributes(const void* function, int block_threads, std::size_t dynamic_shared);

/// Samples a GPU's SM clock, power and throttle reasons while it lives.
class ClockSampler {
 public:
  explicit ClockSampler(const Nvml& nvml);

  /// Ends the sampling. {"samples", "sm_mhz": [lowest, median, highest], "power_w": the same, "throttled":
  /// reasons}, or {"samples": 0} where NVML could not be asked.
  Record stop();

 private:
  std::vector<Record> states_;
  std::jthread thread_;
};

}  // namespace tile
