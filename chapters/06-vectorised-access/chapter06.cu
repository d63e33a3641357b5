// Tile by Tile, chapter 06: vectorised access.
//
// Question: a thread copies its share of a tile word by word. Can it move four words with one
// instruction? Idea: a float4 load or store moves 16 bytes. On the way into shared memory A is
// transposed, so that the values a thread needs in one step lie side by side.
// Previous chapter: 05, 2D block tiling. New are float4 in the copies and in the write of C,
// and a transposed As.
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
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  static_assert(BM % TM == 0 && BN % TN == 0,
                "a thread's square of results must not cross the edge of the tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: tiles and squares must be multiples of 4 wide");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
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

// Where a thread's TM x TN results begin in the block's tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
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

// Takes whole tiles only, so the grid says all about M and N, and only addresses divisible by
// 16.
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_vectorised(int, int, int K, float alpha,      //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
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
  float acc[TM][TN] = {};  // TM x TN results
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float4 four = *reinterpret_cast<const float4*>(  //@ load-A
          nextA + std::size_t(down) * lda);
      const float a[4] = {four.x, four.y, four.z, four.w};
      // The transpose: four neighbours of a row become four neighbours of a column.
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float4 four = *reinterpret_cast<const float4*>(  //@ load-B
          nextB + std::size_t(down) * ldb);
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;  //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];  // one row of As, one row of Bs: this thread's parts
      for (int i = 0; i < TM; ++i) regM[i] = As[dotIdx * BM + threadRow + i];  //@ load-As
      for (int j = 0; j < TN; ++j) regN[j] = Bs[dotIdx * BN + threadCol + j];  //@ load-Bs
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    // [/snippet multiply]
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }

  // [snippet epilogue]
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; j += 4) {
      const int row = blockRow + threadRow + i, col = blockCol + threadCol + j;
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
  // [/snippet epilogue]
}

// --- The same without float4: with guards for every other problem, without them as a rival
// ---------------------------

// [snippet promise]
// The same pointer, with a promise to the compiler: what it points to begins at a multiple of
// 16 bytes.
__device__ inline const float* aligned(const float* pointer) {
  return static_cast<const float*>(__builtin_assume_aligned(pointer, 16));
}
// [/snippet promise]

// PREDICATED: whether a tile may hang over the edge of a matrix. PROMISED: whether the compiler is
// told that each four words of A and B are aligned. WRITTEN_OUT: whether the four are read one
// by one, rather than in a loop.
template <bool PREDICATED, bool PROMISED = false, bool WRITTEN_OUT = false>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_words(int M, int N, int K, float alpha,       //
                const float* A, int lda,                // M x K
                const float* B, int ldb,                // K x N
                float beta,                             //
                float* C, int ldc) {                    // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  alignas(16) __shared__ float As[BK * BM];  // BK x BM: the tile of A, transposed
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  static_assert(
      !PREDICATED || !WRITTEN_OUT,
      "words that are written out have no guards: they would be read beyond the edge");

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // TM x TN results
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load-words]
    // Beyond the edge a tile holds zeros, which add nothing to the dot product.
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      if constexpr (PROMISED) from = aligned(from);
      float a[4] = {};
      if constexpr (WRITTEN_OUT) {
        a[0] = from[0], a[1] = from[1], a[2] = from[2], a[3] = from[3];  //@ load-A-words
      } else {
        for (int i = 0; i < 4; ++i) {
          const bool inside =
              !PREDICATED || (blockRow + rowA + down < M && bkIdx + colA + i < K);
          if (inside) a[i] = from[i];  //@ load-A-words
        }
      }
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      if constexpr (PROMISED) from = aligned(from);
      float b[4] = {};
      if constexpr (WRITTEN_OUT) {
        b[0] = from[0], b[1] = from[1], b[2] = from[2], b[3] = from[3];  //@ load-B-words
      } else {
        for (int j = 0; j < 4; ++j) {
          const bool inside =
              !PREDICATED || (bkIdx + rowB + down < K && blockCol + colB + j < N);
          if (inside) b[j] = from[j];  //@ load-B-words
        }
      }
      for (int j = 0; j < 4; ++j) Bs[(rowB + down) * BN + colB + j] = b[j];  //@ store-Bs-words
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load-words]
    // as in sgemm_vectorised, and so is all that follows, but for the write of C
    __syncthreads();

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];
      for (int i = 0; i < TM; ++i) regM[i] = As[dotIdx * BM + threadRow + i];  //@ load-As
      for (int j = 0; j < TN; ++j) regN[j] = Bs[dotIdx * BN + threadCol + j];  //@ load-Bs
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int row = blockRow + threadRow + i, col = blockCol + threadCol + j;
      // the columns to the right are outside as well
      if (PREDICATED && (row >= M || col >= N)) break;
      float* c = &C[std::size_t(row) * ldc + col];
      float result = alpha * acc[i][j];
      if (beta != 0.0f) result += beta * *c;  //@ load-C-words
      *c = result;                            //@ store-C-words
    }
}

// --- The same with more float4: a rival that reads shared memory so in the source, too
// -------------------------------

