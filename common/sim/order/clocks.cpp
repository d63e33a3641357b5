#include "common/sim/order/clocks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

namespace simt::order {
namespace {

using Entries = std::vector<std::pair<std::uint32_t, Epoch>>;

Epoch value_at(const Entries& entries, std::uint32_t number) {
  const auto it = std::lower_bound(entries.begin(), entries.end(), std::pair{number, Epoch(0)});
  return it != entries.end() && it->first == number ? it->second : 0;
}

// Two lists that are sorted by a key as one; what both have is joined.
template <class Item, class Key, class Join>
std::vector<Item> merged(const std::vector<Item>& one, const std::vector<Item>& other, Key Item::*key, Join join) {
  std::vector<Item> result;
  result.reserve(one.size() + other.size());
  auto a = one.begin(), b = other.begin();
  while (a != one.end() && b != other.end()) {
    if ((*a).*key == (*b).*key)
      result.push_back(join(*a++, *b++));
    else
      result.push_back((*a).*key < (*b).*key ? *a++ : *b++);
  }
  result.insert(result.end(), a, one.end());
  result.insert(result.end(), b, other.end());
  return result;
}

Entries larger_of_each(const Entries& one, const Entries& other) {
  using Entry = Entries::value_type;
  return merged(one, other, &Entry::first,
                [](const Entry& a, const Entry& b) { return Entry(a.first, std::max(a.second, b.second)); });
}

}  // namespace

View joined_views(const View& one, const View& other) {
  return {one.block, std::max(one.all, other.all), larger_of_each(one.warps, other.warps),
          larger_of_each(one.actors, other.actors)};
}

Epoch View::of(std::uint32_t actor) const {
  if (actor >= copies_of) return value_at(actors, actor);
  return std::max({all, value_at(warps, actor / 32), value_at(actors, actor)});
}

const View* Known::of_block(std::uint32_t block) const {
  const auto it =
      std::lower_bound(views.begin(), views.end(), block, [](const View& v, std::uint32_t b) { return v.block < b; });
  return it != views.end() && it->block == block ? &*it : nullptr;
}

KnownPointer joined(const KnownPointer& one, const KnownPointer& other) {
  if (one == nullptr || one == other) return other;
  if (other == nullptr) return one;
  auto result = std::make_shared<Known>();
  result->views = merged(one->views, other->views, &View::block, joined_views);
  if (result->views == one->views) return one;
  if (result->views == other->views) return other;
  return result;
}

KnownPointer joined(const KnownPointer& one, View more) {
  if (more.all == 0 && more.warps.empty() && more.actors.empty()) return one;
  auto known = std::make_shared<Known>();
  known->views.push_back(std::move(more));
  return joined(one, KnownPointer(std::move(known)));
}

News joined(const News& one, const News& other) {
  return {joined(one.known, other.known), joined(one.fenced, other.fenced),
          joined(one.fenced_in_block, other.fenced_in_block)};
}

void BlockOrder::start(std::uint32_t serial, int threads) {
  serial_ = serial;
  any_fenced_ = false;
  floor_ = 1;
  warp_floors_.fill(0);
  used_.clear();
  floors_.clear();
  clocks_.assign(std::size_t(threads), {});
  last_learnt_ = last_fenced_ = last_fenced_in_block_ = {};
  cluster_arrival_ = {};
}

void BlockOrder::use(std::uint32_t kind) {
  if (std::find(used_.begin(), used_.end(), kind) != used_.end()) return;
  used_.insert(std::upper_bound(used_.begin(), used_.end(), kind), kind);
  floors_.resize(kinds * actors_of_a_kind);
}

Stamp BlockOrder::stamp_of(int thread, const By& by) const {
  const auto number = std::uint32_t(thread);
  if (by.what == By::What::copies) return stamp(serial_, copies_of + number, clock(thread).copies_group);
  if (by.what == By::What::bulk) return stamp(serial_, bulk_of + number, clock(thread).bulk_group);
  if (by.what == By::What::mbarrier)
    return stamp(by.block == 0 ? serial_ : by.block, mbarrier_of + by.mbarrier, by.phase);
  return stamp_of(thread);
}

Epoch BlockOrder::next_epoch(Epoch latest) const {
  if (latest >= last_epoch)
    throw std::length_error("a thread has synchronised 33,554,431 times, more than can be counted");
  return latest + 1;
}

bool BlockOrder::known_before(Stamp before, int thread) const {
  const View* view = clock(thread).known->of_block(block_of(before));
  return view != nullptr && epoch_of(before) < view->of(actor_of(before));
}

bool BlockOrder::over(std::uint32_t block, std::uint32_t actor, Epoch epoch, int thread) const {
  if (block == serial_ && own_over(actor, epoch, thread)) return true;
  const KnownPointer& known = clock(thread).known;
  const View* view = known == nullptr ? nullptr : known->of_block(block);
  return view != nullptr && epoch < value_at(view->actors, actor);
}

bool BlockOrder::proxy_fenced(Stamp written, bool in_global_memory, int thread) const {
  if (actor_of(written) >= copies_of) return true;
  // The writer has fenced, and this thread has learnt of that; or this thread has fenced what it had learnt of the writer.
  const std::uint32_t kind = in_global_memory ? fenced_global_of : fenced_shared_of;
  if (over(block_of(written), kind + actor_of(written), epoch_of(written), thread)) return true;
  const ThreadClock& mine = clock(thread);
  const KnownPointer& fenced = in_global_memory ? mine.proxy_fenced_global : mine.proxy_fenced;
  const View* view = fenced == nullptr ? nullptr : fenced->of_block(block_of(written));
  return view != nullptr && epoch_of(written) < view->of(actor_of(written));
}

bool BlockOrder::init_fenced(Stamp initialised, int thread) const {
  return over(block_of(initialised), fenced_inits_of + actor_of(initialised), epoch_of(initialised), thread) ||
         proxy_fenced(initialised, false, thread);
}

KnownPointer BlockOrder::joined_of(const std::vector<int>& threads, KnownPointer ThreadClock::*what) const {
  KnownPointer all;
  std::set<const Known*> seen;
  for (const int t : threads)
    if (const KnownPointer& known = clock(t).*what; known != nullptr && seen.insert(known.get()).second)
      all = joined(all, known);
  return all;
}

View BlockOrder::over_for(const std::vector<int>& threads) const {
  View view{serial_, 0, {}, {}};
  for (const std::uint32_t kind : used_)
    for (const int t : threads)
      if (const Epoch over = clock(t).over[kind_of(kind)]; over > 0)
        view.actors.emplace_back(kind + std::uint32_t(t), over);
  std::sort(view.actors.begin(), view.actors.end());
  return view;
}

void BlockOrder::share_fences(const std::vector<int>& threads, const News& others) {
  for (const auto& [what, more] : {std::pair(&ThreadClock::fenced, &News::fenced),
                                   std::pair(&ThreadClock::fenced_in_block, &News::fenced_in_block)}) {
    const KnownPointer all = joined(joined_of(threads, what), others.*more);
    for (const int t : threads) clock(t).*what = all;
  }
}

void BlockOrder::block_barrier() {
  Epoch latest = 0;
  bool some_known = false;
  for (const ThreadClock& c : clocks_) {
    latest = std::max(latest, c.epoch);
    some_known = some_known || c.known != nullptr;
  }
  floor_ = next_epoch(latest);
  for (ThreadClock& c : clocks_) c.epoch = floor_;
  for (const std::uint32_t kind : used_)  // what is over for one thread, all know now
    for (std::size_t t = 0; t < clocks_.size(); ++t)
      raise_floor(kind + std::uint32_t(t), clocks_[t].over[kind_of(kind)]);
  if (!some_known && !any_fenced_) return;
  std::vector<int> threads(clocks_.size());
  std::iota(threads.begin(), threads.end(), 0);
  if (any_fenced_) share_fences(threads);
  if (!some_known) return;
  KnownPointer all = joined_of(threads, &ThreadClock::known);
  if (const View* own = all->of_block(serial_)) {  // the floor says as much of threads
    for (const auto& [actor, epoch] : own->actors)
      if (actor >= copies_of) raise_floor(actor, epoch);
    auto others = std::make_shared<Known>(*all);
    std::erase_if(others->views, [&](const View& v) { return v.block == serial_; });
    all = others->views.empty() ? nullptr : KnownPointer(std::move(others));
  }
  for (ThreadClock& c : clocks_) c.known = all;
}

void BlockOrder::warp_barrier(int first_thread, int lanes, unsigned mask) {
  std::vector<int> members;
  bool some_known = false;
  Epoch latest = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!(mask >> lane & 1u)) continue;
    const ThreadClock& c = clock(first_thread + lane);
    members.push_back(first_thread + lane);
    latest = std::max(latest, c.epoch);
    some_known = some_known || c.known != nullptr || !used_.empty();
  }
  const Epoch now = next_epoch(latest);
  const bool whole = members.size() == std::size_t(lanes);
  for (const int t : members) clock(t).epoch = now;
  if (whole) warp_floors_[std::size_t(first_thread / 32)] = now;
  if (any_fenced_) share_fences(members);
  if (whole && !some_known) return;
  KnownPointer all = joined(joined_of(members, &ThreadClock::known), over_for(members));
  if (!whole) {
    View lanes_known{serial_, 0, {}, {}};
    for (const int t : members) lanes_known.actors.emplace_back(std::uint32_t(t), now);
    all = joined(all, std::move(lanes_known));
  }
  for (const int t : members) clock(t).known = all;
}

