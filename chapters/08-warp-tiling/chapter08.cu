// Tile by Tile, chapter 08: warp tiling.
//
// Question: the lanes of a warp execute together and load from shared memory together. Does it
// matter which elements of C they compute? Idea: put a warp tile between the block tile and
// the thread tile. The squarer it is, the fewer distinct words a warp loads for the same FMAs.
// Previous chapter: 07, autotuning. The warp tile and a bound on registers are new.
//
// Build, run, verify:   ./tile run 08      ctest --preset model -R chapter08
#include <set>

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a k-tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // warp subtiles side by side
          int TM_, int TN_,           // rows and columns of C per thread and subtile
          int BLOCKS_>                // blocks that must fit on an SM: a bound on registers
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a subtile
  // rows of a subtile: 32 threads of TM x TN cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;          // subtiles below each other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the tile of A that all threads load with one float4 each
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // and of the tile of B
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN must cover a subtile, and WMITER x WNITER subtiles the warp tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BLOCKS >= 1 && BLOCKS * NUM_THREADS <= 2048,
                "an SM holds at most 2048 threads: a larger bound would have no effect");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};

using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;  // the chapter's kernel
// the same without a bound on registers
using Unbounded = Config<128, 128, 16, 64, 64, 2, 8, 4, 1>;
// half the accumulators, one subtile
using Tall = Config<64, 128, 16, 64, 32, 1, 8, 8, 4>;
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// The template parameter C of these maps is a configuration; in comments, C is the matrix.

// Where a thread's warp tile begins in the block's tile. A warp is 32 consecutive threads.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN elements of C begin in a subtile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
}
// The first element of a thread's first float4 in the tile of A, and in the tile of B.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// [/snippet maps]

// [snippet kernel]
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
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN accumulators per subtile
  // [snippet main-loop]
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
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
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

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from = &As[dotIdx * BM + warpRow + wm * WSUBM + threadRow + i];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
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
    // [/snippet multiply]
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }
  // [/snippet main-loop]

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
// [/snippet kernel]

// [snippet launch]
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
constexpr auto launch_default = launch_warp_tiled<Large>;
// [/snippet launch]

// Problems whose blocks fill an H200's 132 SMs a whole number of times: three of `large` per
// SM three times, or two of `unbounded` four times.
const std::vector<tile::Case> whole_waves{{33 * Large::BM, 36 * Large::BN, 4096},
                                          {33 * Unbounded::BM, 32 * Unbounded::BN, 4096}};

