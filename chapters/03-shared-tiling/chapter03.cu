// Tile by Tile, chapter 03: shared-memory tiling.
//
// Question: every element of A is still fetched once for each column of C, through the caches.
// Can a block fetch it once and keep it? Idea: the block copies a 32 x 32 tile of A and one of
// B into shared memory, all threads multiply out of these copies, and the tiles slide along K.
// Each fetched element is used 32 times.
// Previous chapter: 02, coalescing. New are the two tiles, the two barriers, and the split of
// the loop over K.
//
// Build, run, verify:   ./tile run 03      ctest --preset model -R chapter03
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 32;  // columns of C per block
  static constexpr int BK = 32;  // depth of a tile along K
  static constexpr int NUM_THREADS = BM * BN;
  static constexpr int SMEM_BYTES = (BM * BK + BK * BN) * int(sizeof(float));
  static_assert(BM * BK == NUM_THREADS,
                "each thread loads one element of As: other tiles stay partly unwritten");
  static_assert(BK * BN == NUM_THREADS,
                "each thread loads one element of Bs: other tiles stay partly unwritten");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "static shared memory ends at 48 KB a block: nvcc would refuse");
};

struct Position {
  int row, col;
};

// Where a thread's result lies in the block's tile of C. The tiles of A and B are as large,
// and a thread loads the elements in the same place of each.
constexpr __host__ __device__ Position position_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}
// [/snippet config]

// [snippet head]
// PREDICATED: whether a tile may hang over the edge of a matrix. AS_ROW: words from a row of As to
// the next; but for an experiment there are none between them.
template <bool PREDICATED, int AS_ROW = Config::BK>
__global__ void sgemm_shared(int M, int N, int K, float alpha,  //
                             const float* A, int lda,           // M x K
                             const float* B, int ldb,           // K x N
                             float beta,                        //
                             float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK;
  __shared__ float As[BM * AS_ROW];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];      // BK x BN, row-major

  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  const int row = blockIdx.y * BM + threadRow;
  const int col = blockIdx.x * BN + threadCol;
  // [/snippet head]

  // [snippet main-loop]
  const float* nextA =
      A + std::size_t(row) * lda + threadCol;  // this thread's element of the next tile of A,
  const float* nextB = B + std::size_t(threadRow) * ldb + col;  // and of B
  float acc = 0.0f;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    // Beyond the edge a tile holds zeros, which add nothing to the dot product.
    const bool inA = !PREDICATED || (row < M && bkIdx + threadCol < K);
    const bool inB = !PREDICATED || (bkIdx + threadRow < K && col < N);
    float a = 0.0f, b = 0.0f;
    if (inA) a = *nextA;                     //@ load-A
    if (inB) b = *nextB;                     //@ load-B
    As[threadRow * AS_ROW + threadCol] = a;  //@ store-As
    Bs[threadRow * BN + threadCol] = b;      //@ store-Bs
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // a thread reads what 62 others wrote: nobody may start before all have stored
    __syncthreads();

    // [snippet multiply]
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float regM = As[threadRow * AS_ROW + dotIdx];  //@ load-As
      const float regN = Bs[dotIdx * BN + threadCol];      //@ load-Bs
      acc += regM * regN;
    }
    // [/snippet multiply]
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }
  // [/snippet main-loop]

  // [snippet epilogue]
  // only now: every thread had to load and to reach the barriers
  if (PREDICATED && (row >= M || col >= N)) return;
  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
  // [/snippet epilogue]
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
// [/snippet launch]

