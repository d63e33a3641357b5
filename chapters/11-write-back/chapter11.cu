// Tile by Tile, chapter 11: coalesced write-back.
//
// Question: a thread owns eight neighbouring columns of C and stores them as two float4s. What
// does such a store of a warp write? Half of each of 32 sectors. Idea: give the thread two
// groups of four columns, half the warp tile's width apart, so that each store of the warp
// writes whole sectors.
// Previous chapter: 10. The kernel is chapter 08's, without a swizzle, and its epilogue is new.
//
// Build, run, verify:   ./tile run 11      ctest --preset model -R chapter11
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a k-tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // warp subtiles side by side
          int TM_, int TN_,           // rows and columns of C per thread and warp subtile
          int BLOCKS_>                // blocks an SM must hold: a limit on registers
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a warp subtile
  // rows of a warp subtile: 32 threads with TM x TN accumulators each cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;          // warp subtiles one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // per thread
  // float4s of a thread in a row of C: as many stores
  static constexpr int GROUPS = WNITER * TN / 4;
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
};

using Adjacent = Config<128, 128, 16, 32, 64, 1, 8, 8, 2>;  // eight columns side by side
using Split = Config<128, 128, 16, 32, 64, 2, 8, 4, 2>;  // four, and four more 32 columns away
using Tall = Config<64, 128, 16, 64, 32, 1, 8, 8, 4>;    // chapter 08's: eight side by side
using TallSplit = Config<64, 128, 16, 64, 32, 2, 8, 4, 4>;  // four and four, 16 columns apart
// [/snippet config]

// [snippet maps]
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
// [/snippet maps]

// [snippet column]
// The column, in the warp tile, of a lane's group-th float4 of a row of C. The lane reads
// these columns from Bs and writes them to C.
template <class C>
constexpr __host__ __device__ int column_of(int lane, int group) {
  return group / (C::TN / 4) * C::WSUBN + thread_tile_of<C>(lane).col +
         group % (C::TN / 4) * 4;
}
// [/snippet column]

// VECTORISED: all tiles are whole, and every float4 is aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_written_back(int M, int N, int K, float alpha,  //
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
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }

  // [snippet epilogue]
  const int laneId = threadIdx.x % 32;
  // Unrolled: registers cannot be indexed at run time, and accumulators would be spilled.
#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int row = blockRow + warpRow + wm * WSUBM + threadRow + i;
      float parts[Config::GROUPS][4];
#pragma unroll
      for (int group = 0; group < Config::GROUPS; ++group)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          parts[group][j] = alpha * acc[wm][i][group / (TN / 4)][group % (TN / 4) * 4 + j];
      float* C_row = &C[std::size_t(row) * ldc];
      int cols[Config::GROUPS];
#pragma unroll
      for (int group = 0; group < Config::GROUPS; ++group)
        cols[group] = blockCol + warpCol + column_of<Config>(laneId, group);
      if constexpr (VECTORISED) {
        // All loads first: the compiler cannot rule out that the first store writes what the
        // second load reads, and would keep them in this order.
        if (beta != 0.0f) {
#pragma unroll
          for (int group = 0; group < Config::GROUPS; ++group) {
            const float4 old =  //@ load-C
                *reinterpret_cast<const float4*>(&C_row[cols[group]]);
            float(&sum)[4] = parts[group];
            sum[0] += beta * old.x, sum[1] += beta * old.y, sum[2] += beta * old.z,
                sum[3] += beta * old.w;
          }
        }
#pragma unroll
        for (int group = 0; group < Config::GROUPS; ++group) {
          const float(&sum)[4] = parts[group];
          const float4 four{sum[0], sum[1], sum[2], sum[3]};
          *reinterpret_cast<float4*>(&C_row[cols[group]]) = four;  //@ store-C
        }
      } else {
#pragma unroll
        for (int group = 0; group < Config::GROUPS; ++group)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int col = cols[group] + j;
            if (row >= M || col >= N) continue;
            float sum = parts[group][j];
            if (beta != 0.0f) sum += beta * C_row[col];  //@ load-C-words
            C_row[col] = sum;                            //@ store-C-words
          }
      }
    }
  }
  // [/snippet epilogue]
}

