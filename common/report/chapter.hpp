// report/: the face of a chapter's program: its registration, which is all that a chapter sees of this room, the command line
// (options.hpp, main.cpp), tables and facts of what was predicted, counted and measured, and the files that the book takes up.
//
// The one header a chapter includes: kernel vocabulary, problems and checks, and the chapter's registration.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/bench/baseline.hpp"
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

/// Integer division rounding up, up to the largest int; both arguments positive.
constexpr __host__ __device__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }

/// One configuration of a kernel that the tuner may choose.
struct Candidate {
  Kernel kernel;                                        ///< its name is the configuration's
  std::vector<std::pair<std::string, int>> parameters;  ///< by name, for plots
  int registers;                                        ///< predicted, per thread
  int warps;                                            ///< predicted, resident per SM of an H200
  double bound;                                         ///< predicted ceiling on an H200, TFLOP/s
  std::string pruned;                                   ///< "", or why it is not worth timing
};

/// What each part of a configuration's loop over K takes if it has its SM to itself: cycles of the SM for each warp-wide FMA.
struct Costs {
  std::string name;  ///< the configuration's
  double multiply;   ///< multiply-adds and the loads from shared memory that feed them
  double load;       ///< loads from global memory
  double store;      ///< stores to shared memory
};

/// The candidate that the tuner chose on this GPU, or else on the reference GPU; without any tuning, the one with the
/// highest bound that is not pruned. A tuning whose choice is gone does not count: a line on stderr says so, once. (That the
/// choice still has the machine code that was timed, the test chapterNN.records says.) Throws RecordError for a damaged tuning.
const Candidate& tuned_choice(const std::vector<Candidate>& candidates);

/// The kernel called "tuned": whichever of the chapter's candidates is the tuned_choice. That is looked up when it is first
/// launched, so a damaged tuning does not keep the program from starting.
Kernel tuned_kernel();
/// Its launcher.
void launch_tuned_kernel(const Gemm& g);
/// `kernel` itself, or the choice under its name if it is tuned_kernel(). Throws RecordError like tuned_choice.
Kernel resolved(const Kernel& kernel);
/// The kernels of this chapter, each resolved.
std::vector<Kernel> resolved_kernels();

/// Rates that a GPU program measured, by name; chapter 00 fills them.
class RateSink {
 public:
  virtual void rate(const std::string& name, double value) = 0;
  virtual ~RateSink() = default;
};

struct Chapter {
  int number;
  std::string title;
  std::vector<Kernel> kernels;
  Case counted;            ///< the problem the model counts, and ncu is asked about
  std::vector<int> sizes;  ///< cubes that ./tile bench times
  /// Names for formulas in the prose, []{.predicted is="(BM + BN) * BK / NUM_THREADS"}; they have published figures of GPUs as well.
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
  std::vector<int>
      compiled_for{};  ///< other architectures (86 for compute capability 8.6) whose registers are recorded
  /// What measure_rates gives, so that the prose can be checked without a GPU: a name for keys, a label for tables.
  struct Rate {
    std::string name, label;
  };
  std::vector<Rate> rates{};
  std::vector<Candidate> candidates{};    ///< what --tune chooses among, in the order in which it times them
  std::vector<Costs> costs{};             ///< of every configuration, those not among the candidates, too
  Baseline baseline = Baseline::gemm_ex;  ///< what ./tile bench times the kernels against
  /// One kernel over many problems, for a plot; always against the stronger baseline.
  struct Sweep {
    /// One of the chapter's kernels, or another, such as a dispatcher: without an `address`, the record has no registers of it.
    Kernel kernel{};
    std::vector<Case> problems;  ///< cubes from the smallest to the largest, and others; no two of the same extents
    /// What the kernel's launcher starts for a problem, in a word or two.
    std::string (*choice)(const Product&) = [](const Product&) { return std::string("-"); };
  };
  Sweep sweep{};
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
