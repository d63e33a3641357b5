// Which blocks of a grid are looked at to see whether others may stand for them. In: the grid. Out: kinds of blocks, and lists of blocks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "common/cuda/vocabulary.hpp"

namespace tile {

inline std::uint64_t blocks_of(const dim3& grid) { return std::uint64_t(grid.x) * grid.y * grid.z; }

/// Blocks that stand for each other: a box of the grid.
struct Kind {
  uint3 first;
  dim3 extent;

  std::uint64_t alike() const { return blocks_of(extent); }
  uint3 at(unsigned x, unsigned y, unsigned z) const { return {first.x + x, first.y + y, first.z + z}; }
  uint3 farthest() const { return at(extent.x - 1, extent.y - 1, extent.z - 1); }
  bool has(const uint3& b) const {
    return b.x - first.x < extent.x && b.y - first.y < extent.y && b.z - first.z < extent.z;
  }
};

/// Those inside a flat grid, and those at its last column and its last row.
std::vector<Kind> kinds_by_edges(const dim3& grid);
/// Blocks of a kind at its corners and next to these, and some in between, which a grid of their positions would not meet.
std::vector<uint3> spread_over(const Kind& kind);

/// Its sequence is fixed by the standard.
using Random = std::mt19937;
/// One block of each of so many equal parts of the grid, by number.
std::vector<uint3> drawn_from(const dim3& grid, std::uint64_t parts, Random& random);
/// A kind of block that makes up less than this part of a grid is missed more than once in twenty times by so many blocks drawn so.
double share_that_may_be_missed(std::uint64_t drawn);

/// Of more rows and columns of blocks not each is looked at.
constexpr unsigned most_rows_and_columns = 1024;
/// Blocks of which at least one is in each row and in each column of the grid, unless these are too many.
std::vector<uint3> in_rows_and_columns(const dim3& grid, Random& random);

/// Adds those that are not yet among the blocks.
void add_new(const std::vector<uint3>& more, std::vector<uint3>& blocks);

}  // namespace tile
