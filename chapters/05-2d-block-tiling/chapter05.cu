// Tile by Tile, chapter 05: 2D block tiling.
//
// Question: a thread with a column of accumulators reuses its operand from B, but not those
// from A. Can it reuse both? Idea: a thread computes a tile of TM x TN elements of C. In each k-step
// it loads TM + TN operands and makes TM * TN multiply-adds: an outer product in registers.
// Previous chapter: 04, 1D block tiling. New are the second dimension of the thread tile, and
// threads that load several elements of each tile.
//
// Build, run, verify:   ./tile run 05      ctest --preset model -R chapter05
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 128;  // rows of C per block
  static constexpr int BN = 128;  // columns of C per block
  static constexpr int BK = 16;   // depth of a k-tile
  static constexpr int TM = 8;    // rows of C per thread
  static constexpr int TN = 8;    // columns of C per thread
  static constexpr int NUM_THREADS = BM * BN / (TM * TN);
  // rows of As, and of Bs, that all threads together load at once
  static constexpr int ROWS_A = NUM_THREADS / BK;
  static constexpr int ROWS_B = NUM_THREADS / BN;
  static_assert(BM % TM == 0 && BN % TN == 0,
                "a thread tile must not cross the edge of the block tile");
  static_assert(
      NUM_THREADS % BK == 0 && BM % ROWS_A == 0,
      "the threads load As in whole rows: else elements are left out or loaded twice");
  static_assert(
      NUM_THREADS % BN == 0 && BK % ROWS_B == 0,
      "the threads load Bs in whole rows: else elements are left out or loaded twice");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// For computing: where a thread's TM x TN tile of C begins, relative to the block tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  constexpr int threadsPerRow = Config::BN / Config::TN;
  return {thread / threadsPerRow * Config::TM, thread % threadsPerRow * Config::TN};
}
// For loading: the first element of As, and of Bs, that a thread loads. The next ones lie
// ROWS_A and ROWS_B rows below.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / Config::BK, thread % Config::BK};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}
// [/snippet maps]

// [snippet head]
// PREDICATED: whether residue tiles are possible, so that each access has to be checked.
// UNROLLED: whether the loop over dotIdx is unrolled.
template <bool PREDICATED, bool UNROLLED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_2d_block(int M, int N, int K, float alpha,    //
                   const float* A, int lda,             // M x K
                   const float* B, int ldb,             // K x N
                   float beta,                          //
                   float* C, int ldc) {                 // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  __shared__ float As[BM * BK];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // the accumulators
  // [/snippet head]
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    // Beyond the matrix a tile holds zeros, which add nothing to the dot product.
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      float a = 0.0f;
      const bool inside = !PREDICATED || (blockRow + rowA + down < M && bkIdx + colA < K);
      if (inside) a = nextA[std::size_t(down) * lda];  //@ load-A
      As[(rowA + down) * BK + colA] = a;               //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      float b = 0.0f;
      const bool inside = !PREDICATED || (bkIdx + rowB + down < K && blockCol + colB < N);
      if (inside) b = nextB[std::size_t(down) * ldb];  //@ load-B
      Bs[(rowB + down) * BN + colB] = b;               //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // A thread reads what others stored: none may read before all have stored.
    __syncthreads();

    // [snippet multiply]
#pragma unroll UNROLLED ? BK : 1
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];  // this thread's part of a column of As and of a row of Bs
      for (int i = 0; i < TM; ++i) regM[i] = As[(threadRow + i) * BK + dotIdx];  //@ load-As
      for (int j = 0; j < TN; ++j) regN[j] = Bs[dotIdx * BN + threadCol + j];    //@ load-Bs
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    // [/snippet multiply]
    // The next iteration overwrites the tiles: none may store before all have read.
    __syncthreads();
  }

  // [snippet epilogue]
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int row = blockRow + threadRow + i, col = blockCol + threadCol + j;
      // the rest of the row is outside as well
      if (PREDICATED && (row >= M || col >= N)) break;
      float* c = &C[std::size_t(row) * ldc + col];
      float result = alpha * acc[i][j];
      if (beta != 0.0f) result += beta * *c;  //@ load-C
      *c = result;                            //@ store-C
    }
  // [/snippet epilogue]
}

// [snippet launch]
template <bool UNROLLED>
void launch_block2d(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_2d_block<false, UNROLLED> : sgemm_2d_block<true, UNROLLED>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}

[[maybe_unused]] constexpr auto launch_default = launch_block2d<true>;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, TN = Config::TN, BM = Config::BM, BN = Config::BN;
  for (const char* kernel : {"block2d", "unrolled"})
    facts.predicted_loads(kernel, 1 / BM + 1 / BN, (TM + TN) / (TM * TN));
}

