// Tile by Tile, chapter 19: a tile for every shape.
//
// Question: chapter 18's kernel needs large squares. What does a library need for all other
// shapes? Idea: smaller block tiles, splits along K, copies word by word where rows begin
// anywhere, no tiles for a row or a column, and a cost model that chooses.
// Previous chapter: 18. This program still has the form of the first edition: its large
// kernel is chapter 18's.
//
// Build, run, verify:   ./tile run 19      ctest --preset model -R chapter19
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "chapters/19-shapes/sweep.hpp"
#include "common/check/operands.hpp"
#include "common/cuda/machine.hpp"
#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

namespace ptx = tile::ptx;
using tile::Position;

// [snippet config]
// What copies in bulk find of A.
enum class FromA {
  transposed,  // a copy of A, transposed by a kernel of its own: a row of it is a column of A
  rows,        // A itself: steps of a row of A lie side by side in shared memory as well
  registers    // nothing: the warps that copy load A, and store it transposed
};
// How a block takes over what others have of its tile.
enum class TakeOver {
  in_turn,   // it waits for one, adds, and waits for the next
  together,  // it waits for all at once, and then adds
  never      // all hand over, and a kernel that follows adds
};

// Chapter 18's kernel.
struct Large {
  // rows and columns of C per block, depth of a round along K
  static constexpr int BM = 256, BN = 128, BK = 16;
  static constexpr int WM = 64, WN = 64;  // rows and columns of C per warp
  static constexpr int STAGES = 6;        // rounds that shared memory has room for
  // One of them copies. Where they are four, they give registers to the warps that multiply.
  static constexpr int COPY_WARPS = 4;
  static constexpr int BLOCKS = 1;  // that an SM has room for
  // where they are reallocated, of a thread that multiplies, and of one that does not
  static constexpr int MORE_REGISTERS = 240;
  static constexpr int FEWER_REGISTERS = 24;
  // of a tile, on average: the block that stores it takes the others over one by one
  static constexpr int MAX_SPLITS = 8;
  // of a share along K: for less, another block is not worth its hand-over
  static constexpr int MIN_DEPTH = 128;
  static constexpr FromA FROM_A = FromA::transposed;
  static constexpr TakeOver TAKE_OVER = TakeOver::in_turn;
  static constexpr bool SINGLE_TILE = false;  // a block for each tile, which no two share
};

// The others, each by what is not as in this one.
struct ThroughRegisters : Large {
  static constexpr FromA FROM_A = FromA::registers;
  static constexpr int MORE_REGISTERS = 224, FEWER_REGISTERS = 56;
};
// For smaller problems: smaller tiles, so that more blocks share the work, and more than one
// block an SM.
struct Small : Large {
  static constexpr int BM = 64, BN = 64, WM = 32, WN = 32, STAGES = 8, COPY_WARPS = 1,
                       BLOCKS = 3;
  static constexpr FromA FROM_A = FromA::rows;
  static constexpr TakeOver TAKE_OVER = TakeOver::together;
  static constexpr int MAX_SPLITS = 16;
};
// The same, twice as wide, and two blocks an SM.
struct Medium : Small {
  static constexpr int BN = 128, WN = 64, BLOCKS = 2;
};
// A is transposed before: by the copy that it needs anyhow, where its rows do not begin at
// multiples of 16 bytes, and where the product is large beside it.
struct SmallTransposed : Small {
  static constexpr FromA FROM_A = FromA::transposed;
  static constexpr TakeOver TAKE_OVER = TakeOver::in_turn;
};
struct MediumTransposed : Medium {
  static constexpr int STAGES = 5, BLOCKS = 3;
  static constexpr FromA FROM_A = FromA::transposed;
  static constexpr TakeOver TAKE_OVER = TakeOver::in_turn;
};
// For few results and a long K: every tile in as many shares as the GPU has room for.
struct SplitK : Small {
  static constexpr TakeOver TAKE_OVER = TakeOver::never;
  static constexpr int MIN_DEPTH = 64;
};
// For few rows: B is read once by them all.
struct Thin : Small {
  static constexpr int BM = 16, BN = 256, WM = 16, WN = 64, STAGES = 4, MAX_SPLITS = 8;
};
// For few columns: A is read once by them all.
struct Narrow : Small {
  static constexpr int BM = 128, BN = 32, STAGES = 6, MAX_SPLITS = 8;
};
// Chapter 14's, for what copies in bulk do not take.
struct Fallback : Large {
  static constexpr int BM = 128, BN = 256, BK = 8, STAGES = 3, COPY_WARPS = 0;
  static constexpr bool SINGLE_TILE = true;
};
// The same in small, for rows that do not begin at multiples of 16 bytes.
struct Words : Fallback {
  static constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 4, BLOCKS = 3;
  static constexpr int MIN_DEPTH = 64;
  static constexpr bool SINGLE_TILE = false;
};

template <class Choices>
struct Config : Choices {
  using Choices::BM, Choices::BN, Choices::BK, Choices::WM, Choices::WN, Choices::STAGES,
      Choices::COPY_WARPS, Choices::BLOCKS, Choices::MORE_REGISTERS, Choices::FEWER_REGISTERS;
  static constexpr bool THROUGH_REGISTERS = Choices::FROM_A == FromA::registers;
  // in shared memory
  static constexpr bool TRANSPOSED = Choices::FROM_A != FromA::rows;
  static constexpr bool REALLOCATED = COPY_WARPS == 4;  // registers
  static constexpr int GROUP_ROWS = 8;                  // rows of tiles in a raster group
  static constexpr int MIN_K_TILES = Choices::MIN_DEPTH / BK;
  // results per thread: the lanes of a warp form 4 rows of 8
  static constexpr int ROWS = WM / 4, COLS = WN / 8;
  static constexpr int CONSUMERS = 32 * (BM / WM) * (BN / WN);  // threads that multiply
  static constexpr int NUM_THREADS = CONSUMERS + 32 * COPY_WARPS;
  // words from row to row of the transposed tile of A
  static constexpr int STRIDE_A = COPY_WARPS == 0 ? BM + 4 : BM;
  static constexpr int WORDS_A = BK * STRIDE_A, WORDS_B = BK * BN;
  static constexpr int STAGE_WORDS = WORDS_A + WORDS_B;
  static constexpr unsigned STAGE_BYTES = STAGE_WORDS * sizeof(float);
  static constexpr int BARRIERS = 64;  // of a kind
  static constexpr int SMEM_BYTES = STAGES * int(STAGE_BYTES);
  // of each thread, at most
  static constexpr int REGISTERS_AT_LAUNCH = 64 * 1024 / BLOCKS / NUM_THREADS / 8 * 8;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(ROWS % 4 == 0 && COLS % 4 == 0,
                "a float4 lies in one row: results per thread must be multiples of 4");
  static_assert(BK % 2 == 0,
                "two sets of operands take turns: a step must begin with the first again");
  static_assert(TRANSPOSED || BK * sizeof(float) == 64,
                "the swizzle of a row of A is made for rows of 64 bytes");
  static_assert(!THROUGH_REGISTERS ||
                    (BK == 16 && BM % 64 == 0 && COPY_WARPS == 4 && STRIDE_A == BM),
                "four warps fetch 64 rows of a tile of A at once, and half of their 16 words");
  static_assert(BM <= 256 && BN <= 256,
                "a box has at most 256 elements along each side: no tensor map could be made");
  static_assert(STAGES >= 2 && STAGES <= BARRIERS,
                "a round is copied while another is multiplied: one stage would hold both");
  static_assert(
      !REALLOCATED || CONSUMERS % 128 == 0,
      "registers are given and taken by four warps at once: setmaxnreg would wait for ever");
  static_assert(
      !REALLOCATED || CONSUMERS * MORE_REGISTERS + 128 * FEWER_REGISTERS <=
                          NUM_THREADS * REGISTERS_AT_LAUNCH,
      "registers move within a block: more than it was launched with, and setmaxnreg would wait for ever");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(SMEM_BYTES + 16 * BARRIERS <= 227 * 1024,
                "a block has at most 227 KB of shared memory: the launch would fail");
  static_assert(
      BLOCKS * (SMEM_BYTES + 16 * BARRIERS + 1024) <= 228 * 1024,
      "an SM has 228 KB of shared memory, of which each block's reserve is 1 KB: not all of BLOCKS would be resident");
};
// [/snippet config]

// Where a thread's first result lies in the warp's tile. Where A lies in rows, rows of
// neighbouring lanes are neighbours as well.
template <class C>
constexpr __host__ __device__ Position first_result_of(int thread) {
  const auto [row, col] = tile::thread_tile_of(thread);
  return {C::TRANSPOSED ? row : row / 4, col};
}
// How far the i-th row of a thread's results lies below its first.
template <class C>
constexpr __host__ __device__ int row_of_result(int i) {
  return C::TRANSPOSED ? tile::row_of(i) : 4 * i;
}
// Where a row of the tile of A lies in a row of the transposed tile. Through registers, 32
// lanes store words of 16 rows and of two quads: those of every other quad lie 16 words off,
// in the other banks.
template <class C>
constexpr __host__ __device__ int row_in_As(int row, int k) {
  return C::THROUGH_REGISTERS ? row ^ k / 4 % 2 * 16 : row;
}
// Where an element of the tile of A lies in a stage, and an element of the tile of B.
template <class C>
constexpr __host__ __device__ int place_in_As(int row, int k) {
  if (C::TRANSPOSED) return k * C::STRIDE_A + row_in_As<C>(row, k);
  return int(tile::swizzled(tile::Swizzle::bytes64, unsigned(row * C::BK + k) * 4) / 4);
}
template <class C>
constexpr __host__ __device__ int place_in_Bs(int k, int col) {
  return C::WORDS_A + k * C::BN + col;
}
// Through registers: float4s of a tile of A for each thread that copies.
template <class C>
constexpr int QUADS_A = C::BM* C::BK / 4 / (32 * C::COPY_WARPS);
// What of the tile of A a thread of those that copy fetches as its n-th float4. A warp: 16
// rows of two neighbouring quads, whole sectors.
struct Quad {
  int row, k;
};
constexpr __host__ __device__ Quad quad_to_fetch(int thread, int n) {
  return {n / 2 * 64 + thread / 32 * 16 + thread % 16, n % 2 * 8 + thread % 32 / 16 * 4};
}
// Where a thread finds steps 4q to 4q + 3 of its i-th row, if A lies in rows: in the quad with
// this number as its first row counts them. The swizzle numbers the quads of a row by
// exclusive or with the number of its pair of rows, and rows are four apart.
constexpr __host__ __device__ int quad_from_first_row(int q, int i) { return q ^ i % 2 * 2; }

// How blocks share the tiles of C: chapter 17's stream-K, a block for each tile, or, where
// nobody takes over, all tiles in equally many shares, or none in any.
template <class C>
constexpr tile::TileScheduler scheduler_for(int M, int N, int K, int sms) {
  const int most = sms * C::BLOCKS;
  if (C::SINGLE_TILE) return tile::whole_tiles<C>(M, N, K, INT_MAX);
  if (C::TAKE_OVER != TakeOver::never) return tile::stream_k<C>(M, N, K, most);
  tile::TileScheduler s = tile::whole_tiles<C>(M, N, K, most);
  const int shares = std::min(most / s.tiles(), s.k_tiles / C::MIN_K_TILES);
  if (shares > 1 && std::int64_t(s.tiles()) * s.k_tiles <= INT_MAX)
    s.blocks = shares * s.tiles(), s.split_tiles = s.tiles();
  return s;
}

// What copies in bulk cannot take as it lies is copied once more, in squares: a block each,
// down the columns of squares.
constexpr int SQUARE = 64, MOVERS = 256;

constexpr __host__ __device__ int squares_of(int rows, int cols) {
  return (rows + SQUARE - 1) / SQUARE * ((cols + SQUARE - 1) / SQUARE);
}
constexpr __host__ __device__ Position square_of(int block, int rows) {
  const int squares = (rows + SQUARE - 1) / SQUARE;  // in a column of squares
  return {block % squares * SQUARE, block / squares * SQUARE};
}

// What a copy is made of, as it lies or transposed, and where it goes. Rows of the copy begin
// at multiples of 16 bytes.
struct Move {
  const float* from;
  int rows, cols, ldFrom;
  float* to;
  int ldTo;
};

// Column k of a square, for its thread: float4s.
__device__ __forceinline__ void store_column(const float (&square)[SQUARE][SQUARE + 1],
                                             const Move& A, Position first, int k, int quad) {
  const float4 column{square[quad][k], square[quad + 1][k], square[quad + 2][k],
                      square[quad + 3][k]};  //@ load-square
  *reinterpret_cast<float4*>(                //@ store-AT
      &A.to[std::size_t(first.col + k) * A.ldTo + first.row + quad]) = column;
}

// A transposed, where its squares are whole and its float4s begin at multiples of 16 bytes.
__global__ void __launch_bounds__(MOVERS) transpose_A(const __grid_constant__ Move A) {
  __shared__ float square[SQUARE][SQUARE + 1];
  const Position first = square_of(int(blockIdx.x), A.rows);
  const int quad = int(threadIdx.x) % (SQUARE / 4) * 4;
  for (int row = int(threadIdx.x) / (SQUARE / 4); row < SQUARE; row += MOVERS / (SQUARE / 4)) {
    const float4 four = *reinterpret_cast<const float4*>(  //@ load-A
        A.from + std::size_t(first.row + row) * A.ldFrom + first.col + quad);
    square[row][quad] = four.x, square[row][quad + 1] = four.y;      //@ store-square
    square[row][quad + 2] = four.z, square[row][quad + 3] = four.w;  //@ store-square
  }
  __syncthreads();  // the square is there
  for (int k = int(threadIdx.x) / (SQUARE / 4); k < SQUARE; k += MOVERS / (SQUARE / 4))
    store_column(square, A, first, k, quad);
}

