// Machine and device: a CUDA device, as far as this program was compiled for it.
#include "common/cuda/cuda.hpp"
#include "common/cuda/machine.hpp"

namespace tile::machine {
namespace {

__global__ void compiled_as_all_kernels_are() {}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

// Ten times the compute capability whose instructions the program's kernels may use. A newer
// GPU runs them, too.
int compiled_for() {
  cudaFuncAttributes attributes{};
  cuda_check(cudaFuncGetAttributes(&attributes, compiled_as_all_kernels_are),
             "what this program was compiled for");
  return attributes.ptxVersion;
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
  // Whole pages of 2 MiB, so that it begins with one: L1's tag banks depend on the address,
  // and the model counts from 0.
  constexpr std::size_t page = std::size_t(2) << 20;
  const cudaError_t status = cudaMalloc(&memory, (bytes + page - 1) / page * page);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // or the next launch would be blamed for it
    throw OutOfMemory("the GPU has no " + size);
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

}  // namespace tile::machine
