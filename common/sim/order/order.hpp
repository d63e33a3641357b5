// order/: the happens-before relation.
//
// In: what orders memory (barriers, fences, atomics, asynchronous copies and the waits for them), as calls with plain
// numbers, and each access of a traced kernel. Out: whether two accesses are ordered, and if not, who made the other.
//
// How: FastTrack (Flanagan and Freund, PLDI 2009) keeps a vector clock for each thread, and an epoch for each memory
// location: who accessed it last, and when by that thread's own count. An access is ordered after another if the clock
// of its thread has reached the other's epoch. Most ordering between threads comes from barriers of a whole block or
// warp, so a clock has four levels, and the first that can decide is used:
//   - the floor of the block: every thread of it has passed a barrier since (BlockOrder::floor);
//   - the floor of the warp: every lane of it has passed a __syncwarp since (BlockOrder::warp_floors);
//   - what the thread itself has waited for, or fenced (ThreadClock::over);
//   - what it has learnt about single threads, warps, or other blocks: Known, shared by all that know the same.
// An asynchronous copy is an actor of its own, ordered after its thread's earlier accesses, and before the accesses of any
// thread that has learnt of its completion. TMA copies belong to the async proxy: they may touch what threads wrote only
// after a proxy fence, so a clock also records which accesses a proxy fence has followed. No count wraps: the run ends first.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace simt::order {

using Epoch = std::uint32_t;

/// Who accessed, and when by its own count: 24 bits of block (from 1; 0: no access), 12 of actor, 25 of epoch, 3 flags.
using Stamp = std::uint64_t;
constexpr int epoch_shift = 3, actor_shift = 28, block_shift = 40;
constexpr Epoch last_epoch = (1u << 25) - 1;
constexpr Stamp flags_mask = 7;

/// An actor is a number below 1024 plus its kind: a thread, by its linear index in the block, or its copies.
constexpr std::uint32_t actors_of_a_kind = 1024;
constexpr std::uint32_t copies_of = 1024;    ///< the copies that a thread starts with cp.async; epochs are its groups
constexpr std::uint32_t bulk_of = 2048;      ///< its TMA copies out of shared memory; epochs are its bulk groups
constexpr std::uint32_t mbarrier_of = 3072;  ///< the TMA copies that an mbarrier counts; epochs are its phases
// Not actors, but kept like them: up to which epoch ...
constexpr std::uint32_t bulk_reads_of = 4096;     ///< ... a thread's TMA copies have read their source
constexpr std::uint32_t fenced_shared_of = 5120;  ///< ... the async proxy sees its accesses to shared memory
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
/// The thread that made the access, or started the copy that did; for the copies of an mbarrier, the mbarrier's number.
constexpr std::uint32_t thread_of(Stamp s) { return actor_of(s) % actors_of_a_kind; }
constexpr std::uint32_t warp_of(Stamp s) { return actor_of(s) / 32; }
constexpr std::uint64_t actor_and_block_of(Stamp s) { return s >> actor_shift; }

/// What is known about a block: before which epochs accesses of `all` its threads, of `warps` and of `actors` are ordered.
struct View {
  std::uint32_t block = 0;
  Epoch all = 0;
  std::vector<std::pair<std::uint32_t, Epoch>> warps, actors;  // sorted by number

  Epoch of(std::uint32_t actor) const;
  bool operator==(const View&) const = default;
};

/// Views, sorted by block. Immutable, so that all that know the same share it; null: nothing known.
struct Known {
  std::vector<View> views;
  const View* of_block(std::uint32_t block) const;
};
using KnownPointer = std::shared_ptr<const Known>;

/// What threads have done and know, and which part of it they had fenced, for all threads or for their block alone.
struct News {
  KnownPointer known, fenced, fenced_in_block;
  bool operator==(const News&) const = default;
};
News joined(const News& one, const News& other);

