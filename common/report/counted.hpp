// Kernels run on the SIMT model: where every count in tables and facts comes from. In: kernels and a problem. Out: what the model
// counted of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/sim/model.hpp"
#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// A kernel, the problem it ran on, and what the model counted.
struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  double untraced_seconds = 0;           ///< what the same run takes without counting; 0: not asked
  std::optional<CountedWork> shallow{};  ///< of the same problem with less depth, if it was asked for
};

/// Throws UsageError for a problem that would take the model minutes.
void require_countable(const Case& c);
/// Counts all of a problem; throws as count() does.
CountedKernel count_kernel(const Kernel& kernel, const Case& problem, const simt::Trace& trace);

/// Whether M, N and K are multiples of those of the kernel's tile.
bool whole_tiles_fit(const Kernel& kernel, const Case& c);
/// The work of a kernel at depth K of a problem that otherwise, strides included, is the same.
CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K);
/// The work of a counted kernel at `to`: what was counted, if it is that problem, or else what follows from two depths. Nothing where
/// tiles do not divide either problem, or only one depth was counted.
std::optional<Work> work_at(const Case& to, const CountedKernel& k);

/// How long the model takes to run a kernel without counting.
double untraced_seconds(const Kernel& kernel, const Case& problem);

/// How fast the model was, one line for each kernel.
void print_model_speed(const std::vector<CountedKernel>& kernels);

/// "512 x 512 x 512": the problem's, or those that a run of a record was timed at.
std::string extents(const Case& c);
std::string extents(const Record& run);

/// Whether two cases pose the same problem; what fills the matrices does not matter.
bool same_problem(const Case& a, const Case& b);

}  // namespace tile
