// Tile by Tile, chapter 14: a ring of stages.
//
// Question: a k-tile on its way to shared memory passes through registers. What does a kernel
// gain that needs none for it? Idea: cp.async copies from global to shared memory while the
// thread continues. A ring of stages holds k-tiles in flight, and before each barrier a thread
// waits until its copies of the next k-tile have landed.
// Previous chapter: 13; what it taught is in common/cuda/thread_tile.hpp from here on.
//
// Build, run, verify:   ./tile run 14      ctest --preset model -R chapter14
#include <type_traits>

#include "common/cuda/ptx.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet config]
template <int STAGES_>
struct Config {
  static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
  static constexpr int BM = 128, BN = 256, BK = 8;    // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  // rows of the A tile that all threads together copy at once, a word each
  static constexpr int ROWS_A = NUM_THREADS / BK;
  static constexpr int STRIDE_A = BM + 4;  // of the transposed A tile, padded (chapter 09)
  static constexpr int WORDS_A = BK * STRIDE_A;
  static constexpr int STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE_WORDS * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(NUM_THREADS % BK == 0 && BM % ROWS_A == 0,
                "else threads copy past the A tile or leave parts out");
  static_assert(NUM_THREADS % BN == 0 && BK * BN % (4 * NUM_THREADS) == 0 &&
                    4 * NUM_THREADS % BN == 0,
                "else threads copy past the B tile or leave parts out");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
  static_assert(STAGES >= 2, "a k-tile is copied while another is multiplied");
  static_assert(SMEM_BYTES <= 227 * 1024, "a block has at most 227 KB of shared memory");
};
// [/snippet config]

// [snippet maps]
// The first element that a thread copies of the A tile: one word at a time, so that each word
// can go to its own row of the transposed tile.
template <class C>
constexpr __host__ __device__ tile::Position copy_A_of(int thread) {
  return {thread / C::BK, thread % C::BK};
}
// The first element that a thread copies of the B tile, WIDTH words at a time.
template <class C, int WIDTH>
constexpr __host__ __device__ tile::Position copy_B_of(int thread) {
  return {thread / (C::BN / WIDTH), thread % (C::BN / WIDTH) * WIDTH};
}
// The word of a stage that holds an element of the A tile, and one of the B tile.
template <class C>
constexpr __host__ __device__ int word_in_As(int row, int k) {
  return k * C::STRIDE_A + row;
}
template <class C>
constexpr __host__ __device__ int word_in_Bs(int k, int col) {
  return C::WORDS_A + k * C::BN + col;
}
// [/snippet maps]

