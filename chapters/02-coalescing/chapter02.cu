// Tile by Tile, chapter 02: coalescing.
//
// Question: each warp-wide multiply-add of the naive kernel touches 33 cache lines. Which
// thread should compute which element of C, so that a warp touches fewer? Idea: threadIdx.x
// runs along a row of C, so that the 32 threads of a warp read 32 neighbouring elements of B,
// which share one 128-byte line, and a single element of A. The arithmetic does not change.
// Previous chapter: 01, the naive kernel. One line of result_of changes, and the shape of the
// block.
//
// Build, run, verify:   ./tile run 02      ctest --preset model -R chapter02
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 32;  // columns of C per block
  static constexpr int NUM_THREADS = BM * BN;
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BN % 32 == 0,
                "a warp must lie within one row of the tile: else it reads two rows of A");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// The element of C that a thread computes. The 32 threads of a warp differ in threadIdx.x, so
// they compute 32 neighbouring columns of one row.
constexpr __host__ __device__ Position result_of(int blockX, int blockY, int threadX,
                                                 int threadY) {
  return {blockY * Config::BM + threadY, blockX * Config::BN + threadX};
}
// [/snippet maps]

__global__ void sgemm_coalesced(int M, int N, int K, float alpha,  //
                                const float* A, int lda,           // M x K
                                const float* B, int ldb,           // K x N
                                float beta,                        //
                                float* C, int ldc) {               // M x N
  // [snippet kernel]
  const auto [row, col] = result_of(blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y);
  if (row >= M || col >= N) return;  // the last tiles may extend beyond C

  // [snippet main-loop]
  float acc = 0.0f;
  for (int k = 0; k < K; ++k) {
    const float a = A[std::size_t(row) * lda + k];  //@ load-A
    const float b = B[std::size_t(k) * ldb + col];  //@ load-B
    acc += a * b;
  }
  // [/snippet main-loop]

  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
  // [/snippet kernel]
}

// [snippet launch]
void launch_coalesced(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const dim3 block(Config::BN, Config::BM);
  tile::launch(sgemm_coalesced, grid, block, 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_coalesced;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The predictions that take more than a formula in the prose.
void predict(tile::Facts& facts) {
  const Position worked = result_of(3, 2, 5, 7);
  facts.predicted("worked.row", worked.row);
  facts.predicted("worked.col", worked.col);
  facts.predicted_loads("coalesced", 2, 0);
}

}  // namespace

TILE_CHAPTER(.number = 2, .title = "Coalescing",
             .kernels = {{"coalesced",
                          launch_default,
                          reinterpret_cast<const void*>(sgemm_coalesced),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, 1, tile::Alignment::any}}},
             .counted = counted, .sizes = {1024, 2048, 4096},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("a warp computes 32 neighbouring columns of one row") {
  for (int lane = 1; lane < 32; ++lane) {
    CHECK(result_of(2, 4, lane, 9).row == result_of(2, 4, 0, 9).row);
    CHECK(result_of(2, 4, lane, 9).col == result_of(2, 4, 0, 9).col + lane);
  }
}

TEST_CASE("thread (5, 7) of block (3, 2) computes C[71][101]") {
  CHECK(result_of(3, 2, 5, 7).row == 71);
  CHECK(result_of(3, 2, 5, 7).col == 101);
}

TEST_CASE("every element of a tile has exactly one thread") {
  CHECK(tile::covers_once(Config::BM, Config::BN, Config::NUM_THREADS,
                          [](int thread, auto take) {
                            const auto [row, col] =
                                result_of(0, 0, thread % Config::BN, thread / Config::BN);
                            take(row, col);
                          }) == "");
}

#if TILE_ON_MODEL
TEST_CASE("A is a broadcast, B four sectors of one line" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_coalesced, {64, 256, 256});
  const auto& A = tile::site(counts, "load-A");
  CHECK(A.sectors == A.requests);
  const auto& B = tile::site(counts, "load-B");
  CHECK(B.sectors == 4 * B.requests);
  CHECK(B.lines == B.requests);
  const auto& C = tile::site(counts, "store-C");
  CHECK(C.sectors == 4 * C.requests);
  // as many requests as in chapter 01: only what they touch has changed
  CHECK(A.requests == 64u * 256 * 256 / 32);
}

TEST_CASE("with a leading dimension that 32 does not divide, a request straddles two lines" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_coalesced, {32, 32, 32, 1, 0, 1});
  const auto& B = tile::site(counts, "load-B");
  // Row k begins at word 33k: one row in 8 begins with a sector, and one in 32 with a line.
  CHECK(B.sectors * 8 == (4 + 7 * 5) * B.requests);
  CHECK(B.lines * 32 == (1 + 31 * 2) * B.requests);
}

// [snippet permuted]
__global__ void load_permuted(const float* in, float* out, int rotate, int flip) {
  out[threadIdx.x] = in[((threadIdx.x + rotate) ^ flip) % 32];  //@ load-permuted
}
// [/snippet permuted]

TEST_CASE("the order of the lanes within the line does not matter" *
          doctest::test_suite("model")) {
  auto* in =
      static_cast<float*>(tile::machine::allocate(32 * sizeof(float), sizeof(float), "in"));
  auto* out =
      static_cast<float*>(tile::machine::allocate(32 * sizeof(float), sizeof(float), "out"));
  for (int rotate = 0; rotate < 32; ++rotate)
    for (const int flip : {0, 1, 5, 31}) {
      const auto counts =
          simt::trace([&] {
            tile::launch(load_permuted, dim3(1), dim3(32), 0, in, out, rotate, flip);
          }).front();
      const auto& load = counts.sites.front();
      CHECK(load.array == "in");
      CHECK(load.sectors == 4);
      CHECK(load.lines == 1);
      CHECK(load.l1_wavefronts == 1);
    }
  tile::machine::release(in);
  tile::machine::release(out);
}

// Each lane loads a pair of words: lane l the l-th pair, or, with even_first, the first half
// of the warp the even-numbered pairs and the second half the odd-numbered ones.
__global__ void load_pairs(const float2* in, float2* out, bool even_first) {
  const int lane = threadIdx.x;
  out[lane] = in[even_first ? lane % 16 * 2 + lane / 16 : lane];  //@ load-pairs
}

TEST_CASE("with 8 bytes per lane the order can cost wavefronts, but no sectors" *
          doctest::test_suite("model")) {
  auto* in =
      static_cast<float2*>(tile::machine::allocate(32 * sizeof(float2), sizeof(float2), "in"));
  auto* out = static_cast<float2*>(
      tile::machine::allocate(32 * sizeof(float2), sizeof(float2), "out"));
  const auto load = [&](bool even_first) {
    return simt::trace(
               [&] { tile::launch(load_pairs, dim3(1), dim3(32), 0, in, out, even_first); })
        .front()
        .sites.front();
  };
  const auto in_order = load(false), even_first = load(true);
  CHECK(in_order.array == "in");
  CHECK(even_first.sectors == in_order.sectors);
  CHECK(even_first.lines == in_order.lines);
  CHECK(in_order.l1_wavefronts == 2);
  CHECK(even_first.l1_wavefronts == 4);
  tile::machine::release(in);
  tile::machine::release(out);
}
#endif
