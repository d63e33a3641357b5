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

/// Copies rows x cols elements, transposed or not, to rows that are aligned to 16 bytes. A
/// thread moves 4 x 4 elements through registers; a warp, 16 rows of 32. Grid: a block for
/// each 64 x 64 elements, along the columns first. Elements that pad a row are zero.
template <bool TRANSPOSE>
__global__ void __launch_bounds__(REPACK_THREADS)
    repack(int rows, int cols, const float* from, int ldFrom, float* to, int ldTo) {
  const int tilesM = (rows - 1) / REPACK_TILE + 1;
  const int warpId = threadIdx.x / 32, laneId = threadIdx.x % 32;
  const int row = blockIdx.x % tilesM * REPACK_TILE + warpId / 2 * 16 + laneId / 8 * 4;
  const int col = blockIdx.x / tilesM * REPACK_TILE + warpId % 2 * 32 + laneId % 8 * 4;
  float block[4][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (row + i < rows && col + j < cols)
        block[i][j] = from[std::size_t(row + i) * ldFrom + col + j];
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    if constexpr (TRANSPOSE) {
      if (col + n < cols && row < ldTo)
        *reinterpret_cast<float4*>(&to[std::size_t(col + n) * ldTo + row]) =
            float4{block[0][n], block[1][n], block[2][n], block[3][n]};
    } else {
      if (row + n < rows && col < ldTo)
        *reinterpret_cast<float4*>(&to[std::size_t(row + n) * ldTo + col]) =
            float4{block[n][0], block[n][1], block[n][2], block[n][3]};
    }
  }
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
      : rows_(rows),
        cols_(cols),
        from_(matrix),
        ldFrom_(ld),
        copies_(TRANSPOSE || reinterpret_cast<std::uintptr_t>(matrix) % 16 != 0 ||
                ld % 4 != 0),
        // rows of the copy are padded to multiples of 16 bytes
        ldCopy_(((TRANSPOSE ? rows : cols) + 3) / 4 * 4),
        copy_(copies_ ? std::size_t(TRANSPOSE ? cols : rows) : 0, std::size_t(ldCopy_), name) {
  }

  void run() const {
    if (!copies_) return;
    const int tiles = ((rows_ - 1) / REPACK_TILE + 1) * ((cols_ - 1) / REPACK_TILE + 1);
    launch(repack<TRANSPOSE>, dim3(unsigned(tiles)), dim3(REPACK_THREADS), 0, rows_, cols_,
           from_, ldFrom_, copy_.get(), ldCopy_);
  }
  const float* get() const { return copies_ ? copy_.get() : from_; }
  int ld() const { return copies_ ? ldCopy_ : ldFrom_; }

 private:
  int rows_, cols_;
  const float* from_;
  int ldFrom_;
  bool copies_;
  int ldCopy_;
  DeviceMatrix<float> copy_;
};

}  // namespace tile
