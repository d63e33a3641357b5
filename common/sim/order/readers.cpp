#include "common/sim/order/readers.hpp"

#include <algorithm>
#include <bit>

namespace simt::order {

Stamp WarpReaders::unordered(const BlockOrder& order, int thread, Stamp self) const {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const Stamp reader = (warp & ~flags_mask) + (Stamp(std::countr_zero(left)) << actor_shift);
    if (!order.ordered(reader, thread) && actor_and_block_of(reader) != actor_and_block_of(self)) return reader;
  }
  return 0;
}

void ReaderSet::start_with(Stamp reader, std::uint32_t pc) {
  groups_[0] = {reader, pc};
  size_ = 1;
}

bool ReaderSet::note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc) {
  const WarpReaders mine(reader, pc);
  for (std::size_t i = 0; i < size_;) {
    WarpReaders& group = groups_[i];
    if (group.warp == mine.warp) {
      group.lanes |= mine.lanes;
      group.pc = pc;
      return true;
    }
    if (actor_and_block_of(group.warp) == actor_and_block_of(mine.warp))
      group.lanes &= ~mine.lanes;  // its earlier read
    if (group.unordered(order, thread) == 0)
      group = groups_[--size_];
    else
      ++i;
  }
  WarpReaders* const place = place_for(block_of(reader));
  if (place == nullptr) return false;
  *place = mine;
  return true;
}

std::size_t ReaderSet::groups_of(std::uint32_t block) const {
  return std::size_t(std::count_if(groups_.begin(), groups_.begin() + size_,
                                   [&](const WarpReaders& group) { return block_of(group.warp) == block; }));
}

// A free place; else, for a block that has none, one of a block that has several.
WarpReaders* ReaderSet::place_for(std::uint32_t block) {
  if (!full()) return &groups_[size_++];
  if (groups_of(block) != 0) return nullptr;
  for (WarpReaders& group : groups_)
    if (groups_of(block_of(group.warp)) > 1) return &group;
  return nullptr;
}

bool ReaderSet::of_many_blocks() const {
  constexpr std::size_t many = 4;
  if (size_ < many) return false;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < size_; ++i)
    blocks += std::none_of(groups_.begin(), groups_.begin() + i, [&](const WarpReaders& before) {
      return block_of(before.warp) == block_of(groups_[i].warp);
    });
  return blocks >= many;
}

const WarpReaders* ReaderSet::unordered(const BlockOrder& order, int thread, Stamp self, Stamp& who) const {
  for (std::size_t i = 0; i < size_; ++i)
    if ((who = groups_[i].unordered(order, thread, self)) != 0) return &groups_[i];
  return nullptr;
}

ReaderSet* ReaderSets::take() {
  const std::scoped_lock lock(mutex_);
  if (taken_ == chunks_.size() * chunk) {
    if (chunks_.size() == most_chunks) return nullptr;
    chunks_.push_back(std::make_unique<ReaderSet[]>(chunk));
  }
  const std::size_t next = taken_++;
  return &chunks_[next / chunk][next % chunk];
}

}  // namespace simt::order
