// Counts of problems that are too large to be run whole on the SIMT model: a few blocks run, and each stands for those that do the
// same. In: a kernel and a case. Out: counts of the whole grid, and of how many blocks they are.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "common/check/gemm.hpp"
#include "common/model/model.hpp"

namespace tile {

/// Why a kernel's blocks cannot stand for each other, in one line.
struct CannotSample : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Sampled {
  simt::Counts counts;          ///< of the grid; its grid_sectors are not known
  std::uint64_t blocks = 0;     ///< that ran,
  std::uint64_t of_blocks = 0;  ///< of so many
};

/// Counts a kernel by one block, if its part of C is that of every block; else by a block of each kind: inside the grid, at its right
/// edge, at its bottom edge, and in the corner between. Whether that is right is seen by how many elements of C the blocks write: each
/// block's, times the blocks that it stands for, must come to all of C; and the farthest block of its kind must make as many requests,
/// accesses and barriers, site by site. Blocks in between are not looked at. All checks of a traced run are made in these blocks, but
/// results are not compared: A, B and C are zeros. A request's tag passes depend on where in memory a block's part lies, too: they are
/// those of the blocks that ran.
///
/// Throws CannotSample where blocks depend on each other or share C in some other way: clusters, several launches, waits
/// for other blocks, parts of a sum, tiles that are dealt out unevenly, or blocks
/// that do different work. Otherwise as traced_run() does.
Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for counts that are shown: throws std::runtime_error as count() does where one would be a guess.
Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

}  // namespace tile
