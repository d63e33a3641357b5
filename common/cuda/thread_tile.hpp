// What chapters 08 to 13 teach and chapters 14 to 19 share: which elements of a block tile a
// thread computes, its multiply-adds of one k-step, and the epilogue. `Config` says BM x BN of
// the block tile and WM x WN of a warp tile, whose 32 lanes form 4 rows of 8; each lane has
// 4 x 4 elements in every warp subtile of 16 x 32.
#pragma once

#include "common/cuda/cuda.hpp"

namespace tile {

struct Position {
  int row, col;
};

// [snippet maps]
/// Where a thread's warp tile begins in the block tile: 32 consecutive threads are a warp.
template <class Config>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32, warpsN = Config::BN / Config::WN;
  return {warpId / warpsN * Config::WM, warpId % warpsN * Config::WN};
}
/// Where a thread's elements begin in a warp subtile (lanes 2n and 2n + 1: chapter 09).
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {4 * (laneId / 16 * 2 + laneId % 2), 4 * (laneId / 2 % 8)};
}
/// How far below its first row the i-th row of a thread's accumulators lies.
constexpr __host__ __device__ int row_of(int i) { return i / 4 * 16 + i % 4; }
/// How far right of its first column the j-th column of a thread's accumulators lies.
constexpr __host__ __device__ int col_of(int j) { return j / 4 * 32 + j % 4; }
// [/snippet maps]

// [snippet operands]
/// Loads a thread's operands of one k-step. As and Bs point to the thread's first element in
/// its row of the A tile (transposed) and of the B tile. The loads of B come between those
/// of A: the order changes which registers ptxas assigns (chapter 18).
template <int ROWS, int COLS>
__device__ __forceinline__ void load_operands(const float* As, const float* Bs,
                                              float (&regM)[ROWS], float (&regN)[COLS]) {
  const auto load_A = [&](int i) {
    const float4 four = *reinterpret_cast<const float4*>(As + row_of(i));
    regM[i] = four.x, regM[i + 1] = four.y, regM[i + 2] = four.z, regM[i + 3] = four.w;
  };
#pragma unroll
  for (int i = 0; i < ROWS / 2; i += 4) load_A(i);
#pragma unroll
  for (int j = 0; j < COLS; j += 4) {
    const float4 four = *reinterpret_cast<const float4*>(Bs + col_of(j));
    regN[j] = four.x, regN[j + 1] = four.y, regN[j + 2] = four.z, regN[j + 3] = four.w;
  }
#pragma unroll
  for (int i = (ROWS / 2 + 3) / 4 * 4; i < ROWS; i += 4) load_A(i);
}
// [/snippet operands]

// [snippet multiply]
/// Adds the outer product of one k-step's operands to the accumulators, in serpentine order
/// (chapter 13).
template <int ROWS, int COLS>
__device__ __forceinline__ void multiply(float (&acc)[ROWS][COLS], const float (&regM)[ROWS],
                                         const float (&regN)[COLS]) {
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int n = 0; n < COLS; ++n) {
      const int j = i % 2 == 0 ? n : COLS - 1 - n;
      acc[i][j] += regM[i] * regN[j];
    }
  }
}
// [/snippet multiply]

// [snippet epilogue]
/// Stores a thread's part of C, M x N: alpha times its accumulators plus beta times what is
/// there. The first element is at (row, col). VECTORISED: no element is outside C, and
/// float4s of C are aligned; otherwise each element is predicated.
template <bool VECTORISED, int ROWS, int COLS>
__device__ __forceinline__ void store_accumulators(const float (&acc)[ROWS][COLS], int row,
                                                   int col, int M, int N, float alpha,
                                                   float beta, float* C, int ldc) {
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; j += 4) {
      const int r = row + row_of(i), c = col + col_of(j);
      float* to = &C[std::size_t(r) * ldc + c];
      if constexpr (VECTORISED) {
        float4 result{alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2],
                      alpha * acc[i][j + 3]};
        if (beta != 0.0f) {
          const float4 old = *reinterpret_cast<const float4*>(to);
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z,
                    result.w + beta * old.w};
        }
        *reinterpret_cast<float4*>(to) = result;
      } else {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (r >= M || c + n >= N) continue;
          float result = alpha * acc[i][j + n];
          if (beta != 0.0f) result += beta * to[n];
          to[n] = result;
        }
      }
    }
  }
}
// [/snippet epilogue]

}  // namespace tile
