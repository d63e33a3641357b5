// What a chapter's program says of itself (`chapterNN --describe`), and whether its records are of it. In: a
// description as JSON, a record. Out: the description, and a line for each thing that is wrong with the record.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/bench/counters.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// A program, as far as its records tell of it. As JSON an object of these names.
struct Program {
  struct Kernel {
    std::string name;
    bool tuned = false;     ///< whichever of the candidates the tuner chose: the
                            ///< next two are the choice's
    int block_threads = 0;  ///< as registered; so is dynamic_shared
    int dynamic_shared = 0;
    Tallies tallies{};       ///< what the model counts at the chapter's counted
                             ///< problem; empty where it was not asked to
    int static_shared = -1;  ///< bytes, counted likewise
  };
  struct Candidate {
    std::string name, pruned;
  };
  /// One kernel over many problems; without any there is none.
  struct Sweep {
    std::string kernel;
    std::vector<std::string> problems;  ///< as key_of names them
  };

  int chapter = 0;
  std::string source;                 ///< the chapter's file; its records lie beside it
  std::string nvcc;                   ///< the version that compiles it for the GPU, or ""
  std::vector<Kernel> kernels;        ///< in the order in which a record has them
  std::vector<std::string> problems;  ///< what `tile bench` times, as key_of names them
  std::vector<std::string> rates;     ///< the rates it measures
  std::vector<int> profiled_pads;     ///< its kernels are profiled with these pads as well
  std::vector<int> compiled_for;      ///< architectures whose registers are recorded as well
  std::vector<Candidate> candidates;  ///< of its tuner
  Sweep sweep{};

  std::filesystem::path directory() const { return std::filesystem::path(source).parent_path(); }
};

Record to_json(const Program& program);
/// Throws RecordError for a text that is no description.
Program program_of(const std::string& json);

/// What is wrong with a record. Of the reference GPU's the hardware counters must equal the model's counts, but for
/// the rows in the chapter's differences.json; only then is the program asked to `count`. Throws RecordError.
std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Program& program,
                                           const std::function<Program()>& count);

}  // namespace tile
