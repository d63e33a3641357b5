#include <numeric>
#include <stdexcept>

#include "common/sim/order/order.hpp"

namespace simt::order {
namespace {

using Entries = std::vector<std::pair<std::uint32_t, Epoch>>;

Epoch value_at(const Entries& entries, std::uint32_t number) {
  const auto it = std::ranges::lower_bound(entries, number, {}, &Entries::value_type::first);
  return it != entries.end() && it->first == number ? it->second : 0;
}

// Merges two lists sorted by a key; items with equal keys are joined.
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

// The union of two views of one block.
View joined(const View& one, const View& other) {
  using Entry = Entries::value_type;
  const auto larger = [](const Entries& a, const Entries& b) {
    return merged(a, b, &Entry::first, [](const Entry& x, const Entry& y) { return std::max(x, y); });
  };
  return {one.block, std::max(one.all, other.all), larger(one.warps, other.warps), larger(one.actors, other.actors)};
}

KnownPointer joined(const KnownPointer& one, const KnownPointer& other) {
  if (one == nullptr || one == other) return other;
  if (other == nullptr) return one;
  auto result = std::make_shared<Known>();
  result->views =
      merged(one->views, other->views, &View::block, [](const View& a, const View& b) { return joined(a, b); });
  if (result->views == one->views) return one;
  if (result->views == other->views) return other;
  return result;
}

KnownPointer joined(const KnownPointer& one, View more) {
  if (more.all == 0 && more.warps.empty() && more.actors.empty()) return one;
  return joined(one, std::make_shared<const Known>(Known{{std::move(more)}}));
}

}  // namespace

Epoch View::of(std::uint32_t actor) const {
  if (actor >= copies_of) return value_at(actors, actor);
  return std::max({all, value_at(warps, actor / 32), value_at(actors, actor)});
}

const View* Known::of_block(std::uint32_t block) const {
  const auto it = std::ranges::lower_bound(views, block, {}, &View::block);
  return it != views.end() && it->block == block ? &*it : nullptr;
}

News joined(const News& one, const News& other) {
  return {joined(one.known, other.known), joined(one.fenced, other.fenced),
          joined(one.fenced_in_block, other.fenced_in_block)};
}

void BlockOrder::start(std::uint32_t serial, int threads) {
  std::vector<ThreadClock> clocks = std::move(clocks_);  // to reuse its memory
  *this = BlockOrder();
  serial_ = serial;
  clocks_ = std::move(clocks);
  clocks_.assign(std::size_t(threads), {});
}

void BlockOrder::use(std::uint32_t kind) {
  if (std::ranges::find(used_, kind) != used_.end()) return;
  used_.insert(std::ranges::upper_bound(used_, kind), kind);
  floors_.resize(kinds * actors_of_a_kind);
}

Epoch BlockOrder::next_epoch(Epoch latest) const {
  if (latest >= last_epoch)
    throw std::length_error("a thread has synchronised 33,554,431 times, the most that the model can count");
  return latest + 1;
}

bool BlockOrder::knows(const KnownPointer& known, std::uint32_t block, std::uint32_t actor, Epoch epoch) {
  const View* view = known == nullptr ? nullptr : known->of_block(block);
  return view != nullptr && epoch < view->of(actor);
}

bool BlockOrder::over(std::uint32_t block, std::uint32_t actor, Epoch epoch, int thread) const {
  return (block == serial_ && own_over(actor, epoch, thread)) || knows(clock(thread).known, block, actor, epoch);
}

bool BlockOrder::proxy_fenced(Stamp written, bool in_global_memory, int thread) const {
  if (actor_of(written) >= copies_of) return true;
  // Either this thread has learnt that the writer fenced, or it has itself fenced after it learnt of the write.
  const std::uint32_t kind = in_global_memory ? fenced_global_of : fenced_shared_of;
  return over(block_of(written), kind + actor_of(written), epoch_of(written), thread) ||
         knows(clock(thread).proxy_fenced[in_global_memory], block_of(written), actor_of(written), epoch_of(written));
}

bool BlockOrder::init_fenced(Stamp initialised, int thread) const {
  return over(block_of(initialised), fenced_inits_of + actor_of(initialised), epoch_of(initialised), thread) ||
         proxy_fenced(initialised, false, thread);
}

News BlockOrder::joined_of(const std::vector<int>& threads) const {
  News all, last;
  for (const int t : threads)
    if (const News& news = clock(t); news != last) all = joined(all, last = news);
  return all;
}

View BlockOrder::over_for(const std::vector<int>& threads) const {
  View view{serial_, 0, {}, {}};
  for (const std::uint32_t kind : used_)
    for (const int t : threads)
      if (const Epoch over = clock(t).over[kind_of(kind)]; over > 0)
        view.actors.emplace_back(kind + std::uint32_t(t), over);
  return view;
}

void BlockOrder::block_barrier() {
  Epoch latest = 0;
  for (const ThreadClock& c : clocks_) latest = std::max(latest, c.epoch);
  const bool news = std::ranges::any_of(clocks_, [](const ThreadClock& c) { return c.known != nullptr; });
  floor_ = next_epoch(latest);
  for (ThreadClock& c : clocks_) c.epoch = floor_;
  for (const std::uint32_t kind : used_)  // what was over for one thread is now over for all
    for (std::size_t t = 0; t < clocks_.size(); ++t)
      raise_floor(kind + std::uint32_t(t), clocks_[t].over[kind_of(kind)]);
  if (!news && !any_fenced_) return;
  std::vector<int> threads(clocks_.size());
  std::iota(threads.begin(), threads.end(), 0);
  News all = joined_of(threads);
  if (const View* own = all.known == nullptr ? nullptr : all.known->of_block(serial_)) {
    for (const auto& [actor, epoch] : own->actors)  // for threads, the block's floor covers it
      if (actor >= copies_of) raise_floor(actor, epoch);
    auto others = std::make_shared<Known>(*all.known);
    std::erase_if(others->views, [&](const View& v) { return v.block == serial_; });
    all.known = others->views.empty() ? nullptr : KnownPointer(std::move(others));
  }
  for (ThreadClock& c : clocks_) static_cast<News&>(c) = all;
}

void BlockOrder::commit(int thread, std::uint32_t kind) {
  use(kind);
  if (kind == bulk_of) use(bulk_reads_of);
  Epoch& group = clock(thread).group(kind);
  group = next_epoch(group);
}

void BlockOrder::wait_for_groups(int thread, std::uint32_t kind, Epoch pending, bool reads_only) {
  ThreadClock& c = clock(thread);
  if (c.group(kind) <= pending + 1) return;
  const auto raise = [&](Epoch& over) { over = std::max(over, c.group(kind) - pending); };
  if (kind == bulk_of) raise(c.over[kind_of(bulk_reads_of)]);
  if (!reads_only) raise(c.over[kind_of(kind)]);
}

News BlockOrder::landed(int thread) {
  ThreadClock& c = clock(thread);
  const auto over = c.over;
  wait_for_groups(thread, copies_of, 0);
  News copies{joined(nullptr, over_for({thread})), nullptr, nullptr};
  c.over = over;
  return copies;
}

News BlockOrder::phase_over(std::uint32_t mbarrier, Epoch phase) {
  use(mbarrier_of);
  return {joined(nullptr, View{serial_, 0, {}, {{mbarrier_of + mbarrier, next_epoch(phase)}}}), nullptr, nullptr};
}

View BlockOrder::own_view(int thread) const {
  View view = over_for({thread});
  const auto warp = std::uint32_t(thread / 32);
  if (warp_floors_[warp] > floor_) view.warps.emplace_back(warp, warp_floors_[warp]);
  return view;
}

void BlockOrder::add_floors(View& view) const {
  View floors{serial_, 0, {}, {}};
  for (std::uint32_t actor = actors_of_a_kind; actor < floors_.size(); ++actor)
    if (floors_[actor] > 0) floors.actors.emplace_back(actor, floors_[actor]);
  view = joined(floors, view);
}

// What `thread` has done and knows, for others to learn; threads of its block already know its floors.
KnownPointer BlockOrder::published(int thread, bool in_block) {
  ThreadClock& c = clock(thread);
  View view = own_view(thread);
  c.epoch = next_epoch(c.epoch);
  view.actors.insert(view.actors.begin(), {std::uint32_t(thread), c.epoch});
  if (!in_block) {
    view.all = floor_;
    add_floors(view);
  }
  return joined(c.known, std::move(view));
}

News BlockOrder::arriving(int thread, bool in_block) {
  KnownPointer known = published(thread, in_block);
  const ThreadClock& c = clock(thread);
  return {std::move(known), c.fenced, in_block ? c.fenced_in_block : nullptr};
}

void BlockOrder::learn(int thread, const News& news) {
  News& mine = clock(thread);
  any_fenced_ = any_fenced_ || news.fenced != nullptr || news.fenced_in_block != nullptr;
  if (mine != last_learnt_.known || news != last_learnt_.news) last_learnt_ = {mine, news, joined(mine, news)};
  mine = last_learnt_.result;
}

void BlockOrder::fence(int thread, bool block_only) {
  any_fenced_ = true;
  ThreadClock& c = clock(thread);
  (block_only ? c.fenced_in_block : c.fenced) = published(thread, false);
}

void BlockOrder::fence_proxy(int thread, bool global_as_well) {
  const KnownPointer known = published(thread, false);
  ThreadClock& c = clock(thread);
  for (int global = 0; global <= int(global_as_well); ++global) {
    const std::uint32_t kind = global ? fenced_global_of : fenced_shared_of;
    use(kind);
    c.proxy_fenced[std::size_t(global)] = known;
    c.over[kind_of(kind)] = c.epoch;
  }
}

void BlockOrder::fence_inits(int thread) {
  use(fenced_inits_of);
  ThreadClock& c = clock(thread);
  c.epoch = next_epoch(c.epoch);
  c.over[kind_of(fenced_inits_of)] = c.epoch;
}

// --- Barriers of some threads ----------------------------------------------------------------------------------------
// A warp whose lanes all have the same epoch becomes one entry.
View BlockOrder::view_of(std::vector<std::pair<int, Epoch>> threads) const {
  std::ranges::sort(threads);
  View view{serial_, 0, {}, {}};
  for (std::size_t i = 0, end = 0; i < threads.size(); i = end) {
    const int warp = threads[i].first / 32;
    const std::size_t lanes = std::min<std::size_t>(32, clocks_.size() - std::size_t(warp) * 32);
    while (end < threads.size() && threads[end].first / 32 == warp) ++end;
    bool whole = end - i == lanes;
    for (std::size_t l = i; l < end; ++l)
      whole = whole && threads[l] == std::pair(warp * 32 + int(l - i), threads[i].second);
    if (whole) view.warps.emplace_back(std::uint32_t(warp), threads[i].second);
    for (std::size_t l = i; l < end && !whole; ++l)
      if (l + 1 == end || threads[l + 1].first != threads[l].first)  // else it has arrived again later
        view.actors.emplace_back(std::uint32_t(threads[l].first), threads[l].second);
  }
  return view;
}

void BlockOrder::arrive(int thread, Arrivals& arrived) {
  ThreadClock& c = clock(thread);
  arrived.over = joined(own_view(thread), arrived.over);
  arrived.news = joined(arrived.news, c);
  c.epoch = next_epoch(c.epoch);
  arrived.threads.emplace_back(thread, c.epoch);
}

void BlockOrder::barrier_of(const std::vector<int>& threads, const Arrivals& arrived) {
  Epoch latest = 0;
  for (const int t : threads) latest = std::max(latest, clock(t).epoch);
  const Epoch now = next_epoch(latest);
  const std::size_t warp = std::size_t(threads.front()) / 32;
  const bool is_warp = arrived.threads.empty() &&
                       threads.size() == std::min<std::size_t>(32, clocks_.size() - warp * 32) &&
                       std::size_t(threads.back()) / 32 == warp;
  News all = joined(joined_of(threads), arrived.news);
  View view = over_for(threads);
  if (is_warp) {
    warp_floors_[warp] = now;
  } else {
    std::vector<std::pair<int, Epoch>> here = arrived.threads;
    for (const int t : threads) here.emplace_back(t, now);
    view = joined(joined(view, arrived.over), view_of(std::move(here)));
  }
  all.known = joined(all.known, std::move(view));
  for (const int t : threads) {
    clock(t).epoch = now;
    static_cast<News&>(clock(t)) = all;
  }
}

News BlockOrder::told_to_cluster(const Arrivals& arrived) const {
  View view = joined(view_of(arrived.threads), arrived.over);
  add_floors(view);
  return {joined(arrived.news.known, std::move(view)), arrived.news.fenced, nullptr};
}

}  // namespace simt::order