// Word by word, from wherever the matrices lie: of A a copy, or with TRANSPOSED its
// transpose, and then a copy of B. A thread asks for all of its words before it stores the
// first.
template <bool TRANSPOSED>
__global__ void __launch_bounds__(MOVERS)
    move_words(const __grid_constant__ Move A, const __grid_constant__ Move B,
               int squaresOfA) {
  constexpr int ROWS = MOVERS / SQUARE, WORDS = SQUARE / ROWS;  // at once, and for each thread
  __shared__ float square[TRANSPOSED ? SQUARE : 1][SQUARE + 1];
  const bool ofA = int(blockIdx.x) < squaresOfA;
  const Move& move = ofA ? A : B;
  const Position first = square_of(int(blockIdx.x) - (ofA ? 0 : squaresOfA), move.rows);
  const int row = int(threadIdx.x) / SQUARE, col = int(threadIdx.x) % SQUARE;
  const float* from = move.from + std::size_t(first.row + row) * move.ldFrom + first.col + col;
  float* to = move.to + std::size_t(first.row + row) * move.ldTo + first.col + col;
  float words[WORDS] = {};
  const auto copy = [&](auto guarded) {
    constexpr bool GUARDED = decltype(guarded)::value;
    const auto inside = [&](int n) {
      return !GUARDED ||
             (first.row + row + n * ROWS < move.rows && first.col + col < move.cols);
    };
#pragma unroll
    for (int n = 0; n < WORDS; ++n)
      if (inside(n)) words[n] = from[std::int64_t(n * ROWS) * move.ldFrom];  //@ load-word
    if (TRANSPOSED && ofA) return;
#pragma unroll
    for (int n = 0; n < WORDS; ++n)
      if (inside(n)) to[std::int64_t(n * ROWS) * move.ldTo] = words[n];  //@ store-word
  };
  if (first.row + SQUARE <= move.rows && first.col + SQUARE <= move.cols)
    copy(std::false_type{});
  else
    copy(std::true_type{});
  if (!TRANSPOSED || !ofA) return;
  if constexpr (TRANSPOSED) {
    for (int n = 0; n < WORDS; ++n) square[row + n * ROWS][col] = words[n];  //@ store-square
    __syncthreads();  // the square is there
    const int quad = int(threadIdx.x) % (SQUARE / 4) * 4;
    for (int k = int(threadIdx.x) / (SQUARE / 4); k < SQUARE; k += MOVERS / (SQUARE / 4))
      if (first.col + k < A.cols && first.row + quad < A.ldTo)
        store_column(square, A, first, k, quad);
  }
}

template <class C>
__device__ __forceinline__ void multiply(float (&acc)[C::ROWS][C::COLS], int i, float a,
                                         const float (&regN)[C::COLS]) {
#pragma unroll
  for (int n = 0; n < C::COLS; ++n) {
    const int j = i % 2 == 0 ? n : C::COLS - 1 - n;  // in serpentine order
    acc[i][j] += a * regN[j];
  }
}

// Stores a thread's results, the first of which lies at (row, col) of C.
template <class Config, bool WHOLE>
__device__ __forceinline__ void store_results(const float (&acc)[Config::ROWS][Config::COLS],
                                              int row, int col, int M, int N, float alpha,
                                              float beta, float* C, int ldc) {
#pragma unroll
  for (int i = 0; i < Config::ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < Config::COLS; j += 4) {
      const int r = row + row_of_result<Config>(i), c = col + tile::col_of(j);
      float* to = &C[std::size_t(r) * ldc + c];
      if constexpr (WHOLE) {
        float4 result{alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2],
                      alpha * acc[i][j + 3]};
        if (beta != 0.0f) {
          const float4 old = *reinterpret_cast<const float4*>(to);  //@ load-C
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z,
                    result.w + beta * old.w};
        }
        *reinterpret_cast<float4*>(to) = result;  //@ store-C
      } else {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (r >= M || c + n >= N) continue;
          float result = alpha * acc[i][j + n];
          if (beta != 0.0f) result += beta * to[n];  //@ load-C-words
          to[n] = result;                            //@ store-C-words
        }
      }
    }
  }
  // as behind a hand-over: what a warp has once stays in its registers
  if constexpr (!WHOLE) __syncwarp();
}

// Partials as chapter 17's fixup has them, for those who store them without a flag, or wait
// for several at once.
template <class C>
__device__ __forceinline__ float4* sums_of(const tile::Fixup& fixup, int block) {
  return fixup.partials + std::size_t(block) * (C::BM * C::BN / 4) + threadIdx.x;
}

template <class C>
__device__ __forceinline__ void store_sums(const float (&acc)[C::ROWS][C::COLS],
                                           const tile::Fixup& fixup) {
  float4* to = sums_of<C>(fixup, int(blockIdx.x));
#pragma unroll
  for (int i = 0; i < C::ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < C::COLS; j += 4) {
      const float4 four{acc[i][j + 1], acc[i][j], acc[i][j + 3], acc[i][j + 2]};
      to[(i * C::COLS + j) / 4 * C::CONSUMERS] = four;  //@ store-sums
    }
  }
}

// All shares from the `first` on that begin before round `behind`: a thread waits for each.
template <class C>
__device__ __forceinline__ void take_over_together(float (&acc)[C::ROWS][C::COLS],
                                                   const tile::Fixup& fixup,
                                                   const tile::TileScheduler& scheduler,
                                                   int first, int behind) {
  for (int n = first + int(threadIdx.x); scheduler.begin_of(n) < behind; n += C::CONSUMERS)
    while (atomicCAS(&fixup.ready[scheduler.block_of(n)], 1, 0) != 1)  //@ wait-all-ready
      __nanosleep(32);
  __threadfence();
  ptx::barrier_sync_aligned(1, C::CONSUMERS);  // all sums are there
#pragma unroll 2
  for (int n = first; scheduler.begin_of(n) < behind; ++n) {
    const float4* sums = sums_of<C>(fixup, scheduler.block_of(n));
#pragma unroll
    for (int i = 0; i < C::ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < C::COLS; j += 4) {
        const float4 four = sums[(i * C::COLS + j) / 4 * C::CONSUMERS];  //@ load-sums
        acc[i][j + 1] += four.x;
        acc[i][j] += four.y;
        acc[i][j + 3] += four.z;
        acc[i][j + 2] += four.w;
      }
    }
  }
}

// A where it lies, for threads that load it.
struct Matrix {
  const float* first;
  int rows, cols, ld;
};
// What the warps that copy are told of A.
template <class C>
using SourceOfA = std::conditional_t<C::THROUGH_REGISTERS, Matrix, CUtensorMap>;

// What the warps that copy do, where they bring A through registers. `full` and `empty` are
// the mbarriers of the stages.
template <class C>
__device__ __forceinline__ void copy_through_registers(const Matrix& A,
                                                       const CUtensorMap& mapB,
                                                       const tile::TileScheduler& scheduler,
                                                       float* stages, std::uint64_t* full,
                                                       std::uint64_t* empty) {
  const int thread = int(threadIdx.x) - C::CONSUMERS;
  float4 fetched[QUADS_A<C>];
  const Quad first = quad_to_fetch(thread, 0);
  const int firstPlace = place_in_As<C>(first.row, first.k);
  const auto fetch = [&](Position tile, int round) {
    const int firstRow = tile.row * C::BM + first.row, firstK = round * C::BK + first.k;
    const float* from = &A.first[std::size_t(firstRow) * A.ld + firstK];
#pragma unroll
    for (int n = 0; n < QUADS_A<C>; ++n) {
      const auto [rowBelow, kBehind] = quad_to_fetch(0, n);
      fetched[n] = float4{};
      if (firstRow + rowBelow < A.rows && firstK + kBehind < A.cols)
        fetched[n] = *reinterpret_cast<const float4*>(from + kBehind);  //@ load-A
      if (n % 2 == 1) from += 64 * std::size_t(A.ld);
    }
  };
  int stage = 0;
  unsigned parity = 1;
  const auto copy = [&](Position tile, int round) {
    ptx::mbarrier_wait_parity(&empty[stage], parity);
    float *As = stages + stage * C::STAGE_WORDS, *Bs = As + C::WORDS_A;
    if (thread == 0) {
      ptx::mbarrier_arrive_expect_tx(&full[stage], C::WORDS_B * sizeof(float));
      ptx::cp_async_bulk_tensor(Bs, mapB, tile.col * C::BN, round * C::BK,  //@ load-B store-Bs
                                &full[stage]);
    }
#pragma unroll
    for (int n = 0; n < QUADS_A<C>; ++n) {
      const auto [rowBelow, kBehind] = quad_to_fetch(0, n);
      float* to = As + firstPlace + kBehind * C::STRIDE_A + rowBelow;
      const float a[4] = {fetched[n].x, fetched[n].y, fetched[n].z, fetched[n].w};
      for (int i = 0; i < 4; ++i) to[i * C::STRIDE_A] = a[i];  //@ store-As
    }
    __syncwarp();  // all lanes have stored theirs
    if (thread % 32 == 0) ptx::mbarrier_arrive(&full[stage]);
    if (++stage == C::STAGES) stage = 0, parity ^= 1;
  };
  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
  Position tile{};
  while (work.next(scheduler)) {
    tile = scheduler.position_of(work.tile);
#pragma unroll 1
    for (int round = work.k_begin; round < work.k_end; ++round) {
      fetch(tile, round);  // it is on its way while the thread waits for the stage
      copy(tile, round);
    }
  }
  copy(tile, 0);  // what nobody multiplies
}

// WHOLE: tiles of C are whole and its float4s begin at multiples of 16 bytes.
template <class Config, bool WHOLE>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_tma(const __grid_constant__ SourceOfA<Config> mapA,
              const __grid_constant__ CUtensorMap mapB,
              const __grid_constant__ tile::TileScheduler scheduler,
              const __grid_constant__ tile::Fixup fixup,                   //
              int M, int N, float alpha, float beta, float* C, int ldc) {  // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS;
  constexpr int STAGES = Config::STAGES;
  constexpr bool TRANSPOSED = Config::TRANSPOSED;
  // STAGES times: BK x BM of A (rows: BM x BK), then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  // Of these STAGES are used. Both arrays together take 1 KB, so that the stages begin at a
  // multiple of it.
  __shared__ std::uint64_t full[Config::BARRIERS], empty[Config::BARRIERS];

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      // the thread that copies, and its bytes; each warp that brings A through registers
      ptx::mbarrier_init(&full[stage],
                         1 + (Config::THROUGH_REGISTERS ? Config::COPY_WARPS : 0));
      // each warp that has read the stage
      ptx::mbarrier_init(&empty[stage], Config::CONSUMERS / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are there

  if (threadIdx.x >= Config::CONSUMERS) {
    if constexpr (Config::REALLOCATED) ptx::setmaxnreg_dec<Config::FEWER_REGISTERS>();
    if constexpr (Config::THROUGH_REGISTERS) {
      copy_through_registers<Config>(mapA, mapB, scheduler, stages, full, empty);
      return;
    } else {
      if (threadIdx.x > Config::CONSUMERS) return;
      int stage = 0;
      // of the phase before the first, which counts as over: the stages are empty
      unsigned parity = 1;
      const auto copy = [&](Position tile, int round) {
        ptx::mbarrier_wait_parity(&empty[stage], parity);
        ptx::mbarrier_arrive_expect_tx(&full[stage], Config::STAGE_BYTES);
        float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
        std::uint64_t* come = &full[stage];
        if constexpr (TRANSPOSED)
          ptx::cp_async_bulk_tensor(As, mapA, tile.row * BM, round * BK,  //@ load-A store-As
                                    come);
        else
          ptx::cp_async_bulk_tensor(As, mapA, round * BK, tile.row * BM,  //@ load-A store-As
                                    come);
        ptx::cp_async_bulk_tensor(Bs, mapB, tile.col * BN, round * BK,  //@ load-B store-Bs
                                  come);
        if (++stage == STAGES) stage = 0, parity ^= 1;
      };
      tile::WorkTileIterator work(scheduler, int(blockIdx.x));
      Position tile{};
      while (work.next(scheduler)) {
        tile = scheduler.position_of(work.tile);
#pragma unroll 1
        for (int round = work.k_begin; round < work.k_end; ++round) copy(tile, round);
      }
      // operands are loaded ahead, behind the last round those of one that nobody multiplies
      copy(tile, 0);
      return;
    }
  }

  if constexpr (Config::REALLOCATED) ptx::setmaxnreg_inc<Config::MORE_REGISTERS>();
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = first_result_of<Config>(int(threadIdx.x));
  float acc[ROWS][COLS];

  // operands of a step, and of the next
  float regM[TRANSPOSED ? 2 : 1][ROWS], regN[2][COLS];
  float4 quads[TRANSPOSED ? 1 : ROWS];  // of A in rows: of four steps
  const char* const firstA =
      reinterpret_cast<const char*>(stages + place_in_As<Config>(warpRow + threadRow, 0));
  const char* const firstB =
      reinterpret_cast<const char*>(stages + place_in_Bs<Config>(0, warpCol + threadCol));
  const auto load_quad_of_A = [&](int at, int k, int i) {
    const int place = 4 * (k * BM + row_in_As<Config>(row_of_result<Config>(i), k));
    const float4 four = *reinterpret_cast<const float4*>(firstA + at + place);  //@ load-As
    float(&to)[ROWS] = regM[k % 2];
    to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
  };
  const auto load_quad_of_B = [&](int at, int k, int j) {
    const int place = 4 * (k * BN + tile::col_of(j));
    const float4 four = *reinterpret_cast<const float4*>(firstB + at + place);  //@ load-Bs
    float(&to)[COLS] = regN[k % 2];
    to[j] = four.x, to[j + 1] = four.y, to[j + 2] = four.z, to[j + 3] = four.w;
  };
  // Half of A, B, half of A: what order the loads stand in moves the registers that ptxas
  // gives the operands.
  const auto load_operands = [&](int at, int k) {
    if constexpr (TRANSPOSED) {
#pragma unroll
      for (int i = 0; i < ROWS / 2; i += 4) load_quad_of_A(at, k, i);
    }
#pragma unroll
    for (int j = 0; j < COLS; j += 4) load_quad_of_B(at, k, j);
    if constexpr (TRANSPOSED) {
#pragma unroll
      for (int i = ROWS / 2; i < ROWS; i += 4) load_quad_of_A(at, k, i);
    }
  };
  // A in rows: a float4 of a row is loaded again when its four steps have been multiplied.
  const char* const oddQuadOfA =
      reinterpret_cast<const char*>(stages + place_in_As<Config>(warpRow + threadRow, 4));
  const auto load_quad = [&](int at, int k, int i) {
    const int quad = quad_from_first_row(k / 4, i),
              place = 4 * (quad / 2 * 8 + row_of_result<Config>(i) * BK);
    quads[i] = *reinterpret_cast<const float4*>(  //@ load-As
        (quad % 2 == 0 ? firstA : oddQuadOfA) + at + place);
  };
  const auto operand_A = [&](int k, int i) {
    if constexpr (TRANSPOSED)
      return regM[k % 2][i];
    else
      return k % 4 == 0   ? quads[i].x
             : k % 4 == 1 ? quads[i].y
             : k % 4 == 2 ? quads[i].z
                          : quads[i].w;
  };
  int offset = 0;  // of the stage, in bytes
  std::uint64_t *come = full, *read = empty;
  unsigned parity = 0;
  // `come` is the mbarrier that says that the stage has come, `read` the one that says that it
  // has been read. Goes on when the next stage is there, and then gives this one back.
  const auto next_stage = [&] {
    std::uint64_t* const used = read;
    ++come, ++read, offset += int(Config::STAGE_BYTES);
    const bool around = come == full + STAGES;
    if (around) come = full, read = empty, offset = 0;
    parity ^= unsigned(around);
    ptx::mbarrier_wait_parity(come, parity);
    __syncwarp();  // all lanes have read it
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(used);
  };
  ptx::mbarrier_wait_parity(come, parity);
  load_operands(0, 0);
  if constexpr (!TRANSPOSED) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) load_quad(0, 0, i);
  }
  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
