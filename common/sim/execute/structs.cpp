// The accesses that nvcc makes of a struct that a kernel moves as a whole.
//
// Global memory: of as many bytes as the struct is aligned to, 16 at most. Measured: the SASS of nvcc 13.0 for sm_90a, of structs of 5 to
// 1024 bytes with alignments from 1 to 16. Of a struct whose members are then used one by one it is the same, but for those that nobody
// uses. In shared memory, nvcc joins what it moves as far as the place of the array allows, which is not known here.
#include <fmt/format.h>

#include <algorithm>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {

using announce::Alignment;

namespace {

constexpr std::size_t most_at_once = 16;

bool is_one_access(std::size_t size) { return size <= most_at_once && (size & (size - 1)) == 0; }

// Whether it may be a float3 or the like, which is taken for one wherever it lies: three members, whose size is a power of two.
bool may_have_three_members(std::size_t size) { return size == 3 || size == 6 || size == 12; }

// What a struct of so many bytes in an array may be aligned to, as far as one access goes, if the compiler knows that much of it.
Alignment alignment_in(const Region& region, Address address, std::size_t size, Alignment known) {
  if (size == region.declared.element && (address - region.begin) % size == 0) {
    const std::size_t own = std::min(region.alignment, most_at_once);
    return {own, own};
  }
  const std::size_t least = std::max(known.least, region.element), most = std::min(known.most, size & -size);
  return {least, size < region.declared.element ? std::min(most, region.alignment) : most};
}

const Region* region_at(const Worker& w, Address address, std::size_t size) {
  for (const Region* region : w.launch->arrays)
    if (address >= region->begin && address + size <= region->end) return region;
  return nullptr;
}

// Whether it lies in an array of which it is not known that structs of so many bytes in it are aligned to less.
bool lies_in_plain_array(const Region* region, Address address, std::size_t size) {
  return region != nullptr && address >= region->begin && address + size <= region->end &&
         (region->alignment >= size || region->declared.element < size);
}

std::string instead(std::size_t size) {
  return is_one_access(size) ? fmt::format("declare it alignas({}), which is one access, or assign its members", size)
                             : "assign its members, or elements or vectors";
}

// Whether it is an element of a __shared__ array whose type is aligned to as much as one access moves: nothing is left to join.
bool is_whole_vectors(const Worker& w, Address address, std::size_t size) {
  if (!is_shared(w, address)) return false;
  const PlacedVariable* const variable = variable_of(w, address, size);
  return variable != nullptr && variable->shape.element == size && variable->element_alignment >= most_at_once &&
         (address - w.shared_begin - variable->offset) % size == 0;
}

// As many bytes as nvcc moves at once. Where that is not known, or nothing may be touched, the lane does not go on.
std::size_t bytes_at_once(Worker& w, Address address, std::size_t size, Op op, Address pc, Alignment known) {
  const announce::Unheard unheard;
  const Region* const region = region_at(w, address, size);
  const bool shared = is_shared(w, address) || (region == nullptr && arena_at(address) != nullptr);
  if (region != nullptr && !region->is_constant) {
    const Alignment alignment = alignment_in(*region, address, size, known);
    if (alignment.least >= alignment.most) return alignment.most;
  }
  if (shared && is_whole_vectors(w, address, size)) return most_at_once;
  if (region == nullptr && !shared) require_in_bounds(w, address, size, op, pc);
  if (is_one_access(size) && known.most >= size) return size;
  if (may_have_three_members(size)) return size / 3;
  w.refuse(pc, region == nullptr
                   ? fmt::format("moves {} bytes at once in shared memory: nvcc joins what it moves there as the place "
                                 "of the array allows, which the model does not know; {}",
                                 size, instead(size))
               : region->is_constant
                   ? fmt::format("moves {} bytes at once out of {}, which is __constant__: how nvcc would split them, "
                                 "the model does not know; {}",
                                 size, region->name, instead(size))
                   : fmt::format("moves {} bytes at once, and nvcc as many as the struct is aligned to: {} is no array "
                                 "of such structs, and so the model does not know; declare it as one, or {}",
                                 size, region->name, instead(size)));
  return 0;
}

}  // namespace

void Worker::access_struct(Address address, std::size_t size, Op op, Address pc, Alignment alignment) {
  // Most are vectors.
  const bool may_be_one = is_one_access(size) && alignment.most >= size;
  if (may_be_one && (is_shared(*this, address) || lies_in_plain_array(last_region, address, size)))
    return access(address, size, op, pc, false);
  const std::size_t at_once = bytes_at_once(*this, address, size, op, pc, alignment);
  if (traced && at_once < size) {
    const announce::Unheard unheard;
    structs_at[announce::offset_of(pc)] = size;
  }
  for (std::size_t at = 0; at < size; at += at_once) access(address + at, at_once, op, pc, false);
}

}  // namespace simt::execute
