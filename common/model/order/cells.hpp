// Shadow memory: who last wrote and read each word of shared memory, and each element of global memory. An access is put to
// its cell together with the clocks of its block; what comes back is the access that it is not ordered after, if there is one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/model/order/clocks.hpp"

namespace simt::order {

/// One access: by `thread` of the block of `order`, or by copies that it started.
struct Access {
  const BlockOrder& order;
  int thread = 0;
  bool writes = false, atomic = false;
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
  /// `words` places of `granule` bytes each, for a block of so many threads; none is written yet.
  void start(std::size_t words, int threads);
  /// The same for a block of a cluster. Others know it by this number.
  void start_in_cluster(std::size_t words, int threads, std::uint32_t owner);
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
    if (access.writes || access.atomic || !access.by.thread() || block_of(writer) != order.serial() ||
        actor_of(writer) >= copies_of || epoch_of(writer) >= order.floor())
      return false;
    note_read(word, access);
    return true;
  }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t word, const Access& access, Conflict& conflict);
  /// The same places, and behind them more that are not written yet.
  SharedCells grown(std::size_t words) const;
  /// The same places at a finer grain: each takes over what is known of the one it was part of.
  SharedCells refined(std::size_t parts) const;

 private:
  struct Word {
    Stamp writer = 0;
    std::uint32_t writer_pc = 0;
    Epoch last_read = 0;  // the latest epoch of any reader since the last write; 0: not read
  };
  // Readers of one warp since the last write. Where lanes read at different epochs, the latest stands for all.
  struct Readers {
    Epoch epoch = 0;
    std::uint32_t lanes = 0, pc = 0;
  };
  Readers& readers_of(std::size_t word, std::size_t warp) { return readers_[warp * words_.size() + word]; }
  void forget_readers(std::size_t word);
  void note_read(std::size_t word, const Access& access) {
    const Epoch epoch = access.order.clock(access.thread).epoch;
    Readers& mine = readers_of(word, std::size_t(access.thread) / 32);
    if (mine.epoch < access.order.floor()) mine.lanes = 0;  // older reads are ordered before all that comes
    mine = {std::max(mine.epoch, epoch), mine.lanes | 1u << access.thread % 32, access.pc};
    words_[word].last_read = std::max(words_[word].last_read, epoch);
  }
  void note_bulk_read(std::size_t word, const Access& access);
  bool bulk_read_before(std::size_t word, const Access& access, Conflict& conflict) const;
  void note_foreign_read(std::size_t word, const Access& access);
  bool own_read_before(std::size_t word, const Access& access, Conflict& conflict);
  bool foreign_read_before(std::size_t word, const Access& access, Conflict& conflict) const;

  // The last read by a copy in bulk.
  struct BulkRead {
    Stamp reader = 0;
    std::uint32_t pc = 0;
  };
  // Lanes of a warp of another block that have read at one epoch since the last write.
  struct ForeignReaders {
    Stamp warp = 0;  // its first lane, and the epoch
    std::uint32_t lanes = 0, pc = 0;
  };
  std::uint32_t owner_ = 0;  // of a cluster's block: its number
  std::size_t warps_ = 1;
  std::vector<std::vector<ForeignReaders>> foreign_;  // one for each word, or empty: of none
  std::vector<Word> words_;
  std::vector<Readers> readers_;      // of all words for each warp: the lanes of one run one after the other
  std::vector<BulkRead> bulk_reads_;  // one for each word, or empty: of none
};

/// An allocation of global memory, shared by the blocks of a grid, as a launch finds it: nobody has touched anything. Of several readers it knows one, another, and whether they
/// are of one warp, of one block, or of several: a write by a thread that is ordered after each of them by other means than a
/// barrier of that warp or block is taken for a race.
class GlobalCells {
 public:
  /// They take memory only where they are touched, and may be more than the computer has room for.
  explicit GlobalCells(std::size_t elements);
  bool untouched(std::size_t element) const {
    return !written(element) && cells_[element].reader.load(std::memory_order_relaxed) == 0;
  }
  bool written(std::size_t element) const { return cells_[element].writer.load(std::memory_order_relaxed) != 0; }
  /// How many elements are written.
  std::size_t written() const { return written_.load(std::memory_order_relaxed); }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t element, const Access& access, Conflict& conflict);

 private:
  struct Cell {
    std::atomic<Stamp> writer{0}, reader{0}, other_reader{0};
    std::atomic<std::uint32_t> writer_pc{0}, reader_pc{0};
  };
  struct Unmap {
    std::size_t bytes;
    void operator()(Cell* cells) const;
  };
  std::unique_ptr<Cell[], Unmap> cells_;
  std::atomic<std::size_t> written_{0};
};

}  // namespace simt::order