#pragma unroll 1
  while (work.next(scheduler)) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLS; ++j) acc[i][j] = 0.0f;
#pragma unroll 1
    for (int round = work.k_begin; round < work.k_end; ++round) {
#pragma unroll
      for (int k = 0; k < BK; ++k) {
        if (k == BK - 1) next_stage();  // the operands of the last step have been loaded
        load_operands(offset, (k + 1) % BK);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
          multiply<Config>(acc, i, operand_A(k, i), regN[k % 2]);
          if (!TRANSPOSED && k % 4 == 3) load_quad(offset, (k + 1) % BK, i);
        }
      }
    }

    if constexpr (Config::TAKE_OVER == TakeOver::never)
      if (scheduler.split_tiles > 0) {
        store_sums<Config>(acc, fixup);
        continue;
      }
    if (work.k_begin > 0) {
      tile::store_partials<Config::CONSUMERS, true>(acc, fixup);  //@ store-sums
      continue;
    }
    const int behind = (work.tile + 1) * scheduler.k_tiles;
    if (work.k_end < scheduler.k_tiles) {
      if constexpr (Config::TAKE_OVER == TakeOver::together)
        take_over_together<Config>(acc, fixup, scheduler,
                                   scheduler.unit_of(int(blockIdx.x)) + 1, behind);
      else
        for (int n = scheduler.unit_of(int(blockIdx.x)) + 1; scheduler.begin_of(n) < behind;
             ++n)
          tile::add_partials<Config::CONSUMERS, true>(  //@ load-sums wait-ready
              acc, fixup, scheduler.block_of(n));
    }
    const Position tile = scheduler.position_of(work.tile);
    store_results<Config, WHOLE>(acc, tile.row * BM + warpRow + threadRow,
                                 tile.col * BN + warpCol + threadCol, M, N, alpha, beta, C,
                                 ldc);
  }
}

// [snippet add-shares]
// Adds the shares of all tiles and stores the results. A block has the n-th float4 of each
// lane of one warp that has multiplied; its own warps take turns at the shares.
constexpr int ADDERS = 16;

template <class C>
__global__ void __launch_bounds__(32 * ADDERS)
    add_shares(const __grid_constant__ tile::TileScheduler scheduler, const float4* sums,
               int M, int N, float alpha, float beta, float* __restrict__ matrixC, int ldc) {
  __shared__ float4 added[ADDERS][32];
  constexpr int QUADS = C::ROWS * C::COLS / 4, WARPS = C::CONSUMERS / 32;
  const int shares = scheduler.blocks / scheduler.tiles(),
            number = int(blockIdx.x) / (QUADS * WARPS);
  const int quad = int(blockIdx.x) / WARPS % QUADS, warp = int(blockIdx.x) % WARPS;
  const int lane = int(threadIdx.x) % 32, adder = int(threadIdx.x) / 32;
  const auto of_share = [&](int n) {
    const int block = scheduler.block_of(number * shares + n);
    return sums[std::size_t(block) * (C::BM * C::BN / 4) + quad * C::CONSUMERS + warp * 32 +
                lane];  //@ load-share
  };
  float4 sum{};
#pragma unroll 4
  for (int n = adder; n < shares; n += ADDERS) {
    const float4 four = of_share(n);
    sum.x += four.x, sum.y += four.y, sum.z += four.z, sum.w += four.w;
  }
  added[adder][lane] = sum;  //@ store-added
  __syncthreads();           // all have added theirs
  if (threadIdx.x >= 128) return;
  // a result each: a word of the float4 of a lane
  float result = 0;
#pragma unroll
  for (int n = 0; n < ADDERS; ++n)
    result += reinterpret_cast<const float*>(added[n])[threadIdx.x];  //@ load-added
  const int thread = warp * 32 + int(threadIdx.x) / 4, first = quad * 4;
  const Position tile = scheduler.position_of(number);
  const int row = tile.row * C::BM + tile::warp_tile_of<C>(thread).row +
                  first_result_of<C>(thread).row + row_of_result<C>(first / C::COLS);
  const int col = tile.col * C::BN + tile::warp_tile_of<C>(thread).col +
                  first_result_of<C>(thread).col +
                  tile::col_of(first % C::COLS + tile::word_of<true>(int(threadIdx.x) % 4));
  if (row >= M || col >= N) return;
  float* to = &matrixC[std::size_t(row) * ldc + col];
  *to = alpha * result + (beta == 0.0f ? 0.0f : beta * *to);  //@ store-result
}
// [/snippet add-shares]

// [snippet async]
// Chapter 14's kernel in short, for what copies in bulk cannot take; tiles may be shared.
// WHOLE: tiles are whole and addresses divisible by 16.
template <class Config, bool WHOLE>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_async(const __grid_constant__ tile::TileScheduler scheduler,
                const __grid_constant__ tile::Fixup fixup,                  //
                int M, int N, int K, float alpha, const float* A, int lda,  // M x K
                const float* B, int ldb, float beta, float* C, int ldc) {   // K x N, M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS;
  // STAGES times: BK x BM of A, transposed and padded, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = first_result_of<Config>(int(threadIdx.x));

  const auto copy_word = [](float* to, const float* from, bool inside) {
    if (inside)
      ptx::cp_async_ca<4>(to, from);  //@ load-word store-word
    else
      *to = 0.0f;  //@ store-zero
  };
  constexpr int WIDTH_B = WHOLE ? 4 : 1;  // words of B that a thread copies at once
  // that all copy at once
  constexpr int ROWS_A = Config::NUM_THREADS / BK, ROWS_B = WIDTH_B * Config::NUM_THREADS / BN;
  const int rowA = int(threadIdx.x) / BK, colA = int(threadIdx.x) % BK;
  const int rowB = int(threadIdx.x) / (BN / WIDTH_B),
            colB = int(threadIdx.x) % (BN / WIDTH_B) * WIDTH_B;
  float acc[ROWS][COLS], regM[2][ROWS], regN[2][COLS];
  const auto load_operands = [&](const float* from, int k, int set) {
    for (int i = 0; i < ROWS; i += 4) {
      const int row = warpRow + threadRow + row_of_result<Config>(i);
      const float4 four =  //@ load-As
          *reinterpret_cast<const float4*>(&from[place_in_As<Config>(row, k)]);
      regM[set][i] = four.x, regM[set][i + 1] = four.y, regM[set][i + 2] = four.z,
      regM[set][i + 3] = four.w;
    }
    for (int j = 0; j < COLS; j += 4) {
      const int col = warpCol + threadCol + tile::col_of(j);
      const float4 four =  //@ load-Bs
          *reinterpret_cast<const float4*>(&from[place_in_Bs<Config>(k, col)]);
      regN[set][j] = four.x, regN[set][j + 1] = four.y, regN[set][j + 2] = four.z,
      regN[set][j + 3] = four.w;
    }
  };
  const auto wait_for_round = [] {
    // what this thread copied of the round has arrived
    ptx::cp_async_wait_group<Config::STAGES - 2>();
    // so has what the others copied, and all have read the stage that the next copies go to
    __syncthreads();
  };
  // The stage behind this one in the ring.
  const auto next_stage = [&](float* stage) {
    return stage == stages + (Config::STAGES - 1) * Config::STAGE_WORDS
               ? stages
               : stage + Config::STAGE_WORDS;
  };

  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
#pragma unroll 1
  while (work.next(scheduler)) {
    const Position tile = scheduler.position_of(work.tile);
    const int firstRow = tile.row * BM, firstCol = tile.col * BN;
    const int behind = work.k_end;
    int asked = work.k_begin;  // the round that is copied next
    const float* nextA = A + std::size_t(firstRow + rowA) * lda + asked * BK + colA;
    const float* nextB = B + std::size_t(asked * BK + rowB) * ldb + firstCol + colB;
    float *read = stages, *filled = stages;
    const auto copy_round = [&](auto guarded) {
      constexpr bool GUARDED = decltype(guarded)::value;
#pragma unroll
      for (int row = 0; row < BM; row += ROWS_A)
        copy_word(filled + place_in_As<Config>(rowA + row, colA),
                  nextA + std::size_t(row) * lda,
                  !GUARDED || (firstRow + rowA + row < M && asked * BK + colA < K));
#pragma unroll
      for (int k = 0; k < BK; k += ROWS_B) {
        float* to = filled + place_in_Bs<Config>(rowB + k, colB);
        const float* from = nextB + std::size_t(k) * ldb;
        if constexpr (WHOLE)
          ptx::cp_async_cg(to, from);  //@ load-quad store-quad
        else
          copy_word(to, from, !GUARDED || (asked * BK + rowB + k < K && firstCol + colB < N));
      }
    };
    const auto copy = [&] {
      if (asked < behind) {
        if (WHOLE || (firstRow + BM <= M && firstCol + BN <= N && (asked + 1) * BK <= K))
          copy_round(std::false_type{});
        else
          copy_round(std::true_type{});
      }
      ptx::cp_async_commit_group();
      ++asked;
      nextA += BK;
      nextB += std::size_t(BK) * ldb;
      filled = next_stage(filled);
    };
    for (int stage = 0; stage < Config::STAGES - 1; ++stage) copy();
    wait_for_round();
    load_operands(read, 0, 0);
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLS; ++j) acc[i][j] = 0.0f;
#pragma unroll 1
    for (int round = work.k_begin; round < behind; ++round) {
#pragma unroll
      for (int k = 0; k < BK; ++k) {
        if (k < BK - 1) load_operands(read, k + 1, (k + 1) % 2);
        if (k == 0) copy();
        // the operands of the next step lie in the next round
        if (k == BK - 1 && round + 1 < behind) {
          wait_for_round();
          read = next_stage(read);
          load_operands(read, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) multiply<Config>(acc, i, regM[k % 2][i], regN[k % 2]);
      }
    }
    if (work.k_begin > 0) {
      tile::store_partials<Config::CONSUMERS, true>(acc, fixup);  //@ store-sums
    } else {
      if (behind < scheduler.k_tiles)
        take_over_together<Config>(acc, fixup, scheduler,
                                   scheduler.unit_of(int(blockIdx.x)) + 1,
                                   (work.tile + 1) * scheduler.k_tiles);
      store_results<Config, WHOLE>(acc, firstRow + warpRow + threadRow,
                                   firstCol + warpCol + threadCol, M, N, alpha, beta, C, ldc);
    }
    // all have read the stages that the copies of the next stretch go to
    if constexpr (!Config::SINGLE_TILE) __syncthreads();
  }
}
// [/snippet async]

