// The check of each access of a kernel: its array, whether it is allowed, and whether it is ordered with others.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// How often the lanes of a launch yield in Schedule::make_way; after that, they run on.
constexpr int most_yields = 1 << 14;

order::Access access_of(const Worker& w, Touched t) {
  return {w.block->order, w.lane->linear, t.op != Op::load, t.strong, t.may_poll, t.by_copy ? w.copying : 0, t.at};
}

[[gnu::noinline]] void handle_conflict(Worker& w, Touched t, const Target& target, const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  const bool of_one_instruction = t.op == Op::store && !t.by_copy && other.wrote && other.pc == t.at &&
                                  order::block_of(other.with) == w.block->serial &&
                                  order::warp_of(other.with) == std::uint32_t(w.lane->linear) / 32;
  if (!of_one_instruction) return report_race(w, t, target, other);
  SameValue check{t.address, {}, std::min<std::size_t>(target.element, 16), {}};
  std::memcpy(check.before.data(), reinterpret_cast<const void*>(t.address), check.bytes);
  check.report = [&w, t, target, other] { report_race(w, t, target, other); };
  w.lane->same_values.push_back(std::move(check));
  w.lane->unsettled = true;
}

// Byte `i` of an access to a block's shared memory, other than a read of a word written before the last barrier.
[[gnu::noinline]] void touch_shared_cell(Worker& w, Block& block, Touched t, const Target& target, std::size_t i,
                                         std::size_t cell) {
  if (t.op != Op::store && !t.exchanges && !block.shared.written(cell, block.order))
    report(w, "uninitialised", culprit(w, t.pc()), 0, [&] {
      return fmt::format("{} {} (address {:#x}), which no thread of the {} has written", verb_of(t.op),
                         element_name(target, t.address + i), t.address + i,
                         w.launch->cluster_blocks > 1 ? "cluster" : "block");
    });
  if (order::Conflict conflict; block.shared.put(cell, access_of(w, t), conflict))
    handle_conflict(w, {t.address + i, t.at, t.op, t.by_copy, t.strong, t.may_poll}, target, conflict);
}

// Splits words into bytes, for accesses to less than a word.
[[gnu::noinline]] void refine_cells(Block& block) {
  block.shared = block.shared.refined(block.granule());
  block.granule_bits = 0;
}

// Checks an access to a __shared__ variable of a block, the running one or another of its cluster.
[[gnu::always_inline]] inline void touch_variable(Worker& w, Block& owner, PlacedVariable& variable, std::size_t size,
                                                  Touched t) {
  if (!variable.is_dynamic && !variable.counts.load(std::memory_order_relaxed)) variable.counts = true;
  if (size < owner.granule()) refine_cells(owner);
  if (!owner.mbarriers.empty()) refuse_mbarrier(w, owner, size, t);
  const Address begin = owner.shared_begin() + variable.offset;
  const std::size_t first = variable.first_byte + (t.address - begin);
  const bool own = &owner == w.block;
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size; i += owner.granule()) {
    const std::size_t cell = (first + i) >> owner.granule_bits;
    if (own && owner.shared.put_usual(cell, access)) continue;
    const Target what{&variable.name, owner.granule() == 1 ? size : 4, begin, own ? nullptr : &owner, &variable.shape};
    touch_shared_cell(w, owner, t, what, i, cell);
  }
}

[[gnu::always_inline]] inline void touch_shared(Worker& w, Block& owner, std::size_t size, Touched t) {
  PlacedVariable* const variable = variable_of(w, t.address, size, owner.shared_begin());
  if (variable == nullptr) report_out_of_bounds(w, size, t);
  touch_variable(w, owner, *variable, size, t);
}

// The variable of another block of the cluster that contains an access, if there is one and that block has not ended.
[[gnu::noinline]] std::pair<Block*, PlacedVariable*> distributed_at(const Worker& w, Address at, std::size_t size) {
  Block* const owner = w.launch->cluster_blocks == 1 ? nullptr : owner_of(w, at);
  if (owner == nullptr || owner == w.block || owner->ended) return {};
  return {owner, variable_of(w, at, size, owner->shared_begin())};
}

// Handles an access to a part of an element: the launch is restarted with elements of this size.
[[noreturn]] void need_smaller_elements(Worker& w, std::size_t size, Touched t, Region& region) {
  if (region.rows != 0) w.refuse(t.pc(), fmt::format("{} part of an element of {}", verb_of(t.op), region.name));
  std::atomic_ref(region.next_element) = size & -size;
  w.launch->begins_anew = w.launch->stop = true;
  abandon_block(w);
}

