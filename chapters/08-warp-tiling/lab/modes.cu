// Tile by Tile, chapter 08, a question of the notebook: why does `large` take one of two times at
// 4092?
//
// Hypothesis: blocks go to whichever SM has room first, so that the fullest of 132 SMs gets 8 of
// the 1,024 blocks in a fast call, and 9 in a slow one. The kernel is chapter 08's with predicated
// loads and stores, and each block increments a counter of its SM. The program for the GPU times
// calls one by one and reads the counters after each. A second hypothesis: the copy of the operands
// that a call gets, in buffers that rotate, decides. So it also looks whether a copy has calls of
// both kinds, and times calls that all get the same copy.
//
// Build, run, verify:   ./tile run 08-modes      ctest --preset model -R chapter08.modes
#include <algorithm>
#include <set>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

struct Config {
  static constexpr int BM = 128, BN = 128, BK = 16, WM = 64, WN = 64, WNITER = 2, TM = 8,
                       TN = 4;
  static constexpr int WSUBN = WN / WNITER, WSUBM = 32 * TM * TN / WSUBN, WMITER = WM / WSUBM;
  static constexpr int NUM_THREADS = 32 * (BM / WM) * (BN / WN), BLOCKS = 3;
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK, ROWS_B = 4 * NUM_THREADS / BN;
};

// The SM that this thread runs on.
__device__ unsigned this_sm() {
#if TILE_ON_MODEL
  return 0;
#else
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
#endif
}

// Chapter 08's kernel for tiles that are not whole. blocks_on: how many blocks each SM has run.
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_counting(int M, int N, int K, float alpha,  //
                   const float* A, int lda,           // M x K
                   const float* B, int ldb,           // K x N
                   float beta,                        //
                   float* C, int ldc,                 // M x N
                   unsigned* blocks_on) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  if (blocks_on != nullptr && threadIdx.x == 0) atomicAdd(&blocks_on[this_sm()], 1u);

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int warpId = threadIdx.x / 32, laneId = threadIdx.x % 32;
  const int warpRow = warpId / (BN / Config::WN) * Config::WM,
            warpCol = warpId % (BN / Config::WN) * Config::WN;
  const int threadRow = laneId / (WSUBN / TN) * TM, threadCol = laneId % (WSUBN / TN) * TN;
  const int rowA = threadIdx.x / (BK / 4), colA = threadIdx.x % (BK / 4) * 4;
  const int rowB = threadIdx.x / (BN / 4), colB = threadIdx.x % (BN / 4) * 4;

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      float a[4] = {};
      for (int i = 0; i < 4; ++i)
        if (blockRow + rowA + down < M && bkIdx + colA + i < K) a[i] = from[i];
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      float b[4] = {};
      for (int j = 0; j < 4; ++j)
        if (bkIdx + rowB + down < K && blockCol + colB + j < N) b[j] = from[j];
      const float4 four = {b[0], b[1], b[2], b[3]};
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // all threads have stored their part of the tile: it may be read
    __syncthreads();
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from = &As[dotIdx * BM + warpRow + wm * WSUBM + threadRow + i];
          const float4 four = *reinterpret_cast<const float4*>(from);
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const float* from = &Bs[dotIdx * BN + warpCol + wn * WSUBN + threadCol + j];
          const float4 four = *reinterpret_cast<const float4*>(from);
          regN[wn][j] = four.x, regN[wn][j + 1] = four.y, regN[wn][j + 2] = four.z,
          regN[wn][j + 3] = four.w;
        }
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
    // all threads have read the tile: the next iteration may overwrite it
    __syncthreads();
  }

#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int wn = 0; wn < WNITER; ++wn) {
        const int row = blockRow + warpRow + wm * WSUBM + threadRow + i;
        const int col = blockCol + warpCol + wn * WSUBN + threadCol;
        const float* sum = acc[wm][i][wn];
        float* c = &C[std::size_t(row) * ldc + col];
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          if (row >= M || col + j >= N) continue;
          float result = alpha * sum[j];
          if (beta != 0.0f) result += beta * c[j];
          c[j] = result;
        }
      }
    }
  }
}

unsigned* counters = nullptr;  // one for each SM; on the model there are none

void launch_counting(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(sgemm_counting, grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A,
               g.lda, g.B, g.ldb, g.beta, g.C, g.ldc, counters);
}

constexpr int CALLS = 200;

#if TILE_ON_GPU
double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Call {
  double ms;
  unsigned most;     // blocks on the fullest SM
  std::size_t copy;  // of the operands, in the rotation
};

