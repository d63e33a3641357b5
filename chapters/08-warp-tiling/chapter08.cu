// Tile by Tile, chapter 08: warp tiling.
//
// Question: a warp executes as one, and shares what it loads from shared memory. Does it
// matter which results its 32 threads own? Idea: between the block's tile and the thread's
// square comes a tile of the warp. The squarer it is, the fewer different words a warp reads
// for the same multiply-adds.
// Previous chapters: 06, whose copies this kernel has, and 07, whose way to choose a
// configuration. New is the warp's tile.
//
// Build, run, verify:   ./tile run 08      ctest --preset model -R chapter08

#include "common/report/chapter.hpp"

namespace {

// [snippet config]
template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int BLOCKS_>                // blocks an SM must hold: a limit on registers
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  // rows of a piece: 32 threads of TM x TN results cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // results per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
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
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BLOCKS >= 1 && BLOCKS * NUM_THREADS <= 2048,
                "an SM holds at most 2048 threads: a bound beyond says nothing");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};

using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;  // the chapter's kernel
// the same, with as many registers as the compiler likes
using Unbounded = Config<128, 128, 16, 64, 64, 2, 8, 4, 1>;
// half the results per thread, one piece
using Tall = Config<64, 128, 16, 64, 32, 1, 8, 8, 4>;
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
// Where a thread's TM x TN results begin in a piece of the warp's tile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
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
// [/snippet maps]

// VECTORISED: tiles are whole and addresses divisible by 16.
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
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece
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
    // a thread reads what others wrote: nobody may start before all have stored
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
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
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
void launch_warp_tiled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_warp_tiled<Config, true>
                                        : sgemm_warp_tiled<Config, false>,
               grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B,
               g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// Blocks that fill an H200's 132 SMs a whole number of times: three of `large` on each SM