[[gnu::noinline]] void touch_global(Worker& w, std::size_t size, Touched t) {
  Region* region = region_of(w, t.address, size);
  if (region == nullptr) {
    const auto [owner, variable] = distributed_at(w, t.address, size);
    if (variable == nullptr) report_out_of_bounds(w, size, t);
    note_visit(w, *owner, t.op, t.pc());
    return touch_variable(w, *owner, *variable, size, t);
  }
  if (region->is_constant && t.op != Op::load)
    w.refuse(t.pc(), fmt::format("{} {}, which is __constant__: only the host may", verb_of(t.op), region->name));
  if ((size & (region->element - 1)) != 0) need_smaller_elements(w, size, t, *region);
  const Target target = target_of(*region);
  const std::size_t first = (t.address - region->begin) / region->element;
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size / region->element; ++i) {
    const Address element = t.address + i * region->element;
    if (region->cells->untouched(first + i) && !region->inside(first + i)) {
      report(w, "out of bounds", culprit(w, t.pc()), 1, [&] {
        return fmt::format("{} {} (address {:#x}), outside the {} x {} matrix with leading dimension {}", verb_of(t.op),
                           element_name(target, element), element, region->rows, region->cols, region->ld);
      });
      return;
    }
    if (order::Conflict conflict; region->cells->put(first + i, access, conflict))
      handle_conflict(w, {element, t.at, t.op, t.by_copy, t.strong}, target, conflict);
  }
}

// Whether `size` bytes of the running block's shared memory lie in one variable.
[[gnu::always_inline]] inline bool has_room(const Worker& w, Address address, std::size_t size) {
  const std::size_t offset = address - w.shared_begin;
  return offset % SharedLayout::grain + size <= w.shared.grains[offset / SharedLayout::grain].room;
}

// A strong access after a fence releases what its thread did before the fence to threads that then read the value.
[[gnu::noinline]] void release_and_learn(Worker& w, Touched t) {
  const order::ThreadClock& clock = w.block->order.clock(w.lane->linear);
  const auto release = [&](Released& all, const order::KnownPointer& fenced) {
    order::KnownPointer& released = all[t.address];
    released = order::joined({released, nullptr, nullptr}, {fenced, nullptr, nullptr}).known;
  };
  const bool in_cluster = owner_of(w, t.address) != nullptr;
  if (t.op != Op::load) note_signals(w, in_cluster);
  if (t.op != Op::load && clock.fenced != nullptr)
    release(in_cluster ? w.block->cluster->released : w.launch->released, clock.fenced);
  if (t.op != Op::load && clock.fenced_in_block != nullptr) release(w.block->released, clock.fenced_in_block);
  if (t.op != Op::store) w.lane->learn_from = t.address;
  if (t.op != Op::load) w.lane->wrote = t.address;
  w.lane->unsettled = true;
}

// An untraced run is not counted, but its bounds are checked: otherwise it could overwrite memory of the model. The last
// `unread` bytes are counted, but not accessed.
[[gnu::always_inline]] inline void touch(Worker& w, std::size_t size, Touched t, std::size_t unread = 0) {
  if ((t.address & (size - 1)) != 0) [[unlikely]]
    fail(w, "misaligned", t.pc(),
         fmt::format("{} {} bytes at address {:#x}, which is not a multiple of {}", verb_of(t.op), size, t.address,
                     size));
  if (!w.traced) {
    require_in_bounds(w, t.address, size - unread, t.op, t.pc());
    return;
  }
  if (w.lane->unsettled) settle(w);
  if (t.strong) release_and_learn(w, t);
  if (is_shared(w, t.address))
    touch_shared(w, *w.block, size - unread, t);
  else
    touch_global(w, size - unread, t);
  if (w.lane->log.size() == w.lane->log.capacity()) [[unlikely]]
    require_bounded_log(w, t.pc());
  w.lane->log.push_back({t.address, t.at, std::uint8_t(size), t.op, w.lane->turns.count});
}

// Whether the lane is about to repeat its last load, by the same instruction.
[[gnu::always_inline]] inline bool makes_again(const Lane& lane, Address address, Address pc) {
  return lane.last_address == address && lane.last_pc == pc;
}

[[gnu::always_inline]] inline void forget_polling(Lane& lane, Address address, Address pc) {
  lane.last_address = address;
  lane.last_pc = pc;
  lane.retries = 0;
  lane.changed_nothing = false;
}

// The general case of an access.
[[gnu::noinline]] void look_at_access(Worker& w, Address address, std::size_t size, Op op, Address pc,
                                      bool is_volatile) {
  const hooks::ScopedIgnore ignore;
  Lane& lane = *w.lane;
  if (op != Op::store) {
    if (is_volatile || op == Op::atomic || makes_again(lane, address, pc))
      notice_polling(w, address, size, op, pc, is_volatile);
    else
      forget_polling(lane, address, pc);
  } else {
    lane.changed_nothing = false;
  }
  // In a block's own shared memory, a volatile store counts as atomic if its thread has fenced, a load if any thread has.
  const order::BlockOrder& order = w.block->order;
  const bool of_own_block = is_volatile && is_shared(w, address) && w.launch->cluster_blocks == 1;
  const bool strong =
      op == Op::atomic ||
      (is_volatile && (!of_own_block || (order.any_fenced() && (op == Op::load || order.fenced(lane.linear)))));
  touch(w, size,
        {address, hooks::offset_of(pc), op, false, strong, of_own_block && op == Op::load,
         is_volatile && op == Op::atomic});
}

