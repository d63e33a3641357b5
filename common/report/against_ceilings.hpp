// How fast the counted kernels could be, and were. In: counted kernels, records. Out: a table, facts, and the kernels that were
// measured above a ceiling.
#pragma once

#include <filesystem>
#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/report/counted.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// Each kernel's ceilings as it is written and as nvcc compiled it, next to what was measured: of the chapter's counted problem at
/// the size of which the first record knows most, of any other at that problem.
Table table_of_ceilings(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records);

/// Facts `<kernel>.<size>.ceiling.*`, `.compiled.*` and `.intensity.*`; none of a size that the kernel's tiles do not divide.
void add_ceiling_facts(Facts& facts, const CountedKernel& k, int size, const std::vector<Record>& records,
                       const Rates& rates);

/// Writes above.tsv: the kernels that were measured above a ceiling, of their source or of what nvcc made of it, and which.
void emit_above(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records,
                const std::filesystem::path& directory);

}  // namespace tile
