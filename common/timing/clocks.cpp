#include "common/timing/clocks.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace tile {
namespace {

// The part of NVML's interface that is used, as its documentation has it; 0 is success everywhere.
using Status = int;
constexpr int clock_sm = 1;  // NVML_CLOCK_SM

// nvmlClocksEventReasons. Idle and the clocks that an application asked for are no throttling.
const std::vector<std::pair<unsigned long long, const char*>> throttle_reasons{
    {0x4, "power cap"},    {0x8, "hardware slowdown"},       {0x10, "synchronised boost"},
    {0x20, "temperature"}, {0x40, "temperature (hardware)"}, {0x80, "power brake"}};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

Record spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

ClockSampler::ClockSampler(const std::string& pci_bus_id) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  if (library_ == nullptr) return;
  const auto initialise = symbol<Status (*)()>(library_, "nvmlInit_v2");
  const auto find = symbol<Status (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || find == nullptr || initialise() != 0 || find(pci_bus_id.c_str(), &device_) != 0) return;
  running_ = true;
  thread_ = std::thread([this] { sample(); });
}

ClockSampler::~ClockSampler() {
  stop();
  if (library_ != nullptr) dlclose(library_);
}

void ClockSampler::sample() {
  const auto clock = symbol<Status (*)(void*, int, unsigned*)>(library_, "nvmlDeviceGetClockInfo");
  const auto power = symbol<Status (*)(void*, unsigned*)>(library_, "nvmlDeviceGetPowerUsage");
  const auto reasons =
      symbol<Status (*)(void*, unsigned long long*)>(library_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (clock == nullptr || power == nullptr || reasons == nullptr) return;
  while (running_) {
    unsigned mhz = 0, milliwatts = 0;
    unsigned long long now = 0;
    if (clock(device_, clock_sm, &mhz) == 0 && power(device_, &milliwatts) == 0 && reasons(device_, &now) == 0) {
      mhz_.push_back(mhz);
      watts_.push_back(milliwatts * 1e-3);
      reasons_ |= now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Record ClockSampler::stop() {
  running_ = false;
  if (thread_.joinable()) thread_.join();
  if (mhz_.empty()) return {{"samples", 0}};
  Record throttled = Record::array();
  for (const auto& [bit, name] : throttle_reasons)
    if (reasons_ & bit) throttled.push_back(name);
  return {{"samples", mhz_.size()}, {"sm_mhz", spread(mhz_)}, {"power_w", spread(watts_)}, {"throttled", throttled}};
}

}  // namespace tile