// [snippet vectors]
// Products of few rows or columns: each element of B, or of A, is used that often, and its
// bytes decide. So threads take them from where they lie, as they need them.
enum class Lanes {
  along_columns,  // neighbouring lanes have neighbouring columns of B: few rows of A
  along_K         // neighbouring lanes have neighbouring steps, and add up in the end
};
template <Lanes LANES_, int BM_, int BN_>
struct Vectors {
  static constexpr Lanes LANES = LANES_;
  static constexpr int BM = BM_, BN = BN_;  // rows and columns of C per block
  static constexpr int WARPS = 8, NUM_THREADS = 32 * WARPS;
  static constexpr int PLACES =
      std::max(BM * BN, 32);                     // for sums of a warp: 1 KB or more in all
  static constexpr int PIECE = 128;              // elements of a row that a warp loads at once
  static constexpr int STEPS = BM == 1 ? 8 : 4;  // rows of B that a warp loads at once
  static constexpr int BLOCKS = BM == 1 ? 2 : 4;  // of an SM, where tiles are shared
  // whether float4s are worth it: of several columns of B, words of neighbours are nearer
  static constexpr bool QUADS = LANES == Lanes::along_columns || BM == 8;
  static constexpr int BK =  // steps that a block takes at once
      LANES == Lanes::along_columns ? WARPS * STEPS : WARPS * PIECE;
  static_assert(LANES == Lanes::along_K || BN == PIECE, "a warp has all columns of its block");
};
using OneRow = Vectors<Lanes::along_columns, 1, 128>;
using FewRows = Vectors<Lanes::along_columns, 4, 128>;
using OneColumn = Vectors<Lanes::along_K, 8, 1>;
using OneColumnOfWords = Vectors<Lanes::along_K, 4, 1>;  // where A has no float4s
using FewColumns = Vectors<Lanes::along_K, 4, 4>;

// Each tile of C has so many shares, of `depth` steps each along K, one for each block.
struct Shares {
  int tilesN, shares, depth;
};
template <class C>
constexpr Shares shares_for(int M, int N, int K, int sms) {
  const int tilesN = tile::ceil_div(N, C::BN);
  const std::int64_t tiles = std::int64_t(tile::ceil_div(M, C::BM)) * tilesN;
  const int rounds = tile::ceil_div(K, C::BK);
  const int most = int(std::max<std::int64_t>(1, sms * C::BLOCKS / tiles));
  const int depth = tile::ceil_div(rounds, std::min(most, rounds)) * C::BK;
  return {tilesN, tile::ceil_div(K, depth), depth};
}

// Where the j-th of four elements of a piece lies that a lane loads. QUADS: as a float4.
template <bool QUADS>
constexpr __host__ __device__ int place_in_piece(int lane, int j) {
  return QUADS ? 4 * lane + j : lane + 32 * j;
}
// Loads them; zeros from element `left` of the piece on. With QUADS it is a multiple of 4.
template <bool QUADS>
__device__ __forceinline__ void load_four(const float* piece, int left, float (&four)[4]) {
  const int lane = int(threadIdx.x) % 32;
  if constexpr (QUADS) {
    float4 quad{};
    if (4 * lane < left)
      quad = *reinterpret_cast<const float4*>(&piece[4 * lane]);  //@ load-quad
    four[0] = quad.x, four[1] = quad.y, four[2] = quad.z, four[3] = quad.w;
  } else {
    for (int j = 0; j < 4; ++j) {
      const int place = place_in_piece<false>(lane, j);
      four[j] = place < left ? piece[place] : 0.0f;  //@ load-word
    }
  }
}

// Where blocks leave what they have summed, and how many have, of each tile.
struct Tickets {
  float* sums;  // shares x M x N
  unsigned* taken;
};

// QUADS: rows of B (few rows), or of A, are float4s throughout.
template <class Config, bool QUADS>
__global__ void __launch_bounds__(Config::NUM_THREADS, 2)
    sgemm_vectors(Shares shares, Tickets tickets, int M, int N, int K, float alpha,
                  const float* A, int lda,          // M x K
                  const float* B, int ldb,          // K x N
                  float beta, float* C, int ldc) {  // M x N
  constexpr int BM = Config::BM, BN = Config::BN, PIECE = Config::PIECE;
  __shared__ float sums[Config::WARPS][Config::PLACES];
  const int warpId = int(threadIdx.x) / 32, laneId = int(threadIdx.x) % 32;
  const int tile = int(blockIdx.x) / shares.shares, share = int(blockIdx.x) % shares.shares;
  const int firstRow = tile / shares.tilesN * BM, firstCol = tile % shares.tilesN * BN;
  const int first = share * shares.depth, behind = first + min(K - first, shares.depth);

  if constexpr (Config::LANES == Lanes::along_columns) {
    constexpr int STEPS = Config::STEPS;
    float acc[BM][4] = {};
#pragma unroll 1
    for (int k = first + warpId * STEPS; k < behind; k += Config::BK) {
      float regN[STEPS][4] = {}, regM[BM][STEPS] = {};
#pragma unroll
      for (int s = 0; s < STEPS; ++s)
        if (k + s < behind)
          load_four<QUADS>(&B[std::size_t(k + s) * ldb + firstCol], N - firstCol, regN[s]);
#pragma unroll
      for (int i = 0; i < BM; ++i)
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
          if (firstRow + i < M && k + s < behind)
            regM[i][s] = A[std::size_t(firstRow + i) * lda + k + s];  //@ load-A-word
#pragma unroll
      for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int i = 0; i < BM; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) acc[i][j] += regM[i][s] * regN[s][j];
    }
#pragma unroll
    for (int i = 0; i < BM; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sums[warpId][i * BN + place_in_piece<QUADS>(laneId, j)] = acc[i][j];  //@ store-sums
  } else {
    float acc[BM][BN] = {};
#pragma unroll 1
    for (int k = first + warpId * PIECE; k < behind; k += Config::BK) {
      float regM[BM][4] = {};
#pragma unroll
      for (int i = 0; i < BM; ++i)
        if (firstRow + i < M)
          load_four<QUADS>(&A[std::size_t(firstRow + i) * lda + k], behind - k, regM[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int at = k + place_in_piece<QUADS>(laneId, j);
        float regN[BN] = {};
#pragma unroll
        for (int n = 0; n < BN; ++n)
          if (at < behind && firstCol + n < N)
            regN[n] = B[std::size_t(at) * ldb + firstCol + n];  //@ load-B-word
#pragma unroll
        for (int i = 0; i < BM; ++i)
#pragma unroll
          for (int n = 0; n < BN; ++n) acc[i][n] += regM[i][j] * regN[n];
      }
    }
#pragma unroll
    for (int i = 0; i < BM; ++i)
#pragma unroll
      for (int n = 0; n < BN; ++n) {
        float sum = acc[i][n];
        for (int far = 16; far > 0; far /= 2) sum += __shfl_xor_sync(0xffffffff, sum, far);
        if (laneId == 0) sums[warpId][i * BN + n] = sum;  //@ store-sums
      }
  }
  __syncthreads();  // the sums of all warps are there

  // Of each element of the tile that C has: f(its number in the tile, row, column).
  const auto for_each_element = [&](auto&& f) {
    for (int n = int(threadIdx.x); n < BM * BN; n += Config::NUM_THREADS)
      if (const int row = firstRow + n / BN, col = firstCol + n % BN; row < M && col < N)
        f(n, row, col);
  };
  const auto store = [&](int row, int col, float sum) {
    float& c = C[std::size_t(row) * ldc + col];
    float result = alpha * sum;
    if (beta != 0.0f) result += beta * c;  //@ load-C-words
    c = result;                            //@ store-C-words
  };
  const auto place = [&](int n, int row, int col) {
    return (std::size_t(n) * M + row) * N + col;
  };
  for_each_element([&](int n, int row, int col) {
    float sum = 0.0f;
    for (int warp = 0; warp < Config::WARPS; ++warp) sum += sums[warp][n];  //@ load-sums
    if (shares.shares == 1)
      store(row, col, sum);
    else
      tickets.sums[place(share, row, col)] = sum;  //@ store-share
  });
  if (shares.shares == 1) return;
  __syncthreads();  // the share is stored
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    // counts round: it is zero again for the next run
    const unsigned before = unsigned(shares.shares) - 1;
    last = atomicInc(&tickets.taken[tile], before) == before;  //@ take-ticket
    __threadfence();
  }
  if (!__syncthreads_or(last)) return;  // the last block of the tile adds up
  for_each_element([&](int, int row, int col) {
    float sum = 0.0f;
    for (int n = 0; n < shares.shares; ++n)
      sum += tickets.sums[place(n, row, col)];  //@ load-share
    store(row, col, sum);
  });
}
// [/snippet vectors]

bool float4s_fit(const float* matrix, int ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && ld % 4 == 0;
}
template <class Config>
bool tiles_of_C_are_whole(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0;
}

// A matrix as copies in bulk take it, rows of which begin at multiples of 16 bytes: itself or
// a copy, transposed or not, made anew for each product.
class Moved {
 public:
  Moved(bool transposed, int rows, int cols, const float* matrix, int ld, const char* name)
      : transposed_(transposed),
        copied_(transposed || !float4s_fit(matrix, ld)),
        ldTo_(tile::ceil_div(transposed ? rows : cols, 4) * 4),
        copy_(copied_ ? std::size_t(transposed ? cols : rows) : 0, std::size_t(ldTo_), name),
        move_{matrix, rows, cols, ld, copy_.get(), ldTo_} {}

  CUtensorMap map(int box_rows, int box_cols,
                  tile::Swizzle swizzle = tile::Swizzle::none) const {
    return tile::tensor_map(
        copied_ ? move_.to : move_.from,
        {transposed_ ? move_.cols : move_.rows, transposed_ ? move_.rows : move_.cols,
         copied_ ? ldTo_ : move_.ldFrom, box_rows, box_cols, swizzle});
  }
  const Move& move() const { return move_; }
  // Squares that are copied word by word.
  int squares_of_words() const {
    return copied_ && !by_float4s() ? squares_of(move_.rows, move_.cols) : 0;
  }
  // Where no word is.
  void transpose() const {
    if (by_float4s())
      tile::launch(transpose_A, dim3(unsigned(squares_of(move_.rows, move_.cols))),
                   dim3(MOVERS), 0, move_);
  }

 private:
  bool by_float4s() const {
    return transposed_ && move_.rows % SQUARE == 0 && move_.cols % SQUARE == 0 &&
           float4s_fit(move_.from, move_.ldFrom);
  }

  bool transposed_, copied_;
  int ldTo_;
  tile::DeviceMatrix<float> copy_;
  Move move_;
};

// A product by blocks that may share tiles: what its launch needs besides the operands.
class Shared : public tile::BoundKernel {
 public:
  Shared(const tile::Gemm& g, const tile::TileScheduler& scheduler, int elements_of_tile);
  const tile::TileScheduler& scheduler() const { return scheduler_; }
  tile::Fixup fixup() const { return {sums_.get(), ready_.get()}; }

 protected:
  tile::Gemm g_;
  tile::TileScheduler scheduler_;

 private:
  std::size_t slots_;
  tile::DeviceMatrix<float4> sums_;
  tile::DeviceMatrix<int> ready_;
};

Shared::Shared(const tile::Gemm& g, const tile::TileScheduler& scheduler, int elements_of_tile)
    : g_(g),
      scheduler_(scheduler),
      slots_(scheduler.split_tiles > 0 ? std::size_t(scheduler.blocks) : 0),
      sums_(slots_, std::size_t(elements_of_tile) / 4, "sums"),
      ready_(1, slots_, "ready") {
  const std::vector<int> none(slots_);
  if (!none.empty())
    tile::machine::copy_to_device(ready_.get(), none.data(), none.size() * sizeof(int));
}

// And the operands as copies in bulk take them.
class Bulk : public Shared {
 public:
  Bulk(const tile::Gemm& g, const tile::TileScheduler& scheduler, int elements_of_tile,
       bool transposes);
  void copy();

 protected:
  bool transposes_;
  Moved A_, B_;
};
Bulk::Bulk(const tile::Gemm& g, const tile::TileScheduler& scheduler, int elements_of_tile,
           bool transposes)
    : Shared(g, scheduler, elements_of_tile),
      transposes_(transposes),
      A_(transposes, g.M, g.K, g.A, g.lda, "A copied"),
      B_(false, g.K, g.N, g.B, g.ldb, "B copied") {}
void Bulk::copy() {
  A_.transpose();
  const int ofA = A_.squares_of_words(), ofB = B_.squares_of_words();
  if (ofA + ofB > 0)
    tile::launch(transposes_ ? move_words<true> : move_words<false>, dim3(unsigned(ofA + ofB)),
                 dim3(MOVERS), 0, A_.move(), B_.move(), ofA);
}

template <class Config>
class Tma : public Bulk {
 public:
  Tma(const tile::Gemm& g, int sms)
      : Bulk(g, scheduler_for<Config>(g.M, g.N, g.K, sms), Config::BM * Config::BN,
             TRANSPOSES),
        sourceA_(source_of_A()),
        mapB_(B_.map(Config::BK, Config::BN)) {}

