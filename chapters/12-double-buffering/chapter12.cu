// Tile by Tile, chapter 12: double buffering.
//
// Question: while a block waits for a tile, it does not multiply, and while it multiplies, no
// tile is on its way. Must it be so? Idea: fetch the next tile into registers before this one
// is multiplied, and store it into a second buffer of shared memory. Loads then take their
// time behind the multiply-adds, and one barrier does for two.
// Previous chapters: 08, whose kernel `large` this is but for the order of its loop; the map
// of lanes to results is one of chapter 09, the swizzle of As is chapter 10's.
//
// Build, run, verify:   ./tile run 12      ctest --preset model -R chapter12
#include <map>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// In which order a block fetches tiles, stores them and multiplies.
enum class Schedule {
  in_turn,  // one after another, as in chapter 08
  // the next tile is fetched before this one is multiplied, and stored over it afterwards
  ahead,
  two_buffers  // the same, but it is stored into another buffer
};

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          Schedule SCHEDULE_>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr Schedule SCHEDULE = SCHEDULE_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  // rows of a piece: 32 threads of TM x TN results cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // results per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  // float4s of a tile of A that each thread copies
  static constexpr int FLOAT4S_A = BM / ROWS_A;
  static constexpr int FLOAT4S_B = BK / ROWS_B;  // float4s of a tile of B
  static constexpr int BUFFERS = SCHEDULE == Schedule::two_buffers ? 2 : 1;
  static constexpr int SMEM_BYTES = BUFFERS * (BM + BN) * BK * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN results must cover a piece, and WMITER x WNITER pieces the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(WSUBM / TM == 4 && WSUBN / TN == 8,
                "lanes form 4 rows of 8: their bits 0 and 4 count the rows");
  static_assert(128 % BK == 0 && 128 / BK % TM == 0,
                "the swizzle must move the rows of a thread together");
  static_assert((BK / 4 - 1) * (128 / BK) < WSUBM,
                "the swizzle must stay within a piece: else two elements share a place");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BLOCKS >= 1 && BLOCKS * NUM_THREADS <= 2048,
                "an SM holds at most 2048 threads: a bound beyond says nothing");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};

// Four shapes, each in all three orders.
// two blocks of 128 threads on an SM, 128 results a thread
template <int BK, Schedule SCHEDULE>
using Square = Config<128, 128, BK, 64, 64, 2, 8, 4, 2, SCHEDULE>;
template <Schedule SCHEDULE>  // one block of 256 threads, 128 results a thread
using WideTile = Config<256, 128, 8, 64, 64, 2, 8, 4, 1, SCHEDULE>;
template <int BLOCKS, Schedule SCHEDULE>  // blocks of 256 threads, 64 results a thread
using ThinTile = Config<128, 128, 8, 32, 64, 2, 8, 4, BLOCKS, SCHEDULE>;

using Single = Square<8, Schedule::in_turn>;
using Ahead = Square<8, Schedule::ahead>;
using Buffered = Square<8, Schedule::two_buffers>;
using DeepSingle = Square<16, Schedule::in_turn>;
using DeepAhead = Square<16, Schedule::ahead>;
using Deep = Square<16, Schedule::two_buffers>;  // the chapter's kernel
using WideSingle = WideTile<Schedule::in_turn>;
using WideAhead = WideTile<Schedule::ahead>;
using Wide = WideTile<Schedule::two_buffers>;
using ThinSingle = ThinTile<2, Schedule::in_turn>;
using ThinAhead = ThinTile<2, Schedule::ahead>;
using Thin = ThinTile<2, Schedule::two_buffers>;
using ThinAlone = ThinTile<1, Schedule::two_buffers>;  // without a limit on registers
// chapter 08's `large`, fetched ahead
using LargeAhead = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Schedule::ahead>;
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// Where the tile of a thread's warp begins in the block's tile. A warp is 32 threads that
// follow each other.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN results begin in a piece of the warp's tile. Lanes 2n and 2n + 1
// lie one below the other.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {(laneId / 16 * 2 + laneId % 2) * C::TM, laneId / 2 % 8 * C::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B, as in
// chapter 06.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// Where in its row of As an element of the transposed tile lies. A warp stores 128 / BK
// neighbouring words in each of BK / 4 rows; this gives each of the rows other banks.
template <class C>
constexpr __host__ __device__ int swizzle(int row, int col) {
  return col ^ row / 4 * (128 / C::BK);
}
// [/snippet maps]

