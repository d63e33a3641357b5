// Tile by Tile, chapter 19: a tile for every shape.
//
// Question: chapter 18's kernel needs large squares. What does a library need for all other
// shapes? Idea: the same kernel with smaller block tiles, which can read A as it lies where a
// transposition would cost too much, and words of matrices that TMA cannot read; K split evenly
// where there are few block tiles; and a cost model of five lines that chooses.
// Previous chapter: 18, whose kernel is `Large`. A row or a column goes to chapter 20's kernels.
//
// Build, run, verify:   ./tile run 19      ctest --preset model -R chapter19
#include <cmath>

#include "chapters/19-shapes/sweep.hpp"
#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"

namespace skinny {
#define TILE_KERNELS_ONLY
#include "chapters/20-row-or-column/chapter20.cu"
}  // namespace skinny

namespace {

namespace ptx = tile::ptx;

// [snippet config]
// How a k-tile of A reaches shared memory.
enum class From {
  transposed,  // by TMA, BK x BM, from a copy of A that was transposed before
  rows,        // by TMA, BM x BK, from A as it lies; a swizzle spreads its rows over the banks
  words        // BK x BM, word by word, as B is, by cp.async, from wherever rows begin
};

template <int BM_, int BN_, int WM_, int WN_, int STAGES_, int BLOCKS_, From FROM,
          int REGISTERS = 0, bool SPLIT_K_ = false>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = 16;  // block tile
  static constexpr int WM = WM_, WN = WN_;           // warp tile
  static constexpr int STAGES = STAGES_;             // k-tiles in shared memory
  static constexpr int BLOCKS = BLOCKS_;             // resident blocks per SM
  static constexpr bool TRANSPOSED = FROM != From::rows, WORDS = FROM == From::words;
  static constexpr bool SPLIT_K = SPLIT_K_;  // evenly; a second kernel adds the partials
  static constexpr bool TOGETHER = FROM != From::transposed && BLOCKS > 1;  // add partials
  static constexpr int GROUP_ROWS = 8;  // rows of block tiles in a raster group
  static constexpr int MAX_SPLITS = BM == 64 ? 16 : 8, MIN_K_TILES = SPLIT_K || WORDS ? 4 : 8;
  static constexpr int ROWS = WM / 4, COLS = WN / 8;         // accumulators of a thread
  static constexpr int CONSUMERS = BM * BN / (ROWS * COLS);  // threads
  // REGISTERS, if any, are a consumer's, and 128 producers share the rest of those of a block
  static constexpr bool REALLOCATED = REGISTERS > 0;
  static constexpr int PRODUCERS = REALLOCATED ? 128 : 32, NUM_THREADS = CONSUMERS + PRODUCERS;
  static constexpr int CONSUMER_REGISTERS = REGISTERS;
  static constexpr int PRODUCER_REGISTERS =
      (65536 / BLOCKS / NUM_THREADS / 8 * 8 * NUM_THREADS - CONSUMERS * REGISTERS) / 128;
  static constexpr int WORDS_A = BK * BM, STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr unsigned STAGE_BYTES = STAGE_WORDS * sizeof(float);
  static constexpr int SMEM_BYTES = STAGES * int(STAGE_BYTES);
  static constexpr int LAG = STAGES - 2;  // k-tiles of words that are in flight
  // arrivals at an mbarrier: a thread for TMA and one of each warp that reads, or all threads
  static constexpr int FILLED = WORDS ? PRODUCERS : 1,
                       READ = WORDS ? CONSUMERS : CONSUMERS / 32;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % (TRANSPOSED ? 32 : 16) == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32; half the "
                "loads of A transposed come before those of B");
  static_assert(BM <= 256 && BN <= 256, "a box has at most 256 elements along each side");
  static_assert(STAGE_BYTES % (TRANSPOSED ? 128 : 512) == 0 && WORDS_A * 4 % 128 == 0,
                "a box begins at a multiple of 128 bytes, a swizzled one at one of 512");
  static_assert(STAGES >= 3 && STAGES <= 64, "a k-tile is copied while another is multiplied");
  static_assert(!WORDS || (BM % 16 == 0 && PRODUCERS % BN == 0),
                "producers copy 16 rows of A or whole rows of B at once");
  static_assert(!REALLOCATED || (CONSUMERS % 128 == 0 && PRODUCER_REGISTERS >= 24),
                "four warps change their registers together, within those that the block was "
                "launched with: setmaxnreg would wait forever");
  static_assert(BLOCKS * (SMEM_BYTES + 2048) <= 228 * 1024 && SMEM_BYTES > 48 * 1024,
                "an SM has 228 KB of shared memory, of which each block's mbarriers and the "
                "driver take 2 KB; the launcher opts in to more than 48 KB");
};
using Large = Config<256, 128, 64, 64, 6, 1, From::transposed, 240>;
using LargeWords = Config<256, 128, 64, 64, 6, 1, From::words, 216>;
using Medium = Config<64, 128, 32, 64, 8, 2, From::rows>;
using MediumTransposed = Config<64, 128, 32, 64, 8, 2, From::transposed>;
using MediumWords = Config<64, 128, 32, 64, 8, 2, From::words, 160>;
using Small = Config<64, 64, 32, 32, 8, 3, From::rows>;
using SmallTransposed = Config<64, 64, 32, 32, 8, 3, From::transposed>;
using Words = Config<64, 64, 32, 32, 8, 3, From::words, 104>;
using SplitK = Config<64, 64, 32, 32, 8, 3, From::rows, 0, true>;
using Thin = Config<16, 256, 16, 64, 4, 3, From::rows>;  // few rows: they share reads of B
using Narrow =
    Config<128, 32, 32, 32, 6, 3, From::rows>;  // few columns: they share reads of A
