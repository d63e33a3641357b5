// Kernels run on the SIMT model: where every count in tables and facts comes from. In: kernels and a problem. Out: what the model
// counted of each.
#pragma once

#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/model/model.hpp"
#include "common/records/record.hpp"

namespace tile {

/// A kernel, the problem it ran on, and what the model counted.
struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  double untraced_seconds = 0;  ///< what the same run takes without counting; 0: not asked
};

/// Throws UsageError for a problem that would take the model minutes.
void require_countable(const Case& c);

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