// VECTORISED: tiles are whole and addresses divisible by 16.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_buffered(int M, int N, int K, float alpha,  //
                   const float* A, int lda,           // M x K
                   const float* B, int ldb,           // K x N
                   float beta,                        //
                   float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  constexpr int BUFFERS = Config::BUFFERS;
  // each BK x BM: a tile of A, transposed, each row swizzled
  alignas(16) __shared__ float As[BUFFERS][BK * BM];
  alignas(16) __shared__ float Bs[BUFFERS][BK * BN];  // each BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece

  // [snippet load]
  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  // this thread's part of a tile on its way
  float4 fetchedA[Config::FLOAT4S_A], fetchedB[Config::FLOAT4S_B];

  // From global memory into registers: the tile that begins bkIdx deep. Nothing waits for it
  // yet.
  const auto fetch = [&](int bkIdx) {
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_A; ++n) {
      const float* from = nextA + std::size_t(n * Config::ROWS_A) * lda;
      if constexpr (VECTORISED) {
        fetchedA[n] = *reinterpret_cast<const float4*>(from);  //@ load-A
      } else {
        float a[4] = {};
        for (int i = 0; i < 4; ++i)
          if (blockRow + rowA + n * Config::ROWS_A < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
        fetchedA[n] = {a[0], a[1], a[2], a[3]};
      }
    }
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_B; ++n) {
      const float* from = nextB + std::size_t(n * Config::ROWS_B) * ldb;
      if constexpr (VECTORISED) {
        fetchedB[n] = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j)
          if (bkIdx + rowB + n * Config::ROWS_B < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        fetchedB[n] = {b[0], b[1], b[2], b[3]};
      }
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // From registers into a buffer of shared memory. Here a thread waits for what it fetched.
  const auto store = [&](int buffer) {
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_A; ++n) {
      const float a[4] = {fetchedA[n].x, fetchedA[n].y, fetchedA[n].z, fetchedA[n].w};
      for (int i = 0; i < 4; ++i)
        As[buffer][(colA + i) * BM + swizzle<Config>(colA + i, rowA) +
                   n * Config::ROWS_A] =  //@ store-As
            a[i];
    }
#pragma unroll
    for (int n = 0; n < Config::FLOAT4S_B; ++n)
      *reinterpret_cast<float4*>(  //@ store-Bs
          &Bs[buffer][(rowB + n * Config::ROWS_B) * BN + colB]) = fetchedB[n];
  };
  // [/snippet load]

  const auto multiply = [&](int buffer) {
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
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

  // [snippet main-loop]
  if constexpr (Config::SCHEDULE == Schedule::in_turn) {
    for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
      fetch(bkIdx);
      store(0);
      // a thread reads what others wrote: nobody may start before all have stored
      __syncthreads();
      multiply(0);
      // the next round overwrites the tiles: nobody may store while another still reads
      __syncthreads();
    }
  } else {
    int buffer = 0;
    fetch(0);
    store(buffer);
    __syncthreads();  // as above
    for (int bkIdx = BK; bkIdx < K; bkIdx += BK) {
      fetch(bkIdx);
      multiply(buffer);
      // the only buffer: nobody may store while another still reads
      if constexpr (BUFFERS == 1) __syncthreads();
      buffer = (buffer + 1) % BUFFERS;
      store(buffer);
      // all have stored this buffer, and all have read the other, which the next round
      // overwrites
      __syncthreads();
    }
    multiply(buffer);
  }
  // [/snippet main-loop]

  // Unrolled, because a register has no index: a sum that is chosen at run time would have to
  // live in local memory.
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

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_buffered(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(
      can_vectorise<Config>(g) ? sgemm_buffered<Config, true> : sgemm_buffered<Config, false>,
      grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
      g.beta, g.C, g.ldc);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("single", Single{});
  f("ahead", Ahead{});
  f("buffered", Buffered{});
  f("deep_single", DeepSingle{});
  f("deep_ahead", DeepAhead{});
  f("deep", Deep{});
  f("wide_single", WideSingle{});
  f("wide_ahead", WideAhead{});
  f("wide", Wide{});
  f("thin_single", ThinSingle{});
  f("thin_ahead", ThinAhead{});
  f("thin", Thin{});
  f("thin_alone", ThinAlone{});
  f("large_ahead", LargeAhead{});
}

