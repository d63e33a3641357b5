// Tile by Tile, chapter 03: shared-memory tiling.
//
// Question: each element of A and B that a block needs is loaded by 32 of its threads. Can the
// block load it once and keep it? Idea: in each iteration the block loads a 32 x 32 tile of A
// and one of B into shared memory, its threads multiply out of these tiles, and the tiles move
// on along K. Each loaded element serves 32 multiply-adds.
// Previous chapter: 02, coalescing. New are the two tiles in shared memory, the loop over
// k-tiles, and its two barriers.
//
// Build, run, verify:   ./tile run 03      ctest --preset model -R chapter03
#include <algorithm>
#include <vector>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 32;  // columns of C per block
  static constexpr int BK = 32;  // depth of a k-tile: columns of As, rows of Bs
  static constexpr int NUM_THREADS = BM * BN;
  static constexpr int SMEM_BYTES = (BM * BK + BK * BN) * int(sizeof(float));
  static_assert(
      BM * BK == NUM_THREADS,
      "each thread loads one element of As: part of any other tile would stay unwritten");
  static_assert(
      BK * BN == NUM_THREADS,
      "each thread loads one element of Bs: part of any other tile would stay unwritten");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(
      SMEM_BYTES <= 48 * 1024,
      "a block has at most 48 KB of static shared memory: nvcc would reject the kernel");
};

struct Position {
  int row, col;
};

// Which element of the block's tile of C a thread computes. As and Bs have the same shape, and
// the thread loads the same element of each.
constexpr __host__ __device__ Position position_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}
// [/snippet config]

// [snippet head]
// PREDICATED: whether residue tiles are possible, so that each access has to be checked.
template <bool PREDICATED>
__global__ void sgemm_shared(int M, int N, int K, float alpha,  //
                             const float* A, int lda,           // M x K
                             const float* B, int ldb,           // K x N
                             float beta,                        //
                             float* C, int ldc) {               // M x N
  // [snippet kernel]
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK;
  __shared__ float As[BM * BK];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  const int row = blockRow + threadRow, col = blockCol + threadCol;
  // [/snippet head]

  // This thread's element of the next tile of A, and of B.
  const float* nextA = A + std::size_t(row) * lda + threadCol;
  const float* nextB = B + std::size_t(threadRow) * ldb + col;
  float acc = 0.0f;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    // Beyond the matrix a tile holds zeros, which add nothing to the dot product.
    const bool inA = !PREDICATED || (row < M && bkIdx + threadCol < K);
    const bool inB = !PREDICATED || (bkIdx + threadRow < K && col < N);
    float a = 0.0f, b = 0.0f;
    if (inA) a = *nextA;                 //@ load-A
    if (inB) b = *nextB;                 //@ load-B
    As[threadRow * BK + threadCol] = a;  //@ store-As
    Bs[threadRow * BN + threadCol] = b;  //@ store-Bs
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // A thread reads what 62 others stored: none may read before all have stored.
    __syncthreads();

    // [snippet multiply]
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float regM = As[threadRow * BK + dotIdx];  //@ load-As
      const float regN = Bs[dotIdx * BN + threadCol];  //@ load-Bs
      acc += regM * regN;
    }
    // [/snippet multiply]
    // The next iteration overwrites the tiles: none may store before all have read.
    __syncthreads();
  }

  // [snippet epilogue]
  // A thread outside C returns only now: its loads were needed, and all threads have to reach
  // the barriers.
  if (PREDICATED && (row >= M || col >= N)) return;
  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
  // [/snippet epilogue]
  // [/snippet kernel]
}

// [snippet launch]
void launch_shared(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_shared<false> : sgemm_shared<true>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_shared;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The predictions that tables and figures show; all others are formulas in the prose.
void predict(tile::Facts& facts) {
  facts.predicted("smem_bytes", Config::SMEM_BYTES);
  facts.predicted_loads("shared", 1.0 / Config::BM + 1.0 / Config::BN, 2);
}

}  // namespace

