// cuBLAS, the baseline of every timing, as one function. In: the extents and device pointers of a row-major product. Out: the
// product in C, computed on the default stream. GPU programs only; chapters ask for rates through timing.hpp.
#pragma once

#include <cstddef>

#include "common/timing/timing.hpp"

namespace tile {

/// Row-major C = alpha A B + beta C by cublasGemmEx with a 32 MiB workspace; A and B are float, or bfloat16 in that mode.
void cublas_multiply(int M, int N, int K, float alpha, const void* A, int lda, const void* B, int ldb, float beta,
                     float* C, int ldc, CublasMode mode);

/// What every program of this book gives cuBLAS to work in.
inline constexpr std::size_t cublas_workspace_bytes = 32u << 20;

}  // namespace tile
