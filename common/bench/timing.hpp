// Timing of kernels on a GPU: alone, against cuBLAS for a record, or many of them for a tuner. In: launchers and
// problems. Out: milliseconds, throughputs, runs of a record. Uses CUDA events, rotates buffers past the L2, and
// samples clock and power meanwhile. The baselines are cublasGemmEx, and the fastest algorithm that cuBLASLt suggests
// for a problem, which a patient user of cuBLAS could find. GPU programs only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "common/bench/run.hpp"
#include "common/check/gemm.hpp"

namespace tile {

/// Throws std::runtime_error if an environment variable would change what cuBLAS computes (NVIDIA_TF32_OVERRIDE,
/// CUBLAS_EMULATE_SINGLE_PRECISION).
void require_plain_cublas();

/// Keeps the GPU busy for about a tenth of a millisecond, so that the work queued next starts when this ends, and not
/// when the CPU has submitted it: otherwise the time between two events around a short kernel would be the CPU's.
void hold_gpu();

/// Milliseconds of one call of `work` on the GPU, measured with events: `warm_up` calls, then `repetitions`. `work`
/// gets the number of the call, from 0, to rotate through copies.
Spread time_ms(const std::function<void(int call)>& work, int repetitions = 20, int warm_up = 3);

/// Device memory that frees itself.
struct DeviceFree {
  void operator()(void* memory) const;
};
using Buffer = std::unique_ptr<void, DeviceFree>;
Buffer device_memory(std::size_t bytes);

/// What a timed call finds in the L2: none of its operands, or what the previous call left there.
enum class L2 { cold, warm };

/// Copies of one problem in device memory, together larger than three times the L2, or a single copy for a warm L2.
/// Inputs are filled as the case says, C is poisoned with NaN.
struct Rotation {
  explicit Rotation(const Case& c, L2 l2 = L2::cold);
  std::size_t size() const { return C.size(); }
  /// The operands of the i-th call.
  Product product(std::size_t i) const;

  Case problem;
  std::vector<Buffer> A, B, C;
};

/// The product by cublasGemmEx with a 32 MiB workspace, in FP32 unless TF32 is allowed. A and B must have the same type.
void cublas_multiply(const Product& product, bool tf32 = false);
/// Median TFLOP/s of cublasGemmEx on random inputs, with buffers rotated past the L2; in TF32 if `tf32`.
double cublas_tflops(const Case& c, bool tf32 = false, int repetitions = 20);

/// The result of a search in cuBLASLt.
struct CublasLt {
  std::function<void(const Product&)> multiply;  ///< the product by the fastest suggestion; empty without suggestions
  Record search;                                 ///< how many were "asked" for, and how many were "suggested"
};
/// Asks cuBLASLt's heuristics for algorithms with FP32 accumulation and the same workspace as cublasGemmEx, and times each
/// `repetitions` times, rotating through the problem's copies. For FP32 operands, algorithms with tensor cores are skipped.
CublasLt search_cublas_lt(const Rotation& rotation, int repetitions);

/// Runs of kernels with the same types, one for each: checks each kernel, then times them interleaved, each paired with
/// cublasGemmEx and with cuBLASLt's fastest suggestion, for which each suggestion is timed several times; if that
/// number is 0, without cuBLASLt. "clocks" covers all of them together. Throws std::runtime_error if a result is wrong.
std::vector<Record> time_against_cublas(const std::vector<Launchable>& kernels, const Rotation& rotation,
                                        int repetitions_of_suggestions);

/// Throws std::runtime_error unless each kernel is exact on this problem with integers.
void require_exact(const std::vector<Launchable>& kernels, Case c);

/// Median milliseconds of `repetitions` runs, after one whose result passed Freivalds' check. Throws
/// std::runtime_error if the result is wrong.
double median_ms(const Launchable& kernel, const Rotation& rotation, int repetitions = 9);

/// The wall clock, for the progress of a long measurement: seconds since its construction.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

}  // namespace tile
