#include "common/model/order/cells.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace simt::order {
namespace {

// Flags of a stamp in a cell.
constexpr Stamp atomic_write = 1;                                          // of a writer
constexpr Stamp several_lanes = 1, several_warps = 2, several_blocks = 4;  // of a reader

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

// --- Shared memory -----------------------------------------------------------------------------------------------

void SharedCells::start(std::size_t words, int threads) {
  warps_ = std::size_t(threads + 31) / 32;
  words_.assign(words, {});
  readers_.assign(words * warps_, {});
  bulk_reads_.clear();
  foreign_.clear();
  owner_ = 0;
}

void SharedCells::start_in_cluster(std::size_t words, int threads, std::uint32_t owner) {
  start(words, threads);
  owner_ = owner;
}

void SharedCells::forget_readers(std::size_t word) {
  words_[word].last_read = 0;
  if (!foreign_.empty()) foreign_[word].clear();
  for (std::size_t warp = 0; warp < warps_; ++warp) readers_of(word, warp) = {};
}

void SharedCells::note_bulk_read(std::size_t word, const Access& access) {
  if (bulk_reads_.empty()) bulk_reads_.resize(words_.size());
  bulk_reads_[word] = {access.mine(), access.pc};
}

// Whether a copy in bulk may still read what the access is about to overwrite.
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

void SharedCells::note_foreign_read(std::size_t word, const Access& access) {
  if (foreign_.empty()) foreign_.resize(words_.size());
  const auto lane = std::uint32_t(access.thread) % 32;
  const Stamp warp =
      stamp(access.order.serial(), std::uint32_t(access.thread) - lane, access.order.clock(access.thread).epoch);
  std::vector<ForeignReaders>& readers = foreign_[word];
  for (ForeignReaders& r : readers)  // this read stands for the lane's earlier ones
    if (actor_and_block_of(r.warp) == actor_and_block_of(warp)) r.lanes &= ~(1u << lane);
  std::erase_if(readers, [&](const ForeignReaders& r) { return r.lanes == 0 && r.warp != warp; });
  const auto same = std::find_if(readers.begin(), readers.end(), [&](const auto& r) { return r.warp == warp; });
  if (same == readers.end())
    readers.push_back({warp, 1u << lane, access.pc});
  else
    *same = {warp, same->lanes | 1u << lane, access.pc};
}

bool SharedCells::foreign_read_before(std::size_t word, const Access& access, Conflict& conflict) const {
  if (foreign_.empty()) return false;
  for (const ForeignReaders& r : foreign_[word])
    for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1) {
      const Stamp reader =
          stamp(block_of(r.warp), actor_of(r.warp) + std::uint32_t(std::countr_zero(lanes)), epoch_of(r.warp));
      if (access.order.ordered(reader, access.thread)) continue;
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
    for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1) {
      const auto thread = std::uint32_t(warp * 32) + std::uint32_t(std::countr_zero(lanes));
      const Stamp reader = stamp(foreign ? owner_ : order.serial(), thread, r.epoch);
      if (order.ordered(reader, access.thread)) continue;
      conflict = {.with = reader, .pc = r.pc};
      return true;
    }
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
  bool found = false;
  const bool both_atomic = access.atomic && (word.writer & atomic_write);
  // A copy starts when its thread does: what that thread is ordered after, the copy is ordered after, too.
  if (word.writer != 0 && !both_atomic && !order.ordered(word.writer, access.thread)) {
    conflict = {word.writer & ~flags_mask, word.writer_pc, true};
    found = true;
  }
  if (!found && access.by.async_proxy() && word.writer != 0 && !order.proxy_fenced(word.writer, false, access.thread)) {
    conflict = {word.writer & ~flags_mask, word.writer_pc, true, true};
    found = true;
  }
  if (!access.writes) {
    if (access.by.async_proxy())
      note_bulk_read(at, access);
    else if (foreign && !access.atomic)
      note_foreign_read(at, access);
    else if (!access.atomic)
      note_read(at, access);
    return found;
  }
  found = found || bulk_read_before(at, access, conflict) || own_read_before(at, access, conflict) ||
          foreign_read_before(at, access, conflict);
  if (word.last_read >= (foreign ? 1 : order.floor()) || !foreign_.empty()) forget_readers(at);
  word.writer = access.mine() | (access.atomic ? atomic_write : 0);
  word.writer_pc = access.pc;
  return found;
}

