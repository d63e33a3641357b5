// order/: who happens before whom.
//
// In: what threads do that orders memory (barriers of a block, of some warps or lanes, fences, atomics, asynchronous
// copies and the waits for them), as calls with plain numbers; and, in cells.hpp, each access of a traced kernel to
// shared or global memory. Out: whether two accesses are ordered, and if not, who made the other. Nothing here knows
// fibers, addresses of the program, names or source lines.
//
// How: FastTrack (Flanagan and Freund, PLDI 2009) keeps a vector clock for each thread, and an epoch for each memory
// location: which thread accessed it last, and when by that thread's own count. An access is ordered after another if
// the clock of its thread has reached the epoch of the other. A grid has too many threads for a full vector each, but
// nearly all that they know of each other comes from barriers of a whole block or warp. So a clock has four levels, and
// the first that can answer is asked:
//   - the floor of the block: every thread of it has passed a barrier since (BlockOrder::floor);
//   - the floor of the warp: every lane of it has passed a __syncwarp since (BlockOrder::warp_floors);
//   - what the thread itself has waited for, or fenced (ThreadClock::over);
//   - what it has learnt of single threads, warps, or other blocks: Known, shared by those who know the same.
// An asynchronous copy is an actor of its own. Its accesses are ordered after what its thread did before, and before
// what any thread does that has learnt of its end. Copies of a thread are told apart by their groups, copies that an
// mbarrier counts by its phases. TMA copies belong to the asynchronous proxy: they may touch what threads wrote only
// after a proxy fence, so a clock also says which accesses of a thread such a fence has followed.
//
// No count wraps: an epoch that does not fit its bits ends the run with an error.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace simt::order {

using Epoch = std::uint32_t;

/// Who accessed, and when by its own count: 24 bits of block (1-based, 0 is nobody), 12 of actor, 25 of epoch, 3 of
/// flags.
using Stamp = std::uint64_t;
constexpr int epoch_shift = 3, actor_shift = 28, block_shift = 40;
constexpr Epoch last_epoch = (1u << 25) - 1;
constexpr Stamp flags_mask = 7;

/// An actor is a number below 1024 plus its kind: a thread of a block, by its linear index, or what works for it.
constexpr std::uint32_t actors_of_a_kind = 1024;
constexpr std::uint32_t copies_of = 1024;    ///< the copies that a thread starts with cp.async; epochs are its groups
constexpr std::uint32_t bulk_of = 2048;      ///< its TMA copies out of shared memory; epochs are its bulk groups
constexpr std::uint32_t mbarrier_of = 3072;  ///< the TMA copies that an mbarrier counts; epochs are its phases
// No actors, but kept like them: up to which epoch ...
constexpr std::uint32_t bulk_reads_of = 4096;     ///< ... a thread's TMA copies have read what they copy
constexpr std::uint32_t fenced_shared_of = 5120;  ///< ... the asynchronous proxy sees its accesses to shared memory
constexpr std::uint32_t fenced_global_of = 6144;  ///< ... and those to global memory
constexpr std::uint32_t fenced_inits_of = 7168;   ///< ... and the mbarriers that it initialised
constexpr std::size_t kinds = 8;
constexpr std::size_t kind_of(std::uint32_t actor) { return actor / actors_of_a_kind; }

constexpr Stamp stamp(std::uint32_t block, std::uint32_t actor, Epoch epoch) {
  return Stamp(block) << block_shift | Stamp(actor) << actor_shift | Stamp(epoch) << epoch_shift;
}
constexpr std::uint32_t block_of(Stamp s) { return std::uint32_t(s >> block_shift); }
constexpr std::uint32_t actor_of(Stamp s) { return std::uint32_t(s >> actor_shift) & 0xfff; }
constexpr Epoch epoch_of(Stamp s) { return Epoch(s >> epoch_shift) & last_epoch; }
/// The thread that made the access, or started the copy that did; of an mbarrier's copies, its number.
constexpr std::uint32_t thread_of(Stamp s) { return actor_of(s) % actors_of_a_kind; }
constexpr std::uint32_t warp_of(Stamp s) { return actor_of(s) / 32; }
constexpr std::uint64_t actor_and_block_of(Stamp s) { return s >> actor_shift; }

/// What is known of a block: accesses of `all` its threads, of `warps`, of `actors`, are ordered up to these epochs,
/// exclusive.
struct View {
  std::uint32_t block = 0;
  Epoch all = 0;
  std::vector<std::pair<std::uint32_t, Epoch>> warps, actors;  // sorted by number

  Epoch of(std::uint32_t actor) const;
  bool operator==(const View&) const = default;
};

/// Sorted by block. Immutable, so that all who know the same share it; null: nothing.
struct Known {
  std::vector<View> views;
  const View* of_block(std::uint32_t block) const;
};
using KnownPointer = std::shared_ptr<const Known>;

/// What threads have done and known, and what of it they had fenced, for all or for their block alone.
struct News {
  KnownPointer known, fenced, fenced_in_block;
  bool operator==(const News&) const = default;
};
News joined(const News& one, const News& other);

/// Threads that have arrived at a barrier. What they do next is not part of it.
struct Arrivals {
  std::vector<std::pair<int, Epoch>> threads;  ///< and up to which epoch, exclusive
  News news;
  View over{};  ///< what else was over for them
};

/// `fenced` is what had been known and done at the thread's last fence, or at those of others with whom it has passed a
/// barrier.
struct ThreadClock : News {
  Epoch epoch = 1;
  /// The groups of asynchronous copies, counted from 1, that are being filled: of cp.async and of TMA copies.
  std::array<Epoch, 2> groups{1, 1};
  /// Of each kind, what is over for the thread itself: epochs of its own actor, exclusive.
  std::array<Epoch, kinds> over{};
  std::array<KnownPointer, 2> proxy_fenced;  ///< like `fenced`, for proxy fences: for shared and for global memory