/// Threads that have arrived at a barrier. Their later accesses are not included.
struct Arrivals {
  std::vector<std::pair<int, Epoch>> threads;  ///< each with its epoch, exclusive
  News news;
  View over{};  ///< copies that were over for them
};

/// `fenced` is what was known and done at the thread's last fence, or of threads with which it has passed a barrier.
struct ThreadClock : News {
  Epoch epoch = 1;
  /// The current groups of asynchronous copies, counted from 1: of cp.async and of TMA copies.
  std::array<Epoch, 2> groups{1, 1};
  /// For each kind, what is over for the thread itself: epochs of its own actor, exclusive.
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
  /// Accesses of all lanes of a thread's warp before this epoch are ordered before the thread's next access.
  Epoch warp_floor(int thread) const { return std::max(floor_, warp_floors_[std::size_t(thread) / 32]); }
  /// Whether a thread of the block has fenced; whether `thread` has, or has passed a barrier with one that has.
  bool any_fenced() const { return any_fenced_; }
  bool fenced(int thread) const { return clock(thread).fenced != nullptr || clock(thread).fenced_in_block != nullptr; }
  ThreadClock& clock(int thread) { return clocks_[std::size_t(thread)]; }
  const ThreadClock& clock(int thread) const { return clocks_[std::size_t(thread)]; }
  Stamp stamp_of(int thread) const { return stamp(serial_, std::uint32_t(thread), clock(thread).epoch); }
  /// The stamp of copies that `thread` adds to its current group of a kind.
  Stamp stamp_of_group(int thread, std::uint32_t kind) {
    return stamp(serial_, kind + std::uint32_t(thread), clock(thread).group(kind));
  }

  /// Whether the access stamped `before` is ordered before the next access of `thread`. Flags are ignored.
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
  /// Whether `thread` knows that `actor` of `block` is past `epoch`.
  bool over(std::uint32_t block, std::uint32_t actor, Epoch epoch, int thread) const;
  /// Whether a copy that `thread` starts now sees the write stamped `written`: a proxy fence lies between.
  bool proxy_fenced(Stamp written, bool in_global_memory, int thread) const;
  /// The same for the initialisation of an mbarrier.
  bool init_fenced(Stamp initialised, int thread) const;

  void block_barrier();
  /// A barrier of some threads of the block, in ascending order: lanes of a warp, or those that wait at a named
  /// barrier. Those that have `arrived` without waiting release their earlier accesses, but acquire nothing.
  void barrier_of(const std::vector<int>& threads, const Arrivals& arrived = {});
  void arrive(int thread, Arrivals& arrived);
  /// What other blocks learn from this block's threads that have arrived at the cluster barrier.
  News told_to_cluster(const Arrivals& arrived) const;

  /// Ends a thread's current group of copies of a kind: copies_of or bulk_of.
  void commit(int thread, std::uint32_t kind);
  /// Waits until at most `pending` of these groups are in flight, or have yet to read their source.
  void wait_for_groups(int thread, std::uint32_t kind, Epoch pending, bool reads_only = false);
  /// That the copies of a thread's groups before the current one have landed, for other threads to learn.
  News landed(int thread);
  /// What a thread learns when it finds that an mbarrier has completed its phases up to this one.
  News phase_over(std::uint32_t mbarrier, Epoch phase);

  /// From now on, a later atomic operation (or volatile store) of `thread`, or of a thread that has passed a barrier
  /// with it, releases what `thread` has done and knows now, to its own block or to all.
  void fence(int thread, bool block_only);
  void fence_proxy(int thread, bool global_as_well);
  void fence_inits(int thread);
  /// What `thread` has done, knows and has fenced, for other threads to learn, in this block alone or in any.
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
  /// Keeps floors for this kind from now on.
  void use(std::uint32_t kind);
  void raise_floor(std::uint32_t actor, Epoch epoch) { floors_[actor] = std::max(floors_[actor], epoch); }

