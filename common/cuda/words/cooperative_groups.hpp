// cooperative_groups as far as the model goes: the grid but for its barrier, the block and its cluster, tiles of a warp, the lanes that are
// active, and sums over a group of lanes.
#pragma once

#include <type_traits>

#include "common/cuda/asynchronous.hpp"
#include "common/cuda/words/vocabulary.hpp"

namespace cooperative_groups {

class thread_block {
 public:
  SIMT_INLINE static void sync() { __syncthreads(); }
  SIMT_INLINE static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  SIMT_INLINE static unsigned num_threads() { return size(); }
  SIMT_INLINE static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  SIMT_INLINE static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  SIMT_INLINE static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  SIMT_INLINE static dim3 group_dim() { return blockDim; }
  SIMT_INLINE static dim3 dim_threads() { return blockDim; }
};
SIMT_INLINE thread_block this_thread_block() { return {}; }

/// The blocks of a launch, x first. They cannot wait for each other: the model runs them a few at a time.
class grid_group {
 public:
  template <int CALLS = 0>
  SIMT_INLINE static void sync() {
    static_assert(CALLS != 0,
                  "a grid cannot wait for itself on the model: count the parts between its barriers as kernels");
  }
  SIMT_INLINE static dim3 group_dim() { return gridDim; }
  SIMT_INLINE static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  SIMT_INLINE static unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  SIMT_INLINE static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
  SIMT_INLINE static unsigned long long size() { return num_threads(); }
  SIMT_INLINE static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
};
SIMT_INLINE grid_group this_grid() { return {}; }

/// The blocks of a cluster, x first; a block that was launched without one is alone in its own.
class cluster_group {
 public:
  struct arrival_token {};
  SIMT_INLINE static arrival_token barrier_arrive() {
    simt::device::arrive_at_cluster_barrier();
    return {};
  }
  SIMT_INLINE static void barrier_wait() { simt::device::wait_for_cluster_barrier(); }
  SIMT_INLINE static void barrier_wait(arrival_token&&) { barrier_wait(); }
  SIMT_INLINE static void sync() {
    barrier_arrive();
    barrier_wait();
  }
  SIMT_INLINE static unsigned block_rank() { return simt::device::cluster_rank(); }
  SIMT_INLINE static unsigned num_blocks() { return simt::device::cluster_blocks(); }
  SIMT_INLINE static unsigned num_threads() { return num_blocks() * thread_block::size(); }
  SIMT_INLINE static unsigned size() { return num_threads(); }
  SIMT_INLINE static unsigned thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  /// Where block `rank` has what this block has at `shared`.
  template <class T>
  SIMT_INLINE static T* map_shared_rank(T* shared, int rank) {
    return static_cast<T*>(simt::device::map_to_block(const_cast<std::remove_cv_t<T>*>(shared), unsigned(rank)));
  }
};
SIMT_INLINE cluster_group this_cluster() { return {}; }

/// Lanes of one warp, as a mask; those of a tile are neighbours.
class lanes {
 public:
  SIMT_INLINE lanes(unsigned mask, bool are_neighbours)
      : mask_(mask), first_(are_neighbours ? std::countr_zero(mask) : 0) {}
  SIMT_INLINE void sync() const { __syncwarp(mask_); }
  SIMT_INLINE unsigned size() const { return unsigned(std::popcount(mask_)); }
  SIMT_INLINE unsigned num_threads() const { return size(); }
  SIMT_INLINE unsigned thread_rank() const {
    const unsigned lane = thread_block::thread_rank() % 32;
    return unsigned(std::popcount(mask_ & ((1u << lane) - 1)));
  }
  SIMT_INLINE int any(int predicate) const { return __any_sync(mask_, predicate); }
  SIMT_INLINE int all(int predicate) const { return __all_sync(mask_, predicate); }
  SIMT_INLINE unsigned ballot(int predicate) const { return of_ranks(__ballot_sync(mask_, predicate)); }
  template <class T>
  SIMT_INLINE unsigned match_any(T value) const {
    return of_ranks(__match_any_sync(mask_, value));
  }
  template <class T>
  SIMT_INLINE T shfl(T value, int rank) const {
    return __shfl_sync(mask_, value, lane_of(rank), 32);
  }
  template <class T>
  SIMT_INLINE T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank() + delta;
    return __shfl_sync(mask_, value, lane_of(int(rank < size() ? rank : thread_rank())), 32);
  }
  template <class T>
  SIMT_INLINE T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(int(rank >= delta ? rank - delta : rank)), 32);
  }
  template <class T>
  SIMT_INLINE T shfl_xor(T value, unsigned ranks) const {
    return __shfl_sync(mask_, value, lane_of(int(thread_rank() ^ ranks)), 32);
  }

 private:
  /// Of lanes of the warp, those of the group as they are counted there.
  SIMT_INLINE unsigned of_ranks(unsigned lanes) const { return lanes >> first_; }
  /// The lane with a rank among those of the mask.
  SIMT_INLINE int lane_of(int rank) const {
    unsigned rest = mask_;
    for (int i = 0; i < rank; ++i) rest &= rest - 1;
    return std::countr_zero(rest);
  }
  unsigned mask_;
  int first_;  // lane of a tile; else 0
};

template <unsigned SIZE, class Parent = thread_block>
class thread_block_tile : public lanes {
 public:
  static_assert(SIZE == 1 || SIZE == 2 || SIZE == 4 || SIZE == 8 || SIZE == 16 || SIZE == 32,
                "a tile has 1, 2, 4, 8, 16 or 32 threads on the model");
  SIMT_INLINE thread_block_tile() : lanes(mask(), true) {}
  SIMT_INLINE unsigned meta_group_size() const { return (thread_block::size() + SIZE - 1) / SIZE; }
  SIMT_INLINE unsigned meta_group_rank() const { return thread_block::thread_rank() / SIZE; }

 private:
  SIMT_INLINE static unsigned mask() {
    const unsigned first = thread_block::thread_rank() % 32 / SIZE * SIZE;
    return SIZE == 32 ? 0xffffffffu : ((1u << SIZE % 32) - 1) << first;
  }
};
template <unsigned SIZE, class Parent>
SIMT_INLINE thread_block_tile<SIZE, Parent> tiled_partition(const Parent&) {
  return {};
}

using coalesced_group = lanes;
SIMT_INLINE coalesced_group coalesced_threads() { return {__activemask(), false}; }
template <class Group>
SIMT_INLINE void sync(const Group& group) {
  group.sync();
}

#define SIMT_GROUP_OPERATION(name, expression)                      \
  template <class T>                                                \
  struct name {                                                     \
    SIMT_INLINE T operator()(T a, T b) const { return expression; } \
  };
SIMT_GROUP_OPERATION(plus, a + b)
SIMT_GROUP_OPERATION(less, b < a ? b : a)
SIMT_GROUP_OPERATION(greater, a < b ? b : a)
SIMT_GROUP_OPERATION(bit_and, a& b)
SIMT_GROUP_OPERATION(bit_or, a | b)
SIMT_GROUP_OPERATION(bit_xor, a ^ b)
#undef SIMT_GROUP_OPERATION
/// What all threads of the group have, put together by f; each gets it.
template <class Group, class T, class F>
SIMT_INLINE T reduce(const Group& group, T value, F f) {
  T result = group.shfl(value, 0);
  for (int rank = 1; rank < int(group.size()); ++rank) result = f(result, group.shfl(value, rank));
  return result;
}

}  // namespace cooperative_groups
