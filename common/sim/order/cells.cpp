#include <sys/mman.h>

#include <bit>
#include <new>

#include "common/sim/order/order.hpp"

namespace simt::order {
namespace {

// Flags of a stamp in a cell, ...
constexpr Stamp atomic_write = 1;  // ... of a writer
constexpr Stamp may_poll = 1;      // ... of readers in apart_: they have read through volatile
// ... of the last of several readers; their set is full; it has readers of enough blocks.
constexpr Stamp several = 1, full = 2, many_blocks = 4;

// An asynchronous copy is ordered after everything that its thread is ordered after when it starts the copy.
[[gnu::always_inline]] inline bool conflicts_with_writer(Stamp writer, std::uint32_t pc, const Access& access,
                                                         bool in_global_memory, Conflict& conflict) {
  if (writer == 0) return false;
  const bool both_atomic = (access.atomic || access.may_poll) && (writer & atomic_write);
  const bool ordered = both_atomic || access.order.ordered(writer, access.thread);
  if (ordered && (!access.async_proxy() || access.order.proxy_fenced(writer, in_global_memory, access.thread)))
    return false;
  conflict = {writer & ~flags_mask, pc, true, ordered, (writer & atomic_write) != 0};
  return true;
}

// Whether a read is over for `thread`. A TMA copy out of shared memory need only have read its source.
bool is_over(const BlockOrder& order, Stamp reader, int thread) {
  if (kind_of(actor_of(reader)) != kind_of(bulk_of)) return order.ordered(reader, thread);
  return order.over(block_of(reader), bulk_reads_of + thread_of(reader), epoch_of(reader), thread);
}

}  // namespace

// --- Readers -------------------------------------------------------------------------------------------------------
Stamp WarpReaders::unordered(const BlockOrder& order, int thread, Stamp self) const {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const Stamp reader = (warp & ~flags_mask) + (Stamp(std::countr_zero(left)) << actor_shift);
    if (!is_over(order, reader, thread) && actor_and_block_of(reader) != actor_and_block_of(self)) return reader;
  }
  return 0;
}

bool ReaderSet::note(const BlockOrder& order, int thread, Stamp reader, std::uint32_t pc) {
  const WarpReaders mine(reader, pc);
  for (std::size_t i = 0; i < groups.size();) {
    WarpReaders& group = groups[i];
    if (group.warp == mine.warp) {
      group.lanes |= mine.lanes;
      group.pc = pc;
      return true;
    }
    if (actor_and_block_of(group.warp) == actor_and_block_of(mine.warp)) group.lanes &= ~mine.lanes;  // earlier read
    if (group.unordered(order, thread) == 0) {
      group = groups.back();
      groups.pop_back();
    } else {
      ++i;
    }
  }
  if (groups.size() < most) {
    groups.push_back(mine);
    return true;
  }
  // A block that has no group here takes the place of one of a block that has several.
  if (groups_of(block_of(reader)) != 0) return false;
  const auto found = std::ranges::find_if(groups, [&](const auto& g) { return groups_of(block_of(g.warp)) > 1; });
  if (found != groups.end()) *found = mine;
  return found != groups.end();
}

std::size_t ReaderSet::groups_of(std::uint32_t block) const {
  return std::size_t(std::ranges::count(groups, block, [](const WarpReaders& g) { return block_of(g.warp); }));
}

std::size_t ReaderSet::blocks() const {
  boost::container::static_vector<std::uint32_t, most> blocks;
  for (const WarpReaders& group : groups)
    if (std::ranges::find(blocks, block_of(group.warp)) == blocks.end()) blocks.push_back(block_of(group.warp));
  return blocks.size();
}

// --- Shared memory -----------------------------------------------------------------------------------------------
// Cells left by an earlier block count as unwritten, because their stamps name another block; but in a cluster another
// block may access a cell before its own block has touched it.
void SharedCells::start(std::size_t words, int threads, std::uint32_t owner) {
  const std::size_t warps = std::size_t(threads + 31) / 32;
  if (owner == 0 && words_.size() == words && warps_ == warps) return;
  warps_ = warps;
  words_.assign(words, {});
  readers_.assign(words * warps_, {});
  apart_.clear();
  owner_ = owner;
}

void SharedCells::forget_readers(std::size_t word) {
  words_[word].last_read = 0;
  if (!apart_.empty()) apart_[word].clear();
  for (std::size_t warp = 0; warp < warps_; ++warp) readers_of(word, warp) = {};
}

