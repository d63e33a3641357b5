// Global memory: which allocations there are, and what they are called.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/sim/hooks/names.hpp"

namespace simt::order {
class GlobalCells;
}

namespace simt::announce {

/// An allocation of global memory, or a __device__ variable.
struct Region {
  std::string name;
  Address begin = 0, end = 0;
  std::size_t element = 4;
  Shape declared{};           ///< as the program has it; without extents where it has one dimension
  std::size_t alignment = 0;  ///< of what it is declared as an array of; 0: not known
  bool is_constant = false;   ///< __constant__: kernels may read it
  std::size_t first = 0, rows = 0, cols = 0, ld = 0;  ///< declared matrix; rows == 0: all of it
  std::shared_ptr<order::GlobalCells> cells;          ///< one per element, of the last traced launch
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> storage;

  std::size_t elements() const { return (end - begin) / element; }
  /// Whether element i is part of the declared matrix.
  bool inside(std::size_t i) const {
    if (rows == 0) return true;
    const std::size_t at = i - first;
    return i >= first && at / ld < rows && at % ld < cols;
  }
};
struct Regions {
  std::mutex mutex;
  std::map<Address, Region> by_begin;
};
Regions& regions();
/// The allocation that begins at `memory`. Throws std::logic_error for any other address.
Region& region_at(const void* memory);

}  // namespace simt::announce