// [/snippet config]

// [snippet maps]
// Where an element of a k-tile of A lies in its stage: in rows of 64 bytes with TMA's swizzle of
// 64 bytes, or in columns. Those that words are copied to have a swizzle as well: without it,
// those of eight neighbouring words would begin in the same bank.
template <class C>
constexpr __host__ __device__ int offset_in_As(int row, int k) {
  if (C::TRANSPOSED) return k * C::BM + (C::WORDS ? row ^ k % 4 * 4 : row);
  return int(tile::swizzled(tile::Swizzle::bytes64, unsigned(row * 64 + k * 4)) / 4);
}
// Which chunk of the i-th row of a thread's accumulators has k-steps 4n to 4n + 3, as its first
// row numbers them: TMA XORs the number of a chunk with that of a pair of rows.
constexpr __host__ __device__ int chunk_of(int n, int i) { return n ^ i % 4 / 2; }
// The word of A that a producer copies first.
constexpr __host__ __device__ tile::Position word_of_A(int thread) {
  return {thread / 8, thread % 8};
}
// [/snippet maps]

// A matrix as the producers of words need it.
struct Matrix {
  const float* first;
  int rows, cols, ld;
};
template <class Config>
using Operand = std::conditional_t<Config::WORDS, Matrix, CUtensorMap>;

// [snippet words]
// Starts this thread's part of the copy of ROWS x COLS words. Its first is at (row, col), every
// DOWN-th row and RIGHT-th column follow, and go TO_DOWN or TO_RIGHT words further in shared
// memory. Words outside the matrix are zero.
template <int ROWS, int COLS, int DOWN, int RIGHT, int TO_DOWN, int TO_RIGHT>
__device__ __forceinline__ void copy_words(const Matrix& from, int row, int col, float* to) {
  const float* word = from.first + std::size_t(row) * from.ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += DOWN, word += std::size_t(DOWN) * from.ld) {
#pragma unroll
    for (int j = 0; j < COLS; j += RIGHT) {
      float* const at = to + i / DOWN * TO_DOWN + j / RIGHT * TO_RIGHT;
      if (row + i < from.rows && col + j < from.cols)
        ptx::cp_async_ca<4>(at, word + j);  //@ load-word store-word
      else
        *at = 0.0f;  //@ store-zero
    }
  }
}
// [/snippet words]

