// The tuner: `--tune` times the candidates on a GPU and records the fastest (tuning_gpu.cpp), which is the kernel "tuned" from then on
// (tuning.cpp). The report ranks the candidates by the model's ceilings and gives their times (tuning_model.cpp).
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
  double bound;        ///< predicted upper bound on an H200, TFLOP/s
  std::string pruned;  ///< "", or why it is not worth timing
};

/// What a program with these candidates can do beyond all other programs: `--tune` on a GPU, which times them in this order, and
/// the ranking in the report on the model.
Extension extension_of(const std::vector<Candidate>& candidates);

/// The choice of the first tuning whose choice is among the candidates; if there is none, the candidate with the highest bound that is not
/// pruned.
const Candidate& choose(const std::vector<Candidate>& candidates,
                        const std::vector<Record>& tunings);
/// The same with the chapter's tunings of this GPU and of the reference GPU. (The test chapter07.records checks that the choice still has
/// the machine code that was timed.) Throws RecordError for a damaged tuning.
const Candidate& tuned_choice(const std::vector<Candidate>& candidates);
/// The kernel of that candidate, called "tuned".
Kernel tuned_kernel(const std::vector<Candidate>& candidates);

/// A candidate of the tuner, with the model's ceiling and the measurement.
struct Ranked {
  const Candidate* candidate = nullptr;
  Ceiling tightest;               ///< from the counts, on the reference GPU
  const Record* timed = nullptr;  ///< on the reference GPU, or null
  double tflops() const { return timed == nullptr ? 0 : timed->at("tflops").get<double>(); }
};

/// The fastest and the slowest candidates, with the rank that the ceilings gave them.
Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings);

}  // namespace tile
