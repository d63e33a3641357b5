// Kernels timed on a GPU: in turn with cuBLAS for a record (paired_timing_gpu.cpp), or many of them for a tuner
// (tuning_bench_gpu.cpp). In: launchers and problems. Out: runs of a record, or milliseconds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/bench/baseline.hpp"
#include "common/bench/record.hpp"
#include "common/bench/timing.hpp"

namespace tile {

/// Runs for a record, one for each kernel, all of the same types: checks each, then times all in turn, each together with the
/// baseline, on inputs as `c` fills them in buffers rotated past the L2 (or not, where that is warm), until the medians of its time and ratios have settled (run.hpp),
/// but at most 200 times. "clocks" is of all of them together. Throws std::runtime_error when a kernel's result is wrong.
std::vector<Record> time_against_cublas(const std::vector<Runnable>& kernels, const Case& c, Baseline baseline,
                                        L2 l2 = L2::cold);

/// The runs of a sweep: the same of one kernel against the stronger baseline, problem by problem, at least 5 repetitions each and
/// hardly more where these take half a second. "choice" is what `choice` says of the problem; `done` is told each run.
std::vector<Record> time_for_sweep(const Runnable& kernel, std::string (*choice)(const Product&),
                                   const std::vector<Case>& cases, const std::function<void(const Record&)>& done);

/// Times many kernels on the same problem: M = N = K = size, random inputs, buffers rotated past the L2.
class TuningBench {
 public:
  explicit TuningBench(int size);
  ~TuningBench();
  TuningBench(const TuningBench&) = delete;
  /// Median milliseconds of `repetitions` runs, after one whose result passed Freivalds' check. Throws std::runtime_error
  /// when the result is wrong.
  double median_ms(const Runnable& kernel, int repetitions = 9);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace tile