// Waits for the partials of all work units from number n on that begin before `end`, each thread
// for another flag, and adds them: little by little, as chapter 17 does, would take longer.
template <class Config>
__device__ __forceinline__ void add_all_partials(float (&acc)[Config::ROWS][Config::COLS],
                                                 const tile::Fixup& fixup,
                                                 const tile::TileScheduler& scheduler, int n,
                                                 int end) {
  for (int m = n + int(threadIdx.x); scheduler.begin_of(m) < end; m += Config::CONSUMERS)
    while (atomicCAS(&fixup.ready[scheduler.block_of(m)], 1, 0) != 1)  //@ wait-ready
      __nanosleep(32);
  __threadfence();                                  // the flags are read before the partials
  ptx::barrier_sync_aligned(1, Config::CONSUMERS);  // all partials are visible to all threads
#pragma unroll 2
  for (; scheduler.begin_of(n) < end; ++n)
    tile::add_visible<Config::CONSUMERS, true>(  //@ load-partials
        acc, fixup, scheduler.block_of(n));
}

// [snippet signature]
// VECTORISED: tiles of C are whole, and its float4s are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_tiles(const __grid_constant__ Operand<Config> A,
                const __grid_constant__ Operand<Config> B,
                const __grid_constant__ tile::TileScheduler scheduler,
                const __grid_constant__ tile::Fixup fixup,  //
                int M, int N, float alpha, float beta, float* C, int ldc) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  constexpr int CONSUMERS = Config::CONSUMERS, PRODUCERS = Config::PRODUCERS;
  constexpr bool TRANSPOSED = Config::TRANSPOSED, WORDS = Config::WORDS;
  // STAGES times: a k-tile of A, BK x BM or BM x BK, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  // of each stage; both arrays together have 1 KB, so that the stages are aligned to it
  __shared__ std::uint64_t full[64], empty[64];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(&full[stage], Config::FILLED);
      ptx::mbarrier_init(&empty[stage], Config::READ);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised
  // [/snippet signature]

  // [snippet producer]
  if (threadIdx.x >= CONSUMERS) {
    if constexpr (Config::REALLOCATED) ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
    if (!WORDS && threadIdx.x > CONSUMERS) return;
    int stage = 0, pending = 0;  // pending: k-tiles of words that have not been announced
    unsigned parity = 1;         // all stages are empty
    const auto announce = [&] {  // that the oldest pending k-tile has landed
      ptx::mbarrier_arrive(
          &full[stage >= pending ? stage - pending : stage - pending + STAGES]);
      --pending;
    };
    const auto copy = [&](tile::Position tile, int k_tile) {
      ptx::mbarrier_wait_parity(&empty[stage], parity);
      float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      if constexpr (WORDS) {
        const int thread = int(threadIdx.x) - CONSUMERS;
        const auto [row, k] = word_of_A(thread);
        copy_words<BM, BK, 16, 8, 16, 8 * BM>(A, tile.row * BM + row, k_tile * BK + k,
                                              As + offset_in_As<Config>(row, k));
        copy_words<BK, BN, PRODUCERS / BN, BN, PRODUCERS, 0>(
            B, k_tile * BK + thread / BN, tile.col * BN + thread % BN, Bs + thread);
        ptx::cp_async_commit_group();
        ptx::cp_async_wait_group<Config::LAG>();
      } else {
        ptx::mbarrier_arrive_expect_tx(&full[stage], Config::STAGE_BYTES);
        const int x = TRANSPOSED ? tile.row * BM : k_tile * BK,
                  y = TRANSPOSED ? k_tile * BK : tile.row * BM;
        ptx::cp_async_bulk_tensor(As, A, x, y, &full[stage]);         //@ load-A store-As
        ptx::cp_async_bulk_tensor(Bs, B, tile.col * BN, k_tile * BK,  //@ load-B store-Bs
                                  &full[stage]);
      }
      if (++stage == STAGES) stage = 0, parity ^= 1;
      if (WORDS && ++pending > Config::LAG) announce();
    };
    tile::WorkTileIterator work(scheduler, int(blockIdx.x));
    tile::Position tile{};
    while (work.next(scheduler)) {
      tile = scheduler.position_of(work.tile);
#pragma unroll 1
      for (int k_tile = work.k_begin; k_tile < work.k_end; ++k_tile) copy(tile, k_tile);
    }
    // consumers load operands one k-step ahead: after the last k-tile, of one never multiplied
    copy(tile, 0);
    if constexpr (WORDS) {
      ptx::cp_async_wait_group<0>();
      while (pending > 0) announce();
    }
    return;
  }
  // [/snippet producer]

  // [snippet operands]
  if constexpr (Config::REALLOCATED) ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = tile::thread_tile_of(int(threadIdx.x));
  float acc[ROWS][COLS];
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  float4 chunks[ROWS];                 // of four k-steps of A in rows
  // Of A transposed, words differ in where k-steps begin, by their remainder; of A in rows, the
  // first two chunks and the others begin apart.
  const int row = warpRow + threadRow;
  const char* firstA[4];