// The fast path of a traced run: a load from shared memory of a word written before the last barrier of the block.
// Notes and logs it; returns false, and does nothing, for any other access.
[[gnu::always_inline]] inline bool load_as_usual(Worker& w, Address address, std::size_t size, Address pc) {
  Lane& lane = *w.lane;
  Block& block = *w.block;
  if (lane.unsettled || !is_shared(w, address) || size < block.granule() || !block.mbarriers.empty() ||
      lane.log.size() == lane.log.capacity())
    return false;
  const PlacedVariable* const variable = variable_of(w, address, size, w.shared_begin);
  if (variable == nullptr) return false;
  const std::size_t first = variable->first_byte + (address - w.shared_begin - variable->offset);
  const std::size_t last_cell = (first + size - 1) >> block.granule_bits;
  const Touched t{address, hooks::offset_of(pc), Op::load};
  const order::Access access = access_of(w, t);
  for (std::size_t cell = first >> block.granule_bits; cell <= last_cell; ++cell)
    if (!block.shared.put_usual(cell, access)) return false;
  lane.log.push_back({address, t.at, std::uint8_t(size), Op::load, lane.turns.count});
  return true;
}

// An access of a traced run.
[[gnu::noinline]] void look_closely_at(Worker& w, Address address, std::size_t size, Op op, Address pc,
                                       bool is_volatile) {
  w.lane->idle_turns = 0;
  if (op == Op::load && !is_volatile && (address & (size - 1)) == 0 && !makes_again(*w.lane, address, pc) &&
      load_as_usual(w, address, size, pc))
    forget_polling(*w.lane, address, pc);
  else
    look_at_access(w, address, size, op, pc, is_volatile);
}

}  // namespace

// Most accesses of an untraced run leave no trace, and take this path without a call.
void Worker::access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) {
  if (traced) return look_closely_at(*this, address, size, op, pc, is_volatile);
  const bool may_wait = op != Op::store && (is_volatile || op == Op::atomic || makes_again(*lane, address, pc));
  const bool stays_in_bounds = is_shared(*this, address) ? has_room(*this, address, size)
                                                         : last_region != nullptr && last_region->holds(address, size);
  if (may_wait || (address & (size - 1)) != 0 || !stays_in_bounds)
    return look_at_access(*this, address, size, op, pc, is_volatile);
  if (op != Op::store)
    forget_polling(*lane, address, pc);
  else
    lane->changed_nothing = false;
}

Region* region_of(const Worker& w, Address address, std::size_t size) {
  if (w.last_region != nullptr && w.last_region->holds(address, size)) return w.last_region;
  for (Region* region : w.launch->arrays)
    if (region->holds(address, size)) return w.last_region = region;
  return nullptr;
}

bool in_bounds(const Worker& w, Address address, std::size_t size) {
  if (is_shared(w, address)) return has_room(w, address, size);
  return region_of(w, address, size) != nullptr || distributed_at(w, address, size).second != nullptr;
}

void require_in_bounds(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (!in_bounds(w, address, size)) report_out_of_bounds(w, size, {address, hooks::offset_of(pc), op});
}

void touch_in_bulk(Worker& w, Address address, std::size_t size, Op op, Address pc, order::Stamp copy) {
  w.copying = copy;
  const Touched t{address, hooks::offset_of(pc), op, copy != 0};
  if (Block* const owner = owner_of(w, address))
    touch_shared(w, *owner, size, t);
  else
    touch_global(w, size, t);
}

void settle(Worker& w) {
  Lane& lane = *w.lane;
  lane.unsettled = false;
  if (lane.learn_from != 0) {
    for (const auto* all : {&w.block->released, &w.block->cluster->released, &w.launch->released})
      if (const auto released = all->find(lane.learn_from); released != all->end())
        w.block->order.learn(lane.linear, order::News{released->second, nullptr, nullptr});
    lane.learn_from = 0;
  }
  for (const SameValue& same : lane.same_values)
    if (std::memcmp(same.before.data(), reinterpret_cast<const void*>(same.address), same.bytes) != 0) same.report();
  lane.same_values.clear();
  const Address wrote = std::exchange(lane.wrote, 0);
  const bool makes_way = wrote != 0 && w.launch->schedule == Schedule::make_way && w.yields < most_yields;
  if (makes_way || w.polled.contains(wrote)) w.changed = wrote;
  if (w.changed != 0 || lane.only_looks) {
    lane.only_looks = false;
    suspend(w, LaneState::ready);
  }
}

