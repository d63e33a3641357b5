// Tile by Tile, chapter 19: a tile for every shape.
//
// Question: chapter 18's kernel needs large squares. What does a library need for others?
// Idea: smaller block tiles without a pre-pass; K sliced in a block, and split among blocks; a
// cost model that chooses. Chapter 18 computes large products, chapter 20 a row or a column.
//
// Build, run, verify:   ./tile run 19      ctest --preset model -R chapter19
#include "chapters/19-shapes/sweep.hpp"
#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"

#define TILE_KERNELS_ONLY
namespace large {
#include "chapters/18-register-banks/chapter18.cu"
}
namespace skinny {
#include "chapters/20-row-or-column/chapter20.cu"
}

namespace {
namespace ptx = tile::ptx;

// [snippet config]
template <int BM_, int BN_, int WM_, int WN_, int STAGES_, int BLOCKS_,
          int CONSUMER_REGISTERS_, int SLICES_ = 1>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = 16, WM = WM_, WN = WN_;  // block and warp tile
  static constexpr int STAGES = STAGES_;  // k-tiles in shared memory
  static constexpr int BLOCKS = BLOCKS_;  // resident blocks per SM
  static constexpr int SLICES = SLICES_;  // which have every SLICES-th k-tile each
  // Stream-K; with slices split-K: evenly, and a second kernel adds the partials.
  static constexpr bool SPLIT_K = SLICES > 1;
  static constexpr int GROUP_ROWS = 8, MIN_K_TILES = 8, MAX_SPLITS = BM == 64 ? 16 : 8;
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int SLICE_THREADS = BM * BN / (ROWS * COLS);
  static constexpr int CONSUMERS = SLICES * SLICE_THREADS;
  static constexpr int PRODUCERS = 128, NUM_THREADS = CONSUMERS + PRODUCERS;
  static constexpr int CONSUMER_REGISTERS = CONSUMER_REGISTERS_;
  static constexpr int PRODUCER_REGISTERS =  // the rest of those that a block is launched with
      (65536 / BLOCKS / NUM_THREADS / 8 * 8 * NUM_THREADS - CONSUMERS * CONSUMER_REGISTERS) /
      PRODUCERS;
  // rows of A are padded by 4 words; with 8, stages begin at multiples of 512 bytes (swizzle)
  static constexpr int WORDS_A = BK * (BM + 8), STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr int STAGE_BYTES = STAGE_WORDS * 4, RING_BYTES = STAGES * STAGE_BYTES;
  static constexpr int SMEM_BYTES = RING_BYTES + (SLICES - 1) * BM * BN * 4;
  static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 32 == 0);
  static_assert(STAGES > SLICES + 1 && STAGES <= 64, "copied while others are multiplied");
  static_assert(CONSUMERS % 128 == 0 && PRODUCER_REGISTERS >= 24, "setmaxnreg's conditions");
  static_assert(BLOCKS * (SMEM_BYTES + 2048) <= 228 * 1024 && SMEM_BYTES > 48 * 1024,
                "an SM has 228 KB of shared memory, and each block needs 2 KB besides");
};
using Medium = Config<64, 128, 32, 64, 8, 2, 184>;
using Small = Config<64, 64, 32, 64, 8, 2, 184, 2>;
using Tiny = Config<32, 32, 32, 32, 12, 3, 128, 4>;
using Thin = Config<16, 256, 16, 64, 4, 3, 120>;    // for few rows: they share reads of B
using Narrow = Config<128, 32, 32, 32, 6, 3, 128>;  // for few columns: they share reads of A
// [/snippet config]

// [snippet words]
// Where an element of a k-tile of A lies in its stage: in rows of 64 bytes, as TMA swizzles
// them, or transposed, in rows padded by four words, as a warp copies eight k-steps at once.
template <class C, bool TMA_A>
constexpr __host__ __device__ int offset_in_As(int row, int k) {
  if (!TMA_A) return k * (C::BM + 4) + row;
  return int(tile::swizzled(tile::Swizzle::bytes64, unsigned(row * C::BK + k) * 4) / 4);
}

