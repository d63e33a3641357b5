// What each access site of a kernel costs. In: counted kernels. Out: a table, facts and notes beside source lines.
#pragma once

#include <filesystem>
#include <vector>

#include "common/report/counted.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// One row for each site.
Table table_of_sites(const CountedKernel& k);

/// Facts of the tagged sites, `<kernel>.<tag>.*`, and of the kernel as a whole, `<kernel>.*`.
void add_counted_facts(Facts& facts, const CountedKernel& k);

/// Writes lines.tsv: beside a source line, what one warp-wide execution of it costs.
void emit_lines(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);

/// Prints the source lines that access memory, each with its counts.
void print_lines(const std::vector<CountedKernel>& kernels);

}  // namespace tile