// [snippet rows]
// How nvcc loads As follows from where its rows begin: at multiples of 16 bytes by four words,
// of 8 bytes by two, else word by word.
constexpr std::array words_of_a_row{32, 36, 34, 33};
template <int AS_ROW>
void launch_with_rows(const tile::Gemm& g) {
  tile::launch(sgemm_shared<false, AS_ROW>, dim3(g.N / Config::BN, g.M / Config::BM),
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
constexpr std::array<void (*)(const tile::Gemm&), 4> launches_with_rows{
    launch_with_rows<32>, launch_with_rows<36>, launch_with_rows<34>, launch_with_rows<33>};
// [/snippet rows]

// Where the experiment is timed.
constexpr int rows_timed_at = 4096;

std::string row_key(int words) { return "as_row_" + std::to_string(words); }

std::vector<tile::Chapter::Rate> row_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (const int words : words_of_a_row) {
    const std::string label =
        "ms at " + std::to_string(rows_timed_at) + ", rows of As of " + std::to_string(words);
    rates.push_back({row_key(words), label + " words"});
    rates.push_back({row_key(words) + ".low", label + ", the least of the rounds"});
    rates.push_back({row_key(words) + ".high", label + ", the most of the rounds"});
  }
  return rates;
}

std::vector<tile::Chapter::Profiled> profiled_rows() {
  std::vector<tile::Chapter::Profiled> profiled;
  for (const int words : words_of_a_row)
    if (words != Config::BK)  // that one is the chapter's kernel
      profiled.push_back(
          {row_key(words), "sgemm_sharedILb0ELi" + std::to_string(words) + "E"});
  return profiled;
}

#if TILE_ON_GPU
// They take turns, so that no drift of the GPU's clock looks like a difference.
void measure_rows(tile::RateSink& sink) {
  constexpr int ROUNDS = 9;
  const tile::Rotation rotation({rows_timed_at, rows_timed_at, rows_timed_at});
  std::array<std::vector<double>, words_of_a_row.size()> ms;
  for (int round = 0; round < ROUNDS; ++round)
    for (std::size_t i = 0; i < ms.size(); ++i)
      ms[i].push_back(tile::median_ms(launches_with_rows[i], rotation));
  for (std::size_t i = 0; i < ms.size(); ++i) {
    const std::string key = row_key(words_of_a_row[i]);
    sink.rate(key, tile::spread_of(ms[i]).median);
    sink.rate(key + ".low", *std::min_element(ms[i].begin(), ms[i].end()));
    sink.rate(key + ".high", *std::max_element(ms[i].begin(), ms[i].end()));
  }
}

// For a profiler: each once, besides the chapter's kernel. What it counts is the same for all
// values.
void profile_rows() {
  constexpr int n = rows_timed_at;
  float *A, *B, *C;
  for (float** matrix : {&A, &B, &C}) {
    tile::cuda_check(cudaMalloc(matrix, std::size_t(n) * n * sizeof(float)), "cudaMalloc");
    tile::cuda_check(cudaMemset(*matrix, 0, std::size_t(n) * n * sizeof(float)), "cudaMemset");
  }
  for (std::size_t i = 1; i < launches_with_rows.size(); ++i)
    launches_with_rows[i]({n, n, n, 1, A, n, B, n, 0, C, n});
  tile::cuda_check(cudaDeviceSynchronize(), "sgemm_shared");
  cudaFree(A), cudaFree(B), cudaFree(C);
}
#else
constexpr void (*measure_rows)(tile::RateSink&) = nullptr;
constexpr void (*profile_rows)() = nullptr;
#endif

const tile::Case counted{256, 256, 256};

// What figures show; all other predictions are formulas in the prose.
void predict(tile::Facts& facts) {
  facts.predicted("smem_bytes", Config::SMEM_BYTES);
  facts.predicted_loads("shared", 1.0 / Config::BM + 1.0 / Config::BN, 2);
}

}  // namespace