  Epoch& group(std::uint32_t kind) { return groups[kind_of(kind) - 1]; }
};

/// The clocks of a block's threads.
class BlockOrder {
 public:
  void start(std::uint32_t serial, int threads);

  std::uint32_t serial() const { return serial_; }
  Epoch floor() const { return floor_; }
  /// Accesses of all lanes of a thread's warp before this epoch are ordered before what the thread does next.
  Epoch warp_floor(int thread) const { return std::max(floor_, warp_floors_[std::size_t(thread) / 32]); }
  /// Whether a thread of the block has executed a fence, and whether `thread` has, or is past a barrier with one that
  /// has.
  bool any_fenced() const { return any_fenced_; }
  bool fenced(int thread) const { return clock(thread).fenced != nullptr || clock(thread).fenced_in_block != nullptr; }
  ThreadClock& clock(int thread) { return clocks_[std::size_t(thread)]; }
  const ThreadClock& clock(int thread) const { return clocks_[std::size_t(thread)]; }
  Stamp stamp_of(int thread) const { return stamp(serial_, std::uint32_t(thread), clock(thread).epoch); }
  /// Of the copies that `thread` adds to its current group of a kind.
  Stamp stamp_of_group(int thread, std::uint32_t kind) {
    return stamp(serial_, kind + std::uint32_t(thread), clock(thread).group(kind));
  }

  /// Whether the access stamped `before` is ordered before what `thread` does next. Flags are not looked at.
  bool ordered(Stamp before, int thread) const {
    if (block_of(before) == serial_) {
      const std::uint32_t actor = actor_of(before);
      if (actor < copies_of) {
        if (epoch_of(before) < floor_ || actor == std::uint32_t(thread)) return true;
        if (actor / 32 == std::uint32_t(thread) / 32 && epoch_of(before) < warp_floors_[actor / 32]) return true;
      } else if (own_over(actor, epoch_of(before), thread)) {
        return true;
      }
    }
    return clock(thread).known != nullptr &&
           knows(clock(thread).known, block_of(before), actor_of(before), epoch_of(before));
  }
  /// Whether `thread` knows that `actor` of a block is past an epoch.
  bool over(std::uint32_t block, std::uint32_t actor, Epoch epoch, int thread) const;
  /// Whether the asynchronous proxy sees what a thread wrote, if `thread` starts a copy now: a fence lies between.
  bool proxy_fenced(Stamp written, bool in_global_memory, int thread) const;
  /// The same of an mbarrier that a thread initialised.
  bool init_fenced(Stamp initialised, int thread) const;

  void block_barrier();
  /// A barrier of some threads of the block, in ascending order: lanes of a warp, or those that wait at a named
  /// barrier. Those that have arrived without waiting tell what they did before, and learn nothing.
  void barrier_of(const std::vector<int>& threads, const Arrivals& arrived = {});
  void arrive(int thread, Arrivals& arrived);
  /// What other blocks learn of those of this one that have arrived at the barrier of their cluster.
  News told_to_cluster(const Arrivals& arrived) const;

  /// Ends a thread's current group of copies of a kind: copies_of or bulk_of.
  void commit(int thread, std::uint32_t kind);
  /// Waits until at most `pending` of these groups are in flight, or have yet to read what they copy.
  void wait_for_groups(int thread, std::uint32_t kind, Epoch pending, bool reads_only = false);
  /// What those learn who find that an mbarrier has completed its phases up to this one.
  News phase_over(std::uint32_t mbarrier, Epoch phase);

  /// What `thread` has known and done may be released, to its own block or to any, by a later atomic operation (or
  /// volatile store) of its own, or of a thread that is past a barrier with it.
  void fence(int thread, bool block_only);
  void fence_proxy(int thread, bool global_as_well);
  void fence_inits(int thread);
  /// What `thread` has known, done and fenced, for others to learn, of this block alone or of any.
  News arriving(int thread, bool in_block);
  void learn(int thread, const News& news);

 private:
  static bool knows(const KnownPointer& known, std::uint32_t block, std::uint32_t actor, Epoch epoch);
  bool own_over(std::uint32_t actor, Epoch epoch, int thread) const {
    if (!floors_.empty() && epoch < floors_[actor]) return true;
    return actor % actors_of_a_kind == std::uint32_t(thread) && epoch < clock(thread).over[kind_of(actor)];
  }
  Epoch next_epoch(Epoch latest) const;
  KnownPointer published(int thread, bool in_block);
  View view_of(std::vector<std::pair<int, Epoch>> threads) const;
  News joined_of(const std::vector<int>& threads) const;
  View over_for(const std::vector<int>& threads) const;
  View own_view(int thread) const;
  void add_floors(View& view) const;
  /// From now on floors are kept of this kind.
  void use(std::uint32_t kind);
  void raise_floor(std::uint32_t actor, Epoch epoch) { floors_[actor] = std::max(floors_[actor], epoch); }

  std::uint32_t serial_ = 0;
  bool any_fenced_ = false;
  Epoch floor_ = 1;
  std::array<Epoch, 32> warp_floors_{};
  std::vector<std::uint32_t> used_;  // kinds other than threads, sorted
  std::vector<Epoch> floors_;        // by actor: what is over for all; empty while no such kind is used
  std::vector<ThreadClock> clocks_;
  struct {
    News known, news, result;
  } last_learnt_;  // the lanes of a warp learn the same one after the other
};

}  // namespace simt::order
