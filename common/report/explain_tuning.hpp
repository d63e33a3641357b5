// What explains the times that a tuner measured: sums of costs, fitted to them.
#pragma once

#include <iosfwd>
#include <vector>

#include "common/report/facts.hpp"
#include "common/report/table.hpp"
#include "common/report/tuning.hpp"

namespace tile {

/// A candidate that was not pruned, and its tightest ceiling in TFLOP/s.
struct CandidateCeiling {
  const Candidate* candidate;
  double tflops;
};

/// A candidate that was not pruned and was timed; ceiling in cycles of an SM for each warp-wide FMA.
struct Observed {
  Timed timed;
  double ceiling, BM, BN, BK;
};

/// Those of `left` that are among the timed, in the order of these.
std::vector<Observed> observed(const std::vector<CandidateCeiling>& left, const std::vector<Timed>& timed);

/// Several sums of terms, fitted: weights, and how well each time is predicted from the others.
Table table_of_fits(const std::vector<Observed>& left);

/// Times a sample, each fifth configuration from `first`, and then by what "turns", fitted to the sample, predicts, the fastest
/// first: how many are timed until the fastest is among them.
std::size_t timed_until_fastest(const std::vector<Timed>& left, std::size_t first);

/// Facts `tuning.fit.*`: the same, and of the sum multiply + copy + 1/warps, "turns", more: its weights, what it predicts of
/// configurations that were pruned by their bound, and how many would have to be timed with its help. Not yet measured
/// when `left` is empty. `everything` that was timed includes what was pruned, if that was timed.
void add_explanation_facts(Facts& facts, const std::vector<Observed>& left, const std::vector<Timed>& everything);

/// For a plot, tab-separated: the name of every configuration that was timed, the TFLOP/s that "turns" predicts, fitted to the
/// others of those that were left, the TFLOP/s that were measured, and 1 if it was pruned, else 0.
void write_predictions(std::ostream& out, const std::vector<Observed>& left, const std::vector<Timed>& everything);

}  // namespace tile
