// Tile by Tile, chapter 13: register double buffering and serpentine order.
//
// Question: what can be gained in the k-step itself? Two ideas. Serpentine order: go through
// the products of a thread tile so that consecutive FFMA share an operand, which the register
// file then reads once. Register double buffering: load the operands of the next k-step from
// shared memory before multiplying those of this one.
// Previous chapter: 12; this is its kernel `deep` with another k-step.
//
// Build, run, verify:   ./tile run 13      ctest --preset model -R chapter13
#include <set>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// The order in which a thread goes through the products of a k-step.
enum class Order {
  subtiles,   // warp subtile after warp subtile (chapter 12)
  rows,       // row after row of the whole thread tile
  serpentine  // row after row; every second row runs from right to left
};

// AHEAD: how many k-steps before its multiplication the operands of a k-step are loaded.
template <Order ORDER_, int AHEAD_ = 0>
struct Config {
  static constexpr Order ORDER = ORDER_;
  static constexpr int AHEAD = AHEAD_;
  static constexpr int BM = 128, BN = 128, BK = 16;  // block tile
  static constexpr int WM = 64, WN = 64;             // warp tile
  static constexpr int WNITER = 2;                   // warp subtiles side by side
  static constexpr int TM = 8, TN = 4;               // of a thread in each subtile
  static constexpr int BLOCKS = 2;           // resident blocks per SM: bounds the registers
  static constexpr int WSUBN = WN / WNITER;  // columns of a warp subtile
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;  // its rows: 32 threads cover it
  static constexpr int WMITER = WM / WSUBM;           // warp subtiles below each other
  // of the thread tile, which has a part in each subtile
  static constexpr int ROWS = WMITER * TM, COLS = WNITER * TN;
  static constexpr int ACCUMULATORS = ROWS * COLS;  // per thread
  static constexpr int SETS = AHEAD + 1;            // of registers for operands
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the A and the B tile that all threads together load at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK, ROWS_B = 4 * NUM_THREADS / BN;
  // float4s of the A and the B tile that each thread loads
  static constexpr int FLOAT4S_A = BM / ROWS_A, FLOAT4S_B = BK / ROWS_B;
  static constexpr int BUFFERS = 2;  // of shared memory
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
  static_assert(AHEAD == 0 || AHEAD == 1,
                "the main loop multiplies at most one k-step after the barrier");
  static_assert(BK % SETS == 0,
                "a k-tile's first operands must not overwrite those of the last k-step");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse more");
};

using Subtiles = Config<Order::subtiles>;
using Rows = Config<Order::rows>;
using Serpentine = Config<Order::serpentine>;     // the chapter's kernel
using Prefetched = Config<Order::serpentine, 1>;  // with register double buffering
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

