// Tile by Tile, a lab of chapter 10: what do bank conflicts cost when nothing else changes?
//
// The chapter's kernel with one more argument, `mask`: its swizzle is
// col ^ (((row >> 2) & mask) << 3), in stores and loads. With a mask of 0, 1 and 3 a store
// into As puts four, two and one words into a bank. The results are right each time, and the
// machine code is the same.
//
// Build, run, verify:   ./tile run 10-mask      ctest --preset model -R chapter10.mask
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#endif

namespace {

constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a k-tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // warp subtiles side by side
          int TM_, int TN_,           // rows and columns of C per thread and warp subtile
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          int DOWN_, int UP_>         // the swizzle: col ^ ((row >> DOWN) << UP)
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_, DOWN = DOWN_, UP = UP_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a warp subtile
  // rows of a warp subtile: 32 threads with TM x TN accumulators each cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;          // warp subtiles one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of the tile of B
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN accumulators must cover a warp subtile, and WMITER x WNITER of these the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
  // the bits of a column that the swizzle may flip
  static constexpr int FLIPS = (BK - 1) >> DOWN << UP;
  static_assert(
      is_power_of_two(ROWS_A) && is_power_of_two(WSUBM) && is_power_of_two(TM) &&
          FLIPS < ROWS_A && FLIPS < WSUBM,
      "the swizzle must not flip a bit that the kernel adds to a swizzled column: else two elements "
      "share an address, or one is read from where it was not stored");
};

using Masked = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, 2, 3>;  // as the chapter's `swizzled`

struct Position {
  int row, col;
};

// Where a thread's warp tile begins in the block's tile.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN accumulators begin in a warp subtile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B (as in
// chapter 06).
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// The column at which an element of the transposed tile is stored in its row of As; `mask`
// says which bits of the row are used.
template <class C>
constexpr __host__ __device__ int swizzle(int row, int col, int mask) {
  return col ^ ((row >> C::DOWN & mask) << C::UP);
}

// VECTORISED: all tiles are whole, and every float4 is aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_masked(int M, int N, int K, float alpha,  //
                 const float* A, int lda,           // M x K
                 const float* B, int ldb,           // K x N
                 float beta,                        //
                 float* C, int ldc,                 // M x N
                 int mask) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM: the tile of A, transposed, each row swizzled
  alignas(16) __shared__ float As[BK * BM];
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  // the accumulators: TM x TN in each warp subtile
  float acc[WMITER][TM][WNITER][TN] = {};
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      float a[4] = {};
      if constexpr (VECTORISED) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
      } else {
        for (int i = 0; i < 4; ++i)
          if (blockRow + rowA + down < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
      }
      for (int i = 0; i < 4; ++i) {
        const int word = (colA + i) * BM + swizzle<Config>(colA + i, rowA, mask);
        As[word + down] = a[i];  //@ store-As
      }
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      float4 four{};
      if constexpr (VECTORISED) {
        four = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j)
          if (bkIdx + rowB + down < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        four = {b[0], b[1], b[2], b[3]};
      }
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;  //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // a thread reads what others stored: no thread may start before all have stored
    __syncthreads();

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      // the same for all threads, but known only at run time
      const int flips = swizzle<Config>(dotIdx, 0, mask);
      // Flips of TM and more move a thread's columns together; lower ones permute them.
      const float* rowOfAs = &As[dotIdx * BM + warpRow + (threadRow ^ flips / TM * TM)];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from = rowOfAs + wm * WSUBM + (i ^ flips % TM / 4 * 4);
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          const float words[4] = {four.x, four.y, four.z, four.w};
          for (int j = 0; j < 4; ++j) regM[wm][i + j] = words[j ^ flips % 4];
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const float* from = &Bs[dotIdx * BN + warpCol + wn * WSUBN + threadCol + j];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-Bs
          regN[wn][j] = four.x, regN[wn][j + 1] = four.y, regN[wn][j + 2] = four.z,
          regN[wn][j + 3] = four.w;
        }
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }

  // Unrolled: registers cannot be indexed at run time, and accumulators would be spilled.
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
        if constexpr (VECTORISED) {
#pragma unroll
          for (int j = 0; j < TN; j += 4) {
            float4 result{alpha * sum[j], alpha * sum[j + 1], alpha * sum[j + 2],
                          alpha * sum[j + 3]};
            if (beta != 0.0f) {
              const float4 old = *reinterpret_cast<const float4*>(c + j);  //@ load-C
              result = {result.x + beta * old.x, result.y + beta * old.y,
                        result.z + beta * old.z, result.w + beta * old.w};
            }
            *reinterpret_cast<float4*>(c + j) = result;  //@ store-C
          }
        } else {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            if (row >= M || col + j >= N) continue;
            float result = alpha * sum[j];
            if (beta != 0.0f) result += beta * c[j];  //@ load-C-words
            c[j] = result;                            //@ store-C-words
          }
        }
      }
    }
  }
}

