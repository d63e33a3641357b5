// Each access of a kernel: whose memory it is, whether it may be touched, and whether another thread touched it unordered.
#include "common/sim/execute/touch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/sim/execute/arrays.hpp"

namespace simt::execute {
namespace {

order::Access access_of(const Worker& w, Touched t) {
  return {w.block->order,
          w.lane->linear,
          t.op != Op::load,
          t.strong,
          t.may_poll,
          t.by_copy ? w.copying : order::By{},
          t.at};
}

// Whether two stores are those of two lanes of a warp by one instruction.
bool of_one_instruction(const Worker& w, Touched t, const order::Conflict& other) {
  return t.op == Op::store && !t.by_copy && other.wrote && order::block_of(other.with) == w.block->serial &&
         order::warp_of(other.with) == std::uint32_t(w.lane->linear) / 32 && other.pc == t.at;
}

[[gnu::noinline]] void meet(Worker& w, Touched t, const Target& target, const Region* region,
                            const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  if (!of_one_instruction(w, t, other)) return report_race(w, t, target, region, other);
  SameValue check{t.address, {}, std::min<std::size_t>(target.element, 16), {}};
  std::memcpy(check.before.data(), reinterpret_cast<const void*>(t.address), check.bytes);
  check.report = [&w, t, target, region, other] { report_race(w, t, target, region, other); };
  w.lane->same_values.push_back(std::move(check));
  w.lane->unsettled = true;
}

// Part `i` of an access to a block's shared memory that is more than a read of what was written before the last barrier.
[[gnu::noinline]] void touch_shared_cell(Worker& w, Block& block, Touched t, const Target& target, std::size_t i,
                                         std::size_t cell) {
  if (t.op == Op::load && !block.shared.written(cell, block.order))
    report(w, Mistake::uninitialised, t.pc(), 0, [&] {
      return fmt::format("uninitialised: {} reads {} (address {}), which no thread of the {} has written",
                         where(w, t.pc()), element_name(target, nullptr, t.address + i), format_address(t.address + i),
                         w.launch->cluster_blocks > 1 ? "cluster" : "block");
    });
  if (order::Conflict conflict; block.shared.put(cell, access_of(w, t), conflict))
    meet(w, {t.address + i, t.at, t.op, t.by_copy, t.strong}, target, nullptr, conflict);
}

// Cells for variables that were placed since the block started.
[[gnu::noinline]] void grow_cells(const Worker& w, Block& block) {
  block.shared = block.shared.grown(cells_of(*w.launch, block));
}

// Accesses to less than a word need finer cells than one a word.
[[gnu::noinline]] void refine_cells(Block& block) {
  block.shared = block.shared.refined(block.granule());
  block.granule_bits = 0;
}

[[gnu::always_inline]] inline void touch_shared(Worker& w, std::size_t size, Touched t) {
  PlacedVariable* variable = variable_of(w, t.address, size);
  if (variable == nullptr) report_out_of_bounds(w, size, t);
  Block& block = *w.block;
  if (size < block.granule()) refine_cells(block);
  if (!block.mbarriers.empty())
    refuse_mbarrier(w, block, t.address, size, t.op, t.pc(), t.by_copy ? w.copying : order::By{});
  const std::size_t first =
      variable->first_byte.load(std::memory_order_relaxed) + (t.address - w.shared_begin - variable->offset);
  if ((first + size - 1) >> block.granule_bits >= block.shared.size()) grow_cells(w, block);
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size; i += block.granule()) {
    const std::size_t cell = (first + i) >> block.granule_bits;
    if (block.shared.put_usual(cell, access)) continue;
    const Target target{&variable->name, block.granule() == 1 ? size : 4, w.shared_begin + variable->offset, nullptr,
                        &variable->shape};
    touch_shared_cell(w, block, t, target, i, cell);
  }
}

Region* region_of(Worker& w, Address address, std::size_t size) {
  if (w.last_region != nullptr && address >= w.last_region->begin && address + size <= w.last_region->end)
    return w.last_region;
  for (Region* region : w.launch->arrays)
    if (address >= region->begin && address + size <= region->end) return w.last_region = region;
  return nullptr;
}

[[gnu::noinline]] void touch_global(Worker& w, std::size_t size, Touched t) {
  Region* region = region_of(w, t.address, size);
  if (region == nullptr && touch_distributed(w, size, t)) return;
  if (region == nullptr) report_out_of_bounds(w, size, t);
  if (region->is_constant && t.op != Op::load)
    w.refuse(t.pc(), fmt::format("{} {}, which is __constant__: only the host may", verb_of(t.op), region->name));
  if (size < region->element)
    w.refuse(t.pc(), fmt::format("{} {} bytes of {}, whose elements have {}", verb_of(t.op), size, region->name,
                                 region->element));
  const Target target{&region->name, region->element, region->begin};
  const std::size_t first = (t.address - region->begin) / region->element;
  const order::Access access = access_of(w, t);
  for (std::size_t i = 0; i < size / region->element; ++i) {
    const Address element = t.address + i * region->element;
    if (region->cells->untouched(first + i) && !region->inside(first + i)) {
      report(w, Mistake::outside_matrix, t.pc(), 0, [&] {
        return fmt::format("out of bounds: {} {} {} (address {}), outside the {} x {} matrix with leading dimension {}",
                           where(w, t.pc()), verb_of(t.op), element_name(target, region, element),
                           format_address(element), region->rows, region->cols, region->ld);
      });
      return;
    }
    if (order::Conflict conflict; region->cells->put(first + i, access, conflict))
      meet(w, {element, t.at, t.op, t.by_copy, t.strong}, target, region, conflict);
  }
}

// The variable of another block of the cluster that an access lies in, if there is one and that block is there.
struct Distributed {
  Block* owner = nullptr;
  PlacedVariable* variable = nullptr;
};
[[gnu::noinline]] Distributed distributed_at(const Worker& w, Address address, std::size_t size) {
  if (w.launch->cluster_blocks == 1) return {};
  Block* const owner = owner_of(w, address);
  if (owner == nullptr || owner == w.block || owner->ended) return {};
  return {owner, variable_of(w, *owner, address, size)};
}

// Whether bytes of the running block's shared memory lie in a variable.
[[gnu::always_inline]] inline bool has_room(const Worker& w, Address address, std::size_t size) {
  const std::size_t offset = address - w.shared_begin;
  return offset % SharedLayout::grain + size <= w.shared.room_at[offset / SharedLayout::grain];
}

// Whether an access stays within a __shared__ array of the kernel or an allocation.
[[gnu::always_inline]] inline bool in_bounds(Worker& w, Address address, std::size_t size) {
  if (is_shared(w, address)) return has_room(w, address, size);
  return region_of(w, address, size) != nullptr || distributed_at(w, address, size).variable != nullptr;
}

// An access to a variable of another block.
void touch_cells_of(Worker& w, Block& owner, const PlacedVariable& variable, std::size_t size, Touched t) {
  if (size < owner.granule()) refine_cells(owner);
  if (!owner.mbarriers.empty())
    refuse_mbarrier(w, owner, t.address, size, t.op, t.pc(), t.by_copy ? w.copying : order::By{});
  const Address within = t.address - owner.shared_begin() - variable.offset;
  const std::size_t first = variable.first_byte + within;
  if ((first + size - 1) >> owner.granule_bits >= owner.shared.size()) grow_cells(w, owner);
  const Target target{&variable.name, owner.granule() == 1 ? size : 4, t.address - within, &owner, &variable.shape};
  for (std::size_t i = 0; i < size; i += owner.granule())
    touch_shared_cell(w, owner, t, target, i, (first + i) >> owner.granule_bits);
}

// A strong access after a fence releases what its thread had done before the fence; whoever finds the value has learnt it.
[[gnu::noinline]] void release_and_learn(Worker& w, Touched t) {
  const order::ThreadClock& clock = w.block->order.clock(w.lane->linear);
  if (t.op != Op::load && clock.fenced != nullptr) {
    const bool in_cluster = is_shared(w, t.address) || owner_of(w, t.address) != nullptr;
    const std::scoped_lock lock(w.launch->released_mutex);
    auto& all = in_cluster ? w.block->cluster->released : w.launch->released;
    order::KnownPointer& released = all[t.address];
    released = order::joined(released, clock.fenced);
  }
  if (t.op != Op::load && clock.fenced_in_block != nullptr) {
    order::KnownPointer& released = w.block->released[t.address];
    released = order::joined(released, clock.fenced_in_block);
  }
  if (t.op != Op::store) {
    w.lane->learn_from = t.address;
    w.lane->unsettled = true;
  }
}

[[gnu::always_inline]] inline void touch_and_log(Worker& w, std::size_t size, Touched t) {
  if (w.lane->unsettled) settle(w);
  if (t.strong) release_and_learn(w, t);
  if (is_shared(w, t.address))
    touch_shared(w, size, t);
  else
    touch_global(w, size, t);
  if (w.lane->log.size() == w.lane->log.capacity()) [[unlikely]]
    require_bounded_log(w, t.pc());
  w.lane->log.push_back({t.address, t.at, std::uint8_t(size), t.op, w.lane->turns.count});
}

// An untraced run is not counted, but it does not leave its memory either: what it would overwrite is the model's own.
[[gnu::always_inline]] inline void touch(Worker& w, std::size_t size, Touched t) {
  if ((t.address & (size - 1)) != 0) report_misaligned(w, size, t);
  if (w.traced) return touch_and_log(w, size, t);
  if (!in_bounds(w, t.address, size)) report_out_of_bounds(w, size, t);
}

// Whether a lane's last load is about to be made once more, by the same instruction.
[[gnu::always_inline]] inline bool makes_again(const Lane& lane, Address address, Address pc) {
  return lane.last_address == address && lane.last_pc == pc;
}

[[gnu::always_inline]] inline void forget_polling(Lane& lane, Address address, Address pc) {
  lane.last_address = address;
  lane.last_pc = pc;
  lane.repeats = 0;
  lane.in_vain = false;
}

}  // namespace

