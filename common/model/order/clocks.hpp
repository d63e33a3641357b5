// order/: who happens before whom.
//
// What comes in: what threads do that orders memory (barriers of a block, of some warps or lanes, fences, atomics, asynchronous
// copies and the waits for them), as calls with plain numbers; and, in cells.hpp, each access of a traced kernel to shared or
// global memory. What goes out: whether two accesses are ordered, and if not, who the other was. Nothing here knows fibers,
// addresses of the program, names or source lines: it can be tested, and read, on its own.
//
// How: FastTrack (Flanagan and Freund, PLDI 2009) keeps for each thread a vector clock, and for each memory location an epoch:
// which thread, and when by that thread's own count, accessed it last. An access is ordered after another if the clock of its
// thread has reached the epoch of the other. A grid has too many threads for a full vector each, but nearly all that they know
// of each other comes from barriers of a whole block or warp. So a clock has four levels, of which an access asks the first
// that can answer:
//   - the floor of the block: every thread of it has passed a barrier since (BlockOrder::floor);
//   - the floor of the warp: every lane of it has passed a __syncwarp since (BlockOrder::warp_floors);
//   - asynchronous copies that the thread itself has waited for (ThreadClock::copies_done);
//   - all else that the thread has learnt, of single threads, warps, or of other blocks: Known, shared by those who know the
//     same, and empty in most kernels.
// An asynchronous copy is an actor of its own, whose accesses are ordered after what its thread did before, and before what any
// thread does that has learnt of its end.
//
// No count wraps: an epoch that does not fit its bits ends the run with an error.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace simt::order {

using Epoch = std::uint32_t;

/// Who accessed, and when by its own count: 24 bits of block (1-based, 0 is nobody), 11 of actor, 26 of epoch, 3 of flags.
using Stamp = std::uint64_t;
constexpr int epoch_shift = 3, actor_shift = 29, block_shift = 40;
constexpr Epoch last_epoch = (1u << 26) - 1;
constexpr Stamp flags_mask = 7;
/// An actor is a thread of a block, by its linear index, or (plus this) the asynchronous copies of one.
constexpr std::uint32_t copies_of = 1024;

constexpr Stamp stamp(std::uint32_t block, std::uint32_t actor, Epoch epoch) {
  return Stamp(block) << block_shift | Stamp(actor) << actor_shift | Stamp(epoch) << epoch_shift;
}
constexpr std::uint32_t block_of(Stamp s) { return std::uint32_t(s >> block_shift); }
constexpr std::uint32_t actor_of(Stamp s) { return std::uint32_t(s >> actor_shift) & 0x7ff; }
constexpr Epoch epoch_of(Stamp s) { return Epoch(s >> epoch_shift) & last_epoch; }
/// The thread that made the access, or started the copy that did.
constexpr std::uint32_t thread_of(Stamp s) { return actor_of(s) % copies_of; }
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

/// Sorted by block. Immutable, so that all who know the same share it.
struct Known {
  std::vector<View> views;
  const View* of_block(std::uint32_t block) const;
};
using KnownPointer = std::shared_ptr<const Known>;

/// What both know. Either may be null.
KnownPointer joined(const KnownPointer& one, const KnownPointer& other);
KnownPointer joined(const KnownPointer& one, View more);

struct ThreadClock {
  Epoch epoch = 1;
  /// Groups of asynchronous copies, counted from 1: the one that is being filled, and the last that the thread has waited for.
  Epoch copies_group = 1, copies_done = 0;
  KnownPointer known;
  KnownPointer fenced;  ///< what the thread had known and done at its last fence
};

/// The clocks of a block's threads.
class BlockOrder {
 public:
  void start(std::uint32_t serial, int threads);

  std::uint32_t serial() const { return serial_; }
  Epoch floor() const { return floor_; }
  ThreadClock& clock(int thread) { return clocks_[std::size_t(thread)]; }
  const ThreadClock& clock(int thread) const { return clocks_[std::size_t(thread)]; }
  Stamp stamp_of(int thread) const { return stamp(serial_, std::uint32_t(thread), clock(thread).epoch); }
  Stamp stamp_of_copies(int thread) const {
    return stamp(serial_, copies_of + std::uint32_t(thread), clock(thread).copies_group);
  }

  /// Whether the access stamped `before` is ordered before what `thread` does next. Flags are not looked at.
  bool ordered(Stamp before, int thread) const {
    if (block_of(before) == serial_) {
      const std::uint32_t actor = actor_of(before);
      if (actor < copies_of) {
        if (epoch_of(before) < floor_ || actor == std::uint32_t(thread)) return true;
        if (actor / 32 == std::uint32_t(thread) / 32 && epoch_of(before) < warp_floors_[actor / 32]) return true;
      } else if (copies_ordered(actor - copies_of, epoch_of(before), thread)) {
        return true;
      }
    }
    return clock(thread).known != nullptr && known_before(before, thread);
  }
  /// Whether all accesses of the stamp's warp (`whole_block`: block) up to its epoch are ordered before what `thread` does next.
  bool all_ordered(Stamp before, bool whole_block, int thread) const;

  void block_barrier();
  /// All lanes of a warp, or those of a mask; threads that have returned do not matter.
  void warp_barrier(int first_thread, int lanes, unsigned mask);
  /// Any threads of the block: a named barrier.
  void barrier_of(const std::vector<int>& threads);

  void commit_copies(int thread);
  /// Waits until at most `pending` groups are under way.
  void wait_for_copies(int thread, Epoch pending);

  void fence(int thread);
  /// What `thread` has known and done, for others to learn; what it does next is not part of it.
  KnownPointer published(int thread);
  void learn(int thread, const KnownPointer& news) { clock(thread).known = joined(clock(thread).known, news); }

 private:
  bool known_before(Stamp before, int thread) const;
  bool copies_ordered(std::uint32_t owner, Epoch group, int thread) const {
    if (group < copies_floors_[owner]) return true;
    return owner == std::uint32_t(thread) && group <= clock(thread).copies_done;
  }
  Epoch next_epoch(Epoch latest) const;
  KnownPointer joined_of(const std::vector<int>& threads) const;
  View copies_known_by(const std::vector<int>& threads) const;

  std::uint32_t serial_ = 0;
  Epoch floor_ = 1;
  bool copies_used_ = false;
  std::array<Epoch, 32> warp_floors_{};
  std::vector<Epoch> copies_floors_;  // by thread: groups before these are known to all
  std::vector<ThreadClock> clocks_;
};

}  // namespace simt::order
