// Device: a CUDA device.
#include "common/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace tile::machine {
namespace {

int attribute(cudaDeviceAttr which, const char* what) {
  int value = 0;
  if (const cudaError_t status = cudaDeviceGetAttribute(&value, which, 0);
      status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  return value;
}

}  // namespace

const Device& device() {
  static const Device found{attribute(cudaDevAttrMultiProcessorCount, "number of SMs"),
                            attribute(cudaDevAttrComputeCapabilityMajor, "compute capability") >= 9};
  return found;
}

}  // namespace tile::machine
