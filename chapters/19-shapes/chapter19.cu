// Tile by Tile, chapter 19: a tile for every shape.
//
// Question: chapter 18's kernel needs large squares. What does a library need for all other
// shapes? Idea: smaller block tiles, whose producers copy word by word, so that they transpose A
// on its way and matrices may begin anywhere; K split evenly where there are few block tiles;
// and a cost model of five lines that chooses.
// Previous chapter: 18, whose kernel computes large products. A row or a column: chapter 20.
//
// Build, run, verify:   ./tile run 19      ctest --preset model -R chapter19
#include <cmath>

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
          int CONSUMER_REGISTERS_, bool SPLIT_K_ = false>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = 16;  // block tile
  static constexpr int WM = WM_, WN = WN_;           // warp tile
  static constexpr int STAGES = STAGES_;             // k-tiles in shared memory
  static constexpr int LAG = STAGES - 2;             // k-tiles of words that are in flight
  static constexpr int BLOCKS = BLOCKS_;             // resident blocks per SM
  static constexpr bool SPLIT_K = SPLIT_K_;  // evenly; a second kernel adds the partials
  static constexpr int GROUP_ROWS = 8;       // rows of block tiles in a raster group
  // splits of a block tile, on average; k-tiles of a work unit
  static constexpr int MAX_SPLITS = BM == 64 ? 16 : 8, MIN_K_TILES = BM * BN > 4096 ? 8 : 4;
  static constexpr int ROWS = WM / 4, COLS = WN / 8;         // accumulators of a thread
  static constexpr int CONSUMERS = BM * BN / (ROWS * COLS);  // threads
  static constexpr int PRODUCERS = 128, NUM_THREADS = CONSUMERS + PRODUCERS;
  static constexpr int CONSUMER_REGISTERS = CONSUMER_REGISTERS_;
  static constexpr int PRODUCER_REGISTERS =  // the rest of those that a block is launched with
      (65536 / BLOCKS / NUM_THREADS / 8 * 8 * NUM_THREADS - CONSUMERS * CONSUMER_REGISTERS) /
      PRODUCERS;
  static constexpr int WORDS_A = BK * BM, WORDS_B = BK * BN, STAGE_WORDS = WORDS_A + WORDS_B;
  static constexpr int STAGE_BYTES = STAGE_WORDS * int(sizeof(float));
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(BM % 16 == 0 && (PRODUCERS % BN == 0 || BN == 2 * PRODUCERS),
                "producers copy 16 rows of A at once, and whole rows of B or halves");
  static_assert(STAGES >= 3 && STAGES <= 64, "a k-tile is copied while another is multiplied");
  static_assert(CONSUMERS % 128 == 0 && PRODUCER_REGISTERS >= 24,
                "four warps change their registers together, within those that the block was "
                "launched with: setmaxnreg would wait forever");
  static_assert(BLOCKS * (SMEM_BYTES + 2048) <= 228 * 1024 && SMEM_BYTES > 48 * 1024,
                "an SM has 228 KB of shared memory, of which each block's mbarriers and the "
                "driver take 2 KB; the launcher opts in to more than 48 KB");
};
using Tall = Config<256, 128, 64, 64, 6, 1, 224>;  // for few columns: nothing goes before it
using Medium = Config<64, 128, 32, 64, 8, 2, 160>;
using Small = Config<64, 64, 32, 32, 8, 3, 104>;
using SplitK = Config<64, 64, 32, 32, 8, 3, 104, true>;
using Thin = Config<16, 256, 16, 64, 4, 3, 104>;    // for few rows: they share reads of B
using Narrow = Config<128, 32, 32, 32, 6, 3, 104>;  // for few columns: they share reads of A
// [/snippet config]

// [snippet maps]
// Where an element of a k-tile of A lies in its stage: transposed. A swizzle of rows in groups of
// four spreads the k-steps over the banks, as a warp copies eight of them at once.
template <class C>
constexpr __host__ __device__ int offset_in_As(int row, int k) {
  return k * C::BM + (row ^ k % 4 * 4);
}
// The word of A that a producer copies first; others follow 16 rows or 8 k-steps apart.
constexpr __host__ __device__ tile::Position word_of_A(int thread) {
  return {thread / 8, thread % 8};
}
// [/snippet maps]

// A matrix as producers need it who copy words.
struct Matrix {
  const float* first;
  int rows, cols, ld;
};

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

