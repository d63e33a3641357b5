#include "common/bench/clocks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <type_traits>

namespace tile {
namespace {

// nvmlClocksEventReasons. Idle and the clocks that an application asked for are no throttling.
const std::vector<std::pair<unsigned long long, const char*>> throttle_reasons{
    {0x4, "power cap"},    {0x8, "hardware slowdown"},       {0x10, "synchronised boost"},
    {0x20, "temperature"}, {0x40, "temperature (hardware)"}, {0x80, "power brake"}};

Record spread(const std::vector<GpuState>& states, double GpuState::*reading) {
  std::vector<double> values;
  for (const GpuState& state : states) values.push_back(state.*reading);
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

// The part of NVML's interface that is used, as its documentation has it; 0 is success everywhere.
struct Nvml::Functions {
  using Status = int;
  using Device = void*;
  static constexpr int clock_sm = 1, clock_memory = 2, temperature_of_gpu = 0;

  Status (*nvmlInit_v2)();
  Status (*nvmlShutdown)();
  Status (*nvmlSystemGetDriverVersion)(char* version, unsigned length);
  Status (*nvmlDeviceGetHandleByPciBusId_v2)(const char* pci_bus_id, Device* device);
  Status (*nvmlDeviceGetClockInfo)(Device device, int type, unsigned* mhz);
  Status (*nvmlDeviceGetPowerUsage)(Device device, unsigned* milliwatts);
  Status (*nvmlDeviceGetPowerManagementLimit)(Device device, unsigned* milliwatts);
  Status (*nvmlDeviceGetTemperature)(Device device, int sensor, unsigned* celsius);
  Status (*nvmlDeviceGetCurrentClocksThrottleReasons)(Device device, unsigned long long* reasons);

  /// The name of a function that the library lacks, or "".
  std::string load(void* library) {
    std::string lacking;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) lacking = name;
    };
    find(nvmlInit_v2, "nvmlInit_v2");
    find(nvmlShutdown, "nvmlShutdown");
    find(nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion");
    find(nvmlDeviceGetHandleByPciBusId_v2, "nvmlDeviceGetHandleByPciBusId_v2");
    find(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo");
    find(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
    find(nvmlDeviceGetPowerManagementLimit, "nvmlDeviceGetPowerManagementLimit");
    find(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature");
    find(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return lacking;
  }
};

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW)) {
  if (library_ == nullptr) {
    missing_ = fmt::format("{} cannot be opened", library);
    return;
  }
  auto found = std::make_unique<Functions>();
  if (const std::string lacking = found->load(library_); !lacking.empty())
    missing_ = fmt::format("{} has no {}", library, lacking);
  else if (const int status = found->nvmlInit_v2(); status != 0)
    missing_ = fmt::format("nvmlInit_v2 of {} fails with status {}", library, status);
  else {
    functions_ = found.release();
    if (const int no = functions_->nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.c_str(), &device_); no != 0)
      missing_ = fmt::format("NVML does not know the GPU {} (status {})", pci_bus_id, no);
    else if (!state())
      missing_ = fmt::format("NVML does not say what the GPU {} does", pci_bus_id);
  }
}

Nvml::~Nvml() {
  if (functions_ != nullptr) functions_->nvmlShutdown();
  delete functions_;
  if (library_ != nullptr) dlclose(library_);
}

std::optional<GpuState> Nvml::state() const {
  if (functions_ == nullptr || device_ == nullptr) return {};
  const Functions& ask = *functions_;
  unsigned sm = 0, memory = 0, power = 0, limit = 0, temperature = 0;
  unsigned long long reasons = 0;
  for (const int status :
       {ask.nvmlDeviceGetClockInfo(device_, Functions::clock_sm, &sm),
        ask.nvmlDeviceGetClockInfo(device_, Functions::clock_memory, &memory),
        ask.nvmlDeviceGetPowerUsage(device_, &power), ask.nvmlDeviceGetPowerManagementLimit(device_, &limit),
        ask.nvmlDeviceGetTemperature(device_, Functions::temperature_of_gpu, &temperature),
        ask.nvmlDeviceGetCurrentClocksThrottleReasons(device_, &reasons)})
    if (status != 0) return {};
  return GpuState{double(sm), double(memory), power * 1e-3, limit * 1e-3, double(temperature), reasons};
}

std::string Nvml::driver() const {
  std::array<char, 80> version{};
  if (functions_ == nullptr || functions_->nvmlSystemGetDriverVersion(version.data(), version.size()) != 0) return "";
  return version.data();
}

Record clocks_now(const Nvml& nvml) {
  const auto now = nvml.state();
  if (!now) return Record::object();
  return {{"sm_mhz", now->sm_mhz},
          {"memory_mhz", now->memory_mhz},
          {"power_w", now->power_w},
          {"power_limit_w", now->power_limit_w},
          {"temperature_c", now->temperature_c}};
}

ClockSampler::ClockSampler(const Nvml& nvml) : nvml_(nvml), thread_([this] { sample(); }) {}

ClockSampler::~ClockSampler() { stop(); }

void ClockSampler::sample() {
  while (running_) {
    const auto now = nvml_.state();
    if (!now) return;
    states_.push_back(*now);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Record ClockSampler::stop() {
  running_ = false;
  if (thread_.joinable()) thread_.join();
  if (states_.empty()) return {{"samples", 0}};
  unsigned long long reasons = 0;
  for (const GpuState& state : states_) reasons |= state.throttle_reasons;
  Record throttled = Record::array();
  for (const auto& [bit, name] : throttle_reasons)
    if (reasons & bit) throttled.push_back(name);
  return {{"samples", states_.size()},
          {"sm_mhz", spread(states_, &GpuState::sm_mhz)},
          {"power_w", spread(states_, &GpuState::power_w)},
          {"throttled", throttled}};
}

}  // namespace tile
