// report/: the command line of a chapter's program (options.hpp, main.cpp), its tables and facts of what was predicted,
// counted and measured, and the files for the book. This is the one header that a chapter includes: kernel vocabulary,
// problems and checks, and the chapter's registration.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/gpu.hpp"
#include "common/check/gemm.hpp"
#include "common/check/gemm_tests.hpp"
#include "common/check/operands.hpp"
#include "common/check/repository.hpp"
#include "common/cuda/cuda.hpp"
#include "common/report/facts.hpp"
#include "common/sim/rules.hpp"
#if TILE_ON_MODEL
#include "common/check/traced.hpp"
#endif

namespace tile {

struct Options;

/// Integer division rounding up, up to the largest int; both arguments positive.
constexpr __host__ __device__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }

/// Rates that a GPU program measured, by name; chapter 00 fills them.
struct RateSink {
  std::map<std::string, double> rates{};
  void rate(const std::string& name, double value) { rates[name] = value; }
};

/// What a program reports: numbers for the prose, tables, and files for plots by their names.
struct Report {
  Facts facts{};
  std::vector<Table> tables{};
  std::vector<std::pair<std::string, std::string>> files{};
};

/// What the program of one chapter does and no other's. The code for it stands beside the chapter's .cu.
struct Extension {
  /// An option of the command line, and what the GPU's program then does in place of its report; it returns the exit
  /// code.
  struct Flag {
    std::string name, help;
    std::function<int(const Options&)> run;
  };
  std::vector<Flag> flags{};
  std::function<void(Report&)> report{};  ///< on the model: adds what is the chapter's own
  std::string step{};                     ///< what `tile bench` does besides timing: "tune", "sweep" or nothing
  std::vector<Kernel>
      timed_by_flags{};  ///< what `tile bench` makes a record of without these, unless Chapter has them, too
  /// A kernel that starts others: --kernel may name it on the model, where `choice` says in a word or two what it
  /// starts.
  Kernel dispatcher{};
  std::string (*choice)(const Product&) = nullptr;
};

/// What a chapter's kernels are timed against.
enum class Baseline {
  gemm_ex,  ///< cublasGemmEx as it comes
  stronger  ///< also the fastest that cuBLASLt's heuristics suggest; the faster of the two counts
};

struct Chapter {
  int number;
  std::string title;
  std::vector<Kernel> kernels;
  Case counted;            ///< the problem the model counts, and ncu is asked about
  std::vector<int> sizes;  ///< cubes that ./tile bench times
  /// Names for formulas in the prose, []{.predicted is="(BM + BN) * BK / NUM_THREADS"}; they have published figures of
  /// GPUs as well.
  std::vector<std::pair<std::string, double>> constants{};
  void (*predict)(Facts&) = nullptr;           ///< predictions that need a loop or a search
  void (*measure_rates)(RateSink&) = nullptr;  ///< GPU only
  void (*profile)() = nullptr;                 ///< GPU only: run once under a profiler, besides the kernels
  /// A kernel that `profile` runs: facts about it start with `key`; its function's name contains `part_of_name`.
  struct Profiled {
    std::string key, part_of_name;
  };
  std::vector<Profiled> profiled{};
  std::vector<int> profiled_pads{};  ///< the kernels are profiled with leading dimensions so much larger as well
  std::vector<Case> shapes{};        ///< other problems that ./tile bench times
  /// What measure_rates gives, so that the prose can be checked without a GPU: a name for keys, a label for tables.
  struct Rate {
    std::string name, label;
  };
  std::vector<Rate> rates{};
  Baseline baseline = Baseline::gemm_ex;  ///< what ./tile bench times the kernels against
  Extension extension{};
};

/// The chapter that this program is about. Defined once per program, by TILE_CHAPTER.
const Chapter& this_chapter();
#define TILE_CHAPTER(...)                                    \
  const char* tile::this_chapter_file() { return __FILE__; } \
  const tile::Chapter& tile::this_chapter() {                \
    static const tile::Chapter chapter{__VA_ARGS__};         \
    return chapter;                                          \
  }

}  // namespace tile