// three times, or two of `unbounded` four times.
const std::vector<tile::Case> whole_waves{{33 * Large::BM, 36 * Large::BN, 4096},
                                          {33 * Unbounded::BM, 32 * Unbounded::BN, 4096}};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const double cycles = tile::h200.sms * tile::h200.clock_ghz * 1e9;  // one wavefront each
  const auto describe = [&]<class C>(const std::string& name, C, double wavefronts_As,
                                     double wavefronts_Bs) {
    const double loads = double(C::WMITER * C::TM + C::WNITER * C::TN) / 4;
    const double wavefronts_per_fma = (wavefronts_As + wavefronts_Bs) / C::ACCUMULATORS;
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN, 4 * loads / C::ACCUMULATORS, 4, 4);
    facts.predicted(name + ".lds_per_step", loads);
    facts.predicted(name + ".ffma_per_lds", C::ACCUMULATORS / loads);
    facts.predicted(name + ".wmiter", C::WMITER);
    facts.predicted(name + ".wsubm", C::WSUBM);
    facts.predicted(name + ".wsubn", C::WSUBN);
    facts.predicted(name + ".results", C::ACCUMULATORS);
    facts.predicted(name + ".threads", C::NUM_THREADS);
    facts.predicted(name + ".words_per_step", C::WM + C::WN);
    facts.predicted(name + ".wavefronts_As", wavefronts_As);
    facts.predicted(name + ".wavefronts_Bs", wavefronts_Bs);
    facts.predicted(name + ".wavefronts_per_step", wavefronts_As + wavefronts_Bs);
    facts.predicted(name + ".read_wavefronts_per_fma", wavefronts_per_fma, 3);
    facts.predicted(name + ".ceiling.tflops", cycles * 64 / wavefronts_per_fma * 1e-12);
  };
  describe("large", Large{}, 8, 8);
  describe("unbounded", Unbounded{}, 8, 8);
  describe("tall", Tall{}, 4, 8);
  // One 16-byte load of a warp, whose lanes begin at the given words of a row of As or Bs.
  const auto one_load = [&](const std::string& name, auto first_word) {
    simt::WarpAccess access{.active = ~0u, .size = 16};
    std::vector<int> words;
    for (int lane = 0; lane < 32; ++lane) {
      access.address[std::size_t(lane)] = 4 * std::uint64_t(first_word(lane));
      for (int i = 0; i < 4; ++i) words.push_back(first_word(lane) + i);
    }
    std::sort(words.begin(), words.end());
    facts.predicted(name + ".words",
                    double(std::unique(words.begin(), words.end()) - words.begin()));
    facts.predicted(name + ".wavefronts", simt::shared_wavefronts(access, true));
  };
  const auto loads_of = [&]<class C>(const std::string& name, C) {
    one_load(name + ".load_As", [](int lane) { return thread_tile_of<C>(lane).row; });
    one_load(name + ".load_Bs", [](int lane) { return thread_tile_of<C>(lane).col; });
  };
  // Chapter 06: a warp is two rows of 16 threads, 8 x 8 results each.
  one_load("before.load_As", [](int lane) { return lane / 16 * 8; });
  one_load("before.load_Bs", [](int lane) { return lane % 16 * 8; });
  loads_of("large", Large{});
  loads_of("tall", Tall{});
  // chapter 06: a warp is 2 x 16 threads of 8 x 8 results
  facts.predicted("before.words_per_step", 2 * 8 + 16 * 8);
  facts.predicted("before.wavefronts_per_step", 20);
  // The issue slots of one round of Large, for one warp: what its source asks for, before any
  // index arithmetic.
  const double ffma = Large::BK * Large::ACCUMULATORS;
  const double lds = Large::BK * (Large::WMITER * Large::TM + Large::WNITER * Large::TN) / 4.0;
  // copied by each thread
  const double words_A = double(Large::BM) * Large::BK / Large::NUM_THREADS;
  const double words_B = double(Large::BN) * Large::BK / Large::NUM_THREADS;
  const double ldg = (words_A + words_B) / 4, sts = words_A + words_B / 4;
  const double all = ffma + lds + ldg + sts + 2;
  facts.predicted("issue.ffma", ffma);
  facts.predicted("issue.lds", lds);
  facts.predicted("issue.ldg", ldg);
  facts.predicted("issue.sts", sts);
  facts.predicted("issue.all", all);
  facts.predicted("issue.ffma_percent", 100 * ffma / all, 1);
  facts.predicted("issue.ceiling.tflops", tile::h200.peak_tflops() * ffma / all);
  // The arithmetic of occupancy that goes with 165 registers, on 65,536 of them.
  const auto ladder = tile::occupancy(tile::rtx_a6000, 128, 165, 16 * 1024);
  facts.predicted("registers165.threads", std::floor(65536.0 / 165));
  facts.predicted("registers165.warps", 65536 / tile::registers_per_warp(165));
  facts.predicted("registers165.blocks", ladder.blocks);
  facts.predicted("registers165.h200_percent",
                  100 * tile::occupancy(tile::h200, 128, 165, 16 * 1024).fraction, 1);
  facts.predicted("registers165.a6000_percent", 100 * ladder.fraction, 1);
  // The most registers a thread may have if an SM is to hold that many blocks.
  const auto most_registers = [](const tile::GpuSpec& gpu, int blocks) {
    int registers = 255;
    while (tile::occupancy(gpu, Large::NUM_THREADS, registers, 0).blocks < blocks) --registers;
    return registers;
  };
  facts.predicted("three_blocks.registers", most_registers(tile::h200, 3));
  facts.predicted("three_blocks.a6000.registers", most_registers(tile::rtx_a6000, 3));
  facts.predicted("two_blocks.a6000.registers", most_registers(tile::rtx_a6000, 2));
  // How evenly the blocks of a problem fall on the SMs.
  const auto shares = [&](const std::string& name, const tile::GpuSpec& gpu, double blocks) {
    facts.predicted("shares." + name + ".blocks", blocks);
    facts.predicted("shares." + name + ".mean", blocks / gpu.sms, 2);
    facts.predicted("shares." + name + ".fullest", std::ceil(blocks / gpu.sms));
    facts.predicted("shares." + name + ".percent",
                    100 * blocks / gpu.sms / std::ceil(blocks / gpu.sms), 1);
  };
  for (const int size : {4096, 8192}) {
    const std::string name = std::to_string(size);
    shares(name, tile::h200,
           tile::ceil_div(size, Large::BM) * tile::ceil_div(size, Large::BN));
    shares("tall." + name, tile::h200,
           tile::ceil_div(size, Tall::BM) * tile::ceil_div(size, Tall::BN));
    shares("a6000." + name, tile::rtx_a6000,
           tile::ceil_div(size, Large::BM) * tile::ceil_div(size, Large::BN));
    shares("cublas." + name, tile::h200,
           tile::ceil_div(size, 256) * tile::ceil_div(size, 128));
  }
  for (const tile::Case& c : whole_waves) {
    const std::string name = std::to_string(c.M) + "x" + std::to_string(c.N);
    shares(name, tile::h200, tile::ceil_div(c.M, Large::BM) * tile::ceil_div(c.N, Large::BN));
    shares("tall." + name, tile::h200,
           tile::ceil_div(c.M, Tall::BM) * tile::ceil_div(c.N, Tall::BN));
    // Tiles of 256 x 128, whichever way they lie.
    shares("cublas." + name + ".down", tile::h200,
           tile::ceil_div(c.M, 256) * tile::ceil_div(c.N, 128));
    shares("cublas." + name + ".across", tile::h200,
           tile::ceil_div(c.M, 128) * tile::ceil_div(c.N, 256));
  }
  // The same round where the FFMA pipe takes a warp in two cycles, as 64 lanes an SM do: slots
  // left for everything else.
  facts.predicted("issue.64_lanes.slots", 2 * ffma);
  facts.predicted("issue.64_lanes.free", 2 * ffma - all);
  facts.predicted("worked.warp", 101 / 32);
  facts.predicted("worked.lane", 101 % 32);
  facts.predicted("worked.warpRow", warp_tile_of<Large>(101).row);
  facts.predicted("worked.warpCol", warp_tile_of<Large>(101).col);
  facts.predicted("worked.row", thread_tile_of<Large>(101).row);
  facts.predicted("worked.col", thread_tile_of<Large>(101).col);
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_warp_tiled<Config>,
          reinterpret_cast<const void*>(sgemm_warp_tiled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 8, .title = "Warp tiling",
             .kernels = {kernel<Large>("large"), kernel<Unbounded>("unbounded"),
                         kernel<Tall>("tall")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .shapes = whole_waves)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
}