  std::uint32_t serial_ = 0;
  bool any_fenced_ = false;
  Epoch floor_ = 1;
  std::array<Epoch, 32> warp_floors_{};
  std::vector<std::uint32_t> used_;  // kinds other than threads, sorted
  std::vector<Epoch> floors_;        // by actor: what is over for all threads; empty while no such kind is used
  std::vector<ThreadClock> clocks_;
  struct {
    News known, news, result;
  } last_learnt_;  // a cache: the lanes of a warp learn the same thing one after the other
};

// --- Shadow memory: who last wrote and read each word of shared memory, and each element of global memory ------------
/// One access by `thread` of the block of `order`, or by copies that it started.
struct Access {
  const BlockOrder& order;
  int thread = 0;
  bool writes = false, atomic = false;
  bool may_poll = false;  ///< a load through volatile of a block's own shared memory: no race with an atomic store
  Stamp copy = 0;         ///< of the copies that make the access; 0: the thread does
  std::uint32_t pc = 0;   ///< offset of the return address in the program's image

  Stamp mine() const { return copy != 0 ? copy : order.stamp_of(thread); }
  bool async_proxy() const { return copy != 0 && actor_of(copy) >= bulk_of; }
};

/// An earlier access to the same location that is not ordered with an access.
struct Conflict {
  Stamp with = 0;
  std::uint32_t pc = 0;
  bool wrote = false;
  bool unfenced = false;                  ///< they are ordered, but a proxy fence between them is missing
  bool atomic = false, may_poll = false;  ///< the other one wrote atomically, or read through volatile
};

/// Lanes of one warp, or the copies that they started, that have read at one epoch.
struct WarpReaders {
  Stamp warp = 0;  ///< stamp of its first lane, with the epoch; the owner of this object defines the flags
  std::uint32_t lanes = 0, pc = 0;

  WarpReaders() = default;
  WarpReaders(Stamp warp_stamp, std::uint32_t which, std::uint32_t at) : warp(warp_stamp), lanes(which), pc(at) {}
  /// One reader.
  WarpReaders(Stamp reader, std::uint32_t at)
      : warp(reader & ~(Stamp(31) << actor_shift)), lanes(1u << actor_of(reader) % 32), pc(at) {}

  /// One of them, other than `self`, whose read is not ordered before the next access of `thread`; 0: none.
  Stamp unordered(const BlockOrder& order, int thread, Stamp self = 0) const;
};

/// Up to seven such groups that have read one element of global memory. If there are more, groups of blocks that are
/// already present, and of blocks beyond the fourth, are left out; a race with a reader that is left out is not found.
struct ReaderSet {
  static constexpr std::size_t most = 7, many_blocks = 4;
  boost::container::static_vector<WarpReaders, most> groups;

  /// Notes the read of a thread, or of a copy that it starts, which replaces all reads that are ordered before it.
  /// Returns whether there was room.
  bool note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc);
  std::size_t groups_of(std::uint32_t block) const;
  std::size_t blocks() const;
};

/// The shared memory of one block, which other blocks of its cluster may access as well.
class SharedCells {
 public:
  /// Starts with unwritten words, for a block of `threads` threads. `owner`: in a cluster, the serial of the block.
  void start(std::size_t words, int threads, std::uint32_t owner = 0);
  std::size_t size() const { return words_.size(); }

