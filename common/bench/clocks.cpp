#include "common/bench/clocks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace tile {
namespace {

// nvmlClocksEventReasons. Idle and application clocks do not count as throttling.
constexpr std::pair<unsigned long long, const char*> throttle_reasons[] = {
    {0x4, "power cap"},    {0x8, "hardware slowdown"},       {0x10, "synchronised boost"},
    {0x20, "temperature"}, {0x40, "temperature (hardware)"}, {0x80, "power brake"}};

// Lowest, median and highest.
Record spread(const std::vector<Record>& states, const char* reading) {
  std::vector<double> values;
  for (const Record& state : states) values.push_back(state.at(reading));
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

int Nvml::call(const char* name, auto... arguments) const {
  const auto function = reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library_, name));
  return function == nullptr ? -1 : function(arguments...);
}

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW)) {
  if (library_ == nullptr)
    missing_ = fmt::format("{} cannot be opened", library);
  else if (call("nvmlInit_v2") != 0 || call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device_) != 0 ||
           state().empty())
    missing_ = fmt::format("NVML gives no readings for the GPU {}", pci_bus_id);
}

Record Nvml::state() const {
  constexpr int clock_sm = 1, clock_memory = 2, temperature_of_gpu = 0;
  unsigned sm = 0, memory = 0, power = 0, limit = 0, temperature = 0;
  unsigned long long reasons = 0;
  if (device_ == nullptr || call("nvmlDeviceGetClockInfo", device_, clock_sm, &sm) != 0 ||
      call("nvmlDeviceGetClockInfo", device_, clock_memory, &memory) != 0 ||
      call("nvmlDeviceGetPowerUsage", device_, &power) != 0 ||
      call("nvmlDeviceGetPowerManagementLimit", device_, &limit) != 0 ||
      call("nvmlDeviceGetTemperature", device_, temperature_of_gpu, &temperature) != 0 ||
      call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons) != 0)
    return Record::object();
  return {{"sm_mhz", double(sm)},          {"memory_mhz", double(memory)},         {"power_w", power * 1e-3},
          {"power_limit_w", limit * 1e-3}, {"temperature_c", double(temperature)}, {"throttle_reasons", reasons}};
}

std::string Nvml::driver() const {
  char version[80] = "unknown";
  if (device_ != nullptr) call("nvmlSystemGetDriverVersion", version, unsigned(sizeof version));
  return version;
}

ClockSampler::ClockSampler(const Nvml& nvml)
    : thread_([this, &nvml](std::stop_token stopped) {
        using namespace std::chrono_literals;
        for (Record now; !stopped.stop_requested() && !(now = nvml.state()).empty(); std::this_thread::sleep_for(5ms))
          states_.push_back(now);
      }) {}

Record ClockSampler::stop() {
  thread_.request_stop();
  thread_.join();
  if (states_.empty()) return {{"samples", 0}};
  unsigned long long reasons = 0;
  for (const Record& state : states_) reasons |= state.at("throttle_reasons").get<unsigned long long>();
  std::vector<const char*> throttled;
  for (const auto& [bit, name] : throttle_reasons)
    if (reasons & bit) throttled.push_back(name);
  return {{"samples", states_.size()},
          {"sm_mhz", spread(states_, "sm_mhz")},
          {"power_w", spread(states_, "power_w")},
          {"throttled", fmt::format("{}", fmt::join(throttled, "; "))}};
}

}  // namespace tile