// Reads of other lanes of the warp at another epoch are moved to apart_.
void SharedCells::note_read(std::size_t word, const Access& access) {
  const BlockOrder& order = access.order;
  const auto lane = std::uint32_t(access.thread) % 32;
  const Readers& last = readers_of(word, std::size_t(access.thread) / 32);
  const std::uint32_t others = last.lanes & ~(1u << lane);
  // This read also stands for their reads before the last barrier of the warp.
  if (last.epoch != order.clock(access.thread).epoch && others != 0 && last.epoch >= order.warp_floor(access.thread))
    keep_apart(word, order, {stamp(order.serial(), std::uint32_t(access.thread) - lane, last.epoch), others, last.pc});
  note_read_of_thread(word, access);
}

void SharedCells::keep_apart(std::size_t word, const BlockOrder& order, const WarpReaders& readers) {
  if (apart_.empty()) apart_.resize(words_.size());
  std::vector<WarpReaders>& all = apart_[word];
  for (WarpReaders& r : all) {
    const bool over =
        block_of(r.warp) == order.serial() && actor_of(r.warp) < copies_of && epoch_of(r.warp) < order.floor();
    const bool same_warp = actor_and_block_of(r.warp) == actor_and_block_of(readers.warp) &&
                           (r.warp & flags_mask) == (readers.warp & flags_mask);
    if (over) r.lanes = 0;
    if (same_warp) r.lanes &= ~readers.lanes;  // these reads stand for the lanes' earlier ones
  }
  std::erase_if(all, [&](const WarpReaders& r) { return r.lanes == 0 && r.warp != readers.warp; });
  const auto same = std::ranges::find(all, readers.warp, &WarpReaders::warp);
  if (same == all.end())
    all.push_back(readers);
  else
    *same = {readers.warp, same->lanes | readers.lanes, readers.pc};
}

// Whether an earlier read is not ordered before the write `access`.
bool SharedCells::read_before(std::size_t word, const Access& access, Conflict& conflict) {
  const BlockOrder& order = access.order;
  const auto conflicts = [&](const WarpReaders& readers) {
    const Stamp reader = readers.unordered(order, access.thread);
    if (reader != 0) conflict = {.with = reader, .pc = readers.pc, .may_poll = (readers.warp & may_poll) != 0};
    return reader != 0;
  };
  const bool foreign = owner_ != 0 && owner_ != order.serial();
  const Epoch floor = foreign ? 1 : order.floor();  // earlier reads are ordered before all later accesses
  for (std::size_t warp = 0; warp < warps_ && words_[word].last_read >= floor; ++warp) {
    const Readers& r = readers_of(word, warp);
    const Stamp first = stamp(foreign ? owner_ : order.serial(), std::uint32_t(warp * 32), r.epoch);
    if (r.epoch >= floor && conflicts({first, r.lanes, r.pc})) return true;
  }
  return !apart_.empty() && std::ranges::any_of(apart_[word], [&](const WarpReaders& r) {
    const bool of_an_earlier_block = owner_ == 0 && block_of(r.warp) != order.serial();
    return !of_an_earlier_block && !(access.atomic && (r.warp & may_poll)) && conflicts(r);
  });
}

bool SharedCells::put(std::size_t at, const Access& access, Conflict& conflict) {
  Word& word = words_[at];
  const BlockOrder& order = access.order;
  const bool foreign = owner_ != 0 && owner_ != order.serial();
  if (owner_ == 0 && word.writer != 0 && block_of(word.writer) != order.serial()) {  // left by an earlier block
    word = {};
    forget_readers(at);
  }
  bool found = conflicts_with_writer(word.writer, word.writer_pc, access, false, conflict);
  if (!access.writes) {
    if (access.async_proxy() || access.may_poll || (foreign && !access.atomic))
      keep_apart(at, order, WarpReaders(access.mine() | (access.may_poll ? may_poll : 0), access.pc));
    else if (!access.atomic)
      note_read(at, access);
    return found;
  }
  found = found || read_before(at, access, conflict);
  if (word.last_read >= (foreign ? 1 : order.floor()) || (!apart_.empty() && !apart_[at].empty())) forget_readers(at);
  word.writer = access.mine() | (access.atomic ? atomic_write : 0);
  word.writer_pc = access.pc;
  return found;
}

SharedCells SharedCells::refined(std::size_t parts) const {
  SharedCells more;
  more.start(words_.size() * parts, int(warps_) * 32, owner_);
  if (!apart_.empty()) more.apart_.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) {
    more.words_[i] = words_[i / parts];
    if (!apart_.empty()) more.apart_[i] = apart_[i / parts];
    for (std::size_t warp = 0; warp < warps_; ++warp)
      more.readers_of(i, warp) = readers_[warp * words_.size() + i / parts];
  }
  return more;
}