TILE_CHAPTER(.number = 3, .title = "Shared-memory tiling",
             .kernels = {{"shared",
                          launch_default,
                          reinterpret_cast<const void*>(sgemm_shared<false>),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
                          Config::SMEM_BYTES}},
             .counted = counted, .sizes = {1024, 2048, 4096},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"NUM_THREADS", Config::NUM_THREADS},
                           {"SMEM_BYTES", Config::SMEM_BYTES}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("each thread loads one element of As and Bs, and computes one of C") {
  // Config makes the three tiles equal, and one map serves them all.
  CHECK(tile::covers_once(Config::BM, Config::BN, Config::NUM_THREADS,
                          [](int thread, auto take) {
                            const auto [row, col] = position_of(thread);
                            take(row, col);
                          }) == "");
}

TEST_CASE("thread 37 has row 1, column 5 of each tile") {
  CHECK(position_of(37).row == 1);
  CHECK(position_of(37).col == 5);
}

TEST_CASE("K may end within a k-tile") {
  std::vector<tile::Case> cases;
  for (int K = 30; K <= 66; K += 4)
    cases.push_back({64, 32, K, 1, 0, 0, tile::Fill::integers});
  CHECK(tile::first_failure(launch_shared, cases) == "");
}

#if TILE_ON_GPU
__global__ void meet_without(int leaving, int* out) {
  if (int(threadIdx.x) < leaving) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST_CASE("a barrier does not wait for threads that have returned" *
          doctest::test_suite("gpu")) {
  constexpr int threads = 128;
  auto* out =
      static_cast<int*>(tile::machine::allocate(threads * sizeof(int), sizeof(int), "out"));
  for (const int leaving : {0, 1, 16, 32, 80, 127}) {
    std::vector<int> met(threads, 0);
    tile::machine::copy_to_device(out, met.data(), threads * sizeof(int));
    tile::launch(meet_without, dim3(1), dim3(threads), 0, leaving, out);
    tile::machine::synchronize();
    tile::machine::copy_to_host(met.data(), out, threads * sizeof(int));
    CHECK(std::count(met.begin(), met.end(), 1) == threads - leaving);
  }
  tile::machine::release(out);
}
#endif

TEST_CASE("occupancy on an RTX A6000: registers and threads allow one block") {
  constexpr auto o =
      tile::occupancy(tile::rtx_a6000, Config::NUM_THREADS, 37, Config::SMEM_BYTES);
  CHECK(o.by_shared == 11);
  CHECK(o.by_threads == 1);
  CHECK(o.by_registers == 1);
  CHECK(o.blocks == 1);
  CHECK(int(100 * o.fraction) == 66);
  // not 1184: registers are allocated to a warp in units of 256
  CHECK(tile::registers_per_warp(37) == 1280);
}

TEST_CASE("one register more than 32 halves the occupancy of an H200") {
  CHECK(tile::occupancy(tile::h200, Config::NUM_THREADS, 32, Config::SMEM_BYTES).blocks == 2);
  CHECK(tile::occupancy(tile::h200, Config::NUM_THREADS, 33, Config::SMEM_BYTES).blocks == 1);
}

#if TILE_ON_MODEL
// [snippet as-compiled]
// The inner loop as nvcc compiles it: four neighbouring words of As in one 16-byte load.
__global__ void multiply_as_compiled(float* out) {
  constexpr int BK = Config::BK, BN = Config::BN;
  __shared__ float As[Config::BM * BK];
  __shared__ float Bs[BK * BN];
  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  As[threadRow * BK + threadCol] = Bs[threadRow * BN + threadCol] = 1.0f;
  __syncthreads();  // as in sgemm_shared
  float acc = 0.0f;
  for (int dotIdx = 0; dotIdx < BK; dotIdx += 4) {
    const float4 regM =  //@ load-As-wide
        *reinterpret_cast<const float4*>(&As[threadRow * BK + dotIdx]);
    for (int i = 0; i < 4; ++i) {
      const float regN = Bs[(dotIdx + i) * BN + threadCol];  //@ load-Bs-32
      acc += (i == 0 ? regM.x : i == 1 ? regM.y : i == 2 ? regM.z : regM.w) * regN;
    }
  }
  out[threadIdx.x] = acc;
}
// [/snippet as-compiled]

TEST_CASE("with 16-byte loads of As a multiply-add costs one and a half wavefronts" *
          doctest::test_suite("model")) {
  auto* out = static_cast<float*>(
      tile::machine::allocate(Config::NUM_THREADS * sizeof(float), sizeof(float), "out"));
  const auto counts =
      simt::trace([&] {
        tile::launch(multiply_as_compiled, dim3(1), dim3(Config::NUM_THREADS), 0, out);
      }).front();
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread)
    CHECK(out[thread] == float(Config::BK));
  tile::machine::release(out);
  constexpr std::uint64_t fmas_of_a_tile =  // warp-wide
      std::uint64_t(Config::NUM_THREADS) / 32 * Config::BK;
  const auto& As = tile::site(counts, "load-As-wide");
  const auto& Bs = tile::site(counts, "load-Bs-32");
  CHECK(As.width == 16);
  CHECK(As.requests + Bs.requests == fmas_of_a_tile * 5 / 4);
  // four quarter-warps read the same 16 bytes, and are served two by two
  CHECK(As.wavefronts == 2 * As.requests);
  CHECK(As.wavefronts + Bs.wavefronts == fmas_of_a_tile * 3 / 2);
}