__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_wide_reads(int, int, int K, float alpha,      //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
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
  float acc[TM][TN] = {};  // TM x TN results
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float4 four = *reinterpret_cast<const float4*>(  //@ load-A
          nextA + std::size_t(down) * lda);
      const float a[4] = {four.x, four.y, four.z, four.w};
      for (int i = 0; i < 4; ++i) As[(colA + i) * BM + rowA + down] = a[i];  //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float4 four = *reinterpret_cast<const float4*>(  //@ load-B
          nextB + std::size_t(down) * ldb);
      *reinterpret_cast<float4*>(&Bs[(rowB + down) * BN + colB]) = four;  //@ store-Bs
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    __syncthreads();  // as in sgemm_vectorised

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];
      // [snippet wide-reads]
      for (int i = 0; i < TM; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-As-wide
            &As[dotIdx * BM + threadRow + i]);
        regM[i] = four.x, regM[i + 1] = four.y, regM[i + 2] = four.z, regM[i + 3] = four.w;
      }
      for (int j = 0; j < TN; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(  //@ load-Bs-wide
            &Bs[dotIdx * BN + threadCol + j]);
        regN[j] = four.x, regN[j + 1] = four.y, regN[j + 2] = four.z, regN[j + 3] = four.w;
      }
      // [/snippet wide-reads]
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    __syncthreads();  // as in sgemm_vectorised
  }

  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; j += 4) {
      const int row = blockRow + threadRow + i, col = blockCol + threadCol + j;
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

// FAST: sgemm_vectorised or a rival.
template <auto FAST>
void launch_vectorised(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise(g) ? FAST : sgemm_words<true>, grid, dim3(Config::NUM_THREADS), 0,
               g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, TN = Config::TN, BM = Config::BM, BN = Config::BN;
  constexpr double global = 1 / BM + 1 / BN, shared = (TM + TN) / (TM * TN);
  facts.predicted_loads("vectorised", global, shared, 4);
  for (const char* kernel : {"words", "promised", "written_out"})
    facts.predicted_loads(kernel, global, shared);
  facts.predicted_loads("wide_reads", global, shared, 4, 4);
  facts.predicted("worked.rowA", load_A_of(197).row);
  facts.predicted("worked.colA", load_A_of(197).col);
  facts.predicted("worked.As", load_A_of(197).col * Config::BM + load_A_of(197).row);
  facts.predicted("worked.rowB", load_B_of(197).row);
  facts.predicted("worked.colB", load_B_of(197).col);
}

template <auto FAST>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_vectorised<FAST>,
          reinterpret_cast<const void*>(FAST),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 6, .title = "Vectorised access",
             .kernels = {kernel<sgemm_vectorised>("vectorised"),
                         kernel<sgemm_words<false>>("words"),
                         kernel<sgemm_words<false, true>>("promised"),
                         kernel<sgemm_words<false, true, true>>("written_out"),
                         kernel<sgemm_wide_reads>("wide_reads")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"BK", Config::BK},
                           {"TM", Config::TM},
                           {"TN", Config::TN},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  std::vector<int> results(Config::BM * Config::BN), copiesA(Config::BM * Config::BK),
      copiesB(Config::BK * Config::BN);
  for (int thread = 0; thread < Config::NUM_THREADS; ++thread) {
    const auto [row, col] = thread_tile_of(thread);
    for (int i = 0; i < Config::TM; ++i)
      for (int j = 0; j < Config::TN; ++j)
        ++results.at(std::size_t((row + i) * Config::BN + col + j));
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < Config::BM; down += Config::ROWS_A)
        ++copiesA.at(std::size_t((load_A_of(thread).col + i) * Config::BM +
                                 load_A_of(thread).row + down));
      for (int down = 0; down < Config::BK; down += Config::ROWS_B)
        ++copiesB.at(std::size_t((load_B_of(thread).row + down) * Config::BN +
                                 load_B_of(thread).col + i));
    }
  }
  CHECK(results == std::vector<int>(results.size(), 1));
  CHECK(copiesA == std::vector<int>(copiesA.size(), 1));
  CHECK(copiesB == std::vector<int>(copiesB.size(), 1));
}

#if TILE_ON_MODEL
constexpr auto launch_default = launch_vectorised<sgemm_vectorised>;
const tile::Case block{128, 128, 128};

TEST_CASE("with float4 requests fall by four, sectors do not" * doctest::test_suite("model")) {
  const auto words = tile::count(launch_vectorised<sgemm_words<false>>, block);
  const auto four = tile::count(launch_default, block);
  for (const char* tag : {"load-A", "load-B", "store-C"}) {
    const auto& wide = tile::site(four, tag);
    const auto& narrow = tile::site(words, std::string(tag) + "-words");
    CHECK(wide.requests * 4 == narrow.requests);
    CHECK(wide.bytes() == narrow.bytes());
  }
  // Each sector is still fetched once a block, but word by word every request comes back to
  // it.
  CHECK(four.block_sectors == words.block_sectors);
  CHECK(tile::site(four, "load-A").sectors * 4 == tile::site(words, "load-A-words").sectors);
}

TEST_CASE("reading shared memory as float4 makes a quarter of the loads" *
          doctest::test_suite("model")) {
  const auto narrow = tile::count(launch_default, block);
  const auto wide = tile::count(launch_vectorised<sgemm_wide_reads>, block);
  for (const char* tag : {"load-As", "load-Bs"})
    CHECK(tile::site(wide, std::string(tag) + "-wide").requests * 4 ==
          tile::site(narrow, tag).requests);
  CHECK(tile::site(wide, "load-As-wide").wavefronts ==
        2 * tile::site(wide, "load-As-wide").requests);
  CHECK(tile::site(wide, "load-Bs-wide").wavefronts ==
        8 * tile::site(wide, "load-Bs-wide").requests);
}

TEST_CASE("the transposed store hits each bank four times" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, block);
  CHECK(tile::site(counts, "store-As").wavefronts ==
        4 * tile::site(counts, "store-As").requests);
}
#endif
