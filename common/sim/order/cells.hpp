// Shadow memory: who last wrote and read each word of shared memory, and each element of global memory. An access is
// put to its cell together with the clocks of its block; what comes back is the access that it is not ordered after, if
// any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "common/sim/order/clocks.hpp"

namespace simt::order {

/// One access: by `thread` of the block of `order`, or by copies that it started.
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

/// Another access to the same place that is not ordered with an access.
struct Conflict {
  Stamp with = 0;
  std::uint32_t pc = 0;
  bool wrote = false;
  bool unfenced = false;  ///< they are ordered, but of two proxies, with no fence between these
};

/// Lanes of one warp, or the copies that they started, that have read at one epoch.
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

/// Up to seven such groups that have read one element of global memory. Of more, those are left out whose blocks are
/// there already, and those of further blocks than four: a race with a reader that is left out is not found.
struct ReaderSet {
  static constexpr std::size_t most = 7, many_blocks = 4;
  boost::container::static_vector<WarpReaders, most> groups;

  /// Notes the read of a thread, or of a copy that it starts. It stands for all that are ordered before it. Whether
  /// there was room.
  bool note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc);
  std::size_t groups_of(std::uint32_t block) const;
  std::size_t blocks() const;
};

/// The shared memory of one block, which those of its cluster may reach as well.
class SharedCells {
 public:
  /// So many words, for a block of so many threads; none is written yet. `owner`: the number of a block of a cluster.
  void start(std::size_t words, int threads, std::uint32_t owner = 0);
  std::size_t size() const { return words_.size(); }
  bool fits(std::size_t words, int threads) const {
    return words_.size() == words && warps_ == std::size_t(threads + 31) / 32;
  }

  /// Whether a thread of the block, or of its cluster, has written the word.
  bool written(std::size_t word, const BlockOrder& order) const {
    return words_[word].writer != 0 && (owner_ != 0 || block_of(words_[word].writer) == order.serial());
  }
  /// Notes the access if it is the usual one, a read of what a thread wrote before the last barrier of the block: no
  /// conflict. Else put() does.
  bool put_usual(std::size_t word, const Access& access) {
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
  /// The same cells, each as `parts` of which the same is known.
  SharedCells refined(std::size_t parts) const;

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
  void note_read(std::size_t word, const Access& access);
  void keep_apart(std::size_t word, const BlockOrder& order, const WarpReaders& readers);
  bool read_before(std::size_t word, const Access& access, Conflict& conflict);

  std::uint32_t owner_ = 0;  // of a cluster's block: its number
  std::size_t warps_ = 1;
  // Readers since the last write of other blocks, of a warp whose lanes read at several epochs, through volatile, and
  // TMA copies: a list for each word, or empty: of none.
  std::vector<std::vector<WarpReaders>> apart_;
  std::vector<Word> words_;
  std::vector<Readers> readers_;  // of all words for each warp: the lanes of one run one after the other
};

/// An allocation of global memory, shared by the blocks of a grid, as a launch finds it: nobody has touched anything.
/// As in FastTrack, an element remembers one reader as long as each read is ordered after the one before, and else a
/// set of readers: a write is checked against those.
class GlobalCells {
 public:
  /// They take memory only where they are touched, and may be more than the computer has room for.
  explicit GlobalCells(std::size_t elements);
  bool untouched(std::size_t element) const { return !written(element) && cells_[element].reader.load(relaxed) == 0; }
  bool written(std::size_t element) const { return cells_[element].writer.load(relaxed) != 0; }
  /// Notes the access; returns whether it conflicts, and with what.
  bool put(std::size_t element, const Access& access, Conflict& conflict);

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t most_sets = 1 << 20;
  struct Cell {
    std::atomic<Stamp> writer{0}, reader{0};  // of several readers the last that is noted, and flags
    std::atomic<ReaderSet*> readers{nullptr};
    std::atomic<std::uint32_t> writer_pc{0}, reader_pc{0};
  };
  std::mutex& lock_of(std::size_t element) { return locks_[element % locks_.size()]; }
  ReaderSet* new_set();
  void note_read(std::size_t element, const Access& access);
  void note_another(Cell& cell, const Access& access);
  bool read_before(std::size_t element, const Access& access, Conflict& conflict);
  struct Unmap {
    std::size_t bytes;
    void operator()(Cell* cells) const;
  };
  std::unique_ptr<Cell[], Unmap> cells_;
  std::array<std::mutex, 64> locks_;  // held by who looks at an element's readers while they are several
  std::mutex sets_mutex_;
  std::deque<ReaderSet> sets_;
};

}  // namespace simt::order