  void run() override {
    copy();
    multiply();
    if constexpr (Config::TAKE_OVER == TakeOver::never)
      if (scheduler_.split_tiles > 0) add();
  }
  void multiply() {
    const bool whole = tiles_of_C_are_whole<Config>(g_) && float4s_fit(g_.C, g_.ldc);
    tile::launch(whole ? sgemm_tma<Config, true> : sgemm_tma<Config, false>,
                 dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS),
                 Config::SMEM_BYTES, sourceA_, mapB_, scheduler_, fixup(), g_.M, g_.N,
                 g_.alpha, g_.beta, g_.C, g_.ldc);
  }
  void add() {
    constexpr int BLOCKS_OF_TILE = Config::BM * Config::BN / 128;
    tile::launch(add_shares<Config>, dim3(unsigned(scheduler_.tiles() * BLOCKS_OF_TILE)),
                 dim3(32 * ADDERS), 0, scheduler_, fixup().partials, g_.M, g_.N, g_.alpha,
                 g_.beta, g_.C, g_.ldc);
  }

 private:
  static constexpr bool TRANSPOSES = Config::FROM_A == FromA::transposed;

  SourceOfA<Config> source_of_A() const {
    if constexpr (Config::THROUGH_REGISTERS)
      return {g_.A, g_.M, g_.K, g_.lda};
    else if constexpr (TRANSPOSES)
      return A_.map(Config::BK, Config::BM);
    else
      return A_.map(Config::BM, Config::BK, tile::Swizzle::bytes64);
  }

  SourceOfA<Config> sourceA_;
  CUtensorMap mapB_;
};

// [snippet launch]
// Rows and columns are counted by int, also those of the last tile that lie outside.
constexpr int MOST_EXTENT = INT_MAX - 1024;

void require_countable(const tile::Gemm& g) {
  tile::require_valid(g);
  if (const int largest = std::max({g.M, g.N, g.K}); largest > MOST_EXTENT)
    throw std::invalid_argument("M, N and K may be " + std::to_string(MOST_EXTENT) +
                                " at most, and one is " + std::to_string(largest) +
                                ": split the problem");
}

template <class Config>
class Async : public Shared {
 public:
  Async(const tile::Gemm& g, int sms)
      : Shared(g, scheduler_for<Config>(g.M, g.N, g.K, sms), Config::BM * Config::BN) {}
  void run() override {
    const bool whole = tiles_of_C_are_whole<Config>(g_) && g_.K % Config::BK == 0 &&
                       float4s_fit(g_.A, g_.lda) && float4s_fit(g_.B, g_.ldb) &&
                       float4s_fit(g_.C, g_.ldc);
    tile::launch(whole ? sgemm_async<Config, true> : sgemm_async<Config, false>,
                 dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS),
                 Config::SMEM_BYTES, scheduler_, fixup(), g_.M, g_.N, g_.K, g_.alpha, g_.A,
                 g_.lda, g_.B, g_.ldb, g_.beta, g_.C, g_.ldc);
  }
};

// Whether all that lanes load side by side are float4s.
template <class C>
bool has_float4s(const tile::Gemm& g) {
  if constexpr (C::LANES == Lanes::along_K)
    return g.K % 4 == 0 && float4s_fit(g.A, g.lda);
  else
    return g.N % 4 == 0 && float4s_fit(g.B, g.ldb);
}

template <class C>
class Vector : public tile::BoundKernel {
 public:
  Vector(const tile::Gemm& g, int sms)
      : g_(g),
        shares_(shares_for<C>(g.M, g.N, g.K, sms)),
        tiles_(std::size_t(tile::ceil_div(g.M, C::BM)) * std::size_t(shares_.tilesN)),
        sums_(shares_.shares > 1 ? std::size_t(shares_.shares) * g.M : 0, std::size_t(g.N),
              "shares"),
        taken_(1, shares_.shares > 1 ? tiles_ : 0, "tickets") {
    if (shares_.shares == 1) return;
    const std::vector<unsigned> none(tiles_);
    tile::machine::copy_to_device(taken_.get(), none.data(), none.size() * sizeof(unsigned));
  }
  void run() override {
    tile::launch(has_float4s<C>(g_) ? sgemm_vectors<C, C::QUADS> : sgemm_vectors<C, false>,
                 dim3(unsigned(tiles_ * std::size_t(shares_.shares))), dim3(C::NUM_THREADS), 0,
                 shares_, Tickets{sums_.get(), taken_.get()}, g_.M, g_.N, g_.K, g_.alpha, g_.A,
                 g_.lda, g_.B, g_.ldb, g_.beta, g_.C, g_.ldc);
  }

 private:
  tile::Gemm g_;
  Shares shares_;
  std::size_t tiles_;
  tile::DeviceMatrix<float> sums_;
  tile::DeviceMatrix<unsigned> taken_;
};

using Device = tile::machine::Device;
using Bound = std::unique_ptr<tile::BoundKernel>;

template <class C>
Bound bind_async(const Device& device, const tile::Gemm& g) {
  return std::make_unique<Async<Config<C>>>(g, device.sms);
}

template <class C>
Bound bind_vectors(const Device& device, const tile::Gemm& g) {
  return std::make_unique<Vector<C>>(g, device.sms);
}
Bound bind_column(const Device& device, const tile::Gemm& g) {
  return (has_float4s<OneColumn>(g) ? bind_vectors<OneColumn>
                                    : bind_vectors<OneColumnOfWords>)(device, g);
}

template <class C>
Bound bind_tma(const Device& device, const tile::Gemm& g) {
  if (!device.copies_in_bulk)
    throw std::runtime_error(
        "this kernel needs TMA, and so compute capability 9.0 and a program compiled for it");
  return std::make_unique<Tma<Config<C>>>(g, device.sms);
}
// Rows of A come through registers as float4s.
Bound bind_tall(const Device& device, const tile::Gemm& g) {
  return (float4s_fit(g.A, g.lda) && g.K % 4 == 0 ? bind_tma<ThroughRegisters>
                                                  : bind_tma<Large>)(device, g);
}

// On a GPU without TMA.
Bound bind_on_older(const Device& device, const tile::Gemm& g) {
  static bool said = false;
  if (!said)
    std::fputs(
        "chapter 19: copies in bulk begin with compute capability 9.0, which this GPU or this program does not have: "
        "chapter 14's kernel multiplies\n",
        stderr);
  said = true;
  return bind_async<Fallback>(device, g);
}

template <Bound (*bind)(const Device&, const tile::Gemm&)>
Bound prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  require_countable(g);
  return bind(tile::machine::device(), g);
}
// [/snippet launch]

// [snippet dispatch]
// What the book's sgemm chooses among.
enum class Choice {
  large,              // tiles of 256 x 128
  tall,               // the same, where A comes through registers
  medium,             // of 64 x 128
  small,              // of 64 x 64
  medium_transposed,  // the same two, where A is transposed first
  small_transposed,
  split_k,  // the same, each in as many shares as there is room for
  thin,     // of 16 x 256
  narrow,   // of 128 x 32
  words,    // of 64 x 64, copied word by word from wherever the matrices lie
  row,      // one
  rows,     // few of them, or few results
  column,   // one
  columns,  // few of them, or very few results
  async     // chapter 14's kernel
};
struct Way {
  const char* name;
  Bound (*bind)(const Device&, const tile::Gemm&);
};
constexpr Way ways[] = {{"large", bind_tma<Large>},
                        {"tall", bind_tall},
                        {"medium", bind_tma<Medium>},
                        {"small", bind_tma<Small>},
                        {"medium_transposed", bind_tma<MediumTransposed>},
                        {"small_transposed", bind_tma<SmallTransposed>},
                        {"split_k", bind_tma<SplitK>},
                        {"thin", bind_tma<Thin>},
                        {"narrow", bind_tma<Narrow>},
                        {"words", bind_async<Words>},
                        {"row", bind_vectors<OneRow>},
                        {"rows", bind_vectors<FewRows>},
                        {"column", bind_column},
                        {"columns", bind_vectors<FewColumns>},
                        {"async", bind_on_older}};

// Elements in all tiles, whether C has them or not.
template <class Config>
double covered(const tile::Gemm& g) {
  return double(tile::ceil_div(g.M, Config::BM)) * Config::BM *
         tile::ceil_div(g.N, Config::BN) * Config::BN;
}

// What a way reckons with: elements in its tiles, and more where it has fewer blocks than the
// GPU has SMs, or than would fill it, as if those that are missing had to be waited for.
template <class Config>
double reckoned(const tile::Gemm& g, int filled, double blocks) {
  return covered<Config>(g) * std::max(1.0, filled / blocks);
}
template <class Config>
double reckoned_tiles(const tile::Gemm& g, int sms) {
  return reckoned<Config>(g, sms, scheduler_for<Config>(g.M, g.N, g.K, sms).blocks);
}
template <class Vectors>
double reckoned_vectors(const tile::Gemm& g, int sms) {
  return reckoned<Vectors>(g, sms,
                           double(tile::ceil_div(g.M, Vectors::BM)) *
                               tile::ceil_div(g.N, Vectors::BN) *
                               shares_for<Vectors>(g.M, g.N, g.K, sms).shares);
}

// With fewer the tiles of `split_k` do not come into question.
constexpr int LEAST_SHARES = 8;

Choice choice_for(const tile::Gemm& g, const Device& device) {
  // Bytes decide. Of more rows, those of B would be read more than twice.
  if (g.N == 1) return Choice::column;
  if (g.N <= 4) return Choice::columns;
  if (g.M == 1) return Choice::row;
  if (g.M <= 8) return Choice::rows;
  if (!device.copies_in_bulk) return Choice::async;
  const int sms = device.sms;
  const double elements = double(g.M) * g.N, products = elements * g.K,
               large_tiles = covered<Config<Large>>(g);
  // Of less, too many blocks would share a large tile, or a medium one.
  const bool many = elements >= 1e6, deep = products >= 3e9,
             each_has_one = large_tiles >= double(sms) * Large::BM * Large::BN,
             enough = each_has_one || (many && deep);
  // Times, in tenths of a product of large tiles, and for each step along K: what a product
  // takes; a kernel that goes before; each element that it transposes, or copies because it
  // lies where copies in bulk may not begin; that every large tile has more than one block;
  // and that medium tiles are not whole, or that float4s of C cannot be stored.
  constexpr double large = 10, tall = 10.6, medium = 11.3, medium_transposed = 10.5,
                   small = 12, small_transposed = 11.6, thin = 13.2, narrow = 16,
                   split_k = 11.2, words = 15, rows = 44, columns = 170, kernel = 1.2e9,
                   moved = 540, shared = 2e9, ragged = 1.2e9;
  const bool float4s_of_A = float4s_fit(g.A, g.lda), float4s_of_B = float4s_fit(g.B, g.ldb);
  const auto before = [&](bool moves_A) {
    const bool moves = moves_A || !float4s_of_B;
    return (moves ? kernel / g.K : 0) + (moves_A ? moved * g.M : 0) +
           (float4s_of_B ? 0 : moved * g.N);
  };
  const double copied = before(!float4s_of_A);
  const double of_several = each_has_one ? 0 : shared / g.K;
  const bool whole = tiles_of_C_are_whole<Config<Medium>>(g) && float4s_fit(g.C, g.ldc);
  const double medium_tiles = covered<Config<Medium>>(g), edges = whole ? 0 : ragged / g.K;
  const tile::TileScheduler splits = scheduler_for<Config<SplitK>>(g.M, g.N, g.K, sms);
  struct Time {
    Choice choice;
    double time;
    bool possible;
  };
  const Time times[] = {
      {Choice::small, small * reckoned_tiles<Config<Small>>(g, sms) + copied, true},
      {Choice::large, large * large_tiles + before(true) + of_several, enough},
      {Choice::tall, tall * large_tiles + copied + of_several,
       enough && float4s_of_A && g.K % 4 == 0},
      {Choice::medium, medium * medium_tiles + copied + edges, many || deep},
      {Choice::medium_transposed, medium_transposed * medium_tiles + before(true) + edges,
       medium_tiles >= double(sms) * Medium::BM * Medium::BN},
      {Choice::small_transposed,
       small_transposed * reckoned_tiles<Config<SmallTransposed>>(g, sms) + before(true),
       true},
      {Choice::split_k, split_k * reckoned<Config<SplitK>>(g, 2 * sms, splits.blocks) + copied,
       splits.blocks >= LEAST_SHARES * splits.tiles()},
      {Choice::thin, thin * reckoned_tiles<Config<Thin>>(g, sms) + copied, true},
      {Choice::narrow, narrow * reckoned_tiles<Config<Narrow>>(g, sms) + copied, true},
      {Choice::words, words * reckoned_tiles<Config<Words>>(g, sms), true},
      {Choice::rows, rows * reckoned_vectors<FewRows>(g, sms), true},
      {Choice::columns, columns * reckoned_vectors<FewColumns>(g, sms), true}};
  Time best = times[0];
  for (const Time& time : times)
    if (time.possible && time.time < best.time) best = time;
  return best.choice;
}

Bound bind_sgemm(const Device& device, const tile::Gemm& g) {
  return ways[int(choice_for(g, device))].bind(device, g);
}

std::string chosen_name(const tile::Product& product) {
  return ways[int(choice_for(tile::gemm_of(product), tile::machine::device()))].name;
}
// [/snippet dispatch]

// What the kernels of a multiplication take, each alone: where A is transposed by float4s, and
// where A and B are moved word by word. And what kernels of few rows and columns take, where
// the choice reckons with their products.
const std::vector<tile::Chapter::Rate> part_rates{
    {"transpose_us.2048", "transposing A, M = N = K = 2048, us"},
    {"multiply_us.2048", "multiplying, us"},
    {"transpose_us.4096", "transposing A, M = N = K = 4096, us"},
    {"multiply_us.4096", "multiplying, us"},
    {"transpose_us.8192", "transposing A, M = N = K = 8192, us"},
    {"multiply_us.8192", "multiplying, us"},
    {"move_us.2047", "transposing A and copying B, M = N = K = 2047, us"},
    {"multiply_us.2047", "multiplying, us"},
    {"move_us.1001", "transposing A and copying B, M = N = K = 1001, us"},
    {"multiply_us.1001", "multiplying, us"},
    {"move_us.1350", "transposing A and copying B, M = N = K = 1350, us"},
    {"multiply_us.1350", "multiplying, us"},
    {"split_us", "`split_k`, 128 x 128 x 16384: all shares, us"},
    {"add_us", "adding them, us"},
    {"rows_us", "`rows`, 256 x 256 x 16384, us"},
    {"columns_us", "`columns`, 256 x 256 x 16384, us"}};

