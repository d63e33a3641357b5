// What Nsight Compute says of a run large enough to fill the GPU (`--profile`): why warps wait, what hits. In: records. Out: two
// tables and facts.
#pragma once

#include <string>
#include <vector>

#include "common/report/counted.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// What was busy, and how much crossed the caches: a column for each kernel.
Table table_of_profile(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records);
/// Where a warp's time goes, the largest reason of the first kernel first.
Table table_of_stalls(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records);

/// Facts `<name>.profile.*` of one profiled run on a GPU of so many SMs; not yet measured when `profile` is null.
void add_profile_facts(Facts& facts, const std::string& name, const Record* profile, int sms);

}  // namespace tile
