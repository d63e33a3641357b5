// A dispatcher over many problems against the stronger cuBLAS: `--sweep` times it on a GPU, `--ways` times each way that it
// chooses among, to fit its cost model (sweep_gpu.cpp); the report shows a record of the sweep (sweep_model.cpp).
#pragma once

#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// A kernel that a dispatcher chooses among, and what its cost model says.
struct Way {
  std::string name;
  double us;
  Prepare prepare;
};

struct Sweep {
  Kernel kernel;               ///< without an `address`, the record has no registers of it
  std::vector<Case> problems;  ///< no two of the same extents
  std::vector<Way> (*ways)(const Gemm&);  ///< that the kernel's launcher chooses among
  std::string (*choice)(const Product&);  ///< the name of the one that it launches
};

/// The 90 problems of the chapter.
std::vector<Case> sweep_problems();

/// What a program with this sweep does besides what all programs do.
Extension extension_of(const Sweep& sweep);

// The rest is for the model's program; `record` is the reference GPU's, or null.

/// Facts of the times that `--ways` recorded: each, and how much slower than the fastest way the chosen one is.
void add_ways_facts(Facts& facts, const Sweep& sweep, const std::string& csv);

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
