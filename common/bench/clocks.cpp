#include "common/bench/clocks.hpp"

#include <algorithm>
#include <chrono>

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
