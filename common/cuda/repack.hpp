// What TMA cannot take as it lies is copied first (chapter 15): A is transposed, and a B whose
// rows do not begin at multiples of 16 bytes gets rows that do.
#pragma once

#include <cstdint>
#include <memory>

#include "common/cuda/cuda.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

// [snippet repack]
constexpr int REPACK_TILE = 64, REPACK_THREADS = 256;  // a block copies 64 x 64 elements

/// A copy of rows x cols elements, or of their transpose, whose rows are aligned to 16 bytes.
struct Copy {
  int rows, cols;
  const float* from;
  int ldFrom;
  float* to;
  int ldTo;
  /// Blocks that copy it, along the columns first.
  constexpr __host__ __device__ int blocks() const {
    return ((rows - 1) / REPACK_TILE + 1) * ((cols - 1) / REPACK_TILE + 1);
  }
};

/// Copies what a block has to copy. A thread moves 4 x 4 elements through registers; a warp, 16
/// rows of 32. Elements that pad a row are zero.
template <bool TRANSPOSE>
__device__ __forceinline__ void repack_block(unsigned block, int rows, int cols,
                                             const float* from, int ldFrom, float* to,
                                             int ldTo) {
  const int tilesM = (rows - 1) / REPACK_TILE + 1;
  const int warpId = threadIdx.x / 32, laneId = threadIdx.x % 32;
  const int row = block % tilesM * REPACK_TILE + warpId / 2 * 16 + laneId / 8 * 4;
  const int col = block / tilesM * REPACK_TILE + warpId % 2 * 32 + laneId % 8 * 4;
  float four[4][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (row + i < rows && col + j < cols)
        four[i][j] = from[std::size_t(row + i) * ldFrom + col + j];
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    if constexpr (TRANSPOSE) {
      if (col + n < cols && row < ldTo)
        *reinterpret_cast<float4*>(&to[std::size_t(col + n) * ldTo + row]) =
            float4{four[0][n], four[1][n], four[2][n], four[3][n]};
    } else {
      if (row + n < rows && col < ldTo)
        *reinterpret_cast<float4*>(&to[std::size_t(row + n) * ldTo + col]) =
            float4{four[n][0], four[n][1], four[n][2], four[n][3]};
    }
  }
}

template <bool TRANSPOSE>
__global__ void __launch_bounds__(REPACK_THREADS)
    repack(int rows, int cols, const float* from, int ldFrom, float* to, int ldTo) {
  repack_block<TRANSPOSE>(blockIdx.x, rows, cols, from, ldFrom, to, ldTo);
}
// [/snippet repack]

/// rows x cols elements of device memory; none if an extent is 0.
template <class T>
struct DeviceMatrix : std::unique_ptr<T, void (*)(void*)> {
  DeviceMatrix(std::size_t rows, std::size_t cols, const char* name)
      : std::unique_ptr<T, void (*)(void*)>(nullptr, machine::release) {
    if (rows * cols == 0) return;
    this->reset(static_cast<T*>(machine::allocate(rows * cols * sizeof(T), sizeof(T), name)));
    machine::declare_matrix(this->get(), 0, rows, cols, cols);
  }
};

/// A matrix as TMA can read it: its transpose, or itself, copied only if its rows do not all
/// begin at multiples of 16 bytes. Each run copies, because the elements may have changed.
template <bool TRANSPOSE>
class Repacked {
 public:
  Repacked(int rows, int cols, const float* matrix, int ld, const char* name)
      : copies_(TRANSPOSE || reinterpret_cast<std::uintptr_t>(matrix) % 16 != 0 ||
                ld % 4 != 0),
        copy_{rows, cols, matrix, ld, nullptr, ((TRANSPOSE ? rows : cols) + 3) / 4 * 4},
        memory_(copies_ ? std::size_t(TRANSPOSE ? cols : rows) : 0, std::size_t(copy_.ldTo),
                name) {
    copy_.to = memory_.get();
  }

  void run() const {
    const auto [rows, cols, from, ldFrom, to, ldTo] = copy_;
    if (copies_)
      launch(repack<TRANSPOSE>, dim3(unsigned(blocks())), dim3(REPACK_THREADS), 0, rows, cols,
             from, ldFrom, to, ldTo);
  }
  const float* get() const { return copies_ ? copy_.to : copy_.from; }
  int ld() const { return copies_ ? copy_.ldTo : copy_.ldFrom; }
  const Copy& copy() const { return copy_; }
  int blocks() const { return copies_ ? copy_.blocks() : 0; }

 private:
  bool copies_;
  Copy copy_;
  DeviceMatrix<float> memory_;
};

}  // namespace tile
