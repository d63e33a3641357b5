// Tile by Tile, chapter 06, lab: the promise.
//
// Question: nvcc merges loads of neighbouring words of shared memory, but not of global memory.
// Does it only lack the alignment of the pointers? Both kernels load A and B word by word, as
// chapter 06's `words` does, but promise the compiler that every group of four words is
// aligned. `promised` loads the four words in a loop, `written_out` names them one by one.
//
// Build, run, verify:   ./tile run 06-promise      ctest --preset model -R chapter06.promise
#include "common/report/chapter.hpp"

namespace {

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
};

struct Position {
  int row, col;
};

// As in chapter 06: where a thread's TM x TN tile of C begins, relative to the block tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  constexpr int threadsPerRow = Config::BN / Config::TN;
  return {thread / threadsPerRow * Config::TM, thread % threadsPerRow * Config::TN};
}
// The first of the four words that a thread loads first from the tile of A, and of B.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (Config::BK / 4), thread % (Config::BK / 4) * 4};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (Config::BN / 4), thread % (Config::BN / 4) * 4};
}
// The same pointer, with a promise to the compiler that it is a multiple of 16 bytes.
__device__ inline const float* aligned(const float* pointer) {
  return static_cast<const float*>(__builtin_assume_aligned(pointer, 16));
}

// PREDICATED: whether tiles may extend past the edge of a matrix. PROMISED: whether the
// compiler is told that every group of four words of A and of B is aligned. WRITTEN_OUT:
// whether the four words are named one by one, not loaded in a loop.
template <bool PREDICATED, bool PROMISED, bool WRITTEN_OUT>
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
      "words that are written out are not predicated: they would be loaded from past the edge");

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM][TN] = {};  // the accumulators
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // Beyond the matrix a tile holds zeros, which add nothing to the dot product.
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
    __syncthreads();  // as in the chapter

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[TM], regN[TN];
      for (int i = 0; i < TM; ++i) regM[i] = As[dotIdx * BM + threadRow + i];  //@ load-As
      for (int j = 0; j < TN; ++j) regN[j] = Bs[dotIdx * BN + threadCol + j];  //@ load-Bs
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
    }
    __syncthreads();  // as in the chapter
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

// Problems that are not aligned or have residue tiles are loaded word by word, without a promise.
template <bool WRITTEN_OUT>
void launch_promised(const tile::Gemm& g) {
  tile::require_valid(g);
  const auto aligned_16 = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  };
  const bool keeps_promise = g.M % Config::BM == 0 && g.N % Config::BN == 0 &&
                             g.K % Config::BK == 0 && g.lda % 4 == 0 && g.ldb % 4 == 0 &&
                             g.ldc % 4 == 0 && aligned_16(g.A) && aligned_16(g.B) &&
                             aligned_16(g.C);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(
      keeps_promise ? sgemm_words<false, true, WRITTEN_OUT> : sgemm_words<true, false, false>,
      grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
      g.beta, g.C, g.ldc);
}

template <bool WRITTEN_OUT>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_promised<WRITTEN_OUT>,
          reinterpret_cast<const void*>(sgemm_words<false, true, WRITTEN_OUT>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 6, .title = "The promise",
             .kernels = {kernel<false>("promised"), kernel<true>("written_out")},
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4096, 8192})

TILE_GEMM_TESTS(tile::this_chapter().kernels)