namespace {

// Whether an access to a block's own shared memory through volatile counts as an atomic one does: a store of who has fenced, and a
// load once anybody has.
bool counts_in_block(const Worker& w, Op op) {
  const order::BlockOrder& order = w.block->order;
  return order.any_fenced() && (op == Op::load || order.fenced(w.lane->linear));
}

// Whatever an access may be.
[[gnu::noinline]] void look_at_access(Worker& w, Address address, std::size_t size, Op op, Address pc,
                                      bool is_volatile) {
  const announce::Unheard unheard;
  Lane& lane = *w.lane;
  if (op != Op::store) {
    if (is_volatile || op == Op::atomic || makes_again(lane, address, pc))
      notice_polling(w, address, size, pc,
                     op == Op::atomic ? Polling::atomically
                     : is_volatile    ? Polling::strongly
                                      : Polling::plainly);
    else
      forget_polling(lane, address, pc);
  } else {
    lane.in_vain = false;
  }
  const bool of_own_block = is_volatile && is_shared(w, address) && w.launch->cluster_blocks == 1;
  const bool strong = op == Op::atomic || (is_volatile && (!of_own_block || counts_in_block(w, op)));
  touch(w, size, {address, announce::offset_of(pc), op, false, strong, of_own_block && op == Op::load});
}

// An access of an untraced run to what its lane may touch: nothing is kept of it.
[[gnu::always_inline]] inline bool stays_in_bounds(const Worker& w, Address address, std::size_t size) {
  if (!is_shared(w, address))
    return w.last_region != nullptr && address >= w.last_region->begin && address + size <= w.last_region->end;
  return has_room(w, address, size);
}

// Most accesses of a traced run: a thread loads from shared memory what was written before the last barrier of its block. Notes
// and logs it, and does nothing if it is none of these.
[[gnu::always_inline]] inline bool load_as_usual(Worker& w, Address address, std::size_t size, Address pc) {
  Lane& lane = *w.lane;
  Block& block = *w.block;
  if (lane.unsettled || !is_shared(w, address) || size < block.granule() || !block.mbarriers.empty() ||
      lane.log.size() == lane.log.capacity())
    return false;
  const std::size_t offset = address - w.shared_begin;
  const std::uint16_t index = w.shared.variable_at[offset / SharedLayout::grain];
  if (index == 0) return false;
  const PlacedVariable& variable = w.launch->variables[index - 1];
  if (offset + size > variable.offset + variable.size || !variable.placed()) return false;
  const std::size_t first = variable.first_byte.load(std::memory_order_relaxed) + (offset - variable.offset);
  const std::size_t last_cell = (first + size - 1) >> block.granule_bits;
  if (last_cell >= block.shared.size()) return false;
  const Touched t{address, announce::offset_of(pc), Op::load};
  const order::Access access = access_of(w, t);
  for (std::size_t cell = first >> block.granule_bits; cell <= last_cell; ++cell)
    if (!block.shared.put_usual(cell, access)) return false;
  lane.log.push_back({address, t.at, std::uint8_t(size), Op::load, lane.turns.count});
  return true;
}

[[gnu::noinline]] void look_at_traced_access(Worker& w, Address address, std::size_t size, Op op, Address pc,
                                             bool is_volatile) {
  if (op == Op::load && !is_volatile && (address & (size - 1)) == 0 && !makes_again(*w.lane, address, pc) &&
      load_as_usual(w, address, size, pc))
    forget_polling(*w.lane, address, pc);
  else
    look_at_access(w, address, size, op, pc, is_volatile);
}

}  // namespace

