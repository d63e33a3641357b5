#include "common/sim/order/cells.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>
#include <thread>

namespace simt::order {
namespace {

// Flags of a stamp in a cell.
constexpr Stamp atomic_write = 1;  // of a writer
constexpr Stamp may_poll = 1;      // of readers that are kept apart: they have read through volatile
// Of the last of several readers; their set is full; it knows enough blocks.
constexpr Stamp several = 1, full = 2, many_blocks = 4;

constexpr auto relaxed = std::memory_order_relaxed;

// A copy starts when its thread does: what that thread is ordered after, the copy is ordered after, too.
[[gnu::always_inline]] inline bool conflicts_with_writer(Stamp writer, std::uint32_t pc, const Access& access,
                                                         bool in_global_memory, Conflict& conflict) {
  if (writer == 0) return false;
  const bool both_atomic = access.atomic && (writer & atomic_write);
  const bool ordered = both_atomic || access.order.ordered(writer, access.thread);
  if (ordered && (!access.by.async_proxy() || access.order.proxy_fenced(writer, in_global_memory, access.thread)))
    return false;
  conflict = {writer & ~flags_mask, pc, true, ordered};
  return true;
}

}  // namespace

// --- Readers -------------------------------------------------------------------------------------------------------

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

// --- Shared memory -----------------------------------------------------------------------------------------------

void SharedCells::start(std::size_t words, int threads, std::uint32_t owner) {
  warps_ = std::size_t(threads + 31) / 32;
  words_.assign(words, {});
  readers_.assign(words * warps_, {});
  bulk_reads_.clear();
  apart_.clear();
  owner_ = owner;
}

void SharedCells::forget_readers(std::size_t word) {
  words_[word].last_read = 0;
  if (!apart_.empty()) apart_[word].clear();
  for (std::size_t warp = 0; warp < warps_; ++warp) readers_of(word, warp) = {};
}

void SharedCells::note_bulk_read(std::size_t word, const Access& access) {
  if (bulk_reads_.empty()) bulk_reads_.resize(words_.size());
  bulk_reads_[word] = {access.mine(), access.pc};
}

// Whether a bulk copy may still read what the access is about to overwrite.
bool SharedCells::bulk_read_before(std::size_t word, const Access& access, Conflict& conflict) const {
  if (bulk_reads_.empty()) return false;
  const auto& [reader, pc] = bulk_reads_[word];
  const BlockOrder& order = access.order;
  if (reader == 0 || (owner_ == 0 && block_of(reader) != order.serial()) ||
      order.over(block_of(reader), bulk_reads_of + thread_of(reader), epoch_of(reader), access.thread))
    return false;
  conflict = {.with = reader, .pc = pc};
  return true;
}

// What other lanes of the warp have read at another epoch is kept apart.
void SharedCells::note_read(std::size_t word, const Access& access) {
  const BlockOrder& order = access.order;
  const auto lane = std::uint32_t(access.thread) % 32;
  const Readers& before = readers_of(word, std::size_t(access.thread) / 32);
  const std::uint32_t others = before.lanes & ~(1u << lane);
  // What they read before the last barrier of the warp, this read stands for.
  if (before.epoch != order.clock(access.thread).epoch && others != 0 &&
      before.epoch >= order.warp_floor(access.thread))
    keep_apart(word, order,
               {stamp(order.serial(), std::uint32_t(access.thread) - lane, before.epoch), others, before.pc});
  note_read_of_thread(word, access);
}

void SharedCells::keep_apart(std::size_t word, const BlockOrder& order, const WarpReaders& readers) {
  if (apart_.empty()) apart_.resize(words_.size());
  std::vector<WarpReaders>& all = apart_[word];
  for (WarpReaders& r : all) {
    const bool over = block_of(r.warp) == order.serial() && epoch_of(r.warp) < order.floor();
    const bool same_warp = actor_and_block_of(r.warp) == actor_and_block_of(readers.warp) &&
                           (r.warp & flags_mask) == (readers.warp & flags_mask);
    if (over) r.lanes = 0;
    if (same_warp) r.lanes &= ~readers.lanes;  // these reads stand for the lanes' earlier ones
  }
  std::erase_if(all, [&](const WarpReaders& r) { return r.lanes == 0 && r.warp != readers.warp; });
  const auto same = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.warp == readers.warp; });
  if (same == all.end())
    all.push_back(readers);
  else
    *same = {readers.warp, same->lanes | readers.lanes, readers.pc};
}