#pragma unroll
  for (int n = 0; n < 4; ++n)
    firstA[n] = reinterpret_cast<const char*>(
        stages + (WORDS        ? offset_in_As<Config>(row, n) - n * BM
                  : TRANSPOSED ? row
                               : offset_in_As<Config>(row, n % 2 * 8)));
  const char* const firstB =
      reinterpret_cast<const char*>(stages + Config::WORDS_A + warpCol + threadCol);
  // Loads the operands of a k-step from the stage at this offset, in bytes; of A in rows only
  // those of B.
  const auto load_operands = [&](int offset, int dotIdx) {
    if constexpr (TRANSPOSED) {
      tile::load_operands(  //@ load-operands
          reinterpret_cast<const float*>(firstA[WORDS ? dotIdx % 4 : 0] + offset) +
              dotIdx * BM,
          reinterpret_cast<const float*>(firstB + offset) + dotIdx * BN, regM[dotIdx % 2],
          regN[dotIdx % 2]);
    } else {
#pragma unroll
      for (int j = 0; j < COLS; j += 4) {
        float(&to)[COLS] = regN[dotIdx % 2];
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-operands
            firstB + offset + 4 * (dotIdx * BN + tile::col_of(j)));
        to[j] = four.x, to[j + 1] = four.y, to[j + 2] = four.z, to[j + 3] = four.w;
      }
    }
  };
  // Loads four k-steps of A in rows.
  const auto load_chunks = [&](int offset, int dotIdx) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const int chunk = chunk_of(dotIdx / 4, i);
      chunks[i] = *reinterpret_cast<const float4*>(  //@ load-chunks
          firstA[chunk / 2] + offset + 4 * (tile::row_of(i) * BK + chunk % 2 * 4));
    }
  };
  // [/snippet operands]

  // [snippet main-loop]
  int offset = 0;                               // of the stage, in bytes
  std::uint64_t *landed = full, *read = empty;  // its mbarriers
  unsigned parity = 0;
  // Waits until the next stage is full, then releases this one.
  const auto next_stage = [&] {
    std::uint64_t* const used = read;
    ++landed, ++read, offset += int(Config::STAGE_BYTES);
    const bool wraps = landed == full + STAGES;
    if (wraps) landed = full, read = empty, offset = 0;
    parity ^= unsigned(wraps);
    ptx::mbarrier_wait_parity(landed, parity);
    __syncwarp();  // all lanes have loaded their last operands of the stage
    if (WORDS || threadIdx.x % 32 == 0) ptx::mbarrier_arrive(used);
  };
  ptx::mbarrier_wait_parity(landed, parity);
  load_operands(0, 0);
  if constexpr (!TRANSPOSED) load_chunks(0, 0);
  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
#pragma unroll 1
  while (work.next(scheduler)) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLS; ++j) acc[i][j] = 0.0f;
