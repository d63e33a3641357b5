// Which work a persistent block does, and how blocks combine their partials (chapter 17).
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

#include "common/cuda/ptx.hpp"
#include "common/cuda/thread_tile.hpp"

namespace tile {

// [snippet scheduler]
/// How the k-tiles of all block tiles are divided among the blocks of a grid.
struct TileScheduler {
  int tilesM, tilesN, k_tiles;  // block tiles of C, and k-tiles of each
  /// The first block tiles are split: their k-tiles are divided evenly among all blocks, one
  /// work unit each (stream-K). All other block tiles are whole.
  int split_tiles;
  int blocks;
  int group_rows;  // rows of block tiles in a raster group

  constexpr __host__ __device__ int tiles() const { return tilesM * tilesN; }
  /// Where work unit n begins, counted in k-tiles from the first of the first block tile.
  constexpr __host__ __device__ int begin_of(int n) const {
    return int(std::int64_t(split_tiles) * k_tiles * n / blocks);
  }
  /// Work units are numbered in reverse, so that a block only waits for blocks with a lower
  /// index, which usually start first.
  constexpr __host__ __device__ int unit_of(int block) const { return blocks - 1 - block; }
  constexpr __host__ __device__ int block_of(int unit) const { return blocks - 1 - unit; }

  /// Row and column of a block tile: down the columns of a raster group, then the next group.
  /// So whole block tiles computed at the same time share rows of A and columns of B in L2.
  constexpr __host__ __device__ Position position_of(int tile) const {
    const int before = tile / (group_rows * tilesN) * group_rows;  // rows in groups above
    const int height = tilesM - before < group_rows ? tilesM - before : group_rows;
    const int within = tile - before * tilesN;
    return {before + within % height, within / height};
  }
};

/// Iterates over the work of a block: first its work unit, which may reach over several block
/// tiles, then whole block tiles.
struct WorkTileIterator {
  int at, end;                           // of the work unit
  int whole;                             // the next whole block tile
  int tile = 0, k_begin = 0, k_end = 0;  // the work tile: k-tiles k_begin to k_end - 1

  constexpr __host__ __device__ WorkTileIterator(const TileScheduler& s, int block)
      : at(s.begin_of(s.unit_of(block))),
        end(s.begin_of(s.unit_of(block) + 1)),
        whole(s.split_tiles + block) {}

  /// Advances to the next work tile; false if there is none.
  constexpr __host__ __device__ bool next(const TileScheduler& s) {
    if (at < end) {
      tile = at / s.k_tiles;
      k_begin = at - tile * s.k_tiles;
      k_end = k_begin + end - at < s.k_tiles ? k_begin + end - at : s.k_tiles;
      at += k_end - k_begin;
      return true;
    }
    tile = whole, k_begin = 0, k_end = s.k_tiles;
    whole += s.blocks;
    return tile < s.tiles();
  }
};
// [/snippet scheduler]

/// Whole block tiles only, at most max_blocks at a time.
template <class Config>
constexpr TileScheduler whole_tiles(int M, int N, int K, int max_blocks) {
  TileScheduler s{
      (M - 1) / Config::BM + 1, (N - 1) / Config::BN + 1, (K - 1) / Config::BK + 1, 0, 1,
      Config::GROUP_ROWS};
  s.blocks = std::min(max_blocks, s.tiles());
  return s;
}

// [snippet stream-k]
/// Two-tile stream-K (Osama et al., 2023): of the block tiles that do not fill a wave, and one
/// more per block, every block gets an equal work unit, at least MIN_K_TILES long. A block
/// tile is split among at most MAX_SPLITS blocks on average.
template <class Config>
constexpr TileScheduler stream_k(int M, int N, int K, int max_blocks) {
  TileScheduler s = whole_tiles<Config>(M, N, K, max_blocks);
  const int tiles = s.tiles();
  const std::int64_t k_tiles = std::int64_t(tiles) * s.k_tiles;  // of all block tiles
  if (s.k_tiles < Config::MIN_K_TILES || k_tiles > INT_MAX) return s;
  s.blocks = int(std::min({std::int64_t(max_blocks), k_tiles / Config::MIN_K_TILES,
                           std::int64_t(Config::MAX_SPLITS) * tiles}));
  if (tiles % s.blocks != 0)
    s.split_tiles = tiles % s.blocks + (tiles > s.blocks ? s.blocks : 0);
  return s;
}
// [/snippet stream-k]

// [snippet fixup]
/// Partials of work tiles that do not begin their block tile, for the block whose work tile
/// does: one slot for each block.
struct Fixup {
  float4* partials;  // blocks x BM x BN / 4
  int* ready;        // by block: 1 from when its partials are stored until they are read
};

/// Which word of a float4 of partials holds accumulator n of four. SWAPPED: see chapter 18.
template <bool SWAPPED>
constexpr __host__ __device__ int word_of(int n) {
  return SWAPPED ? n ^ 1 : n;
}

/// Stores this block's partials and sets its flag. All THREADS call it; named barrier 1.
template <int THREADS, bool SWAPPED, int ROWS, int COLS>
__device__ __forceinline__ void store_partials(const float (&acc)[ROWS][COLS],
                                               const Fixup& fixup) {
  float4* to = fixup.partials + std::size_t(int(blockIdx.x)) * (THREADS * ROWS * COLS / 4) +
               threadIdx.x;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; j += 4) {
      const float4 four{acc[i][j + word_of<SWAPPED>(0)], acc[i][j + word_of<SWAPPED>(1)],
                        acc[i][j + word_of<SWAPPED>(2)], acc[i][j + word_of<SWAPPED>(3)]};
      to[(i * COLS + j) / 4 * THREADS] = four;
    }
  }
  ptx::barrier_sync_aligned(1, THREADS);  // all threads have stored theirs
  if (threadIdx.x == 0) {
    __threadfence();  // the partials are visible before the flag
    atomicExch(&fixup.ready[blockIdx.x], 1);
  }
  __syncwarp();  // reconverge the warp after the single-lane branch
}

