// The tuner's candidates as the model ranks them and as they were timed. In: the chapter's candidates, its tunings. Out: a table,
// facts, and a file for plots.
#pragma once

#include <filesystem>
#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// A candidate, what the model says of it, and what was measured.
struct Ranked {
  const Candidate* candidate = nullptr;
  Ceiling tightest;               ///< of the counts, on the reference GPU
  const Record* timed = nullptr;  ///< of the reference GPU, or null
  double tflops() const { return timed == nullptr ? 0 : timed->at("tflops").get<double>(); }
};

/// Counts every candidate that is worth timing; the highest ceiling first. `tuning` may be null.
std::vector<Ranked> rank_by_ceilings(const Record* tuning);
/// Whether each one was timed.
bool all_timed(const std::vector<Ranked>& ranking);

/// The ends of the landscape: the fastest, and the slowest, with the rank that the ceilings gave them, and how many there are between.
Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings);

/// Facts `tuning.*`; what needs times is not yet measured unless all were timed.
void add_tuning_facts(Facts& facts, const std::vector<Ranked>& ranking, const Record* tuning);

/// Writes landscape.tsv: parameters, ceiling, measurement and resident warps of every candidate that is left, the fastest first.
void emit_landscape(const std::vector<Ranked>& ranking, const std::filesystem::path& directory);

}  // namespace tile
