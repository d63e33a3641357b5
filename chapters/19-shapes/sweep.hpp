// One kernel over many problems against the stronger cuBLAS: `--sweep` times it on a GPU (sweep_gpu.cpp), and the report shows what
// a record of that holds (sweep_model.cpp). In: the kernel and the problems. Out: a record; tables, facts and the data of a plot.
#pragma once

#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

struct Sweep {
  Kernel kernel;               ///< without an `address`, the record has no registers of it
  std::vector<Case> problems;  ///< no two of the same extents
  /// What the kernel's launcher starts for a problem, in a word or two.
  std::string (*choice)(const Product&);
};

/// What a program with this sweep does besides what all programs do.
Extension extension_of(const Sweep& sweep);

/// `--sweep`: times each problem for a second or two and writes the record. GPU only. Throws std::runtime_error when a result is wrong.
int time_sweep(const Sweep& sweep, const Options& options);

// The rest is for the model's program; `record` is the reference GPU's, or null.

/// A row for each problem: cubes first, from the smallest to the largest.
Table table_of_sweep(const Sweep& sweep, const Record* record);
/// Which problems are won, which are lost to the stronger cuBLAS, and which are ties: a row each.
Table table_of_verdicts(const Sweep& sweep, const Record* record);
/// Facts `sweep.<problem>.*`, and how many problems there are, how many are won, ties and lost, and the lowest and the
/// highest ratio of all and of the cubes from 1024 up; not yet measured when `record` is null.
void add_sweep_facts(Facts& facts, const Sweep& sweep, const Record* record);
/// The text of sweep.tsv, in the order of the table.
std::string plot_of_sweep(const Sweep& sweep, const Record* record);

}  // namespace tile
