// Tensor maps on a CUDA device. The driver's function is asked for at run time, so that
// nothing links with libcuda.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "common/cuda/boxed_matrix.hpp"

namespace tile::machine {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(
      "cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || function == nullptr)
    throw std::runtime_error(
        "this driver makes no tensor maps: they need CUDA 12 and a GPU of compute capability 9.0");
  return reinterpret_cast<Encode>(function);
}

CUtensorMapDataType type_of(TensorElement element) {
  return element == TensorElement::float32   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
         : element == TensorElement::float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                             : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

CUtensorMapSwizzle mode_of(Swizzle swizzle) {
  return swizzle == Swizzle::bytes128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : swizzle == Swizzle::bytes64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : swizzle == Swizzle::bytes32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

// [snippet encode]
void encode_tensor_map(void* map, const void* base, TensorElement element,
                       const BoxedMatrix& m) {
  static const Encode encode = find_encode();
  const cuuint64_t extents[] = {cuuint64_t(m.cols), cuuint64_t(m.rows)};
  const cuuint64_t row_bytes = cuuint64_t(m.ld) * cuuint64_t(size_of(element));
  const cuuint32_t box[] = {cuuint32_t(m.box_cols), cuuint32_t(m.box_rows)},
                   every_element[] = {1, 1};
  const CUresult status = encode(
      static_cast<CUtensorMap*>(map), type_of(element), 2, const_cast<void*>(base), extents,
      &row_bytes, box, every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, mode_of(m.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(int(status)));
}
// [/snippet encode]

}  // namespace tile::machine