const tile::Case counted{256, 256, 256};

// A wave of one tile of 128 x 128 on each of 132 SMs, and one of two; with tiles of 256 x 128
// a half-empty and a full one.
const std::vector<tile::Case> waves{{1536, 1408, 4096}, {3072, 1408, 4096}};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  for_each_config([&]<class C>(const std::string& name, C) {
    const int operands = C::WMITER * C::TM + C::WNITER * C::TN,
              in_flight = 4 * (C::FLOAT4S_A + C::FLOAT4S_B);
    const double ffma = C::BK * C::ACCUMULATORS;
    const double lds = C::BK * operands / 4.0, ldg = C::FLOAT4S_A + C::FLOAT4S_B,
                 sts = 4 * C::FLOAT4S_A + C::FLOAT4S_B;
    const double barriers = C::SCHEDULE == Schedule::two_buffers ? 1 : 2;
    const double all = ffma + lds + ldg + sts + barriers;
    facts.predicted(name + ".threads", C::NUM_THREADS);
    facts.predicted(name + ".results", C::ACCUMULATORS);
    facts.predicted(name + ".operands", operands);
    facts.predicted(name + ".in_flight", in_flight);
    facts.predicted(name + ".words", C::ACCUMULATORS + operands + in_flight);
    facts.predicted(name + ".one_each.blocks",
                    tile::ceil_div(waves[0].M, C::BM) * tile::ceil_div(waves[0].N, C::BN));
    facts.predicted(name + ".two_each.blocks",
                    tile::ceil_div(waves[1].M, C::BM) * tile::ceil_div(waves[1].N, C::BN));
    facts.predicted(name + ".round.barriers", barriers);
    facts.predicted(name + ".round.ffma_percent", 100 * ffma / all, 1);
    // Elements of A and B that one multiply-add loads from global memory.
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN, double(operands) / C::ACCUMULATORS,
                          4, 4);
  });
  // Barriers of one block, by the order of its loop, for so many tiles.
  const double tiles = 1.0 * counted.K / Buffered::BK;
  facts.predicted("tiles", tiles);
  facts.predicted("barriers.in_turn", 2 * tiles);
  facts.predicted("barriers.ahead", 2 * tiles - 1);
  facts.predicted("barriers.two_buffers", tiles);
  // What registers leave of an SM of an H200.
  const auto occupancy = [&](int threads, int registers, int smem_bytes) {
    const std::string name =
        "budget." + std::to_string(threads) + "x" + std::to_string(registers);
    const auto found =
        tile::occupancy(tile::h200, threads, registers, std::size_t(smem_bytes));
    facts.predicted(name + ".blocks", found.blocks);
    facts.predicted(name + ".warps", found.blocks * threads / 32.0);
    facts.predicted(name + ".warp_registers", tile::registers_per_warp(registers));
  };
  for (const int registers : {128, 129, 168, 169, 255}) {
    occupancy(128, registers, Buffered::SMEM_BYTES);
    occupancy(256, registers, Thin::SMEM_BYTES);
  }
  facts.predicted("worked.row", thread_tile_of<Buffered>(5).row);
  facts.predicted("worked.col", thread_tile_of<Buffered>(5).col);
  facts.predicted("worked.store.row", load_A_of<Buffered>(5).row);
  facts.predicted("worked.store.k", load_A_of<Buffered>(5).col);
  facts.predicted("worked.store.place",
                  swizzle<Buffered>(load_A_of<Buffered>(5).col, load_A_of<Buffered>(5).row));
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_buffered<Config>,
          reinterpret_cast<const void*>(sgemm_buffered<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES};
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) { all.push_back(kernel<C>(name)); });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 12, .title = "Double buffering", .kernels = kernels(),
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .shapes = waves)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("one tile, two, and odd and even numbers of them, whole and ragged" *
          doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 3})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * kernel.tile.BK + more;
        const tile::Case whole{kernel.tile.BM,      kernel.tile.BN, K, 1, 0, 0,
                               tile::Fill::integers};
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel.launch,
                                  {whole, {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

// Each order and each shape of a tile once; the others are in the test above.
TILE_TRIED_ON_MODEL("single", "ahead", "buffered", "deep", "wide", "large_ahead")

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{256, 128, 80}, {70, 90, 101}});
}

