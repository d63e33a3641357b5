// Tile by Tile, chapter 15, lab: the same copies by all threads.
//
// Question: what is TMA itself worth on whole tiles? `threads` has the tile, the pre-pass and
// the ring of the chapter's kernel, `tma`, but all threads of the block copy a k-tile, 16 bytes
// at a time, with cp.async in groups as in chapter 14. Both take whole tiles only.
//
// Build, run, verify:   ./tile run 15-threads      ctest --preset model -R chapter15.threads
#include <type_traits>

#include "common/cuda/ptx.hpp"
#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// Who copies a k-tile to shared memory.
enum class Copies {
  tma,     // one thread asks for two boxes, and an mbarrier counts their bytes
  threads  // each thread copies some float4s with cp.async
};

template <Copies COPIES_>
struct Config {
  static constexpr Copies COPIES = COPIES_;
  static constexpr int BM = 256, BN = 128, BK = 16;   // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int STAGES = 6;                    // k-tiles in shared memory
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  static constexpr int WORDS_A = BK * BM, STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr unsigned STAGE_BYTES = STAGE_WORDS * sizeof(float);
  static constexpr int SMEM_BYTES = STAGES * int(STAGE_BYTES);
  // rows of the transposed A tile and of the B tile that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BM, ROWS_B = 4 * NUM_THREADS / BN;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
  static_assert(4 * NUM_THREADS % BM == 0 && BK % ROWS_A == 0,
                "else threads copy past the A tile or leave parts out");
  static_assert(4 * NUM_THREADS % BN == 0 && BK % ROWS_B == 0,
                "else threads copy past the B tile or leave parts out");
  static_assert(BM <= 256 && BN <= 256, "a box has at most 256 elements along each side");
  static_assert(STAGE_BYTES % 128 == 0 && WORDS_A * 4 % 128 == 0,
                "a box begins at a multiple of 128 bytes of shared memory");
  static_assert(STAGES >= 2, "a k-tile is copied while another is multiplied");
  static_assert(SMEM_BYTES + 1024 <= 227 * 1024,
                "a block has at most 227 KB of shared memory");
};

// The first element of a thread's first float4 in the transposed A tile, and in the B tile.
template <class C>
constexpr __host__ __device__ tile::Position copy_A_of(int thread) {
  return {thread / (C::BM / 4), thread % (C::BM / 4) * 4};
}
template <class C>
constexpr __host__ __device__ tile::Position copy_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}

