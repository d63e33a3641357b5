// The model's counts next to the hardware's counters. In: counted kernels, records. Out: a table, and facts of what Nsight
// Compute counted.
#pragma once

#include <string>
#include <vector>

#include "common/report/counted.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// A row for each counter that is not zero: counted, measured, and why they differ where they do. Nsight Compute was asked about
/// the chapter's counted problem; counts of another are not compared.
Table table_of_counters(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records);

/// Facts `<kernel>.ncu.*`; `entry` is the kernel's in a record, or null.
void add_counter_facts(Facts& facts, const std::string& kernel, const Record* entry);

}  // namespace tile
