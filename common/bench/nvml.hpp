// NVML, the driver's management library, as far as this book asks it: clocks, power, temperature, driver. It is opened at run time,
// for it comes with the driver, and its header not everywhere. In: a GPU's PCI address. Out: readings, or why there are none.
#pragma once

#include <optional>
#include <string>

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
  struct Functions;

  void* library_ = nullptr;
  Functions* functions_ = nullptr;
  void* device_ = nullptr;
  std::string missing_;
};

}  // namespace tile
