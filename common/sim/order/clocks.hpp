// order/: who happens before whom.
//
// In: what threads do that orders memory (barriers of a block, of some warps or lanes, fences, atomics, asynchronous copies and the
// waits for them), as calls with plain numbers; and, in cells.hpp, each access of a traced kernel to shared or global memory. Out:
// whether two accesses are ordered, and if not, who the other was. Nothing here knows fibers, addresses of the program, names or
// source lines: it can be tested, and read, on its own.
//
// How: FastTrack (Flanagan and Freund, PLDI 2009) keeps for each thread a vector clock, and for each memory location an epoch:
// which thread, and when by that thread's own count, accessed it last. An access is ordered after another if the clock of its
// thread has reached the epoch of the other. A grid has too many threads for a full vector each, but nearly all that they know
// of each other comes from barriers of a whole block or warp. So a clock has four levels; an access asks the first that can answer:
//   - the floor of the block: every thread of it has passed a barrier since (BlockOrder::floor);
//   - the floor of the warp: every lane of it has passed a __syncwarp since (BlockOrder::warp_floors);
//   - what the thread itself has waited for, or fenced (ThreadClock::over);
//   - what it has learnt of single threads, warps, or other blocks: Known, shared by those who know the same, mostly empty.
// An asynchronous copy is an actor of its own, whose accesses are ordered after what its thread did before, and before what any
// thread does that has learnt of its end. Copies of a thread are told apart by their groups, copies that an mbarrier counts by its
// phases. Bulk copies belong to the asynchronous proxy: they may touch what threads wrote only after a fence between the two
// proxies, so that a clock also says which accesses of a thread have been followed by such a fence.
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

/// Who accessed, and when by its own count: 24 bits of block (1-based, 0 is nobody), 12 of actor, 25 of epoch, 3 of flags.
using Stamp = std::uint64_t;
constexpr int epoch_shift = 3, actor_shift = 28, block_shift = 40;
constexpr Epoch last_epoch = (1u << 25) - 1;
constexpr Stamp flags_mask = 7;

/// An actor is a number below 1024 plus its kind: a thread of a block, by its linear index, or what works for it.
constexpr std::uint32_t actors_of_a_kind = 1024;
constexpr std::uint32_t copies_of = 1024;    ///< the copies that a thread starts with cp.async; epochs are its groups
constexpr std::uint32_t bulk_of = 2048;      ///< its bulk copies out of shared memory; epochs are its bulk groups
constexpr std::uint32_t mbarrier_of = 3072;  ///< the bulk copies that an mbarrier counts; epochs are its phases
// No actors, but kept like them: up to which epoch ...
constexpr std::uint32_t bulk_reads_of = 4096;  ///< ... a thread's bulk copies have read what they copy
constexpr std::uint32_t fenced_shared_of =
    5120;  ///< ... a fence let the asynchronous proxy see its accesses to shared memory
constexpr std::uint32_t fenced_global_of = 6144;  ///< ... and those to global memory
constexpr std::uint32_t fenced_inits_of = 7168;   ///< ... a fence let it see the mbarriers that the thread initialised
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

/// What is known of a block: accesses of `all` its threads, of `warps`, of `actors`, are ordered up to these epochs, exclusive.
struct View {
  std::uint32_t block = 0;
  Epoch all = 0;
  std::vector<std::pair<std::uint32_t, Epoch>> warps, actors;  // sorted by number

  Epoch of(std::uint32_t actor) const;
  bool operator==(const View&) const = default;
};
/// The later epoch of each of two views of one block.
View joined_views(const View& one, const View& other);

/// Sorted by block. Immutable, so that all who know the same share it.
struct Known {
  std::vector<View> views;
  const View* of_block(std::uint32_t block) const;
};
using KnownPointer = std::shared_ptr<const Known>;

/// What both know. Either may be null.
KnownPointer joined(const KnownPointer& one, const KnownPointer& other);
KnownPointer joined(const KnownPointer& one, View more);

/// What threads have done and known, and what of it they had fenced, for others to learn.
struct News {
  KnownPointer known;
  KnownPointer fenced;           ///< for all,
  KnownPointer fenced_in_block;  ///< and for the block alone
};
News joined(const News& one, const News& other);

/// Threads that have come to a barrier of some threads, and did not wait there. What they do next is not part of it.
struct Arrivals {
  std::vector<std::pair<int, Epoch>> threads;  ///< and up to which epoch, exclusive
  News news;
  View over{};  ///< what else was over for them
};

struct ThreadClock {
  Epoch epoch = 1;
  /// Groups of asynchronous copies, counted from 1, that are being filled.
  Epoch copies_group = 1, bulk_group = 1;
  /// Of each kind, what is over for the thread itself: epochs of its own actor, exclusive.
  std::array<Epoch, kinds> over{};
  KnownPointer known;
  KnownPointer fenced;               ///< what had been known and done at its last fence, or at those of others with
                                     ///< whom it has passed a barrier,
  KnownPointer fenced_in_block;      ///< and at those for the block alone
  KnownPointer proxy_fenced;         ///< the same for a fence between the proxies, for shared memory,
  KnownPointer proxy_fenced_global;  ///< and for global memory
};

/// Who makes an access: a thread, or copies that it started.
struct By {
  enum class What : std::uint8_t { thread, copies, bulk, mbarrier } what = What::thread;
  std::uint32_t mbarrier = 0;  ///< the number of the one that counts the copy
  Epoch phase = 0;             ///< its phase, counted from 1
  std::uint32_t block = 0;     ///< whose it is, if not the thread's own

