// Thread block clusters: blocks that run concurrently and access each other's shared memory.
// Their launch, and their instructions, named and implemented as in ptx_mbarrier.hpp.
//
// A block must not access another block's shared memory before that block has started or after
// it has exited; cluster barriers at the start and end of the kernel ensure this. CUDA C++
// Programming Guide, "Distributed Shared Memory".
#pragma once

#include <cstdint>

#include "common/cuda/ptx_bulk.hpp"

namespace tile {

/// Launches `kernel` in clusters of `cluster` blocks, along x, y and z, of which the grid has a
/// whole number; else like launch().
template <class... Parameters, class... Arguments>
void launch_in_clusters(void (*kernel)(Parameters...), dim3 grid, dim3 cluster, dim3 block,
                        std::size_t shared_bytes, Arguments&&... arguments) {
  require_launchable(grid);
#if TILE_ON_GPU
  allow_shared(kernel, shared_bytes);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cuda_check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
             "kernel launch");
#else
  simt::run(simt::Bound<Parameters...>(kernel, std::forward<Arguments>(arguments)...), grid,
            block, shared_bytes, cluster);
#endif
}

namespace ptx {

/// %cluster_ctarank: the rank of this block within its cluster, x first. PTX ISA, "Special
/// Registers".
[[nodiscard]] __device__ __forceinline__ std::uint32_t cluster_ctarank() {
  std::uint32_t rank = 0;
  TILE_HOPPER_INSTRUCTION(rank = simt::device::cluster_rank(), "mov.u32 %0, %%cluster_ctarank;"
                          : "=r"(rank));
  return rank;
}

/// %cluster_nctarank: the number of blocks in the cluster.
[[nodiscard]] __device__ __forceinline__ std::uint32_t cluster_nctarank() {
  std::uint32_t blocks = 0;
  TILE_HOPPER_INSTRUCTION(blocks = simt::device::cluster_blocks(),
                          "mov.u32 %0, %%cluster_nctarank;"
                          : "=r"(blocks));
  return blocks;
}

/// mapa: the address in the shared memory of block `rank` that corresponds to `shared` in this
/// block's. Loads, stores and atomic operations accept it like any other address.
template <class T>
[[nodiscard]] __device__ __forceinline__ T* mapa(T* shared, std::uint32_t rank) {
  void* mapped = nullptr;
  TILE_HOPPER_INSTRUCTION(
      mapped = simt::device::map_to_block(const_cast<std::remove_cv_t<T>*>(shared), rank),
      "mapa.u64 %0, %1, %2;"
      : "=l"(mapped)
      : "l"(shared), "r"(rank));
  return static_cast<T*>(mapped);
}

/// barrier.cluster.arrive: arrives at the cluster barrier without waiting. Earlier memory
/// accesses of this thread are visible to all threads after the barrier.
__device__ __forceinline__ void barrier_cluster_arrive() {
  TILE_HOPPER_INSTRUCTION(simt::device::arrive_at_cluster_barrier(),
                          "barrier.cluster.arrive.release;" ::
                              : "memory");
}

/// barrier.cluster.wait: waits until all threads of the cluster have arrived or returned.
__device__ __forceinline__ void barrier_cluster_wait() {
  TILE_HOPPER_INSTRUCTION(simt::device::wait_for_cluster_barrier(),
                          "barrier.cluster.wait.acquire;" ::
                              : "memory");
}

/// mbarrier.arrive: one arrival at an mbarrier of any block of the cluster, addressed by mapa.
__device__ __forceinline__ void mbarrier_arrive_cluster(std::uint64_t* mbarrier) {
  TILE_HOPPER_INSTRUCTION(simt::device::mbarrier_arrive(mbarrier, 0),
                          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                              shared_address(mbarrier))
                          : "memory");
}

/// mbarrier_wait_parity for an mbarrier at which other blocks also arrive.
__device__ __forceinline__ void mbarrier_wait_parity_cluster(std::uint64_t* mbarrier,
                                                             std::uint32_t parity) {
  TILE_HOPPER_INSTRUCTION(
      mbarrier_wait_parity(mbarrier, parity),
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(mbarrier)),
      "r"(parity)
      : "memory");
}

/// cp.async.bulk.tensor with .multicast::cluster: copies the box to each block of the cluster
/// whose bit is set in `blocks`, to the offset that `shared` has in this block, and counts its
/// bytes at the mbarrier of that block with the same offset as `mbarrier`.
__device__ __forceinline__ void cp_async_bulk_tensor_multicast(void* shared,
                                                               const CUtensorMap& map, int x,
                                                               int y, std::uint64_t* mbarrier,
                                                               std::uint16_t blocks) {
  TILE_HOPPER_INSTRUCTION(
      simt::device::bulk_load(shared, map, x, y, mbarrier, blocks),
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(mbarrier)), "h"(blocks)
      : "memory");
}

}  // namespace ptx
}  // namespace tile
