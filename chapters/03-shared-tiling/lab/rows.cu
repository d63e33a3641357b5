// Tile by Tile, chapter 03, a question of its notebook: is the kernel bound by the
// shared-memory instructions that it issues, or by their wavefronts?
//
// Idea: where the rows of As begin decides how nvcc loads them. With rows 34 words apart it
// loads two words at a time, and with rows 33 words apart one: other instructions for the same
// words. With two words at a time the wavefronts stay the same.
//
// Build, run, verify:   ./tile run 03-rows      ctest --preset model -R chapter03.rows
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 32;  // columns of C per block
  static constexpr int BK = 32;  // depth of a k-tile
  static constexpr int NUM_THREADS = BM * BN;
};

struct Position {
  int row, col;
};

// As in the chapter.
constexpr __host__ __device__ Position position_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}

// The chapter's kernel, with AS_ROW words from one row of As to the next.
template <bool PREDICATED, int AS_ROW>
__global__ void sgemm_shared(int M, int N, int K, float alpha,  //
                             const float* A, int lda,           // M x K
                             const float* B, int ldb,           // K x N
                             float beta,                        //
                             float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK;
  __shared__ float As[BM * AS_ROW];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];      // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  const int row = blockRow + threadRow, col = blockCol + threadCol;

  const float* nextA = A + std::size_t(row) * lda + threadCol;
  const float* nextB = B + std::size_t(threadRow) * ldb + col;
  float acc = 0.0f;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    const bool inA = !PREDICATED || (row < M && bkIdx + threadCol < K);
    const bool inB = !PREDICATED || (bkIdx + threadRow < K && col < N);
    float a = 0.0f, b = 0.0f;
    if (inA) a = *nextA;                     //@ load-A
    if (inB) b = *nextB;                     //@ load-B
    As[threadRow * AS_ROW + threadCol] = a;  //@ store-As
    Bs[threadRow * BN + threadCol] = b;      //@ store-Bs
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    __syncthreads();  // as in the chapter

    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float regM = As[threadRow * AS_ROW + dotIdx];  //@ load-As
      const float regN = Bs[dotIdx * BN + threadCol];      //@ load-Bs
      acc += regM * regN;
    }
    __syncthreads();  // as in the chapter
  }

  if (PREDICATED && (row >= M || col >= N)) return;
  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
}

// The chapter's kernel: rows lie BK words apart.
void launch_shared(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_shared<false, Config::BK> : sgemm_shared<true, Config::BK>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}

// [snippet rows]
// If all rows begin at multiples of 16 bytes, nvcc loads four words at a time; at multiples of
// 8 bytes, two; and else word by word.
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

constexpr int rows_timed_at = 4096;

std::string row_key(int words) { return "as_row_" + std::to_string(words); }

std::vector<tile::Chapter::Rate> row_rates() {
  std::vector<tile::Chapter::Rate> rates{{"lowest_mhz", "lowest SM clock"}};
  for (const int words : words_of_a_row) {
    const std::string label =
        "ms at " + std::to_string(rows_timed_at) + ", rows of As of " + std::to_string(words);
    rates.push_back({row_key(words), label + " words"});
    rates.push_back({row_key(words) + ".low", label + ", the fastest repetition"});
    rates.push_back({row_key(words) + ".high", label + ", the slowest repetition"});
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
// Interleaved, so that a drift of the GPU's clock does not look like a difference.
void measure_rows(tile::RateSink& sink) {
  constexpr int REPETITIONS = 9;
  const tile::Rotation rotation({rows_timed_at, rows_timed_at, rows_timed_at});
  std::array<std::vector<double>, words_of_a_row.size()> ms;
  for (int repetition = 0; repetition < REPETITIONS; ++repetition)
    for (std::size_t i = 0; i < ms.size(); ++i)
      ms[i].push_back(tile::median_ms(launches_with_rows[i], rotation));
  for (std::size_t i = 0; i < ms.size(); ++i) {
    const std::string key = row_key(words_of_a_row[i]);
    sink.rate(key, tile::spread_of(ms[i]).median);
    sink.rate(key + ".low", *std::min_element(ms[i].begin(), ms[i].end()));
    sink.rate(key + ".high", *std::max_element(ms[i].begin(), ms[i].end()));
  }
}

// For a profiler: launches each kernel but the chapter's, which is profiled anyway. What the
// profiler counts does not depend on the values.
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

void predict(tile::Facts& facts) {
  facts.predicted_loads("shared", 1.0 / Config::BM + 1.0 / Config::BN, 2);
}

}  // namespace

TILE_CHAPTER(.number = 3, .title = "Wavefronts or instructions?",
             .kernels = {{"shared",
                          launch_shared,
                          reinterpret_cast<const void*>(sgemm_shared<false, Config::BK>),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
                          (Config::BM + Config::BN) * Config::BK * sizeof(float)}},
             .counted = counted, .sizes = {4096}, .constants = {{"BK", Config::BK}},
             .predict = predict, .measure_rates = measure_rows, .profile = profile_rows,
             .profiled = profiled_rows(), .rates = row_rates())

TEST_CASE("the result does not depend on the distance between the rows of As") {
  for (const auto launch : launches_with_rows)
    CHECK(tile::first_failure(launch, {{64, 96, 128, 1, 0, 0, tile::Fill::integers}}) == "");
}

#if TILE_ON_MODEL
// The inner loop with two neighbouring words of As in one load.
__global__ void multiply_in_pairs(float* out) {
  constexpr int BK = Config::BK, BN = Config::BN;
  __shared__ float As[Config::BM * BK];
  __shared__ float Bs[BK * BN];
  const auto [threadRow, threadCol] = position_of(threadIdx.x);
  As[threadRow * BK + threadCol] = Bs[threadRow * BN + threadCol] = 1.0f;
  __syncthreads();  // as in sgemm_shared
  float acc = 0.0f;
  for (int dotIdx = 0; dotIdx < BK; dotIdx += 2) {
    const float2 regM =  //@ load-As-pair
        *reinterpret_cast<const float2*>(&As[threadRow * BK + dotIdx]);
    for (int i = 0; i < 2; ++i) {
      const float regN = Bs[(dotIdx + i) * BN + threadCol];  //@ load-Bs-word
      acc += (i == 0 ? regM.x : regM.y) * regN;
    }
  }
  out[threadIdx.x] = acc;
}

TEST_CASE("with 8-byte loads of As a multiply-add takes 3/2 requests and 3/2 wavefronts" *
          doctest::test_suite("model")) {
  auto* out = static_cast<float*>(
      tile::machine::allocate(Config::NUM_THREADS * sizeof(float), sizeof(float), "out"));
  const auto counts =
      simt::trace([&] {
        tile::launch(multiply_in_pairs, dim3(1), dim3(Config::NUM_THREADS), 0, out);
      }).front();
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread)
    CHECK(out[thread] == float(Config::BK));
  tile::machine::release(out);
  constexpr std::uint64_t fmas_of_a_tile =  // warp-wide
      std::uint64_t(Config::NUM_THREADS) / 32 * Config::BK;
  const auto& As = tile::site(counts, "load-As-pair");
  const auto& Bs = tile::site(counts, "load-Bs-word");
  CHECK(As.width == 8);
  CHECK(As.requests + Bs.requests == fmas_of_a_tile * 3 / 2);
  // two half-warps read the same 8 bytes, and are served together
  CHECK(As.wavefronts == As.requests);
  CHECK(As.wavefronts + Bs.wavefronts == fmas_of_a_tile * 3 / 2);
}
#endif