  bool thread() const { return what == What::thread; }
  bool async_proxy() const { return what == What::bulk || what == What::mbarrier; }
};

/// The clocks of a block's threads.
class BlockOrder {
 public:
  void start(std::uint32_t serial, int threads);

  std::uint32_t serial() const { return serial_; }
  Epoch floor() const { return floor_; }
  /// Accesses of all lanes of a thread's warp before this epoch are ordered before what the thread does next.
  Epoch warp_floor(int thread) const { return std::max(floor_, warp_floors_[std::size_t(thread) / 32]); }
  /// Whether a thread of the block has executed a fence, and whether `thread` has, or is past a barrier with one that has.
  bool any_fenced() const { return any_fenced_; }
  bool fenced(int thread) const { return clock(thread).fenced != nullptr || clock(thread).fenced_in_block != nullptr; }
  ThreadClock& clock(int thread) { return clocks_[std::size_t(thread)]; }
  const ThreadClock& clock(int thread) const { return clocks_[std::size_t(thread)]; }
  Stamp stamp_of(int thread) const { return stamp(serial_, std::uint32_t(thread), clock(thread).epoch); }
  Stamp stamp_of(int thread, const By& by) const;

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
    return clock(thread).known != nullptr && known_before(before, thread);
  }
  /// Whether `thread` knows that `actor` of a block is past an epoch.
  bool over(std::uint32_t block, std::uint32_t actor, Epoch epoch, int thread) const;
  /// Whether the asynchronous proxy sees what a thread wrote, if `thread` starts a copy now: a fence lies between.
  bool proxy_fenced(Stamp written, bool in_global_memory, int thread) const;
  /// The same of an mbarrier that a thread initialised.
  bool init_fenced(Stamp initialised, int thread) const;

  void block_barrier();
  /// All lanes of a warp, or those of a mask; threads that have returned do not matter.
  void warp_barrier(int first_thread, int lanes, unsigned mask);
  /// Any threads of the block: a named barrier. Those that have arrived without waiting tell what they did before, and learn nothing.
  void barrier_of(const std::vector<int>& threads, const Arrivals& arrived = {});
  void arrive(int thread, Arrivals& arrived);

  /// `thread` has come to the barrier of the block's cluster. What it does next is not part of what others learn there.
  void arrive_at_cluster(int thread);
  /// What those learn of this block who pass that barrier; who arrives from now on comes to the next one.
  News arrived_at_cluster();

  void commit_copies(int thread);
  /// Waits until at most `pending` groups are in flight.
  void wait_for_copies(int thread, Epoch pending);
  /// The same for bulk copies, or for what they read alone.
  void commit_bulk(int thread);
  void wait_for_bulk(int thread, Epoch pending, bool reads_only);
  /// What those learn who find that an mbarrier has completed its phases up to this one.
  KnownPointer phase_over(std::uint32_t mbarrier, Epoch phase);

  /// What `thread` has known and done may be released, to its own block or to any, by a later atomic operation (or volatile
  /// store) of its own, or of a thread that is past a barrier with it.
  void fence(int thread, bool block_only);
  void fence_proxy(int thread, bool global_as_well);
  void fence_inits(int thread);
  /// What `thread` has known and done, for others to learn; what it does next is not part of it.
  KnownPointer published(int thread);
  /// The same for threads of this block, who know its floors.
  KnownPointer published_in_block(int thread);
  void learn(int thread, const KnownPointer& news);
  /// The same, and what others fenced counts for `thread` too: it is past a barrier with them.
  void learn(int thread, const News& news);
  /// What arrives with `thread` at what others wait for, besides what it has published: the fences that those may count as theirs.
  News arriving(int thread, const KnownPointer& published, bool in_block) const;

 private:
  bool known_before(Stamp before, int thread) const;
  bool own_over(std::uint32_t actor, Epoch epoch, int thread) const {
    if (!floors_.empty() && epoch < floors_[actor]) return true;
    return actor % actors_of_a_kind == std::uint32_t(thread) && epoch < clock(thread).over[kind_of(actor)];
  }
  Epoch next_epoch(Epoch latest) const;
  Epoch whole_warp(const std::vector<std::pair<int, Epoch>>& lanes) const;
  KnownPointer joined_of(const std::vector<int>& threads, KnownPointer ThreadClock::*what) const;
  View over_for(const std::vector<int>& threads) const;
  View own_view(int thread) const;
  void add_floors(View& view) const;
  /// `threads` have come to a barrier: the fences of each count for all, as do those of others.
  void share_fences(const std::vector<int>& threads, const News& others = {});
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
  // Lanes of a warp learn the same one after the other.
  struct LastJoin {
    KnownPointer known, news, result;

    const KnownPointer& of(const KnownPointer& one, const KnownPointer& other);
  };
  LastJoin last_learnt_, last_fenced_, last_fenced_in_block_;
  struct ClusterArrival {
    Epoch floor = 0;  // up to which all is over that was done before; those are not who synchronised in the meantime:
    View more;        // what else is over
    KnownPointer known;        // what those know who have arrived,
    KnownPointer last_known;   // and the last one of them;
    KnownPointer fenced;       // what they fenced
    std::vector<int> threads;  // who they are
  } cluster_arrival_;
};

}  // namespace simt::order
