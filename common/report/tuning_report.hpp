// The tuner's candidates as the model ranks them and as they were timed, and what explains the times: sums of costs, fitted to them.
// In: the chapter's candidates and costs, its tunings. Out: tables, facts `tuning.*`, the data of plots. Chapter 07 shows all of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/report/findings.hpp"

namespace tile {

/// A candidate of the tuner, what the model says of it, and what was measured.
struct Ranked {
  const Candidate* candidate = nullptr;
  Ceiling tightest;               ///< of the counts, on the reference GPU
  const Record* timed = nullptr;  ///< of the reference GPU, or null
  double tflops() const { return timed == nullptr ? 0 : timed->at("tflops").get<double>(); }
};

/// A configuration that was timed, and what may explain its time. Costs and cycles are cycles of an SM for each warp-wide FMA.
struct Timed {
  Costs costs;
  double warps;        ///< resident on an SM
  double registers;    ///< of a thread
  double cycles;       ///< measured
  double tflops;       ///< measured
  std::string pruned;  ///< "", or why it was not worth timing
  double ceiling = 0;  ///< in cycles; 0 for what was pruned
  Tile tile{};
};

struct Landscape {
  std::vector<Record> tunings;  ///< the reference GPU's first
  std::vector<Ranked>
      ranking;  ///< points into the first of `tunings`; the highest ceiling first; empty without candidates
  /// What the first of `tunings` timed and the chapter's costs describe, without what spills registers: their traffic is not in the
  /// costs. None unless all of `ranking` were timed.
  std::vector<Timed> timed;
};
/// Loads the chapter's tunings, and counts every candidate that is worth timing.
Landscape find_landscape();

/// The landscape's ends and the fits; none of a chapter without candidates.
std::vector<Table> tables_of(const Landscape& landscape);
/// Facts `tuning.*`. What needs times is not yet measured unless all candidates were timed.
void add_tuning_facts(Facts& facts, const Landscape& landscape);
/// Writes landscape.tsv and fit.tsv.
void emit_landscape(const Landscape& landscape, const std::filesystem::path& directory);

/// The fastest candidates, and the slowest, with the rank that the ceilings gave them.
Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings);

/// Times a sample, each fifth configuration from `first`, and then by what the sum multiply + copy + 1/warps, fitted to the sample,
/// predicts, the fastest first: how many are timed until the fastest is among them.
std::size_t timed_until_fastest(const std::vector<Timed>& timed, std::size_t first);

/// Facts `tuning.fit.*`: how well each of several sums of terms, fitted, predicts each time from the others, and of the sum
/// multiply + copy + 1/warps more: its weights, what it predicts of configurations that were pruned by their bound, and how many would
/// have to be timed with its help. Not yet measured when nothing was timed.
void add_fit_facts(Facts& facts, const std::vector<Timed>& timed);

}  // namespace tile
