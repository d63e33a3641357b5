// Who has read an element since it was last written, where one epoch does not say it: the reads are not ordered with each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/sim/order/clocks.hpp"

namespace simt::order {

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

}  // namespace simt::order