void BlockOrder::commit_copies(int thread) {
  use(copies_of);
  clock(thread).copies_group = next_epoch(clock(thread).copies_group);
}

void BlockOrder::wait_for_copies(int thread, Epoch pending) {
  ThreadClock& c = clock(thread);
  Epoch& over = c.over[kind_of(copies_of)];
  if (c.copies_group > pending + 1) over = std::max(over, c.copies_group - pending);
}

void BlockOrder::commit_bulk(int thread) {
  use(bulk_of);
  use(bulk_reads_of);
  clock(thread).bulk_group = next_epoch(clock(thread).bulk_group);
}

void BlockOrder::wait_for_bulk(int thread, Epoch pending, bool reads_only) {
  ThreadClock& c = clock(thread);
  if (c.bulk_group <= pending + 1) return;
  for (const std::uint32_t kind : {bulk_reads_of, bulk_of}) {
    if (kind == bulk_of && reads_only) continue;
    Epoch& over = c.over[kind_of(kind)];
    over = std::max(over, c.bulk_group - pending);
  }
}

KnownPointer BlockOrder::phase_over(std::uint32_t mbarrier, Epoch phase) {
  use(mbarrier_of);
  return joined(nullptr, View{serial_, 0, {}, {{mbarrier_of + mbarrier, next_epoch(phase)}}});
}

