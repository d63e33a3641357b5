// What the threads of a cluster's blocks learn of each other at its barrier.
#include <algorithm>

#include "common/sim/order/clocks.hpp"

namespace simt::order {

void BlockOrder::arrive_at_cluster(int thread) {
  ClusterArrival& a = cluster_arrival_;
  if (a.threads.empty()) {
    Epoch latest = 0;
    for (const ThreadClock& c : clocks_) latest = std::max(latest, c.epoch);
    a.floor = next_epoch(latest);
    a.more.block = serial_;
  }
  ThreadClock& c = clock(thread);
  if (c.known != nullptr && c.known != a.last_known) {
    a.known = joined(a.known, c.known);
    a.last_known = c.known;
  }
  a.fenced = joined(a.fenced, c.fenced);
  View own = over_for({thread});
  if (c.epoch < a.floor) {
    c.epoch = a.floor;
  } else {  // it has synchronised since the first thread arrived
    c.epoch = next_epoch(c.epoch);
    own.actors.insert(own.actors.begin(), {std::uint32_t(thread), c.epoch});
  }
  if (!own.actors.empty()) a.more = joined_views(a.more, own);
  a.threads.push_back(thread);
}

News BlockOrder::arrived_at_cluster() {
  ClusterArrival& a = cluster_arrival_;
  View view{serial_, 0, {}, {}};
  if (a.threads.size() == clocks_.size()) {
    view.all = a.floor;
  } else {
    std::sort(a.threads.begin(), a.threads.end());
    for (const int t : a.threads) view.actors.emplace_back(std::uint32_t(t), a.floor);
  }
  for (std::uint32_t actor = 0; actor < floors_.size(); ++actor)
    if (actor >= actors_of_a_kind && floors_[actor] > 0) view.actors.emplace_back(actor, floors_[actor]);
  if (!a.threads.empty()) view = joined_views(view, a.more);
  const News news{joined(a.known, std::move(view)), a.fenced, nullptr};
  a = {};
  return news;
}

}  // namespace simt::order
