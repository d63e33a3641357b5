// What a chapter's program says of itself, for whoever looks after its records (`chapterNN --describe`). In and out: JSON.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/baseline.hpp"
#include "common/bench/counters.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// A program, as far as its records tell of it. As JSON an object of these names; `counted` is there only after --describe counts.
struct Program {
  struct Kernel {
    /// What the model counts at the chapter's counted problem.
    struct Counted {
      Tallies tallies;
      std::size_t static_shared;
    };

    std::string name;
    bool tuned = false;     ///< whichever of the candidates the tuner chose: the next two are the choice's
    int block_threads = 0;  ///< as registered; so is dynamic_shared
    int dynamic_shared = 0;
    std::optional<Counted> counted{};
  };
  struct Candidate {
    std::string name, pruned;
  };

  int chapter = 0;
  std::filesystem::path source;           ///< the chapter's file; its records lie beside it
  std::string nvcc;                       ///< the version that compiles it for the GPU, or ""
  std::vector<Kernel> kernels;            ///< in the order in which a record has them
  std::vector<std::string> problems;      ///< what `tile bench` times, as key_of names it
  std::vector<std::string> rates;         ///< what it measures besides
  std::vector<int> profiled_pads;         ///< its kernels are profiled with these pads as well
  std::vector<int> compiled_for;          ///< architectures whose registers are recorded as well
  std::vector<Candidate> candidates;      ///< of its tuner
  Baseline baseline = Baseline::gemm_ex;  ///< what its kernels are timed against
  /// Its sweep: one kernel over many problems; without any it has none.
  struct Sweep {
    std::string kernel;
    std::vector<std::string> problems;  ///< as key_of names it
  } sweep{};

  std::filesystem::path directory() const { return source.parent_path(); }
};

Record to_json(const Program& program);
/// Throws RecordError for a text that is no description.
Program program_of(const std::string& json);

}  // namespace tile
