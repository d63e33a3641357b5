// Counts of problems that are too large to be run whole on the SIMT model: a few blocks run, and each stands for those that do the
// same. In: a kernel and a case. Out: counts of the whole grid, of how many blocks they are, and which of them are a sample.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/model/model.hpp"

namespace tile {

/// Why a kernel's blocks cannot stand for each other, in one line.
struct CannotSample : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One of the numbers that are counted of a site.
using SiteNumber = std::uint64_t simt::Site::*;

struct Sampled {
  simt::Counts counts;          ///< of the grid; its grid_sectors are not known
  std::uint64_t blocks = 0;     ///< that ran,
  std::uint64_t of_blocks = 0;  ///< of so many
  /// For each site of `counts` the numbers that depend on where in memory a block's part lies: they were not the same in all blocks
  /// that were looked at, so that those of the blocks that ran are a sample.
  std::vector<std::vector<SiteNumber>> by_place{};
};

/// Counts a kernel by one block, if its part of C is that of every block; else by a block of each kind: inside the grid, at its right
/// edge, at its bottom edge, and in the corner between. Whether that is right is seen in three ways. How many elements of C each
/// block writes, times the blocks that it stands for, must come to all of C. The farthest block of its kind must make as many
/// requests, accesses and barriers, site by site. And so must some more blocks of each kind (its corners, those next to them, a few in
/// between), which run in one launch with less depth, if the same kernel runs there; of these none may write an element that another
/// writes. The other blocks are not looked at. All checks of a traced run are made in the blocks that run, but results are not
/// compared: A, B and C are zeros.
///
/// Throws CannotSample where blocks depend on each other or share C in some other way: clusters, several launches, waits for other
/// blocks, parts of a sum, tiles that are dealt out unevenly, or blocks that do different work. Otherwise as traced_run() does:
/// blocks that write the same elements are a race.
Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for counts that are shown: throws std::runtime_error as count() does where one would be a guess.
Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

}  // namespace tile
