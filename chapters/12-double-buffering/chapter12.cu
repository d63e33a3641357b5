// Tile by Tile, chapter 12: double buffering.
//
// Question: must a block wait for the loads of its next k-tile? Idea: software pipelining.
// Prefetch the next k-tile into registers before computing the current one, and store it into
// a second buffer of shared memory: the latency of the loads hides behind the multiply-adds,
// and one barrier per iteration is enough.
// Previous chapter: 10; this is its kernel with chapter 09's lane order and another main loop.
//
// Build, run, verify:   ./tile run 12      ctest --preset model -R chapter12
#include <map>
#include <set>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// How the main loop orders loading, storing and computing k-tiles.
enum class Schedule {
  unpipelined,     // load, store and compute one k-tile after another
  prefetch,        // load the next k-tile into registers before computing; one buffer
  double_buffered  // prefetch, and store the next k-tile into a second buffer
};

template <int BK_, Schedule SCHEDULE_>
struct Config {
  static constexpr int BM = 128, BN = 128, BK = BK_;  // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int WNITER = 2;                    // warp subtiles side by side
  static constexpr int TM = 8, TN = 4;                // of a thread in each subtile
  static constexpr int BLOCKS = 2;  // resident blocks per SM: bounds the registers
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

using Single = Config<8, Schedule::unpipelined>;
using Ahead = Config<8, Schedule::prefetch>;
using Buffered = Config<8, Schedule::double_buffered>;
using Deep = Config<16, Schedule::double_buffered>;  // the chapter's kernel
// [/snippet config]

// [snippet maps]
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
// [/snippet maps]

// [snippet load]
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
  // Stores the loaded k-tile in a shared buffer. Here a thread waits for its loads.
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
  // [/snippet load]

  // [snippet compute]
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
  // [/snippet compute]

  // [snippet main-loop]
  if constexpr (Config::SCHEDULE == Schedule::unpipelined) {
    // [snippet unpipelined]
    for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
      load(bkIdx);
      store(0);
      // threads read what others stored: wait until all have stored
      __syncthreads();
      compute(0);
      // the next iteration overwrites the buffer: wait until all have read it
      __syncthreads();
    }
    // [/snippet unpipelined]
  } else {
    // [snippet pipelined]
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
    // [/snippet pipelined]
  }
  // [/snippet main-loop]

  // [snippet launch]
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
constexpr auto launch_default = launch_pipelined<Deep>;
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("single", Single{});
  f("ahead", Ahead{});
  f("buffered", Buffered{});
  f("deep", Deep{});
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

TILE_CHAPTER(.number = 12, .title = "Double buffering", .kernels = kernels(),
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Deep::BM},
                           {"BN", Deep::BN},
                           {"TM", Deep::TM},
                           {"TN", Deep::TN},
                           {"WMITER", Deep::WMITER},
                           {"WNITER", Deep::WNITER},
                           {"ACCUMULATORS", Deep::ACCUMULATORS},
                           {"NUM_THREADS", Deep::NUM_THREADS},
                           {"BK", Buffered::BK},
                           {"DEEP_BK", Deep::BK}},
             // one tile of 128 x 128 for each of 132 SMs, and two
             .shapes = {{1536, 1408, 4096}, {3072, 1408, 4096}})

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("one to three k-tiles, whole and residue" * doctest::test_suite("thorough")) {
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

TEST_CASE("the result equals that of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{256, 128, 80}, {70, 90, 101}});
}

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

TEST_CASE(
    "the swizzle permutes each row of As and moves the four elements of a float4 together") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::BK, C::BM, 1, [](int, auto take) {
            for (int row = 0; row < C::BK; ++row)
              for (int col = 0; col < C::BM; ++col) take(row, swizzle<C>(row, col));
          }) == "");
    for (int row = 0; row < C::BK; ++row)
      for (int col = 0; col < C::BM; ++col) {
        REQUIRE(swizzle<C>(row, col) == swizzle<C>(row, col / 4 * 4) + col % 4);
        // the kernel swizzles within a subtile and within the rows that are loaded at once
        for (const int begin : {col / C::WSUBM * C::WSUBM, col / C::ROWS_A * C::ROWS_A})
          REQUIRE(swizzle<C>(row, col) == begin + swizzle<C>(row, col - begin));
      }
  });
}

