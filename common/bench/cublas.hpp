// The baselines of every timing: cublasGemmEx, and the fastest of what cuBLASLt suggests for a problem, which a
// patient user of cuBLAS could get. In: a product in device memory. Out: the result in C, computed on the default
// stream, and what was searched. GPU programs only; chapters ask for rates through timing.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "common/bench/timing.hpp"

namespace tile {

/// Throws std::runtime_error, `what` and CUDA's own words, unless `status` is success.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// The product by cublasGemmEx with a 32 MiB workspace, in FP32 unless TF32 is allowed. A and B are of the same type.
void cublas_multiply(const Product& product, bool tf32 = false);

/// What a search in cuBLASLt found.
struct CublasLt {
  std::function<void(const Product&)> multiply;  ///< the product by the fastest suggestion; empty without suggestions
  Record search;                                 ///< how many were "asked" for, and how many were "suggested"
};

/// Asks cuBLASLt's heuristics how to multiply with sums in FP32, in as much workspace as cublasGemmEx has, and times each
/// suggestion so often, rotating through the problem's copies; of operands in FP32 not what would use tensor cores.
CublasLt search_cublas_lt(const Rotation& rotation, int repetitions);

}  // namespace tile
