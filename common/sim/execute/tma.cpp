// mbarriers and TMA copies: when a phase completes, and what a waiting thread acquires; which bytes of global and
// shared memory a copy moves, when it lands, and the checks for misuse of both.
#include <fmt/format.h>

#include <cstring>

#include "common/cuda/tensor_map.hpp"
#include "common/sim/execute/execute.hpp"

namespace simt::execute {

// --- mbarriers -------------------------------------------------------------------------------------------------------
namespace {

constexpr std::size_t size_of_mbarrier = 8;
// How often the lanes of a block may give up waiting, with no event in between, before they wait forever.
constexpr int most_give_ups = 64;

// "mbarrier full[1] (address A)"
std::string described_mbarrier(const Worker& w, Address mbarrier) {
  return fmt::format("{} (address {:#x})", name_of_mbarrier(w, mbarrier), mbarrier);
}

[[noreturn]] void refuse_use(Worker& w, Address mbarrier, Address pc, std::string_view verb, const std::string& why) {
  fail(w, "mbarrier", pc, fmt::format("{} {}{}", verb, described_mbarrier(w, mbarrier), why));
}

// Ends the lane if there cannot be an mbarrier at this address, in the shared memory of `owner`.
void require_place(Worker& w, const Block& owner, Address mbarrier, Address pc, const char* verb) {
  const auto refuse = [&](const char* why) { refuse_use(w, mbarrier, pc, verb, why); };
  if (owner_of(w, mbarrier) != &owner) refuse(", which is not in shared memory");
  if (mbarrier % size_of_mbarrier != 0) refuse(", whose address is not a multiple of 8");
  if (owner.ended) refuse(", whose block has ended: no cluster barrier makes it wait");
  require_in_bounds(w, mbarrier, size_of_mbarrier, Op::store, pc);
}

// Completes the current phase if nothing is missing.
void end_phase(const Worker& w, Block& owner, Mbarrier& m) {
  if (m.missing > 0 || m.bytes != 0) return;
  ++m.phase;
  m.missing = m.count;
  if (w.traced) {
    m.over = order::joined(m.over, m.arrived);
    m.over = order::joined(m.over, owner.order.phase_over(m.number, m.epoch));
    m.arrived = {};
  }
  ++m.epoch;
}

std::string too_many_bytes(const Mbarrier& m) {
  return fmt::format(": {} more bytes arrived in phase {} than were expected", -m.bytes, m.phase);
}

// The mbarrier of a block that the running lane is about to use as `verb` says. Ends the lane if there is none.
Mbarrier& mbarrier_at(Worker& w, Block& owner, Address mbarrier, Address pc, const char* verb) {
  require_place(w, owner, mbarrier, pc, verb);
  const auto found = owner.mbarriers.find(mbarrier);
  if (found == owner.mbarriers.end()) refuse_use(w, mbarrier, pc, verb, ", which has not been initialised");
  Mbarrier& m = found->second;
  if (w.traced && !w.block->order.ordered(m.initialised, w.lane->linear))
    report(w, "race", culprit(w, pc), m.init_pc, [&] {
      return fmt::format("{} {}, which thread {} initialised at {} with no barrier between that orders the two", verb,
                         described_mbarrier(w, mbarrier), thread_name(w, order::thread_of(m.initialised)),
                         line_of(m.init_pc));
    });
  return m;
}

// Notes that the bytes of a copy have landed for its mbarrier.
void complete_bytes(Worker& w, const BulkLoad& load) {
  Mbarrier& m = w.block->mbarriers.at(load.mbarrier);
  const auto refuse = [&](const std::string& why) {
    report(w, "bulk copy", load.by, 0, [&] {
      return fmt::format("copies {} bytes for {}{}", load.box.map.bytes_of_box(), described_mbarrier(w, load.mbarrier),
                         why);
    });
    w.block->abandoned = true;
  };
  if (load.phase != m.phase)
    return refuse(fmt::format(" in phase {}, which was over before they landed: fewer bytes were expected than copied",
                              load.phase));
  ++w.block->events;
  m.bytes -= std::int64_t(load.box.map.bytes_of_box());
  if (m.missing == 0 && m.bytes < 0) return refuse(too_many_bytes(m));
  end_phase(w, *w.block, m);
}

}  // namespace

std::string name_of_mbarrier(const Worker& w, Address mbarrier) {
  const std::string name = shared_name(w, mbarrier, size_of_mbarrier);
  return name.empty() ? "an mbarrier" : "mbarrier " + name;
}

void refuse_mbarrier(Worker& w, const Block& owner, std::size_t size, Touched t) {
  auto m = owner.mbarriers.upper_bound(t.address - size_of_mbarrier);
  for (; m != owner.mbarriers.end() && m->first < t.address + size; ++m)
    refuse_use(w, m->first, t.pc(), (t.by_copy ? "asynchronously " : "") + std::string(verb_of(t.op)),
               " as ordinary memory");
}

bool end_mbarrier_waits(Worker& w, std::span<Lane> lanes) {
  Block& block = *w.block;
  bool ended = false;
  for (Lane& lane : lanes) {
    if (!waits_for(lane, Wait::For::mbarrier)) continue;
    const Mbarrier& m = block.mbarriers.at(lane.wait.mbarrier);
    lane.wait.over = m.phase % 2 != std::uint64_t(lane.wait.number);
    // The instruction may give up. If its phase is not over, it does so once after each event, so that a kernel that
    // does not retry is detected.
    if (!lane.wait.over && std::exchange(lane.tried_at, block.events) == block.events) continue;
    ended = true;
    lane.state = LaneState::ready;
    if (!lane.wait.over) continue;
    lane.turns.reset();
    if (w.traced) block.order.learn(lane.linear, m.over);
  }
  return ended;
}

bool give_up_mbarrier_waits(Worker& w) {
  Block& block = *w.block;
  if (block.abandoned) return false;
  if (block.gave_up_at != block.events) block.gave_up = 0;
  block.gave_up_at = block.events;
  if (++block.gave_up > most_give_ups) return false;
  bool any = false;
  for (Lane& lane : block.lanes)
    if (waits_for(lane, Wait::For::mbarrier)) {
      lane.state = LaneState::ready;
      any = true;
    }
  return any;
}

std::string described_mbarrier_wait(const Worker& w, const Lane& lane) {
  const Mbarrier& m = w.block->mbarriers.at(lane.wait.mbarrier);
  const std::string ended = m.phase == 0   ? "no phase has ended"
                            : m.phase == 1 ? "phase 0 has ended"
                                           : fmt::format("phases 0 to {} have ended", m.phase - 1);
  return fmt::format("waits for phase {} (parity {}) of {}, of which {}: {} of {} arrivals and {} bytes are missing",
                     m.phase, lane.wait.number, described_mbarrier(w, lane.wait.mbarrier), ended, m.missing, m.count,
                     m.bytes);
}

// --- TMA copies ------------------------------------------------------------------------------------------------------
namespace {

using Bytes = std::pair<Address, Address>;  // first and end
constexpr std::uint32_t chunk = 16;         // bytes of a row that a swizzle keeps together

// The part of a box's row that is inside the matrix: its first byte in the row, its address, and its number of bytes.
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

// The address in shared memory of a byte of the box.
Address place_of_byte(const Box& box, std::uint32_t byte) {
  constexpr Address pattern = 1024;  // the period of the largest swizzle
  const Address dense = box.shared + byte, within = dense % pattern;
  return dense - within + tile::swizzled(box.map.swizzle, unsigned(within));
}

// Performs the copy, to shared memory (with 0 for elements outside the matrix) or from it.
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

// The box of a tensor map, which is a parameter of the kernel (each lane has its own copy, on its stack) or lies in
// global memory. Its allowed start was measured on an NVIDIA H200, one box at a time: a multiple of 16 bytes within a
// row, and not before the matrix if it is a store; otherwise the GPU reports "illegal instruction".
Box box_of(const Call& call, const TensorMap& map, std::int32_t x, std::int32_t y, const void* shared, Op op) {
  Worker& w = call.w;
  const auto address = reinterpret_cast<Address>(&map);
  if (!call.lane.lane_hooks.on_own_stack(address)) require_in_bounds(w, address, sizeof map, Op::load, call.pc);
  if (!map.encoded) refuse_copy(w, call.pc, "copies with a tensor map that was not made by tensor_map");
  if (x * std::int64_t(map.element) % chunk != 0)
    refuse_copy(
        w, call.pc,
        fmt::format("copies a box that begins at column {} of {} bytes: it must begin at a multiple of 16 bytes", x,
                    map.element));
  if (op == Op::bulk_store && (x < 0 || y < 0))
    refuse_copy(w, call.pc, fmt::format("stores a box at column {} and row {}, which must not be negative", x, y));
  const Box box{map, x, y, reinterpret_cast<Address>(shared)};
  if (box.shared % 128 != 0)
    fail(w, "misaligned", call.pc,
         fmt::format("copies {} bytes in bulk at address {:#x}, which is not a multiple of 128", map.bytes_of_box(),
                     box.shared));
  return box;
}

// A block that takes part in a copy: the box in its shared memory, the actor that accesses it, and the mbarrier.
struct Party {
  Block* block;
  Box box;
  order::Stamp by;
  Address mbarrier = 0;
  std::uint64_t phase = 0;
};

// Checks a copy, and passes its bytes in global memory and in the shared memory of each party to order/ and cost/.
void note(const Call& call, const Box& box, Op op, const std::vector<Party>& parties) {
  Worker& w = call.w;
  const auto [global, shared] = op == Op::bulk_load ? std::pair(Op::load, Op::store) : std::pair(Op::store, Op::load);
  if (!is_shared(w, box.shared)) refuse_copy(w, call.pc, "copies in bulk, but not to or from its shared memory");
  require_in_bounds(w, box.shared, box.map.bytes_of_box(), shared, call.pc);
  std::vector<Bytes> rows;
  for (std::uint32_t y = 0; y < std::uint32_t(box.map.box_rows); ++y)
    if (const Inside row = inside(box, y); row.bytes > 0) {
      if (is_shared(w, row.global)) refuse_copy(w, call.pc, "copies in bulk, but not to or from global memory");
      require_in_bounds(w, row.global, row.bytes, global, call.pc);
      rows.emplace_back(row.global, row.global + row.bytes);
    }
  if (!w.traced) return;
  for (const auto& [begin, end] : rows) touch_in_bulk(w, begin, end - begin, global, call.pc, parties.front().by);
  for (std::uint32_t byte = 0; byte < box.map.bytes_of_box(); byte += chunk)
    for (const Party& p : parties) touch_in_bulk(w, place_of_byte(p.box, byte), chunk, shared, call.pc, p.by);
  const auto count = [&](Address address, const std::vector<Bytes>& bytes) {
    const cost::Array array = array_of(w, address);
    w.tally.add_bulk({hooks::offset_of(call.pc), op, array.space, std::uint8_t(box.map.element), array.index}, array,
                     bytes, w.block->serial);
  };
  if (!rows.empty()) count(rows.front().first, rows);
  count(box.shared, {parties.size(), Bytes{box.shared, box.shared + box.map.bytes_of_box()}});
}

// Starts a load to the blocks of a mask, at the same offset in the shared memory of each as in that of the running one.
void start_load(const Call& call, const Box& box, void* mbarrier, std::uint32_t blocks) {
  Worker& w = call.w;
  std::vector<Party> parties;
  for (Block* to : call.block.cluster->blocks) {
    if ((blocks >> to->rank & 1u) == 0) continue;
    const Address at = same_place(*to, call.block, reinterpret_cast<Address>(mbarrier));
    const Mbarrier& m = mbarrier_at(w, *to, at, call.pc, "starts a copy for");
    if (w.traced && call.order.ordered(m.initialised, w.lane->linear) &&
        !call.order.init_fenced(m.initialised, w.lane->linear))
      report(w, "missing proxy fence", culprit(w, call.pc), m.init_pc, [&] {
        return fmt::format(
            "starts a copy for {}, which thread {} initialised at {} with no fence.mbarrier_init between",
            described_mbarrier(w, at), thread_name(w, order::thread_of(m.initialised)), line_of(m.init_pc));
      });
    parties.push_back({to, box, order::stamp(to->serial, order::mbarrier_of + m.number, m.epoch), at, m.phase});
    parties.back().box.shared = same_place(*to, call.block, box.shared);
  }
  note(call, box, Op::bulk_load, parties);
  for (const Party& p : parties) {
    p.block->bulk_loads.push_back({p.box, culprit(w, call.pc), p.mbarrier, p.phase});
    p.block->has_news = p.block->has_news || p.block != &call.block;
  }
}

}  // namespace

bool let_bulk_loads_arrive(Worker& w) {
  Block& block = *w.block;
  if (block.abandoned || block.bulk_loads.empty()) return false;
  for (const Lane& lane : block.lanes) {
    if (!waits_for(lane, Wait::For::mbarrier)) continue;
    const std::size_t landed = std::erase_if(block.bulk_loads, [&](const BulkLoad& load) {
      if (load.mbarrier != lane.wait.mbarrier || block.abandoned) return false;
      perform(load.box, true);
      complete_bytes(w, load);
      return true;
    });
    if (landed > 0) return !block.abandoned;
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
           fmt::format("starts a copy to {} that may still be in flight when the block ends: no thread waits for {}",
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

void mbarrier_init(void* mbarrier, std::uint32_t count) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(mbarrier);
  const auto refuse = [&](const std::string& why) { refuse_use(call.w, address, call.pc, "initialises", why); };
  require_place(call.w, call.block, address, call.pc, "initialises");
  if (count == 0) refuse(" for 0 arrivals");
  auto& mbarriers = call.block.mbarriers;
  if (mbarriers.contains(address)) refuse(", which has already been initialised");
  if (mbarriers.size() >= order::actors_of_a_kind)
    refuse(fmt::format(", but the model supports at most {} in a block", order::actors_of_a_kind));
  if (call.w.traced) touch_in_bulk(call.w, address, size_of_mbarrier, Op::store, call.pc);
  Mbarrier& m = mbarriers[address];
  m.number = std::uint32_t(mbarriers.size() - 1);
  m.count = m.missing = count;
  m.initialised = call.order.stamp_of(call.lane.linear);
  m.init_pc = call.pc;
}

void mbarrier_arrive(void* mbarrier, std::uint32_t bytes, bool after_copies) {
  const Call call(__builtin_return_address(0));
  if (after_copies) {  // they land at once: only what follows from the mbarrier is ordered after them
    call.order.commit(call.lane.linear, order::copies_of);
    deliver_copies(call.lane, call.order.clock(call.lane.linear).group(order::copies_of));
  }
  const auto address = reinterpret_cast<Address>(mbarrier);
  Worker& w = call.w;
  constexpr auto verb = "arrives at";
  Block* const other = owner_of(w, address);
  Block& owner = other == nullptr ? call.block : *other;
  const bool remote = &owner != &call.block;
  if (remote && w.traced) note_visit(w, owner, Op::atomic, call.pc);
  Mbarrier& m = mbarrier_at(w, owner, address, call.pc, verb);
  const auto refuse = [&](const std::string& why) { refuse_use(w, address, call.pc, verb, why); };
  ++owner.events;
  owner.has_news = owner.has_news || remote;
  m.bytes += bytes;
  if (m.missing == 0)
    refuse(fmt::format(": phase {} has all its {} arrivals and lacks only {} bytes", m.phase, m.count, m.bytes));
  if (w.traced)
    m.arrived = order::joined(
        m.arrived, after_copies ? call.order.landed(call.lane.linear) : call.order.arriving(call.lane.linear, !remote));
  --m.missing;
  if (m.missing == 0 && m.bytes < 0) refuse(too_many_bytes(m));
  end_phase(w, owner, m);
}

bool mbarrier_try_wait(void* mbarrier, std::uint32_t parity) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(mbarrier);
  mbarrier_at(call.w, call.block, address, call.pc, "waits for");
  if (parity > 1)
    refuse_use(call.w, address, call.pc, "waits for", fmt::format(" with parity {}, which must be 0 or 1", parity));
  wait_for({.what = Wait::For::mbarrier, .pc = call.pc, .number = int(parity), .mbarrier = address});
  return call.lane.wait.over;
}

void bulk_load(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier, std::uint32_t blocks) {
  const Call call(__builtin_return_address(0));
  const std::size_t cluster = call.block.cluster->blocks.size();
  if (blocks >> cluster != 0)
    refuse_copy(call.w, call.pc, fmt::format("copies to blocks {:#x} of a cluster that has {}", blocks, cluster));
  start_load(call, box_of(call, map, x, y, to, Op::bulk_load), mbarrier, blocks == 0 ? 1u << call.block.rank : blocks);
}

void bulk_store(const TensorMap& map, std::int32_t x, std::int32_t y, const void* from) {
  const Call call(__builtin_return_address(0));
  const Box box = box_of(call, map, x, y, from, Op::bulk_store);
  const order::Stamp by = call.order.stamp_of_group(call.lane.linear, order::bulk_of);
  note(call, box, Op::bulk_store, {{&call.block, box, by}});
  call.lane.bulk_stores.push_back({box, order::epoch_of(by), call.pc});
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
