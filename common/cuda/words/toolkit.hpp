// What the toolkit's other headers have, for the model: what programs ask the runtime after each call (a launch throws what is wrong
// with it, all that was asked for has happened, and launches run one after the other), the primitives of cuda_pipeline.h, and the
// constants of math_constants.h.
#pragma once

#include <assert.h>

#include <cmath>

#include "common/cuda/words/vocabulary.hpp"

using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0;
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

using cudaStream_t = struct CUstream_st*;

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
/// The model gives a block the shared memory that its launch asks for.
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

SIMT_INLINE void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes) {
  simt::device::async_copy(shared, global, bytes);
}
SIMT_INLINE void __pipeline_commit() { simt::device::commit_async_copies(); }
SIMT_INLINE void __pipeline_wait_prior(int pending) { simt::device::wait_for_async_copies(pending); }

#define CUDART_INF_F HUGE_VALF
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.14159265f