// Starts a thread's part of a copy of ROWS x COLS words of a matrix from (row0, col0) on: the
// word at (row, col) of them, and those DOWN rows or RIGHT columns further, which go TO_DOWN
// or TO_RIGHT words further. What is outside the matrix is zero.
template <int ROWS, int COLS, int DOWN, int RIGHT, int TO_DOWN, int TO_RIGHT>
__device__ __forceinline__ void copy_words(const float* matrix, int rows, int cols, int ld,
                                           int row0, int col0, int row, int col, float* to) {
  const bool inside = row0 + ROWS <= rows && col0 + COLS <= cols;  // all words of all threads
  row += row0, col += col0;
  const float* const word = matrix + std::size_t(row) * ld + col;
  const auto copy = [&]<bool INSIDE>(std::bool_constant<INSIDE>) {
#pragma unroll
    for (int i = 0; i < ROWS; i += DOWN)
#pragma unroll
      for (int j = 0; j < COLS; j += RIGHT)
        ptx::cp_async_ca<4>(  //@ load-word store-word
            to + i / DOWN * TO_DOWN + j / RIGHT * TO_RIGHT, word + std::ptrdiff_t(i) * ld + j,
            INSIDE || (row + i < rows && col + j < cols));
  };
  inside ? copy(std::true_type{}) : copy(std::false_type{});
}
// [/snippet words]
// [snippet signature]
// TMA_A, TMA_B: all rows begin at multiples of 16 bytes, so that TMA copies this matrix;
// otherwise all producers copy words. VECTORISED: whole tiles of C, and float4s.
template <class Config, bool TMA_A, bool TMA_B, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_any(const __grid_constant__ tile::Gemm g, const __grid_constant__ CUtensorMap mapA,
              const __grid_constant__ CUtensorMap mapB,
              const __grid_constant__ tile::TileScheduler scheduler,
              const __grid_constant__ tile::Fixup fixup) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, STAGES = Config::STAGES,
                ROWS = Config::ROWS, COLS = Config::COLS, CONSUMERS = Config::CONSUMERS,
                SLICES = Config::SLICES, SLICE_THREADS = Config::SLICE_THREADS,
                WORDS_FROM = TMA_A && TMA_B ? 0 : Config::PRODUCERS;  // threads
  // STAGES times A and B, then sums of slices; the mbarriers have 1 KB, which aligns stages
  extern __shared__ __align__(1024) float stages[];
  __shared__ std::uint64_t full[64], empty[64];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(&full[stage], (TMA_A || TMA_B) + WORDS_FROM);
      ptx::mbarrier_init(&empty[stage], SLICE_THREADS);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised
  // [/snippet signature]
  // [snippet producer]
  if (threadIdx.x >= CONSUMERS) {
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
    const int thread = int(threadIdx.x) - CONSUMERS;
    if (WORDS_FROM == 0 && thread > 0) return;
    int stage = 0;
    unsigned parity = 1;  // all stages are empty
    const auto copy = [&](tile::Position tile, int k_tile) {
      ptx::mbarrier_wait_parity(&empty[stage], parity);
      float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      if ((TMA_A || TMA_B) && thread == 0) {
        ptx::mbarrier_arrive_expect_tx(&full[stage], BK * (TMA_A * BM + TMA_B * BN) * 4);
        if constexpr (TMA_A)
          ptx::cp_async_bulk_tensor(  //@ load-A store-As
              As, mapA, k_tile * BK, tile.row * BM, &full[stage]);
        if constexpr (TMA_B)
          ptx::cp_async_bulk_tensor(  //@ load-B store-Bs
              Bs, mapB, tile.col * BN, k_tile * BK, &full[stage]);
      }
      const int row = thread / 8, k = thread % 8;  // of the first word of A
      if constexpr (!TMA_A)
        copy_words<BM, BK, 16, 8, 16, 8 * (BM + 4)>(g.A, g.M, g.K, g.lda, tile.row * BM,
                                                    k_tile * BK, row, k,
                                                    As + offset_in_As<Config, TMA_A>(row, k));
      if constexpr (!TMA_B)
        copy_words<BK, BN, 4, 32, 4 * BN, 32>(g.B, g.K, g.N, g.ldb, k_tile * BK, tile.col * BN,
                                              thread / 32, thread % 32,
                                              Bs + thread / 32 * BN + thread % 32);
      if (WORDS_FROM > 0)
        ptx::cp_async_mbarrier_arrive_noinc(&full[stage]);  // when this thread's words landed
      if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    tile::WorkTileIterator work(scheduler, int(blockIdx.x));
    tile::Position tile{};
    while (work.next(scheduler)) {
      tile = scheduler.position_of(work.tile);
      // as many k-tiles for each slice: those that are missing lie outside, and are zero
#pragma unroll 1
      for (int k_tile = work.k_begin;
           k_tile < work.k_end || (k_tile - work.k_begin) % SLICES != 0; ++k_tile)
        copy(tile, k_tile < work.k_end ? k_tile : scheduler.k_tiles);
    }
    // consumers load operands one k-step ahead: at the end, of k-tiles never multiplied
#pragma unroll 1
    for (int n = 0; n < SLICES; ++n) copy(tile, 0);
    return;
  }
  // [/snippet producer]
  // [snippet operands]
  ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
  const int slice = int(threadIdx.x) / SLICE_THREADS,
            thread = int(threadIdx.x) % SLICE_THREADS;
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(thread);
  const auto [threadRow, threadCol] = tile::thread_tile_of(thread);
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  float4 chunks[ROWS];                 // TMA_A: four k-steps of each row of A
  const auto address = [&](int word) { return reinterpret_cast<const char*>(stages + word); };
  const char* const firstA[2] = {// of k-steps 0 and 8
                                 address(offset_in_As<Config, TMA_A>(warpRow + threadRow, 0)),
                                 address(offset_in_As<Config, TMA_A>(warpRow + threadRow, 8))};
  const char* const firstB = address(Config::WORDS_A + warpCol + threadCol);
  // Loads the operands of a k-step from the stage at this offset, in bytes.
  const auto load_operands = [&](int offset, int dotIdx) {
    const float* Bs = reinterpret_cast<const float*>(firstB + offset) + dotIdx * BN;
    if constexpr (TMA_A) {
#pragma unroll
      for (int j = 0; j < COLS; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-operands
            Bs + tile::col_of(j));
        float* to = &regN[dotIdx % 2][j];
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
      }
    } else
      tile::load_operands(  //@ load-operands
          reinterpret_cast<const float*>(firstA[0] + offset) + dotIdx * (BM + 4), Bs,
          regM[dotIdx % 2], regN[dotIdx % 2]);
  };
  // Loads a chunk of each row, whose number TMA XORs with that of a pair of rows.
  const auto load_chunks = [&](int offset, int dotIdx) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const int chunk = dotIdx / 4 ^ i % 4 / 2;
      chunks[i] = *reinterpret_cast<const float4*>(  //@ load-chunks
          firstA[chunk / 2] + offset + 4 * (tile::row_of(i) * BK + chunk % 2 * 4));
    }
  };
  // [/snippet operands]
  // [snippet main-loop]
  int offset = slice * Config::STAGE_BYTES;                     // of the stage
  std::uint64_t *landed = full + slice, *read = empty + slice;  // its mbarriers
  unsigned parity = 0;
  // Waits until the next stage is full, then releases this one.
  const auto next_stage = [&] {
    std::uint64_t* const used = read;
    landed += SLICES, read += SLICES, offset += SLICES * Config::STAGE_BYTES;
    if (landed >= full + STAGES)
      landed -= STAGES, read -= STAGES, offset -= Config::RING_BYTES, parity ^= 1;
    ptx::mbarrier_wait_parity(landed, parity);
    ptx::mbarrier_arrive(used);  // this thread has loaded its last operands of the stage
  };
  ptx::mbarrier_wait_parity(landed, parity);
  load_operands(offset, 0);
  if constexpr (TMA_A) load_chunks(offset, 0);
  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
