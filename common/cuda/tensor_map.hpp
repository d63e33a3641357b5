// Tensor maps: descriptions of a matrix that the tensor memory accelerator (TMA) copies box by
// box. The host makes them and hands them to a kernel as parameters `const __grid_constant__
// CUtensorMap name`.
#pragma once

#include "common/cuda/boxed_matrix.hpp"
#include "common/cuda/cuda.hpp"

#if TILE_ON_GPU
#include <cuda.h>
#else
#include "common/cuda/asynchronous.hpp"
using CUtensorMap = simt::TensorMap;
#endif

namespace tile {

template <class T>
constexpr TensorElement element_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __half> ||
                    std::is_same_v<T, __nv_bfloat16>,
                "tensor maps are of float, __half or __nv_bfloat16");
  return std::is_same_v<T, float>    ? TensorElement::float32
         : std::is_same_v<T, __half> ? TensorElement::float16
                                     : TensorElement::bfloat16;
}

/// A tensor map of the matrix that begins at `base` in device memory. A copy loads 0 for
/// elements outside of it, and stores none there. Throws std::invalid_argument where no map
/// can be made; on a GPU also std::runtime_error where the driver refuses.
template <class T>
CUtensorMap tensor_map(const T* base, const BoxedMatrix& matrix) {
  require_encodable(base, element_of<T>(), matrix);
  CUtensorMap map{};
  machine::encode_tensor_map(&map, base, element_of<T>(), matrix);
  return map;
}

/// The offset in shared memory, from a multiple of eight spans, of a byte that without
/// swizzling would be at `offset`: the number of its 16-byte chunk within the span, xor as many
/// bits of the number of its 128-byte line. CUDA Driver API, CUtensorMapSwizzle; CUDA C++
/// Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator".
constexpr __host__ __device__ unsigned swizzled(Swizzle swizzle, unsigned offset) {
  const unsigned chunks = unsigned(swizzle) / 16;
  return chunks == 0 ? offset : offset ^ (offset / 128 % chunks) * 16;
}

}  // namespace tile
