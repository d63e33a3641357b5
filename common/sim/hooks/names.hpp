// Names for addresses: source lines, kernels, variables. Read from the program's own debug information and symbol table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {
struct SharedDeclaration;
}

namespace simt::announce {

using Address = std::uintptr_t;

struct Place {
  std::string file;
  int line = 0;
};
/// `float tile[32][33]` has elements of 4 bytes and extents {32, 33}.
struct Shape {
  std::size_t element = 0;
  std::vector<std::size_t> extents;

  bool known() const { return element != 0 && !extents.empty(); }
  /// Bytes of an innermost row; 0 for an array of one dimension.
  std::size_t row_bytes() const { return extents.size() > 1 ? element * extents.back() : 0; }
};
/// A __shared__ variable, as its declaration has it.
struct SharedVariable {
  std::string name;
  std::size_t size = 0, alignment = 1;
  bool in_kernel = false;    ///< declared in the kernel itself
  Shape shape{};             ///< of an array
  std::uint32_t number = 0;  ///< SharedDeclaration::number
  std::size_t element_alignment = 1;  ///< of what it is, or is an array of
};
/// The source line a call instruction returns to; inlined helpers of common/ are charged to their caller.
Place place_of(Address return_address);
std::string function_name(const void* function);
/// The __shared__ variables that a kernel may touch, its own first, in the order of declaration; behind them those of functions that
/// are no kernels, and those outside functions. Whether it does touch any but its own is not known here.
const std::vector<SharedVariable>& shared_variables(const void* kernel);
/// How many __shared__ variables the program uses. Their numbers go up to here.
std::uint32_t shared_variable_count();
/// The variable of the program that holds the address, or "" for memory that is not the program's own image.
std::string variable_at(Address address);

}  // namespace simt::announce