// [snippet order]
// The n-th product of a k-step: its row and column in the thread tile.
template <class C>
constexpr __host__ __device__ Position product_of(int n) {
  if (C::ORDER == Order::subtiles) {
    const int subtile = n / (C::TM * C::TN), within = n % (C::TM * C::TN);
    return {subtile / C::WNITER * C::TM + within / C::TN,
            subtile % C::WNITER * C::TN + within % C::TN};
  }
  const int row = n / C::COLS, col = n % C::COLS;
  const bool reversed = C::ORDER == Order::serpentine && row % 2 == 1;
  return {row, reversed ? C::COLS - 1 - col : col};
}
// [/snippet order]

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
  constexpr int ROWS = Config::ROWS, COLS = Config::COLS;
  constexpr int AHEAD = Config::AHEAD, SETS = Config::SETS;
  constexpr int BUFFERS = Config::BUFFERS;
  // each BK x BM: the A tile, transposed and swizzled
  alignas(16) __shared__ float As[BUFFERS][BK * BM];
  alignas(16) __shared__ float Bs[BUFFERS][BK * BN];  // each BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);
  float acc[ROWS][COLS] = {};  // the thread tile: TM x TN in each subtile

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
  // this thread's operands: parts of one row of As and of one row of Bs
  float regM[SETS][ROWS], regN[SETS][COLS];
  const auto load_operands = [&](int buffer, int dotIdx) {
    const int set = dotIdx % SETS;
#pragma unroll
    for (int i = 0; i < ROWS; i += 4) {
      const int col = warpRow + i / TM * WSUBM + swizzle<Config>(dotIdx, threadRow) + i % TM;
      const float4 four =  //@ load-As
          *reinterpret_cast<const float4*>(&As[buffer][dotIdx * BM + col]);
      regM[set][i] = four.x, regM[set][i + 1] = four.y, regM[set][i + 2] = four.z,
      regM[set][i + 3] = four.w;
    }
#pragma unroll
    for (int j = 0; j < COLS; j += 4) {
      const int col = warpCol + j / TN * WSUBN + threadCol + j % TN;
      const float4 four =  //@ load-Bs
          *reinterpret_cast<const float4*>(&Bs[buffer][dotIdx * BN + col]);
      regN[set][j] = four.x, regN[set][j + 1] = four.y, regN[set][j + 2] = four.z,
      regN[set][j + 3] = four.w;
    }
  };
  const auto multiply = [&](int dotIdx) {
    const int set = dotIdx % SETS;
#pragma unroll
    for (int n = 0; n < Config::ACCUMULATORS; ++n) {
      const auto [i, j] = product_of<Config>(n);
      acc[i][j] += regM[set][i] * regN[set][j];
    }
  };
  // All k-steps of a k-tile, except the last one if operands are loaded ahead.
  const auto compute = [&](int buffer) {
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK - AHEAD; ++dotIdx) {
      load_operands(buffer, dotIdx + AHEAD);
      multiply(dotIdx);
    }
  };
  // [/snippet compute]

  // [snippet pipelined]
  int buffer = 0;
  load(0);  // prologue: the first k-tile
  store(buffer);
  __syncthreads();  // threads read what others stored
  if constexpr (AHEAD == 1) load_operands(buffer, 0);
  for (int bkIdx = BK; bkIdx < K; bkIdx += BK) {
    load(bkIdx);      // prefetch the next k-tile
    compute(buffer);  // hides the latency of its loads
    buffer = (buffer + 1) % BUFFERS;
    store(buffer);
    // all have stored this buffer before it is read; also: all have read the other one, the
    // operands of its last k-step included, before the next iteration overwrites it
    __syncthreads();
    if constexpr (AHEAD == 1) {
      load_operands(buffer, 0);  // of the next k-tile
      multiply(BK - 1);          // the last k-step of this one
    }
  }
  compute(buffer);  // the last k-tile
  if constexpr (AHEAD == 1) {
    multiply(BK - 1);
  }
  // [/snippet pipelined]

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
        const float* sum = &acc[wm * TM + i][wn * TN];
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
constexpr auto launch_default = launch_pipelined<Serpentine>;
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("subtiles", Subtiles{});
  f("rows", Rows{});
  f("serpentine", Serpentine{});
  f("prefetched", Prefetched{});
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

// How many FFMA of a k-step share no operand with the one before.
template <class C>
int unshared() {
  int count = 1;  // the first
  for (int n = 1; n < C::ACCUMULATORS; ++n) {
    const auto [i, j] = product_of<C>(n);
    const auto [i_before, j_before] = product_of<C>(n - 1);
    count += i != i_before && j != j_before;
  }
  return count;
}

void predict(tile::Facts& facts) {
  for_each_config([&]<class C>(const char* name, C) {
    facts.predicted(std::string(name) + ".unshared", unshared<C>());
  });
}

}  // namespace

