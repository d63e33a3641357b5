// cuBLAS, the baseline of every timing, as one function. In: a product in device memory. Out: the
// result in C, computed on the default stream. GPU programs only; chapters ask for rates through timing.hpp.
#pragma once

#include <cstddef>

#include "common/check/gemm.hpp"

namespace tile {

/// What cuBLAS may compute with, besides FP32.
enum class Shortcut { none, tf32 };

/// The product by cublasGemmEx with a 32 MiB workspace, in FP32 unless a shortcut is allowed. A and B are of the same type.
void cublas_multiply(const Product& product, Shortcut shortcut = Shortcut::none);

/// What every program of this book gives cuBLAS to work in.
inline constexpr std::size_t cublas_workspace_bytes = 32u << 20;

}  // namespace tile
