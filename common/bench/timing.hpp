// How long kernels take on a GPU: alone, against cuBLAS for a record, or many of them for a tuner. In: launchers and
// problems. Out: milliseconds, throughputs, runs of a record. CUDA events, buffers rotated past the L2, clock and
// power meanwhile. GPU programs only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "common/bench/run.hpp"
#include "common/check/gemm.hpp"

namespace tile {

/// Throws std::runtime_error when an environment variable would change what cuBLAS computes (NVIDIA_TF32_OVERRIDE,
/// CUBLAS_EMULATE_SINGLE_PRECISION).
void require_plain_cublas();

/// Keeps the GPU busy for about a tenth of a millisecond, so that what is queued right after it starts when it ends,
/// not when the CPU has sent it: else the time between two events around a short kernel is the CPU's.
void hold_gpu();

/// Milliseconds of one call of `work` on the GPU, measured with events: `warm_up` calls, then `repetitions`. `work` is
/// told the number of the call, from 0, for rotating through copies.
Spread time_ms(const std::function<void(int call)>& work, int repetitions = 20, int warm_up = 3);

/// Device memory that frees itself.
struct DeviceFree {
  void operator()(void* memory) const;
};
using Buffer = std::unique_ptr<void, DeviceFree>;
Buffer device_memory(std::size_t bytes);

/// What a timed call finds in the L2: nothing that it uses, or what the call before it left there.
enum class L2 { cold, warm };

/// One problem in device memory several times over, so often that all copies together are larger than three times the
/// L2, or once for a warm L2. Inputs are as the case fills them, C is poisoned with NaN.
struct Rotation {
  explicit Rotation(const Case& c, L2 l2 = L2::cold);
  std::size_t size() const { return C.size(); }
  /// The operands that a rotation's i-th call takes.
  Product product(std::size_t i) const;

  Case problem;
  std::vector<Buffer> A, B, C;
};

/// Median TFLOP/s of cublasGemmEx on random inputs, buffers rotated past the L2; with TF32 where that is allowed.
double cublas_tflops(const Case& c, bool tf32 = false, int repetitions = 20);

/// How often kernels are timed, after so many iterations to warm up: until the medians of their times and ratios have
/// settled (run.hpp), but at most so often; or, once done at least so often, for so many seconds.
struct Effort {
  int warm_up = 3;
  std::size_t fewest = 20, most = 200;
  double seconds = 1e9;
};

/// The runs of kernels of the same types, one for each: checks each, then times them interleaved, each paired with
/// cublasGemmEx and with the fastest that cuBLASLt suggests, timing each suggestion so often; not with cuBLASLt where
/// that is 0. "clocks" is of all of them together. Throws std::runtime_error when a result is wrong.
std::vector<Record> time_against_cublas(const std::vector<Launchable>& kernels, const Rotation& rotation,
                                        int repetitions_of_suggestions, const Effort& effort = {});

/// Throws std::runtime_error unless each kernel is exact on this problem with whole numbers.
void require_exact(const std::vector<Launchable>& kernels, Case c);

/// Median milliseconds of `repetitions` runs, after one whose result passed Freivalds' check. Throws
/// std::runtime_error when the result is wrong.
double median_ms(const Launchable& kernel, const Rotation& rotation, int repetitions = 9);

/// The wall clock, for telling how far a long measurement is: seconds since it was made.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

}  // namespace tile