// few, with a long K
constexpr tile::Case few_results{128, 128, 16384};

#if TILE_ON_GPU
const tile::Case of_vectors{256, 256, 16384};

// A product, and what a way to multiply has prepared for it, several times: calls take turns,
// so that none finds in L2 what the last one left.
template <class Way>
class Parts {
 public:
  explicit Parts(const tile::Case& c) {
    const double bytes = 4.0 * (double(c.M) * c.K + double(c.K) * c.N + double(c.M) * c.N);
    for (int i = 0; i <= int(240e6 / bytes); ++i) parts_.push_back(std::make_unique<Part>(c));
  }
  template <class F>
  double us(F&& run) {
    return 1e3 * tile::time_ms([&](int call) {
                   run(parts_[std::size_t(call) % parts_.size()]->way);
                 }).median;
  }

 private:
  struct Part {
    explicit Part(const tile::Case& c)
        : operands(c), way(operands.gemm(), tile::machine::device().sms) {}
    tile::Operands operands;
    Way way;
  };
  std::vector<std::unique_ptr<Part>> parts_;
};

template <class Way>
void measure_copy_and_product(tile::RateSink& sink, const std::string& copy, int size) {
  Parts<Way> parts({size, size, size});
  const std::string at = std::to_string(size);
  sink.rate(copy + "_us." + at, parts.us([](Way& way) { way.copy(); }));
  sink.rate("multiply_us." + at, parts.us([](Way& way) { way.multiply(); }));
}
void measure_parts(tile::RateSink& sink) {
  for (const int size : {2048, 4096, 8192})
    measure_copy_and_product<Tma<Config<Large>>>(sink, "transpose", size);
  measure_copy_and_product<Tma<Config<Large>>>(sink, "move", 2047);
  measure_copy_and_product<Tma<Config<SmallTransposed>>>(sink, "move", 1001);
  measure_copy_and_product<Tma<Config<MediumTransposed>>>(sink, "move", 1350);
  Parts<Tma<Config<SplitK>>> split(few_results);
  sink.rate("split_us", split.us([](auto& way) { way.multiply(); }));
  sink.rate("add_us", split.us([](auto& way) { way.add(); }));
  const auto run = [](tile::BoundKernel& way) { way.run(); };
  sink.rate("rows_us", Parts<Vector<FewRows>>(of_vectors).us(run));
  sink.rate("columns_us", Parts<Vector<FewColumns>>(of_vectors).us(run));
}
#else
constexpr void (*measure_parts)(tile::RateSink&) = nullptr;
#endif

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const int sms = tile::h200.sms;
  using C = Config<Large>;
  for (const int size : {1536, 3072, 4096, 5120, 6144}) {
    const int tiles = scheduler_for<C>(size, size, size, sms).tiles();
    facts.predicted("busy_percent." + std::to_string(size),
                    100.0 * tiles / (tile::ceil_div(tiles, sms) * sms), 1);
  }
  // A transposed, and the sums of each block
  facts.predicted(
      "workspace_mb.4096",
      4e-6 * (4096.0 * 4096 + scheduler_for<C>(4096, 4096, 4096, sms).blocks * C::BM * C::BN),
      0);

  // Products that the page takes as examples of what tiles cost.
  const auto covered_percent = [](double (*covered)(const tile::Gemm&), int M, int N) {
    tile::Gemm g{};
    g.M = M, g.N = N;
    return 100 * covered(g) / (double(M) * N);
  };
  facts.predicted("ragged.covered_percent", covered_percent(covered<C>, 4100, 4100), 1);
  facts.predicted("ragged.small.1023x129.covered_percent",
                  covered_percent(covered<Config<Small>>, 1023, 129), 0);
  facts.predicted("ragged.small.37x4099.covered_percent",
                  covered_percent(covered<Config<Small>>, 37, 4099), 0);
  facts.predicted("ragged.medium.1350.covered_percent",
                  covered_percent(covered<Config<Medium>>, 1350, 1350), 0);
  facts.predicted("limits.extent", MOST_EXTENT);
  // a matrix of 4096 x 4096
  facts.predicted("vector.us", 4 * 4096.0 * 4096 / tile::h200.dram_gbs * 1e-3, 0);
  // few results, and a long K
  const auto [M, N, K] = std::array{few_results.M, few_results.N, few_results.K};
  const tile::TileScheduler split = scheduler_for<Config<SplitK>>(M, N, K, sms);
  facts.predicted("split.shares", split.blocks / split.tiles());
  facts.predicted("split.places", sms * SplitK::BLOCKS);
  facts.predicted("split.small.blocks", scheduler_for<Config<Small>>(M, N, K, sms).blocks);
  facts.predicted("split.least_shares", LEAST_SHARES);
  facts.predicted("split.most_tiles", sms * SplitK::BLOCKS / LEAST_SHARES);
  // sixteen rows and columns
  constexpr int few = 16, depth = 65536;
  facts.predicted("few.columns.blocks",
                  tile::ceil_div(few, FewColumns::BM) * tile::ceil_div(few, FewColumns::BN) *
                      shares_for<FewColumns>(few, few, depth, sms).shares);
}

template <class C>
tile::Kernel kernel(const char* name) {
  return {.name = name,
          .address = reinterpret_cast<const void*>(sgemm_tma<Config<C>, true>),
          .block_threads = Config<C>::NUM_THREADS,
          .tile = {C::BM, C::BN, C::BK, tile::Alignment::whole_C},
          .static_shared = 2 * 8 * Config<C>::BARRIERS,
          .dynamic_shared = Config<C>::SMEM_BYTES,
          .prepare = prepare<bind_tma<C>>,
          .takes_any_extent = true};
}

template <class C>
tile::Kernel async_kernel(const char* name) {
  return {.name = name,
          .address = reinterpret_cast<const void*>(sgemm_async<Config<C>, true>),
          .block_threads = Config<C>::NUM_THREADS,
          .tile = {C::BM, C::BN, C::BK, tile::Alignment::float4s},
          .dynamic_shared = Config<C>::SMEM_BYTES,
          .prepare = prepare<bind_async<C>>,
          .takes_any_extent = true};
}

// The kernels that compute any shape themselves.
std::vector<tile::Kernel> kernels_of_any_shape() {
  return {kernel<Large>("tma"),
          kernel<Small>("small"),
          kernel<SplitK>("split_k"),
          kernel<Medium>("medium"),
          kernel<SmallTransposed>("small_transposed"),
          kernel<MediumTransposed>("medium_transposed"),
          kernel<Thin>("thin"),
          kernel<Narrow>("narrow"),
          async_kernel<Fallback>("async"),
          async_kernel<Words>("words")};
}
// Of this the general tests ask nothing, as A may decide as well.
tile::Kernel through_registers() {
  tile::Kernel through = kernel<ThroughRegisters>("through_registers");
  through.prepare = prepare<bind_tall>;
  return through;
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all = kernels_of_any_shape();
  all.insert(all.begin() + 1, through_registers());
  return all;
}

// Problems by their names: the sweep's, and those where one choice or another decides.
std::vector<tile::Case> problems_named(const std::string& names) {
  std::vector<tile::Case> problems;
  std::istringstream all(names);
  for (std::string name; all >> name;) {
    const tile::Problem p = tile::problem_named(name);
    problems.push_back({p.M, p.N, p.K});
  }
  return problems;
}
constexpr const char* choices =
    "24x4096x4096 40x4096x4096 37x4099x1021 4096x32x4096 8192x256x4096 513 1023x129x4095 "
    "1001 333x1000x2001 64x16384x4096 1281 1350 640x640x8192 128x128x16384";
constexpr const char* swept =
    "256 320 384 512 768 1024 1025 1050 1100 1152 1216 1217 1280 1281 1350 1400 1450 1536 "
    "1537 1700 1850 1900 2000 2048 2049 2100 2500 2560 3001 3072 4092 4096 4100 5120 6144 "
    "8192 12288 16384 4096x11008x4096 4096x4096x11008 8192x1024x8192 2048x12288x4096 "
    "512x4096x14336 16384x64x4096 64x16384x4096 16384x256x4096 8192x256x4096 8192x512x4096 "
    "1x4096x4096 2x4096x4096 4x4096x4096 8x4096x4096 9x4096x4096 16x4096x4096 24x4096x4096 "
    "32x4096x4096 40x4096x4096 48x4096x4096 64x4096x4096 80x4096x4096 4096x1x4096 "
    "4096x2x4096 4096x4x4096 4096x5x4096 4096x8x4096 4096x16x4096 4096x32x4096 4096x48x4096 "
    "1x4097x4097 4097x1x4097 16x16x65536 32x32x32768 64x64x16384 128x128x16384 256x256x16384 "
    "100x100x10000 128x128x1024 1000x16x1000 12x2001x4001 8192x8192x64 4095x4097x4093 1000 "
    "8192x32x4096 257 513 1001 2047 37x4099x1021 1023x129x4095 333x1000x2001";

// The book's sgemm.
tile::Kernel final_sgemm() {
  return {.name = "sgemm",
          .tile = {Small::BM, Small::BN, Small::BK, tile::Alignment::any},
          .prepare = prepare<bind_sgemm>,
          .takes_any_extent = true};
}

}  // namespace

// Counted: four tiles of `tma`, and as many blocks.
TILE_CHAPTER(.number = 19, .title = "A tile for every shape", .kernels = kernels(),
             .counted = {512, 256, 128},
             .sizes = {256, 512, 768, 1024, 1280, 1536, 2048, 4096, 8192}, .predict = predict,
             .measure_rates = measure_parts, .profiled = {{"transpose", "transpose_A"}},
             .shapes = problems_named(choices), .rates = part_rates,
             .baseline = tile::Baseline::stronger,
             .extension = tile::extension_of({final_sgemm(), problems_named(swept),
                                              chosen_name}))

// What sgemm starts for few rows and columns.
template <class C>
tile::Kernel vector_kernel(const char* name) {
  return {.name = name,
          .address = reinterpret_cast<const void*>(sgemm_vectors<C, C::QUADS>),
          .block_threads = C::NUM_THREADS,
          .tile = {C::BM, C::BN, C::BK, tile::Alignment::float4s},
          .static_shared = C::WARPS * C::PLACES * sizeof(float),
          .prepare = prepare<bind_vectors<C>>,
          .takes_any_extent = true};
}
std::vector<tile::Kernel> vector_kernels() {
  return {vector_kernel<FewRows>("rows"), vector_kernel<FewColumns>("columns"),
          vector_kernel<OneRow>("row"), vector_kernel<OneColumn>("column"),
          vector_kernel<OneColumnOfWords>("column_of_words")};
}

void expect_right(const tile::Kernel& kernel, const std::vector<tile::Case>& cases) {
  INFO(kernel.name);
  CHECK(tile::first_failure(kernel, cases) == "");
}

TILE_GEMM_TESTS(kernels_of_any_shape())

TILE_TRIED_ON_MODEL("small", "small_transposed", "split_k", "medium", "medium_transposed",
                    "thin", "narrow", "async", "words")

TEST_CASE("tma computes whole tiles and others, shared or not, wherever the matrices begin") {
  const tile::Kernel tma = kernel<Large>("tma");
  expect_right(tma, tile::whole_tiles(tma.tile));
  expect_right(tma, {{300, 100, 50, 1, 2, 1, tile::Fill::integers},
                     {255, 129, 401, 1, 2, 1, tile::Fill::integers},
                     // in two shares, in three; three tiles in four
                     {256, 128, 16 * 16, 1, 2, 0, tile::Fill::integers},
                     {256, 128, 25 * 16, 1, 2, 0, tile::Fill::integers},
                     {256, 384, 11 * 16, 1, 2, 0, tile::Fill::integers}});
}

TEST_CASE("rows of A lie where threads read them: whole tiles and others, in three shares") {
  expect_right(kernel<Small>("small"), {{64, 64, 16, 1, 0, 0, tile::Fill::integers},
                                        {65, 190, 400, 1, 2, 0, tile::Fill::integers}});
}

TEST_CASE("a tile in many shares, and in one: whole and not, wherever C begins") {
  expect_right(kernel<SplitK>("split_k"),
               {{64, 64, 2048, 1, 0, 0, tile::Fill::integers},
                {128, 192, 1000, 2, -1, 0, tile::Fill::integers},
                {100, 70, 1001, 1, 2, 1, tile::Fill::integers},
                {1, 1, 5000, -1, 0, 4, tile::Fill::integers},
                {1, 1, 26000, 1, 0, 0, tile::Fill::integers},  // 396 shares
                {70, 3, 127, 1, 0, 0, tile::Fill::integers},
                {1000, 1000, 129, 1, 1, 0, tile::Fill::integers}});
}

TEST_CASE("A through registers: whole tiles and others, few and many, shared or not") {
  const tile::Kernel kernel = through_registers();
  expect_right(kernel, tile::whole_tiles(kernel.tile));
  expect_right(kernel, tile::misaligned_cases(kernel.tile));
  expect_right(kernel, {{300, 100, 52, 1, 2, 4, tile::Fill::integers},
                        {255, 129, 400, 1, 2, 0, tile::Fill::integers},
                        {256, 384, 176, 1, -1, 0, tile::Fill::integers},
                        {1, 1, 4, 1, 0, 0, tile::Fill::integers}});
  tile::test_unread_C({kernel});
  tile::test_running_again({kernel});
  tile::test_refusals({kernel});
}