void deliver_copies(Lane& lane, order::Epoch group) {
  std::erase_if(lane.copies, [&](const PendingCopy& copy) {
    if (copy.group >= group) return false;
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(static_cast<std::byte*>(copy.to) + copy.bytes, 0, copy.zeros);
    return true;
  });
}

// --- Structs ---------------------------------------------------------------------------------------------------------
// According to the SASS of nvcc 13.0 for sm_90a, for structs of 5 to 1024 bytes and alignments from 1 to 16: nvcc moves
// a struct in global memory by accesses as wide as the struct's alignment, at most 16 bytes. In shared memory it also
// combines accesses as far as the offset of the array allows, which is not known here.
namespace {

constexpr std::size_t most_at_once = 16;

bool is_one_access(std::size_t size) { return size <= most_at_once && (size & (size - 1)) == 0; }

// Whether it is an element of a __shared__ array aligned to the widest access, so that nothing is left to combine.
bool is_whole_vectors(const Worker& w, Address address, std::size_t size) {
  if (!is_shared(w, address)) return false;
  const PlacedVariable* const variable = variable_of(w, address, size, w.shared_begin);
  return variable != nullptr && variable->shape.element == size && variable->element_alignment >= most_at_once &&
         (address - w.shared_begin - variable->offset) % size == 0;
}

// How many bytes nvcc moves at once. If that is not known, or the access is not allowed, the lane is ended.
std::size_t bytes_at_once(Worker& w, Address address, std::size_t size, Op op, Address pc, hooks::Alignment known) {
  const hooks::ScopedIgnore ignore;
  const Region* const region = region_of(w, address, size);
  const bool shared = is_shared(w, address) || (region == nullptr && arena_at(address) != nullptr);
  if (region != nullptr && !region->is_constant) {
    const std::size_t of_struct = region->declared.element, alignment = region->alignment;
    if (size == of_struct && (address - region->begin) % size == 0) return std::min(alignment, most_at_once);
    const std::size_t aligned = is_one_access(size) ? size : (size | address) & -(size | address);
    const std::size_t most = std::min({known.most, aligned, size < of_struct ? alignment : known.most});
    if (std::max(known.least, region->element) >= most) return most;
  }
  if (is_whole_vectors(w, address, size)) return most_at_once;
  if (region == nullptr && !shared) require_in_bounds(w, address, size, op, pc);
  if (is_one_access(size) && known.most >= size) return size;
  if (size == 3 || size == 6 || size == 12) return size / 3;  // assumed to be a float3 or the like, in any memory
  w.refuse(pc, fmt::format("moves {} bytes at once {}, and how nvcc splits that into accesses is not known; {}", size,
                           region == nullptr     ? "in shared memory"
                           : region->is_constant ? "from " + region->name + ", which is __constant__"
                                                 : "in " + region->name + ", which is not an array of such structs",
                           is_one_access(size)
                               ? fmt::format("declare the struct alignas({}), which makes it one access", size)
                               : "assign its members, or elements or vectors"));
  return 0;
}

}  // namespace

void Worker::access_struct(Address address, std::size_t size, Op op, Address pc, hooks::Alignment alignment) {
  const Region* const r = last_region;
  // The usual case is a vector, in an array that is not known to hold less aligned structs of this size.
  if (is_one_access(size) && alignment.most >= size &&
      (is_shared(*this, address) ||
       (r != nullptr && r->holds(address, size) && (r->alignment >= size || r->declared.element < size))))
    return access(address, size, op, pc, false);
  const std::size_t at_once = bytes_at_once(*this, address, size, op, pc, alignment);
  for (std::size_t at = 0; at < size; at += at_once) access(address + at, at_once, op, pc, false);
}

}  // namespace simt::execute

namespace simt::device {
using namespace execute;

void async_copy(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
  const Call call(__builtin_return_address(0));
  Worker& w = call.w;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
    fail(w, "undefined", call.pc,
         fmt::format("copies {} bytes asynchronously, {} of them zeros; only 4, 8 or 16 are possible", bytes, zeros));
  const std::uint32_t at = hooks::offset_of(call.pc);
  w.copying = call.order.stamp_of_group(call.lane.linear, order::copies_of);
  if (zeros < bytes) touch(w, bytes, {reinterpret_cast<Address>(from), at, Op::load, true}, zeros);
  touch(w, bytes, {reinterpret_cast<Address>(to), at, Op::store, true});
  w.copies_at.insert(at);
  call.lane.copies.push_back({to, from, bytes - zeros, zeros, order::epoch_of(w.copying)});
}

}  // namespace simt::device