// Waits for the partials of work units n, n + 1 ... that begin before `end`, each thread for other
// flags, and adds them. Work units are short here: to wait for one after the other would cost.
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
// WORDS_B: B is copied word by word, too, and not by TMA. VECTORISED: tiles of C are whole, and
// its float4s are aligned to 16 bytes.
template <class Config, bool WORDS_B, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_words(const Matrix A, const Matrix B,  // M x K, K x N
                const __grid_constant__ CUtensorMap mapB,
                const __grid_constant__ tile::TileScheduler scheduler,
                const __grid_constant__ tile::Fixup fixup,  //
                int M, int N, float alpha, float beta, float* C, int ldc) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  constexpr int CONSUMERS = Config::CONSUMERS, PRODUCERS = Config::PRODUCERS;
  // STAGES times: BK x BM of A, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  // of each stage; both arrays together have 1 KB, so that the stages are aligned to it
  __shared__ std::uint64_t full[64], empty[64];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(&full[stage], WORDS_B ? PRODUCERS : PRODUCERS + 1);
      ptx::mbarrier_init(&empty[stage], CONSUMERS);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised
  // [/snippet signature]

  // [snippet producer]
  if (threadIdx.x >= CONSUMERS) {
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
    const int thread = int(threadIdx.x) - CONSUMERS;
    const auto [row, k] = word_of_A(thread);
    int stage = 0, pending = 0;  // pending: k-tiles of words that are not announced
    unsigned parity = 1;         // all stages are empty
    const auto announce = [&] {  // that this thread's words of the oldest of them have landed
      ptx::mbarrier_arrive(
          &full[stage >= pending ? stage - pending : stage - pending + STAGES]);
      --pending;
    };
    const auto copy = [&](tile::Position tile, int k_tile) {
      ptx::mbarrier_wait_parity(&empty[stage], parity);
      float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      if constexpr (WORDS_B) {
        constexpr int DOWN = PRODUCERS > BN ? PRODUCERS / BN : 1, RIGHT = PRODUCERS / DOWN;
        copy_words<BK, BN, DOWN, RIGHT, DOWN * BN, RIGHT>(
            B, k_tile * BK + thread / RIGHT, tile.col * BN + thread % RIGHT, Bs + thread);
      } else if (thread == 0) {
        ptx::mbarrier_arrive_expect_tx(&full[stage], Config::WORDS_B * sizeof(float));
        ptx::cp_async_bulk_tensor(Bs, mapB, tile.col * BN, k_tile * BK,  //@ load-B store-Bs
                                  &full[stage]);
      }
      copy_words<BM, BK, 16, 8, 16, 8 * BM>(A, tile.row * BM + row, k_tile * BK + k,
                                            As + offset_in_As<Config>(row, k));
      ptx::cp_async_commit_group();
      if (++stage == STAGES) stage = 0, parity ^= 1;
      if (++pending <= Config::LAG) return;
      ptx::cp_async_wait_group<Config::LAG>();
      announce();
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
    ptx::cp_async_wait_group<0>();
    while (pending > 0) announce();
    return;
  }
  // [/snippet producer]

  // [snippet operands]
  ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = tile::thread_tile_of(int(threadIdx.x));
  float acc[ROWS][COLS];
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  const char* firstA[4];  // the first row, in k-steps 4n, 4n + 1, 4n + 2 and 4n + 3
#pragma unroll
  for (int n = 0; n < 4; ++n)
    firstA[n] = reinterpret_cast<const char*>(
        stages + offset_in_As<Config>(warpRow + threadRow, n) - n * BM);
  const char* const firstB =
      reinterpret_cast<const char*>(stages + Config::WORDS_A + warpCol + threadCol);
  // Loads the operands of a k-step from the stage at this offset, in bytes.
  const auto load_operands = [&](int offset, int dotIdx) {
    tile::load_operands(  //@ load-operands
        reinterpret_cast<const float*>(firstA[dotIdx % 4] + offset) + dotIdx * BM,
        reinterpret_cast<const float*>(firstB + offset) + dotIdx * BN, regM[dotIdx % 2],
        regN[dotIdx % 2]);
  };
  // [/snippet operands]

  // [snippet main-loop]
  int offset = 0;                               // of the stage, in bytes
  std::uint64_t *landed = full, *read = empty;  // its mbarriers
  unsigned parity = 0;
  // Waits until the next stage is full, then releases this one.
  const auto next_stage = [&] {
    std::uint64_t* const used = read;
    ++landed, ++read, offset += Config::STAGE_BYTES;
    const bool wraps = landed == full + STAGES;
    if (wraps) landed = full, read = empty, offset = 0;
    parity ^= unsigned(wraps);
    ptx::mbarrier_wait_parity(landed, parity);
    ptx::mbarrier_arrive(used);  // this thread has loaded its last operands of the stage
  };
  ptx::mbarrier_wait_parity(landed, parity);
  load_operands(0, 0);
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
        tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
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
      if constexpr (Config::BLOCKS > 1)
        add_all_partials<Config>(acc, fixup, scheduler, next, end);
      else
        for (int n = next; scheduler.begin_of(n) < end; ++n)
          tile::add_partials<CONSUMERS, true>(acc, fixup, scheduler.block_of(n));
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
        wordsB_(reinterpret_cast<std::uintptr_t>(g.B) % 16 != 0 || g.ldb % 4 != 0),
        partials_(slots(), Config::BM * Config::BN / 4, "partials"),
        ready_(1, slots(), "ready") {
    const std::vector<int> none(slots());
    if (!none.empty())
      tile::machine::copy_to_device(ready_.get(), none.data(), none.size() * sizeof(int));
    if (!wordsB_) mapB_ = tile::tensor_map(g.B, {g.K, g.N, g.ldb, Config::BK, Config::BN});
  }

  void run() override {
    const bool vectorised = g_.M % Config::BM == 0 && g_.N % Config::BN == 0 &&
                            g_.ldc % 4 == 0 &&
                            reinterpret_cast<std::uintptr_t>(g_.C) % 16 == 0;
    tile::launch(
        wordsB_
            ? vectorised ? sgemm_words<Config, true, true> : sgemm_words<Config, true, false>
        : vectorised ? sgemm_words<Config, false, true>
                     : sgemm_words<Config, false, false>,
        dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS), Config::SMEM_BYTES,
        Matrix{g_.A, g_.M, g_.K, g_.lda}, Matrix{g_.B, g_.K, g_.N, g_.ldb}, mapB_, scheduler_,
        tile::Fixup{partials_.get(), ready_.get()}, g_.M, g_.N, g_.alpha, g_.beta, g_.C,
        g_.ldc);
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
  bool wordsB_;
  tile::DeviceMatrix<float4> partials_;
  tile::DeviceMatrix<int> ready_;
  CUtensorMap mapB_;
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
// The cost model, in microseconds: work, scaled up where blocks are too few to keep all SMs busy,
// and what goes before it. All constants are to be fitted to the sweep.
struct Cost {
  double fixed;    // launch, and to fill and to drain the pipeline
  double per_fma;  // in millionths; of each multiply-add, also of those outside C
  double busy;     // blocks per SM
};
constexpr double PREPASS = 6, PER_ELEMENT = 2;  // its launch; in millionths, of each element

double modelled(const Cost& cost, double fmas, double blocks, double repacked) {
  const double idle = cost.busy * tile::machine::device().sms / blocks;
  return cost.fixed + cost.per_fma * 1e-6 * fmas * std::max(1.0, idle) +
         (repacked > 0 ? PREPASS + PER_ELEMENT * 1e-6 * repacked : 0);
}
// [/snippet model]

// Calls f(name, configuration, cost) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("tall", Tall{}, Cost{20, 0.0375, 1.0});
  f("medium", Medium{}, Cost{14, 0.040, 1.1});
  f("small", Small{}, Cost{10, 0.043, 1.3});
  f("split_k", SplitK{}, Cost{10, 0.048, 0.1});
  f("thin", Thin{}, Cost{10, 0.045, 1.1});
  f("narrow", Narrow{}, Cost{10, 0.050, 0.9});
}