// Whether their elements come as float4s is not a matter of whole tiles, so what
// TILE_GEMM_TESTS asks is asked here one by one.
TEST_CASE("few rows and few columns: every shape, wherever the matrices begin" *
          doctest::test_suite("thorough")) {
  const std::vector<tile::Kernel> all = vector_kernels(), few{all[0], all[1]};
  tile::test_shapes(few);
  tile::test_rounding(few);
  tile::test_leading_dimensions(few);
  tile::test_misalignment(few);
  tile::test_alpha_and_beta(few);
  tile::test_unread_C(few);
  tile::test_running_again(few);
  tile::test_refusals(all);
}

TEST_CASE(
    "few rows and few columns: one, as many as a block has, one more, by one block or many") {
  for (const tile::Kernel& kernel : vector_kernels()) {
    std::vector<tile::Case> cases;
    for (const int M : {1, kernel.tile.BM, kernel.tile.BM + 1})
      for (const int N : {1, 3, kernel.tile.BN + 1})
        for (const int K : {1, 131, 2 * kernel.tile.BK + 4})
          cases.push_back({M, N, K, 2, -1, M % 2, tile::Fill::integers});
    expect_right(kernel, cases);
  }
}

TEST_CASE("the book's sgemm computes whatever it chooses for") {
  std::vector<tile::Case> cases{{1, 1, 1, 2, 0, 0, tile::Fill::integers},
                                {1, 130, 70, 1, 2, 1, tile::Fill::integers},
                                {130, 1, 70, 1, 0, 0, tile::Fill::integers},
                                {64, 192, 70, 1, 2, 0, tile::Fill::integers},
                                {3071, 1406, 5, 1, 2, 0, tile::Fill::integers}};
  for (const int few : {1, 2, 4, 5, 8, 9})
    for (const int K : {3, 300}) {
      cases.push_back({few, 133, K, 2, few % 3 - 1.0f, 0, tile::Fill::integers});
      cases.push_back({260, few, K, 2, few % 3 - 1.0f, few % 2, tile::Fill::integers});
      cases.push_back({few, few, 4 * K, 1, 0, 0, tile::Fill::integers});
    }
  expect_right(final_sgemm(), cases);
  tile::test_refusals({final_sgemm()});
}

Bound bind_without_tma(const Device& device, const tile::Gemm& g) {
  return bind_sgemm({device.sms, false}, g);
}
TEST_CASE("where no copies in bulk are, the book's sgemm computes all the same") {
  tile::Kernel older = final_sgemm();
  older.prepare = prepare<bind_without_tma>;
  expect_right(older, {{130, 70, 33, 2, -1, 1, tile::Fill::integers},
                       {256, 256, 64, 1, 0, 0, tile::Fill::integers},
                       {1, 70, 33, 1, 2, 0, tile::Fill::integers}});
}

// A product whose matrices hold no elements that anybody reads.
tile::Gemm product(int M, int N, int K) {
  alignas(16) static float words[8];
  return {M, N, K, 1, words, K, words, N, 0, words, N};
}

TEST_CASE("extents that int cannot count are refused when a product is prepared") {
  for (int tile::Gemm::*const extent : {&tile::Gemm::M, &tile::Gemm::N, &tile::Gemm::K}) {
    tile::Gemm g = product(4, 4, 4);
    g.lda = g.ldb = g.ldc = INT_MAX;
    g.*extent = MOST_EXTENT;
    CHECK_NOTHROW(require_countable(g));
    g.*extent = MOST_EXTENT + 1;
    for (const tile::Kernel& kernel : {kernel<Large>("tma"), final_sgemm()})
      CHECK_THROWS_WITH_AS(
          tile::Launchable(kernel).run(tile::product_of(g)),
          "M, N and K may be 2147482623 at most, and one is 2147482624: split the problem",
          std::invalid_argument);
  }
}

TEST_CASE("where an int does not count the rounds of all tiles, none is shared") {
  // 16 tiles of small, and 20
  constexpr int most = INT_MAX / 16 * 16;
  for (const auto scheduler : {scheduler_for<Config<Small>>, scheduler_for<Config<SplitK>>}) {
    CHECK(scheduler(256, 256, most, 132).split_tiles == 16);
    CHECK(scheduler(256, 320, most, 132).split_tiles == 0);
  }
}

TEST_CASE(
    "where nobody takes over, all tiles have as many shares, as many as there is room for") {
  const auto shares = [](int M, int N, int K, int sms) {
    const tile::TileScheduler s = scheduler_for<Config<SplitK>>(M, N, K, sms);
    CHECK(s.blocks <= sms * SplitK::BLOCKS);
    CHECK(s.split_tiles == (s.blocks > s.tiles() ? s.tiles() : 0));
    for (int n = 0; s.split_tiles > 0 && n < s.blocks; ++n)
      CHECK(s.begin_of(n + 1) - s.begin_of(n) >= SplitK::MIN_DEPTH / SplitK::BK);
    return s.split_tiles == 0 ? 1.0 : double(s.blocks) / s.tiles();
  };
  CHECK(shares(128, 128, 16384, 132) == 99);
  CHECK(shares(128, 128, 16384, 1) == 1);  // four tiles, three places
  CHECK(shares(128, 64, 16384, 1) == 1);
  CHECK(shares(64, 64, 16384, 1) == 3);
  CHECK(shares(1, 1, 127, 132) == 2);  // seven rounds and one that is not whole
  CHECK(shares(1, 1, 112, 132) == 1);
  CHECK(shares(1, 1, 65536, 132) == 396);
  CHECK(shares(64 * 14, 64 * 14, 4096, 132) == 2);  // 196 tiles
  CHECK(shares(64 * 15, 64 * 14, 4096, 132) == 1);
}

TEST_CASE("shares of few rows or columns cover K once") {
  const auto check = [](auto shares_for, int BK) {
    for (const int sms : {1, 132})
      for (const int M : {1, 8, 100})
        for (const int N : {1, 8, 4096})
          for (const int K : {1, 31, 1025, 4096, MOST_EXTENT}) {
            const Shares shares = shares_for(M, N, K, sms);
            CHECK(shares.depth % BK == 0);
            CHECK(std::int64_t(shares.shares) * shares.depth >= K);
            CHECK(std::int64_t(shares.shares - 1) * shares.depth < K);
          }
  };
  check(&shares_for<OneRow>, OneRow::BK);
  check(&shares_for<FewRows>, FewRows::BK);
  check(&shares_for<OneColumn>, OneColumn::BK);
  check(&shares_for<OneColumnOfWords>, OneColumnOfWords::BK);
  check(&shares_for<FewColumns>, FewColumns::BK);
}

TEST_CASE("sgemm chooses by shape, and by what the GPU has") {
  struct Chosen {
    Choice choice;
    const char* problems;
    int sms = 132;
  };
  using enum Choice;
  for (
      const Chosen& chosen : std::initializer_list<Chosen>{
          {large, "1792 2000 4096 16384"},
          // small enough for a kernel to count that transposes A
          {tall, "1500 1536"},
          // of 1200 tiles are not whole: ones of medium size have to cover as little as small ones
          {small, "384 512 960 1000 1088 1200 1216"},
          // a million elements or more, or a long K
          {medium, "1024 1152 1280 1400 64x15744x2048 64x11520x4096 640x640x8192"},
          {small, "64x15616x2048 64x11392x4096"},
          // A is transposed where it must be copied anyhow, or is small beside the product
          {small_transposed, "1001 1050"},
          {medium_transposed, "1217 1281 1350 1537 1700 2049"},
          {small, "64x16380x1024"},
          {medium, "64x16380x4096 64x16384x4096 62x16384x4096"},
          // A thin element is reckoned for 1.1 small ones. Of up to 48 rows thin tiles cover three
          // quarters of what small ones do, from 65 rows on three quarters again.
          {thin,
           "9x4096x4096 16x4096x4096 33x4096x4096 48x4096x4096 65x4096x4096 112x4096x4096 336x1024x2000 333x1000x2001"},
          {small, "49x4096x4096 64x4096x4096 113x4096x4096 128x4096x4096"},
          // few rows and columns
          {row, "1x4096x4096 1x5x4096"},
          {rows, "2x4096x4096 8x4096x4096 8x5x65536"},
          {column, "4096x1x4096 1x1x4096"},
          {columns, "4096x2x4096 4096x3x4096 4096x4x4096 1x4x4096 8x4x65536"},
          // a narrow tile has half as many columns as a small one
          {narrow, "4096x5x4096 4096x8x4096 4096x32x4096"},
          {small, "4096x33x4096 4096x64x4096 4096x96x4096 4096x128x4096"},
          // where A and B would have to be copied: words of small products
          {words, "257 513 705 37x4099x1021 1023x129x4095"},
          // fewer than a million elements, whatever K is
          {large, "512x2048x4096"},
          {small, "512x1920x2048"},
          {medium, "512x1920x4096"},
          // each SM has a large tile, or not
          {tall, "3072x1408x400"},
          {medium, "3072x1280x400"},
          // half or more of each large tile would lie beside C; a quarter
          {small, "16384x64x4096"},
          {medium_transposed, "192x16384x4096"},
          // with A transposed, if each SM has a medium tile
          {medium, "64x16768x4096"},
          {medium_transposed, "64x16896x4096"},
          // three thousand million products
          {medium, "3072x768x1268"},
          {tall, "3072x768x1272"},
          // much of A for few columns of B: it comes through registers, rather than be transposed
          {tall, "16384x256x4096 16384x768x4096"},
          {large, "256x16384x4096 16384x1024x4096 8192x1024x8192"},
          // few results: each tile in eight shares or more, which takes 49 tiles at most
          {columns, "16x16x65536"},
          {split_k,
           "24x24x16384 32x32x16384 64x64x16384 100x100x16384 128x128x16384 256x256x16384 448x448x16384"},
          {medium, "448x512x16384 449x449x16384"},
          // its shares are 64 deep, as those of `words`, those of `rows` 32
          {rows, "128x128x64 128x128x128 128x128x256 128x128x1024 256x256x128"},
          {split_k, "128x128x2048 256x256x1024"},
          {words, "256x256x256 256x256x512"},
          {medium, "1024x1024x16"},
          {small, "512x512x16"},
          // the same products, and fewer SMs to be waited for
          {small, "256x256x256", 32},
          {split_k, "128x128x1024", 32}}) {
    for (const tile::Case& c : problems_named(chosen.problems)) {
      INFO(tile::describe(c));
      CHECK(choice_for(product(c.M, c.N, c.K), {chosen.sms, true}) == chosen.choice);
    }
  }
  const Device older{108, false};
  for (const int n : {5, 512, 4096})
    CHECK(choice_for(product(n + 4, n, n), older) == Choice::async);
  CHECK(choice_for(product(8, 64, 64), older) == Choice::rows);
}

TEST_CASE("of where the matrices lie, sgemm asks what of them must be moved") {
  const auto choice = [&](const tile::Gemm& g) { return choice_for(g, {132, true}); };
  // far from where anything else would do, it does not matter
  for (const tile::Gemm& packed :
       {product(4096, 4096, 4096), product(1, 4096, 4096), product(8, 4096, 4096),
        product(4096, 1, 4096), product(4096, 3, 4096), product(16, 16, 65536)}) {
    std::vector<tile::Gemm> moved(10, packed);
    moved[0].beta = 1, moved[1].alpha = -2;
    ++moved[2].A, ++moved[3].B, ++moved[4].C;
    moved[5].lda += 1, moved[6].ldb += 2, moved[7].ldc += 3;
    moved[8].lda += 4, moved[8].ldb += 8, moved[8].ldc += 12;
    ++moved[9].A, ++moved[9].B, ++moved[9].C, ++moved[9].lda, ++moved[9].ldb, ++moved[9].ldc;
    for (const tile::Gemm& g : moved) CHECK(choice(g) == choice(packed));
  }
  // what is read as it lies does not come through registers where its rows are no float4s
  tile::Gemm tall = product(16384, 256, 4096);
  ++tall.C, ++tall.ldc, tall.lda += 4;
  CHECK(choice(tall) == Choice::tall);
  ++tall.A;
  CHECK(choice(tall) == Choice::large);
  --tall.A, ++tall.lda;
  CHECK(choice(tall) == Choice::large);
  CHECK(choice(product(16384, 256, 4095)) != Choice::tall);
  // of small products words are copied instead of matrices, and C does not matter
  tile::Gemm small = product(512, 512, 512);
  ++small.C, ++small.ldc;
  CHECK(choice(small) == Choice::small);
  ++small.A;
  CHECK(choice(small) == Choice::words);
  --small.A, ++small.ldb;
  CHECK(choice(small) == Choice::words);
  // to medium tiles it matters whether float4s of C can be stored
  tile::Gemm medium = product(1024, 1024, 1024);
  medium.ldc += 4;
  CHECK(choice(medium) == Choice::medium);
  ++medium.C;
  CHECK(choice(medium) == Choice::small);
}

TEST_CASE("squares cover a matrix once") {
  for (const int rows : {1, 64, 65, 300})
    for (const int cols : {1, 63, 200})
      CHECK(tile::covers_once(rows, cols, squares_of(rows, cols), [&](int block, auto take) {
              const auto [firstRow, firstCol] = square_of(block, rows);
              for (int row = firstRow; row < std::min(rows, firstRow + SQUARE); ++row)
                for (int col = firstCol; col < std::min(cols, firstCol + SQUARE); ++col)
                  take(row, col);
            }) == "");
}

