// TMA copies: which bytes of global and of shared memory belong together, when they land, and what may be wrong.
#include <fmt/format.h>

#include <cstring>

#include "common/cuda/tensor_map.hpp"
#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

constexpr std::uint32_t chunk = 16;  // bytes of a row that stay together in shared memory

// What a row of the box has in the matrix: from which byte of the row on, where in global memory, and how many bytes.
struct Inside {
  std::size_t first = 0;
  Address global = 0;
  std::size_t bytes = 0;
};
Inside inside(const Box& box, std::uint32_t row) {
  const TensorMap& map = box.map;
  const std::int64_t first = std::max<std::int64_t>(box.x, 0), y = box.y + row,
                     end = std::min(box.x + std::int64_t(map.box_cols), std::int64_t(map.cols));
  if (first >= end || y < 0 || y >= map.rows) return {};
  return {std::size_t(first - box.x) * map.element, map.base + std::uint64_t(y * map.ld + first) * map.element,
          std::size_t(end - first) * map.element};
}

// Where a byte of the box lies in shared memory.
Address place_of_byte(const Box& box, std::uint32_t byte) {
  constexpr Address pattern = 1024;  // the period of the largest swizzle
  const Address dense = box.shared + byte, within = dense % pattern;
  return dense - within + tile::swizzled(box.map.swizzle, unsigned(within));
}

// Makes the copy: to shared memory, where what lies outside the matrix becomes 0, or out of it.
void perform(const Box& box, bool load) {
  std::vector<std::byte> row(box.map.row_of_box());
  for (std::uint32_t y = 0; y < std::uint32_t(box.map.box_rows); ++y) {
    const auto [first, address, bytes] = inside(box, y);
    auto* const global = reinterpret_cast<std::byte*>(address);
    std::ranges::fill(row, std::byte{});
    if (load) std::copy_n(global, bytes, &row[first]);
    for (std::uint32_t at = 0; at < row.size(); at += chunk) {
      auto* const shared = reinterpret_cast<std::byte*>(place_of_byte(box, y * std::uint32_t(row.size()) + at));
      load ? std::memcpy(shared, &row[at], chunk) : std::memcpy(&row[at], shared, chunk);
    }
    if (!load) std::copy_n(&row[first], bytes, global);
  }
}

[[noreturn]] void refuse_copy(Worker& w, Address pc, const std::string& why) { fail(w, "bulk copy", pc, why); }

void require_aligned(Worker& w, Address address, std::size_t alignment, const Box& box, Address pc) {
  if (address % alignment != 0)
    fail(w, "misaligned", pc,
         fmt::format("copies {} bytes in bulk at address {:#x}, which is not a multiple of {}", box.map.bytes_of_box(),
                     address, alignment));
}

// The box of a tensor map, which is a parameter of the kernel (each lane has its own copy, on its stack) or lies in
// global memory. Where it may begin was measured on an NVIDIA H200, one box after the other: at a multiple of 16 bytes
// within a row, for a load also before the matrix, for a store not; for anything else the GPU says "illegal
// instruction".
Box box_of(const Call& call, const TensorMap& map, std::int32_t x, std::int32_t y, const void* shared, Op op) {
  Worker& w = call.w;
  const auto address = reinterpret_cast<Address>(&map);
  if (!call.lane.lane_hooks.on_own_stack(address)) require_in_bounds(w, address, sizeof map, Op::load, call.pc);
  if (!map.encoded) refuse_copy(w, call.pc, "copies with a tensor map that tensor_map has not made");
  if (x * std::int64_t(map.element) % chunk != 0)
    refuse_copy(
        w, call.pc,
        fmt::format("copies a box that begins at column {} of {} bytes: it must begin at a multiple of 16 bytes", x,
                    map.element));
  if (op == Op::bulk_store && (x < 0 || y < 0))
    refuse_copy(w, call.pc, fmt::format("stores a box at column {} and row {}, which must not be negative", x, y));
  return {map, x, y, reinterpret_cast<Address>(shared)};
}

// Contiguous bytes, as the box of a matrix that it fills.
Box contiguous(const Call& call, const void* global, const void* shared, std::uint32_t bytes) {
  if (bytes == 0 || bytes % chunk != 0)
    refuse_copy(call.w, call.pc,
                fmt::format("copies {} bytes in bulk, which must be a multiple of 16, and not 0", bytes));
  const int words = int(bytes / 4);
  const TensorMap map{{1, words, words, 1, words}, reinterpret_cast<Address>(global), 4, true};
  const Box box{map, 0, 0, reinterpret_cast<Address>(shared)};
  require_aligned(call.w, map.base, chunk, box, call.pc);
  return box;
}