#pragma unroll 1
    for (int k_tile = work.k_begin; k_tile < work.k_end; ++k_tile) {
#pragma unroll
      for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
        if (dotIdx == BK - 1) next_stage();
        load_operands(offset, (dotIdx + 1) % BK);
        if constexpr (!TRANSPOSED) {
#pragma unroll
          for (int i = 0; i < ROWS; ++i) {
            const float of_row[4] = {chunks[i].x, chunks[i].y, chunks[i].z, chunks[i].w};
            regM[dotIdx % 2][i] = of_row[dotIdx % 4];
          }
        }
        tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
        if (!TRANSPOSED && dotIdx % 4 == 3) load_chunks(offset, (dotIdx + 1) % BK);
      }
    }
    // [/snippet main-loop]

    // [snippet fixup]
    // With SPLIT_K the second kernel adds; else the block that begins this block tile.
    if (Config::SPLIT_K ? scheduler.split_tiles > 0 : work.k_begin > 0) {
      tile::store_partials<CONSUMERS, true>(acc, fixup);  //@ store-partials
      continue;
    }
    const int end = (work.tile + 1) * scheduler.k_tiles;
    const int next = scheduler.unit_of(int(blockIdx.x)) + 1;
    if (work.k_end < scheduler.k_tiles) {
      if constexpr (Config::TOGETHER)
        add_all_partials<Config>(acc, fixup, scheduler, next, end);
      else
        for (int n = next; scheduler.begin_of(n) < end; ++n)
          tile::add_partials<CONSUMERS, true>(  //@ load-partials wait-ready
              acc, fixup, scheduler.block_of(n));
    }
    const tile::Position tile = scheduler.position_of(work.tile);
    tile::store_accumulators<VECTORISED>(  //@ load-C store-C
        acc, tile.row * BM + warpRow + threadRow, tile.col * BN + warpCol + threadCol, M, N,
        alpha, beta, C, ldc);
    if constexpr (!VECTORISED) __syncwarp();  // reconverge the warp after predicated stores
  }
  // [/snippet fixup]
}

// [snippet split-k]
// Adds the partials of all splits, in a fixed order, and stores C. A block has one float4 of each
// thread of a consumer warp: its warps add every sixteenth split each, and then 128 threads an
// element each.
constexpr int ADDERS = 16;
template <class Config>
__global__ void __launch_bounds__(32 * ADDERS)
    add_splits(const __grid_constant__ tile::TileScheduler scheduler, const float4* partials,
               int M, int N, float alpha, float beta, float* C, int ldc) {
  __shared__ float4 sums[ADDERS][32];
  constexpr int QUADS = Config::ROWS * Config::COLS / 4, WARPS = Config::CONSUMERS / 32;
  const int splits = scheduler.blocks / scheduler.tiles();
  const int number = int(blockIdx.x) / (QUADS * WARPS), quad = int(blockIdx.x) / WARPS % QUADS;
  const int warp = int(blockIdx.x) % WARPS, laneId = int(threadIdx.x) % 32;
  const float4* from = partials + quad * Config::CONSUMERS + warp * 32 + laneId;
  float4 sum{};
#pragma unroll 4
  for (int n = int(threadIdx.x) / 32; n < splits; n += ADDERS) {
    const float4 four = from[std::size_t(scheduler.block_of(number * splits + n)) *
                             (Config::BM * Config::BN / 4)];  //@ load-split
    sum = {sum.x + four.x, sum.y + four.y, sum.z + four.z, sum.w + four.w};
  }
  sums[threadIdx.x / 32][laneId] = sum;
  __syncthreads();  // all warps have stored their sums
  if (threadIdx.x >= 128) return;
  float total = 0.0f;
#pragma unroll
  for (int n = 0; n < ADDERS; ++n)
    total += reinterpret_cast<const float*>(sums[n])[threadIdx.x];
  const int thread = warp * 32 + int(threadIdx.x) / 4;
  const tile::Position tile = scheduler.position_of(number),
                       ofWarp = tile::warp_tile_of<Config>(thread),
                       ofThread = tile::thread_tile_of(thread);
  const int row = tile.row * Config::BM + ofWarp.row + ofThread.row +
                  tile::row_of(quad * 4 / Config::COLS);
  const int col =
      tile.col * Config::BN + ofWarp.col + ofThread.col +
      tile::col_of(quad * 4 % Config::COLS + tile::word_of<true>(int(threadIdx.x) % 4));
  if (row >= M || col >= N) return;
  float& c = C[std::size_t(row) * ldc + col];
  c = alpha * total + (beta == 0.0f ? 0.0f : beta * c);  //@ store-sum
}
// [/snippet split-k]

