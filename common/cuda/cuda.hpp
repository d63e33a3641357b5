// cuda/: what a kernel may use, on the GPU and on the model.
//
// In: a .cu file that includes this or an instruction header. Out: with nvcc, CUDA; otherwise
// calls of simt::device, which common/sim implements. ptx*.hpp and cluster.hpp wrap PTX
// instructions, tensor_map.hpp describes a matrix for TMA; words/ is for the model.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__CUDACC__) && !defined(TILE_ON_MODEL)  // `tile count` defines both
#define TILE_ON_GPU 1
#define TILE_ON_MODEL 0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else
#define TILE_ON_GPU 0
#define TILE_ON_MODEL 1
#include "common/cuda/words/vocabulary.hpp"
#endif

namespace tile {

#if TILE_ON_GPU
/// Throws std::runtime_error naming `what` if a CUDA call failed.
inline void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaErrorNoKernelImageForDevice)
    throw std::runtime_error(
        std::string(what) +
        ": the program was compiled for another GPU; configure with "
        "cmake --preset cuda -DTILE_CUDA_ARCHITECTURE=native and build again");
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// A kernel must opt in to more than 48 KB of dynamic shared memory (CUDA Programming Guide).
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  if (bytes > 48 * 1024)
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
}
#endif

/// Throws std::invalid_argument for more than 65535 blocks along y or z, CUDA's limit.
inline void require_launchable(dim3 grid) {
  for (const auto& [name, extent] : {std::pair{"grid.y", grid.y}, std::pair{"grid.z", grid.z}})
    if (extent > 65535)
      throw std::invalid_argument(
          std::string(name) + " is " + std::to_string(extent) +
          ", and CUDA launches at most 65535 blocks along it: split the problem");
}

/// Launches `kernel` on the machine this file was compiled for.
///
/// `shared_bytes` is the dynamic shared memory of a block. Throws std::runtime_error if the
/// launch fails (a block too large, too much shared memory), std::invalid_argument for a grid too
/// large for any GPU. Asynchronous on the GPU; on the model it returns when the grid has run.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Arguments&&... arguments) {
  require_launchable(grid);
#if TILE_ON_GPU
  allow_shared(kernel, shared_bytes);
  kernel<<<grid, block, shared_bytes>>>(std::forward<Arguments>(arguments)...);
  cuda_check(cudaGetLastError(), "kernel launch");
#else
  simt::run(simt::Bound<Parameters...>(kernel, std::forward<Arguments>(arguments)...), grid,
            block, shared_bytes);
#endif
}

#if TILE_ON_MODEL
/// For the model, kernel<<<grid, block, shared bytes, stream>>>(arguments...) is rewritten to
/// kernel->*Launch(grid, block, shared bytes, stream)(arguments...).
struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes;
  Launch(dim3 grid_, dim3 block_, std::size_t shared = 0, const void* /*stream*/ = nullptr)
      : grid(grid_), block(block_), shared_bytes(shared) {}
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return [&, how = *this](auto* kernel) {
      launch(kernel, how.grid, how.block, how.shared_bytes, arguments...);
    };
  }
};
template <class... Parameters, class Call>
void operator->*(void (*kernel)(Parameters...), const Call& call) {
  call(kernel);
}
#endif

}  // namespace tile
