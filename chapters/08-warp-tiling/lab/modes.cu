// Tile by Tile, a lab of chapter 08: why do the times of `large` at 4092 have two modes?
//
// Question: what differs between a fast call and a slow one? Idea: every block stores the number
// of the SM that it runs on, so that each time can be set beside the number of blocks that the
// fullest SM had. The kernel is the predicated variant of `large`; its calls rotate through
// copies of the operands, or use one copy only, or operands with wider rows.
//
// Build, run, verify:   ./tile run 08-modes      ctest --preset model -R chapter08.modes
#include <algorithm>
#include <map>
#include <ranges>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 4, NUM_THREADS = 128;
constexpr int WMITER = 2, WNITER = 2, WSUBM = 32, WSUBN = 32;

// The SM that runs this block; the model has none.
__device__ unsigned this_sm() {
  unsigned sm = 0;
#if TILE_ON_GPU
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
#endif
  return sm;
}

// Stores each block's SM to sms, row-major over the grid, if sms is not null.
__global__ void __launch_bounds__(NUM_THREADS, 3)
    sgemm_with_sms(int M, int N, int K, float alpha,  //
                   const float* A, int lda,           // M x K
                   const float* B, int ldb,           // K x N
                   float beta,                        //
                   float* C, int ldc,                 // M x N
                   unsigned* sms) {
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  if (sms != nullptr && threadIdx.x == 0) sms[blockIdx.y * gridDim.x + blockIdx.x] = this_sm();
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int warpRow = threadIdx.x / 32 / 2 * 64, warpCol = threadIdx.x / 32 % 2 * 64;
  const int threadRow = threadIdx.x % 32 / 8 * TM, threadCol = threadIdx.x % 8 * TN;
  const int rowA = threadIdx.x / 4, colA = threadIdx.x % 4 * 4;
  const int rowB = threadIdx.x / 32, colB = threadIdx.x % 32 * 4;
  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    for (int down = 0; down < BM; down += 4 * NUM_THREADS / BK)
      for (int i = 0; i < 4; ++i) {
        const bool inside = blockRow + rowA + down < M && bkIdx + colA + i < K;
        As[(colA + i) * BM + rowA + down] = inside ? nextA[std::size_t(down) * lda + i] : 0;
      }
    for (int down = 0; down < BK; down += 4 * NUM_THREADS / BN) {
      float b[4] = {};
      for (int j = 0; j < 4; ++j)
        if (bkIdx + rowB + down < K && blockCol + colB + j < N)
          b[j] = nextB[std::size_t(down) * ldb + j];
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = {b[0], b[1], b[2], b[3]};
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    __syncthreads();
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4)
          *reinterpret_cast<float4*>(&regM[wm][i]) = *reinterpret_cast<const float4*>(
              &As[dotIdx * BM + warpRow + wm * WSUBM + threadRow + i]);
      for (int wn = 0; wn < WNITER; ++wn)
        *reinterpret_cast<float4*>(&regN[wn][0]) = *reinterpret_cast<const float4*>(
            &Bs[dotIdx * BN + warpCol + wn * WSUBN + threadCol]);
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm)
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int wn = 0; wn < WNITER; ++wn)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          const int row = blockRow + warpRow + wm * WSUBM + threadRow + i;
          const int col = blockCol + warpCol + wn * WSUBN + threadCol + j;
          if (row >= M || col >= N) continue;
          float* c = &C[std::size_t(row) * ldc + col];
          float result = alpha * acc[wm][i][wn][j];
          if (beta != 0.0f) result += beta * *c;
          *c = result;
        }
}

int blocks_of(int M, int N) { return tile::ceil_div(M, BM) * tile::ceil_div(N, BN); }
void launch_with_sms(const tile::Gemm& g, unsigned* sms) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, BN), tile::ceil_div(g.M, BM));
  tile::launch(sgemm_with_sms, grid, dim3(NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda,
               g.B, g.ldb, g.beta, g.C, g.ldc, sms);
}
void launch_plain(const tile::Gemm& g) { launch_with_sms(g, nullptr); }

// An experiment: its key, its problem, and whether calls rotate through copies of it.
struct Experiment {
  std::string key;
  tile::Case problem;
  bool rotate = true;
};
const std::vector<Experiment> experiments{
    {"4092", {.M = 4092, .N = 4092, .K = 4092}},
    {"4092.one_copy", {.M = 4092, .N = 4092, .K = 4092}, false},
    {"4092.wide_rows", {.M = 4092, .N = 4092, .K = 4092, .pad = 4}},
    {"4096", {.M = 4096, .N = 4096, .K = 4096}}};
