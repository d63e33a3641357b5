// The arrays that a launch may touch: its __shared__ variables and the global ones, by address.
#pragma once

#include "common/sim/execute/execute.hpp"

namespace simt::execute {

constexpr std::size_t largest_shared = 227 * 1024;  ///< bytes a block can have, since compute capability 9.0

/// Where the running block has its dynamic shared memory.
void* dynamic_shared(const Worker& worker);
/// What the kernel calls it. The first name counts.
void name_dynamic_shared(Worker& worker, const char* name);
/// Finds the __shared__ variables that the kernel may touch, lays them out, and gives those that it declares their cells.
void place_shared_memory(Launch& launch);
/// Gives a __shared__ variable its cells.
void place(Launch& launch, PlacedVariable& variable);
/// What is looked up for each access, of a launch whose variables are placed.
void describe_layout(Launch& launch);
void prepare_shared(Worker& worker, Block& block);
/// Throws Error when a traced launch changed an element that nobody announced to write: a way past the hooks.
void require_announced_stores(const Launch& launch);
/// The array that holds an address of a running launch.
account::Array array_of(const Worker& worker, Address address);
/// "As[7]", for an address of shared memory in steps of `element` bytes; "" outside every __shared__ array.
std::string shared_name(const Worker& worker, Address address, std::size_t element);

/// Whether an address lies in the running block's shared memory.
inline bool is_shared(const Worker& w, Address address) { return address - w.shared_begin < w.shared.bytes; }

/// The __shared__ variable that holds [offset, offset + size) of a block's shared memory, or nullptr.
[[gnu::always_inline]] inline PlacedVariable* variable_at(const Worker& w, std::size_t offset, std::size_t size) {
  const std::uint16_t index = w.shared.variable_at[offset / SharedLayout::grain];
  if (index == 0) return nullptr;
  PlacedVariable& variable = w.launch->variables[index - 1];
  if (offset + size > variable.offset + variable.size) return nullptr;
  if (!variable.placed()) place(*w.launch, variable);
  return &variable;
}

/// The same for addresses of the running block, and of another.
inline PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size) {
  return variable_at(w, address - w.shared_begin, size);
}
inline PlacedVariable* variable_of(const Worker& w, const Block& block, Address address, std::size_t size) {
  return variable_at(w, address - block.shared_begin(), size);
}

/// How many cells the variables that are placed take.
inline std::size_t cells_of(const Launch& launch, const Block& block) {
  return (launch.shared_bytes + block.granule() - 1) >> block.granule_bits;
}

}  // namespace simt::execute