TILE_CHAPTER(.number = 3, .title = "Shared-memory tiling",
             .kernels = {{"shared",
                          launch_shared,
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
             .predict = predict, .measure_rates = measure_rows, .profile = profile_rows,
             .profiled = profiled_rows(), .rates = row_rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("K may end within a tile") {
  std::vector<tile::Case> cases;
  for (int K = 30; K <= 66; K += 4)
    cases.push_back({64, 32, K, 1, 0, 0, tile::Fill::integers});
  CHECK(tile::first_failure(launch_shared, cases) == "");
}

TEST_CASE("rows of As may lie apart") {
  for (const auto launch : launches_with_rows)
    CHECK(tile::first_failure(launch, {{64, 96, 128, 1, 0, 0, tile::Fill::integers}}) == "");
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
  // not 1184: warps take registers in units of 256
  CHECK(tile::registers_per_warp(37) == 1280);
}

TEST_CASE("one register more than 32 halves the occupancy of an H200") {
  CHECK(tile::occupancy(tile::h200, Config::NUM_THREADS, 32, Config::SMEM_BYTES).blocks == 2);
  CHECK(tile::occupancy(tile::h200, Config::NUM_THREADS, 33, Config::SMEM_BYTES).blocks == 1);
}

#if TILE_ON_MODEL
float word_of(const float4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}
float word_of(const float2& words, int i) { return i == 0 ? words.x : words.y; }

// [snippet as-compiled]
// The multiply loop with neighbouring elements of As in one load: with float4, as nvcc
// compiles it.
template <typename Words>
__global__ void multiply_in_groups(float* out) {
  constexpr int BK = Config::BK, BN = Config::BN, WIDTH = sizeof(Words) / sizeof(float);
  __shared__ float As[Config::BM * BK];
  __shared__ float Bs[BK * BN];
  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  As[threadRow * BK + threadCol] = Bs[threadRow * BN + threadCol] = 1.0f;
  __syncthreads();  // as in sgemm_shared
  float acc = 0.0f;
  for (int dotIdx = 0; dotIdx < BK; dotIdx += WIDTH) {
    const Words regM =  //@ load-As-wide
        *reinterpret_cast<const Words*>(&As[threadRow * BK + dotIdx]);
    for (int i = 0; i < WIDTH; ++i) {
      const float regN = Bs[(dotIdx + i) * BN + threadCol];  //@ load-Bs-32
      acc += word_of(regM, i) * regN;
    }
  }
  out[threadIdx.x] = acc;
}
// [/snippet as-compiled]

/// What one block of multiply_in_groups costs.
template <typename Words>
simt::Counts count_in_groups() {
  auto* out = static_cast<float*>(
      tile::machine::allocate(Config::NUM_THREADS * sizeof(float), sizeof(float), "out"));
  const auto counts =
      simt::trace([&] {
        tile::launch(multiply_in_groups<Words>, dim3(1), dim3(Config::NUM_THREADS), 0, out);
      }).front();
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread)
    CHECK(out[thread] == float(Config::BK));
  tile::machine::release(out);
  return counts;
}
// warp-wide
constexpr std::uint64_t fmas_of_a_tile = std::uint64_t(Config::NUM_THREADS) / 32 * Config::BK;

TEST_CASE("with 16-byte loads of As a multiply-add costs one and a half wavefronts" *
          doctest::test_suite("model")) {
  const auto counts = count_in_groups<float4>();
  const auto& As = tile::site(counts, "load-As-wide");
  const auto& Bs = tile::site(counts, "load-Bs-32");
  CHECK(As.width == 16);
  CHECK(As.requests + Bs.requests == fmas_of_a_tile * 5 / 4);
  // four quarter-warps want the same 16 bytes, merged two by two
  CHECK(As.wavefronts == 2 * As.requests);
  CHECK(As.wavefronts + Bs.wavefronts == fmas_of_a_tile * 3 / 2);
}

TEST_CASE("with 8-byte loads of As it costs as many wavefronts but more requests" *
          doctest::test_suite("model")) {
  const auto counts = count_in_groups<float2>();
  const auto& As = tile::site(counts, "load-As-wide");
  const auto& Bs = tile::site(counts, "load-Bs-32");
  CHECK(As.width == 8);
  CHECK(As.requests + Bs.requests == fmas_of_a_tile * 3 / 2);
  CHECK(As.wavefronts == As.requests);  // two half-warps want the same 8 bytes, merged
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

TEST_CASE("two shared loads a multiply-add, one wavefront each" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, strip);
  const auto& As = tile::site(counts, "load-As");
  const auto& Bs = tile::site(counts, "load-Bs");
  CHECK(As.requests == fmas);
  CHECK(Bs.requests == fmas);
  CHECK(As.wavefronts == As.requests);  // a broadcast
  CHECK(Bs.wavefronts == Bs.requests);  // 32 neighbouring words, one in each bank
}

TEST_CASE("global loads fall by the width of the tile" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, strip);
  CHECK(tile::site(counts, "load-A").requests * Config::BN == fmas);
  CHECK(tile::site(counts, "load-B").requests * Config::BM == fmas);
  CHECK(tile::site(counts, "load-A").sectors == 4 * tile::site(counts, "load-A").requests);
}

TEST_CASE("two barriers a tile" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_shared, {64, 64, 96});
  CHECK(counts.barriers == 4u * (96 / Config::BK) * 2);
}
#endif