/// Adds the partials of `block`, which are visible to this thread.
template <int THREADS, bool SWAPPED, int ROWS, int COLS>
__device__ __forceinline__ void add_visible(float (&acc)[ROWS][COLS], const Fixup& fixup,
                                            int block) {
  const float4* from =
      fixup.partials + std::size_t(block) * (THREADS * ROWS * COLS / 4) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; j += 4) {
      const float4 four = from[(i * COLS + j) / 4 * THREADS];
      acc[i][j + word_of<SWAPPED>(0)] += four.x;
      acc[i][j + word_of<SWAPPED>(1)] += four.y;
      acc[i][j + word_of<SWAPPED>(2)] += four.z;
      acc[i][j + word_of<SWAPPED>(3)] += four.w;
    }
  }
}

/// Waits for the partials of `block`, resets its flag, and adds them.
template <int THREADS, bool SWAPPED, int ROWS, int COLS>
__device__ __forceinline__ void add_partials(float (&acc)[ROWS][COLS], const Fixup& fixup,
                                             int block) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&fixup.ready[block], 1, 0) != 1) __nanosleep(32);
    __threadfence();  // the flag is read before the partials
  }
  ptx::barrier_sync_aligned(1, THREADS);  // the partials are visible to all threads
  add_visible<THREADS, SWAPPED>(acc, fixup, block);
}
// [/snippet fixup]

// [snippet fixup-at-once]
/// Waits for the partials of all other work units of a block tile at once, and adds them.
template <int THREADS, bool SWAPPED, int ROWS, int COLS>
__device__ __forceinline__ void add_all_partials(float (&acc)[ROWS][COLS], const Fixup& fixup,
                                                 const TileScheduler& s, int tile) {
  const int first = s.unit_of(int(blockIdx.x)) + 1, end = (tile + 1) * s.k_tiles;
  for (int n = first + int(threadIdx.x); s.begin_of(n) < end; n += THREADS)
    while (atomicCAS(&fixup.ready[s.block_of(n)], 1, 0) != 1) __nanosleep(32);
  __threadfence();                        // the flags are read before the partials
  ptx::barrier_sync_aligned(1, THREADS);  // they are visible to all threads
#pragma unroll 2
  for (int n = first; s.begin_of(n) < end; ++n)
    add_visible<THREADS, SWAPPED>(acc, fixup, s.block_of(n));
}
// [/snippet fixup-at-once]

}  // namespace tile
