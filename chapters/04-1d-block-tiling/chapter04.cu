// Tile by Tile, chapter 04: 1D block tiling.
//
// Question: with one result a thread, both operands of every multiply-add come from shared
// memory. Can a value that has reached a register be used more than once? Idea: a thread
// computes a column of TM results. One value of Bs, once in a register, serves all of them.
// Previous chapter: 03, shared-memory tiling. New are the loop over TM results and a thread
// map of its own for loading.
//
// Build, run, verify:   ./tile run 04      ctest --preset model -R chapter04
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 64;  // rows of C per block
  static constexpr int BN = 64;  // columns of C per block
  static constexpr int BK = 8;   // depth of a tile along K
  static constexpr int TM = 8;   // results per thread, in one column of C
  static constexpr int NUM_THREADS = BM * BN / TM;
  static_assert(BM % TM == 0,
                "a thread's column of results must not cross the edge of the tile");
  static_assert(
      BN % 32 == 0,
      "a warp must lie within one row of threads: else its load of As is no broadcast");
  static_assert(BM * BK == NUM_THREADS,
                "each thread loads one element of As: other tiles stay partly unwritten");
  static_assert(BK * BN == NUM_THREADS,
                "each thread loads one element of Bs: other tiles stay partly unwritten");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// Where a thread's TM results begin in the block's tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  return {thread / Config::BN * Config::TM, thread % Config::BN};
}
// Which element of As, and which of Bs, a thread loads.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / Config::BK, thread % Config::BK};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}
// [/snippet maps]

// PREDICATED: whether a tile may hang over the edge of a matrix. SWAPPED: whether the two inner
// loops change places.
template <bool PREDICATED, bool SWAPPED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_1d_block(int M, int N, int K, float alpha,    //
                   const float* A, int lda,             // M x K
                   const float* B, int ldb,             // K x N
                   float beta,                          //
                   float* C, int ldc) {                 // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM;
  __shared__ float As[BM * BK];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM] = {0.0f};  // TM results, one below the other
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    // Beyond the edge a tile holds zeros, which add nothing to the dot product.
    const bool inA = !PREDICATED || (blockRow + rowA < M && bkIdx + colA < K);
    const bool inB = !PREDICATED || (bkIdx + rowB < K && blockCol + colB < N);
    float a = 0.0f, b = 0.0f;
    if (inA) a = *nextA;       //@ load-A
    if (inB) b = *nextB;       //@ load-B
    As[rowA * BK + colA] = a;  //@ store-As
    Bs[rowB * BN + colB] = b;  //@ store-Bs
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

    if constexpr (!SWAPPED) {
      // [snippet multiply]
      for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
        const float regN = Bs[dotIdx * BN + threadCol];  //@ load-Bs
        for (int i = 0; i < TM; ++i) {
          const float regM = As[(threadRow + i) * BK + dotIdx];  //@ load-As
          acc[i] += regM * regN;
        }
      }
      // [/snippet multiply]
    } else {
      // [snippet swapped]
      for (int i = 0; i < TM; ++i) {
        for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
          const float regM = As[(threadRow + i) * BK + dotIdx];  //@ load-As-swapped
          const float regN = Bs[dotIdx * BN + threadCol];        //@ load-Bs-swapped
          acc[i] += regM * regN;
        }
      }
      // [/snippet swapped]
    }
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }

  // [snippet epilogue]
  for (int i = 0; i < TM; ++i) {
    const int row = blockRow + threadRow + i, col = blockCol + threadCol;
    if (PREDICATED && (row >= M || col >= N)) break;  // the rows below are outside as well
    float* c = &C[std::size_t(row) * ldc + col];
    float result = alpha * acc[i];
    if (beta != 0.0f) result += beta * *c;  //@ load-C
    *c = result;                            //@ store-C
  }
  // [/snippet epilogue]
}