// Calls one by one: each with the next copy of the operands, or all with the first.
std::vector<Call> timed_calls(const tile::Rotation& rotation, bool rotating) {
  constexpr std::size_t SMS = 1024;  // more than any GPU has
  const tile::Buffer memory = tile::device_memory(SMS * sizeof(unsigned));
  counters = static_cast<unsigned*>(memory.get());
  std::vector<Call> calls;
  for (std::size_t n = 0; n < CALLS; ++n) {
    tile::cuda_check(cudaMemset(counters, 0, SMS * sizeof(unsigned)), "clear the counters");
    const std::size_t copy = rotating ? n % rotation.size() : 0;
    const tile::Gemm g = tile::gemm_of(rotation.product(copy));
    const double ms = tile::time_ms([&](int) { launch_counting(g); }, 1, 0).median;
    std::vector<unsigned> blocks(SMS);
    tile::cuda_check(
        cudaMemcpy(blocks.data(), counters, SMS * sizeof(unsigned), cudaMemcpyDeviceToHost),
        "read the counters");
    calls.push_back({ms, *std::max_element(blocks.begin(), blocks.end()), copy});
  }
  counters = nullptr;
  return calls;
}

void measure_modes(tile::RateSink& sink) {
  const tile::Rotation rotation(tile::Case{4092, 4092, 4092});
  timed_calls(rotation, true);  // warm up
  double middle = 0;
  for (const bool rotating : {true, false}) {
    const std::vector<Call> calls = timed_calls(rotation, rotating);
    const auto by_time = [](const Call& a, const Call& b) { return a.ms < b.ms; };
    const auto by_blocks = [](const Call& a, const Call& b) { return a.most < b.most; };
    const auto [fastest, slowest] = std::minmax_element(calls.begin(), calls.end(), by_time);
    if (rotating) middle = (fastest->ms + slowest->ms) / 2;
    const auto [emptiest, fullest] =
        std::minmax_element(calls.begin(), calls.end(), by_blocks);
    std::vector<double> fast, slow;
    std::set<std::size_t> with_fast, with_slow;
    for (const Call& call : calls) {
      (call.ms < middle ? fast : slow).push_back(call.ms);
      (call.ms < middle ? with_fast : with_slow).insert(call.copy);
    }
    const auto mixed =
        std::count_if(with_fast.begin(), with_fast.end(),
                      [&](std::size_t copy) { return with_slow.count(copy) > 0; });
    const std::string key = rotating ? "rotating." : "one_copy.";
    sink.rate(key + "fewest", emptiest->most);
    sink.rate(key + "most", fullest->most);
    sink.rate(key + "fast.calls", double(fast.size()));
    sink.rate(key + "fast.ms", median_of(fast));
    sink.rate(key + "slow.calls", double(slow.size()));
    sink.rate(key + "slow.ms", median_of(slow));
    sink.rate(key + "mixed_copies", double(mixed));
  }
  sink.rate("copies", double(rotation.size()));
}
#else
constexpr void (*measure_modes)(tile::RateSink&) = nullptr;
#endif

// What the program for the GPU records, with rotated operands and with one copy of them.
std::vector<tile::Chapter::Rate> rates() {
  std::vector<tile::Chapter::Rate> all{{"copies", "copies of the operands"}};
  for (const auto& [key, words] : {std::pair{"rotating.", "rotated operands: "},
                                   std::pair{"one_copy.", "always the same operands: "}})
    for (const auto& [name, label] :
         {std::pair{"fewest", "blocks on the fullest SM, in the call with the fewest"},
          std::pair{"most", "blocks on the fullest SM, in the call with the most"},
          std::pair{"fast.calls", "calls in the fast mode"},
          std::pair{"fast.ms", "ms in the fast mode, median"},
          std::pair{"slow.calls", "calls in the slow mode"},
          std::pair{"slow.ms", "ms in the slow mode, median"},
          std::pair{"mixed_copies", "copies with calls in both modes"}})
      all.push_back({std::string(key) + name, std::string(words) + label});
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 8, .title = "Why does `large` take one of two times at 4092?",
             .kernels = {}, .counted = {1, 1, 1}, .sizes = {},
             .constants = {{"blocks", tile::ceil_div(4092, Config::BM) *
                                          tile::ceil_div(4092, Config::BN)},
                           {"CALLS", CALLS}},
             .measure_rates = measure_modes, .rates = rates())

TEST_CASE("the kernel that counts blocks computes what chapter 08's does") {
  CHECK(tile::first_failure(launch_counting,
                            {{129, 140, 37, 1, 0, 0, tile::Fill::integers},
                             {130, 257, 33, 2, -1, 3, tile::Fill::integers}}) == "");
}
