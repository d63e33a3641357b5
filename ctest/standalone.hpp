// What the kernels of chapters 01 to 18 need in addition to CUDA: with this header, the code from a chapter's first snippet to the end
// of its snippet `launch` compiles in your own project (standalone.sh tests it). Chapters 14 to 18 also need what they include of
// common/cuda, before this header, and 15 to 18 are linked with common/cuda/machine_gpu.cu.
#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tile {
/// C = alpha*A*B + beta*C, all row-major: A is M x K, B is K x N, C is M x N; lda >= K, ldb >= N and ldc >= N count elements.
struct Gemm {
  int M, N, K, lda, ldb, ldc;
  float alpha, beta;
  const float *A, *B;
  float* C;
};
constexpr __host__ __device__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }
inline void require_valid(const Gemm& g) {
  if (g.M < 1 || g.N < 1 || g.K < 1 || g.lda < g.K || g.ldb < g.N || g.ldc < g.N)
    throw std::invalid_argument("extents must be positive, and leading dimensions at least the length of a row");
}
#ifndef TILE_ON_GPU  // common/cuda/cuda.hpp has a launch of its own
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes>>>(arguments...);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(error));
}
#endif
/// From chapter 15 on a kernel is prepared for its operands once, prepare<Config>(gemm), and run as often as you like.
struct BoundKernel {
  virtual ~BoundKernel() = default;
  virtual void run() = 0;
};
using Product = Gemm;
inline Gemm gemm_of(const Product& product) { return product; }
}  // namespace tile
