// The tuner: `--tune` times the candidates on a GPU and records the fastest (tuning_gpu.cpp), which is the kernel "tuned" from then on
// (tuning.cpp). The report ranks the candidates by the model's ceilings, beside their times, and fits sums of costs to these
// (tuning_model.cpp). In: candidates and costs, records of tunings. Out: tables, facts `tuning.*`, the data of plots.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// One configuration of a kernel that the tuner may choose.
struct Candidate {
  Kernel kernel;                                        ///< its name is the configuration's
  std::vector<std::pair<std::string, int>> parameters;  ///< by name, for plots
  int registers;                                        ///< predicted, per thread
  int warps;           ///< predicted, resident per SM of an H200
  double bound;        ///< predicted ceiling on an H200, TFLOP/s
  std::string pruned;  ///< "", or why it is not worth timing
};

/// What each part of a configuration's loop over K takes if it has its SM to itself: cycles of the SM for each warp-wide FMA.
struct Costs {
  std::string name;  ///< the configuration's
  double multiply;   ///< multiply-adds and the loads from shared memory that feed them
  double load;       ///< loads from global memory
  double store;      ///< stores to shared memory
};

struct Tuner {
  std::vector<Candidate> candidates;  ///< in the order in which they are timed
  std::vector<Costs> costs;  ///< of every configuration, those not among the candidates, too
};

/// What a program with this tuner does besides what all programs do.
Extension extension_of(const Tuner& tuner);

/// The candidate that the first of `tunings` chose that chose one of them, or else the one with the highest bound that is not pruned.
const Candidate& choose(const std::vector<Candidate>& candidates,
                        const std::vector<Record>& tunings);
/// The same with the chapter's tunings of this GPU and of the reference GPU. (That the choice still has the machine code that was
/// timed, the test chapter07.records says.) Throws RecordError for a damaged tuning.
const Candidate& tuned_choice(const std::vector<Candidate>& candidates);
/// The kernel of that candidate, called "tuned".
Kernel tuned_kernel(const std::vector<Candidate>& candidates);

/// `--tune`: times the candidates that have no time yet, the pruned ones only if told to, and saves each time at once, so that it can
/// be stopped and continued. GPU only. Returns the program's exit code.
int tune(const Tuner& tuner, const Options& options, bool pruned);

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
      ranking;  ///< points into the first of `tunings`; the highest ceiling first
  /// What the first of `tunings` timed and the chapter's costs describe, without what spills registers: their traffic is not in the
  /// costs. None unless all of `ranking` were timed.
  std::vector<Timed> timed;
};
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