#pragma unroll 1
  while (work.next(scheduler)) {
    float acc[ROWS][COLS] = {};
#pragma unroll 1
    for (int k_tile = work.k_begin; k_tile < work.k_end; k_tile += SLICES) {
#pragma unroll
      for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
        if (dotIdx == BK - 1) next_stage();
        load_operands(offset, (dotIdx + 1) % BK);
        if constexpr (TMA_A)
#pragma unroll
          for (int i = 0; i < ROWS; ++i) {
            const float of_row[4] = {chunks[i].x, chunks[i].y, chunks[i].z, chunks[i].w};
            regM[dotIdx % 2][i] = of_row[dotIdx % 4];
          }
        tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
        if (TMA_A && dotIdx % 4 == 3) load_chunks(offset, (dotIdx + 1) % BK);
      }
    }
    // [/snippet main-loop]
    // [snippet fixup]
    if constexpr (SLICES > 1) {  // slice 0 adds the sums of the others
      constexpr int QUADS = ROWS * COLS / 4;
      float4* const sums = reinterpret_cast<float4*>(stages) + Config::RING_BYTES / 16;
      if (slice > 0)
#pragma unroll
        for (int n = 0; n < QUADS; ++n) {
          const float* const at = &acc[n * 4 / COLS][n * 4 % COLS];
          const float4 four{at[0], at[1], at[2], at[3]};
          sums[((slice - 1) * QUADS + n) * SLICE_THREADS + thread] = four;  //@ store-slice
        }
      ptx::barrier_sync_aligned(1, CONSUMERS);  // all sums are stored
      if (slice == 0)
        for (int n = 0; n < SLICES - 1; ++n)
          tile::add_visible<SLICE_THREADS, false>(acc, {sums, nullptr}, n);  //@ load-slice
      ptx::barrier_sync_aligned(1, CONSUMERS);                               // and read
      if (slice > 0) continue;
    }
    // With SPLIT_K the second kernel adds; else the block that begins this block tile.
    if (Config::SPLIT_K ? scheduler.split_tiles > 0 : work.k_begin > 0) {
      tile::store_partials<SLICE_THREADS, true>(acc, fixup);  //@ store-partials
      continue;
    }
    if (work.k_end < scheduler.k_tiles)
      tile::add_all_partials<SLICE_THREADS, true>(  //@ load-partials wait-ready
          acc, fixup, scheduler, work.tile);
    const tile::Position tile = scheduler.position_of(work.tile);
    tile::store_accumulators<VECTORISED>(  //@ load-C store-C
        acc, tile.row * BM + warpRow + threadRow, tile.col * BN + warpCol + threadCol, g.M,
        g.N, g.alpha, g.beta, g.C, g.ldc);
    if constexpr (!VECTORISED) __syncwarp();  // reconverge the warp after predicated stores
  }
  // [/snippet fixup]
}

