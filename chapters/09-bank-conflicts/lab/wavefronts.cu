// Tile by Tile, chapter 09, a lab: does time follow wavefronts?
//
// Question: do kernels that differ from `large` in the wavefronts of one access differ in time
// accordingly? Idea: time the first version of `grouped`, which divides signed numbers and
// gained nothing, a map whose loads of Bs merge, and flat warps whose loads of Bs conflict,
// with and without padding of Bs. The program also computes P(faster), from its own record and
// from the chapter's.
//
// Build, run, verify:   ./tile run 09-wavefronts      ctest --preset model -R chapter09.wavefronts
#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// How the tiles lie in shared memory, and which lane has which accumulators.
struct Layout {
  int pad_A = 0;         // words left free in As ...
  int rows_per_pad = 1;  // ... after every so many of its rows
  int pad_B = 0;         // words left free after every row of Bs
  bool paired = false;   // two neighbouring lanes share their columns, not their rows
};
// [/snippet config]

template <int BM_, int BN_, int BK_, int WM_, int WN_, int WNITER_, int TM_, int TN_,
          int BLOCKS_, Layout LAYOUT_ = Layout{}>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr Layout LAYOUT = LAYOUT_;
  static constexpr int WSUBN = WN / WNITER;
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;
  static constexpr int ACCUMULATORS = WM * WN / 32;
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;
  static constexpr int AS_WORDS = BK * BM + (BK - 1) / LAYOUT.rows_per_pad * LAYOUT.pad_A;
  static constexpr int BS_WORDS = BK * BN + (BK - 1) * LAYOUT.pad_B;
  static constexpr int SMEM_BYTES = (AS_WORDS + BS_WORDS) * 4;
  static_assert(BM % WM == 0 && BN % WN == 0 && WN % WNITER == 0 && WSUBN % TN == 0 &&
                    WSUBM % TM == 0 && WM % WSUBM == 0,
                "32 threads must cover a warp subtile, and warp subtiles the block's tile");
  static_assert(BM * BK % (4 * NUM_THREADS) == 0 && BK * BN % (4 * NUM_THREADS) == 0,
                "threads must copy whole tiles, a float4 at a time");
  static_assert(LAYOUT.pad_A % 4 == 0 && LAYOUT.pad_B % 4 == 0,
                "a padded row must still begin at a multiple of 16 bytes");
  static_assert(
      !LAYOUT.paired || WSUBM / TM % 2 == 0,
      "the lanes of a pair take two rows of threads: a warp subtile needs an even number");
};

using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;
using Padded = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 4}>;
using Grouped =
    Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 8, .rows_per_pad = 4}>;
using Remapped = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.paired = true}>;
using Flat = Config<128, 128, 16, 32, 128, 1, 16, 8, 3>;  // a warp is two rows of 16 threads
using FlatPadded = Config<128, 128, 16, 32, 128, 1, 16, 8, 3, Layout{.pad_B = 4}>;

// As in the first version: `k` is signed, and so is its division. The chapter's is unsigned.
template <class C>
constexpr __host__ __device__ int As_offset(int k, int row) {
  return k * C::BM + k / C::LAYOUT.rows_per_pad * C::LAYOUT.pad_A + row;
}
template <class C>
constexpr __host__ __device__ int Bs_offset(int k, int col) {
  return k * (C::BN + C::LAYOUT.pad_B) + col;
}

struct Position {
  int row, col;
};

template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// If paired, lane bits 1 to 3 choose the column and bits 0 and 4 the row, so that neighbouring
// lanes load the same words of Bs.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  constexpr int across = C::WSUBN / C::TN;  // threads side by side
  const int laneId = thread % 32;
  if constexpr (C::LAYOUT.paired)
    return {(laneId / (2 * across) * 2 + laneId % 2) * C::TM, laneId / 2 % across * C::TN};
  else
    return {laneId / across * C::TM, laneId % across * C::TN};
}
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}

// VECTORISED: all tiles are whole and all addresses divisible by 16; otherwise predicated.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_warp_tiled(int M, int N, int K, float alpha,  //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM and padding: the tile of A, transposed
  alignas(16) __shared__ float As[Config::AS_WORDS];
  alignas(16) __shared__ float Bs[Config::BS_WORDS];  // BK x BN and padding

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN accumulators per subtile
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
      for (int i = 0; i < 4; ++i)
        As[As_offset<Config>(colA + i, rowA + down)] = a[i];  //@ store-As
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
      *reinterpret_cast<float4*>(&Bs[Bs_offset<Config>(rowB + down, colB)]) =  //@ store-Bs
          four;
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // a thread reads what others stored: no thread may start before all have stored
    __syncthreads();

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from =
              &As[As_offset<Config>(dotIdx, warpRow + wm * WSUBM + threadRow + i)];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const float* from =
              &Bs[Bs_offset<Config>(dotIdx, warpCol + wn * WSUBN + threadCol + j)];
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

  // Unrolled, because registers cannot be indexed: an accumulator chosen at run time would
  // have to live in local memory.
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

bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile of a problem is whole and every float4 begins at a multiple of 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_warp_tiled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_warp_tiled<Config, true>
                                        : sgemm_warp_tiled<Config, false>,
               grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B,
               g.ldb, g.beta, g.C, g.ldc);
}

const tile::Case counted{256, 256, 256};

// ---- How certain it is that one kernel is faster than another

std::vector<double> times_of(const tile::Record& record, const char* kernel, int size) {
  const tile::Record* run = tile::find_run(record, kernel, size);
  std::vector<double> ms = run->at("samples_ms").get<std::vector<double>>();
  std::sort(ms.begin(), ms.end());
  return ms;
}

// P(faster): of all pairs of a run of `kernel` and one of `large`, the share in which the
// former takes less time; pairs with equal times count half.
double p_faster(const tile::Record& record, const char* kernel, int size) {
  const std::vector<double> its = times_of(record, kernel, size),
                            large = times_of(record, "large", size);
  double faster = 0;
  for (const double a : its)
    for (const double b : large) faster += a < b ? 1 : a == b ? 0.5 : 0;
  return faster / double(its.size() * large.size());
}

double median_of(std::vector<double>::const_iterator begin,
                 std::vector<double>::const_iterator end) {
  const auto half = (end - begin) / 2;
  return (end - begin) % 2 ? begin[half] : (begin[half - 1] + begin[half]) / 2;
}

// The two modes of a kernel's times, separated at the widest gap between neighbouring times.
void give_modes(tile::Facts& facts, const std::string& key, const std::vector<double>& ms) {
  auto slow = ms.begin() + 1;
  for (auto at = slow; at != ms.end(); ++at)
    if (at[0] - at[-1] > slow[0] - slow[-1]) slow = at;
  facts.measured(key + ".fast.ms", median_of(ms.begin(), slow));
  facts.measured(key + ".slow.ms", median_of(slow, ms.end()));
  facts.measured(key + ".runs", double(ms.size()));
  facts.measured(key + ".slow_runs", double(ms.end() - slow));
}

void predict(tile::Facts& facts) {
  const auto give = [&](const std::string& prefix, const std::string& directory,
                        std::initializer_list<const char*> kernels) {
    const std::vector<tile::Record> records =
        tile::load_records(tile::in_repository("chapters/09-bank-conflicts" + directory));
    for (const int size : {1024, 2048, 4092, 4096, 8192})
      for (const char* kernel : kernels) {
        const std::string key = prefix + "p_faster." + kernel + "." + std::to_string(size);
        if (records.empty())
          facts.not_yet_measured(key);
        else
          facts.measured(key, p_faster(records.front(), kernel, size), 2);
      }
    return records;
  };
  give("", "/lab/wavefronts", {"padded", "grouped", "remapped", "flat", "flat_padded"});
  const std::vector<tile::Record> chapters = give("chapter.", "", {"padded", "grouped"});
  for (const char* kernel : {"large", "padded", "grouped"})
    if (!chapters.empty())
      give_modes(facts, std::string("chapter.modes.") + kernel,
                 times_of(chapters.front(), kernel, 4092));
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_warp_tiled<Config>,
          reinterpret_cast<const void*>(sgemm_warp_tiled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES};
}

}  // namespace

TILE_CHAPTER(.number = 9, .title = "Does time follow wavefronts?",
             .kernels = {kernel<Large>("large"), kernel<Padded>("padded"),
                         kernel<Grouped>("grouped"), kernel<Remapped>("remapped"),
                         kernel<Flat>("flat"), kernel<FlatPadded>("flat_padded")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict)

TILE_TRIED_ON_MODEL("grouped", "remapped", "flat_padded")
TILE_GEMM_TESTS(tile::this_chapter().kernels)

#if TILE_ON_MODEL
// Wavefronts of a request, on average.
template <class C>
double wavefronts(std::string_view tag) {
  const simt::Counts counts = tile::count(launch_warp_tiled<C>, {C::BM, C::BN, 2 * C::BK});
  const simt::Site& site = tile::site(counts, tag);
  return double(site.wavefronts) / double(site.requests);
}

TEST_CASE("the kernels differ in the wavefronts of one access" *
          doctest::test_suite("model")) {
  CHECK(wavefronts<Large>("store-As") == 4);
  CHECK(wavefronts<Padded>("store-As") == 2);
  CHECK(wavefronts<Grouped>("store-As") == 1);
  CHECK(wavefronts<Large>("load-Bs") == 4);
  CHECK(wavefronts<Remapped>("load-Bs") == 2);
  CHECK(wavefronts<Flat>("load-Bs") == 8);
  CHECK(wavefronts<FlatPadded>("load-Bs") == 8);
}
#endif
