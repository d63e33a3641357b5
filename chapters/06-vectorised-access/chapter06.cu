// Tile by Tile, chapter 06: vectorised access.
//
// Question: a thread copies its share of a tile word by word. Can it move four words with one instruction?
// Idea: a float4 load or store moves 16 bytes. On the way into shared memory A is transposed, so that the values a thread
// needs in one step lie side by side.
// Previous chapter: 05, 2D block tiling. New are float4 in the copies and in the write of C, and a transposed As.
//
// Build, run, verify:   ./tile run 06      ctest --preset model -R chapter06
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 128;  // rows of C per block
  static constexpr int BN = 128;  // columns of C per block
  static constexpr int BK = 16;   // depth of a tile along K
  static constexpr int TM = 8;    // rows of results per thread
  static constexpr int TN = 8;    // columns of results per thread
  static constexpr int NUM_THREADS = BM * BN / (TM * TN);
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  static_assert(BM % TM == 0 && BN % TN == 0, "a thread's square of results must not cross the edge of the tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: tiles and squares must be multiples of 4 wide");
  static_assert(BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
                "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
                "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(NUM_THREADS <= 1024, "a block has at most 1024 threads: the launch would fail");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024, "a block declares at most 48 KB of shared memory: ptxas would refuse");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

constexpr __host__ __device__ Position results_of(int thread) {
  constexpr int threadsPerRow = Config::BN / Config::TN;
  return {thread / threadsPerRow * Config::TM, thread % threadsPerRow * Config::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (Config::BK / 4), thread % (Config::BK / 4) * 4};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (Config::BN / 4), thread % (Config::BN / 4) * 4};
}
// [/snippet maps]

// How tiles are copied and C is written. All three have the same thread maps.
enum class Copy {
  guarded,   // word by word, for any shape and any address
  words,     // word by word, whole tiles: float4's rival
  promised,  // the same, and the compiler is told that each four words begin at a multiple of 16 bytes
  float4s    // whole tiles, addresses divisible by 16
};

// [snippet promise]
// The same pointer, with a promise to the compiler.
__device__ inline const float* aligned(const float* pointer) {
  return static_cast<const float*>(__builtin_assume_aligned(pointer, 16));
}
// [/snippet promise]

// [snippet kernel]
template <Copy COPY,
          bool WIDE_READS>  // whether the source reads shared memory as float4, too