// Whole tiles only: M, N and K are multiples of the block tile's, and float4s are aligned.
template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_whole(const __grid_constant__ CUtensorMap mapA,  // K x M: A transposed
                const __grid_constant__ CUtensorMap mapB,  // K x N
                const float* A, int lda,                   // K x M: A transposed
                const float* B, int ldb,                   // K x N
                int M, int N, int K, float alpha, float beta, float* C, int ldc) {  // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  constexpr bool TMA = Config::COPIES == Copies::tma;
  // STAGES times: BK x BM of A, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  __shared__ __align__(1024) std::uint64_t full[1024 / 8];  // STAGES are used, with TMA
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int k_tiles = K / BK;

  if constexpr (TMA) {
    if (threadIdx.x == 0) {
      // a phase needs one arrival: that of the thread that asks for the copies
      for (int stage = 0; stage < STAGES; ++stage) ptx::mbarrier_init(&full[stage], 1);
      ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised
  }

  const auto [rowA, colA] = copy_A_of<Config>(int(threadIdx.x));
  const auto [rowB, colB] = copy_B_of<Config>(int(threadIdx.x));
  const float* nextA = A + std::size_t(rowA) * lda + blockRow + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  int copied = 0, filled = 0;  // k-tiles that have been asked for; the stage of the next
  // Starts the copies of the next k-tile: both boxes, or this thread's float4s, which are a
  // group, empty after the last k-tile.
  const auto start_copies = [&] {
    float *As = stages + filled * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
    if constexpr (TMA) {
      if (threadIdx.x == 0 && copied < k_tiles) {
        ptx::mbarrier_arrive_expect_tx(&full[filled], Config::STAGE_BYTES);
        ptx::cp_async_bulk_tensor(As, mapA, blockRow, copied * BK,  //@ load-A store-As
                                  &full[filled]);
        ptx::cp_async_bulk_tensor(Bs, mapB, blockCol, copied * BK,  //@ load-B store-Bs
                                  &full[filled]);
      }
    } else {
      if (copied < k_tiles) {
#pragma unroll
        for (int k = 0; k < BK; k += Config::ROWS_A)
          ptx::cp_async_cg(As + (rowA + k) * BM + colA,  //@ load-float4-A store-float4-As
                           nextA + std::size_t(k) * lda);
#pragma unroll
        for (int k = 0; k < BK; k += Config::ROWS_B)
          ptx::cp_async_cg(Bs + (rowB + k) * BN + colB,  //@ load-float4-B store-float4-Bs
                           nextB + std::size_t(k) * ldb);
        nextA += std::size_t(BK) * lda;
        nextB += std::size_t(BK) * ldb;
      }
      ptx::cp_async_commit_group();
    }
    ++copied;
    filled = filled + 1 == STAGES ? 0 : filled + 1;
  };

  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = tile::thread_tile_of(int(threadIdx.x));
  float acc[ROWS][COLS] = {};
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  const auto load_operands = [&](int stage, int dotIdx) {
    const float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
    tile::load_operands(  //@ load-operands
        As + dotIdx * BM + warpRow + threadRow, Bs + dotIdx * BN + warpCol + threadCol,
        regM[dotIdx % 2], regN[dotIdx % 2]);
  };

  int read = 0;         // the stage that operands come from
  unsigned parity = 0;  // of its phase: changes each time the ring is round
  // Waits for the k-tile in stage `read`: TMA's bytes, or this thread's copies.
  const auto wait = [&] {
    if constexpr (TMA)
      ptx::mbarrier_wait_parity(&full[read], parity);
    else
      ptx::cp_async_wait_group<STAGES - 2>();
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) start_copies();
  wait();
  // with TMA each thread has waited for all of the k-tile; without it, for its own copies only
  if constexpr (!TMA) __syncthreads();
  load_operands(read, 0);
  // A k-tile. LAST: no other follows.
  const auto compute = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      if (dotIdx < BK - 1) load_operands(read, dotIdx + 1);
      if (!LAST && dotIdx == 0) start_copies();
      if (!LAST && dotIdx == BK - 1) {
        if (++read == STAGES) read = 0, parity ^= 1;
        wait();  // the next k-tile has landed
        // all have read the stage that is filled next; without TMA, also: all threads' copies
        // of the next k-tile have landed
        __syncthreads();
        load_operands(read, 0);
      }
      tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
    }
  };
#pragma unroll 1
  for (int k_tile = 1; k_tile < k_tiles; ++k_tile) compute(std::false_type{});
  compute(std::true_type{});

  tile::store_accumulators<true>(  //@ load-C store-C
      acc, blockRow + warpRow + threadRow, blockCol + warpCol + threadCol, M, N, alpha, beta,
      C, ldc);
}

bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Throws unless all tiles are whole and all float4s of B and C are aligned.
template <class Config>
void require_whole(const tile::Gemm& g) {
  const auto text = [](int number) { return std::to_string(number); };
  if (g.M % Config::BM != 0 || g.N % Config::BN != 0 || g.K % Config::BK != 0)
    throw std::invalid_argument("this lab takes whole tiles only: M = " + text(g.M) +
                                ", N = " + text(g.N) + " and K = " + text(g.K) +
                                " must be multiples of " + text(Config::BM) + ", " +
                                text(Config::BN) + " and " + text(Config::BK));
  if (g.ldb % 4 != 0 || g.ldc % 4 != 0 || !is_aligned_16(g.B) || !is_aligned_16(g.C))
    throw std::invalid_argument(
        "this lab takes whole tiles only: B, C and each of their rows must begin at multiples "
        "of 16 bytes");
}

