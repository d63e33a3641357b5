// report/: the command line of a chapter's program (options.hpp, main.cpp), its tables and facts (predicted, counted,
// measured), and the files for the book. This is the one header that a chapter includes, for CUDA, problems and checks,
// and the chapter's registration.
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

// Compiled in main.cpp: it takes as long as a kernel.
extern template class std::vector<tile::Kernel>;

namespace tile {

struct Options;

/// Integer division rounding up, up to the largest int; both arguments positive.
constexpr __host__ __device__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }

/// Rates that a GPU program measured, by name; chapter 00 fills them.
struct RateSink {
  std::map<std::string, double> rates{};
  void rate(const std::string& name, double value) { rates[name] = value; }
};

/// The report of a program: facts for the prose, tables, and data files for plots, by name.
struct Report {
  Facts facts{};
  std::vector<Table> tables{};
  std::vector<std::pair<std::string, std::string>> files{};
};

/// What only this chapter's program does. Its code is in files beside the chapter's .cu.
struct Extension {
  /// An option of the command line, and the function that the GPU program then calls instead of its report, for the exit code.
  struct Flag {
    std::string name, help;
    std::function<int(const Options&)> run;
  };
  std::vector<Flag> flags{};
  std::function<void(Report&)> report{};  ///< on the model: adds the chapter's own facts and tables
  std::string step{};                     ///< an additional step of `tile bench`: "tune", "sweep", "untimed" (there are no times) or ""
  std::vector<Kernel> timed_by_flags{};   ///< kernels that only flags time: other records leave out their digests
  /// A kernel that launches others: on the model --kernel may name it, and `choice` briefly describes what it launches.
  Kernel dispatcher{};
  std::string (*choice)(const Product&) = nullptr;
};

/// The baseline of a chapter's kernels.
enum class Baseline {
  gemm_ex,  ///< cublasGemmEx as it comes
  stronger  ///< the faster one of cublasGemmEx and the fastest that cuBLASLt's heuristics suggest
};

struct Chapter {
  int number;
  std::string title;
  std::vector<Kernel> kernels;
  Case counted;            ///< the problem that the model counts and ncu profiles
  std::vector<int> sizes;  ///< cubes that ./tile bench times
  /// Names for formulas in the prose, []{.predicted is="(BM + BN) * BK / NUM_THREADS"}, which may also use published
  /// figures of GPUs.
  std::vector<std::pair<const char*, double>> constants{};
  void (*predict)(Facts&) = nullptr;           ///< predictions that need a loop or a search
  void (*measure_rates)(RateSink&) = nullptr;  ///< GPU only
  void (*profile)() = nullptr;                 ///< GPU only: also run under a profiler, once
  /// A kernel that `profile` runs: keys of its facts start with `key`; its function's name contains `part_of_name`.
  struct Profiled {
    std::string key, part_of_name;
  };
  std::vector<Profiled> profiled{};
  std::vector<int> profiled_pads{};  ///< the kernels are also profiled with leading dimensions larger by these
  std::vector<Case> shapes{};        ///< other problems that ./tile bench times
  /// A rate that measure_rates reports, so that the prose can be checked without a GPU: its key, its label in tables.
  struct Rate {
    std::string name, label;
  };
  std::vector<Rate> rates{};
  Baseline baseline = Baseline::gemm_ex;  ///< the baseline of ./tile bench
  Extension extension{};
  ~Chapter();
};

/// The chapter of this program. Defined once per program, by TILE_CHAPTER.
const Chapter& this_chapter();
#define TILE_CHAPTER(...)                                    \
  const char* tile::this_chapter_file() { return __FILE__; } \
  const tile::Chapter& tile::this_chapter() {                \
    static const tile::Chapter chapter{__VA_ARGS__};         \
    return chapter;                                          \
  }

}  // namespace tile