// [snippet copy]
// VECTORISED: all tiles are whole, and rows of B are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_ring(int M, int N, int K, float alpha,  //
               const float* A, int lda,           // M x K
               const float* B, int ldb,           // K x N
               float beta,                        //
               float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS;
  constexpr int WIDTH_B = VECTORISED ? 4 : 1;  // words of B that a thread copies at once
  constexpr int ROWS_B = WIDTH_B * Config::NUM_THREADS / BN;
  // STAGES times: BK x BM of A, transposed and padded, then BK x BN of B
  extern __shared__ float4 shared[];
  float* const stages = reinterpret_cast<float*>(shared);

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = tile::thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = copy_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = copy_B_of<Config, WIDTH_B>(threadIdx.x);
  float acc[ROWS][COLS] = {};

  // the stage after this one in the ring
  const auto next = [&](float* stage) {
    return stage == stages + (Config::STAGES - 1) * Config::STAGE_WORDS
               ? stages
               : stage + Config::STAGE_WORDS;
  };
  float *filled = stages, *read = stages;  // stages that copies go to, that operands come from
  int copied = 0;                          // k-tiles whose copies this thread has started
  const int k_tiles = (K - 1) / BK + 1;
  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;

  // Copies a word, or stores a zero for what is outside the matrix.
  const auto copy_word = [](float* to, const float* from, bool inside) {
    if (inside)
      ptx::cp_async_ca<4>(to, from);  //@ load-word store-word
    else
      *to = 0.0f;  //@ store-zero
  };
  // Starts this thread's copies of the next k-tile. They are a group, which is empty after the
  // last k-tile.
  const auto start_copies = [&] {
    if (copied < k_tiles) {
#pragma unroll
      for (int row = 0; row < BM; row += Config::ROWS_A) {
        float* to = filled + word_in_As<Config>(rowA + row, colA);
        const float* from = nextA + std::size_t(row) * lda;
        if constexpr (VECTORISED)
          ptx::cp_async_ca<4>(to, from);  //@ load-A store-As
        else
          copy_word(to, from, blockRow + rowA + row < M && copied * BK + colA < K);
      }
#pragma unroll
      for (int k = 0; k < BK; k += ROWS_B) {
        float* to = filled + word_in_Bs<Config>(rowB + k, colB);
        const float* from = nextB + std::size_t(k) * ldb;
        if constexpr (VECTORISED)
          ptx::cp_async_cg(to, from);  //@ load-B store-Bs
        else
          copy_word(to, from, copied * BK + rowB + k < K && blockCol + colB < N);
      }
    }
    ptx::cp_async_commit_group();
    ++copied;
    filled = next(filled);
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // [/snippet copy]

  // [snippet compute]
  const auto wait = [&] {
    // this thread's copies of the next k-tile have landed
    ptx::cp_async_wait_group<Config::STAGES - 2>();
    // so have those of all threads; also: all have read the stage that is filled next
    __syncthreads();
  };
  // operands of a k-step and of the next (chapter 13)
  float regM[2][ROWS], regN[2][COLS];
  const auto load_operands = [&](const float* stage, int dotIdx) {
    tile::load_operands(  //@ load-operands
        stage + word_in_As<Config>(warpRow + threadRow, dotIdx),
        stage + word_in_Bs<Config>(dotIdx, warpCol + threadCol), regM[dotIdx % 2],
        regN[dotIdx % 2]);
  };
  // A k-tile. LAST: no other follows.
  const auto compute = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      if (dotIdx < BK - 1) load_operands(read, dotIdx + 1);
      if (!LAST && dotIdx == 0) start_copies();
      if (!LAST && dotIdx == BK - 1) {
        wait();  // the operands of the next k-step are in the next stage
        read = next(read);
        load_operands(read, 0);
      }
      tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
    }
  };
  // [/snippet compute]

  // [snippet main-loop]
#pragma unroll
  for (int stage = 0; stage < Config::STAGES - 1; ++stage) start_copies();
  wait();
  load_operands(read, 0);
#pragma unroll 1
  for (int k_tile = 1; k_tile < k_tiles; ++k_tile) compute(std::false_type{});
  compute(std::true_type{});
  // [/snippet main-loop]

  // [snippet launch]
  tile::store_accumulators<VECTORISED>(  //@ load-C store-C
      acc, blockRow + warpRow + threadRow, blockCol + warpCol + threadCol, M, N, alpha, beta,
      C, ldc);
}

bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether all tiles are whole and every float4 is aligned to 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_ring(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_ring<Config, true> : sgemm_ring<Config, false>,
               grid, dim3(Config::NUM_THREADS), Config::SMEM_BYTES, g.M, g.N, g.K, g.alpha,
               g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_ring<Config<3>>;
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("stages2", Config<2>{});
  f("stages3", Config<3>{});
  f("stages4", Config<4>{});
  f("stages5", Config<5>{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({name,
                   launch_ring<C>,
                   reinterpret_cast<const void*>(sgemm_ring<C, true>),
                   C::NUM_THREADS,
                   {C::BM, C::BN, C::BK, tile::Alignment::float4s},
                   0,
                   C::SMEM_BYTES});
  });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 14, .title = "A ring of stages", .kernels = kernels(),
             .counted = {256, 512, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Config<3>::BM},
                           {"BN", Config<3>::BN},
                           {"BK", Config<3>::BK}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
