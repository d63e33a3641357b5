// One kernel over many problems against the stronger cuBLAS: `--sweep` times it, the model's program shows it. In: the chapter's
// sweep, and records of it (sweep-*.csv beside the chapter's other records). Out: such a record; a table, facts, and the data of a plot.
#pragma once

#include <iosfwd>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// GPU programs only: times the chapter's sweep, each problem for a second or two. Progress goes to stderr. Throws
/// std::runtime_error when a result is wrong.
Record sweep();

/// A row for each problem, for the reference GPU or whichever comes first: cubes first, from the smallest to the largest.
Table table_of_sweep(const std::vector<Record>& sweeps);

/// Which problems are won, which are lost to the stronger cuBLAS, and which are neither: a row each.
Table table_of_verdicts(const std::vector<Record>& sweeps);

/// Facts `sweep.<problem>.*`, and how many problems there are, how many are won, ties and lost, and the lowest and the
/// highest ratio of all and of the cubes from 1024 up; not yet measured when `sweep` is null.
void add_sweep_facts(Facts& facts, const Record* sweep);

/// Writes sweep.tsv, see emitted.tsv: cubes first, from the smallest to the largest.
void write_sweep(std::ostream& out, const Record* sweep);

}  // namespace tile