// [snippet launch]
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
dim3 grid_of(const tile::Gemm& g) {
  return dim3(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
}

// With K = 0 the kernel is its epilogue.
template <class Config>
void start(const tile::Gemm& g) {
  tile::launch(can_vectorise<Config>(g) ? sgemm_written_back<Config, true>
                                        : sgemm_written_back<Config, false>,
               grid_of<Config>(g), dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A,
               g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}

template <class Config>
void launch_written_back(const tile::Gemm& g) {
  tile::require_valid(g);
  start<Config>(g);
}

constexpr auto launch_default = launch_written_back<Split>;
// [/snippet launch]

// Blocks that do nothing. Unused shared memory limits them to as many per SM as the kernel's.
template <class Config>
constexpr std::size_t CROWDING = std::size_t(tile::h200.shared_bytes / Config::BLOCKS -
                                             tile::h200.reserved_shared);
template <class Config>
__global__ void __launch_bounds__(Config::NUM_THREADS) do_nothing() {}
template <class Config>
void start_empty(const tile::Gemm& g) {
  tile::launch(do_nothing<Config>, grid_of<Config>(g), dim3(Config::NUM_THREADS),
               CROWDING<Config>);
}

// A `size` x `size` matrix C, and a K so small that the epilogue counts. `launches` launches
// in a row are timed as one: in a single one, the overhead of launching could dominate.
struct Problem {
  std::string key, label;
  int size, K, launches;
};
const std::vector<Problem> problems{{"l2", "2816 x 2816 x 0, C stays in L2", 2816, 0, 20},
                                    {"dram", "8192 x 8192 x 0", 8192, 0, 1},
                                    {"k64", "8192 x 8192 x 64", 8192, 64, 1}};

using Variant = std::pair<std::string, tile::Launcher>;
// The kernels that are timed on a problem, and launches of as many blocks that write nothing.
std::vector<Variant> variants_for(const Problem& problem, int beta) {
  std::vector<Variant> all{{"adjacent", start<Adjacent>},
                           {"split", start<Split>},
                           {"tall", start<Tall>},
                           {"tall_split", start<TallSplit>}};
  if (problem.K == 0 && beta == 0) {
    all.push_back({"empty", start_empty<Split>});
    all.push_back({"empty_tall", start_empty<TallSplit>});
  }
  return all;
}

std::string rate_name(const Problem& problem, int beta, const Variant& variant) {
  return problem.key + ".beta" + std::to_string(beta) + "." + variant.first;
}

std::vector<tile::Chapter::Rate> rates() {
  std::vector<tile::Chapter::Rate> rates{{"lowest_mhz", "lowest SM clock"}};
  for (const Problem& p : problems)
    for (const int beta : {0, 1})
      for (const Variant& v : variants_for(p, beta))
        rates.push_back({rate_name(p, beta, v), "microseconds of " + v.first + ", " + p.label +
                                                    ", beta " + std::to_string(beta)});
  return rates;
}

#if TILE_ON_GPU
void measure(tile::RateSink& sink) {
  for (const Problem& p : problems) {
    const std::size_t size = std::size_t(p.size);
    float* matrices[3];  // A, B and C
    for (float*& matrix : matrices) {
      const std::vector<float> values = tile::make_values(size * size, tile::Fill::random, 11);
      tile::cuda_check(cudaMalloc(&matrix, values.size() * sizeof(float)), "cudaMalloc");
      tile::cuda_check(cudaMemcpy(matrix, values.data(), values.size() * sizeof(float),
                                  cudaMemcpyHostToDevice),
                       "fill");
    }
    for (const int beta : {0, 1}) {
      // With alpha = 0, C does not grow from launch to launch, and the kernel does the same
      // work.
      const tile::Gemm g{p.size,      p.size, p.K,         0,           matrices[0], p.K,
                         matrices[1], p.size, float(beta), matrices[2], p.size};
      for (const Variant& v : variants_for(p, beta)) {
        const auto launches = [&](int) {
          for (int i = 0; i < p.launches; ++i) v.second(g);
        };
        sink.rate(rate_name(p, beta, v),
                  1e3 * tile::time_ms(launches, 40).median / p.launches);
      }
    }
    for (float* matrix : matrices) cudaFree(matrix);
  }
}
#else
constexpr void (*measure)(tile::RateSink&) = nullptr;
#endif

// Where warp 0 stores a group of float4s to C, with rows of `stride` words; with a stride of
// 0, where it loads them from a row of Bs.
template <class C>
simt::WarpAccess access_of(int group, int stride) {
  simt::WarpAccess access{.active = ~0u, .size = 16};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] =
        4 * std::uint64_t(thread_tile_of<C>(lane).row * stride + column_of<C>(lane, group));
  return access;
}

using FlatSplit = Config<128, 128, 16, 16, 128, 2, 8, 4, 2>;  // a warp of two rows of 16 lanes

// The predictions that the page cites.
void predict(tile::Facts& facts) {
  const auto describe = [&]<class C>(const std::string& name, C) {
    facts.predicted(name + ".request.sectors",
                    simt::distinct_blocks(access_of<C>(0, 4096), 5));
    facts.predicted(name + ".request.lines", simt::distinct_blocks(access_of<C>(0, 4096), 7));
    facts.predicted(name + ".apart", C::GROUPS > 1 ? column_of<C>(0, 1) : 0);
    facts.predicted(name + ".load_Bs.wavefronts",
                    simt::shared_wavefronts(access_of<C>(0, 0), true));
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN,
                          double(C::WMITER * C::TM + 4 * C::GROUPS) / C::ACCUMULATORS, 4, 4);
  };
  describe("adjacent", Adjacent{});
  describe("split", Split{});
  describe("tall", Tall{});
  describe("tall_split", TallSplit{});
  describe("flat_split", FlatSplit{});
  // Thread 101: its first row of accumulators.
  const auto worked = [&]<class C>(const std::string& name, C) {
    facts.predicted(name + ".row", warp_tile_of<C>(101).row + thread_tile_of<C>(101).row);
    for (int group = 0; group < C::GROUPS; ++group) {
      const int col = warp_tile_of<C>(101).col + column_of<C>(101, group);
      facts.predicted(name + ".col" + std::to_string(group), col);
      facts.predicted(name + ".sector" + std::to_string(group), col / 8);
    }
  };
  worked("worked.adjacent", Adjacent{});
  worked("worked.split", Split{});
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_written_back<Config>,
          reinterpret_cast<const void*>(sgemm_written_back<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 11, .title = "Coalesced write-back",
             .kernels = {kernel<Adjacent>("adjacent"), kernel<Split>("split"),
                         kernel<Tall>("tall"), kernel<TallSplit>("tall_split")},
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Split::BM}, {"BN", Split::BN}, {"BK", Split::BK}},
             .predict = predict, .measure_rates = measure,
             .shapes = {{8192, 8192, 64}, {8192, 8192, 256}}, .rates = rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
}