template <int WORDS>
__global__ void fill_shared(float* out) {
  __shared__ float words[WORDS];
  words[threadIdx.x] = 1.0f;
  out[threadIdx.x] = words[threadIdx.x];
}

TEST_CASE("48 KB of static shared memory is the limit of a block, not of an SM" *
          doctest::test_suite("model")) {
  constexpr int static_limit = 48 * 1024, words = static_limit / int(sizeof(float));
  auto* out =
      static_cast<float*>(tile::machine::allocate(32 * sizeof(float), sizeof(float), "out"));
  const auto counts = simt::trace([&] {
                        tile::launch(fill_shared<words>, dim3(1), dim3(32), 0, out);
                      }).front();
  CHECK(counts.static_shared_bytes == static_limit);
  CHECK_THROWS_WITH(tile::launch(fill_shared<words + 1>, dim3(1), dim3(32), 0, out),
                    doctest::Contains("48 KB is the limit of a block"));
  tile::machine::release(out);
  CHECK(tile::occupancy(tile::rtx_a6000, 128, 32, static_limit).blocks == 2);
  CHECK(tile::occupancy(tile::h200, 128, 32, static_limit).blocks == 4);
}

const tile::Case strip{64, 256, 256};             // two rows of blocks
const std::uint64_t fmas = 64u * 256 * 256 / 32;  // warp-wide

TEST_CASE("each multiply-add takes two shared loads of one wavefront" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, strip);
  const auto& As = tile::site(counts, "load-As");
  const auto& Bs = tile::site(counts, "load-Bs");
  CHECK(As.requests == fmas);
  CHECK(Bs.requests == fmas);
  CHECK(As.wavefronts == As.requests);  // a broadcast
  CHECK(Bs.wavefronts == Bs.requests);  // 32 neighbouring words, one in each bank
}

TEST_CASE("each element that a block loads serves 32 multiply-adds" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, strip);
  CHECK(tile::site(counts, "load-A").requests * Config::BN == fmas);
  CHECK(tile::site(counts, "load-B").requests * Config::BM == fmas);
  CHECK(tile::site(counts, "load-A").sectors == 4 * tile::site(counts, "load-A").requests);
}

TEST_CASE("each k-tile takes two barriers" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, {64, 64, 96});
  CHECK(counts.barriers == 4u * (96 / Config::BK) * 2);
}
#endif