// What most accesses of an untraced run are is found out without a call.
void Worker::access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) {
  if (traced) return look_at_traced_access(*this, address, size, op, pc, is_volatile);
  const bool may_wait = op != Op::store && (is_volatile || op == Op::atomic || makes_again(*lane, address, pc));
  if (may_wait || (address & (size - 1)) != 0 || !stays_in_bounds(*this, address, size))
    return look_at_access(*this, address, size, op, pc, is_volatile);
  if (op != Op::store)
    forget_polling(*lane, address, pc);
  else
    lane->in_vain = false;
}

bool is_in_bounds(Worker& w, Address address, std::size_t size) { return in_bounds(w, address, size); }

void require_in_bounds(Worker& w, Address address, std::size_t size, Op op, Address pc) {
  if (!in_bounds(w, address, size)) report_out_of_bounds(w, size, {address, announce::offset_of(pc), op});
}

bool touch_distributed(Worker& w, std::size_t size, Touched t) {
  const auto [owner, variable] = distributed_at(w, t.address, size);
  if (variable == nullptr) return false;
  note_visit(w, *owner, t.op, t.pc());
  touch_cells_of(w, *owner, *variable, size, t);
  return true;
}

void touch_in_bulk(Worker& w, Address address, std::size_t size, Op op, Address pc, const order::By& by) {
  w.copying = by;
  const Touched t{address, announce::offset_of(pc), op, !by.thread()};
  if (is_shared(w, address))
    touch_shared(w, size, t);
  else
    touch_global(w, size, t);
}

