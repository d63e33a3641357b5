// One function per PTX instruction, with the instruction's name: inline PTX on a GPU, its effect
// on the model. CUDA C++ wraps some of them (__pipeline_memcpy_async, cuda::memcpy_async); here
// each is used directly, with the semantics of the PTX ISA.
#pragma once

#include "common/cuda/cuda.hpp"

namespace tile::ptx {

// [snippet copies]
// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".

/// cp.async.ca: starts a copy of 4, 8 or 16 bytes from global memory, through L1, to shared
/// memory; zeros if it is not `inside`. Both addresses are multiples of BYTES. The data is
/// visible to this thread after cp_async_wait_group, to others after a barrier that follows.
template <int BYTES>
__device__ __forceinline__ void cp_async_ca(void* shared, const void* global,
                                            bool inside = true) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#if TILE_ON_GPU
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   unsigned(__cvta_generic_to_shared(shared))),
               "l"(global), "n"(BYTES), "r"(inside ? BYTES : 0)
               : "memory");
#else
  simt::device::async_copy(shared, global, BYTES, inside ? 0 : BYTES);
#endif
}

/// cp.async.cg: the same for 16 bytes, bypassing L1.
__device__ __forceinline__ void cp_async_cg(void* shared, const void* global) {
#if TILE_ON_GPU
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   unsigned(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#else
  simt::device::async_copy(shared, global, 16);
#endif
}

/// cp.async.commit_group: makes this thread's copies since the last call a group.
__device__ __forceinline__ void cp_async_commit_group() {
#if TILE_ON_GPU
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  simt::device::commit_async_copies();
#endif
}

/// cp.async.wait_group: waits until at most the latest PENDING of this thread's groups are
/// still pending.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
#if TILE_ON_GPU
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#else
  simt::device::wait_for_async_copies(PENDING);
#endif
}
// [/snippet copies]

/// barrier.sync.aligned: waits until `threads` threads of the block, a multiple of 32, have
/// arrived at barrier `number` (0 to 15; 0 is __syncthreads's), by this or by barrier_arrive. All
/// threads of a warp must execute it together, and are converged after it. PTX ISA, "barrier".
__device__ __forceinline__ void barrier_sync_aligned(int number, int threads) {
#if TILE_ON_GPU
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
  simt::device::named_barrier(number, threads);
#endif
}

/// barrier.arrive: arrives at the barrier without waiting.
__device__ __forceinline__ void barrier_arrive(int number, int threads) {
#if TILE_ON_GPU
  asm volatile("barrier.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
  simt::device::arrive_at_named_barrier(number, threads);
#endif
}

}  // namespace tile::ptx
