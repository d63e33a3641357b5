// What was timed against cuBLAS. In: records. Out: a table with a row for each run, and facts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/bench/record.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// One table for all records; with more than one, the first column says which GPU. The last `fresh` records were made by
/// this very run.
Table table_of_runs(const std::vector<Kernel>& kernels, const std::vector<Record>& records, std::size_t fresh);

/// Facts `<kernel>.<problem>.*` of each problem that the chapter times; not yet measured when `record` is null or lacks one.
void add_run_facts(Facts& facts, const std::string& kernel, const Record* record);

}  // namespace tile
