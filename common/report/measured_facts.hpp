// Everything that a record says and the prose may name. In: a record, or null. Out: facts of kind "measured", the same keys whether
// there is a record or not.
#pragma once

#include "common/bench/record.hpp"
#include "common/report/facts.hpp"

namespace tile {

/// Facts of the GPU, its rates, the functions that Chapter::profiled names and the chapter's kernels.
void add_measured_facts(Facts& facts, const Record* record);

}  // namespace tile