template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        grid_(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM)),
        A_(g.M, g.K, g.A, g.lda, "A transposed"),
        mapA_(tile::tensor_map(A_.get(), {g.K, g.M, A_.ld(), Config::BK, Config::BM})),
        mapB_(tile::tensor_map(g.B, {g.K, g.N, g.ldb, Config::BK, Config::BN})) {
    tile::require_launchable(grid_);
  }

  void run() override {
    A_.run();
    tile::launch(sgemm_whole<Config>, grid_, dim3(Config::NUM_THREADS), Config::SMEM_BYTES,
                 mapA_, mapB_, A_.get(), A_.ld(), g_.B, g_.ldb, g_.M, g_.N, g_.K, g_.alpha,
                 g_.beta, g_.C, g_.ldc);
  }

 private:
  tile::Gemm g_;
  dim3 grid_;
  tile::Repacked<true> A_;
  CUtensorMap mapA_, mapB_;
};

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error(
        "this lab needs TMA, and so compute capability 9.0 and a program compiled for it");
  require_whole<Config>(g);
  return std::make_unique<Bound<Config>>(g);
}

// Calls f(name, configuration) for every kernel of this lab.
template <class F>
void for_each_config(F&& f) {
  f("tma", Config<Copies::tma>{});
  f("threads", Config<Copies::threads>{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({.name = name,
                   .address = reinterpret_cast<const void*>(sgemm_whole<C>),
                   .block_threads = C::NUM_THREADS,
                   .tile = {C::BM, C::BN, C::BK, tile::Alignment::float4s},
                   .static_shared = 1024,
                   .dynamic_shared = C::SMEM_BYTES,
                   .prepare = prepare<C>});
  });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 15,
             .title = "One thread asks for a tile: the same copies by all threads",
             .kernels = kernels(), .counted = {512, 256, 128}, .sizes = {2048, 4096, 8192},
             .baseline = tile::Baseline::stronger)

TEST_CASE("integers are exact on whole tiles") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    for (const int tiles : {1, 5, 6, 7, 13})  // fewer than the ring has stages, and more
      CHECK(tile::first_failure(
                kernel, {{256, 128, 16 * tiles, 1, 0, 0, tile::Fill::integers},
                         {512, 256, 16 * tiles, 2, -1, 4, tile::Fill::integers}}) == "");
  }
}

TEST_CASE("what is not in whole tiles is refused") {
  alignas(16) float x[8] = {};
  const tile::Gemm good{256, 128, 16, 1, x, 16, x, 128, 0, x, 128};
  const auto start = [](const tile::Kernel& kernel, const tile::Gemm& g) {
    kernel.prepare(tile::product_of(g));
  };
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    tile::Gemm g = good;
    g.K = 12;
    CHECK_THROWS_WITH_AS(
        start(kernel, g),
        "this lab takes whole tiles only: M = 256, N = 128 and K = 12 must be multiples of "
        "256, 128 and 16",
        std::invalid_argument);
    for (int tile::Gemm::*const extent : {&tile::Gemm::M, &tile::Gemm::N}) {
      g = good;
      g.*extent -= 4;
      CHECK_THROWS_AS(start(kernel, g), std::invalid_argument);
    }
    for (int tile::Gemm::*const ld : {&tile::Gemm::ldb, &tile::Gemm::ldc}) {
      g = good;
      g.*ld += 1;
      CHECK_THROWS_WITH_AS(start(kernel, g),
                           "this lab takes whole tiles only: B, C and each of their rows must "
                           "begin at multiples of 16 bytes",
                           std::invalid_argument);
    }
  }
}

TEST_CASE("the threads copy every element of a k-tile once") {
  using C = Config<Copies::threads>;
  CHECK(tile::covers_once(C::BK, C::BM, C::NUM_THREADS, [](int thread, auto take) {
          for (int k = 0; k < C::BK; k += C::ROWS_A)
            for (int i = 0; i < 4; ++i)
              take(copy_A_of<C>(thread).row + k, copy_A_of<C>(thread).col + i);
        }) == "");
  CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          for (int k = 0; k < C::BK; k += C::ROWS_B)
            for (int j = 0; j < 4; ++j)
              take(copy_B_of<C>(thread).row + k, copy_B_of<C>(thread).col + j);
        }) == "");
}

#if TILE_ON_MODEL
TEST_CASE("every kernel is free of races on whole tiles" * doctest::test_suite("model")) {
  tile::test_whole_tiles_are_clean(tile::this_chapter().kernels);
}
#endif
