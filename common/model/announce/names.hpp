// Names for addresses: source lines, kernels, variables. Read from the program's own debug information and symbol table.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/model/announce/shapes.hpp"

namespace simt::announce {

using Address = std::uintptr_t;

struct Place {
  std::string file;
  int line = 0;
};
/// A __shared__ variable: a thread-local one, as an offset into the program's TLS block.
constexpr std::size_t shared_alignment = 16;  ///< of each of them, see __shared__ in vocabulary.hpp
struct SharedVariable {
  std::string name;
  std::size_t offset = 0, size = 0;
  bool in_kernel = false;  ///< declared in the kernel itself
  Shape shape{};           ///< where the debug information has it
};
/// The source line a call instruction returns to; inlined helpers of common/ are charged to their caller.
Place place_of(Address return_address);
std::string function_name(const void* function);
/// The __shared__ variables that a kernel may touch, ordered by offset: its own, those of functions that are no kernels, and
/// those at file scope. Whether it does touch any but its own is not known here.
const std::vector<SharedVariable>& shared_variables(const void* kernel);
/// The calling thread's copy of the program's thread-local variables.
std::pair<Address, std::size_t> tls_block();
/// The variable of the program that holds the address, or "" for memory that is not the program's own image.
std::string variable_at(Address address);

}  // namespace simt::announce
