// Tile by Tile, chapter 06: vectorised access.
//
// Question: a thread loads its part of a tile word by word. Can it move four words with one
// instruction? Idea: a float4 moves 16 bytes between global memory, shared memory and
// registers. A is transposed on its way into shared memory, so that the values of A that a
// thread needs in one k-step are neighbours there.
// Previous chapter: 05, 2D block tiling. New are float4 in all accesses, and a transposed As.
//
// Build, run, verify:   ./tile run 06      ctest --preset model -R chapter06
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 128;  // rows of C per block
  static constexpr int BN = 128;  // columns of C per block
  static constexpr int BK = 16;   // depth of a k-tile
  static constexpr int TM = 8;    // rows of C per thread
  static constexpr int TN = 8;    // columns of C per thread
  static constexpr int NUM_THREADS = BM * BN / (TM * TN);
  // rows of the tile of A that all threads together load at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of the tile of B
  static_assert(BM % TM == 0 && BN % TN == 0,
                "a thread tile must not cross the edge of the block tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: BK, TM and TN must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads load past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads load past the tile of B or leave parts out");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// Where a thread's TM x TN tile of C begins, relative to the block tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  constexpr int threadsPerRow = Config::BN / Config::TN;
  return {thread / threadsPerRow * Config::TM, thread % threadsPerRow * Config::TN};
}
// The first word of the first float4 that a thread loads from the tile of A, and from that of
// B. The next ones lie ROWS_A and ROWS_B rows below.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (Config::BK / 4), thread % (Config::BK / 4) * 4};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (Config::BN / 4), thread % (Config::BN / 4) * 4};
}
// [/snippet maps]

// VECTORISED: whether global memory is accessed 16 bytes at a time, which takes whole tiles
// and aligned addresses. PREDICATED: whether residue tiles are possible, so that each access
// has to be checked.
template <bool VECTORISED, bool PREDICATED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_vectorised(int M, int N, int K, float alpha,  //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
  static_assert(!VECTORISED || !PREDICATED,
                "a float4 that crosses the edge of a matrix would have to be loaded in part");
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // the accumulators
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      float a[4] = {};  // zeros beyond the matrix, which add nothing to the dot product
      if constexpr (VECTORISED) {
        // [snippet idea]
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
        // [/snippet idea]
      } else {
        for (int i = 0; i < 4; ++i) {
          const bool inside =
              !PREDICATED || (blockRow + rowA + down < M && bkIdx + colA + i < K);
          if (inside) a[i] = from[i];  //@ load-A-words
        }
      }
      // [snippet idea]
      // The transpose: four neighbours of a row become four neighbours of a column.
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
      // [/snippet idea]
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      float4 four = {};
      if constexpr (VECTORISED) {
        four = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j) {
          const bool inside =
              !PREDICATED || (bkIdx + rowB + down < K && blockCol + colB + j < N);
          if (inside) b[j] = from[j];  //@ load-B-words
        }
        four = {b[0], b[1], b[2], b[3]};
      }
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;  //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // A thread reads what others stored: none may read before all have stored.
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];  // this thread's part of a row of As and of a row of Bs
      for (int i = 0; i < TM; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-As
            &As[dotIdx * BM + threadRow + i]);
        regM[i] = four.x, regM[i + 1] = four.y, regM[i + 2] = four.z, regM[i + 3] = four.w;
      }
      for (int j = 0; j < TN; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-Bs
            &Bs[dotIdx * BN + threadCol + j]);
        regN[j] = four.x, regN[j + 1] = four.y, regN[j + 2] = four.z, regN[j + 3] = four.w;
      }
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    // [/snippet multiply]
    // The next iteration overwrites the tiles: none may store before all have read.
    __syncthreads();
  }

  // [snippet epilogue]
  for (int i = 0; i < TM; ++i) {
    const int row = blockRow + threadRow + i;
    if constexpr (VECTORISED) {
      for (int j = 0; j < TN; j += 4) {
        const int col = blockCol + threadCol + j;
        float4* c = reinterpret_cast<float4*>(&C[std::size_t(row) * ldc + col]);
        const float* sum = &acc[i][j];
        float4 result{alpha * sum[0], alpha * sum[1], alpha * sum[2], alpha * sum[3]};
        if (beta != 0.0f) {
          const float4 old = *c;  //@ load-C
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z,
                    result.w + beta * old.w};
        }
        *c = result;  //@ store-C
      }
    } else {
      for (int j = 0; j < TN; ++j) {
        const int col = blockCol + threadCol + j;
        // the columns to the right are outside as well
        if (PREDICATED && (row >= M || col >= N)) break;
        float* c = &C[std::size_t(row) * ldc + col];
        float result = alpha * acc[i][j];
        if (beta != 0.0f) result += beta * *c;  //@ load-C-words
        *c = result;                            //@ store-C-words
      }
    }
  }
  // [/snippet epilogue]
}

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

