// The baselines of every timing: cublasGemmEx, and the fastest of what cuBLASLt suggests for a problem, which a
// patient user of cuBLAS could get. In: a product in device memory. Out: the result in C, computed on the default
// stream, and what was searched. GPU programs only; chapters ask for rates through timing.hpp.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <limits>
#include <memory>
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

/// What a handle of cuBLAS's or cuBLASLt's refers to destroys itself.
template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const { destroy(handle); }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

/// Asks cuBLASLt's heuristics how to multiply with sums in FP32, in as much workspace as cublasGemmEx has, and times
/// what they suggest; of operands in FP32 not what would use tensor cores.
class CublasLt {
 public:
  /// Searches, timing each suggestion so often and rotating through the problem's copies.
  CublasLt(const Rotation& rotation, int repetitions);

  /// Whether there was anything to try.
  bool found() const { return fastest_ms_ < std::numeric_limits<double>::infinity(); }
  /// The product by the fastest; it is of the problem that was searched.
  void multiply(const Product& product) const;

  Record search;  ///< how many suggestions were "asked" for, and how many were "suggested"

 private:
  using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  static Matrix stored(Element element, Layout layout, int rows, int columns, int ld);
  cublasStatus_t multiply(const Product& product, const cublasLtMatmulAlgo_t& algorithm) const;

  Matrix A_, B_, C_;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product_;
  Buffer workspace_;
  cublasLtMatmulAlgo_t fastest_{};
  double fastest_ms_ = std::numeric_limits<double>::infinity();
};

}  // namespace tile
