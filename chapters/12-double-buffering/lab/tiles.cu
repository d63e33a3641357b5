// Tile by Tile, chapter 12, lab: other tiles.
//
// Question: do prefetching and the second buffer gain as much with deeper k-tiles, and with
// more warps per block? And what happens where they need more registers than are left? The
// kernel is chapter 12's, with a configuration that also varies the tile, the warps and the
// bound on registers.
//
// Build, run, verify:   ./tile run 12-tiles      ctest --preset model -R chapter12.tiles
#include "common/report/chapter.hpp"

namespace {

// How the main loop orders loading, storing and computing k-tiles.
enum class Schedule {
  unpipelined,     // load, store and compute one k-tile after another
  prefetch,        // load the next k-tile into registers before computing; one buffer
  double_buffered  // prefetch, and store the next k-tile into a second buffer
};

template <int BK_,      // depth of a k-tile
          int WM_,      // rows of C per warp: 64 for four warps per block, 32 for eight
          int BLOCKS_,  // resident blocks per SM: bounds the registers
          Schedule SCHEDULE_>
struct Config {
  static constexpr int BM = 128, BN = 128, BK = BK_;  // block tile
  static constexpr int WM = WM_, WN = 64;             // warp tile
  static constexpr int WNITER = 2;                    // warp subtiles side by side
  static constexpr int TM = 8, TN = 4;                // of a thread in each subtile
  static constexpr int BLOCKS = BLOCKS_;
  static constexpr Schedule SCHEDULE = SCHEDULE_;
  static constexpr int WSUBN = WN / WNITER;           // columns of a warp subtile
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;  // its rows: 32 threads cover it
  static constexpr int WMITER = WM / WSUBM;           // warp subtiles below each other
  static constexpr int ACCUMULATORS = WM * WN / 32;   // per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the A and the B tile that all threads together load at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK, ROWS_B = 4 * NUM_THREADS / BN;
  // float4s of the A and the B tile that each thread loads
  static constexpr int FLOAT4S_A = BM / ROWS_A, FLOAT4S_B = BK / ROWS_B;
  static constexpr int BUFFERS = SCHEDULE == Schedule::double_buffered ? 2 : 1;
  static constexpr int SMEM_BYTES = BUFFERS * (BM + BN) * BK * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN must cover a warp subtile, and WMITER x WNITER subtiles the warp tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads load past the A tile or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads load past the B tile or leave parts out");
  static_assert(WSUBM / TM == 4 && WSUBN / TN == 8,
                "lanes form 4 rows of 8: their bits 0 and 4 count the rows");
  static_assert(128 % BK == 0 && 128 / BK % TM == 0,
                "the swizzle must move the rows of a thread together");
  static_assert(
      (BK / 4 - 1) * (128 / BK) < WSUBM,
      "the swizzle must stay within a warp subtile: else two elements share an address");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse more");
};

// k-tiles twice as deep (double buffered they are chapter 12's `deep`)
template <Schedule SCHEDULE>
using DeepTile = Config<16, 64, 2, SCHEDULE>;
// eight warps per block, with 64 accumulators per thread
template <int BLOCKS, Schedule SCHEDULE>
using ThinTile = Config<8, 32, BLOCKS, SCHEDULE>;
using ThinAlone = ThinTile<1, Schedule::double_buffered>;  // registers are not bound

struct Position {
  int row, col;
};

// Where the warp tile of a thread begins in the block tile: 32 consecutive threads are a warp.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where the thread tile begins in a warp subtile. Lanes 2n and 2n + 1 are one above the other.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {(laneId / 16 * 2 + laneId % 2) * C::TM, laneId / 2 % 8 * C::TN};
}
// The first element of a thread's first float4 in the A tile, and in the B tile (chapter 06).
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// The swizzled column of an element of As (chapter 10). A warp stores 128 / BK consecutive
// words into each of BK / 4 rows; the swizzle gives each of these rows other banks.
template <class C>
constexpr __host__ __device__ int swizzle(int row, int col) {
  return col ^ row / 4 * (128 / C::BK);
}