// --- Global memory -----------------------------------------------------------------------------------------------
// Untouched cells are all zeros, as are untouched pages, which take no memory; a touch must not cost a page of 2 MiB. A
// small array is populated at once: otherwise each page costs two faults, because it is read first, and the second
// fault interrupts all host threads.
GlobalCells::GlobalCells(std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(Cell);
  const int at_once = bytes <= (std::size_t(8) << 20) ? MAP_POPULATE : 0;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | at_once, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes > (std::size_t(64) << 20)) madvise(memory, bytes, MADV_NOHUGEPAGE);
  cells_ = {static_cast<Cell*>(memory), [bytes](Cell* cells) { munmap(cells, bytes); }};
}

ReaderSet* GlobalCells::new_set() {
  const std::scoped_lock lock(sets_mutex_);
  return sets_.size() < most_sets ? &sets_.emplace_back() : nullptr;
}

// Notes one more read of a cell whose lock is held.
void GlobalCells::note_another(Cell& cell, const Access& access) {
  const BlockOrder& order = access.order;
  const Stamp mine = access.mine(), reader = cell.reader.load(relaxed);
  ReaderSet* set = cell.readers.load(relaxed);
  Stamp flags = reader & several;
  if (flags == 0 && reader != 0 && !order.ordered(reader, access.thread)) {
    if (set == nullptr) cell.readers.store(set = new_set(), relaxed);
    if (set != nullptr) {
      set->groups.assign(1, {reader, cell.reader_pc.load(relaxed)});
      flags = several;
    }
  }
  bool noted = true;
  if (flags != 0) {
    noted = set->note(order, access.thread, mine, access.pc);
    flags |= (set->groups.size() == ReaderSet::most ? full : 0) |
             (set->blocks() >= ReaderSet::many_blocks ? many_blocks : 0);
  }
  cell.reader.store((noted ? mine : reader & ~flags_mask) | flags, relaxed);
  if (noted) cell.reader_pc.store(access.pc, relaxed);
}

void GlobalCells::note_read(std::size_t element, const Access& access) {
  Cell& cell = cells_[element];
  const Stamp mine = access.mine();
  Stamp reader = cell.reader.load(relaxed);
  if ((reader & ~flags_mask) == mine) return;
  const bool ordered = reader == 0 || access.order.ordered(reader, access.thread);
  const bool no_room = (reader & many_blocks) || ((reader & full) && block_of(reader) == block_of(mine));
  if (no_room && !ordered) return;
  if (ordered && !(reader & several) && cell.reader.compare_exchange_strong(reader, mine, relaxed)) {
    cell.reader_pc.store(access.pc, relaxed);
    return;
  }
  const std::scoped_lock lock(lock_of(element));
  note_another(cell, access);
}

// Whether an earlier read is not ordered before the write `access`. After a plain write, earlier readers are dropped.
bool GlobalCells::read_before(std::size_t element, const Access& access, Conflict& conflict) {
  Cell& cell = cells_[element];
  const Stamp mine = access.mine(), reader = cell.reader.load(relaxed);
  if (reader == 0) return false;
  if (!(reader & several)) {
    if (access.order.ordered(reader, access.thread) || actor_and_block_of(reader) == actor_and_block_of(mine))
      return false;
    conflict = {.with = reader, .pc = cell.reader_pc.load(relaxed)};
    return true;
  }
  const std::scoped_lock lock(lock_of(element));
  ReaderSet& set = *cell.readers.load(relaxed);
  const bool found = std::ranges::any_of(set.groups, [&](const WarpReaders& group) {
    const Stamp reader_before = group.unordered(access.order, access.thread, mine);
    if (reader_before != 0) conflict = {.with = reader_before, .pc = group.pc};
    return reader_before != 0;
  });
  if (access.atomic) return found;  // another atomic write need not be ordered after this one
  set.groups.clear();
  cell.reader.store(0, relaxed);
  return found;
}

bool GlobalCells::put(std::size_t element, const Access& access, Conflict& conflict) {
  Cell& cell = cells_[element];
  bool found = conflicts_with_writer(cell.writer.load(relaxed), cell.writer_pc.load(relaxed), access, true, conflict);
  if (!access.writes) {
    // An atomic read only conflicts with plain writes, and those are found at the read.
    if (!access.atomic) note_read(element, access);
    return found;
  }
  found = found || read_before(element, access, conflict);
  cell.writer.store(access.mine() | (access.atomic ? atomic_write : 0), relaxed);
  cell.writer_pc.store(access.pc, relaxed);
  return found;
}

}  // namespace simt::order
