// mbarriers, barriers in shared memory that count arrivals and bytes, and the fences that they
// need. A function for each instruction, with its name in the PTX ISA and libcu++'s cuda::ptx:
// inline PTX on a GPU of compute capability 9.0 or newer, what it does on the model.
//
// An mbarrier is an object of 8 bytes, `__shared__ std::uint64_t name`. Its phases are numbered
// from 0. A phase is over when as many threads have arrived as mbarrier_init said, and as many
// bytes have landed as were announced.
#pragma once

#include <cstdint>

#include "common/cuda/cuda.hpp"

// Such an instruction; the architectures without it, which a kernel may be compiled for as well, trap.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define TILE_HOPPER_ASM(...) asm volatile("trap;")
#else
#define TILE_HOPPER_ASM(...) asm volatile(__VA_ARGS__)
#endif
// The same on a GPU, what it does on the model.
#if TILE_ON_GPU
#define TILE_HOPPER_INSTRUCTION(model, ...) TILE_HOPPER_ASM(__VA_ARGS__)
#else
#define TILE_HOPPER_INSTRUCTION(model, ...) model
#endif

namespace tile::ptx {

#if TILE_ON_GPU
/// An address of shared memory as instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return unsigned(__cvta_generic_to_shared(shared));
}
#endif

/// mbarrier.init: a new mbarrier whose phases take `count` arrivals.
__device__ __forceinline__ void mbarrier_init(std::uint64_t* mbarrier, std::uint32_t count) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::mbarrier_init(mbarrier, count),
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(mbarrier)), "r"(count)
      : "memory");
}

/// mbarrier.arrive: one arrival. A thread that finds the phase over sees what this one did.
__device__ __forceinline__ void mbarrier_arrive(std::uint64_t* mbarrier) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::mbarrier_arrive(mbarrier, 0),
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(mbarrier))
      : "memory");
}

// [snippet phases]
/// mbarrier.arrive.expect_tx: announces bytes for the current phase, then arrives. PTX ISA,
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

/// mbarrier.try_wait.parity: whether the phase is over, the last one whose number has this
/// parity: 0 for even, 1 for odd ones. It may wait for that, and may give up; before any phase
/// is over it says yes to parity 1. PTX ISA, "mbarrier.try_wait".
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

/// Waits until the phase of this parity is over, however often that has to be tried. One piece
/// of assembly on a GPU: a loop in C++ is one that a compiler must believe each thread of a
/// warp leaves at a time of its own, and then it keeps nothing behind it in the registers that
/// a warp has only once.
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

/// fence.mbarrier_init: after it and a barrier, bulk copies see the mbarriers that this thread
/// has initialised. PTX ISA, "membar, fence".
__device__ __forceinline__ void fence_mbarrier_init() {
  TILE_HOPPER_INSTRUCTION(simt::device::fence_mbarrier_init(),
                          "fence.mbarrier_init.release.cluster;" ::
                              : "memory");
}

/// fence.proxy.async: orders what threads did before it and bulk copies do after it, or the
/// reverse, in shared and global memory. PTX ISA, "membar, fence", and "Memory Consistency
/// Model", proxies.
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
