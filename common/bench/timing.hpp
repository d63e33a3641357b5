// timing/: how long kernels take. In: work for the GPU. Out: milliseconds, throughputs, and runs of a record (bench.hpp). CUDA
// events, the cuBLAS baseline, buffers rotated past the L2, clocks and power meanwhile. Only GPU programs link this, but for NVML
// and what samples it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/bench/run.hpp"

namespace tile {

/// Throws std::runtime_error when an environment variable would change what cuBLAS computes
/// (NVIDIA_TF32_OVERRIDE, CUBLAS_EMULATE_SINGLE_PRECISION).
void require_plain_cublas();

/// What a timed call finds in the L2: nothing that it uses, or what the call before it left there.
enum class L2 { cold, warm };

/// Keeps the GPU busy for about a tenth of a millisecond, so that what is queued right after it starts when it ends and not
/// when the CPU has got it there: else the time between two events around a short kernel is the CPU's.
void hold_gpu();

/// Milliseconds of one call of `work` on the GPU, measured with events: `warm_up` runs, then `repetitions`.
Spread time_ms(const std::function<void(int repetition)>& work, int repetitions = 20, int warm_up = 3);

enum class CublasMode { fp32, tf32, bf16 };
/// TFLOP/s of cublasGemmEx on cubes of `size`: inputs of full entropy, buffers rotated past the L2, 32 MiB workspace.
Spread cublas_tflops(int size, CublasMode mode, int repetitions = 20);

}  // namespace tile
