// Tile by Tile, a lab of chapter 14: the same kernel without asynchronous copies.
//
// Question: `stages3` has a larger block tile than chapter 13's kernels as well as asynchronous
// copies. What are the copies themselves worth? `registers` has the same tile and the same
// k-steps, but takes both k-tiles through registers, as in chapter 12: plain loads in the first
// k-step of a k-tile, stores to the other of two stages in its last. `registers_words` loads A
// word by word, as the ring must. `ring` is `stages3`, timed in the same run.
//
// Build, run, verify:   ./tile run 14-registers      ctest --preset model -R chapter14-registers
#include <type_traits>

#include "common/cuda/ptx.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// How a k-tile gets to shared memory.
enum class Copy { async, registers };

// WIDTH_A: words of A that a thread copies at once.
template <Copy COPY_, int WIDTH_A_, int STAGES_>
struct Config {
  static constexpr Copy COPY = COPY_;
  static constexpr int WIDTH_A = WIDTH_A_;
  static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
  static constexpr int BM = 128, BN = 256, BK = 8;    // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  // rows of the A tile, and of the B tile, that all threads together load at once
  static constexpr int ROWS_A = WIDTH_A * NUM_THREADS / BK, ROWS_B = 4 * NUM_THREADS / BN;
  static constexpr int STRIDE_A = BM + 4;  // of the transposed A tile, padded (chapter 09)
  static constexpr int WORDS_A = BK * STRIDE_A;
  static constexpr int STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE_WORDS * 4;
  static_assert(WIDTH_A == 1 || (WIDTH_A == 4 && COPY == Copy::registers),
                "an asynchronous copy of 16 bytes cannot transpose");
  static_assert(BM % ROWS_A == 0 && BK % ROWS_B == 0 && BK % WIDTH_A == 0,
                "else threads copy past a tile or leave parts out");
  static_assert(COPY == Copy::async ? STAGES >= 2 : STAGES == 2,
                "a k-tile is copied while another is multiplied; plain loads need two stages");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
};
using Ring = Config<Copy::async, 1, 3>;  // the chapter's `stages3`
using Registers = Config<Copy::registers, 4, 2>;
using RegistersWords = Config<Copy::registers, 1, 2>;

// The first element that a thread copies of the A tile, and of the B tile, WIDTH words at a time.
template <class C>
constexpr __host__ __device__ tile::Position copy_A_of(int thread) {
  return {thread / (C::BK / C::WIDTH_A), thread % (C::BK / C::WIDTH_A) * C::WIDTH_A};
}
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

