// The shapes of arrays, as the program's debug information has them. With -g1, which programs of chapters have, it has none.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <map>
#include <vector>

namespace simt::announce {

/// `float tile[32][33]` has elements of 4 bytes and extents {32, 33}.
struct Shape {
  std::size_t element = 0;
  std::vector<std::size_t> extents;

  bool known() const { return element != 0 && !extents.empty(); }
  /// Bytes of an innermost row; 0 for an array of one dimension.
  std::size_t row_bytes() const { return extents.size() > 1 ? element * extents.back() : 0; }
};

/// The shapes of the thread-local arrays that a compilation unit defines, by their offset in the block of thread-local memory.
std::map<std::size_t, Shape> shapes_in(Dwarf_Die unit);

}  // namespace simt::announce
