// mbarriers, barriers in shared memory that count arrivals and bytes, and the fences that they
// need. One function per instruction, named as in the PTX ISA and libcu++'s cuda::ptx: inline PTX
// on a GPU of compute capability 9.0 or newer, its effect on the model.
//
// An mbarrier is an object of 8 bytes, `__shared__ std::uint64_t name`. Its phases are numbered
// from 0. A phase completes when as many threads have arrived as mbarrier_init specified, and as
// many bytes have landed as were expected (expect_tx).
#pragma once

#include <cstdint>

#include "common/cuda/cuda.hpp"

// Inline PTX that needs compute capability 9.0; compiled for an older architecture, it traps.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define TILE_HOPPER_ASM(...) asm volatile("trap;")
#else
#define TILE_HOPPER_ASM(...) asm volatile(__VA_ARGS__)
#endif
// The same on a GPU; on the model, the call that implements it.
#if TILE_ON_GPU
#define TILE_HOPPER_INSTRUCTION(model, ...) TILE_HOPPER_ASM(__VA_ARGS__)
#else
#define TILE_HOPPER_INSTRUCTION(model, ...) model
#endif

namespace tile::ptx {

#if TILE_ON_GPU
/// An address in shared memory, in the form that instructions take.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return unsigned(__cvta_generic_to_shared(shared));
}
#endif

/// mbarrier.init: initialises an mbarrier whose phases need `count` arrivals.
__device__ __forceinline__ void mbarrier_init(std::uint64_t* mbarrier, std::uint32_t count) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::mbarrier_init(mbarrier, count),
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(mbarrier)), "r"(count)
      : "memory");
}

/// mbarrier.arrive: one arrival. A thread that sees the phase complete sees this thread's writes.
__device__ __forceinline__ void mbarrier_arrive(std::uint64_t* mbarrier) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::mbarrier_arrive(mbarrier, 0),
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(mbarrier))
      : "memory");
}

/// cp.async.mbarrier.arrive.noinc: one arrival as soon as all cp.async copies that this thread has
/// started have landed. Only they are visible to a thread that sees the phase complete. PTX ISA,
/// "cp.async.mbarrier.arrive".
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(std::uint64_t* mbarrier) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::mbarrier_arrive(mbarrier, 0, true),
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(mbarrier))
      : "memory");
}

// [snippet phases]
/// mbarrier.arrive.expect_tx: expects `bytes` in the current phase, then arrives. PTX ISA,
/// "mbarrier.arrive".
__device__ __forceinline__ void mbarrier_arrive_expect_tx(std::uint64_t* mbarrier,
                                                          std::uint32_t bytes) {
#if TILE_ON_GPU
  TILE_HOPPER_ASM("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                      shared_address(mbarrier)),
                  "r"(bytes)
                  : "memory");
#else
  simt::device::mbarrier_arrive(mbarrier, bytes);
#endif
}

/// mbarrier.try_wait.parity: whether the latest phase of this parity (0 for even numbers, 1
/// for odd) is complete. It may wait for that, and may give up; while phase 0 is incomplete,
/// it returns true for parity 1. PTX ISA, "mbarrier.try_wait".
[[nodiscard]] __device__ __forceinline__ bool mbarrier_try_wait_parity(std::uint64_t* mbarrier,
                                                                       std::uint32_t parity) {
#if TILE_ON_GPU
  std::uint32_t over = 0;
  TILE_HOPPER_ASM(
      "{\n"
      ".reg .pred over;\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 over, [%1], %2;\n"
      "selp.u32 %0, 1, 0, over;\n"
      "}"
      : "=r"(over)
      : "r"(shared_address(mbarrier)), "r"(parity)
      : "memory");
  return over != 0;
#else
  return simt::device::mbarrier_try_wait(mbarrier, parity);
#endif
}

/// Waits until the phase of this parity is complete: retries mbarrier.try_wait. On a GPU the
/// loop is in the assembly. If it were in C++, the compiler would have to assume that the
/// threads of a warp leave it at different times, and after it would keep nothing in uniform
/// registers.
__device__ __forceinline__ void mbarrier_wait_parity(std::uint64_t* mbarrier,
                                                     std::uint32_t parity) {
#if TILE_ON_GPU
  TILE_HOPPER_ASM(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(mbarrier)),
      "r"(parity)
      : "memory");
#else
  while (!mbarrier_try_wait_parity(mbarrier, parity)) {
  }
#endif
}
// [/snippet phases]

/// fence.mbarrier_init: after it and a barrier, the mbarriers that this thread has initialised
/// are visible to bulk copies. PTX ISA, "membar, fence".
__device__ __forceinline__ void fence_mbarrier_init() {
  TILE_HOPPER_INSTRUCTION(simt::device::fence_mbarrier_init(),
                          "fence.mbarrier_init.release.cluster;" ::
                              : "memory");
}

/// fence.proxy.async: orders accesses of threads before it with those of bulk copies after it,
/// and the reverse, in shared and global memory. PTX ISA, "membar, fence", and "Memory
/// Consistency Model", proxies.
__device__ __forceinline__ void fence_proxy_async() {
  TILE_HOPPER_INSTRUCTION(simt::device::fence_proxy_async(true), "fence.proxy.async;" ::
                              : "memory");
}

/// The same for the block's shared memory alone.
__device__ __forceinline__ void fence_proxy_async_shared_cta() {
  TILE_HOPPER_INSTRUCTION(simt::device::fence_proxy_async(false),
                          "fence.proxy.async.shared::cta;" ::
                              : "memory");
}

}  // namespace tile::ptx
