// What TMA cannot take as it lies is copied first (chapter 15): A is transposed, and a B whose
// rows do not begin at multiples of 16 bytes gets rows that do.
#pragma once

#include <cstdint>

#include "common/cuda/cuda.hpp"
#include "common/cuda/machine.hpp"

namespace tile {

// [snippet repack]
constexpr int SQUARE = 64;  // a block copies SQUARE x SQUARE elements
constexpr int REPACK_THREADS = 256;

/// Copies rows x cols elements, transposed or not. The grid has a block for each square, down
/// the columns of squares.
template <bool TRANSPOSE>
__global__ void __launch_bounds__(REPACK_THREADS)
    repack(int rows, int cols, const float* from, int ldFrom, float* to, int ldTo) {
  constexpr int STEP = REPACK_THREADS / SQUARE, WORDS = SQUARE / STEP;  // of each thread
  __shared__ float square[SQUARE][SQUARE + 1];  // padded: columns are read without conflicts
  const int squaresM = (rows + SQUARE - 1) / SQUARE;
  const int firstRow = blockIdx.x % squaresM * SQUARE;
  const int firstCol = blockIdx.x / squaresM * SQUARE;
  const int y = threadIdx.x / SQUARE, x = threadIdx.x % SQUARE;
  float words[WORDS] = {};  // all loads of a thread are in flight together
#pragma unroll
  for (int n = 0; n < WORDS; ++n)
    if (const int row = firstRow + y + n * STEP; row < rows && firstCol + x < cols)
      words[n] = from[std::size_t(row) * ldFrom + firstCol + x];  //@ load-word
#pragma unroll
  for (int n = 0; n < WORDS; ++n) square[y + n * STEP][x] = words[n];  //@ store-square
  __syncthreads();  // the square is complete
#pragma unroll
  for (int n = 0; n < WORDS; ++n) {
    const int i = y + n * STEP;  // a row of the copy
    if constexpr (TRANSPOSE) {
      if (firstCol + i < cols && firstRow + x < rows)
        to[std::size_t(firstCol + i) * ldTo + firstRow + x] = square[x][i];  //@ store-word
    } else {
      if (firstRow + i < rows && firstCol + x < cols)
        to[std::size_t(firstRow + i) * ldTo + firstCol + x] = square[i][x];  //@ store-word
    }
  }
}
// [/snippet repack]

/// rows x cols elements of device memory; none if an extent is 0.
template <class T>
class DeviceMatrix {
 public:
  DeviceMatrix(std::size_t rows, std::size_t cols, const char* name)
      : data_(rows * cols == 0 ? nullptr
                               : machine::allocate(rows * cols * sizeof(T), sizeof(T), name)) {
    if (data_ != nullptr) machine::declare_matrix(data_, 0, rows, cols, cols);
  }
  ~DeviceMatrix() {
    if (data_ != nullptr) machine::release(data_);
  }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;
  T* get() const { return static_cast<T*>(data_); }

 private:
  void* data_;
};

/// A matrix as TMA can read it: its transpose, or itself, copied only if its rows do not all
/// begin at multiples of 16 bytes. Copied anew in each run, because the caller may have changed
/// the elements.
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
    const int squares = (rows_ + SQUARE - 1) / SQUARE * ((cols_ + SQUARE - 1) / SQUARE);
    launch(repack<TRANSPOSE>, dim3(unsigned(squares)), dim3(REPACK_THREADS), 0, rows_, cols_,
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
