// Shadow memory: who last wrote and read each word of shared memory, and each element of global memory. An access is put to
// its cell together with the clocks of its block; what comes back is the access that it is not ordered after, if there is one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/sim/order/clocks.hpp"

namespace simt::order {

// --- Readers of an element since it was last written, where one epoch does not say it: they are unordered ----------------------
/// Lanes of one warp (or the copies that they started) that have read at one epoch.
struct WarpReaders {
  Stamp warp = 0;  ///< of its first lane, with the epoch; flags belong to who keeps them
  std::uint32_t lanes = 0, pc = 0;

  WarpReaders() = default;
  WarpReaders(Stamp warp_stamp, std::uint32_t which, std::uint32_t at) : warp(warp_stamp), lanes(which), pc(at) {}
  /// One reader.
  WarpReaders(Stamp reader, std::uint32_t at)
      : warp(reader & ~(Stamp(31) << actor_shift)), lanes(1u << actor_of(reader) % 32), pc(at) {}

  /// One of them whose read is not ordered before what `thread` does next, other than `self`; 0: none.
  Stamp unordered(const BlockOrder& order, int thread, Stamp self = 0) const;
};

/// Up to seven such groups that have read one element. Of more, those are left out whose blocks are there already, and those of
/// further blocks than four, or than there is room for: a race with a reader that is left out is not found.
class ReaderSet {
 public:
  void clear() { size_ = 0; }
  void start_with(Stamp reader, std::uint32_t pc);
  /// Notes the read of a thread, or of a copy that it starts. It stands for all that are ordered before it. Whether there was room.
  bool note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc);
  bool full() const { return size_ == groups_.size(); }
  /// Whether they are of so many blocks that no more are asked for.
  bool of_many_blocks() const;
  /// A group with a reader that is not ordered before what `thread` does next; null: none. That reader is `who`.
  const WarpReaders* unordered(const BlockOrder& order, int thread, Stamp self, Stamp& who) const;

 private:
  std::size_t groups_of(std::uint32_t block) const;
  WarpReaders* place_for(std::uint32_t block);

  std::size_t size_ = 0;
  std::array<WarpReaders, 7> groups_;
};

/// Reader sets for the elements that need one, up to about a million. They stay where they are.
class ReaderSets {
 public:
  /// A new one; null: there are no more.
  ReaderSet* take();

 private:
  static constexpr std::size_t chunk = 256, most_chunks = 4096;
  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::vector<std::unique_ptr<ReaderSet[]>> chunks_;
};

// --- Cells ---------------------------------------------------------------------------------------------------------------------
/// One access: by `thread` of the block of `order`, or by copies that it started.
struct Access {
  const BlockOrder& order;
  int thread = 0;
  bool writes = false, atomic = false;
  bool may_poll = false;  ///< a load through volatile of a block's own shared memory: no race with an atomic store
  By by{};
  std::uint32_t pc = 0;  ///< offset of the return address in the program's image

  Stamp mine() const { return by.thread() ? order.stamp_of(thread) : order.stamp_of(thread, by); }
};

/// Another access to the same place that is not ordered with an access.
struct Conflict {
  Stamp with = 0;
  std::uint32_t pc = 0;
  bool wrote = false;
  bool unfenced = false;  ///< they are ordered, but of two proxies, with no fence between these
};

/// The shared memory of one block, which those of its cluster may reach as well.
class SharedCells {
 public:
  /// So many places, for a block of so many threads; none is written yet. `owner`: the number of a block of a cluster.
  void start(std::size_t words, int threads, std::uint32_t owner = 0);
  std::size_t size() const { return words_.size(); }
  bool fits(std::size_t words, int threads) const {
    return words_.size() == words && warps_ == std::size_t(threads + 31) / 32;
  }