// [snippet split-k]
// Adds the partials of all splits in a fixed order. A block has a float4 of each thread of one
// consumer warp: its warps add every 16th split, and then 128 threads an element each.
constexpr int ADDERS = 16;
template <class Config>
__global__ void __launch_bounds__(32 * ADDERS)
    add_splits(const __grid_constant__ tile::Gemm g,
               const __grid_constant__ tile::TileScheduler scheduler, const float4* partials) {
  __shared__ float4 sums[ADDERS][32];
  const int splits = scheduler.blocks / scheduler.tiles();
  const int warp = int(blockIdx.x), quad = int(blockIdx.y), number = int(blockIdx.z);
  const float4* from =
      partials + quad * Config::SLICE_THREADS + warp * 32 + int(threadIdx.x) % 32;
  float4 sum{};
#pragma unroll 4
  for (int n = int(threadIdx.x) / 32; n < splits; n += ADDERS) {
    const float4 four = from[std::size_t(scheduler.block_of(number * splits + n)) *
                             (Config::BM * Config::BN / 4)];  //@ load-split
    sum = {sum.x + four.x, sum.y + four.y, sum.z + four.z, sum.w + four.w};
  }
  sums[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();  // all warps have stored their sums
  if (threadIdx.x >= 128) return;
  float total = 0.0f;
#pragma unroll
  for (int n = 0; n < ADDERS; ++n)
    total += reinterpret_cast<const float*>(sums[n])[threadIdx.x];
  const int thread = warp * 32 + int(threadIdx.x) / 4;
  const auto [tileRow, tileCol] = scheduler.position_of(number);
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(thread);
  const auto [threadRow, threadCol] = tile::thread_tile_of(thread);
  const int j = quad * 4 % Config::COLS + tile::word_of<true>(int(threadIdx.x) % 4);
  const int row =
      tileRow * Config::BM + warpRow + threadRow + tile::row_of(quad * 4 / Config::COLS);
  const int col = tileCol * Config::BN + warpCol + threadCol + tile::col_of(j);
  if (row >= g.M || col >= g.N) return;
  float& c = g.C[std::size_t(row) * g.ldc + col];
  c = g.alpha * total + (g.beta == 0.0f ? 0.0f : g.beta * c);  //@ store-sum
}
// [/snippet split-k]
// [snippet launch]
bool rows_aligned(const float* matrix, int ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && ld % 4 == 0;
}
// Stream-K, or with SPLIT_K as many splits of each block tile as resident blocks allow.
template <class Config>
constexpr tile::TileScheduler schedule(int M, int N, int K, int sms) {
  const int max_blocks = sms * Config::BLOCKS;
  if constexpr (!Config::SPLIT_K) return tile::stream_k<Config>(M, N, K, max_blocks);
  tile::TileScheduler s = tile::whole_tiles<Config>(M, N, K, max_blocks);
  const int splits = std::min(max_blocks / s.tiles(), s.k_tiles / Config::MIN_K_TILES);
  if (splits >= 3 && std::int64_t(s.tiles()) * s.k_tiles <= INT_MAX)
    s.blocks = splits * s.tiles(), s.split_tiles = s.tiles();
  return s;
}

template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        scheduler_(schedule<Config>(g.M, g.N, g.K, tile::machine::device().sms)),
        tmaA_(rows_aligned(g.A, g.lda)),
        tmaB_(rows_aligned(g.B, g.ldb)),
        slots_(scheduler_.split_tiles > 0 ? scheduler_.blocks : 0),
        partials_(slots_, Config::BM * Config::BN / 4, "partials"),
        ready_(1, slots_, "ready") {
    const std::vector<int> none(slots_);
    if (slots_ > 0) tile::machine::copy_to_device(ready_.get(), none.data(), slots_ * 4);
    if (tmaA_)
      mapA_ = tile::tensor_map(
          g.A, {g.M, g.K, g.lda, Config::BM, Config::BK, tile::Swizzle::bytes64});
    if (tmaB_) mapB_ = tile::tensor_map(g.B, {g.K, g.N, g.ldb, Config::BK, Config::BN});
  }
  void run() override {
    const bool vectorised =
        g_.M % Config::BM == 0 && g_.N % Config::BN == 0 && rows_aligned(g_.C, g_.ldc);
    const auto kernel = tmaA_ && tmaB_ && vectorised ? sgemm_any<Config, true, true, true>
                        : tmaA_ && tmaB_             ? sgemm_any<Config, true, true, false>
                        : tmaA_                      ? sgemm_any<Config, true, false, false>
                        : tmaB_                      ? sgemm_any<Config, false, true, false>
                                                     : sgemm_any<Config, false, false, false>;
    tile::launch(kernel, dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS),
                 Config::SMEM_BYTES, g_, mapA_, mapB_, scheduler_,
                 tile::Fixup{partials_.get(), ready_.get()});
    if constexpr (Config::SPLIT_K)
      if (scheduler_.split_tiles > 0)
        tile::launch(add_splits<Config>,
                     dim3(Config::SLICE_THREADS / 32, Config::ROWS * Config::COLS / 4,
                          unsigned(scheduler_.tiles())),
                     dim3(32 * ADDERS), 0, g_, scheduler_, partials_.get());
  }

 private:
  tile::Gemm g_;
  tile::TileScheduler scheduler_;
  bool tmaA_, tmaB_;
  std::size_t slots_;  // for partials
  tile::DeviceMatrix<float4> partials_;
  tile::DeviceMatrix<int> ready_;
  CUtensorMap mapA_{}, mapB_{};
};

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error("chapter 19 needs compute capability 9.0, for mbarriers and TMA");
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]
// [snippet model]
// The cost model, in us. Each SM computes as much as the one with the most blocks.
struct Cost {  // to start and to end; per million multiply-adds of whole tiles; words' share
  double fixed, per_million, words;
};
double modelled(const Cost& cost, const tile::Gemm& g, int covered, double words,
                const tile::TileScheduler& s, bool split_k) {
  const int sms = tile::machine::device().sms, tiles = s.tiles();
  const int blocks = split_k ? std::max(s.blocks, tiles) : s.blocks;
  const double quantised = double((blocks - 1) / sms + 1) * sms / blocks;
  const double fixup = s.blocks <= tiles ? 0 : split_k ? 2 : 0.3 * s.blocks / tiles;
  const double millions = 1e-6 * tiles * covered * g.K * quantised;
  return cost.fixed + fixup + cost.per_million * millions * (1 + cost.words * words);
}