template <bool UNROLLED>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_block2d<UNROLLED>,
          reinterpret_cast<const void*>(sgemm_2d_block<false, UNROLLED>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 5, .title = "2D block tiling",
             .kernels = {kernel<false>("block2d"), kernel<true>("unrolled")},
             .counted = counted, .sizes = {1024, 2048, 4096, 8192},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"TM", Config::TM},
                           {"TN", Config::TN},
                           {"NUM_THREADS", Config::NUM_THREADS},
                           {"ROWS_A", Config::ROWS_A},
                           {"ROWS_B", Config::ROWS_B}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("M, N and K may end within a thread tile and within a k-tile") {
  std::vector<tile::Case> cases;
  for (int extra = 1; extra < 16; extra += 3)
    cases.push_back(
        {128 + extra, 128 + 17 - extra, 32 + extra, 1, 0, 0, tile::Fill::integers});
  CHECK(tile::first_failure(launch_default, cases) == "");
}

TEST_CASE("the thread tiles cover a tile of C once, and the loads cover As and Bs once") {
  const auto of_C = [](int thread, auto take) {
    const auto [row, col] = thread_tile_of(thread);
    for (int i = 0; i < Config::TM; ++i)
      for (int j = 0; j < Config::TN; ++j) take(row + i, col + j);
  };
  const auto of_As = [](int thread, auto take) {
    const auto [row, col] = load_A_of(thread);
    for (int down = 0; down < Config::BM; down += Config::ROWS_A) take(row + down, col);
  };
  const auto of_Bs = [](int thread, auto take) {
    const auto [row, col] = load_B_of(thread);
    for (int down = 0; down < Config::BK; down += Config::ROWS_B) take(row + down, col);
  };
  CHECK(tile::covers_once(Config::BM, Config::BN, Config::NUM_THREADS, of_C) == "");
  CHECK(tile::covers_once(Config::BM, Config::BK, Config::NUM_THREADS, of_As) == "");
  CHECK(tile::covers_once(Config::BK, Config::BN, Config::NUM_THREADS, of_Bs) == "");
}

// The wavefronts of a load of As along dotIdx and of one of Bs along j, by a warp that is
// `columns` threads wide.
std::pair<int, int> wavefronts_of(int columns, int bytes) {
  simt::WarpAccess As{.active = ~0u, .size = bytes}, Bs = As;
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane / columns * Config::TM, col = lane % columns * Config::TN;
    As.address[std::size_t(lane)] = sizeof(float) * std::uint64_t(row * Config::BK);
    Bs.address[std::size_t(lane)] = sizeof(float) * std::uint64_t(col);
  }
  return {simt::shared_wavefronts(As, true), simt::shared_wavefronts(Bs, true)};
}

TEST_CASE("a 16-byte load of As along dotIdx takes two wavefronts, one of Bs along j eight") {
  CHECK(thread_tile_of(15).row == 0);
  CHECK(thread_tile_of(16).col == 0);
  CHECK(wavefronts_of(16, 16) == std::pair{2, 8});
}

TEST_CASE("of the other shapes of a warp, one makes single words of Bs cheaper, one float4s") {
  CHECK(wavefronts_of(16, 4).second == 4);
  CHECK(wavefronts_of(8, 4).second == 2);
  CHECK(wavefronts_of(8, 16).second == 8);
  CHECK(wavefronts_of(4, 16) == std::pair{8, 4});
  const auto per_step = [](int columns) {  // a float4 of As lasts for four k-steps
    const auto [As, Bs] = wavefronts_of(columns, 16);
    return Config::TM * As / 4 + Config::TN / 4 * Bs;
  };
  CHECK(per_step(16) == 20);
  CHECK(per_step(4) == 24);
}

#if TILE_ON_MODEL
const tile::Case block{128, 128, 256};

TEST_CASE("16 shared loads for 64 multiply-adds" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  const std::uint64_t fmas = 128u * 128 * 256 / 32;  // warp-wide
  CHECK(tile::site(counts, "load-As").requests * 8 == fmas);
  CHECK(tile::site(counts, "load-Bs").requests * 8 == fmas);
}

TEST_CASE("an element of C takes K/64 global and K/4 shared loads" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  const std::uint64_t elements = 128u * 128, K = 256;
  CHECK((tile::site(counts, "load-A").accesses + tile::site(counts, "load-B").accesses) * 64 ==
        elements * K);
  CHECK((tile::site(counts, "load-As").accesses + tile::site(counts, "load-Bs").accesses) *
            4 ==
        elements * K);
}

TEST_CASE("as written, a load of As takes two wavefronts and one of Bs four" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  CHECK(tile::site(counts, "load-As").wavefronts ==
        2 * tile::site(counts, "load-As").requests);
  CHECK(tile::site(counts, "load-Bs").wavefronts ==
        4 * tile::site(counts, "load-Bs").requests);
  CHECK(tile::site(counts, "store-As").wavefronts == tile::site(counts, "store-As").requests);
  CHECK(tile::site(counts, "store-Bs").wavefronts == tile::site(counts, "store-Bs").requests);
}
#endif