SharedCells SharedCells::grown(std::size_t words) const {
  SharedCells more;
  more.start(words, int(warps_) * 32);
  more.owner_ = owner_;
  more.foreign_ = foreign_;
  if (!foreign_.empty()) more.foreign_.resize(words);
  std::copy(words_.begin(), words_.end(), more.words_.begin());
  for (std::size_t warp = 0; warp < warps_; ++warp)
    std::copy_n(readers_.begin() + std::ptrdiff_t(warp * words_.size()), words_.size(),
                more.readers_.begin() + std::ptrdiff_t(warp * words));
  more.bulk_reads_ = bulk_reads_;
  if (!bulk_reads_.empty()) more.bulk_reads_.resize(words);
  return more;
}

SharedCells SharedCells::refined(std::size_t parts) const {
  SharedCells fine;
  fine.warps_ = warps_;
  fine.owner_ = owner_;
  for (const auto& readers : foreign_) fine.foreign_.insert(fine.foreign_.end(), parts, readers);
  for (const Word& word : words_) fine.words_.insert(fine.words_.end(), parts, word);
  for (const Readers& readers : readers_) fine.readers_.insert(fine.readers_.end(), parts, readers);
  for (const BulkRead& read : bulk_reads_) fine.bulk_reads_.insert(fine.bulk_reads_.end(), parts, read);
  return fine;
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

namespace {

bool of_one_warp(Stamp reader) { return !(reader & (several_warps | several_blocks)); }

// Whether all that a reader's stamp stands for is ordered before what `thread` does next.
bool readers_ordered(const BlockOrder& order, Stamp reader, int thread) {
  if (reader & several_blocks) return false;
  if (!(reader & (several_lanes | several_warps))) return order.ordered(reader, thread);
  return order.all_ordered(reader, !of_one_warp(reader), thread);
}

// The reader's stamp after one more read.
Stamp with_reader(const BlockOrder& order, Stamp before, Stamp mine, int thread) {
  if (before == 0) return mine;
  if ((before & several_warps) && block_of(before) == block_of(mine) && epoch_of(before) >= epoch_of(mine))
    return before;
  if (readers_ordered(order, before, thread)) return mine;  // what is ordered after this read is ordered after those
  if (block_of(before) != block_of(mine)) return mine | several_blocks;
  const Stamp sticky = before & several_blocks;
  const Stamp latest = stamp(block_of(mine), actor_of(mine), std::max(epoch_of(before), epoch_of(mine)));
  if (actor_of(before) == actor_of(mine) && !(before & (several_lanes | several_warps))) return latest | sticky;
  if ((before & several_warps) || warp_of(before) != warp_of(mine)) return latest | sticky | several_warps;
  return latest | sticky | several_lanes;
}

}  // namespace

bool GlobalCells::put(std::size_t element, const Access& access, Conflict& conflict) {
  Cell& cell = cells_[element];
  const BlockOrder& order = access.order;
  const Stamp mine = access.mine();
  bool found = false;
  const Stamp writer = cell.writer.load(relaxed);
  const bool both_atomic = access.atomic && (writer & atomic_write);
  if (writer != 0 && !both_atomic && !order.ordered(writer, access.thread)) {
    conflict = {writer & ~flags_mask, cell.writer_pc.load(relaxed), true};
    found = true;
  }
  if (!found && access.by.async_proxy() && writer != 0 && !order.proxy_fenced(writer, true, access.thread)) {
    conflict = {writer & ~flags_mask, cell.writer_pc.load(relaxed), true, true};
    found = true;
  }
  if (!access.writes) {
    if (access.atomic)
      return found;  // it would conflict with plain writes alone, and those are found when they are read
    Stamp reader = cell.reader.load(relaxed);
    if (reader & several_blocks) return found;
    Stamp now = with_reader(order, reader, mine, access.thread);
    if (now == reader) return found;
    while (!cell.reader.compare_exchange_weak(reader, now, relaxed))
      now = with_reader(order, reader, mine, access.thread);
    if (reader != 0 && actor_and_block_of(reader) != actor_and_block_of(mine))
      cell.other_reader.store(reader & ~flags_mask, relaxed);
    cell.reader_pc.store(access.pc, relaxed);
    return found;
  }
  const Stamp reader = cell.reader.load(relaxed);
  if (!found && reader != 0 && !readers_ordered(order, reader, access.thread)) {
    // Where several read, the one to name is not the writer itself.
    const Stamp other = cell.other_reader.load(relaxed);
    const bool itself = actor_and_block_of(reader) == actor_and_block_of(mine);
    if (!itself || (reader & flags_mask)) {
      conflict = {.with = itself && other != 0 ? other : reader & ~flags_mask, .pc = cell.reader_pc.load(relaxed)};
      found = true;
    }
  }
  if (writer == 0) written_.fetch_add(1, relaxed);
  cell.writer.store(mine | (access.atomic ? atomic_write : 0), relaxed);
  cell.writer_pc.store(access.pc, relaxed);
  return found;
}

}  // namespace simt::order