// Calls f(name, configuration, cost) for every kernel of this chapter.
void for_each_config(auto&& f) {
  f("medium", Medium{}, Cost{11.8, 0.0414, 0.06});
  f("small", Small{}, Cost{9.5, 0.0450, 0.14});
  f("tiny", Tiny{}, Cost{7.9, 0.0608, 0.31});
  f("thin", Thin{}, Cost{10.4, 0.0461, 0.37});
  f("narrow", Narrow{}, Cost{9.2, 0.0462, 0.21});
}
// [/snippet model]
// [snippet sgemm]
// The ways to compute a product, each with its modelled time.
std::vector<tile::Way> ways_of(const tile::Gemm& g) {
  const bool wordsA = !rows_aligned(g.A, g.lda), wordsB = !rows_aligned(g.B, g.ldb);
  if (g.N == 1) return {{"column", 0, skinny::prepare<skinny::Column>}};
  if (g.N <= 4) return {{"columns", 0, skinny::prepare<skinny::Columns>}};
  if (g.M <= (wordsB ? 16 : 8)) return {{"rows", 0, skinny::prepare_rows}};
  const int sms = tile::machine::device().sms;
  const tile::TileScheduler s = tile::stream_k<large::Swapped>(g.M, g.N, g.K, sms);
  const Cost cost{27.7 + 2e-6 * g.M * g.K, 0.0354, 0.08};  // with a pre-pass for A
  std::vector<tile::Way> ways{{"large", modelled(cost, g, 256 * 128, wordsB, s, false),
                               large::prepare<large::Swapped>}};
  for_each_config([&]<class C>(const char* name, C, const Cost& cost) {
    const tile::TileScheduler s = schedule<C>(g.M, g.N, g.K, sms);
    const double words = double(wordsA * C::BM + wordsB * C::BN) / (C::BM + C::BN);
    ways.push_back({name, modelled(cost, g, C::BM * C::BN, words, s, C::SPLIT_K), prepare<C>});
  });
  return ways;
}

