// The tuner: `--tune` times the candidates on a GPU and records the fastest (tuning_gpu.cpp), which is the kernel "tuned" from then on
// (tuning.cpp). The report ranks the candidates by the model's ceilings, beside their times (tuning_model.cpp).
// In: candidates, records of tunings. Out: a table, facts `tuning.*`, the data of plots.
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

/// What a program with these candidates, in the order in which they are timed, does besides what all programs do: `--tune` on a GPU, and
/// the ranking in the report on the model.
Extension extension_of(const std::vector<Candidate>& candidates);

/// The candidate that the first of `tunings` chose that chose one of them, or else the one with the highest bound that is not pruned.
const Candidate& choose(const std::vector<Candidate>& candidates,
                        const std::vector<Record>& tunings);
/// The same with the chapter's tunings of this GPU and of the reference GPU. (That the choice still has the machine code that was
/// timed, the test chapter07.records says.) Throws RecordError for a damaged tuning.
const Candidate& tuned_choice(const std::vector<Candidate>& candidates);
/// The kernel of that candidate, called "tuned".
Kernel tuned_kernel(const std::vector<Candidate>& candidates);

/// A candidate of the tuner, what the model says of it, and what was measured.
struct Ranked {
  const Candidate* candidate = nullptr;
  Ceiling tightest;               ///< of the counts, on the reference GPU
  const Record* timed = nullptr;  ///< of the reference GPU, or null
  double tflops() const { return timed == nullptr ? 0 : timed->at("tflops").get<double>(); }
};

/// The fastest candidates, and the slowest, with the rank that the ceilings gave them.
Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings);

}  // namespace tile
