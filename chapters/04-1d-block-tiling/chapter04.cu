// Tile by Tile, chapter 04: 1D block tiling.
//
// Question: each multiply-add of chapter 03 loads both of its operands from shared memory. Can
// a value in a register serve more than one? Idea: a thread computes TM elements of C, one
// below the other. All of them need the same value of Bs, which is loaded once and used TM
// times.
// Previous chapter: 03, shared-memory tiling. New are the loop over the TM accumulators of a
// thread, and thread maps for loading that differ from the one for computing.
//
// Build, run, verify:   ./tile run 04      ctest --preset model -R chapter04
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 64;  // rows of C per block
  static constexpr int BN = 64;  // columns of C per block
  static constexpr int BK = 8;   // depth of a k-tile: columns of As, rows of Bs
  static constexpr int TM = 8;   // elements of C per thread, one below the other
  static constexpr int NUM_THREADS = BM * BN / TM;
  static_assert(BM % TM == 0, "the TM elements of a thread must lie within the tile of C");
  static_assert(
      BN % 32 == 0,
      "a warp must lie within one row of threads: else its load of As is no broadcast");
  static_assert(
      BM * BK == NUM_THREADS,
      "each thread loads one element of As: part of any other tile would stay unwritten");
  static_assert(
      BK * BN == NUM_THREADS,
      "each thread loads one element of Bs: part of any other tile would stay unwritten");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// The first of the TM elements of C that a thread computes, relative to the block tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  return {thread / Config::BN * Config::TM, thread % Config::BN};
}
// The element of As, and the element of Bs, that a thread loads.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / Config::BK, thread % Config::BK};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}
// [/snippet maps]

// PREDICATED: whether residue tiles are possible, so that each access has to be checked.
template <bool PREDICATED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_1d_block(int M, int N, int K, float alpha,    //
                   const float* A, int lda,             // M x K
                   const float* B, int ldb,             // K x N
                   float beta,                          //
                   float* C, int ldc) {                 // M x N
  // [snippet kernel]
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM;
  __shared__ float As[BM * BK];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  // This thread's element of the next tile of A, and of B.
  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM] = {0.0f};  // accumulators of elements of C, one below the other
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    // Beyond the matrix a tile holds zeros, which add nothing to the dot product.
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
    // A thread reads what others stored: none may read before all have stored.
    __syncthreads();

    // [snippet multiply]
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float regN = Bs[dotIdx * BN + threadCol];  //@ load-Bs
      for (int i = 0; i < TM; ++i) {
        const float regM = As[(threadRow + i) * BK + dotIdx];  //@ load-As
        acc[i] += regM * regN;
      }
    }
    // [/snippet multiply]
    // The next iteration overwrites the tiles: none may store before all have read.
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
  // [/snippet kernel]
}

// [snippet launch]
void launch_block1d(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_1d_block<false> : sgemm_1d_block<true>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_block1d;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// Predictions for tables and for the worked example. All others are formulas in the prose.
void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, BM = Config::BM, BN = Config::BN;
  facts.predicted("worked.row", thread_tile_of(197).row);
  facts.predicted("worked.col", thread_tile_of(197).col);
  facts.predicted("worked.rowA", load_A_of(197).row);
  facts.predicted("worked.colA", load_A_of(197).col);
  facts.predicted("worked.rowB", load_B_of(197).row);
  facts.predicted("worked.colB", load_B_of(197).col);
  facts.predicted_loads("block1d", 1 / BM + 1 / BN, (1 + TM) / TM);
}

}  // namespace

TILE_CHAPTER(.number = 4, .title = "1D block tiling",
             .kernels = {{"block1d",
                          launch_default,
                          reinterpret_cast<const void*>(sgemm_1d_block<false>),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
                          (Config::BM + Config::BN) * Config::BK * sizeof(float)}},
             .counted = counted, .sizes = {1024, 2048, 4096, 8192},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"TM", Config::TM},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("M may end within a thread's column, and K within a k-tile") {
  std::vector<tile::Case> cases;
  for (int extra = 1; extra < 16; extra += 3)
    cases.push_back({64 + extra, 64, 16 + extra, 1, 0, 0, tile::Fill::integers});
  CHECK(tile::first_failure(launch_default, cases) == "");
}

TEST_CASE("each of the three maps covers its tile once") {
  const auto once = [](int rows, int cols, Position (*map)(int), int below) {
    return tile::covers_once(rows, cols, Config::NUM_THREADS, [&](int thread, auto take) {
      for (int i = 0; i < below; ++i) take(map(thread).row + i, map(thread).col);
    });
  };
  CHECK(once(Config::BM, Config::BN, thread_tile_of, Config::TM) == "");
  CHECK(once(Config::BM, Config::BK, load_A_of, 1) == "");
  CHECK(once(Config::BK, Config::BN, load_B_of, 1) == "");
}

TEST_CASE("thread 197 computes rows 24 to 31 of column 5") {
  CHECK(thread_tile_of(197).row == 24);
  CHECK(thread_tile_of(197).col == 5);
}

#if TILE_ON_MODEL
const tile::Case strip{64, 256, 256};  // one row of blocks

TEST_CASE("one load of Bs and TM of As for TM multiply-adds" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, strip);
  const std::uint64_t fmas = 64u * 256 * 256 / 32;  // warp-wide
  const auto& As = tile::site(counts, "load-As");
  const auto& Bs = tile::site(counts, "load-Bs");
  CHECK(As.requests == fmas);
  CHECK(Bs.requests * Config::TM == fmas);
  CHECK(As.wavefronts == As.requests);  // a broadcast
  CHECK(Bs.wavefronts == Bs.requests);
}

TEST_CASE("an element of C takes K/32 global and 9K/8 shared loads" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, strip);
  const std::uint64_t elements = 64u * 256, K = 256;
  CHECK((tile::site(counts, "load-A").accesses + tile::site(counts, "load-B").accesses) * 32 ==
        elements * K);
  CHECK((tile::site(counts, "load-As").accesses + tile::site(counts, "load-Bs").accesses) *
            8 ==
        elements * K * 9);
}

TEST_CASE("a warp's load of A touches four rows" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, strip);
  CHECK(tile::site(counts, "load-A").sectors == 4 * tile::site(counts, "load-A").requests);
  CHECK(tile::site(counts, "load-A").lines == 4 * tile::site(counts, "load-A").requests);
  CHECK(tile::site(counts, "load-B").lines == tile::site(counts, "load-B").requests);
}
#endif