// [snippet sgemm]
// The ways to compute a product, each with its modelled time.
std::vector<tile::Way> ways_of(const tile::Gemm& g) {
  if (g.N == 1) return {{"column", 0, skinny::prepare<skinny::Column>}};
  if (g.N <= 4) return {{"columns", 0, skinny::prepare<skinny::Columns>}};
  if (g.M <= 8) return {{"rows", 0, skinny::prepare_rows}};
  const int sms = tile::machine::device().sms;
  std::vector<tile::Way> ways;
  const auto add = [&]<class C>(const char* name, C, const Cost& cost, double splits,
                                tile::Prepare prepare, double repacked = 0) {
    const double tiles = double(tile::ceil_div(g.M, C::BM)) * tile::ceil_div(g.N, C::BN);
    const double us = modelled(cost, tiles * C::BM * C::BN * g.K, tiles * splits, repacked);
    ways.push_back({name, us, prepare});
  };
  // of block tiles, on average; less than 1 where a block computes several
  const auto splits = [](const auto& s) { return double(s.blocks) / s.tiles(); };
  using Large = large::Swapped;
  const bool copies_B = reinterpret_cast<std::uintptr_t>(g.B) % 16 != 0 || g.ldb % 4 != 0;
  add("large", Large{}, {25, 0.0353, 1.0}, splits(tile::stream_k<Large>(g.M, g.N, g.K, sms)),
      large::prepare<Large>, double(g.K) * (copies_B ? double(g.M) + g.N : g.M));
  for_each_config([&]<class C>(const char* name, C config, const Cost& cost) {
    const double of_tile = splits(schedule<C>(g.M, g.N, g.K, sms));
    if (!C::SPLIT_K || of_tile >= 8)  // fewer are not worth a second kernel
      add(name, config, cost, of_tile, prepare<C>);
  });
  using skinny::Rows, skinny::Columns, skinny::split_for;
  add("rows", Rows<16>{}, {7, 0.13, 1.0}, split_for<Rows<16>>(g.M, g.N, g.K, sms).splits,
      skinny::prepare_rows);
  add("columns", Columns{}, {6, 0.86, 0.4}, split_for<Columns>(g.M, g.N, g.K, sms).splits,
      skinny::prepare<Columns>);
  return ways;
}