// [snippet launch]
// Repacks A and B by one launch: a second one would take as long as a small product.
template <bool TRANSPOSE_A>
__global__ void __launch_bounds__(tile::REPACK_THREADS)
    repack_both(const __grid_constant__ tile::Copy A, const __grid_constant__ tile::Copy B,
                int blocksA) {
  const bool ofA = int(blockIdx.x) < blocksA;
  if (ofA)
    tile::repack_block<TRANSPOSE_A>(blockIdx.x, A.rows, A.cols, A.from, A.ldFrom, A.to,
                                    A.ldTo);
  else
    tile::repack_block<false>(blockIdx.x - blocksA, B.rows, B.cols, B.from, B.ldFrom, B.to,
                              B.ldTo);
}

// Stream-K, or with SPLIT_K as many splits of each block tile as there are resident blocks for.
template <class Config>
constexpr tile::TileScheduler schedule(int M, int N, int K, int sms) {
  if constexpr (!Config::SPLIT_K) return tile::stream_k<Config>(M, N, K, sms * Config::BLOCKS);
  tile::TileScheduler s = tile::whole_tiles<Config>(M, N, K, sms * Config::BLOCKS);
  const int splits =
      std::min(sms * Config::BLOCKS / s.tiles(), s.k_tiles / Config::MIN_K_TILES);
  if (splits > 1 && std::int64_t(s.tiles()) * s.k_tiles <= INT_MAX)
    s.blocks = splits * s.tiles(), s.split_tiles = s.tiles();
  return s;
}

template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        scheduler_(schedule<Config>(g.M, g.N, g.K, tile::machine::device().sms)),
        A_(g.M, g.K, Config::WORDS ? nullptr : g.A, Config::WORDS ? 0 : g.lda, "A repacked"),
        B_(g.K, g.N, Config::WORDS ? nullptr : g.B, Config::WORDS ? 0 : g.ldb, "B repacked"),
        partials_(slots(), Config::BM * Config::BN / 4, "partials"),
        ready_(1, slots(), "ready") {
    const std::vector<int> none(slots());
    if (!none.empty())
      tile::machine::copy_to_device(ready_.get(), none.data(), none.size() * sizeof(int));
    if constexpr (Config::WORDS) {
      operandA_ = {g.A, g.M, g.K, g.lda}, operandB_ = {g.B, g.K, g.N, g.ldb};
    } else {
      operandA_ = Config::TRANSPOSED
                      ? tile::tensor_map(A_.get(), {g.K, g.M, A_.ld(), Config::BK, Config::BM})
                      : tile::tensor_map(A_.get(), {g.M, g.K, A_.ld(), Config::BM, Config::BK,
                                                    tile::Swizzle::bytes64});
      operandB_ = tile::tensor_map(B_.get(), {g.K, g.N, B_.ld(), Config::BK, Config::BN});
    }
  }

  void run() override {
    if (const int blocks = A_.blocks() + B_.blocks(); blocks > 0)
      tile::launch(repack_both<Config::TRANSPOSED>, dim3(unsigned(blocks)),
                   dim3(tile::REPACK_THREADS), 0, A_.copy(), B_.copy(), A_.blocks());
    const bool vectorised = g_.M % Config::BM == 0 && g_.N % Config::BN == 0 &&
                            g_.ldc % 4 == 0 &&
                            reinterpret_cast<std::uintptr_t>(g_.C) % 16 == 0;
    tile::launch(vectorised ? sgemm_tiles<Config, true> : sgemm_tiles<Config, false>,
                 dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS),
                 Config::SMEM_BYTES, operandA_, operandB_, scheduler_,
                 tile::Fixup{partials_.get(), ready_.get()}, g_.M, g_.N, g_.alpha, g_.beta,
                 g_.C, g_.ldc);
    if constexpr (Config::SPLIT_K)
      if (scheduler_.split_tiles > 0)
        tile::launch(add_splits<Config>,
                     dim3(unsigned(scheduler_.tiles() * Config::BM * Config::BN / 128)),
                     dim3(32 * ADDERS), 0, scheduler_, partials_.get(), g_.M, g_.N, g_.alpha,
                     g_.beta, g_.C, g_.ldc);
  }

 private:
  std::size_t slots() const {
    return scheduler_.split_tiles > 0 ? std::size_t(scheduler_.blocks) : 0;
  }

  tile::Gemm g_;
  tile::TileScheduler scheduler_;
  tile::Repacked<Config::TRANSPOSED> A_;
  tile::Repacked<false> B_;
  tile::DeviceMatrix<float4> partials_;
  tile::DeviceMatrix<int> ready_;
  Operand<Config> operandA_, operandB_;
};

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error(
        "chapter 19 needs mbarriers and TMA, and so compute capability 9.0 and a program "
        "compiled for it");
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]