tile::Way best_of(const tile::Product& product) {
  return std::ranges::min(ways_of(tile::gemm_of(product)), {}, &tile::Way::us);
}
std::string choice(const tile::Product& product) { return best_of(product).name; }
std::unique_ptr<tile::BoundKernel> prepare_sgemm(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (std::max({g.M, g.N, g.K}) > INT_MAX - 255)
    throw std::runtime_error("sgemm takes extents up to 2147483392");
  return best_of(product).prepare(product);
}
// C = alpha A B + beta C, row-major, of any extents up to 2^31 - 256, wherever matrices begin.
// To compute it again, keep what prepare_sgemm returns.
[[maybe_unused]] void sgemm(int M, int N, int K, float alpha, const float* A, int lda,
                            const float* B, int ldb, float beta, float* C, int ldc) {
  prepare_sgemm(tile::product_of({M, N, K, alpha, A, lda, B, ldb, beta, C, ldc}))->run();
}
// [/snippet sgemm]

// All kernels of this chapter, and last sgemm.
std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C, const Cost&) {
    all.push_back({name,
                   nullptr,
                   reinterpret_cast<const void*>(sgemm_any<C, true, true, true>),
                   C::NUM_THREADS,
                   {C::BM, C::BN, C::BK, tile::Alignment::other},
                   1024,
                   C::SMEM_BYTES,
                   prepare<C>});
    all.back().takes_any_extent = true;
  });
  all.push_back({.name = "sgemm", .prepare = prepare_sgemm, .takes_any_extent = true});
  all.back().tile = {64, 64, 16, tile::Alignment::other};
  return all;
}

}  // namespace
TILE_CHAPTER(.number = 19, .title = "A tile for every shape",
             .kernels = {kernels()[0], kernels()[1], kernels()[2]},  // medium, small, tiny
             .counted = {512, 256, 128}, .sizes = {256, 512, 768, 1024, 1536, 2048, 4096},
             .shapes = {{513, 513, 513}, {1350, 1350, 1350}, {128, 128, 16384}},
             .baseline = tile::Baseline::stronger,
             .extension = tile::extension_of({kernels().back(), tile::sweep_problems(),
                                              ways_of, choice}))