// Predicts what one 16-byte load of a warp costs, the limits on registers, and how blocks are
// distributed over the SMs.
void predict(tile::Facts& facts) {
  // `first_word(lane)`: where a lane's float4 begins in a row of As or Bs
  const auto one_load = [&](const std::string& name, auto first_word) {
    simt::WarpAccess access{.active = ~0u, .size = 16};
    std::set<int> words;
    for (int lane = 0; lane < 32; ++lane) {
      access.address[std::size_t(lane)] = 4 * std::uint64_t(first_word(lane));
      for (int i = 0; i < 4; ++i) words.insert(first_word(lane) + i);
    }
    facts.predicted(name + ".words", double(words.size()));
    facts.predicted(name + ".wavefronts", simt::shared_wavefronts(access, true));
  };
  // Chapter 06: a warp is two rows of 16 threads, each with 8 x 8 elements of C.
  one_load("before.load_As", [](int lane) { return lane / 16 * 8; });
  one_load("before.load_Bs", [](int lane) { return lane % 16 * 8; });
  one_load("large.load_As", [](int lane) { return thread_tile_of<Large>(lane).row; });
  one_load("large.load_Bs", [](int lane) { return thread_tile_of<Large>(lane).col; });
  one_load("tall.load_As", [](int lane) { return thread_tile_of<Tall>(lane).row; });
  one_load("tall.load_Bs", [](int lane) { return thread_tile_of<Tall>(lane).col; });
  // The most registers per thread with which that many blocks fit on an SM.
  const auto most_registers = [](const tile::GpuSpec& gpu, int blocks) {
    int registers = 255;
    while (tile::occupancy(gpu, Large::NUM_THREADS, registers, 0).blocks < blocks) --registers;
    return registers;
  };
  facts.predicted("three_blocks.registers", most_registers(tile::h200, 3));
  facts.predicted("three_blocks.a6000.registers", most_registers(tile::rtx_a6000, 3));
  facts.predicted("two_blocks.a6000.registers", most_registers(tile::rtx_a6000, 2));
  const auto of_165 = tile::occupancy(tile::h200, Large::NUM_THREADS, 165, 16 * 1024);
  facts.predicted("registers165.h200_percent", 100 * of_165.fraction, 1);
  // How evenly the blocks of a problem can be distributed over the SMs.
  const auto shares = [&](const std::string& name, const tile::GpuSpec& gpu, int M, int N,
                          int BM, int BN) {
    const double blocks = tile::ceil_div(M, BM) * tile::ceil_div(N, BN);
    facts.predicted("shares." + name + ".blocks", blocks);
    facts.predicted("shares." + name + ".mean", blocks / gpu.sms, 2);
    facts.predicted("shares." + name + ".fullest", std::ceil(blocks / gpu.sms));
    facts.predicted("shares." + name + ".percent",
                    100 * blocks / gpu.sms / std::ceil(blocks / gpu.sms), 1);
  };
  for (const int n : {4096, 8192}) {
    const std::string name = std::to_string(n);
    shares(name, tile::h200, n, n, Large::BM, Large::BN);
    shares("a6000." + name, tile::rtx_a6000, n, n, Large::BM, Large::BN);
    shares("cublas." + name, tile::h200, n, n, 256, 128);
  }
  for (const tile::Case& c : whole_waves) {
    const std::string name = std::to_string(c.M) + "x" + std::to_string(c.N);
    shares(name, tile::h200, c.M, c.N, Large::BM, Large::BN);
    shares("cublas." + name + ".down", tile::h200, c.M, c.N, 256, 128);
    shares("cublas." + name + ".across", tile::h200, c.M, c.N, 128, 256);
  }
  facts.predicted("worked.warpRow", warp_tile_of<Large>(101).row);
  facts.predicted("worked.warpCol", warp_tile_of<Large>(101).col);
  facts.predicted("worked.row", thread_tile_of<Large>(101).row);
  facts.predicted("worked.col", thread_tile_of<Large>(101).col);
}

template <class Config>
tile::Kernel kernel(const char* name, tile::Launcher launch = launch_warp_tiled<Config>) {
  return {name,
          launch,
          reinterpret_cast<const void*>(sgemm_warp_tiled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 8, .title = "Warp tiling",
             .kernels = {kernel<Large>("large", launch_default),
                         kernel<Unbounded>("unbounded"), kernel<Tall>("tall")},
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Large::BM},
                           {"BN", Large::BN},
                           {"BK", Large::BK},
                           {"WM", Large::WM},
                           {"WN", Large::WN},
                           {"WMITER", Large::WMITER},
                           {"WNITER", Large::WNITER},
                           {"WSUBM", Large::WSUBM},
                           {"WSUBN", Large::WSUBN},
                           {"TM", Large::TM},
                           {"TN", Large::TN},
                           {"ACCUMULATORS", Large::ACCUMULATORS},
                           {"NUM_THREADS", Large::NUM_THREADS},
                           {"tall.BM", Tall::BM},
                           {"tall.BN", Tall::BN},
                           {"tall.WM", Tall::WM},
                           {"tall.WN", Tall::WN},
                           {"tall.WSUBN", Tall::WSUBN},
                           {"tall.TM", Tall::TM},
                           {"tall.TN", Tall::TN},
                           {"tall.ACCUMULATORS", Tall::ACCUMULATORS}},
             .predict = predict, .shapes = whole_waves)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
}

template <class C>
void check_maps(C) {
  const auto results = [](int thread, auto take) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    const auto [threadRow, threadCol] = thread_tile_of<C>(thread);
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int wn = 0; wn < C::WNITER; ++wn)
        for (int i = 0; i < C::TM; ++i)
          for (int j = 0; j < C::TN; ++j)
            take(warpRow + wm * C::WSUBM + threadRow + i,
                 warpCol + wn * C::WSUBN + threadCol + j);
  };
  const auto loads = [](int rows, int rows_at_once, auto load_of) {
    return [=](int thread, auto take) {
      for (int down = 0; down < rows; down += rows_at_once)
        for (int i = 0; i < 4; ++i) take(load_of(thread).row + down, load_of(thread).col + i);
    };
  };
  const auto covered = [](int rows, int cols, auto elements_of) {
    return tile::covers_once(rows, cols, C::NUM_THREADS, elements_of);
  };
  CHECK(covered(C::BM, C::BN, results) == "");
  CHECK(covered(C::BM, C::BK, loads(C::BM, C::ROWS_A, load_A_of<C>)) == "");
  CHECK(covered(C::BK, C::BN, loads(C::BK, C::ROWS_B, load_B_of<C>)) == "");
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  check_maps(Large{});
  check_maps(Tall{});
}