  /// Whether a thread of the block, or of its cluster, has written the word.
  bool written(std::size_t word, const BlockOrder& order) const {
    return words_[word].writer != 0 && (owner_ != 0 || block_of(words_[word].writer) == order.serial());
  }
  /// Notes the access if it is the usual one, a read of a word written before the last barrier of the block, which
  /// cannot conflict. Returns false otherwise: then call put().
  [[gnu::always_inline]] bool put_usual(std::size_t word, const Access& access) {
    const Stamp writer = words_[word].writer;
    const BlockOrder& order = access.order;
    if (access.writes || access.atomic || access.may_poll || access.copy != 0 || block_of(writer) != order.serial() ||
        actor_of(writer) >= copies_of || epoch_of(writer) >= order.floor())
      return false;
    const Readers& readers = readers_of(word, std::size_t(access.thread) / 32);
    if (readers.epoch != order.clock(access.thread).epoch && readers.epoch >= order.floor()) return false;
    note_read_of_thread(word, access);
    return true;
  }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t word, const Access& access, Conflict& conflict);
  /// The same cells, each split into `parts` with the same state.
  SharedCells refined(std::size_t parts) const;

 private:
  struct Word {
    Stamp writer = 0;
    std::uint32_t writer_pc = 0;
    Epoch last_read = 0;  // the latest epoch of any reader since the last write; 0: not read
  };
  // Lanes of a warp that have read since the last write, at the epoch of its last reader. Other readers are in apart_.
  struct Readers {
    Epoch epoch = 0;
    std::uint32_t lanes = 0, pc = 0;
  };
  Readers& readers_of(std::size_t word, std::size_t warp) { return readers_[warp * words_.size() + word]; }
  void forget_readers(std::size_t word);
  // For a read when no lane of its warp has read the word at another epoch since the last barrier of the block.
  [[gnu::always_inline]] void note_read_of_thread(std::size_t word, const Access& access) {
    const Epoch epoch = access.order.clock(access.thread).epoch;
    Readers& mine = readers_of(word, std::size_t(access.thread) / 32);
    if (mine.epoch != epoch) mine.lanes = 0;  // older reads are ordered before all later accesses
    mine = {epoch, mine.lanes | 1u << access.thread % 32, access.pc};
    words_[word].last_read = std::max(words_[word].last_read, epoch);
  }
  void note_read(std::size_t word, const Access& access);
  void keep_apart(std::size_t word, const BlockOrder& order, const WarpReaders& readers);
  bool read_before(std::size_t word, const Access& access, Conflict& conflict);

  std::uint32_t owner_ = 0;  // in a cluster: the serial of the block
  std::size_t warps_ = 1;
  // Further readers since the last write: other blocks, lanes of a warp at several epochs, reads through volatile, and
  // TMA copies. A list for each word, or empty if there are none at all.
  std::vector<std::vector<WarpReaders>> apart_;
  std::vector<Word> words_;
  std::vector<Readers> readers_;  // by warp, then by word: the lanes of one warp run one after the other
};

/// An allocation of global memory, shared by the blocks of a grid; at the start of a launch, nothing has been touched.
/// As in FastTrack, an element keeps one reader as long as each read is ordered after the one before, and otherwise a
/// set of readers. A write is checked against them.
class GlobalCells {
 public:
  /// Cells take memory only where they are touched, so there may be more than fit into the computer's memory.
  explicit GlobalCells(std::size_t elements);
  bool untouched(std::size_t element) const { return !written(element) && cells_[element].reader.load(relaxed) == 0; }
  bool written(std::size_t element) const { return cells_[element].writer.load(relaxed) != 0; }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t element, const Access& access, Conflict& conflict);

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t most_sets = 1 << 20;
  struct Cell {
    std::atomic<Stamp> writer{0}, reader{0};  // the last noted reader, and flags if there are several
    std::atomic<ReaderSet*> readers{nullptr};
    std::atomic<std::uint32_t> writer_pc{0}, reader_pc{0};
  };
  std::mutex& lock_of(std::size_t element) { return locks_[element % locks_.size()]; }
  ReaderSet* new_set();
  void note_read(std::size_t element, const Access& access);
  void note_another(Cell& cell, const Access& access);
  bool read_before(std::size_t element, const Access& access, Conflict& conflict);
  std::unique_ptr<Cell[], std::function<void(Cell*)>> cells_;
  std::array<std::mutex, 64> locks_;  // held while an element's set of readers is in use
  std::mutex sets_mutex_;
  std::deque<ReaderSet> sets_;
};

}  // namespace simt::order