  /// Whether a thread of the block, or of its cluster, has written the place.
  bool written(std::size_t word, const BlockOrder& order) const {
    return words_[word].writer != 0 && (owner_ != 0 || block_of(words_[word].writer) == order.serial());
  }
  /// Notes the access if it is the usual one, a read of what a thread wrote before the last barrier of the block: no conflict.
  /// Else put() does.
  bool put_usual(std::size_t word, const Access& access) {
    const Stamp writer = words_[word].writer;
    const BlockOrder& order = access.order;
    if (access.writes || access.atomic || access.may_poll || !access.by.thread() ||
        block_of(writer) != order.serial() || actor_of(writer) >= copies_of || epoch_of(writer) >= order.floor())
      return false;
    const Readers& readers = readers_of(word, std::size_t(access.thread) / 32);
    if (readers.epoch != order.clock(access.thread).epoch && readers.epoch >= order.floor()) return false;
    note_read_of_thread(word, access);
    return true;
  }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t word, const Access& access, Conflict& conflict);
  /// The same places, each in so many parts of which the same is known, and after them more that are not written yet.
  SharedCells resized(std::size_t words, std::size_t parts) const;

 private:
  struct Word {
    Stamp writer = 0;
    std::uint32_t writer_pc = 0;
    Epoch last_read = 0;  // the latest epoch of any reader since the last write; 0: not read
  };
  // Lanes of one warp that have read at one epoch since the last write, as its last reader did. Others are kept apart.
  struct Readers {
    Epoch epoch = 0;
    std::uint32_t lanes = 0, pc = 0;
  };
  Readers& readers_of(std::size_t word, std::size_t warp) { return readers_[warp * words_.size() + word]; }
  void forget_readers(std::size_t word);
  // Where no lane of its warp has read the word at another epoch since the last barrier of the block.
  void note_read_of_thread(std::size_t word, const Access& access) {
    const Epoch epoch = access.order.clock(access.thread).epoch;
    Readers& mine = readers_of(word, std::size_t(access.thread) / 32);
    if (mine.epoch != epoch) mine.lanes = 0;  // older reads are ordered before all that comes
    mine = {epoch, mine.lanes | 1u << access.thread % 32, access.pc};
    words_[word].last_read = std::max(words_[word].last_read, epoch);
  }
  void note_bulk_read(std::size_t word, const Access& access);
  bool bulk_read_before(std::size_t word, const Access& access, Conflict& conflict) const;
  void note_read(std::size_t word, const Access& access);
  void keep_apart(std::size_t word, const BlockOrder& order, const WarpReaders& readers);
  bool own_read_before(std::size_t word, const Access& access, Conflict& conflict);
  bool read_apart_before(std::size_t word, const Access& access, Conflict& conflict) const;

  // The last read by a bulk copy.
  struct BulkRead {
    Stamp reader = 0;
    std::uint32_t pc = 0;
  };
  std::uint32_t owner_ = 0;  // of a cluster's block: its number
  std::size_t warps_ = 1;
  // Readers since the last write of other blocks, of a warp whose lanes read at several epochs, and through volatile: a list for each
  // word, or empty: of none.
  std::vector<std::vector<WarpReaders>> apart_;
  std::vector<Word> words_;
  std::vector<Readers> readers_;      // of all words for each warp: the lanes of one run one after the other
  std::vector<BulkRead> bulk_reads_;  // one for each word, or empty: of none
};

/// An allocation of global memory, shared by the blocks of a grid, as a launch finds it: nobody has touched anything. As in
/// FastTrack, an element remembers one reader as long as each read is ordered after the one before, and else a set of readers, here of
/// so many and no more: a write is checked against those that it holds.
class GlobalCells {
 public:
  /// They take memory only where they are touched, and may be more than the computer has room for.
  explicit GlobalCells(std::size_t elements);
  bool untouched(std::size_t element) const {
    return !written(element) && cells_[element].reader.load(std::memory_order_relaxed) == 0;
  }
  bool written(std::size_t element) const { return cells_[element].writer.load(std::memory_order_relaxed) != 0; }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t element, const Access& access, Conflict& conflict);

 private:
  struct Cell {
    std::atomic<Stamp> writer{0}, reader{0};  // of several readers the last that is noted, and flags
    std::atomic<ReaderSet*> readers{nullptr};
    std::atomic<std::uint32_t> writer_pc{0}, reader_pc{0};
  };
  // Held while the readers of an element are more than one, by who looks at them.
  struct alignas(64) Lock {
    std::atomic_flag taken;
    void lock();
    void unlock() { taken.clear(std::memory_order_release); }
  };
  Lock& lock_of(std::size_t element) { return locks_[element % locks_.size()]; }
  void note_read(std::size_t element, const Access& access, Stamp mine);
  void note_another(Cell& cell, const Access& access, Stamp mine);
  bool read_before(std::size_t element, const Access& access, Stamp mine, Conflict& conflict);
  struct Unmap {
    std::size_t bytes;
    void operator()(Cell* cells) const;
  };
  std::unique_ptr<Cell[], Unmap> cells_;
  std::array<Lock, 64> locks_;
  ReaderSets sets_;
};

}  // namespace simt::order