// The first element of a tile that not exactly one thread has, and the threads that have it;
// "" without such an element.
using Threads = std::vector<int>;
std::string first_not_of_one_thread(const std::vector<Threads>& threads_of, int width) {
  for (std::size_t i = 0; i < threads_of.size(); ++i) {
    if (threads_of[i].size() == 1) continue;
    std::string text = "row " + std::to_string(i / std::size_t(width)) + ", column " +
                       std::to_string(i % std::size_t(width)) + ": threads";
    for (const int thread : threads_of[i]) text += " " + std::to_string(thread);
    return threads_of[i].empty() ? text + " none" : text;
  }
  return "";
}

template <class C>
void check_maps(C) {
  std::vector<Threads> results(C::BM * C::BN), copiesA(C::BM * C::BK), copiesB(C::BK * C::BN);
  for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    const auto [row, col] = thread_tile_of<C>(thread);
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int wn = 0; wn < C::WNITER; ++wn)
        for (int i = 0; i < C::TM; ++i)
          for (int j = 0; j < C::TN; ++j)
            results
                .at(std::size_t((warpRow + wm * C::WSUBM + row + i) * C::BN + warpCol +
                                wn * C::WSUBN + col + j))
                .push_back(thread);
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < C::BM; down += C::ROWS_A)
        copiesA
            .at(std::size_t((load_A_of<C>(thread).row + down) * C::BK +
                            load_A_of<C>(thread).col + i))
            .push_back(thread);
      for (int down = 0; down < C::BK; down += C::ROWS_B)
        copiesB
            .at(std::size_t((load_B_of<C>(thread).row + down) * C::BN +
                            load_B_of<C>(thread).col + i))
            .push_back(thread);
    }
  }
  CHECK(first_not_of_one_thread(results, C::BN) == "");
  CHECK(first_not_of_one_thread(copiesA, C::BK) == "");
  CHECK(first_not_of_one_thread(copiesB, C::BN) == "");
}

TEST_CASE("a kernel's name says its shape, its order and how many blocks an SM must hold") {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    const bool wide = name.starts_with("wide"), thin = name.starts_with("thin"),
               large = name.starts_with("large");
    CHECK(C::BM == (wide ? 256 : 128));
    CHECK(C::BK == (name.starts_with("deep") || large ? 16 : 8));
    CHECK(C::NUM_THREADS == (wide || thin ? 256 : 128));
    CHECK(C::ACCUMULATORS == (thin ? 64 : 128));
    CHECK(C::BLOCKS == (large ? 3 : wide || name == "thin_alone" ? 1 : 2));
    CHECK(C::SCHEDULE == (name.ends_with("single")  ? Schedule::in_turn
                          : name.ends_with("ahead") ? Schedule::ahead
                                                    : Schedule::two_buffers));
    CHECK(C::BUFFERS == (C::SCHEDULE == Schedule::two_buffers ? 2 : 1));
  });
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  for_each_config([](const char* name, auto config) {
    INFO(name);
    check_maps(config);
  });
}