void touch_in_bulk_of(Worker& w, Block& owner, Address address, std::size_t size, Address pc, const order::By& by) {
  if (&owner == w.block) return touch_in_bulk(w, address, size, Op::store, pc, by);
  w.copying = by;
  const Touched t{address, announce::offset_of(pc), Op::store, true};
  const PlacedVariable* variable = variable_of(w, owner, address, size);
  if (variable == nullptr) report_out_of_bounds(w, size, t);
  touch_cells_of(w, owner, *variable, size, t);
}

void settle(Worker& w) {
  Lane& lane = *w.lane;
  lane.unsettled = false;
  if (lane.learn_from != 0) {
    const std::scoped_lock lock(w.launch->released_mutex);
    for (const auto* all : {&w.block->released, &w.block->cluster->released, &w.launch->released})
      if (const auto released = all->find(lane.learn_from); released != all->end())
        w.block->order.learn(lane.linear, released->second);
    lane.learn_from = 0;
  }
  for (const SameValue& same : lane.same_values)
    if (std::memcmp(same.before.data(), reinterpret_cast<const void*>(same.address), same.bytes) != 0) same.report();
  lane.same_values.clear();
}

void start_copy(Worker& w, void* to, const void* from, std::size_t bytes, Address pc) {
  w.copying = {order::By::What::copies};
  touch(w, bytes, {reinterpret_cast<Address>(from), announce::offset_of(pc), Op::load, true, false});
  touch(w, bytes, {reinterpret_cast<Address>(to), announce::offset_of(pc), Op::store, true, false});
  w.copies_at.insert(announce::offset_of(pc));
  w.lane->copies.push_back({to, from, bytes, w.block->order.clock(w.lane->linear).copies_group});
}

void deliver_copies(Lane& lane, order::Epoch group) {
  const auto later =
      std::find_if(lane.copies.begin(), lane.copies.end(), [&](const auto& c) { return c.group >= group; });
  for (auto copy = lane.copies.begin(); copy != later; ++copy) std::memcpy(copy->to, copy->from, copy->bytes);
  lane.copies.erase(lane.copies.begin(), later);
}

}  // namespace simt::execute
