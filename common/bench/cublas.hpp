// The baselines of every timing: cublasGemmEx, and the fastest algorithm that cuBLASLt suggests for a problem, which a
// patient user of cuBLAS could find. In: a product in device memory. Out: the result in C, computed on the default
// stream, and the extent of the search. GPU programs only; chapters get rates through timing.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "common/bench/timing.hpp"

namespace tile {

/// Throws std::runtime_error, with `what` and CUDA's message, unless `status` is success.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// The product by cublasGemmEx with a 32 MiB workspace, in FP32 unless TF32 is allowed. A and B must have the same type.
void cublas_multiply(const Product& product, bool tf32 = false);

/// The result of a search in cuBLASLt.
struct CublasLt {
  std::function<void(const Product&)> multiply;  ///< the product by the fastest suggestion; empty without suggestions
  Record search;                                 ///< how many were "asked" for, and how many were "suggested"
};

/// Asks cuBLASLt's heuristics for algorithms with FP32 accumulation and the same workspace as cublasGemmEx, and times each
/// `repetitions` times, rotating through the problem's copies. For FP32 operands, algorithms with tensor cores are skipped.
CublasLt search_cublas_lt(const Rotation& rotation, int repetitions);

}  // namespace tile