template <class C>
void check_maps(C) {
  const auto written = [](int thread, auto take) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int i = 0; i < C::TM; ++i)
        for (int j = 0; j < 4 * C::GROUPS; ++j)
          take(warpRow + wm * C::WSUBM + thread_tile_of<C>(thread).row + i,
               warpCol + column_of<C>(thread % 32, j / 4) + j % 4);
  };
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, written) == "");
  CHECK(tile::covers_once(C::BK, C::BM, C::NUM_THREADS, [](int thread, auto take) {
          const auto [rowA, colA] = load_A_of<C>(thread);
          for (int down = 0; down < C::BM; down += C::ROWS_A)
            for (int i = 0; i < 4; ++i) take(colA + i, rowA + down);
        }) == "");
  CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [rowB, colB] = load_B_of<C>(thread);
          for (int down = 0; down < C::BK; down += C::ROWS_B)
            for (int j = 0; j < 4; ++j) take(rowB + down, colB + j);
        }) == "");
}

TEST_CASE("every element of C is written by one thread, and every word of As and Bs") {
  check_maps(Adjacent{});
  check_maps(Split{});
  check_maps(Tall{});
  check_maps(TallSplit{});
  check_maps(FlatSplit{});
}

template <class C>
void check_stores(int sectors, int lines, C) {
  for (int group = 0; group < C::GROUPS; ++group) {
    CHECK(simt::distinct_blocks(access_of<C>(group, 4096), 5) ==
          sectors);  // 16 if they are whole
    CHECK(simt::distinct_blocks(access_of<C>(group, 4096), 7) ==
          lines);  // 4 if they are whole
  }
}