// [snippet model]
// The cost model, in microseconds. All constants are to be fitted to the sweep.
struct Cost {
  double fixed;    // launch, filling and draining the pipeline
  double per_fma;  // millionths, of each multiply-add, also outside C
  double fill;     // blocks per SM from which on all SMs are busy
};
constexpr double PREPASS = 6, PER_ELEMENT = 2;  // its launch; millionths, of each element

double modelled(const Cost& cost, double padded, int blocks, double repacked) {
  const double idle = cost.fill * tile::machine::device().sms / blocks;
  return cost.fixed + cost.per_fma * 1e-6 * padded * std::max(1.0, idle) +
         (repacked > 0 ? PREPASS + PER_ELEMENT * 1e-6 * repacked : 0);
}
// [/snippet model]

// [snippet sgemm]
// Calls f(name, configuration, cost) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("large", Large{}, Cost{25.0, 0.0353, 1.0});
  f("medium", Medium{}, Cost{14.9, 0.0411, 1.1});
  f("medium_transposed", MediumTransposed{}, Cost{18.7, 0.0373, 1.3});
  f("small", Small{}, Cost{11.8, 0.0438, 1.3});
  f("small_transposed", SmallTransposed{}, Cost{11.6, 0.0408, 1.6});
  f("split_k", SplitK{}, Cost{10.0, 0.0486, 0.1});
  f("thin", Thin{}, Cost{10.5, 0.0456, 1.1});
  f("narrow", Narrow{}, Cost{10.4, 0.0553, 0.9});
  f("words", Words{}, Cost{9.8, 0.0480, 1.2});
  f("medium_words", MediumWords{}, Cost{16.0, 0.0420, 1.3});
  f("large_words", LargeWords{}, Cost{25.0, 0.0372, 1.0});
}

using tile::Way;  // a kernel's name, modelled time and prepare

template <class C>
Way way_of(const char* name, const tile::Gemm& g, const Cost& cost) {
  const tile::TileScheduler s = schedule<C>(g.M, g.N, g.K, tile::machine::device().sms);
  const auto rows_aligned = [](const float* matrix, int ld) {
    return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && ld % 4 == 0;
  };
  double repacked = 0;
  if (!C::WORDS && (C::TRANSPOSED || !rows_aligned(g.A, g.lda))) repacked += double(g.M) * g.K;
  if (!C::WORDS && !rows_aligned(g.B, g.ldb)) repacked += double(g.K) * g.N;
  const bool few =
      C::SPLIT_K && s.blocks < 8 * s.tiles();  // splits: not worth a second kernel
  const double us =
      modelled(cost, double(s.tiles()) * C::BM * C::BN * g.K, s.blocks, repacked);
  return {name, few ? INFINITY : us, prepare<C>};
}