// VECTORISED: whether problems that allow it run the kernel with float4.
template <bool VECTORISED>
void launch_vectorised(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(
      can_vectorise(g) ? sgemm_vectorised<VECTORISED, false> : sgemm_vectorised<false, true>,
      grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
      g.beta, g.C, g.ldc);
}

[[maybe_unused]] constexpr auto launch_default = launch_vectorised<true>;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, TN = Config::TN, BM = Config::BM, BN = Config::BN;
  for (const auto& [kernel, wide] : {std::pair{"vectorised", 4.0}, {"words", 1.0}})
    facts.predicted_loads(kernel, 1 / BM + 1 / BN, (TM + TN) / (TM * TN), wide, 4);
}

template <bool VECTORISED>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_vectorised<VECTORISED>,
          reinterpret_cast<const void*>(sgemm_vectorised<VECTORISED, false>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 6, .title = "Vectorised access",
             .kernels = {kernel<true>("vectorised"), kernel<false>("words")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"TM", Config::TM},
                           {"TN", Config::TN},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the thread tiles cover a tile of C once, and the loads cover As and Bs once") {
  const auto of_C = [](int thread, auto take) {
    const auto [row, col] = thread_tile_of(thread);
    for (int i = 0; i < Config::TM; ++i)
      for (int j = 0; j < Config::TN; ++j) take(row + i, col + j);
  };
  const auto of_As = [](int thread, auto take) {
    const auto [row, col] = load_A_of(thread);
    for (int down = 0; down < Config::BM; down += Config::ROWS_A)
      for (int i = 0; i < 4; ++i) take(row + down, col + i);
  };
  const auto of_Bs = [](int thread, auto take) {
    const auto [row, col] = load_B_of(thread);
    for (int down = 0; down < Config::BK; down += Config::ROWS_B)
      for (int j = 0; j < 4; ++j) take(row + down, col + j);
  };
  CHECK(tile::covers_once(Config::BM, Config::BN, Config::NUM_THREADS, of_C) == "");
  CHECK(tile::covers_once(Config::BM, Config::BK, Config::NUM_THREADS, of_As) == "");
  CHECK(tile::covers_once(Config::BK, Config::BN, Config::NUM_THREADS, of_Bs) == "");
}

#if TILE_ON_MODEL
const tile::Case block{128, 128, 128};

TEST_CASE("with float4, requests fall by a factor of four and sectors do not" *
          doctest::test_suite("model")) {
  const auto words = tile::count(launch_vectorised<false>, block);
  const auto four = tile::count(launch_default, block);
  for (const char* tag : {"load-A", "load-B", "store-C"}) {
    const auto& wide = tile::site(four, tag);
    const auto& narrow = tile::site(words, std::string(tag) + "-words");
    CHECK(wide.requests * 4 == narrow.requests);
    CHECK(wide.bytes() == narrow.bytes());
  }
  // A block still fetches each sector once. Word by word, four requests touch each sector.
  CHECK(four.block_sectors == words.block_sectors);
  CHECK(tile::site(four, "load-A").sectors * 4 == tile::site(words, "load-A-words").sectors);
}

TEST_CASE("a k-step takes four 16-byte loads of shared memory, in 20 wavefronts" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  const std::uint64_t k_steps = 128 * Config::NUM_THREADS / 32;  // of all warps
  for (const char* tag : {"load-As", "load-Bs"})
    CHECK(tile::site(counts, tag).requests == 2 * k_steps);
  CHECK(tile::site(counts, "load-As").wavefronts == 4 * k_steps);
  CHECK(tile::site(counts, "load-Bs").wavefronts == 16 * k_steps);
}

TEST_CASE("the transposed store hits each bank four times" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  CHECK(tile::site(counts, "store-As").wavefronts ==
        4 * tile::site(counts, "store-As").requests);
}
#endif