TEST_CASE("32 threads of 8x8 accumulators cover half of a 64x64 warp tile") {
  using Halves = Config<128, 128, 16, 64, 64, 2, 8, 8, 1>;
  check_maps(Halves{});
  CHECK(Halves::WSUBM * Halves::WSUBN * 2 == Halves::WM * Halves::WN);
  CHECK(Halves::WMITER * Halves::WNITER == 2);
  CHECK(Halves::WSUBN == 32);
  CHECK(Large::WMITER * Large::WNITER == 4);  // 8x4 cover a quarter
  CHECK(Tall::WMITER * Tall::WNITER == 1);
}

TEST_CASE("165 registers allow 397 threads, 12 warps") {
  CHECK(65536 / 165 == 397);
  CHECK(397 / 32 == 12);
  CHECK(tile::occupancy(tile::h200, 128, 165, 16 * 1024).blocks * 4 == 12);
  CHECK(tile::occupancy(tile::h200, 128, 165, 16 * 1024).fraction == doctest::Approx(0.1875));
}

TEST_CASE(
    "three blocks of 128 threads fit with up to 168 registers, on an H200 and on an RTX A6000") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("three_blocks.registers") == 168);
  CHECK(facts.value("three_blocks.a6000.registers") == 168);
  for (const tile::GpuSpec& gpu : {tile::h200, tile::rtx_a6000}) {
    CHECK(tile::occupancy(gpu, 128, 168, 0).blocks == 3);
    CHECK(tile::occupancy(gpu, 128, 169, 0).blocks == 2);
  }
}

TEST_CASE(
    "blocks fall unevenly on 132 SMs at 4096, and evenly at the two problems of whole waves") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("shares.4096.blocks") == 1024);
  CHECK(facts.value("shares.4096.fullest") == 8);
  CHECK(facts.value("shares.4096.percent") == doctest::Approx(100.0 * 1024 / (8 * 132)));
  CHECK(facts.value("shares.4224x4608.mean") == 9);
  CHECK(facts.value("shares.4224x4096.mean") == 8);
  CHECK(facts.value("shares.cublas.4224x4096.across.mean") == 4);
  CHECK(facts.value("shares.cublas.4224x4096.down.fullest") == 5);
}

TEST_CASE(
    "what a 16-byte load costs does not follow from how many different words it brings") {
  tile::Facts facts;
  predict(facts);
  const auto check = [&](const std::string& load, double words, double wavefronts) {
    CAPTURE(load);
    CHECK(facts.value(load + ".words") == words);
    CHECK(facts.value(load + ".wavefronts") == wavefronts);
  };
  // The lanes of a row of threads load the same words of As: quarter-warps merge.
  check("before.load_As", 8, 2);
  check("large.load_As", 16, 2);
  check("tall.load_As", 32, 2);
  // Neighbouring lanes load different words of Bs: nothing merges, and in chapter 06 a bank
  // has two words to deliver.
  check("tall.load_Bs", 16, 4);
  check("large.load_Bs", 32, 4);
  check("before.load_Bs", 64, 8);
}

#if TILE_ON_MODEL
TEST_CASE("a squarer warp takes fewer wavefronts for the same multiply-adds" *
          doctest::test_suite("model")) {
  const tile::Case block{128, 128, 128};
  const std::uint64_t fmas = 128u * 128 * 128 / 32;  // warp-wide
  const auto large = tile::count(launch_warp_tiled<Large>, block);
  CHECK((tile::site(large, "load-As").requests + tile::site(large, "load-Bs").requests) *
            128 ==
        6 * fmas);
  CHECK(tile::site(large, "load-As").wavefronts * 128 == 8 * fmas);
  CHECK(tile::site(large, "load-Bs").wavefronts * 128 == 8 * fmas);
  const auto tall = tile::count(launch_warp_tiled<Tall>, block);
  CHECK((tile::site(tall, "load-As").requests + tile::site(tall, "load-Bs").requests) * 64 ==
        4 * fmas);
  CHECK(tile::site(tall, "load-As").wavefronts * 64 == 4 * fmas);
  CHECK(tile::site(tall, "load-Bs").wavefronts * 64 == 8 * fmas);
}
#endif