void require_memory(Worker& w, const Box& box, std::size_t shared_alignment, Op op, Address pc) {
  const bool load = op == Op::bulk_load;
  require_aligned(w, box.shared, shared_alignment, box, pc);
  if (!is_shared(w, box.shared)) refuse_copy(w, pc, "copies in bulk, but not to or from its shared memory");
  require_in_bounds(w, box.shared, box.map.bytes_of_box(), load ? Op::store : Op::load, pc);
  for (std::uint32_t y = 0; y < std::uint32_t(box.map.box_rows); ++y)
    if (const Inside row = inside(box, y); row.bytes > 0) {
      if (is_shared(w, row.global)) refuse_copy(w, pc, "copies in bulk, but not to or from global memory");
      require_in_bounds(w, row.global, row.bytes, load ? Op::load : Op::store, pc);
    }
}

// One of the blocks that take part in a copy: where it has the mbarrier, and whose accesses are made there.
struct Party {
  Block* block;
  Address mbarrier;
  const Mbarrier* state;
  order::Stamp by;
};

// Tells order/ and cost/ of a copy: of its bytes in global memory, and of those in the shared memory of each party.
void note(Worker& w, const Box& box, Op op, Address pc, const std::vector<Party>& parties) {
  using Bytes = std::pair<std::uint64_t, std::uint64_t>;
  const bool load = op == Op::bulk_load;
  std::vector<Bytes> rows;
  for (std::uint32_t y = 0; y < std::uint32_t(box.map.box_rows); ++y)
    if (const Inside row = inside(box, y); row.bytes > 0) {
      touch_in_bulk(w, row.global, row.bytes, load ? Op::load : Op::store, pc, parties.front().by);
      rows.emplace_back(row.global, row.global + row.bytes);
    }
  for (std::uint32_t byte = 0; byte < box.map.bytes_of_box(); byte += chunk)
    for (const Party& p : parties)
      touch_in_bulk(w, same_place(*p.block, *w.block, place_of_byte(box, byte)), chunk, load ? Op::store : Op::load, pc,
                    p.by);
  const auto count = [&](Address address, const std::vector<Bytes>& bytes) {
    const cost::Array array = array_of(w, address);
    w.tally.add_bulk({hooks::offset_of(pc), op, array.space, std::uint8_t(box.map.element), array.index}, array, bytes,
                     w.block->serial);
  };
  if (!rows.empty()) count(rows.front().first, rows);
  count(box.shared, {parties.size(), Bytes{box.shared, box.shared + box.map.bytes_of_box()}});
}

// A load to one or several blocks, in each to the place that the running one names in its own shared memory.
void start_load(const Call& call, const Box& box, std::size_t shared_alignment, void* mbarrier,
                const std::vector<Block*>& blocks) {
  Worker& w = call.w;
  std::vector<Party> parties;
  for (Block* to : blocks) {
    const Address at = same_place(*to, call.block, reinterpret_cast<Address>(mbarrier));
    const Mbarrier& m = mbarrier_at(w, *to, at, call.pc, "starts a copy for");
    if (w.traced && call.order.ordered(m.initialised, w.lane->linear) &&
        !call.order.init_fenced(m.initialised, w.lane->linear))
      report(w, "missing proxy fence", culprit(w, call.pc), m.init_pc, [&] {
        return fmt::format(
            "starts a copy for {} (address {:#x}), which thread {} initialised at {} with no fence.mbarrier_init "
            "between",
            name_of_mbarrier(w, at), at, thread_name(w, order::thread_of(m.initialised)), line_of(m.init_pc));
      });
    parties.push_back({to, at, &m, order::stamp(to->serial, order::mbarrier_of + m.number, m.epoch)});
  }
  require_memory(w, box, shared_alignment, Op::bulk_load, call.pc);
  if (w.traced) note(w, box, Op::bulk_load, call.pc, parties);
  for (const Party& p : parties) {
    Box there = box;
    there.shared = same_place(*p.block, call.block, box.shared);
    p.block->bulk_loads.push_back({there, culprit(w, call.pc), p.mbarrier, p.state->phase});
    p.block->has_news = p.block->has_news || p.block != &call.block;
  }
}

