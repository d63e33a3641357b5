// The arrays that a launch may touch: its __shared__ variables and the global ones, by address.
#pragma once

#include "common/model/execute/execute.hpp"

namespace simt::execute {

constexpr std::size_t largest_shared = 227 * 1024;  ///< bytes a block can have, since compute capability 9.0

/// This thread's memory for dynamic shared memory, of largest_shared bytes.
void* dynamic_shared();
/// What the kernel calls it. The first name counts.
void name_dynamic_shared(Worker& worker, const char* name);
/// Finds the __shared__ variables that the kernel may touch, and gives those that it declares their cells.
void place_shared_memory(Launch& launch);
/// Gives a __shared__ variable its cells.
void place(Launch& launch, PlacedVariable& variable);
void prepare_memory(Worker& worker);
void prepare_shared(Worker& worker, Block& block);
/// Throws Error when a traced launch changed an element that nobody announced to write: a way past the hooks.
void require_announced_stores(const Launch& launch);
/// The array that holds an address of a running launch.
account::Array array_of(const Worker& worker, Address address);
/// "As[7]", for an address of shared memory in steps of `element` bytes; "" outside every __shared__ array.
std::string shared_name(const Worker& worker, Address address, std::size_t element);

/// Whether an address lies in the memory of __shared__ variables.
inline bool is_shared(const Worker& w, Address address) { return address - w.tls_begin < w.tls_size; }

/// The __shared__ variable that holds [address, address + size), or nullptr.
[[gnu::always_inline]] inline PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size) {
  const std::size_t offset = address - w.tls_begin;
  const std::uint16_t index = w.variable_at[offset / announce::shared_alignment];
  if (index == 0) return nullptr;
  PlacedVariable& variable = w.launch->variables[index - 1];
  if (offset + size > variable.offset + variable.size) return nullptr;
  if (!variable.placed()) place(*w.launch, variable);
  return &variable;
}

/// How many bytes the variables that a kernel may touch can take, all of them.
std::size_t bytes_of_all_shared(const Launch& launch);
/// How many cells the variables that are placed take.
inline std::size_t cells_of(const Launch& launch, const Block& block) {
  return (launch.shared_bytes + block.granule() - 1) >> block.granule_bits;
}

}  // namespace simt::execute