bool SharedCells::read_apart_before(std::size_t word, const Access& access, Conflict& conflict) const {
  if (apart_.empty()) return false;
  for (const WarpReaders& r : apart_[word]) {
    if (owner_ == 0 && block_of(r.warp) != access.order.serial()) continue;  // of who had this memory before
    if (access.atomic && (r.warp & may_poll)) continue;
    const Stamp reader = r.unordered(access.order, access.thread);
    if (reader == 0) continue;
    conflict = {.with = reader, .pc = r.pc};
    return true;
  }
  return false;
}

// Whether a thread of the block may still read what the access is about to overwrite.
bool SharedCells::own_read_before(std::size_t word, const Access& access, Conflict& conflict) {
  const BlockOrder& order = access.order;
  const bool foreign = owner_ != 0 && owner_ != order.serial();
  const Epoch floor = foreign ? 1 : order.floor();  // what was read before is ordered before all that comes
  if (words_[word].last_read < floor) return false;
  for (std::size_t warp = 0; warp < warps_; ++warp) {
    const Readers& r = readers_of(word, warp);
    if (r.epoch < floor) continue;
    const Stamp first = stamp(foreign ? owner_ : order.serial(), std::uint32_t(warp * 32), r.epoch);
    const Stamp reader = WarpReaders(first, r.lanes, r.pc).unordered(order, access.thread);
    if (reader == 0) continue;
    conflict = {.with = reader, .pc = r.pc};
    return true;
  }
  return false;
}

bool SharedCells::put(std::size_t at, const Access& access, Conflict& conflict) {
  Word& word = words_[at];
  const BlockOrder& order = access.order;
  const bool foreign = owner_ != 0 && owner_ != order.serial();
  if (owner_ == 0 && word.writer != 0 && block_of(word.writer) != order.serial()) {  // of who had this memory before
    word = {};
    forget_readers(at);
  }
  bool found = conflicts_with_writer(word.writer, word.writer_pc, access, false, conflict);
  if (!access.writes) {
    if (access.by.async_proxy())
      note_bulk_read(at, access);
    else if (access.may_poll || (foreign && !access.atomic))
      keep_apart(at, order, WarpReaders(access.mine() | (access.may_poll ? may_poll : 0), access.pc));
    else if (!access.atomic)
      note_read(at, access);
    return found;
  }
  found = found || bulk_read_before(at, access, conflict) || own_read_before(at, access, conflict) ||
          read_apart_before(at, access, conflict);
  if (word.last_read >= (foreign ? 1 : order.floor()) || (!apart_.empty() && !apart_[at].empty())) forget_readers(at);
  word.writer = access.mine() | (access.atomic ? atomic_write : 0);
  word.writer_pc = access.pc;
  return found;
}

SharedCells SharedCells::resized(std::size_t words, std::size_t parts) const {
  SharedCells more;
  more.start(words, int(warps_) * 32, owner_);
  if (!apart_.empty()) more.apart_.resize(words);
  if (!bulk_reads_.empty()) more.bulk_reads_.resize(words);
  for (std::size_t i = 0; i < words_.size() * parts; ++i) {
    const std::size_t from = i / parts;
    more.words_[i] = words_[from];
    if (!apart_.empty()) more.apart_[i] = apart_[from];
    if (!bulk_reads_.empty()) more.bulk_reads_[i] = bulk_reads_[from];
    for (std::size_t warp = 0; warp < warps_; ++warp)
      more.readers_[warp * words + i] = readers_[warp * words_.size() + from];
  }
  return more;
}