TEST_CASE("four columns apart fill sectors in one request, and eight side by side do not") {
  check_stores(32, 8, Adjacent{});
  check_stores(16, 4, Split{});
  check_stores(32, 8, Tall{});
  check_stores(16, 8, TallSplit{});  // four lanes of 16 bytes: half a line
  check_stores(16, 4, FlatSplit{});
}

TEST_CASE("4096 x 4096 words in half sectors make 2,097,152 excess sectors of 138 million") {
  const int stored =
      4096 * 4096 / 128 * simt::distinct_blocks(access_of<Adjacent>(0, 4096), 5);
  CHECK(stored - 4096 * 4096 / 8 == 2097152);
  CHECK(4096.0 * 4096 * 4096 * (1.0 / Adjacent::BM + 1.0 / Adjacent::BN) / 8 + stored ==
        138412032);
}

TEST_CASE("as many empty blocks are resident on an SM as blocks of the kernel") {
  const auto blocks = []<class C>(C) {
    return tile::occupancy(tile::h200, C::NUM_THREADS, 1, int(CROWDING<C>)).blocks;
  };
  CHECK((blocks(Split{}) == Split::BLOCKS && blocks(TallSplit{}) == TallSplit::BLOCKS));
}

TEST_CASE("whole tiles are right for every alpha and beta") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    CAPTURE(kernel.name);
    CHECK(tile::first_failure(kernel, tile::scaled_cases({128, 256, 32, 1, 0, 4,
                                                          tile::Fill::integers})) == "");
  }
}

#if TILE_ON_MODEL
TEST_CASE("the model counts these sectors in stores of C and in loads, and these wavefronts" *
          doctest::test_suite("model")) {
  const auto check = [](tile::Launcher launch, int sectors, int wavefronts) {
    const auto unread = tile::count(launch, {128, 256, 32});
    const auto read = tile::count(launch, {128, 256, 32, 1, 1});
    for (const simt::Site* site : {&tile::site(unread, "store-C"),
                                   &tile::site(read, "store-C"), &tile::site(read, "load-C")})
      CHECK(site->sectors == std::uint64_t(sectors) * site->requests);
    CHECK_THROWS(tile::site(unread, "load-C"));
    const simt::Site& load = tile::site(unread, "load-Bs");
    CHECK(load.wavefronts == std::uint64_t(wavefronts) * load.requests);
    if (wavefronts == 4) CHECK(tile::bank_conflict(unread, "load-Bs") == "");
  };
  check(launch_written_back<Adjacent>, 32, 8);
  check(launch_default, 16, 4);
  check(launch_written_back<Tall>, 32, 4);
  check(launch_written_back<TallSplit>, 16, 4);
}
#endif
