// What is said of an access that races, or falls where it should not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {
namespace {

// What lies farther from every array may be no mistaken index.
constexpr Address far_bytes = Address(16) << 20;

// A variable of the program is told to lie beside an array that is no farther away.
constexpr Address near_bytes = 4096;

// "[1][3]", of the element that lies so many bytes behind the begin of an array. The first index may be below 0, or beyond its extent.
std::string indices(const announce::Shape& shape, std::ptrdiff_t offset) {
  const auto divided = [](std::ptrdiff_t number, std::size_t by) {
    return (number < 0 ? number - std::ptrdiff_t(by) + 1 : number) / std::ptrdiff_t(by);
  };
  std::string text;
  std::ptrdiff_t index = divided(offset, shape.element);
  for (std::size_t i = shape.extents.size(); i-- > 1;) {
    const std::ptrdiff_t above = divided(index, shape.extents[i]);
    text.insert(0, fmt::format("[{}]", index - above * std::ptrdiff_t(shape.extents[i])));
    index = above;
  }
  return fmt::format("[{}]{}", index, text);
}

// "out[32], and it has 32 elements", of what lies so many bytes behind the begin of an array of so many bytes.
std::string beyond(const std::string& name, const announce::Shape& shape, std::ptrdiff_t offset, std::size_t bytes) {
  if (shape.element == 0) return "";
  const std::string extent = shape.extents.size() > 1 ? fmt::format("is [{}]", fmt::join(shape.extents, "]["))
                                                      : fmt::format("has {} elements", bytes / shape.element);
  return fmt::format(": this is {}{}, and it {}", name, indices(shape, offset), extent);
}

std::string beyond(const Region& region, Address address) {
  const auto offset = std::ptrdiff_t(address - region.begin);
  if (region.rows == 0)
    return beyond(region.name, region.declared.element != 0 ? region.declared : announce::Shape{region.element, {}},
                  offset, region.end - region.begin);
  const announce::Shape rows{region.element, {region.rows, region.ld}};
  return fmt::format(": this is {}{}, and it is {} x {} with leading dimension {}", region.name,
                     indices(rows, offset - std::ptrdiff_t(region.first * region.element)), region.rows, region.cols,
                     region.ld);
}

// "up to 4 bytes past the end of table: this is table[8], and it has 8 elements" where no other array lies closer, or "".
std::string beside_which(const Worker& w, Address address, std::size_t size, Address farthest) {
  std::string text;
  for (const Region* region : w.launch->arrays) {
    const bool after = address + size > region->end;
    const Address distance = after ? address + size - region->end : region->begin - address;
    if (distance >= farthest) continue;
    farthest = distance;
    text = fmt::format("{}{} bytes {} {}{}", after ? "up to " : "", distance,
                       after ? "past the end of" : "before the start of", region->name,
                       beyond(*region, after ? std::max(address, region->end) : address));
  }
  return text;
}

// "4 bytes before the start of out" where an index without a sign went below 0, so that the address is 2^32 elements behind what was
// meant; or "".
std::string before_which(const Worker& w, Address address) {
  for (const Region* region : w.launch->arrays) {
    const std::size_t element = region->declared.element != 0 ? region->declared.element : region->element;
    const Address meant = address - (Address(element) << 32);
    if (region->begin - meant <= near_bytes)
      return fmt::format(
          "{} bytes before the start of {} but for 2^32 elements: an index without a sign went below 0{}",
          region->begin - meant, region->name, beyond(*region, address));
  }
  return "";
}

std::string beyond(const PlacedVariable& v, std::ptrdiff_t offset) {
  return v.shape.known() ? beyond(v.name, v.shape, offset - std::ptrdiff_t(v.offset), v.size) : "";
}

// What shared memory that belongs to nobody lies behind, or else before: "up to 4 bytes past the end of tile". `size` bytes at `offset`.
std::string beside_which_variable(const Worker& w, std::ptrdiff_t offset, std::size_t size) {
  const PlacedVariable *before = nullptr, *after = nullptr;
  for (const PlacedVariable& v : w.launch->variables) {
    if (v.size == 0 && !v.is_dynamic) continue;
    if (std::ptrdiff_t(v.offset) <= offset)
      before = &v;
    else if (after == nullptr)
      after = &v;
  }
  if (before == nullptr)
    return "outside every __shared__ array of this kernel" +
           (after == nullptr || after->size == 0
                ? ""
                : fmt::format(", {} bytes before the start of {}{}", std::ptrdiff_t(after->offset) - offset,
                              after->name, beyond(*after, offset)));
  const std::ptrdiff_t behind = offset - std::ptrdiff_t(before->offset);
  if (before->is_dynamic && before->size == 0)
    return fmt::format(
        "but the launch gives {} no bytes: as extern __shared__ it has as many as the third argument "
        "between <<< and >>> says",
        before->name);
  const std::string past = fmt::format("up to {} bytes past the end of {}",
                                       behind + std::ptrdiff_t(size) - std::ptrdiff_t(before->size), before->name);
  // One that straddles the end: the first element behind it.
  if (!before->is_dynamic)
    return past + beyond(*before, std::max(offset, std::ptrdiff_t(before->offset + before->size)));
  return fmt::format("{}, to which the launch gives {}: in elements of {} bytes this is {}[{}], and it has {}", past,
                     before->size, size, before->name, behind / std::ptrdiff_t(size), before->size / size);
}

// Outside every variable of a block.
[[noreturn]] void report_wild_shared_access(Worker& w, const Block& owner, std::size_t size, Touched t) {
  report(w, Mistake::bounds, t.pc(), 0, [&] {
    return fmt::format("out of bounds: {} {} {} bytes of shared memory{} at address {}, {}", where(w, t.pc()),
                       verb_of(t.op), size, &owner == w.block ? "" : of_block(owner), format_address(t.address),
                       beside_which_variable(w, std::ptrdiff_t(t.address - owner.shared_begin()), size));
  });
  abandon_block(w);
}

// An address in the shared memory of another block.
[[noreturn]] void report_foreign_access(Worker& w, std::size_t size, Touched t, const Arena& arena) {
  Block* const owner = owner_of(w, t.address);
  if (owner != nullptr && !owner->ended) report_wild_shared_access(w, *owner, size, t);
  report(w, Mistake::cluster, t.pc(), 0, [&] {
    const std::string what = fmt::format("cluster: {} {} shared memory", where(w, t.pc()), verb_of(t.op)),
                      address = format_address(t.address);
    if (owner != nullptr)
      return fmt::format("{}{} at address {}, which has ended: no cluster barrier keeps it", what, of_block(*owner),
                         address);
    const std::uint32_t number = arena.block;
    if (number == 0) return fmt::format("{} of a block that has ended, at address {}", what, address);
    const dim3 grid = w.launch->grid;
    const std::uint32_t linear = number - 1;
    return fmt::format("{} of block ({},{},{}) at address {}: only blocks of one cluster reach each other's", what,
                       linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y, address);
  });
  abandon_block(w);
}

// Of the model's own, or one that has no name.
bool is_internal(const std::string& variable) {
  return variable.find("simt") != std::string::npos || variable.starts_with("tile_") || variable == "a constant";
}

[[noreturn]] void report_wild_access(Worker& w, std::size_t size, Touched t) {
  if (const std::string variable = announce::variable_at(t.address); !variable.empty()) {
    const std::string beside = beside_which(w, t.address, size, near_bytes);
    if (!beside.empty() && is_internal(variable))  // which nobody meant
      report(w, Mistake::bounds, t.pc(), 0, [&] {
        return fmt::format("out of bounds: {} {} {} bytes of global memory at address {}, {}", where(w, t.pc()),
                           verb_of(t.op), size, format_address(t.address), beside);
      });
    else  // it may have been meant, or lie behind what was
      report(w, Mistake::unsupported, t.pc(), 0, [&] {
        return fmt::format(
            "unsupported: {} {} {}, a variable of the program that is neither __shared__ nor a __device__ one outside "
            "functions and classes{}",
            where(w, t.pc()), verb_of(t.op), variable, beside.empty() ? "" : "; it lies " + beside);
      });
    abandon_block(w);
  }
  report(w, Mistake::bounds, t.pc(), 0, [&] {
    std::string beside = before_which(w, t.address);
    if (beside.empty()) beside = beside_which(w, t.address, size, far_bytes);
    if (beside.empty()) {
      const std::string far = beside_which(w, t.address, size, Address(1) << 32);
      beside = "in no allocation: is it a pointer of the host? a tile::array has .device()" +
               (far.empty() ? "" : "; else it lies " + far);
    }
    return fmt::format("out of bounds: {} {} {} bytes of global memory at address {}, {}", where(w, t.pc()),
                       verb_of(t.op), size, format_address(t.address), beside);
  });
  abandon_block(w);
}

// Where two lanes of a warp took part in a shuffle or the like since they last met at a barrier: that it does not do. What does, of
// two other lanes of a warp on two lines: on one, an update, it does not help. Else "".
std::string not_by_exchange(const Worker& w, order::Stamp with, bool one_line) {
  const Exchange& own = w.lane->exchanged;
  const std::uint32_t other = order::thread_of(with);
  if (other / 32 != std::uint32_t(w.lane->linear) / 32 || (own.mask >> other % 32 & 1u) == 0 ||
      own.epoch != w.block->order.clock(w.lane->linear).epoch)
    return other / 32 != std::uint32_t(w.lane->linear) / 32 || one_line ? ""
           : w.block->lanes.size() > 32
               ? " (both are lanes of one warp: __syncwarp() would order these two, __syncthreads() all threads of the "
                 "block)"
               : " (both are lanes of one warp: __syncwarp() between the two is what is missing)";
  return fmt::format(" (the {} of {} does not order memory: __syncwarp() does)",
                     own.is_shuffle ? "shuffle" : "warp operation", line_of(own.pc));
}

}  // namespace

