// Kernels run on the SIMT model: where every count in tables and facts comes from. In: kernels and a problem. Out: what the model
// counted of each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/check/sampled.hpp"
#include "common/sim/model.hpp"
#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// A kernel, the problem it ran on, and what the model counted.
struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  double untraced_seconds = 0;                      ///< what the same run takes without counting; 0: not asked
  std::string sampled{};                            ///< "2 of 1,024 blocks" if the counts are those of a few
  std::vector<std::vector<SiteNumber>> by_place{};  ///< then as Sampled::by_place, else empty
  bool block_sectors_by_place = false;              ///< the same of Sampled::block_sectors_by_place
  std::string looked{};                             ///< then what was looked at, and what that would not see
  std::optional<CountedWork> shallow{};             ///< of the same problem with less depth, if it was asked for
};

/// Whether running all of a problem would take the model minutes.
bool too_large_to_run(const Case& c);
/// Throws UsageError for such a problem.
void require_runnable(const Case& c);

/// Counts a problem, if it is large by a few of its blocks; the latter throws UsageError for a kernel of which that cannot be done.
CountedKernel count_kernel(const Kernel& kernel, const Case& problem, const simt::Trace& trace);

/// "~" before what is printed of a site's number if it is a sample: of the blocks that ran, and others have another. Else "".
const char* mark_of(const CountedKernel& k, std::size_t site, SiteNumber number);
/// The same for a sum over sites: those of which `in_sum` holds.
const char* mark_of_sum(
    const CountedKernel& k, SiteNumber number,
    const std::function<bool(const simt::Site&)>& in_sum = [](const simt::Site&) { return true; });
/// What was looked at for a kernel that was counted by a few of its blocks, and what of the others that would not see.
std::string described_looks(const Sampled& sampled);
/// What is to be known of counts by a few blocks, in lines; none if no kernel is counted so.
std::vector<std::string> notes_on_samples(const std::vector<CountedKernel>& kernels);

/// Whether M, N and K are multiples of those of the kernel's tile.
bool whole_tiles_fit(const Kernel& kernel, const Case& c);
/// The work of a kernel at depth K of a problem that otherwise, strides included, is the same: of a few of its blocks where that can
/// be done and is no sample.
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
