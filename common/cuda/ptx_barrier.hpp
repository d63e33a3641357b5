// Barriers that all threads of a warp come to together. Named after the instructions, as is
// what common/cuda/ptx.hpp has.
#pragma once

#include "common/cuda/cuda.hpp"
#if TILE_ON_MODEL
#include "common/cuda/asynchronous.hpp"
#endif

namespace tile::ptx {

/// barrier.sync.aligned: barrier_sync for warps whose threads execute it together. The
/// compiler takes that for granted, and knows then that they are together behind it. PTX ISA,
/// "barrier".
__device__ __forceinline__ void barrier_sync_aligned(int number, int threads) {
#if TILE_ON_GPU
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
#else
  simt::device::named_barrier(number, threads);
#endif
}

}  // namespace tile::ptx