tile::Way choose(const tile::Product& product) {
  const std::vector<tile::Way> ways = ways_of(tile::gemm_of(product));
  return *std::ranges::min_element(ways, {}, &tile::Way::us);
}
std::unique_ptr<tile::BoundKernel> prepare_sgemm(const tile::Product& product) {
  tile::require_valid(tile::gemm_of(product));
  return choose(product).prepare(product);
}

// C = alpha A B + beta C, row-major, of any extents and leading dimensions, wherever the matrices
// begin. Whoever computes a product again and again keeps what prepare_sgemm returns.
[[maybe_unused]] void sgemm(int M, int N, int K, float alpha, const float* A, int lda,
                            const float* B, int ldb, float beta, float* C, int ldc) {
  prepare_sgemm(tile::product_of({M, N, K, alpha, A, lda, B, ldb, beta, C, ldc}))->run();
}
// [/snippet sgemm]

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C, const Cost&) {
    all.push_back({.name = name,
                   .address = reinterpret_cast<const void*>(sgemm_words<C, false, true>),
                   .block_threads = C::NUM_THREADS,
                   .tile = {C::BM, C::BN, C::BK, tile::Alignment::other},
                   .static_shared = 1024,
                   .dynamic_shared = C::SMEM_BYTES,
                   .prepare = prepare<C>,
                   .takes_any_extent = true});
  });
  return all;
}

const tile::Kernel dispatcher{.name = "sgemm",
                              .tile = {64, 64, 16, tile::Alignment::any},
                              .prepare = prepare_sgemm,
                              .takes_any_extent = true};

}  // namespace

TILE_CHAPTER(.number = 19, .title = "A tile for every shape",
             .kernels = {kernels()[1], kernels()[2], kernels()[3]},  // medium, small, split_k
             .counted = {512, 256, 128}, .sizes = {256, 512, 768, 1024, 1536, 2048, 4096},
             .constants = {{"BM", Small::BM},
                           {"BN", Small::BN},
                           {"BK", Small::BK},
                           {"STAGES", Small::STAGES},
                           {"PRODUCERS", Small::PRODUCERS},
                           {"CONSUMERS", Small::CONSUMERS}},
             .shapes = {{513, 513, 513}, {1350, 1350, 1350}, {128, 128, 16384}},
             .baseline = tile::Baseline::stronger,
             .extension = tile::extension_of({dispatcher, tile::sweep_problems(), ways_of,
                                              [](const tile::Product& product) {
                                                return choose(product).name;
                                              }}))

TILE_GEMM_TESTS(kernels())