TILE_GEMM_TESTS(kernels())

TEST_CASE("sgemm chooses by shape alone where that decides") {
  alignas(16) static float x[8];
  const std::tuple<int, int, int, std::string> all[] = {
      {2560, 2560, 2560, "large"}, {1024, 1024, 1024, "medium"}, {256, 256, 256, "tiny"},
      {128, 128, 16384, "small"},  {24, 4096, 4096, "thin"},     {4096, 32, 4096, "narrow"},
      {8, 4096, 4096, "rows"},     {4096, 4, 4096, "columns"},   {4096, 1, 4096, "column"}};
  for (const auto& [M, N, K, name] : all)
    for (const int off : {0, 1})
      CHECK(choice(tile::product_of({M, N, K, 1, x + off, K + off, x + off, N + off, 0,
                                     x + off, N + off})) == name);
}

#if TILE_ON_MODEL
TEST_CASE("TMA copies aligned rows, and whole tiles of C are stored as float4s" *
          doctest::test_suite("model")) {
  const auto launches = [](auto* kernel, int M, int N, int K, int offset) {
    const tile::Case c{M, N, K, 1, 0, 0, tile::Fill::integers, 1, offset};
    return tile::launched(kernels()[1], c).function == reinterpret_cast<const void*>(kernel);
  };
  CHECK(launches(sgemm_any<Small, true, true, true>, 64, 64, 16, 4));
  CHECK(launches(sgemm_any<Small, true, true, false>, 65, 64, 16, 0));
  CHECK(launches(sgemm_any<Small, true, false, false>, 64, 62, 16, 0));
  CHECK(launches(sgemm_any<Small, false, true, false>, 64, 64, 15, 0));
  CHECK(launches(sgemm_any<Small, false, false, false>, 64, 64, 16, 1));
}

TEST_CASE("partials are ordered, and loads of operands have no bank conflict" *
          doctest::test_suite("model")) {
  const simt::Counts run =
      tile::traced_run(kernels()[0], {64, 128, 16 * 25, 1, 2, 0, tile::Fill::integers});
  CHECK(run.grid.x == 3);
  std::uint64_t requests = 0;
  for (const simt::Site& site : run.sites)
    requests += site.array == "partials" ? site.requests : 0;
  CHECK(requests == 2 * 2 * 64 * 128 / 4 / 32);  // a store and a load of two partials
  CHECK(tile::bank_conflict(run, "load-operands") == "");
  CHECK(tile::bank_conflict(run, "load-chunks") == "");
  for (const int k_tiles : {9, 25})  // whole, and in three splits; slices have unequal parts
    CHECK_NOTHROW(tile::traced_run(kernels()[2], {64, 64, 16 * k_tiles}));
}
#endif