TEST_CASE(
    "with 128 registers per thread two blocks of 256 threads fit on an SM, with 129 one") {
  const auto blocks = [](int threads, int registers) {
    return tile::occupancy(tile::h200, threads, registers, Deep::SMEM_BYTES).blocks;
  };
  CHECK(blocks(256, 128) == 2);
  CHECK(blocks(256, 129) == 1);
  CHECK(blocks(128, 255) == 2);
}

#if TILE_ON_MODEL
TEST_CASE("with two buffers a block passes one barrier per k-tile" *
          doctest::test_suite("model")) {
  const auto barriers = [](tile::Launcher launcher, int K) {
    return tile::traced_run(launcher, {128, 128, K, 1, 0, 0, tile::Fill::integers}).barriers;
  };
  for (const int tiles : {1, 2, 7}) {
    const std::uint64_t T = std::uint64_t(tiles);
    CHECK(barriers(launch_pipelined<Single>, tiles * Single::BK) == 2 * T);
    CHECK(barriers(launch_pipelined<Ahead>, tiles * Ahead::BK) == 2 * T - 1);
    CHECK(barriers(launch_pipelined<Buffered>, tiles * Buffered::BK) == T);
    CHECK(barriers(launch_default, tiles * Deep::BK) == T);
  }
}

// What a block does between two barriers: the elements of A and B that it loads, and the
// 16-byte slots of As and Bs that it stores and reads.
struct Interval {
  std::set<std::int64_t> loaded, stored, read;
  bool in_order = true;  // every thread loads, then computes, then stores
};

template <class C>
std::vector<Interval> intervals_of(C, int tiles) {
  simt::Trace options;
  options.keep_touches = true;
  const simt::Counts run =
      tile::traced_run(launch_pipelined<C>,
                       {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers}, options);
  std::vector<Interval> intervals(run.barriers + 1);
  enum Step { loads, reads, stores };
  // the last step of each thread in each interval: touches come in the order of each thread
  std::map<std::pair<int, int>, Step> step_of;
  for (const simt::Touch& t : run.touches) {
    if (t.array == "C") continue;
    Interval& interval = intervals.at(std::size_t(t.interval));
    const bool shared = t.array == "As" || t.array == "Bs";
    const Step step = !shared ? loads : t.op == simt::Op::load ? reads : stores;
    auto& slots = step == loads   ? interval.loaded
                  : step == reads ? interval.read
                                  : interval.stored;
    slots.insert(2 * (t.byte_offset / (shared ? 16 : 4)) +
                 (t.array == "B" || t.array == "Bs"));
    Step& last = step_of.try_emplace({t.interval, t.thread}, loads).first->second;
    if (step < last) interval.in_order = false;
    last = step;
  }
  return intervals;
}

TEST_CASE(
    "a thread loads, computes, stores; no slot is both stored and read between barriers" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C config) {
    INFO(name);
    const int tiles = 3;
    const auto intervals = intervals_of(config, tiles);
    int computed = 0, overlapped = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      CAPTURE(i);
      const auto& [loaded, stored, read, in_order] = intervals[i];
      for (const std::int64_t slot : stored) CHECK(!read.contains(slot));
      CHECK(in_order);
      if (read.empty()) continue;
      ++computed;
      overlapped += !loaded.empty();
      CHECK(read == intervals.at(i - 1).stored);  // all of the k-tile and nothing else
    }
    CHECK(computed == tiles);
    CHECK(overlapped == (C::SCHEDULE == Schedule::unpipelined ? 0 : tiles - 1));
    if (C::BUFFERS == 1) return;
    REQUIRE(intervals.size() == tiles + 1);
    CHECK(intervals[1].stored != intervals[0].stored);  // the other buffer
    CHECK(intervals[2].stored == intervals[0].stored);
  });
}

TEST_CASE("no access to As or Bs has a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const auto run = tile::count(kernel.launch, {256, 128, 32});
    CHECK(tile::bank_conflict(run, "store-As") == "");
    CHECK(tile::bank_conflict(run, "load-As") == "");
    CHECK(tile::bank_conflict(run, "load-Bs") == "");
    const auto per_request = [&](const char* tag) {
      return double(tile::site(run, tag).wavefronts) / double(tile::site(run, tag).requests);
    };
    CHECK(per_request("store-As") == 1);  // a word of each lane: 32 words, one per bank
    CHECK(per_request("store-Bs") == 4);  // 128 different words need four wavefronts
    CHECK(per_request("load-As") == 2);
    CHECK(per_request("load-Bs") == 2);
  }
}
#endif