template <int MASK>
void launch_masked(const tile::Gemm& g) {
  tile::require_valid(g);
  const bool whole = g.M % Masked::BM == 0 && g.N % Masked::BN == 0 && g.K % Masked::BK == 0 &&
                     g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0;
  const auto aligned = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  };
  tile::launch(whole && aligned(g.A) && aligned(g.B) && aligned(g.C)
                   ? sgemm_masked<Masked, true>
                   : sgemm_masked<Masked, false>,
               dim3(tile::ceil_div(g.N, Masked::BN), tile::ceil_div(g.M, Masked::BM)),
               dim3(Masked::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc, MASK);
}

struct Variant {
  int words;  // that a store into As puts into a bank: as many wavefronts
  tile::Launcher launch;
};
const std::array<Variant, 3> variants{
    {{4, launch_masked<0>}, {2, launch_masked<1>}, {1, launch_masked<3>}}};

// Wavefronts of stores into As per warp-wide multiply-add: a warp stores once for every BN
// of these.
double stores_per_fma(const Variant& v) { return v.words / double(Masked::BN); }

constexpr std::array sizes{2048, 4096};
std::string rate_name(int size, const std::string& what) {
  return "masked." + std::to_string(size) + "." + what;
}

// For each size, the cycles of an SM per warp-wide multiply-add in each variant, and the cost
// of a wavefront ("price" in the record), fitted to them.
std::vector<tile::Chapter::Rate> rates() {
  std::vector<tile::Chapter::Rate> rates{{"lowest_mhz", "lowest SM clock"}};
  for (const int size : sizes) {
    const std::string at = " at " + std::to_string(size) + ", one machine code";
    for (const Variant& v : variants)
      rates.push_back(
          {rate_name(size, std::to_string(v.words)),
           "cycles per multiply-add, words in a bank: " + std::to_string(v.words) + at});
    rates.push_back(
        {rate_name(size, "price"), "cycles per wavefront of the stores into As" + at});
    rates.push_back(
        {rate_name(size, "price.low"), "the same, the lowest of nine repetitions"});
    rates.push_back(
        {rate_name(size, "price.high"), "the same, the highest of nine repetitions"});
  }
  return rates;
}

#if TILE_ON_GPU
// The slope of the least-squares line through the points (x, y).
double slope_of(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
  double xy = 0, xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * y[i];
    xx += (x[i] - mean) * x[i];
  }
  return xy / xx;
}

// The variants are interleaved, so that a drift of the GPU's clock does not look like a cost.
void measure(tile::RateSink& sink) {
  constexpr int REPETITIONS = 9;
  int sms = 0, khz = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  tile::cuda_check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock rate");
  for (const int size : sizes) {
    const tile::Rotation rotation({size, size, size});
    const double cycles_per_ms = double(khz) * sms / (std::pow(size, 3) / 32);
    std::array<std::vector<double>, variants.size()> cycles;
    std::vector<double> costs;
    for (int repetition = 0; repetition < REPETITIONS; ++repetition) {
      std::vector<double> stores, values;
      for (std::size_t i = 0; i < variants.size(); ++i) {
        stores.push_back(stores_per_fma(variants[i]));
        values.push_back(cycles_per_ms * tile::median_ms(variants[i].launch, rotation, 20));
        cycles[i].push_back(values.back());
      }
      costs.push_back(slope_of(stores, values));
    }
    for (std::size_t i = 0; i < variants.size(); ++i)
      sink.rate(rate_name(size, std::to_string(variants[i].words)),
                tile::spread_of(cycles[i]).median);
    sink.rate(rate_name(size, "price"), tile::spread_of(costs).median);
    sink.rate(rate_name(size, "price.low"), *std::min_element(costs.begin(), costs.end()));
    sink.rate(rate_name(size, "price.high"), *std::max_element(costs.begin(), costs.end()));
  }
}
#else
constexpr void (*measure)(tile::RateSink&) = nullptr;
#endif

// The TFLOP/s of a GPU whose SMs take one cycle per warp-wide multiply-add.
void predict(tile::Facts& facts) {
  facts.predicted("tflops_times_cycles", tile::h200.sms * tile::h200.clock_ghz * 64 * 1e-3, 3);
}

}  // namespace

TILE_CHAPTER(.number = 10, .title = "Transpose and swizzle", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {}, .predict = predict, .measure_rates = measure,
             .rates = rates())

TEST_CASE("the results are right whatever the mask is") {
  for (const Variant& v : variants) {
    CAPTURE(v.words);
    CHECK(tile::first_failure(v.launch, {{128, 256, 48, 2, 1, 4, tile::Fill::integers}}) ==
          "");
    CHECK(tile::first_failure(v.launch, {{70, 90, 33, 2, 1, 1, tile::Fill::integers}}) == "");
  }
}

#if TILE_ON_MODEL
TEST_CASE("the stores have the bank conflicts that the mask leaves, and the loads have none" *
          doctest::test_suite("model")) {
  for (const Variant& v : variants) {
    CAPTURE(v.words);
    const auto counts = tile::count(v.launch, {128, 128, 32});
    const auto &store = tile::site(counts, "store-As"), &load = tile::site(counts, "load-As");
    CHECK(store.wavefronts == std::uint64_t(v.words) * store.requests);
    CHECK(load.wavefronts == 2 * load.requests);
    // a warp-wide multiply-add is 32 multiply-adds
    CHECK(stores_per_fma(v) == double(store.wavefronts) / (128 * 128 * 32 / 32));
  }
}
#endif