__global__ void __launch_bounds__(Config::NUM_THREADS) sgemm_vectorised(int M, int N, int K, float alpha,  //
                                                                        const float* A, int lda,           // M x K
                                                                        const float* B, int ldb,           // K x N
                                                                        float beta,                        //
                                                                        float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM, TN = Config::TN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int firstRow = blockIdx.y * BM, firstCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = results_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  // [snippet main-loop]
  const float* nextA = A + std::size_t(firstRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + firstCol + colB;
  float acc[TM][TN] = {};  // TM x TN results
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load-A]
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      if constexpr (COPY == Copy::promised) from = aligned(from);
      float a[4] = {};
      if constexpr (COPY == Copy::float4s) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
      } else {
        for (int i = 0; i < 4; ++i) {
          const bool inside = COPY != Copy::guarded || (firstRow + rowA + down < M && bkIdx + colA + i < K);
          if (inside) a[i] = from[i];  //@ load-A-words
        }
      }
      // The transpose: four neighbours of a row become four neighbours of a column.
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
    }
    // [/snippet load-A]
    // [snippet load-B]
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      if constexpr (COPY == Copy::promised) from = aligned(from);
      float* to = &Bs[(rowB + down) * BN + colB];
      if constexpr (COPY == Copy::float4s) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-B
        *reinterpret_cast<float4*>(to) = four;                       //@ store-Bs
      } else {
        for (int j = 0; j < 4; ++j) {
          const bool inside = COPY != Copy::guarded || (bkIdx + rowB + down < K && firstCol + colB + j < N);
          float b = 0.0f;
          if (inside) b = from[j];  //@ load-B-words
          to[j] = b;                //@ store-Bs-words
        }
      }
    }
    // [/snippet load-B]
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    __syncthreads();  // a thread reads what others wrote: nobody may start before all have stored

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      const float* rowOfAs = &As[dotIdx * BM + threadRow];
      const float* rowOfBs = &Bs[dotIdx * BN + threadCol];
      float regM[TM], regN[TN];  // one row of As, one row of Bs: this thread's parts
      if constexpr (!WIDE_READS) {
        for (int i = 0; i < TM; ++i) regM[i] = rowOfAs[i];  //@ load-As
        for (int j = 0; j < TN; ++j) regN[j] = rowOfBs[j];  //@ load-Bs
      } else {
        // [snippet wide-reads]
        for (int i = 0; i < TM; i += 4) {
          const float4 four = *reinterpret_cast<const float4*>(rowOfAs + i);  //@ load-As-wide
          regM[i] = four.x, regM[i + 1] = four.y, regM[i + 2] = four.z, regM[i + 3] = four.w;
        }
        for (int j = 0; j < TN; j += 4) {
          const float4 four = *reinterpret_cast<const float4*>(rowOfBs + j);  //@ load-Bs-wide
          regN[j] = four.x, regN[j + 1] = four.y, regN[j + 2] = four.z, regN[j + 3] = four.w;
        }
        // [/snippet wide-reads]
      }
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    // [/snippet multiply]
    __syncthreads();  // the next round overwrites the tiles: nobody may store while another still reads
  }
  // [/snippet main-loop]

  // [snippet epilogue]
  for (int i = 0; i < TM; ++i) {
    const int row = firstRow + threadRow + i, col = firstCol + threadCol;
    if (COPY == Copy::guarded && row >= M) break;
    float* c = &C[std::size_t(row) * ldc + col];
    if constexpr (COPY == Copy::float4s) {
      for (int j = 0; j < TN; j += 4) {
        const float* sum = &acc[i][j];
        float4 result{alpha * sum[0], alpha * sum[1], alpha * sum[2], alpha * sum[3]};
        if (beta != 0.0f) {
          const float4 old = *reinterpret_cast<const float4*>(c + j);  //@ load-C
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z, result.w + beta * old.w};
        }
        *reinterpret_cast<float4*>(c + j) = result;  //@ store-C
      }
    } else {
      for (int j = 0; j < TN; ++j) {
        if (COPY == Copy::guarded && col + j >= N) break;
        float result = alpha * acc[i][j];
        if (beta != 0.0f) result += beta * c[j];  //@ load-C-words
        c[j] = result;                            //@ store-C-words
      }
    }
  }
  // [/snippet epilogue]
}
// [/snippet kernel]

// [snippet launch]
bool divisible_by_16(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
bool float4s_fit(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         divisible_by_16(g.A) && divisible_by_16(g.B) && divisible_by_16(g.C);
}

template <Copy FAST, bool WIDE_READS>
void launch_vectorised(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(float4s_fit(g) ? sgemm_vectorised<FAST, WIDE_READS> : sgemm_vectorised<Copy::guarded, WIDE_READS>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, TN = Config::TN, BM = Config::BM, BN = Config::BN, BK = Config::BK;
  constexpr double threads = Config::NUM_THREADS;
  const double cycles = tile::h200.sms * tile::h200.clock_ghz * 1e9;  // one wavefront each
  facts.predicted_loads("vectorised", 1 / BM + 1 / BN, (TM + TN) / (TM * TN), 4);
  facts.predicted_loads("words", 1 / BM + 1 / BN, (TM + TN) / (TM * TN));
  facts.predicted_loads("promised", 1 / BM + 1 / BN, (TM + TN) / (TM * TN));
  facts.predicted_loads("wide_reads", 1 / BM + 1 / BN, (TM + TN) / (TM * TN), 4, 4);
  facts.predicted("words_per_round", (BM + BN) * BK / threads);
  facts.predicted("float4s_per_round", (BM + BN) * BK / threads / 4);
  facts.predicted("stores_As_per_round", BM * BK / threads);
  facts.predicted("stores_Bs_per_round", BK * BN / threads / 4);
  facts.predicted("ffma_per_round", BK * TM * TN);
  facts.predicted("lds_per_step", (TM + TN) / 4);
  facts.predicted("ffma_per_lds", TM * TN / ((TM + TN) / 4));
  // As: lanes of a warp stand in two rows of threads: 2 wavefronts a load. Bs: 16-byte words 32 bytes apart: 8.
  facts.predicted("wavefronts.As", 2);
  facts.predicted("wavefronts.Bs", 8);
  const double wavefronts_per_fma = (TM / 4 * 2 + TN / 4 * 8) / (TM * TN);
  facts.predicted("wavefronts_per_fma", wavefronts_per_fma, 3);
  facts.predicted("ceiling.tflops", cycles * 64 / wavefronts_per_fma * 1e-12);
  facts.predicted("wavefronts.before", TM * 2 + TN / 4 * 8);
  facts.predicted("wavefronts_per_step", TM / 4 * 2 + TN / 4 * 8);
  facts.predicted("loads.counted", 256.0 * 256 * 256 / 32 / (TM * TN) * (TM / 4 * 2 + TN / 4 * 8));
  facts.predicted("epilogue.float4s", TM * TN / 4);
  facts.predicted("epilogue.words", TM * TN);
  facts.predicted("worked.rowA", load_A_of(197).row);
  facts.predicted("worked.colA", load_A_of(197).col);
  facts.predicted("worked.As", load_A_of(197).col * Config::BM + load_A_of(197).row);
  facts.predicted("worked.rowB", load_B_of(197).row);
  facts.predicted("worked.colB", load_B_of(197).col);
}

template <Copy COPY, bool WIDE_READS>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_vectorised<COPY, WIDE_READS>,
          reinterpret_cast<const void*>(sgemm_vectorised<COPY, WIDE_READS>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Takes::float4s}};
}

}  // namespace

