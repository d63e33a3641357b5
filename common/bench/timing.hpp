// How long kernels take on a GPU: alone, against cuBLAS for a record, or many of them for a tuner. In: launchers and
// problems. Out: milliseconds, throughputs, runs of a record. CUDA events, buffers rotated past the L2, clock and
// power meanwhile. GPU programs only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/bench/run.hpp"
#include "common/check/gemm.hpp"

namespace tile {

/// Throws std::runtime_error when an environment variable would change what cuBLAS computes (NVIDIA_TF32_OVERRIDE,
/// CUBLAS_EMULATE_SINGLE_PRECISION).
void require_plain_cublas();

/// What a timed call finds in the L2: nothing that it uses, or what the call before it left there.
enum class L2 { cold, warm };

/// Keeps the GPU busy for about a tenth of a millisecond, so that what is queued right after it starts when it ends,
/// not when the CPU has sent it: else the time between two events around a short kernel is the CPU's.
void hold_gpu();

/// Milliseconds of one call of `work` on the GPU, measured with events: `warm_up` runs, then `repetitions`.
Spread time_ms(const std::function<void(int repetition)>& work, int repetitions = 20, int warm_up = 3);

enum class CublasMode { fp32, tf32, bf16 };
/// TFLOP/s of cublasGemmEx on cubes of `size`: inputs of full entropy, buffers rotated past the L2, 32 MiB workspace.
Spread cublas_tflops(int size, CublasMode mode, int repetitions = 20);

/// Runs for a record, one for each kernel, all of the same types: checks each, then times them interleaved, each
/// paired with cublasGemmEx and, if asked to, with the fastest that cuBLASLt suggests, on inputs as `c` fills them in buffers rotated past the L2 (or not, where that is warm),
/// until the medians of its time and ratios have settled (run.hpp), but at most 200 times. "clocks" is of all of them
/// together. Throws std::runtime_error when a result is wrong.
std::vector<Record> time_against_cublas(const std::vector<Launchable>& kernels, const Case& c, bool with_cublas_lt,
                                        L2 l2 = L2::cold);

/// The runs of a sweep: the same of one kernel against both baselines, problem by problem, at least 5
/// repetitions each and hardly more where these take half a second. "choice" is what `choice` says of the problem;
/// `done` is told each run.
std::vector<Record> time_for_sweep(const Launchable& kernel, std::string (*choice)(const Product&),
                                   const std::vector<Case>& cases, const std::function<void(const Record&)>& done);

/// Times many kernels on the same problem: M = N = K = size, random inputs, buffers rotated past the L2.
class TuningBench {
 public:
  explicit TuningBench(int size);
  ~TuningBench();
  TuningBench(const TuningBench&) = delete;
  /// Median milliseconds of `repetitions` runs, after one whose result passed Freivalds' check. Throws
  /// std::runtime_error when the result is wrong.
  double median_ms(const Launchable& kernel, int repetitions = 9);

 private:
  std::unique_ptr<struct Rotation> rotation_;
};

/// The wall clock, for deciding when enough has been measured: seconds since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tile
