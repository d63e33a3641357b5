// Bulk asynchronous copies by the tensor memory accelerator (TMA), and setmaxnreg, with which
// producer warps release registers. Named and implemented as in ptx_mbarrier.hpp; the host
// describes the matrix with tensor_map.hpp.
//
// Each call starts one copy, from one thread. x counts columns, y rows; a box may lie partly or
// wholly outside the matrix, and its full size in bytes is counted all the same. It begins at a
// multiple of 16 bytes within a row. Only a load may begin at negative coordinates: for a store an
// NVIDIA H200 reports "illegal instruction" (measured).
#pragma once

#include <cstdint>

#include "common/cuda/ptx_mbarrier.hpp"
#include "common/cuda/tensor_map.hpp"

namespace tile::ptx {

// [snippet box]
/// cp.async.bulk.tensor, global to shared memory: copies the box at (x, y) to `shared`, a
/// multiple of 128 bytes; its bytes count for the current phase of the mbarrier. PTX ISA,
/// "cp.async.bulk.tensor".
__device__ __forceinline__ void cp_async_bulk_tensor(void* shared, const CUtensorMap& map,
                                                     int x, int y, std::uint64_t* mbarrier) {
#if TILE_ON_GPU
  TILE_HOPPER_ASM(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(mbarrier))
      : "memory");
#else
  simt::device::bulk_load(shared, map, x, y, mbarrier);
#endif
}
// [/snippet box]

/// cp.async.bulk.tensor, shared to global memory: joins this thread's next bulk group.
__device__ __forceinline__ void cp_async_bulk_tensor(const CUtensorMap& map, int x, int y,
                                                     const void* shared) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::bulk_store(map, x, y, shared),
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &map),
      "r"(x), "r"(y), "r"(shared_address(shared))
      : "memory");
}

/// cp.async.bulk.commit_group: commits the copies out of shared memory that this thread has
/// started since the last call as a group.
__device__ __forceinline__ void cp_async_bulk_commit_group() {
  TILE_HOPPER_INSTRUCTION(simt::device::commit_bulk_group(), "cp.async.bulk.commit_group;" ::
                              : "memory");
}

/// cp.async.bulk.wait_group: waits until at most the latest PENDING of this thread's groups are
/// still pending.
template <int PENDING>
__device__ __forceinline__ void cp_async_bulk_wait_group() {
  TILE_HOPPER_INSTRUCTION(simt::device::wait_for_bulk_groups(PENDING, false),
                          "cp.async.bulk.wait_group %0;" ::"n"(PENDING)
                          : "memory");
}

/// cp.async.bulk.wait_group.read: the same, but only until they have read shared memory.
template <int PENDING>
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
  TILE_HOPPER_INSTRUCTION(simt::device::wait_for_bulk_groups(PENDING, true),
                          "cp.async.bulk.wait_group.read %0;" ::"n"(PENDING)
                          : "memory");
}

// [snippet registers]
/// setmaxnreg.inc: raises the registers of each thread of the warpgroup (four warps, the
/// first a multiple of four) to REGISTERS; waits until the block has enough free. Compiles
/// to nothing for architectures other than 90a; of later ones, those with an "a" have it too.
/// PTX ISA, "setmaxnreg".
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_inc() {
  static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                "setmaxnreg takes 24 to 256 registers, in steps of 8");
#if TILE_ON_MODEL
  simt::device::set_registers(REGISTERS, true);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

/// setmaxnreg.dec: lowers them, and releases the rest.
template <int REGISTERS>
__device__ __forceinline__ void setmaxnreg_dec() {
  static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                "setmaxnreg takes 24 to 256 registers, in steps of 8");
#if TILE_ON_MODEL
  simt::device::set_registers(REGISTERS, false);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}
// [/snippet registers]

}  // namespace tile::ptx