// --- Global memory -----------------------------------------------------------------------------------------------

// Cells that nobody has touched are all zeros, which is what pages are that nobody has touched. Of these the system keeps none ready,
// nor must a touch cost it one of 2 MiB. Few are made ready all at once: else each costs two faults, as it is read first, and
// every thread of the host is told of the second.
GlobalCells::GlobalCells(std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(Cell);
  const int at_once = bytes <= (std::size_t(8) << 20) ? MAP_POPULATE : 0;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | at_once, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes > (std::size_t(64) << 20)) madvise(memory, bytes, MADV_NOHUGEPAGE);
  cells_ = {static_cast<Cell*>(memory), Unmap{bytes}};
}

void GlobalCells::Unmap::operator()(Cell* cells) const { munmap(cells, bytes); }

void GlobalCells::Lock::lock() {
  while (taken.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
}

// Notes one more read of a cell whose lock is held.
void GlobalCells::note_another(Cell& cell, const Access& access, Stamp mine) {
  const BlockOrder& order = access.order;
  const Stamp reader = cell.reader.load(relaxed);
  ReaderSet* set = cell.readers.load(relaxed);
  Stamp flags = 0;
  if (!(reader & several) && reader != 0 && !order.ordered(reader, access.thread)) {
    if (set == nullptr) cell.readers.store(set = sets_.take(), relaxed);
    if (set != nullptr) set->start_with(reader, cell.reader_pc.load(relaxed));
    if (set != nullptr) flags = several;
  }
  flags |= reader & several;
  bool noted = true;
  if (flags != 0) {
    noted = set->note(order, access.thread, mine, access.pc);
    flags |= (set->full() ? full : 0) | (set->of_many_blocks() ? many_blocks : 0);
  }
  cell.reader.store((noted ? mine : reader & ~flags_mask) | flags, relaxed);
  if (noted) cell.reader_pc.store(access.pc, relaxed);
}

void GlobalCells::note_read(std::size_t element, const Access& access, Stamp mine) {
  Cell& cell = cells_[element];
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
  note_another(cell, access, mine);
}

// Whether a read is not ordered before the write that the access is. Readers before it need not be known any longer.
bool GlobalCells::read_before(std::size_t element, const Access& access, Stamp mine, Conflict& conflict) {
  Cell& cell = cells_[element];
  const Stamp reader = cell.reader.load(relaxed);
  if (reader == 0) return false;
  if (!(reader & several)) {
    if (access.order.ordered(reader, access.thread) || actor_and_block_of(reader) == actor_and_block_of(mine))
      return false;
    conflict = {.with = reader, .pc = cell.reader_pc.load(relaxed)};
    return true;
  }
  const std::scoped_lock lock(lock_of(element));
  ReaderSet& set = *cell.readers.load(relaxed);
  Stamp who = 0;
  const WarpReaders* const group = set.unordered(access.order, access.thread, mine, who);
  if (group != nullptr) conflict = {.with = who, .pc = group->pc};
  if (access.atomic) return group != nullptr;  // another atomic write need not be ordered after this one
  set.clear();
  cell.reader.store(0, relaxed);
  return group != nullptr;
}

bool GlobalCells::put(std::size_t element, const Access& access, Conflict& conflict) {
  Cell& cell = cells_[element];
  const Stamp mine = access.mine();
  bool found = conflicts_with_writer(cell.writer.load(relaxed), cell.writer_pc.load(relaxed), access, true, conflict);
  if (!access.writes) {
    // An atomic read would conflict with plain writes alone, and those are found when they are read.
    if (!access.atomic) note_read(element, access, mine);
    return found;
  }
  found = found || read_before(element, access, mine, conflict);
  cell.writer.store(mine | (access.atomic ? atomic_write : 0), relaxed);
  cell.writer_pc.store(access.pc, relaxed);
  return found;
}

}  // namespace simt::order
