// Whether the numbers of one run can all be true at once. In: a run of a record. Out: findings.
#pragma once

#include "common/bench/findings.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// A summary is that of its samples, of which there are at least so many; clocks lie between their lowest and highest; the
/// result was right; and what was searched in cuBLASLt is the fastest of what was tried.
void check_run(Findings& findings, const Record& run, int fewest_repetitions);

}  // namespace tile