// The ways that come into question for a product.
std::vector<Way> ways_of(const tile::Gemm& g) {
  using skinny::Columns, skinny::Rows;
  if (g.N == 1) return {{"column", 0, skinny::prepare<skinny::Column>}};
  if (g.N <= 4) return {{"columns", 0, skinny::prepare<Columns>}};
  if (g.M <= 8) return {{"rows", 0, skinny::prepare_rows}};
  std::vector<Way> ways;
  for_each_config([&]<class C>(const char* name, C, const Cost& cost) {
    ways.push_back(way_of<C>(name, g, cost));
  });
  const auto add = [&]<class C>(const char* name, C, const Cost& cost, tile::Prepare prepare) {
    const double tiles = double(tile::ceil_div(g.M, C::BM)) * tile::ceil_div(g.N, C::BN);
    const auto split = skinny::split_for<C>(g.M, g.N, g.K, tile::machine::device().sms);
    const int blocks = int(std::min(1e9, tiles * split.splits));
    ways.push_back({name, modelled(cost, tiles * C::BM * C::BN * g.K, blocks, 0), prepare});
  };
  add("rows", Rows<16>{}, Cost{7.0, 0.13, 1.0}, skinny::prepare_rows);
  add("columns", Columns{}, Cost{6.3, 0.86, 0.4}, skinny::prepare<Columns>);
  return ways;
}

Way choose(const tile::Product& product) {
  const std::vector<Way> ways = ways_of(tile::gemm_of(product));
  return *std::ranges::min_element(ways, {}, &Way::us);
}

std::unique_ptr<tile::BoundKernel> prepare_sgemm(const tile::Product& product) {
  tile::require_valid(tile::gemm_of(product));
  return choose(product).prepare(product);
}

// C = alpha A B + beta C, row-major, with any extents and leading dimensions, wherever matrices
// begin. Whoever computes a product again keeps what prepare_sgemm returns, and its workspace.
[[maybe_unused]] void sgemm(int M, int N, int K, float alpha, const float* A, int lda,
                            const float* B, int ldb, float beta, float* C, int ldc) {
  const tile::Gemm g{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc};
  prepare_sgemm(tile::product_of(g))->run();
}
// [/snippet sgemm]

template <class C>
tile::Kernel kernel(const char* name) {
  return {.name = name,
          .address = reinterpret_cast<const void*>(sgemm_tiles<C, true>),
          .block_threads = C::NUM_THREADS,
          .tile = {C::BM, C::BN, C::BK, tile::Alignment::whole_C},
          .static_shared = 1024,
          .dynamic_shared = C::SMEM_BYTES,
          .prepare = prepare<C>,
          .takes_any_extent = true};
}

std::vector<tile::Kernel> all_kernels() {
  std::vector<tile::Kernel> all;
  for_each_config(
      [&]<class C>(const char* name, C, const Cost&) { all.push_back(kernel<C>(name)); });
  return all;
}

const tile::Kernel dispatcher{.name = "sgemm",
                              .tile = {64, 64, 16, tile::Alignment::any},
                              .prepare = prepare_sgemm,
                              .takes_any_extent = true};

}  // namespace

TILE_CHAPTER(.number = 19, .title = "A tile for every shape",
             .kernels = {kernel<Small>("small"), kernel<Medium>("medium"),
                         kernel<SplitK>("split_k"), kernel<Words>("words")},
             .counted = {512, 256, 128}, .sizes = {256, 512, 768, 1024, 1536, 2048, 4096},
             .shapes = {{513, 513, 513}, {1350, 1350, 1350}, {128, 128, 16384}},
             .baseline = tile::Baseline::stronger,
             .extension = tile::extension_of({dispatcher, tile::sweep_problems(), ways_of,
                                              [](const tile::Product& product) {
                                                return choose(product).name;
                                              }}))

TILE_GEMM_TESTS(all_kernels())