TILE_CHAPTER(.number = 6, .title = "Vectorised access",
             .kernels = {kernel<Copy::float4s, false>("vectorised"), kernel<Copy::words, false>("words"),
                         kernel<Copy::promised, false>("promised"), kernel<Copy::float4s, true>("wide_reads")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  std::vector<int> results(Config::BM * Config::BN), copiesA(Config::BM * Config::BK), copiesB(Config::BK * Config::BN);
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread) {
    const auto [row, col] = results_of(thread);
    for (int i = 0; i < Config::TM; ++i)
      for (int j = 0; j < Config::TN; ++j) ++results.at(std::size_t((row + i) * Config::BN + col + j));
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < Config::BM; down += Config::ROWS_A)
        ++copiesA.at(std::size_t((load_A_of(thread).col + i) * Config::BM + load_A_of(thread).row + down));
      for (int down = 0; down < Config::BK; down += Config::ROWS_B)
        ++copiesB.at(std::size_t((load_B_of(thread).row + down) * Config::BN + load_B_of(thread).col + i));
    }
  }
  CHECK(results == std::vector<int>(results.size(), 1));
  CHECK(copiesA == std::vector<int>(copiesA.size(), 1));
  CHECK(copiesB == std::vector<int>(copiesB.size(), 1));
}

#if TILE_ON_MODEL
constexpr auto launch_default = launch_vectorised<Copy::float4s, false>;

TEST_CASE("with float4 requests fall by four, sectors do not" * doctest::test_suite("model")) {
  const auto words = tile::count(launch_vectorised<Copy::words, false>, counted);
  const auto four = tile::count(launch_default, counted);
  for (const char* tag : {"load-A", "load-B", "store-C"}) {
    const auto& wide = tile::site(four, tag);
    const auto& narrow = tile::site(words, std::string(tag) + "-words");
    CHECK(wide.requests * 4 == narrow.requests);
    CHECK(wide.bytes() == narrow.bytes());
  }
  // Each sector is still fetched once a block, but word by word every request comes back to it.
  CHECK(four.block_sectors == words.block_sectors);
  CHECK(tile::site(four, "load-A").sectors * 4 == tile::site(words, "load-A-words").sectors);
}

TEST_CASE("reading shared memory as float4 makes a quarter of the loads" * doctest::test_suite("model")) {
  const auto narrow = tile::count(launch_default, counted);
  const auto wide = tile::count(launch_vectorised<Copy::float4s, true>, counted);
  for (const char* tag : {"load-As", "load-Bs"})
    CHECK(tile::site(wide, std::string(tag) + "-wide").requests * 4 == tile::site(narrow, tag).requests);
  CHECK(tile::site(wide, "load-As-wide").wavefronts == 2 * tile::site(wide, "load-As-wide").requests);
  CHECK(tile::site(wide, "load-Bs-wide").wavefronts == 8 * tile::site(wide, "load-Bs-wide").requests);
}

TEST_CASE("the transposed store hits each bank four times" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, counted);
  CHECK(tile::site(counts, "store-As").wavefronts == 4 * tile::site(counts, "store-As").requests);
}
#endif
