// Runs side by side. In: runs and what follows from their counts. Out: a table with a column for each.
#pragma once

#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/count/run.hpp"

namespace tile::counting {

/// Prints totals and bounds of the runs, six to a table, each summed over its launches; of two, their quotient as well. One that failed
/// has a column that says so; without a title it is a file that has no run.
void print_side_by_side(const std::vector<Run>& runs, const Rates& rates, int registers);

}  // namespace tile::counting