void start_store(const Call& call, const Box& box, std::size_t shared_alignment) {
  Worker& w = call.w;
  require_memory(w, box, shared_alignment, Op::bulk_store, call.pc);
  const order::Stamp by = call.order.stamp_of_group(call.lane.linear, order::bulk_of);
  if (w.traced) note(w, box, Op::bulk_store, call.pc, {{&call.block, 0, nullptr, by}});
  call.lane.bulk_stores.push_back({box, order::epoch_of(by), call.pc});
}

}  // namespace

bool let_bulk_loads_arrive(Worker& w) {
  Block& block = *w.block;
  if (block.abandoned || block.bulk_loads.empty()) return false;
  for (const Lane& lane : block.lanes) {
    if (!waits_for(lane, Wait::For::mbarrier)) continue;
    const auto wanted = std::ranges::stable_partition(
        block.bulk_loads, [&](const BulkLoad& load) { return load.mbarrier != lane.wait.mbarrier; });
    if (wanted.empty()) continue;
    const std::vector<BulkLoad> loads(wanted.begin(), wanted.end());
    block.bulk_loads.erase(wanted.begin(), wanted.end());
    for (const BulkLoad& load : loads) {
      perform(load.box, true);
      complete_bytes(w, load);
      if (block.abandoned) return false;
    }
    return true;
  }
  return false;
}

void require_no_bulk_copies(Worker& w) {
  Block& block = *w.block;
  const auto refuse = [&](const Culprit& by, const std::string& why) {
    report(w, "bulk copy", by, 0, [&] { return why; });
    block.abandoned = true;
  };
  for (const BulkLoad& load : block.bulk_loads)
    refuse(load.by,
           fmt::format("starts a copy to {} that may still be on its way when the block ends: nobody waits for {}",
                       shared_name(w, load.box.shared, load.box.map.element), name_of_mbarrier(w, load.mbarrier)));
  for (const Lane& lane : block.lanes)
    for (const BulkStore& store : lane.bulk_stores)
      refuse({block, lane, store.pc},
             fmt::format("starts a copy out of {} that may still read it when the block ends: wait for its group",
                         shared_name(w, store.box.shared, store.box.map.element)));
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------
namespace simt::device {

using namespace execute;

namespace {
constexpr std::size_t box_alignment = 128, row_alignment = 16;  // of shared memory, in bytes
}

void bulk_load(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier) {
  const Call call(__builtin_return_address(0));
  start_load(call, box_of(call, map, x, y, to, Op::bulk_load), box_alignment, mbarrier, {&call.block});
}

void bulk_load_multicast(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier,
                         std::uint32_t blocks) {
  const Call call(__builtin_return_address(0));
  const auto& cluster = call.block.cluster->blocks;
  if (blocks == 0 || blocks >> cluster.size() != 0)
    refuse_copy(call.w, call.pc, fmt::format("copies to blocks {:#x}, of a cluster of {}", blocks, cluster.size()));
  std::vector<Block*> to_blocks;
  for (std::size_t rank = 0; rank < cluster.size(); ++rank)
    if (blocks >> rank & 1u) to_blocks.push_back(cluster[rank]);
  start_load(call, box_of(call, map, x, y, to, Op::bulk_load), box_alignment, mbarrier, to_blocks);
}

void bulk_load(void* to, const void* from, std::uint32_t bytes, void* mbarrier) {
  const Call call(__builtin_return_address(0));
  start_load(call, contiguous(call, from, to, bytes), row_alignment, mbarrier, {&call.block});
}

void bulk_store(const TensorMap& map, std::int32_t x, std::int32_t y, const void* from) {
  const Call call(__builtin_return_address(0));
  start_store(call, box_of(call, map, x, y, from, Op::bulk_store), box_alignment);
}

void bulk_store(void* to, const void* from, std::uint32_t bytes) {
  const Call call(__builtin_return_address(0));
  start_store(call, contiguous(call, to, from, bytes), row_alignment);
}

void commit_bulk_group() {
  const Call call(__builtin_return_address(0));
  call.order.commit(call.lane.linear, order::bulk_of);
}

void wait_for_bulk_groups(int pending, bool reads_only) {
  const Call call(__builtin_return_address(0));
  call.order.wait_for_groups(call.lane.linear, order::bulk_of, order::Epoch(pending), reads_only);
  const order::Epoch over = call.order.clock(call.lane.linear).over[order::kind_of(order::bulk_reads_of)];
  auto& stores = call.lane.bulk_stores;
  std::erase_if(stores, [&](const BulkStore& store) {
    if (store.group < over) perform(store.box, false);
    return store.group < over;
  });
}

}  // namespace simt::device
