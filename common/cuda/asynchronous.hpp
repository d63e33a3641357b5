// What the functions of ptx_mbarrier.hpp, ptx_bulk.hpp and cluster.hpp do on the model.
// Implemented in common/sim/execute/tma.cpp, registers.cpp and clusters.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda/boxed_matrix.hpp"

namespace simt {

/// What a CUtensorMap stands for: a matrix in global memory, and boxes of it that are copied at
/// once.
struct alignas(64) TensorMap : tile::BoxedMatrix {
  std::uintptr_t base = 0;
  std::uint32_t element = 0;  ///< bytes
  bool encoded = false;       ///< made by tensor_map, and not just any bytes

  std::uint32_t row_of_box() const { return std::uint32_t(box_cols) * element; }  ///< bytes
  std::uint32_t bytes_of_box() const { return std::uint32_t(box_rows) * row_of_box(); }
};
static_assert(sizeof(TensorMap) <= 128, "as large as a CUtensorMap at most");

namespace device {

// An mbarrier is 8 bytes of shared memory, a multiple of 8.
void mbarrier_init(void* mbarrier, std::uint32_t count);
/// Announces so many bytes for the current phase, and then counts as one arrival.
void mbarrier_arrive(void* mbarrier, std::uint32_t bytes);
/// Whether the phase of this parity is over; waits for that, but may give up.
bool mbarrier_try_wait(void* mbarrier, std::uint32_t parity);
/// Lets the asynchronous proxy see the mbarriers that this thread has initialised.
void fence_mbarrier_init();
/// What was done so far by one proxy is seen by the other, in shared memory or everywhere.
void fence_proxy_async(bool global_as_well);

// Copies in bulk. x counts columns, y rows; both may lie outside the matrix.
void bulk_load(void* to, const TensorMap& map, std::int32_t x, std::int32_t y, void* mbarrier);
void bulk_load(void* to, const void* from, std::uint32_t bytes, void* mbarrier);
void bulk_store(const TensorMap& map, std::int32_t x, std::int32_t y, const void* from);
void bulk_store(void* to, const void* from, std::uint32_t bytes);
void commit_bulk_group();
/// Waits until at most so many bulk groups of this thread are under way, or have yet to read
/// their source.
void wait_for_bulk_groups(int pending, bool reads_only);

/// A warp's threads have so many registers from here on, each: more than before, or fewer.
/// Waits for more until its block has them.
void set_registers(int registers, bool more);

// Clusters of blocks. A block that was launched without one is alone in its own.
[[gnu::const]] std::uint32_t cluster_rank();
[[gnu::const]] std::uint32_t cluster_blocks();
void* map_to_block(void* shared, std::uint32_t rank);
void arrive_at_cluster_barrier();
void wait_for_cluster_barrier();
/// A copy in bulk to each block whose bit is set.
void bulk_load_multicast(void* to, const TensorMap& map, std::int32_t x, std::int32_t y,
                         void* mbarrier, std::uint32_t blocks);

}  // namespace device
}  // namespace simt
