// Copies in bulk: which bytes of global and of shared memory belong together, when they arrive, and what may be wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/cuda/tensor_map.hpp"
#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/execute.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {
namespace {

constexpr std::uint32_t chunk = 16;  // bytes of a row that stay together in shared memory

// Calls f(row of the box, byte within it, address in global memory, bytes) for each row of the box, as far as it is inside
// the matrix.
template <class F>
void for_each_row(const Box& box, F f) {
  const TensorMap& map = box.map;
  const std::int64_t first = std::max<std::int64_t>(box.x, 0),
                     end = std::min(box.x + std::int64_t(map.box_cols), std::int64_t(map.cols));
  if (first >= end) return;
  for (std::uint32_t row = 0; row < map.box_rows; ++row) {
    const std::int64_t y = box.y + row;
    if (y < 0 || y >= std::int64_t(map.rows)) continue;
    f(row, std::uint32_t(first - box.x) * map.element,
      Address(map.base + std::uint64_t(y) * map.row_bytes + std::uint64_t(first) * map.element),
      std::size_t(end - first) * map.element);
  }
}

// Where a byte of the box lies in shared memory.
Address place_of_byte(const Box& box, std::uint32_t byte) {
  constexpr Address pattern = 1024;  // the largest repeats after so many bytes
  const Address dense = box.shared + byte, within = dense % pattern;
  return dense - within + tile::swizzled(tile::Swizzle(box.map.swizzle), unsigned(within));
}

// Moves rows of a box between shared memory and a row of bytes, in the order of the matrix.
void gather(const Box& box, std::uint32_t row, std::vector<std::byte>& bytes) {
  for (std::uint32_t at = 0; at < bytes.size(); at += chunk)
    std::memcpy(&bytes[at], reinterpret_cast<const void*>(place_of_byte(box, row * box.map.row_of_box() + at)), chunk);
}
void scatter(const Box& box, std::uint32_t row, const std::vector<std::byte>& bytes) {
  for (std::uint32_t at = 0; at < bytes.size(); at += chunk)
    std::memcpy(reinterpret_cast<void*>(place_of_byte(box, row * box.map.row_of_box() + at)), &bytes[at], chunk);
}

void perform(const BulkLoad& load) {
  const Box& box = load.box;
  const std::vector<std::byte> outside(box.map.row_of_box());
  for (std::uint32_t row = 0; row < box.map.box_rows; ++row) scatter(box, row, outside);
  for_each_row(box, [&](std::uint32_t row, std::uint32_t at, Address global, std::size_t bytes) {
    std::vector<std::byte> whole = outside;
    std::memcpy(&whole[at], reinterpret_cast<const void*>(global), bytes);
    scatter(box, row, whole);
  });
}

void perform(const BulkStore& store) {
  std::vector<std::byte> whole(store.box.map.row_of_box());
  for_each_row(store.box, [&](std::uint32_t row, std::uint32_t at, Address global, std::size_t bytes) {
    gather(store.box, row, whole);
    std::memcpy(reinterpret_cast<void*>(global), &whole[at], bytes);
  });
}

void require_aligned(Worker& w, Address address, std::size_t alignment, const Box& box, Address pc) {
  if (address % alignment == 0) return;
  report(w, Mistake::misaligned, pc, 0, [&] {
    return fmt::format("misaligned: {} copies {} bytes in bulk at address {}, which is not a multiple of {}",
                       where(w, pc), box.map.bytes_of_box(), format_address(address), alignment);
  });
  abandon_block(w);
}

[[noreturn]] void refuse_copy(Worker& w, Address pc, const std::string& why) {
  report(w, Mistake::bulk_copy, pc, 0, [&] { return fmt::format("bulk copy: {} {}", where(w, pc), why); });
  abandon_block(w);
}

// A tensor map is a parameter of the kernel (each lane has its own copy, on its stack) or lies in global memory.
void require_map(Worker& w, const TensorMap& map, Address pc) {
  const auto address = reinterpret_cast<Address>(&map);
  if (!w.lane->attention.on_own_stack(address)) require_in_bounds(w, address, sizeof map, Op::load, pc);
  if (!map.encoded) refuse_copy(w, pc, "copies with a tensor map that tensor_map has not made");
}

// Where the box of a tensor map may begin. Measured on an NVIDIA H200, one box after the other: at a multiple of 16 bytes within a
// row, for a load also before the matrix, for a store not; for anything else the GPU says "illegal instruction".
void require_corner(Worker& w, const Box& box, Op op, Address pc) {
  if (box.x * std::int64_t(box.map.element) % chunk != 0)
    refuse_copy(
        w, pc,
        fmt::format("copies a box that begins at column {} of {} bytes: it must begin at a multiple of 16 bytes", box.x,
                    box.map.element));
  if (op == Op::bulk_store && (box.x < 0 || box.y < 0))
    refuse_copy(w, pc, fmt::format("stores a box at column {} and row {}, which must not be negative", box.x, box.y));
}

void require_memory(Worker& w, const Box& box, std::size_t shared_alignment, Op op, Address pc) {
  const bool load = op == Op::bulk_load;
  require_aligned(w, box.shared, shared_alignment, box, pc);
  if (!is_shared(w, box.shared)) refuse_copy(w, pc, "copies in bulk, but not to or from its shared memory");
  require_in_bounds(w, box.shared, box.map.bytes_of_box(), load ? Op::store : Op::load, pc);
  for_each_row(box, [&](std::uint32_t, std::uint32_t, Address global, std::size_t bytes) {
    if (is_shared(w, global)) refuse_copy(w, pc, "copies in bulk, but not to or from global memory");
    require_in_bounds(w, global, bytes, load ? Op::load : Op::store, pc);
  });
}

// Tells order/ and account/ of the side of a copy in global memory, and of that in shared memory. `fill` does so of each place there.
template <class Fill>
void note(Worker& w, const Box& box, Op op, Address pc, const order::By& by, Fill fill) {
  const bool load = op == Op::bulk_load;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
  for_each_row(box, [&](std::uint32_t, std::uint32_t, Address global, std::size_t bytes) {
    touch_in_bulk(w, global, bytes, load ? Op::load : Op::store, pc, by);
    rows.emplace_back(global, global + bytes);
  });
  for (std::uint32_t byte = 0; byte < box.map.bytes_of_box(); byte += chunk) fill(place_of_byte(box, byte));
  const account::BulkCopy copy{announce::offset_of(pc), op, std::uint8_t(box.map.element)};
  if (!rows.empty()) w.tally.add_bulk(copy, array_of(w, rows.front().first), rows, w.block->serial);
}

// The bytes of one block's shared memory, of so many blocks that take part.
void note_shared(Worker& w, const Box& box, Op op, Address pc, std::size_t blocks) {
  const account::BulkCopy copy{announce::offset_of(pc), op, std::uint8_t(box.map.element)};
  const std::pair<std::uint64_t, std::uint64_t> bytes{box.shared, box.shared + box.map.bytes_of_box()};
  w.tally.add_bulk(copy, array_of(w, box.shared), {blocks, bytes}, w.block->serial);
}

// The mbarrier of a block that takes part in a load, as it must be.
const Mbarrier& require_mbarrier(Worker& w, Block& to, Address mbarrier, Address pc) {
  const Mbarrier& m = mbarrier_at(w, to, mbarrier, pc, "starts a copy for");
  const order::BlockOrder& order = w.block->order;
  if (w.traced && order.ordered(m.initialised, w.lane->linear) && !order.init_fenced(m.initialised, w.lane->linear))
    report(w, Mistake::proxy_fence, pc, m.init_pc, [&] {
      return fmt::format(
          "missing proxy fence: {} starts a copy for {} (address {}), which thread {} initialised at {} with no "
          "fence.mbarrier_init between",
          where(w, pc), name_of_mbarrier(w, mbarrier), format_address(mbarrier),
          thread_name(w, order::thread_of(m.initialised)), line_of(m.init_pc));
    });
  return m;
}

// A load to one or several blocks, in each to the place that the running one names in its own shared memory.
void start_load(Worker& w, const Box& box, std::size_t shared_alignment, Address mbarrier,
                const std::vector<Block*>& blocks, Address pc) {
  struct Destination {
    Block* block;
    const Mbarrier* mbarrier;
  };
  std::vector<Destination> destinations;
  const auto mbarrier_of = [&](const Block& to) { return same_place(to, *w.block, mbarrier); };
  for (Block* to : blocks) destinations.push_back({to, &require_mbarrier(w, *to, mbarrier_of(*to), pc)});
  require_memory(w, box, shared_alignment, Op::bulk_load, pc);
  const auto by = [&](const Destination& d) {
    return order::By{order::By::What::mbarrier, d.mbarrier->number, d.mbarrier->epoch, d.block->serial};
  };
  if (w.traced) {
    note(w, box, Op::bulk_load, pc, by(destinations.front()), [&](Address place) {
      for (const Destination& d : destinations)
        touch_in_bulk_of(w, *d.block, same_place(*d.block, *w.block, place), chunk, pc, by(d));
    });
    note_shared(w, box, Op::bulk_load, pc, destinations.size());
  }
  for (const Destination& d : destinations) {
    Box there = box;
    there.shared = same_place(*d.block, *w.block, box.shared);
    d.block->bulk_loads.push_back({there, w.block, mbarrier_of(*d.block), d.mbarrier->phase, w.lane->linear, pc});
    d.block->has_news = d.block->has_news || d.block != w.block;
  }
}

void start_store(Worker& w, const Box& box, std::size_t shared_alignment, Address pc) {
  require_memory(w, box, shared_alignment, Op::bulk_store, pc);
  if (w.traced) {
    const order::By by{order::By::What::bulk};
    note(w, box, Op::bulk_store, pc, by, [&](Address place) { touch_in_bulk(w, place, chunk, Op::load, pc, by); });
    note_shared(w, box, Op::bulk_store, pc, 1);
  }
  w.lane->bulk_stores.push_back({box, w.block->order.clock(w.lane->linear).bulk_group, pc});
}

// So many bytes in a row, as the box of a matrix that it fills.
Box row_of_bytes(Worker& w, const void* global, const void* shared, std::uint32_t bytes, Address pc) {
  if (bytes == 0 || bytes % chunk != 0)
    refuse_copy(w, pc, fmt::format("copies {} bytes in bulk, which must be a multiple of 16, and not 0", bytes));
  const TensorMap map{.base = reinterpret_cast<Address>(global),
                      .rows = 1,
                      .cols = bytes / 4,
                      .row_bytes = bytes,
                      .element = 4,
                      .box_rows = 1,
                      .box_cols = bytes / 4,
                      .encoded = true};
  const Box box{map, 0, 0, reinterpret_cast<Address>(shared)};
  require_aligned(w, map.base, chunk, box, pc);
  return box;
}

}  // namespace