View BlockOrder::own_view(int thread) const {
  View view = over_for({thread});
  const auto warp = std::uint32_t(thread / 32);
  if (warp_floors_[warp] > floor_) view.warps.emplace_back(warp, warp_floors_[warp]);
  return view;
}

void BlockOrder::add_floors(View& view) const {
  for (std::uint32_t actor = actors_of_a_kind; actor < floors_.size(); ++actor)
    if (floors_[actor] > 0) view.actors.emplace_back(actor, floors_[actor]);
}

KnownPointer BlockOrder::published(int thread) {
  ThreadClock& c = clock(thread);
  const View own = own_view(thread);
  c.epoch = next_epoch(c.epoch);
  View floors{serial_, floor_, {}, {{std::uint32_t(thread), c.epoch}}};
  add_floors(floors);
  return joined(c.known, joined_views(own, floors));
}

KnownPointer BlockOrder::published_in_block(int thread) {
  ThreadClock& c = clock(thread);
  View own = own_view(thread);
  c.epoch = next_epoch(c.epoch);
  own.actors.insert(own.actors.begin(), {std::uint32_t(thread), c.epoch});
  return joined(c.known, std::move(own));
}

const KnownPointer& BlockOrder::LastJoin::of(const KnownPointer& one, const KnownPointer& other) {
  if (one != known || other != news || result == nullptr) *this = {one, other, joined(one, other)};
  return result;
}

void BlockOrder::learn(int thread, const KnownPointer& news) {
  KnownPointer& known = clock(thread).known;
  known = last_learnt_.of(known, news);
}

void BlockOrder::learn(int thread, const News& news) {
  learn(thread, news.known);
  ThreadClock& c = clock(thread);
  any_fenced_ = any_fenced_ || news.fenced != nullptr || news.fenced_in_block != nullptr;
  if (news.fenced != nullptr) c.fenced = last_fenced_.of(c.fenced, news.fenced);
  if (news.fenced_in_block != nullptr)
    c.fenced_in_block = last_fenced_in_block_.of(c.fenced_in_block, news.fenced_in_block);
}

News BlockOrder::arriving(int thread, const KnownPointer& published, bool in_block) const {
  const ThreadClock& c = clock(thread);
  return {published, c.fenced, in_block ? c.fenced_in_block : nullptr};
}

void BlockOrder::fence(int thread, bool block_only) {
  any_fenced_ = true;
  ThreadClock& c = clock(thread);
  (block_only ? c.fenced_in_block : c.fenced) = published(thread);
}

void BlockOrder::fence_proxy(int thread, bool global_as_well) {
  use(fenced_shared_of);
  ThreadClock& c = clock(thread);
  c.proxy_fenced = published(thread);
  c.over[kind_of(fenced_shared_of)] = c.epoch;
  if (!global_as_well) return;
  use(fenced_global_of);
  c.proxy_fenced_global = c.proxy_fenced;
  c.over[kind_of(fenced_global_of)] = c.epoch;
}

void BlockOrder::fence_inits(int thread) {
  use(fenced_inits_of);
  ThreadClock& c = clock(thread);
  c.epoch = next_epoch(c.epoch);
  c.over[kind_of(fenced_inits_of)] = c.epoch;
}

// --- Barriers with a number: what those learn who wait there, of all who come ------------------------------------------------
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
  arrived.over = joined_views(arrived.over, own_view(thread));
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
        here.actors.back() = entry;  // it has arrived twice, and they are sorted
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

// --- The barrier of a cluster ------------------------------------------------------------------------------------------------
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
  add_floors(view);
  if (!a.threads.empty()) view = joined_views(view, a.more);
  const News news{joined(a.known, std::move(view)), a.fenced, nullptr};
  a = {};
  return news;
}

}  // namespace simt::order
