// What threads learn of each other at a barrier with a number: those who wait there, of all who come to it.
#include <algorithm>
#include <map>

#include "common/sim/order/clocks.hpp"

namespace simt::order {

// The epoch of all lanes of a warp, if these are all and have the same; else 0.
Epoch BlockOrder::whole_warp(const std::vector<std::pair<int, Epoch>>& lanes) const {
  const int first = lanes.front().first / 32 * 32;
  if (lanes.size() != std::size_t(std::min(32, int(clocks_.size()) - first))) return 0;
  const Epoch epoch = lanes.front().second;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i] != std::pair(first + int(i), epoch)) return 0;
  return epoch;
}

void BlockOrder::arrive(int thread, Arrivals& arrived) {
  ThreadClock& c = clock(thread);
  const auto warp = std::uint32_t(thread / 32);
  View own = over_for({thread});
  if (warp_floors_[warp] > floor_) own.warps.emplace_back(warp, warp_floors_[warp]);
  arrived.over = joined_views(arrived.over, own);
  arrived.news = joined(arrived.news, arriving(thread, c.known, true));
  c.epoch = next_epoch(c.epoch);
  arrived.threads.emplace_back(thread, c.epoch);
}

void BlockOrder::barrier_of(const std::vector<int>& threads, const Arrivals& arrived) {
  Epoch latest = 0;
  for (const int t : threads) latest = std::max(latest, clock(t).epoch);
  const Epoch now = next_epoch(latest);
  std::vector<std::pair<int, Epoch>> all_here = arrived.threads;
  for (const int t : threads) all_here.emplace_back(t, now);
  std::map<int, std::vector<std::pair<int, Epoch>>> lanes_of;  // by warp
  std::sort(all_here.begin(), all_here.end());
  for (const auto& lane : all_here) lanes_of[lane.first / 32].push_back(lane);
  View here{serial_, 0, {}, {}};
  for (const auto& [warp, lanes] : lanes_of) {
    if (const Epoch epoch = whole_warp(lanes); epoch != 0) {
      here.warps.emplace_back(std::uint32_t(warp), epoch);
      continue;
    }
    for (const auto& [thread, epoch] : lanes) {
      const std::pair entry(std::uint32_t(thread), epoch);
      if (!here.actors.empty() && here.actors.back().first == entry.first)
        here.actors.back() = entry;  // it has come twice, and they are sorted
      else
        here.actors.push_back(entry);
    }
  }
  View view = joined_views(here, joined_views(over_for(threads), arrived.over));
  view.block = serial_;
  if (any_fenced_) share_fences(threads, arrived.news);
  const KnownPointer all = joined(joined(joined_of(threads, &ThreadClock::known), arrived.news.known), std::move(view));
  for (const int t : threads) {
    clock(t).epoch = now;
    clock(t).known = all;
  }
}

}  // namespace simt::order
