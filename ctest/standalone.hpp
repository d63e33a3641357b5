// What the kernels of chapters 01 to 12 need in addition to CUDA: with this header, the code from a chapter's first snippet to the end
// of its snippet `launch` compiles in your own project (standalone.sh tests it).
#pragma once

#include <cstdint>
#include <stdexcept>

namespace tile {

/// C = alpha*A*B + beta*C, all row-major: A is M x K, B is K x N, C is M x N; lda >= K, ldb >= N and ldc >= N count elements.
struct Gemm {
  int M, N, K;
  float alpha;
  const float* A;
  int lda;
  const float* B;
  int ldb;
  float beta;
  float* C;
  int ldc;
};

constexpr __host__ __device__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }

inline void require_valid(const Gemm& g) {
  if (g.M < 1 || g.N < 1 || g.K < 1 || g.lda < g.K || g.ldb < g.N || g.ldc < g.N)
    throw std::invalid_argument("extents must be positive, and leading dimensions at least the length of a row");
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes>>>(arguments...);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace tile
