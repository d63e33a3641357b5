// Tile by Tile, chapter 01: the naive kernel.
//
// Question: what does a GPU make of the textbook triple loop?
// Idea: one thread computes one element of C and walks along K alone. Nothing is shared and nothing is reused, so
// all the kernel's speed comes from what the memory system can rescue.
// Previous chapter: 00, the machine and the measure.
//
// Build, run, verify:   ./tile run 01      ctest --preset model -R chapter01
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 4;   // columns of C per block
  static constexpr int NUM_THREADS = BM * BN;
  static_assert(NUM_THREADS <= 1024, "a block has at most 1024 threads: the launch would fail");
  static_assert(BM % 32 == 0, "a warp must lie within one column of the tile: the counts below assume it");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// The element of C that a thread owns. threadIdx is the position in the block, not in the grid.
constexpr __host__ __device__ Position result_of(int blockRow, int blockCol, int threadX, int threadY) {
  return {blockRow * Config::BM + threadX, blockCol * Config::BN + threadY};
}
// [/snippet maps]

// [snippet kernel]
__global__ void sgemm_naive(int M, int N, int K, float alpha,  //
                            const float* A, int lda,           // M x K
                            const float* B, int ldb,           // K x N
                            float beta,                        //
                            float* C, int ldc) {               // M x N
  const auto [row, col] = result_of(blockIdx.y, blockIdx.x, threadIdx.x, threadIdx.y);
  if (row >= M || col >= N) return;  // the tile may hang over the edge of C

  // [snippet main-loop]
  float acc = 0.0f;
  for (int k = 0; k < K; ++k) {
    const float a = A[std::size_t(row) * lda + k];  //@ load-A
    const float b = B[std::size_t(k) * ldb + col];  //@ load-B
    acc += a * b;
  }
  // [/snippet main-loop]

  // [snippet epilogue]
  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
  // [/snippet epilogue]
}
// [/snippet kernel]

// [snippet launch]
void launch_naive(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const dim3 block(Config::BM, Config::BN);
  tile::launch(sgemm_naive, grid, block, 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const double n = 4092, flops = 2 * n * n * n;
  facts.predicted("no_reuse.4092.gb", 2 * 4 * n * n * n * 1e-9, 0);
  facts.predicted("no_reuse.4092.seconds_a6000", 2 * 4 * n * n * n * 1e-9 / tile::rtx_a6000.dram_gbs, 3);
  facts.predicted("no_reuse.4092.gflops_a6000", flops * 1e-9 / (2 * 4 * n * n * n * 1e-9 / tile::rtx_a6000.dram_gbs),
                  0);
  // A warp-wide FMA needs 32 lines of A and 1 of B, and an SM looks up one line a cycle.
  facts.predicted("lines_per_fma", 33);
  const tile::GpuSpec& gpu = tile::h200;
  facts.predicted("ceiling.tflops", gpu.sms * gpu.clock_ghz * 1e9 * 64 / 33 * 1e-12, 3);
  facts.predicted("peak.tflops", gpu.peak_tflops(), 1);
  // Tile quantisation: threads of the last tiles that find no element of C.
  for (const int n_edge : {33, 4092}) {
    const double tiles = double(tile::ceil_div(n_edge, Config::BM)) * tile::ceil_div(n_edge, Config::BN);
    const double idle = tiles * Config::NUM_THREADS - double(n_edge) * n_edge;
    const std::string key = "quantisation." + std::to_string(n_edge);
    facts.predicted(key + ".idle", idle);
    facts.predicted(key + ".idle_percent", 100 * idle / (tiles * Config::NUM_THREADS), 1);
  }
  const Position worked = result_of(2, 3, 5, 1);
  facts.predicted("worked.row", worked.row);
  facts.predicted("worked.col", worked.col);
  facts.predicted_loads("naive", 2, 0);
}

}  // namespace

TILE_CHAPTER(.number = 1, .title = "The naive kernel",
             .kernels = {{"naive",
                          launch_naive,
                          reinterpret_cast<const void*>(sgemm_naive),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, 1, tile::Takes::all}}},
             .counted = counted, .sizes = {1024, 2048, 4096}, .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("threads (0,0) and (0,1) share a row of A") {
  constexpr auto first = result_of(0, 0, 0, 0), second = result_of(0, 0, 0, 1), third = result_of(0, 0, 1, 0);
  CHECK(first.row == second.row);  // the often repeated claim is that they share a column of B
  CHECK(first.col != second.col);
  CHECK(first.row != third.row);
  CHECK(first.col == third.col);
  CHECK(result_of(2, 3, 5, 1).row == 69);
  CHECK(result_of(2, 3, 5, 1).col == 13);
}

#if TILE_ON_MODEL
TEST_CASE("a warp's load of A touches 32 sectors, of B one" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, counted);
  const auto& A = tile::site(counts, "load-A");
  CHECK(A.sectors == 32 * A.requests);
  CHECK(A.lines == 32 * A.requests);
  const auto& B = tile::site(counts, "load-B");
  CHECK(B.sectors == B.requests);
  CHECK(B.lines == B.requests);
  CHECK(A.requests == 256u * 256 * 256 / 32);
  CHECK(B.requests == A.requests);
}

TEST_CASE("nothing is reused: eight bytes a multiply-add" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, {64, 96, 40});
  const auto fmas = std::uint64_t(64) * 96 * 40;
  CHECK(tile::site(counts, "load-A").bytes() + tile::site(counts, "load-B").bytes() == 8 * fmas);
}

TEST_CASE("threads past the edge are idle" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, {33, 33, 8});
  CHECK(counts.grid.x == 9);  // 33 columns in tiles of 4
  CHECK(counts.grid.y == 2);  // 33 rows in tiles of 32
  CHECK(tile::site(counts, "store-C").accesses == 33 * 33);
  const auto launched = counts.grid.x * counts.grid.y * Config::NUM_THREADS;
  CHECK(launched - tile::site(counts, "store-C").accesses == 9 * 2 * 128 - 33 * 33);
}

TEST_CASE("C is read only where beta asks for it" * doctest::test_suite("model")) {
  CHECK_THROWS_AS(tile::site(tile::count(launch_naive, {32, 32, 8}), "load-C"), std::out_of_range);
  const auto counts = tile::count(launch_naive, {32, 32, 8, 1.0f, 0.5f});
  CHECK(tile::site(counts, "load-C").accesses == 32 * 32);
}

TEST_CASE("33 lines a multiply-add" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, counted);
  const auto lines = tile::site(counts, "load-A").lines + tile::site(counts, "load-B").lines;
  CHECK(lines * 32 == 33u * 256 * 256 * 256);
}
#endif