constexpr int CALLS = 200;

// The fullest SM's blocks if they are spread evenly, and the calls of an experiment.
void predict(tile::Facts& facts) {
  facts.predicted("even", tile::ceil_div(blocks_of(4092, 4092), tile::h200.sms));
  facts.predicted("calls", CALLS);
}

std::vector<tile::Chapter::Rate> rates() {
  std::vector<tile::Chapter::Rate> all{{"lowest_mhz", "lowest SM clock"}};
  for (const Experiment& e : experiments) {
    const auto add = [&](const std::string& name, const std::string& label) {
      all.push_back({e.key + "." + name, label + ", " + e.key});
    };
    add("uneven_calls", "calls in which an SM had more blocks than if spread evenly");
    for (const std::string kind : {"even", "uneven"}) {
      add(kind + ".fastest_ms", "ms of the fastest " + kind + " call");
      add(kind + ".ms", "median ms of the " + kind + " calls");
      add(kind + ".slowest_ms", "ms of the slowest " + kind + " call");
    }
  }
  return all;
}

#if TILE_ON_GPU
void measure(tile::RateSink& sink) {
  for (const Experiment& e : experiments) {
    const tile::Rotation rotation(e.problem);
    std::vector<unsigned> sms(std::size_t(blocks_of(e.problem.M, e.problem.N)));
    const tile::Buffer buffer = tile::device_memory(sms.size() * sizeof sms[0]);
    const int even = tile::ceil_div(int(sms.size()), tile::machine::device().sms);
    std::vector<double> ms[2];
    for (int call = 0; call < CALLS; ++call) {
      const tile::Gemm g = tile::gemm_of(rotation.product(e.rotate ? std::size_t(call) : 0));
      const double time =
          tile::time_ms([&](int) { launch_with_sms(g, static_cast<unsigned*>(buffer.get())); },
                        1, 0)
              .median;
      tile::machine::copy_to_host(sms.data(), buffer.get(), sms.size() * sizeof sms[0]);
      std::map<unsigned, int> blocks;
      for (const unsigned sm : sms) ++blocks[sm];
      const int fullest = std::ranges::max(blocks | std::views::values);
      ms[fullest > even].push_back(time);
    }
    sink.rate(e.key + ".uneven_calls", double(ms[1].size()));
    for (const int uneven : {0, 1}) {
      const std::string key = e.key + (uneven ? ".uneven." : ".even.");
      const std::vector<double>& times = ms[uneven];
      if (times.empty()) continue;
      sink.rate(key + "fastest_ms", std::ranges::min(times));
      sink.rate(key + "ms", tile::spread_of(times).median);
      sink.rate(key + "slowest_ms", std::ranges::max(times));
    }
  }
}
#else
constexpr void (*measure)(tile::RateSink&) = nullptr;
#endif

const std::vector<tile::Kernel> kernels{{"with_sms",
                                         launch_plain,
                                         reinterpret_cast<const void*>(sgemm_with_sms),
                                         NUM_THREADS,
                                         {BM, BN, BK, tile::Alignment::other},
                                         (BM + BN) * BK * sizeof(float)}};

}  // namespace

TILE_CHAPTER(.number = 8, .title = "Warp tiling", .kernels = {}, .counted = {1, 1, 1},
             .sizes = {}, .predict = predict, .measure_rates = measure, .rates = rates())

TILE_GEMM_TESTS(kernels)

TEST_CASE("every block stores its SM, at its own place") {
  const int M = 130, N = 300, K = 16;
  std::vector<unsigned> sms(std::size_t(blocks_of(M, N)) + 1, 777);
  CHECK(sms.size() == 7);
  auto* memory = static_cast<float*>(tile::machine::allocate(
      (M * K + K * N + M * N) * sizeof(float), sizeof(float), "memory"));
  auto* stored = static_cast<unsigned*>(
      tile::machine::allocate(sms.size() * sizeof sms[0], sizeof sms[0], "sms"));
  const std::vector<float> zeros(M * K + K * N);
  tile::machine::copy_to_device(memory, zeros.data(), zeros.size() * sizeof(float));
  tile::machine::copy_to_device(stored, sms.data(), sms.size() * sizeof sms[0]);
  launch_with_sms({M, N, K, 1, memory, K, memory + M * K, N, 0, memory + M * K + K * N, N},
                  stored);
  tile::machine::copy_to_host(sms.data(), stored, sms.size() * sizeof sms[0]);
  tile::machine::release(memory);
  tile::machine::release(stored);
  for (int block = 0; block < 6; ++block) CHECK(sms[std::size_t(block)] < 777);
  CHECK(sms[6] == 777);
}
