// Tile by Tile, chapter 04, a question of its notebook: does the order of the two inner loops
// matter?
//
// Idea: in the chapter's kernel, the loop over the accumulators runs inside the loop over
// k-steps, and the value of Bs stays in its register meanwhile. Here the two loops are swapped,
// so that, as written, each multiply-add loads both operands.
//
// Build, run, verify:   ./tile run 04-looporder   ctest --preset model -R chapter04.looporder
#include "common/report/chapter.hpp"

namespace {

struct Config {
  static constexpr int BM = 64;  // rows of C per block
  static constexpr int BN = 64;  // columns of C per block
  static constexpr int BK = 8;   // depth of a k-tile: columns of As, rows of Bs
  static constexpr int TM = 8;   // elements of C per thread, one below the other
  static constexpr int NUM_THREADS = BM * BN / TM;
};

struct Position {
  int row, col;
};

// The first of the TM elements of C that a thread computes, relative to the block tile.
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  return {thread / Config::BN * Config::TM, thread % Config::BN};
}
// The element of As, and the element of Bs, that a thread loads.
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / Config::BK, thread % Config::BK};
}
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / Config::BN, thread % Config::BN};
}

// SWAPPED: whether the loop over accumulators is the outer one. If not, this is the chapter's
// kernel.
template <bool PREDICATED, bool SWAPPED>
__global__ void __launch_bounds__(Config::NUM_THREADS)  //
    sgemm_1d_block(int M, int N, int K, float alpha,    //
                   const float* A, int lda,             // M x K
                   const float* B, int ldb,             // K x N
                   float beta,                          //
                   float* C, int ldc) {                 // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM;
  __shared__ float As[BM * BK];  // BM x BK, row-major
  __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [threadRow, threadCol] = thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of(threadIdx.x);
  const auto [rowB, colB] = load_B_of(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[TM] = {0.0f};  // accumulators of elements of C, one below the other
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    const bool inA = !PREDICATED || (blockRow + rowA < M && bkIdx + colA < K);
    const bool inB = !PREDICATED || (bkIdx + rowB < K && blockCol + colB < N);
    float a = 0.0f, b = 0.0f;
    if (inA) a = *nextA;       //@ load-A
    if (inB) b = *nextB;       //@ load-B
    As[rowA * BK + colA] = a;  //@ store-As
    Bs[rowB * BN + colB] = b;  //@ store-Bs
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    __syncthreads();  // as in the chapter

    if constexpr (!SWAPPED) {
      for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
        const float regN = Bs[dotIdx * BN + threadCol];  //@ load-Bs
        for (int i = 0; i < TM; ++i) {
          const float regM = As[(threadRow + i) * BK + dotIdx];  //@ load-As
          acc[i] += regM * regN;
        }
      }
    } else {
      // [snippet swapped]
      for (int i = 0; i < TM; ++i) {
        for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
          const float regM = As[(threadRow + i) * BK + dotIdx];  //@ load-As-swapped
          const float regN = Bs[dotIdx * BN + threadCol];        //@ load-Bs-swapped
          acc[i] += regM * regN;
        }
      }
      // [/snippet swapped]
    }
    __syncthreads();  // as in the chapter
  }

  for (int i = 0; i < TM; ++i) {
    const int row = blockRow + threadRow + i, col = blockCol + threadCol;
    if (PREDICATED && (row >= M || col >= N)) break;  // the rows below are outside as well
    float* c = &C[std::size_t(row) * ldc + col];
    float result = alpha * acc[i];
    if (beta != 0.0f) result += beta * *c;  //@ load-C
    *c = result;                            //@ store-C
  }
}

template <bool SWAPPED>
void launch_with_loops(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const bool whole = g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0;
  tile::launch(whole ? sgemm_1d_block<false, SWAPPED> : sgemm_1d_block<true, SWAPPED>, grid,
               dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}

const tile::Case counted{256, 256, 256};

void predict(tile::Facts& facts) {
  constexpr double TM = Config::TM, BM = Config::BM, BN = Config::BN;
  facts.predicted_loads("block1d", 1 / BM + 1 / BN, (1 + TM) / TM);
  // As written, each multiply-add loads both operands.
  facts.predicted_loads("swapped", 1 / BM + 1 / BN, 2);
}

template <bool SWAPPED>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_with_loops<SWAPPED>,
          reinterpret_cast<const void*>(sgemm_1d_block<false, SWAPPED>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::whole_tiles},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 4, .title = "Does the order of the loops matter?",
             .kernels = {kernel<false>("block1d"), kernel<true>("swapped")},
             .counted = counted, .sizes = {1024, 2048, 4096, 8192},
             .constants = {{"TM", Config::TM}}, .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

#if TILE_ON_MODEL
TEST_CASE("as written, the swapped loops load Bs TM times as often" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_with_loops<true>, {64, 64, 64});
  const std::uint64_t fmas = 64u * 64 * 64 / 32;
  CHECK(tile::site(counts, "load-As-swapped").requests == fmas);
  CHECK(tile::site(counts, "load-Bs-swapped").requests == fmas);
}
#endif