// VECTORISED: all tiles are whole, and every float4 is aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_pipelined(int M, int N, int K, float alpha,  //
                    const float* A, int lda,           // M x K
                    const float* B, int ldb,           // K x N
                    float beta,                        //
                    float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  constexpr int BUFFERS = Config::BUFFERS;
  // each BK x BM: the A tile, transposed and swizzled
  alignas(16) __shared__ float As[BUFFERS][BK * BM];
  alignas(16) __shared__ float Bs[BUFFERS][BK * BN];  // each BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN in each subtile

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  // this thread's part of the k-tile in flight
  float4 stagedA[Config::FLOAT4S_A], stagedB[Config::FLOAT4S_B];

  // Loads the k-tile at bkIdx into registers. No thread waits for the data yet.
  const auto load = [&](int bkIdx) {
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_A; ++n) {
      const float* from = nextA + std::size_t(n * Config::ROWS_A) * lda;
      if constexpr (VECTORISED) {
        stagedA[n] = *reinterpret_cast<const float4*>(from);  //@ load-A
      } else {
        float a[4] = {};
        for (int i = 0; i < 4; ++i)
          if (blockRow + rowA + n * Config::ROWS_A < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
        stagedA[n] = {a[0], a[1], a[2], a[3]};
      }
    }
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_B; ++n) {
      const float* from = nextB + std::size_t(n * Config::ROWS_B) * ldb;
      if constexpr (VECTORISED) {
        stagedB[n] = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j)
          if (bkIdx + rowB + n * Config::ROWS_B < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        stagedB[n] = {b[0], b[1], b[2], b[3]};
      }
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // Stores the loaded k-tile into a buffer of shared memory. Here a thread waits for its loads.
  const auto store = [&](int buffer) {
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_A; ++n) {
      const float a[4] = {stagedA[n].x, stagedA[n].y, stagedA[n].z, stagedA[n].w};
      for (int i = 0; i < 4; ++i)
        As[buffer][(colA + i) * BM + swizzle<Config>(colA + i, rowA) +
                   n * Config::ROWS_A] =  //@ store-As
            a[i];
    }
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_B; ++n)
      *reinterpret_cast<float4*>(  //@ store-Bs
          &Bs[buffer][(rowB + n * Config::ROWS_B) * BN + colB]) = stagedB[n];
  };

  const auto compute = [&](int buffer) {
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // this thread's operands: parts of one row of As and of one row of Bs
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const int col = warpRow + wm * WSUBM + swizzle<Config>(dotIdx, threadRow) + i;
          const float4 four =  //@ load-As
              *reinterpret_cast<const float4*>(&As[buffer][dotIdx * BM + col]);
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const int col = warpCol + wn * WSUBN + threadCol + j;
          const float4 four =  //@ load-Bs
              *reinterpret_cast<const float4*>(&Bs[buffer][dotIdx * BN + col]);
          regN[wn][j] = four.x, regN[wn][j + 1] = four.y, regN[wn][j + 2] = four.z,
          regN[wn][j + 3] = four.w;
        }
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
  };

  if constexpr (Config::SCHEDULE == Schedule::unpipelined) {
    for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
      load(bkIdx);
      store(0);
      // threads read what others stored: wait until all have stored
      __syncthreads();
      compute(0);
      // the next iteration overwrites the buffer: wait until all have read it
      __syncthreads();
    }
  } else {
    int buffer = 0;
    load(0);  // prologue: the first k-tile
    store(buffer);
    __syncthreads();  // threads read what others stored
    for (int bkIdx = BK; bkIdx < K; bkIdx += BK) {
      load(bkIdx);      // prefetch the next k-tile
      compute(buffer);  // hides the latency of its loads
      // with one buffer, store overwrites what compute reads: wait until all have read it
      if constexpr (BUFFERS == 1) __syncthreads();
      buffer = (buffer + 1) % BUFFERS;
      store(buffer);
      // all have stored this buffer before the next iteration reads it; with two buffers, also:
      // all have read the other one before the next iteration overwrites it
      __syncthreads();
    }
    compute(buffer);  // the last k-tile
  }

  // Unrolled, because registers cannot be indexed: an accumulator chosen at run time would be
  // spilled to local memory.
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

// Whether all tiles are whole and every float4 is aligned to 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_pipelined(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_pipelined<Config, true>
                                        : sgemm_pipelined<Config, false>,
               grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B,
               g.ldb, g.beta, g.C, g.ldc);
}

// Calls f(name, configuration) for every kernel of this lab.
template <class F>
void for_each_config(F&& f) {
  f("deep_single", DeepTile<Schedule::unpipelined>{});
  f("deep_ahead", DeepTile<Schedule::prefetch>{});
  f("thin_single", ThinTile<2, Schedule::unpipelined>{});
  f("thin_ahead", ThinTile<2, Schedule::prefetch>{});
  f("thin", ThinTile<2, Schedule::double_buffered>{});
  f("thin_alone", ThinAlone{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({name,
                   launch_pipelined<C>,
                   reinterpret_cast<const void*>(sgemm_pipelined<C, true>),
                   C::NUM_THREADS,
                   {C::BM, C::BN, C::BK, tile::Alignment::float4s},
                   C::SMEM_BYTES});
  });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 12, .title = "Double buffering: other tiles", .kernels = kernels(),
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"ACCUMULATORS", ThinAlone::ACCUMULATORS},
                           {"NUM_THREADS", ThinAlone::NUM_THREADS}},
             // one tile of 128 x 128 for each of 132 SMs, and two
             .shapes = {{1536, 1408, 4096}, {3072, 1408, 4096}})

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the threads compute every element of the block tile and load every element once") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
            const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
            const auto [row, col] = thread_tile_of<C>(thread);
            for (int wm = 0; wm < C::WMITER; ++wm)
              for (int wn = 0; wn < C::WNITER; ++wn)
                for (int i = 0; i < C::TM; ++i)
                  for (int j = 0; j < C::TN; ++j)
                    take(warpRow + wm * C::WSUBM + row + i, warpCol + wn * C::WSUBN + col + j);
          }) == "");
    CHECK(tile::covers_once(C::BM, C::BK, C::NUM_THREADS, [](int thread, auto take) {
            for (int n = 0; n < C::FLOAT4S_A; ++n)
              for (int i = 0; i < 4; ++i)
                take(load_A_of<C>(thread).row + n * C::ROWS_A, load_A_of<C>(thread).col + i);
          }) == "");
    CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
            for (int n = 0; n < C::FLOAT4S_B; ++n)
              for (int j = 0; j < 4; ++j)
                take(load_B_of<C>(thread).row + n * C::ROWS_B, load_B_of<C>(thread).col + j);
          }) == "");
  });
}

#if TILE_ON_MODEL
TEST_CASE("no access to As or Bs has a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const auto run = tile::count(kernel.launch, {256, 128, 32});
    CHECK(tile::bank_conflict(run, "store-As") == "");
    CHECK(tile::bank_conflict(run, "load-As") == "");
    CHECK(tile::bank_conflict(run, "load-Bs") == "");
  }
}
#endif