std::string element_name(const Target& target, const Region* region, Address address) {
  const std::string owner = target.of == nullptr ? "" : of_block(*target.of);
  if (target.shape != nullptr && target.shape->known())
    return *target.array + indices(*target.shape, std::ptrdiff_t(address - target.begin)) + owner;
  const std::size_t index = (address - target.begin) / target.element;
  if (target.of != nullptr) return fmt::format("{}[{}]{}", *target.array, index, owner);
  if (region != nullptr && region->rows != 0 && index >= region->first) {
    const std::size_t at = index - region->first;
    return fmt::format("{}[{}][{}]", *target.array, at / region->ld, at % region->ld);
  }
  if (region == nullptr || region->declared.element == 0) return fmt::format("{}[{}]", *target.array, index);
  const std::size_t byte = (address - target.begin) % region->declared.element;
  return fmt::format("{}{}{}", *target.array, indices(region->declared, std::ptrdiff_t(address - target.begin)),
                     byte == 0 ? "" : fmt::format(" from its byte {} on", byte));
}

void report_race(Worker& w, Touched t, const Target& target, const Region* region, const order::Conflict& other) {
  if (!w.launch->options.report_races) return;
  const Address other_pc = announce::image_base() + other.pc;
  report(w, other.unfenced ? Mistake::proxy_fence : Mistake::race, t.pc(), other_pc, [&] {
    const bool own_block = order::block_of(other.with) == w.block->serial;
    const bool of_copy = order::actor_of(other.with) >= order::copies_of;
    return fmt::format(
        "{}: {} {}{} {} (address {}), which {}{} {} at {} with {}{}", other.unfenced ? "missing proxy fence" : "race",
        where(w, t.pc()), t.by_copy ? "asynchronously " : "", verb_of(t.op), element_name(target, region, t.address),
        format_address(t.address), actor_name(w, other.with),
        own_block ? "" : fmt::format(" of block number {}", order::block_of(other.with) - 1),
        other.wrote ? "wrote" : "read", line_of(other_pc),
        other.unfenced      ? "no fence.proxy.async between that orders the two"
        : of_copy           ? "no wait between that orders the two"
        : own_block         ? "no barrier between that orders the two"
        : region == nullptr ? "no cluster barrier between that orders the two"
                            : "nothing between that orders the two, as a fence and an atomic operation do",
        own_block && !of_copy && !other.unfenced ? not_by_exchange(w, other.with, line_of(t.pc()) == line_of(other_pc))
                                                 : "");
  });
}

void report_out_of_bounds(Worker& w, std::size_t size, Touched t) {
  const Arena* const arena = arena_at(t.address);
  if (arena == w.block->arena) report_wild_shared_access(w, *w.block, size, t);
  if (arena != nullptr) report_foreign_access(w, size, t, *arena);
  report_wild_access(w, size, t);
}

void report_misaligned(Worker& w, std::size_t size, Touched t) {
  report(w, Mistake::misaligned, t.pc(), 0, [&] {
    return fmt::format("misaligned: {} {} {} bytes at address {}, which is not a multiple of {}", where(w, t.pc()),
                       verb_of(t.op), size, format_address(t.address), size);
  });
  abandon_block(w);
}

}  // namespace simt::execute