TEST_CASE(
    "the swizzle permutes a row of As, keeps four neighbours together, and adds to where a piece begins") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    for (int row = 0; row < C::BK; ++row) {
      std::vector<int> places(C::BM);
      for (int col = 0; col < C::BM; ++col) {
        ++places.at(std::size_t(swizzle<C>(row, col)));
        REQUIRE(swizzle<C>(row, col) == swizzle<C>(row, col / 4 * 4) + col % 4);
        REQUIRE(swizzle<C>(row, col) ==
                col / C::WSUBM * C::WSUBM + swizzle<C>(row, col % C::WSUBM));
        REQUIRE(swizzle<C>(row, col) ==
                col / C::ROWS_A * C::ROWS_A + swizzle<C>(row, col % C::ROWS_A));
      }
      CHECK(places == std::vector<int>(places.size(), 1));
    }
  });
}

TEST_CASE(
    "the waves are one block and two on each of 132 SMs, wide ones half as many, all of whole tiles") {
  tile::Facts facts;
  predict(facts);
  for_each_config([&]<class C>(const std::string& name, C) {
    INFO(name);
    CHECK(facts.value(name + ".one_each.blocks") == 132.0 * 128 / C::BM);
    CHECK(facts.value(name + ".two_each.blocks") == 264.0 * 128 / C::BM);
    for (const tile::Case& wave : waves)
      CHECK((wave.M % C::BM == 0 && wave.N % C::BN == 0 && wave.K % C::BK == 0));
  });
}

TEST_CASE("128 registers leave two blocks of 256 threads, 129 one") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("budget.256x128.blocks") == 2);
  CHECK(facts.value("budget.256x129.blocks") == 1);
  CHECK(facts.value("budget.256x129.warp_registers") == 136 * 32);  // given out eight a thread
  CHECK(facts.value("budget.256x255.blocks") == 1);
  CHECK(facts.value("budget.128x128.blocks") == 4);
  CHECK(facts.value("budget.128x129.blocks") == 3);
  CHECK(facts.value("budget.128x168.blocks") == 3);
  CHECK(facts.value("budget.128x169.blocks") == 2);
  CHECK(facts.value("budget.128x255.blocks") == 2);
}

#if TILE_ON_MODEL
TEST_CASE("two buffers need one barrier a tile" * doctest::test_suite("model")) {
  const auto barriers = [](tile::Launcher launcher, int K) {
    return tile::traced_run(launcher, {128, 128, K, 1, 0, 0, tile::Fill::integers}).barriers;
  };
  for (const int tiles : {1, 2, 7}) {
    const std::uint64_t T = std::uint64_t(tiles);
    CHECK(barriers(launch_buffered<Buffered>, tiles * Buffered::BK) == T);
    CHECK(barriers(launch_buffered<Deep>, tiles * Deep::BK) == T);
    CHECK(barriers(launch_buffered<Ahead>, tiles * Ahead::BK) == 2 * T - 1);
    CHECK(barriers(launch_buffered<Single>, tiles * Single::BK) == 2 * T);
  }
}

// What one block does between two barriers: words of A and B that it fetches; places of As and
// Bs, 16 bytes each, that it writes and reads (sorted, each once).
struct Interval {
  std::vector<std::int64_t> fetched, stored, read;
  // no thread fetches after it began to multiply, nor multiplies after it began to store
  bool in_order = true;
};