// [snippet launch]
template <bool SWAPPED>
void launch_block1d(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_1d_block<false, SWAPPED> : sgemm_1d_block<true, SWAPPED>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, BM = Config::BM, BN = Config::BN;
  facts.predicted("worked.row", thread_tile_of(197).row);
  facts.predicted("worked.col", thread_tile_of(197).col);
  facts.predicted("worked.rowA", load_A_of(197).row);
  facts.predicted("worked.colA", load_A_of(197).col);
  facts.predicted("worked.rowB", load_B_of(197).row);
  facts.predicted("worked.colB", load_B_of(197).col);
  facts.predicted_loads("block1d", 1 / BM + 1 / BN, (1 + TM) / TM);
  // as written: both operands, for each multiply-add
  facts.predicted_loads("swapped", 1 / BM + 1 / BN, 2);
}

template <bool SWAPPED>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_block1d<SWAPPED>,
          reinterpret_cast<const void*>(sgemm_1d_block<false, SWAPPED>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 4, .title = "1D block tiling",
             .kernels = {kernel<false>("block1d"), kernel<true>("swapped")},
             .counted = counted, .sizes = {1024, 2048, 4096, 8192},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"TM", Config::TM},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("M and K may end within a thread's column and within a tile") {
  std::vector<tile::Case> cases;
  for (int extra = 1; extra < 16; extra += 3)
    cases.push_back({64 + extra, 64, 16 + extra, 1, 0, 0, tile::Fill::integers});
  CHECK(tile::first_failure(launch_block1d<false>, cases) == "");
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  std::vector<int> results(Config::BM * Config::BN), loadsA(Config::BM * Config::BK),
      loadsB(Config::BK * Config::BN);
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread) {
    for (int i = 0; i < Config::TM; ++i)
      ++results.at(std::size_t((thread_tile_of(thread).row + i) * Config::BN +
                               thread_tile_of(thread).col));
    ++loadsA.at(std::size_t(load_A_of(thread).row * Config::BK + load_A_of(thread).col));
    ++loadsB.at(std::size_t(load_B_of(thread).row * Config::BN + load_B_of(thread).col));
  }
  CHECK(results == std::vector<int>(results.size(), 1));
  CHECK(loadsA == std::vector<int>(loadsA.size(), 1));
  CHECK(loadsB == std::vector<int>(loadsB.size(), 1));
}

#if TILE_ON_MODEL
const tile::Case strip{64, 256, 256};  // one row of blocks

TEST_CASE("one load of Bs and TM of As for TM multiply-adds" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_block1d<false>, strip);
  const std::uint64_t fmas = 64u * 256 * 256 / 32;  // warp-wide
  const auto& As = tile::site(counts, "load-As");
  const auto& Bs = tile::site(counts, "load-Bs");
  CHECK(As.requests == fmas);
  CHECK(Bs.requests * Config::TM == fmas);
  CHECK(As.wavefronts == As.requests);  // a broadcast
  CHECK(Bs.wavefronts == Bs.requests);
}

TEST_CASE("K/32 global and 9K/8 shared loads per result" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_block1d<false>, strip);
  const std::uint64_t results = 64u * 256, K = 256;
  CHECK((tile::site(counts, "load-A").accesses + tile::site(counts, "load-B").accesses) * 32 ==
        results * K);
  CHECK((tile::site(counts, "load-As").accesses + tile::site(counts, "load-Bs").accesses) *
            8 ==
        results * K * 9);
}

TEST_CASE("as written the swapped loops load Bs TM times as often" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_block1d<true>, {64, 64, 64});
  const std::uint64_t fmas = 64u * 64 * 64 / 32;
  CHECK(tile::site(counts, "load-As-swapped").requests == fmas);
  CHECK(tile::site(counts, "load-Bs-swapped").requests == fmas);
}

TEST_CASE("a warp's load of A touches four rows" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_block1d<false>, strip);
  CHECK(tile::site(counts, "load-A").sectors == 4 * tile::site(counts, "load-A").requests);
  CHECK(tile::site(counts, "load-A").lines == 4 * tile::site(counts, "load-A").requests);
  CHECK(tile::site(counts, "load-B").lines == tile::site(counts, "load-B").requests);
}
#endif
