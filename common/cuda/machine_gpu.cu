// The CUDA implementation of machine.hpp, and of the encoding of tensor maps.
#include "common/cuda/cuda.hpp"
#include "common/cuda/machine.hpp"
#include "common/cuda/tensor_map.hpp"

namespace tile::machine {
namespace {

__global__ void compiled_as_all_kernels_are() {}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

// Ten times the compute capability that the kernels were compiled for. A newer GPU runs them, too.
int compiled_for() {
  cudaFuncAttributes attributes{};
  cuda_check(cudaFuncGetAttributes(&attributes, compiled_as_all_kernels_are),
             "what this program was compiled for");
  return attributes.ptxVersion;
}

// The driver's function is looked up at run time, so that nothing links with libcuda.
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
        "this driver cannot make tensor maps: they need CUDA 12 and compute capability 9.0");
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

std::string kind() { return "gpu"; }

std::string unavailable() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess)
    return std::string("no usable CUDA device (") + cudaGetErrorString(status) + ")";
  return devices == 0 ? "no CUDA device in this machine" : "";
}

std::string description() {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

void* allocate(std::size_t bytes, std::size_t, const std::string& name) {
  void* memory = nullptr;
  const std::string size = std::to_string(bytes >> 20) + " MiB for " + name;
  // Whole pages of 2 MiB, so that the allocation begins at a page: L1's tag banks depend on the
  // address, and the model counts from 0.
  constexpr std::size_t page = std::size_t(2) << 20;
  const cudaError_t status = cudaMalloc(&memory, (bytes + page - 1) / page * page);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clear the error, or the next launch would report it
    throw OutOfMemory("the GPU is out of memory: cannot allocate " + size);
  }
  cuda_check(status, ("cudaMalloc of " + size).c_str());
  return memory;
}
void release(void* memory) { cudaFree(memory); }
void copy_to_device(void* device, const void* host, std::size_t bytes) {
  cuda_check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}
void copy_to_host(void* host, const void* device, std::size_t bytes) {
  cuda_check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy to the host");
}
void synchronize() { cuda_check(cudaDeviceSynchronize(), "kernel"); }
void declare_matrix(void*, std::size_t, std::size_t, std::size_t, std::size_t) {}

const Device& device() {
  static const Device found{
      attribute(cudaDevAttrMultiProcessorCount),
      attribute(cudaDevAttrComputeCapabilityMajor) >= 9 && compiled_for() >= 90};
  return found;
}

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
