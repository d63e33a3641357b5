// Tensor maps: descriptions of a matrix that the tensor memory accelerator (TMA) copies box by
// box. The host encodes them and passes them to a kernel as parameters `const __grid_constant__
// CUtensorMap name`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "common/cuda/cuda.hpp"

namespace tile {

/// The span, in bytes, within which a copy permutes the 16-byte chunks of shared memory, so
/// that a column of a box is spread over the banks.
enum class Swizzle : int { none = 0, bytes32 = 32, bytes64 = 64, bytes128 = 128 };

/// The element types of tensor maps.
enum class TensorElement { float32, float16, bfloat16 };
constexpr int size_of(TensorElement e) { return e == TensorElement::float32 ? 4 : 2; }

/// rows x cols elements, row-major with leading dimension ld, and the box that one copy moves.
struct BoxedMatrix {
  int rows, cols;
  std::int64_t ld;
  int box_rows, box_cols;
  Swizzle swizzle = Swizzle::none;
};

/// Throws std::invalid_argument, with one line about the first rule broken, if the matrix has no
/// tensor map. The rules are those of cuTensorMapEncodeTiled, and one more: a swizzled box is as
/// wide as the span, because the layout of narrower ones is not documented.
inline void require_encodable(const void* base, TensorElement element, const BoxedMatrix& m) {
  const std::int64_t row = m.ld * size_of(element), box_row = m.box_cols * size_of(element);
  const char* const rule =
      m.rows < 1 || m.cols < 1 ? "it needs at least one row and one column"
      : m.ld < m.cols          ? "the leading dimension is less than the number of columns"
      : reinterpret_cast<std::uintptr_t>(base) % 16 != 0
          ? "it must begin at a multiple of 16 bytes"
      : row % 16 != 0 ? "the bytes of a row, ld elements, must be a multiple of 16"
      : row >= std::int64_t(1) << 40 ? "a row, of ld elements, must have less than 2^40 bytes"
      : std::min(m.box_rows, m.box_cols) < 1 || std::max(m.box_rows, m.box_cols) > 256
          ? "each extent of a box must be 1 to 256"
      : box_row % 16 != 0 ? "the bytes of a row of the box must be a multiple of 16"
      : m.swizzle != Swizzle::none && box_row != int(m.swizzle)
          ? "a row of the box must have as many bytes as the span of the swizzle"
          : nullptr;
  if (rule == nullptr) return;
  char numbers[160];
  std::snprintf(numbers, sizeof numbers,
                "a tensor map of %d x %d elements, ld %lld, in boxes of %d x %d: ", m.rows,
                m.cols, static_cast<long long>(m.ld), m.box_rows, m.box_cols);
  throw std::invalid_argument(std::string(numbers) + rule);
}

namespace machine {
/// Encodes the tensor map, 128 bytes at `map`, of a matrix that passes require_encodable.
void encode_tensor_map(void* map, const void* base, TensorElement element,
                       const BoxedMatrix& matrix);
}  // namespace machine

}  // namespace tile

#if TILE_ON_GPU
#include <cuda.h>
#else
/// The model's CUtensorMap.
struct alignas(64) simt::TensorMap : tile::BoxedMatrix {
  std::uintptr_t base = 0;
  std::uint32_t element = 0;  ///< bytes
  bool encoded = false;       ///< whether tensor_map made it

  std::uint32_t row_of_box() const { return std::uint32_t(box_cols) * element; }  ///< bytes
  std::uint32_t bytes_of_box() const { return std::uint32_t(box_rows) * row_of_box(); }
};
static_assert(sizeof(simt::TensorMap) <= 128, "it must fit into a CUtensorMap");
using CUtensorMap = simt::TensorMap;
#endif

namespace tile {

template <class T>
constexpr TensorElement element_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __half> ||
                    std::is_same_v<T, __nv_bfloat16>,
                "the elements of a tensor map are float, __half or __nv_bfloat16");
  return std::is_same_v<T, float>    ? TensorElement::float32
         : std::is_same_v<T, __half> ? TensorElement::float16
                                     : TensorElement::bfloat16;
}

/// A tensor map of the matrix that begins at `base` in device memory. Outside the matrix, a copy
/// loads 0 and stores nothing. Throws std::invalid_argument if the matrix has no tensor map, and
/// on a GPU std::runtime_error if the driver rejects it.
template <class T>
CUtensorMap tensor_map(const T* base, const BoxedMatrix& matrix) {
  require_encodable(base, element_of<T>(), matrix);
  CUtensorMap map{};
  machine::encode_tensor_map(&map, base, element_of<T>(), matrix);
  return map;
}

/// The swizzled offset in shared memory, from a multiple of eight spans, of a byte whose offset
/// without swizzling is `offset`: the index of its 16-byte chunk within the span is XORed with as
/// many low bits of the index of its 128-byte line. CUDA Driver API, CUtensorMapSwizzle; CUDA C++
/// Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator".
constexpr __host__ __device__ unsigned swizzled(Swizzle swizzle, unsigned offset) {
  const unsigned chunks = unsigned(swizzle) / 16;
  return chunks == 0 ? offset : offset ^ (offset / 128 % chunks) * 16;
}

}  // namespace tile