void keep_each_once(std::vector<std::int64_t>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

template <class C>
std::vector<Interval> intervals_of(C, int tiles) {
  simt::Trace options;
  options.keep_touches = true;
  const simt::Counts run =
      tile::traced_run(launch_buffered<C>,
                       {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers}, options);
  std::vector<Interval> intervals(run.barriers + 1);
  enum Step { fetches, reads, stores };
  // of a thread in an interval: touches come in the order of each thread
  std::map<std::pair<int, int>, Step> step_of;
  for (const simt::Touch& t : run.touches) {
    if (t.array == "C") continue;
    Interval& interval = intervals.at(std::size_t(t.interval));
    const bool shared = t.array == "As" || t.array == "Bs";
    const Step step = !shared ? fetches : t.op == simt::Op::load ? reads : stores;
    const bool of_B = t.array == "B" || t.array == "Bs";
    (step == fetches ? interval.fetched
     : step == reads ? interval.read
                     : interval.stored)
        .push_back(2 * (t.byte_offset / (shared ? 16 : 4)) + of_B);
    Step& last = step_of.try_emplace({t.interval, t.thread}, fetches).first->second;
    if (step < last) interval.in_order = false;
    last = step;
  }
  for (Interval& interval : intervals) {
    keep_each_once(interval.fetched);
    keep_each_once(interval.stored);
    keep_each_once(interval.read);
  }
  return intervals;
}

TEST_CASE("a thread fetches, then multiplies, then stores" * doctest::test_suite("model")) {
  for_each_config([](const char* name, auto config) {
    INFO(name);
    for (const Interval& interval : intervals_of(config, 2)) CHECK(interval.in_order);
  });
}

TEST_CASE(
    "between two barriers a tile is fetched, another multiplied, and no place both read and written" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C config) {
    if (C::SCHEDULE != Schedule::two_buffers) return;
    INFO(name);
    const int tiles = 3;
    const auto intervals = intervals_of(config, tiles);
    REQUIRE(intervals.size() == tiles + 1);
    for (int i = 0; i <= tiles; ++i) {
      CAPTURE(i);
      const Interval& interval = intervals[std::size_t(i)];
      CHECK(interval.fetched.empty() == (i == tiles));  // the epilogue multiplies only
      CHECK(interval.stored.empty() == (i == tiles));
      CHECK(interval.read.empty() == (i == 0));  // the prologue multiplies nothing
      for (const std::int64_t place : interval.stored)
        CHECK(!std::binary_search(interval.read.begin(), interval.read.end(), place));
      if (i > 0) CHECK(interval.read == intervals[std::size_t(i - 1)].stored);
    }
    CHECK(intervals[1].stored != intervals[0].stored);
    CHECK(intervals[2].stored == intervals[0].stored);
  });
}

TEST_CASE("with one buffer, a tile is stored in one interval and multiplied in the next" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C config) {
    if (C::SCHEDULE == Schedule::two_buffers) return;
    INFO(name);
    const bool ahead = C::SCHEDULE == Schedule::ahead;
    const auto intervals = intervals_of(config, 3);
    REQUIRE(intervals.size() == (ahead ? 6u : 7u));
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      const bool multiplies = i % 2 == 1;
      CHECK(intervals[i].read.empty() == !multiplies);
      CHECK(intervals[i].stored.empty() == multiplies);
      if (multiplies) CHECK(intervals[i].read == intervals[i - 1].stored);
      // Ahead, a tile is fetched in the interval in which the one before it is multiplied.
      CHECK(intervals[i].fetched.empty() == (ahead ? i != 0 && i != 1 && i != 3 : multiplies));
    }
  });
}

TEST_CASE("no access to As meets a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const auto run = tile::count(kernel.launch, {256, 128, 32});
    CHECK(tile::bank_conflict(run, "store-As") == "");
    CHECK(tile::bank_conflict(run, "load-As") == "");
    CHECK(tile::bank_conflict(run, "load-Bs") == "");
    const auto per_request = [&](const char* tag) {
      return double(tile::site(run, tag).wavefronts) / double(tile::site(run, tag).requests);
    };
    CHECK(per_request("store-As") == 1);  // a word of each lane: 32 words, one a bank
    // 128 different words: four wavefronts could not be fewer
    CHECK(per_request("store-Bs") == 4);
    CHECK(per_request("load-As") == 2);
    CHECK(per_request("load-Bs") == 2);
  }
}
#endif
