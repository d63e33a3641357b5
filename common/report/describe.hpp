// What this program says of itself (`--describe`), for tile-record. In: the chapter, and its kernels as they were counted, if
// they were. Out: a description.
#pragma once

#include <vector>

#include "common/bench/program.hpp"
#include "common/report/counted.hpp"

namespace tile {

/// With the counts of those of the chapter's kernels that were counted on the chapter's problem.
Program describe_program(const std::vector<CountedKernel>& counted);

}  // namespace tile