TILE_CHAPTER(.number = 13, .title = "Register double buffering and serpentine order",
             .kernels = kernels(), .counted = {256, 256, 256},
             .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Serpentine::BM},
                           {"BN", Serpentine::BN},
                           {"BK", Serpentine::BK},
                           {"ROWS", Serpentine::ROWS},
                           {"COLS", Serpentine::COLS},
                           {"ACCUMULATORS", Serpentine::ACCUMULATORS},
                           {"NUM_THREADS", Serpentine::NUM_THREADS}},
             .predict = predict,
             // one tile of 128 x 128 for each of 132 SMs, and two
             .shapes = {{1536, 1408, 4096}, {3072, 1408, 4096}})

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("one to three k-tiles, whole and residue" * doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 3})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * kernel.tile.BK + more;
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel.launch,
                                  {{128, 128, K, 1, 0, 0, tile::Fill::integers},
                                   {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

TEST_CASE("the result equals that of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{256, 128, 80}, {70, 90, 101}});
}

TEST_CASE("the threads compute every element of the block tile and load every element once") {
  using C = Serpentine;
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
          const auto [row, col] = thread_tile_of<C>(thread);
          for (int i = 0; i < C::ROWS; ++i)
            for (int j = 0; j < C::COLS; ++j)
              take(warpRow + i / C::TM * C::WSUBM + row + i % C::TM,
                   warpCol + j / C::TN * C::WSUBN + col + j % C::TN);
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
}

TEST_CASE("every kernel computes each product of a k-step once, in the order of its name") {
  for_each_config([]<class C>(const std::string name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::ROWS, C::COLS, 1, [](int, auto take) {
            for (int n = 0; n < C::ACCUMULATORS; ++n)
              take(product_of<C>(n).row, product_of<C>(n).col);
          }) == "");
    CHECK((C::AHEAD == 1) == (name == "prefetched"));
    CHECK((C::ORDER == Order::subtiles) == (name == "subtiles"));
    CHECK((C::ORDER == Order::rows) == (name == "rows"));
  });
}

TEST_CASE(
    "in serpentine order every FFMA but the first shares an operand with the one before") {
  CHECK(unshared<Serpentine>() == 1);
  CHECK(unshared<Prefetched>() == 1);
  CHECK(unshared<Rows>() == Rows::ROWS);
  CHECK(unshared<Subtiles>() == Subtiles::ROWS * Subtiles::WNITER);
}

TEST_CASE(
    "the swizzle permutes each row of As and moves the four elements of a float4 together") {
  using C = Serpentine;
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
}

#if TILE_ON_MODEL
TEST_CASE(
    "between barriers a block reads one k-tile; prefetched operands before it loads the next" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const int tiles = 3;
    const simt::Counts run = tile::traced_run(
        launch_pipelined<C>, {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers},
        {.keep_touches = true});
    REQUIRE(run.barriers == tiles);
    // of the intervals between barriers: slots of As and Bs, stored and read; and how many
    // operands, as float4s, thread 0 reads before it loads from global memory
    std::vector<std::set<std::int64_t>> stored(tiles + 1), read(tiles + 1);
    std::vector<int> first(tiles + 1);
    std::set<int> loading;
    for (const simt::Touch& t : run.touches) {
      const int i = t.interval;
      const std::int64_t slot = 2 * (t.byte_offset / 16) + (t.array == "Bs");
      if (t.array != "As" && t.array != "Bs") {
        if (t.thread == 0) loading.insert(t.interval);
      } else if (t.op == simt::Op::store) {
        stored[i].insert(slot);
      } else {
        read[i].insert(slot);
        first[i] += t.thread == 0 && !loading.contains(t.interval);
      }
    }
    for (int i = 1; i <= tiles; ++i) {
      CAPTURE(i);
      CHECK(read[i] == stored[i - 1]);  // all of the k-tile and nothing else
      for (const std::int64_t slot : stored[i]) REQUIRE(!read[i].contains(slot));
      const int k_steps = i == tiles ? C::BK : C::AHEAD;  // at last there is none to load
      CHECK(first[i] == k_steps * (C::ROWS + C::COLS) / 4);
    }
  });
}

TEST_CASE("no access to As or Bs has a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const auto run = tile::count(kernel.launch, {256, 128, 32});
    for (const char* tag : {"store-As", "load-As", "load-Bs"})
      CHECK(tile::bank_conflict(run, tag) == "");
  }
}
#endif
