// Counts of problems that are too large to be run whole on the SIMT model: a few blocks run, and each stands for those that do the
// same. In: a kernel and a case. Out: counts of the whole grid, of how many blocks they are, and which of them are a sample.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/sim/model.hpp"

namespace tile {

/// Why a kernel's blocks cannot stand for each other, in one line.
struct CannotSample : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One of the numbers that are counted of a site.
using SiteNumber = std::uint64_t simt::Site::*;

/// Blocks that were run to see whether they do what the first of their kind does.
struct Looked {
  int depth = 0;             ///< K, when they ran
  std::uint64_t blocks = 0;  ///< how many there were
  std::uint64_t drawn =
      0;  ///< so often was one drawn at random, each time from another of as many equal parts of the grid
  bool each_row_and_column = false;  ///< at least one of each row and each column of blocks
};

struct Sampled {
  simt::Counts counts;           ///< of the grid; its grid_sectors are not known
  std::uint64_t blocks = 0;      ///< that ran at full depth to be counted, or to be compared with one that was,
  std::uint64_t of_blocks = 0;   ///< of so many
  std::vector<Looked> looked{};  ///< at which blocks else
  /// The depth at which blocks did the same with random A and B as with zeros; 0: that was not tried.
  int random_depth = 0;
  /// For each site of `counts` the numbers that depend on where in memory a block's part lies: they were not the same in all blocks
  /// that were looked at, so that those of the blocks that ran are a sample.
  std::vector<std::vector<SiteNumber>> by_place{};
  bool block_sectors_by_place = false;  ///< the same of the sectors that a block loads and stores, each once
};

/// Counts a kernel by one block, if its part of C is that of every block; else by a block of each kind: inside the grid, at its right
/// edge, at its bottom edge, and in the corner between. How many elements of C each block writes, times the blocks that it stands
/// for, must come to all of C; and blocks that are looked at besides must do the same as the first of their kind: as many requests,
/// accesses, barriers and waits at each site, which is a line, an operation, an array and a width. Those are
///   - at the full depth the farthest block of each kind, and blocks drawn at random: 59, or fewer where that would take too long;
///   - at a depth below 128, if the same kernel runs there, in one launch: the corners of each kind, those next to them and a few in
///     between, one of each row and each column of blocks, and 59 drawn at random. A and B hold random values, and what the first of
///     each kind then does it must do with zeros as well. None of these may write an element that another writes.
/// The other blocks are not looked at, nor is another depth. All checks of a traced run are made in the blocks that run, but results
/// are not compared: at full depth A, B and C are zeros.
///
/// Throws CannotSample where blocks depend on each other or share C in some other way: clusters, several launches, waits for other
/// blocks, atomic operations in global memory, parts of a sum, tiles that are dealt out unevenly, or blocks that do different work.
/// Otherwise as traced_run() does: blocks that write the same elements are a race.
Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for counts that are shown: throws std::runtime_error as count() does where one would be a guess.
Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

}  // namespace tile
