// cooperative_groups: the grid without its barrier, the cluster, the block, tiles of a warp, and reductions.
#pragma once

#include <type_traits>

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
};
SIMT_INLINE thread_block this_thread_block() { return {}; }

/// The blocks of a launch, x first. They have no barrier: the model runs only a few of them at a time.
class grid_group {
 public:
  SIMT_INLINE static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  SIMT_INLINE static unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  SIMT_INLINE static unsigned long long size() { return num_blocks() * thread_block::size(); }
  SIMT_INLINE static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
};
SIMT_INLINE grid_group this_grid() { return {}; }

/// The blocks of a cluster, x first; a block launched without clusters is a cluster of one.
class cluster_group {
 public:
  SIMT_INLINE static void sync() {
    simt::device::arrive_at_cluster_barrier();
    simt::device::wait_for_cluster_barrier();
  }
  SIMT_INLINE static unsigned block_rank() { return simt::device::cluster_rank(); }
  SIMT_INLINE static unsigned num_blocks() { return simt::device::cluster_blocks(); }
  /// The address in block `rank` that corresponds to `shared` in this block.
  template <class T>
  SIMT_INLINE static T* map_shared_rank(T* shared, int rank) {
    return static_cast<T*>(simt::device::map_to_block(const_cast<std::remove_cv_t<T>*>(shared), unsigned(rank)));
  }
};
SIMT_INLINE cluster_group this_cluster() { return {}; }

/// SIZE neighbouring lanes of one warp.
template <unsigned SIZE, class Parent = thread_block>
class thread_block_tile {
 public:
  static_assert(SIZE == 1 || SIZE == 2 || SIZE == 4 || SIZE == 8 || SIZE == 16 || SIZE == 32,
                "on the model a tile must have 1, 2, 4, 8, 16 or 32 threads");
  SIMT_INLINE static void sync() { __syncwarp(mask()); }
  SIMT_INLINE static unsigned size() { return SIZE; }
  SIMT_INLINE static unsigned num_threads() { return SIZE; }
  SIMT_INLINE static unsigned thread_rank() { return thread_block::thread_rank() % SIZE; }
  SIMT_INLINE static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
  SIMT_INLINE static int any(int predicate) { return __any_sync(mask(), predicate); }
  SIMT_INLINE static int all(int predicate) { return __all_sync(mask(), predicate); }
  SIMT_INLINE static unsigned ballot(int predicate) { return __ballot_sync(mask(), predicate) >> first_lane(); }
  template <class T>
  SIMT_INLINE static unsigned match_any(T value) {
    return __match_any_sync(mask(), value) >> first_lane();
  }
#define SIMT_TILE_SHUFFLE(name, Operand)                       \
  template <class T>                                           \
  SIMT_INLINE static T name(T value, Operand operand) {        \
    return __##name##_sync(mask(), value, operand, int(SIZE)); \
  }
  SIMT_TILE_SHUFFLE(shfl, int)
  SIMT_TILE_SHUFFLE(shfl_down, unsigned)
  SIMT_TILE_SHUFFLE(shfl_up, unsigned)
  SIMT_TILE_SHUFFLE(shfl_xor, unsigned)
#undef SIMT_TILE_SHUFFLE

 private:
  SIMT_INLINE static unsigned first_lane() { return thread_block::thread_rank() % 32 / SIZE * SIZE; }
  SIMT_INLINE static unsigned mask() { return unsigned(((1ull << SIZE) - 1) << first_lane()); }
};
template <unsigned SIZE, class Parent>
SIMT_INLINE thread_block_tile<SIZE, Parent> tiled_partition(const Parent&) {
  return {};
}

#define SIMT_GROUP_OPERATION(name, expression)                      \
  template <class T>                                                \
  struct name {                                                     \
    SIMT_INLINE T operator()(T a, T b) const { return expression; } \
  };
SIMT_GROUP_OPERATION(plus, a + b)
SIMT_GROUP_OPERATION(less, b < a ? b : a)
SIMT_GROUP_OPERATION(greater, a < b ? b : a)
#undef SIMT_GROUP_OPERATION
/// The values of all threads of the group, reduced with f; each thread gets the result.
template <class Group, class T, class F>
SIMT_INLINE T reduce(const Group& group, T value, F f) {
  T result = group.shfl(value, 0);
  for (int rank = 1; rank < int(group.size()); ++rank) result = f(result, group.shfl(value, rank));
  return result;
}

}  // namespace cooperative_groups
