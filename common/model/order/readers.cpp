#include "common/model/order/readers.hpp"

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
  clear();
  groups_[0] = {reader, pc};
}

bool ReaderSet::note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc) {
  const WarpReaders mine(reader, pc);
  WarpReaders* same = nullptr;
  for (WarpReaders& group : groups_) {
    if (group.lanes == 0) continue;
    if (group.warp == mine.warp)
      same = &group;
    else if (group.unordered(order, thread) == 0)
      group.lanes = 0;
    else if (actor_and_block_of(group.warp) == actor_and_block_of(mine.warp))
      group.lanes &= ~mine.lanes;  // its own earlier read
  }
  if (same != nullptr) {
    same->lanes |= mine.lanes;
    same->pc = pc;
    return true;
  }
  WarpReaders* const place = place_for(block_of(reader));
  if (place == nullptr) return false;
  *place = mine;
  return true;
}

std::size_t ReaderSet::groups_of(std::uint32_t block) const {
  return std::size_t(std::count_if(groups_.begin(), groups_.end(), [&](const WarpReaders& group) {
    return group.lanes != 0 && block_of(group.warp) == block;
  }));
}

// A free place; else, for a block that has none, one of a block that has several.
WarpReaders* ReaderSet::place_for(std::uint32_t block) {
  for (WarpReaders& group : groups_)
    if (group.lanes == 0) return &group;
  if (groups_of(block) != 0) return nullptr;
  for (WarpReaders& group : groups_)
    if (groups_of(block_of(group.warp)) > 1) return &group;
  return nullptr;
}

bool ReaderSet::full() const {
  return std::all_of(groups_.begin(), groups_.end(), [](const WarpReaders& group) { return group.lanes != 0; });
}

bool ReaderSet::full_of_blocks() const {
  return full() && std::all_of(groups_.begin(), groups_.end(),
                               [&](const WarpReaders& group) { return groups_of(block_of(group.warp)) == 1; });
}

const WarpReaders* ReaderSet::unordered(const BlockOrder& order, int thread, Stamp self, Stamp& who) const {
  for (const WarpReaders& group : groups_)
    if ((who = group.unordered(order, thread, self)) != 0) return &group;
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