bool let_bulk_loads_arrive(Worker& w) {
  Block& block = *w.block;
  if (block.abandoned || block.bulk_loads.empty()) return false;
  for (const Lane& lane : block.lanes) {
    if (lane.state != LaneState::waiting || lane.wait.what != Wait::For::mbarrier) continue;
    const auto is_other = [&](const BulkLoad& load) { return load.mbarrier != lane.wait.mbarrier; };
    const auto wanted = std::stable_partition(block.bulk_loads.begin(), block.bulk_loads.end(), is_other);
    if (wanted == block.bulk_loads.end()) continue;
    const std::vector<BulkLoad> loads(wanted, block.bulk_loads.end());
    block.bulk_loads.erase(wanted, block.bulk_loads.end());
    for (const BulkLoad& load : loads) {
      perform(load);
      complete_bytes(w, load);
      if (block.abandoned) return false;
    }
    return true;
  }
  return false;
}

void require_no_bulk_copies(Worker& w) {
  Block& block = *w.block;
  const auto refuse = [&](const Block& by, const Lane& lane, Address pc, const std::string& why) {
    report(w, Mistake::bulk_copy, pc, 0, [&] { return fmt::format("bulk copy: {} {}", where(w, by, lane, pc), why); });
    block.abandoned = true;
  };
  for (const BulkLoad& load : block.bulk_loads)
    refuse(*load.by, load.by->lanes[std::size_t(load.thread)], load.pc,
           fmt::format("starts a copy to {} that may still be on its way when the block ends: nobody waits for {}",
                       shared_name(w, load.box.shared, load.box.map.element), name_of_mbarrier(w, load.mbarrier)));
  for (const Lane& lane : block.lanes)
    for (const BulkStore& store : lane.bulk_stores)
      refuse(block, lane, store.pc,
             fmt::format("starts a copy out of {} that may still read it when the block ends: wait for its group",
                         shared_name(w, store.box.shared, store.box.map.element)));
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------------
namespace simt::device {

using execute::Address;
using execute::running;

namespace {
constexpr std::size_t box_alignment = 128, row_alignment = 16;  // of shared memory, in bytes

void load_box(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier,
              const std::vector<execute::Block*>& blocks, Address pc) {
  execute::settle(*running);
  execute::require_map(*running, map, pc);
  const execute::Box box{map, x, y, reinterpret_cast<Address>(to)};
  execute::require_corner(*running, box, Op::bulk_load, pc);
  execute::start_load(*running, box, box_alignment, reinterpret_cast<Address>(mbarrier), blocks, pc);
}
}  // namespace

void bulk_load(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier) {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  load_box(to, map, x, y, mbarrier, {running->block}, pc);
}

void bulk_load_multicast(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier,
                         std::uint32_t blocks) {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  const auto& cluster = running->block->cluster->blocks;
  if (blocks == 0 || blocks >> cluster.size() != 0)
    execute::refuse_copy(*running, pc,
                         fmt::format("copies to blocks {:#x}, of a cluster of {}", blocks, cluster.size()));
  std::vector<execute::Block*> to_blocks;
  for (std::size_t rank = 0; rank < cluster.size(); ++rank)
    if (blocks >> rank & 1u) to_blocks.push_back(cluster[rank]);
  load_box(to, map, x, y, mbarrier, to_blocks, pc);
}

void bulk_load(void* to, const void* from, std::uint32_t bytes, void* mbarrier) {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::settle(*running);
  execute::start_load(*running, execute::row_of_bytes(*running, from, to, bytes, pc), row_alignment,
                      reinterpret_cast<Address>(mbarrier), {running->block}, pc);
}

void bulk_store(const TensorMap& map, std::int32_t x, std::int32_t y, const void* from) {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::settle(*running);
  execute::require_map(*running, map, pc);
  const execute::Box box{map, x, y, reinterpret_cast<Address>(from)};
  execute::require_corner(*running, box, Op::bulk_store, pc);
  execute::start_store(*running, box, box_alignment, pc);
}

void bulk_store(void* to, const void* from, std::uint32_t bytes) {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::settle(*running);
  execute::start_store(*running, execute::row_of_bytes(*running, to, from, bytes, pc), row_alignment, pc);
}

void commit_bulk_group() {
  const announce::Unheard unheard;
  running->block->order.commit_bulk(running->lane->linear);
}

void wait_for_bulk_groups(int pending, bool reads_only) {
  const announce::Unheard unheard;
  execute::Worker& w = *running;
  execute::settle(w);
  order::BlockOrder& order = w.block->order;
  order.wait_for_bulk(w.lane->linear, order::Epoch(pending), reads_only);
  const order::Epoch over = order.clock(w.lane->linear).over[order::kind_of(order::bulk_reads_of)];
  auto& stores = w.lane->bulk_stores;
  const auto later = std::find_if(stores.begin(), stores.end(), [&](const auto& s) { return s.group >= over; });
  std::for_each(stores.begin(), later, [](const execute::BulkStore& store) { execute::perform(store); });
  stores.erase(stores.begin(), later);
}

}  // namespace simt::device