template <class C>
void check_maps(C) {
  std::vector<int> results(C::BM * C::BN), copiesA(C::BM * C::BK), copiesB(C::BK * C::BN);
  for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    const auto [row, col] = thread_tile_of<C>(thread);
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int wn = 0; wn < C::WNITER; ++wn)
        for (int i = 0; i < C::TM; ++i)
          for (int j = 0; j < C::TN; ++j)
            ++results.at(std::size_t((warpRow + wm * C::WSUBM + row + i) * C::BN + warpCol +
                                     wn * C::WSUBN + col + j));
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < C::BM; down += C::ROWS_A)
        ++copiesA.at(std::size_t((load_A_of<C>(thread).col + i) * C::BM +
                                 load_A_of<C>(thread).row + down));
      for (int down = 0; down < C::BK; down += C::ROWS_B)
        ++copiesB.at(std::size_t((load_B_of<C>(thread).row + down) * C::BN +
                                 load_B_of<C>(thread).col + i));
    }
  }
  CHECK(results == std::vector<int>(results.size(), 1));
  CHECK(copiesA == std::vector<int>(copiesA.size(), 1));
  CHECK(copiesB == std::vector<int>(copiesB.size(), 1));
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  check_maps(Large{});
  check_maps(Tall{});
}

TEST_CASE("32 threads of 8x8 results cover half of a 64x64 warp tile") {
  using Halves = Config<128, 128, 16, 64, 64, 2, 8, 8, 1>;
  check_maps(Halves{});
  CHECK(Halves::WSUBM * Halves::WSUBN * 2 == Halves::WM * Halves::WN);
  CHECK(Halves::WMITER * Halves::WNITER == 2);
  CHECK(Halves::WSUBN == 32);
  CHECK(Large::WMITER * Large::WNITER == 4);  // 8x4 results cover a quarter
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
  CHECK(facts.value("shares.tall.4224x4608.mean") == 18);
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
  // Lanes of a row of threads share their words of As: quarter-warps merge.
  check("before.load_As", 8, 2);
  check("large.load_As", 16, 2);
  check("tall.load_As", 32, 2);
  // Neighbours want different words of Bs: four quarter-warps, and in chapter 06 two words in
  // a bank.
  check("tall.load_Bs", 16, 4);
  check("large.load_Bs", 32, 4);
  check("before.load_Bs", 64, 8);
  CHECK(facts.value("large.wavefronts_As") ==
        Large::WMITER * Large::TM / 4 * facts.value("large.load_As.wavefronts"));
  CHECK(facts.value("large.wavefronts_Bs") ==
        Large::WNITER * Large::TN / 4 * facts.value("large.load_Bs.wavefronts"));
  CHECK(facts.value("tall.wavefronts_As") ==
        Tall::WMITER * Tall::TM / 4 * facts.value("tall.load_As.wavefronts"));
  CHECK(facts.value("tall.wavefronts_Bs") ==
        Tall::WNITER * Tall::TN / 4 * facts.value("tall.load_Bs.wavefronts"));
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