// The maps of a configuration.
struct Maps {
  int BM, BN, BK, ROWS, COLS, CONSUMERS, STRIDE_A, WORDS_A, STAGE_WORDS;
  bool TRANSPOSED;
  Position (*warp_tile_of)(int), (*first_result_of)(int);
  int (*row_of_result)(int), (*row_in_As)(int, int), (*place_in_As)(int, int),
      (*place_in_Bs)(int, int);
};
template <class C>
constexpr Maps maps_of{C::BM,
                       C::BN,
                       C::BK,
                       C::ROWS,
                       C::COLS,
                       C::CONSUMERS,
                       C::STRIDE_A,
                       C::WORDS_A,
                       C::STAGE_WORDS,
                       C::TRANSPOSED,
                       tile::warp_tile_of<C>,
                       first_result_of<C>,
                       row_of_result<C>,
                       row_in_As<C>,
                       place_in_As<C>,
                       place_in_Bs<C>};

TEST_CASE("results and elements of a tile have one place each, where threads find them") {
  for (const Maps* const c :
       {&maps_of<Config<Large>>, &maps_of<Config<ThroughRegisters>>, &maps_of<Config<Small>>,
        &maps_of<Config<Medium>>, &maps_of<Config<MediumTransposed>>, &maps_of<Config<Thin>>,
        &maps_of<Config<Narrow>>}) {
    // a box begins at a multiple of 128 bytes, a swizzled one at eight spans of 64
    CHECK(c->STAGE_WORDS % (c->TRANSPOSED ? 32 : 128) == 0);
    CHECK(c->WORDS_A % 32 == 0);
    CHECK(tile::covers_once(1, c->STAGE_WORDS, c->BK, [&](int k, auto take) {
            for (int row = 0; row < c->BM; ++row) take(0, c->place_in_As(row, k));
            for (int col = 0; col < c->BN; ++col) take(0, c->place_in_Bs(k, col));
          }) == "");
    CHECK(tile::covers_once(c->BM, c->BN, c->CONSUMERS, [&](int thread, auto take) {
            const auto [warpRow, warpCol] = c->warp_tile_of(thread);
            const auto [threadRow, threadCol] = c->first_result_of(thread);
            const int row = warpRow + threadRow, col = warpCol + threadCol;
            for (int i = 0; i < c->ROWS; ++i) {
              for (int j = 0; j < c->COLS; ++j)
                take(row + c->row_of_result(i), col + tile::col_of(j));
              for (int k = 0; k < c->BK; ++k) {
                const int quad = quad_from_first_row(k / 4, i), first = i / 4 * 4;
                const int place =
                    c->TRANSPOSED ? c->place_in_As(row, 0) + k * c->STRIDE_A +
                                        c->row_in_As(c->row_of_result(first), k) + i - first
                                  : c->place_in_As(row, quad % 2 * 4) + quad / 2 * 8 +
                                        c->row_of_result(i) * c->BK + k % 4;
                REQUIRE(place == c->place_in_As(row + c->row_of_result(i), k));
              }
            }
          }) == "");
  }
}

TEST_CASE("through registers each float4 of a tile of A has one thread, and its place") {
  using C = Config<ThroughRegisters>;
  CHECK(tile::covers_once(C::BM, C::BK / 4, 32 * C::COPY_WARPS, [](int thread, auto take) {
          const Quad first = quad_to_fetch(thread, 0);
          for (int n = 0; n < QUADS_A<C>; ++n) {
            const Quad quad = quad_to_fetch(thread, n), from_first = quad_to_fetch(0, n);
            take(quad.row, quad.k / 4);
            REQUIRE(quad.row == first.row + from_first.row);
            REQUIRE(quad.k == first.k + from_first.k);
            for (int i = 0; i < 4; ++i)
              REQUIRE(place_in_As<C>(quad.row, quad.k + i) ==
                      place_in_As<C>(first.row, first.k) + (from_first.k + i) * C::STRIDE_A +
                          from_first.row);
          }
        }) == "");
}

TEST_CASE("sums of several blocks are the same bits in each run") {
  std::vector<tile::Kernel> all = kernels_of_any_shape();
  all.resize(6);
  all.push_back(vector_kernels()[0]), all.push_back(vector_kernels()[1]);
  for (const tile::Kernel& kernel : all) {
    const auto results = [&] {
      const tile::BoundCase bound(kernel, {70, 66, 1000, 1, 0, 0, tile::Fill::random});
      bound.kernel->run();
      return bound.operands.download_C();
    };
    CHECK(results() == results());
  }
}

TEST_CASE("flags are zero again when a run has ended, and the next run's sums are its own") {
  const tile::Case shared{65, 190, 400, 1, 0, 0, tile::Fill::integers};
  tile::Operands operands(shared);
  const int sms = tile::machine::device().sms;
  // sums taken over one by one, and all together
  Tma<Config<Large>> large(operands.gemm(), sms);
  Tma<Config<Small>> small(operands.gemm(), sms);
  for (Shared* const kernel : {static_cast<Shared*>(&large), static_cast<Shared*>(&small)}) {
    REQUIRE(kernel->scheduler().split_tiles > 0);
    for (const int seed : {1, 5, 9}) {
      operands.refill_A(tile::Fill::integers, std::uint64_t(seed));
      kernel->run();
      CHECK(tile::compare(operands).message == "");
      std::vector<int> flags(std::size_t(kernel->scheduler().blocks), -1);
      tile::machine::copy_to_host(flags.data(), kernel->fixup().ready,
                                  flags.size() * sizeof(int));
      CHECK(flags == std::vector<int>(flags.size()));
    }
  }
}

#if TILE_ON_MODEL
// Of each problem in ways.csv the time of each way that was forced upon it.
TEST_CASE("the choice loses little at the problems that it was fitted to" *
          doctest::test_suite("model")) {
  std::string path = __FILE__;
  std::ifstream file(path.replace(path.rfind('/') + 1, std::string::npos, "ways.csv"));
  const auto next_row = [&] {
    std::string line, field;
    do
      if (!std::getline(file, line)) line.clear();
    while (line.starts_with('#'));
    std::vector<std::string> row;
    for (std::istringstream fields(line); std::getline(fields, field, ',');)
      row.push_back(field);
    return row;
  };
  const std::vector<std::string> names = next_row();
  REQUIRE(names.size() > 4);
  int problems = 0;
  double ratios = 0;
  for (std::vector<std::string> row; row = next_row(), !row.empty(); ++problems) {
    REQUIRE(row.size() == names.size());
    const std::string choice = chosen_name(
        tile::product_of(product(std::stoi(row[0]), std::stoi(row[1]), std::stoi(row[2]))));
    double fastest = 1e9, chosen = 0;
    for (std::size_t i = 3; i < row.size(); ++i) {
      if (row[i] == "-") continue;
      fastest = std::min(fastest, std::stod(row[i]));
      if (names[i] == choice) chosen = std::stod(row[i]);
    }
    INFO(row[0], " x ", row[1], " x ", row[2], ": ", choice);
    REQUIRE(chosen > 0);  // it was measured
    CHECK(chosen < 1.1 * fastest);
    ratios += chosen / fastest;
  }
  CHECK(problems == 122);
  CHECK(ratios / problems < 1.01);
}

TEST_CASE("the kernel that brings A through registers is free of races on whole tiles" *
          doctest::test_suite("model thorough")) {
  tile::test_whole_tiles_are_clean({through_registers()});
}

TEST_CASE("sgemm starts what it chooses, and says so" * doctest::test_suite("model")) {
  struct Started {
    int M, N, K;
    Choice choice;
    const void* function;
  };
  const auto tma = []<class C>(C) {
    return reinterpret_cast<const void*>(sgemm_tma<Config<C>, true>);
  };
  const auto residue = []<class C>(C) {
    return reinterpret_cast<const void*>(sgemm_tma<Config<C>, false>);
  };
  const auto vectors = []<class C>(C) {
    return reinterpret_cast<const void*>(sgemm_vectors<C, C::QUADS>);
  };
  for (const Started& started :
       {Started{3072, 1408, 2048, Choice::large, tma(Large{})},
        {16384, 384, 4, Choice::tall, tma(ThroughRegisters{})},
        {1024, 1024, 16, Choice::medium, tma(Medium{})},
        {512, 512, 16, Choice::small, tma(Small{})},
        {1217, 1217, 1217, Choice::medium_transposed, residue(MediumTransposed{})},
        {1001, 1001, 1001, Choice::small_transposed, residue(SmallTransposed{})},
        {64, 64, 4096, Choice::split_k,
         reinterpret_cast<const void*>(add_shares<Config<SplitK>>)},  // the last to start
        {16, 16384, 128, Choice::thin, tma(Thin{})},
        {16384, 32, 128, Choice::narrow, tma(Narrow{})},
        {513, 513, 13, Choice::words,
         reinterpret_cast<const void*>(sgemm_async<Config<Words>, false>)},
        {1, 12, 4, Choice::row, vectors(OneRow{})},
        {8, 12, 4, Choice::rows, vectors(FewRows{})},
        {9, 1, 4, Choice::column, vectors(OneColumn{})},
        {9, 1, 5, Choice::column, vectors(OneColumnOfWords{})},
        {9, 2, 4, Choice::columns, vectors(FewColumns{})}}) {
    const std::string name = ways[int(started.choice)].name;
    CHECK(chosen_name(tile::product_of(product(started.M, started.N, started.K))) == name);
    CHECK(tile::launched(final_sgemm(), {started.M, started.N, started.K}).function ==
          started.function);
  }
}

TEST_CASE("only what copies in bulk cannot take is copied first, squares of A by float4s" *
          doctest::test_suite("model")) {
  const auto started = [](const tile::Kernel& kernel, tile::PerMatrix pads, int M, int K) {
    tile::Case c{M, 64, K, 1, 0, 0, tile::Fill::integers};
    c.pads = pads;
    const tile::BoundCase bound(kernel, c);
    return simt::launches([&] { bound.kernel->run(); });
  };
  const tile::Kernel small = kernel<Small>("small"), tma = kernel<Large>("tma");
  const auto kernels_started = [&](const tile::Kernel& kernel, int pad_of_A, int pad_of_B,
                                   int K = 16) {
    return started(kernel, {pad_of_A, pad_of_B, 0}, 64, K).size();
  };
  CHECK(kernels_started(small, 0, 0) == 1);
  CHECK(kernels_started(small, 4, 8) == 1);
  CHECK(kernels_started(small, 1, 0) == 2);
  CHECK(kernels_started(small, 0, 2) == 2);
  CHECK(kernels_started(small, 3, 3) == 2);  // both by one
  CHECK(kernels_started(tma, 0, 0) == 2);    // A is transposed in any case
  CHECK(kernels_started(tma, 1, 1) == 2);
  CHECK(kernels_started(tma, 0, 1) == 2);
  CHECK(kernels_started(tma, 0, 1, 64) == 3);  // A by float4s, B by words
  const auto by_float4s = [&](int M, int K, int pad) {
    return started(tma, {pad, 0, 0}, M, K).front().function ==
           reinterpret_cast<const void*>(transpose_A);
  };
  CHECK(by_float4s(64, 64, 0));
  CHECK(by_float4s(128, 192, 4));
  CHECK(!by_float4s(68, 64, 0));
  CHECK(!by_float4s(64, 68, 0));
  CHECK(!by_float4s(64, 64, 1));
}

TEST_CASE(
    "few rows and few columns: blocks of a tile add up in order, and the last one stores" *
    doctest::test_suite("model")) {
  const tile::Kernel kernel = vector_kernel<FewRows>("rows");
  const simt::Counts run =
      tile::traced_run(kernel, {3, 5, 3 * kernel.tile.BK + 1, 1, 2, 1, tile::Fill::integers});
  CHECK(run.grid.x == 4);
  CHECK(tile::site(run, "take-ticket").accesses == run.grid.x);
}

TEST_CASE("A comes through registers without a race, and its words meet in no bank" *
          doctest::test_suite("model")) {
  const simt::Counts run = tile::traced_run(kernel<ThroughRegisters>("through_registers"),
                                            {512, 256, 16 * 9, 1, 2, 0});
  CHECK(tile::site(run, "store-As").wavefronts == tile::site(run, "store-As").requests);
  CHECK(tile::bank_conflict(run, "load-As") == "");
  const simt::Site& loads = tile::site(run, "load-A");
  CHECK(loads.sectors == 16 * loads.requests);
}

TEST_CASE("rows of A that are no float4s do not come through registers" *
          doctest::test_suite("model")) {
  const tile::Kernel kernel = through_registers();
  const auto takes = [&](int K, int pad) {
    tile::Case c{256, 128, K, 1, 0, 0, tile::Fill::integers};
    c.pads.A = pad;
    return tile::launched(kernel, c).function == kernel.address;
  };
  CHECK(takes(32, 0));
  CHECK(takes(36, 4));
  CHECK(!takes(32, 1));
  CHECK(!takes(34, 2));
}

TEST_CASE("hand-overs are ordered, and so are stages that are used again" *
          doctest::test_suite("model")) {
  const simt::Counts run = tile::traced_run(kernel<Small>("small"),
                                            {64, 64, 16 * 25, 1, 2, 0, tile::Fill::integers});
  CHECK(run.grid.x == 3);
  const std::uint64_t quads = 64 * 64 / 4 / 32;  // a warp's, of one block
  CHECK(tile::site(run, "load-sums").requests == 2 * quads);
}
#endif
