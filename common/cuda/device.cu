// Device: a CUDA device, as far as this program was compiled for it.
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "common/cuda/device.hpp"

namespace tile::machine {
namespace {

int attribute(cudaDeviceAttr which, const char* what) {
  int value = 0;
  if (const cudaError_t status = cudaDeviceGetAttribute(&value, which, 0);
      status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  return value;
}

__global__ void compiled_as_all_kernels_are() {}

// Ten times the compute capability whose instructions the program's kernels may use. A newer
// GPU runs them, too.
int compiled_for() {
  cudaFuncAttributes attributes{};
  if (const cudaError_t status =
          cudaFuncGetAttributes(&attributes, compiled_as_all_kernels_are);
      status != cudaSuccess)
    throw std::runtime_error(std::string("what this program was compiled for: ") +
                             cudaGetErrorString(status));
  return attributes.ptxVersion;
}

}  // namespace

const Device& device() {
  static const Device found{
      attribute(cudaDevAttrMultiProcessorCount, "number of SMs"),
      attribute(cudaDevAttrComputeCapabilityMajor, "compute capability") >= 9 &&
          compiled_for() >= 90};
  return found;
}

}  // namespace tile::machine