// VECTORISED: all tiles are whole, and rows of A and B are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_ring(int M, int N, int K, float alpha,  //
               const float* A, int lda,           // M x K
               const float* B, int ldb,           // K x N
               float beta,                        //
               float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, WIDTH_A = Config::WIDTH_A;
  constexpr bool ASYNC = Config::COPY == Copy::async;
  // words of B that a thread copies at once; through registers there are always four
  constexpr int WIDTH_B = VECTORISED || !ASYNC ? 4 : 1;
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
  // this thread's part of the k-tile in flight, if it goes through registers
  float stagedA[BM / Config::ROWS_A][WIDTH_A];
  float4 stagedB[BK / ROWS_B];

  // Copies a word, or stores a zero for what is outside the matrix.
  const auto copy_word = [](float* to, const float* from, bool inside) {
    if (inside)
      ptx::cp_async_ca<4>(to, from);  //@ load-word store-word
    else
      *to = 0.0f;  //@ store-zero
  };
  // Starts this thread's copies of the next k-tile: a group, which is empty after the last.
  const auto start_copies = [&] {
    if (copied < k_tiles) {
#pragma unroll
      for (int row = 0; row < BM; row += Config::ROWS_A) {
        float* to = filled + word_in_As<Config>(rowA + row, colA);
        const float* from = nextA + std::size_t(row) * lda;
        if constexpr (VECTORISED)
          ptx::cp_async_ca<4>(to, from);  //@ copy-A store-As
        else
          copy_word(to, from, blockRow + rowA + row < M && copied * BK + colA < K);
      }
#pragma unroll
      for (int k = 0; k < BK; k += ROWS_B) {
        float* to = filled + word_in_Bs<Config>(rowB + k, colB);
        const float* from = nextB + std::size_t(k) * ldb;
        if constexpr (VECTORISED)
          ptx::cp_async_cg(to, from);  //@ copy-B store-Bs
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
  // Loads this thread's part of the next k-tile into registers. No thread waits for it yet.
  const auto load = [&] {
#pragma unroll
    for (int n = 0; n < BM / Config::ROWS_A; ++n) {
      const float* from = nextA + std::size_t(n * Config::ROWS_A) * lda;
      if constexpr (VECTORISED && WIDTH_A == 4) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        stagedA[n][0] = four.x, stagedA[n][1] = four.y, stagedA[n][2] = four.z,
        stagedA[n][3] = four.w;
      } else {
#pragma unroll
        for (int i = 0; i < WIDTH_A; ++i) {
          const bool inside = VECTORISED || (blockRow + rowA + n * Config::ROWS_A < M &&
                                             copied * BK + colA + i < K);
          stagedA[n][i] = inside ? from[i] : 0.0f;  //@ load-A-words
        }
      }
    }
#pragma unroll
    for (int n = 0; n < BK / ROWS_B; ++n) {
      const float* from = nextB + std::size_t(n * ROWS_B) * ldb;
      if constexpr (VECTORISED) {
        stagedB[n] = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (copied * BK + rowB + n * ROWS_B < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        stagedB[n] = {b[0], b[1], b[2], b[3]};
      }
    }
    ++copied;
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // Stores the loaded k-tile in the stage that is filled next. Here a thread waits for its loads.
  const auto store = [&] {
#pragma unroll
    for (int n = 0; n < BM / Config::ROWS_A; ++n)
#pragma unroll
      for (int i = 0; i < WIDTH_A; ++i)
        filled[word_in_As<Config>(rowA + n * Config::ROWS_A, colA + i)] =  //@ store-As
            stagedA[n][i];
#pragma unroll
    for (int n = 0; n < BK / ROWS_B; ++n)
      *reinterpret_cast<float4*>(  //@ store-Bs
          filled + word_in_Bs<Config>(rowB + n * ROWS_B, colB)) = stagedB[n];
    filled = next(filled);
  };
  const auto wait = [&] {
    if constexpr (ASYNC) {
      // this thread's copies of the next k-tile have landed
      ptx::cp_async_wait_group<Config::STAGES - 2>();
    } else {
      store();
    }
    // the next k-tile is complete; also: all have read the stage that is filled next
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
  const auto begin = [&] {
    if constexpr (ASYNC)
      start_copies();
    else
      load();
  };
  // A k-tile. LAST: no other follows.
  const auto compute = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      if (dotIdx < BK - 1) load_operands(read, dotIdx + 1);
      if (!LAST && dotIdx == 0) begin();
      if (!LAST && dotIdx == BK - 1) {
        wait();  // the operands of the next k-step are in the next stage
        read = next(read);
        load_operands(read, 0);
      }
      tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
    }
  };

#pragma unroll
  for (int stage = 0; stage < Config::STAGES - 1; ++stage) begin();
  wait();
  load_operands(read, 0);
#pragma unroll 1
  for (int k_tile = 1; k_tile < k_tiles; ++k_tile) compute(std::false_type{});
  compute(std::true_type{});

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

// Calls f(name, configuration) for every kernel of this lab.
template <class F>
void for_each_config(F&& f) {
  f("ring", Ring{});
  f("registers", Registers{});
  f("registers_words", RegistersWords{});
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

TILE_CHAPTER(.number = 14, .title = "A ring of stages: k-tiles through registers",
             .kernels = kernels(), .counted = {256, 512, 256},
             .sizes = {1024, 2048, 4092, 4096, 8192}, .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("one to four k-tiles, whole and residue" * doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 3, 4})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * kernel.tile.BK + more;
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel.launch,
                                  {{128, 256, K, 1, 0, 0, tile::Fill::integers},
                                   {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

TEST_CASE("the threads load every element of both tiles once") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::BM, C::BK, C::NUM_THREADS, [](int thread, auto take) {
            const auto [row, col] = copy_A_of<C>(thread);
            for (int n = 0; n < C::BM; n += C::ROWS_A)
              for (int i = 0; i < C::WIDTH_A; ++i) take(row + n, col + i);
          }) == "");
    CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
            const auto [row, col] = copy_B_of<C, 4>(thread);
            for (int n = 0; n < C::BK; n += C::ROWS_B)
              for (int j = 0; j < 4; ++j) take(row + n, col + j);
          }) == "");
  });
}

#if TILE_ON_MODEL
TEST_CASE("each kernel copies the A tile as its name says, without bank conflicts" *
          doctest::test_suite("model")) {
  const std::uint64_t warps = 8, tiles = 4;
  for_each_config([&]<class C>(const std::string& name, C) {
    INFO(name);
    const auto run = tile::count(launch_ring<C>, {C::BM, C::BN, int(tiles) * C::BK});
    const char* tag = name == "ring"        ? "copy-A"
                      : name == "registers" ? "load-A"
                                            : "load-A-words";
    CHECK(tile::site(run, tag).requests == warps * tiles * (name == "registers" ? 1 : 4));
    CHECK(tile::site(run, tag).by_copy == (name == "ring"));
    CHECK(run.barriers == tiles);
    for (const char* stored : {"store-As", "store-Bs"})
      CHECK(tile::bank_conflict(run, stored) == "");
  });
}
#endif
