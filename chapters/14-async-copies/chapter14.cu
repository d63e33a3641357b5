// Tile by Tile, chapter 14: asynchronous copies.
//
// Question: a tile on its way to shared memory passes through registers, which it needs for
// nothing but to arrive. Must it? Idea: cp.async copies from global to shared memory while the
// thread goes on. A ring of stages holds tiles that are on their way, and a wait for all but
// the latest of them comes before each barrier.
// Previous chapter: 13. The maps are chapter 12's, for a tile twice as wide and pieces half as
// tall.
//
// Build, run, verify:   ./tile run 14      ctest --preset model -R chapter14
#include <algorithm>
#include <type_traits>

#include "common/cuda/ptx.hpp"
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
// How a tile of A comes to shared memory.
enum class CopyA {
  words,     // 4 bytes at a time, asynchronously: each word can go anywhere
  quads,     // 16 bytes at a time, asynchronously: four words of a row stay together
  registers  // 16 bytes at a time into registers, and from there word by word
};
// How it lies there.
enum class TileA {
  transposed,  // along columns of A, padded
  rows         // as in A
};
// How a tile of B comes to shared memory, where it lies as in B.
enum class CopyB { quads, words };
// In which step of a tile the copies of a later tile are started. The last step belongs to the
// tile behind it.
enum class Start {
  first,   // all in the first
  spread,  // two a step, from the first on
  late     // all in the last but one
};
// When a thread loads the operands of a step from shared memory.
enum class Operands {
  ahead,  // in the step before: two sets of registers take turns
  at_use  // in the step itself
};
// In which order a step's multiply-adds go through the results of a thread.
enum class Order {
  snake,  // row by row, to and fro: where a row ends, the next begins in the same column
  rows    // row by row, each from its first column
};

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int STAGES_,                // tiles that shared memory has room for
          CopyA COPY_A_, TileA TILE_A_, CopyB COPY_B_, Start START_, Operands OPERANDS_,
          Order ORDER_>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, STAGES = STAGES_;
  static constexpr CopyA COPY_A = COPY_A_;
  static constexpr bool TRANSPOSED = TILE_A_ == TileA::transposed;
  static constexpr CopyB COPY_B = COPY_B_;
  static constexpr Start START = START_;
  static constexpr Operands OPERANDS = OPERANDS_;
  static constexpr Order ORDER = ORDER_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  // rows of a piece: 32 threads of TM x TN results cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int ROWS = WMITER * TM, COLS = WNITER * TN;  // results per thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  // words of A that a thread copies at once
  static constexpr int WIDTH_A = COPY_A == CopyA::words ? 1 : 4;
  static constexpr int WIDTH_B = COPY_B == CopyB::words ? 1 : 4;  // words of B
  // rows of a tile of A that all copy at once
  static constexpr int ROWS_A = WIDTH_A * NUM_THREADS / BK;
  static constexpr int ROWS_B = WIDTH_B * NUM_THREADS / BN;  // rows of a tile of B
  // of each thread and tile
  static constexpr int COPIES_A = BM / ROWS_A, COPIES_B = BK / ROWS_B;
  static constexpr int COPIES = COPIES_A + COPIES_B;
  static constexpr int STRIDE_A = TRANSPOSED ? BM + 4 : BK;  // words from row to row of As
  static constexpr int WORDS_A = TRANSPOSED ? BK * STRIDE_A : BM * STRIDE_A;
  static constexpr int STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE_WORDS * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN results must cover a piece, and WMITER x WNITER pieces the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (WIDTH_A * NUM_THREADS) == 0 && WIDTH_A * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by WIDTH_A*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (WIDTH_B * NUM_THREADS) == 0 && WIDTH_B * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by WIDTH_B*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(WSUBM / TM == 4 && WSUBN / TN == 8,
                "lanes form 4 rows of 8: their bits 0 and 4 count the rows");
  static_assert(COPY_A != CopyA::quads || !TRANSPOSED, "a copy of 16 bytes cannot transpose");
  static_assert(COPIES <= 2 * (BK - 1),
                "two copies a step must all be started before the last step");
  static_assert(BK % 2 == 0,
                "two sets of operands take turns: a tile must begin with the first again");
  static_assert(STAGES >= 2,
                "a tile is copied while another is multiplied: one stage would hold both");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(SMEM_BYTES <= 227 * 1024,
                "a block has at most 227 KB of shared memory: the launch would fail");
};

// One tile of 128 x 256 in eight warps, 16 x 8 results a thread: one block fills an SM.
template <int STAGES, Start START = Start::first, CopyA COPY_A = CopyA::words,
          TileA TILE_A = TileA::transposed, Operands OPERANDS = Operands::ahead,
          Order ORDER = Order::snake, CopyB COPY_B = CopyB::quads>
using Wide = Config<128, 256, 8, 64, 64, 2, 4, 4, STAGES, COPY_A, TILE_A, COPY_B, START,
                    OPERANDS, ORDER>;

using Stages2 = Wide<2>;
using Stages3 = Wide<3>;  // the chapter's kernel
using Stages4 = Wide<4>;
using Stages5 = Wide<5>;
using Late2 = Wide<2, Start::late>;
using Late3 = Wide<3, Start::late>;
using Late4 = Wide<4, Start::late>;
using Spread = Wide<3, Start::spread>;
using RowQuads = Wide<3, Start::first, CopyA::quads, TileA::rows>;
using RowWords = Wide<3, Start::first, CopyA::words, TileA::rows>;
using Registers = Wide<3, Start::first, CopyA::registers>;
using AtUse = Wide<3, Start::first, CopyA::words, TileA::transposed, Operands::at_use>;
using InRows =
    Wide<3, Start::first, CopyA::words, TileA::transposed, Operands::ahead, Order::rows>;
using AllWords = Wide<3, Start::first, CopyA::words, TileA::transposed, Operands::ahead,
                      Order::snake, CopyB::words>;
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
// Where a thread's first result lies in the warp's tile. Lanes 2n and 2n + 1 lie one below the
// other. Where As is not transposed, rows of neighbouring lanes are neighbours as well, so
// that their words lie in different banks.
template <class C>
constexpr __host__ __device__ Position first_result_of(int thread) {
  const int laneId = thread % 32;
  const int laneRow = laneId / 16 * 2 + laneId % 2, laneCol = laneId / 2 % 8;
  return {C::TRANSPOSED ? laneRow * C::TM : laneRow, laneCol * C::TN};
}
// How far the i-th row of a thread's results lies below its first, and the j-th column right
// of its first.
template <class C>
constexpr __host__ __device__ int row_of_result(int i) {
  return C::TRANSPOSED ? i / C::TM * C::WSUBM + i % C::TM : i * (C::WSUBM / C::TM);
}
template <class C>
constexpr __host__ __device__ int col_of_result(int j) {
  return j / C::TN * C::WSUBN + j % C::TN;
}
// The first word of a thread's first copy in the tile of A, and in the tile of B.
template <class C>
constexpr __host__ __device__ Position copy_A_of(int thread) {
  return {thread / (C::BK / C::WIDTH_A), thread % (C::BK / C::WIDTH_A) * C::WIDTH_A};
}
template <class C>
constexpr __host__ __device__ Position copy_B_of(int thread) {
  return {thread / (C::BN / C::WIDTH_B), thread % (C::BN / C::WIDTH_B) * C::WIDTH_B};
}
// Where an element of the tile of A lies in a stage, and an element of the tile of B.
template <class C>
constexpr __host__ __device__ int place_in_As(int row, int k) {
  return C::TRANSPOSED ? k * C::STRIDE_A + row : row * C::STRIDE_A + k;
}
template <class C>
constexpr __host__ __device__ int place_in_Bs(int k, int col) {
  return C::WORDS_A + k * C::BN + col;
}
// The step in which a thread starts its n-th copy.
template <class C>
constexpr __host__ __device__ int step_of_copy(int n) {
  return C::START == Start::first ? 0 : C::START == Start::spread ? n / 2 : C::BK - 2;
}
// The column of the n-th multiply-add of row i.
template <class C>
constexpr __host__ __device__ int nth_column(int i, int n) {
  return C::ORDER == Order::snake && i % 2 == 1 ? C::COLS - 1 - n : n;
}
// [/snippet maps]

// WHOLE: tiles are whole and addresses divisible by 16.
template <class Config, bool WHOLE>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_async(int M, int N, int K, float alpha,  //
                const float* A, int lda,           // M x K
                const float* B, int ldb,           // K x N
                float beta,                        //
                float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS;
  constexpr CopyA COPY_A = Config::COPY_A;
  constexpr bool TRANSPOSED = Config::TRANSPOSED;
  constexpr bool AHEAD = Config::OPERANDS == Operands::ahead;
  // STAGES times: BK x BM of A, transposed and padded (rows: BM x BK), then BK x BN of B
  extern __shared__ float4 stages[];
  float* const words = reinterpret_cast<float*>(stages);

  const int firstRow = blockIdx.y * BM, firstCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = first_result_of<Config>(threadIdx.x);
  const auto [rowA, colA] = copy_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = copy_B_of<Config>(threadIdx.x);
  float acc[ROWS][COLS] = {};

  // [snippet load]
  const int tiles = (K + BK - 1) / BK;
  int asked = 0;  // tiles whose copies this thread has started
  // the stage that copies go to, and the one that operands come from
  float *filled = words, *read = words;
  const float* nextA = A + std::size_t(firstRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + firstCol + colB;
  // what of A is on its way through registers
  float4 fetchedA[COPY_A == CopyA::registers ? Config::COPIES_A : 1];

  // The stage behind this one in the ring.
  const auto next_stage = [&](float* stage) {
    return stage == words + (Config::STAGES - 1) * Config::STAGE_WORDS
               ? words
               : stage + Config::STAGE_WORDS;
  };
  // Starts the n-th of this thread's copies of the next tile.
  const auto copy_A = [&](int n) {
    const int row = rowA + n * Config::ROWS_A;
    const float* from = nextA + std::size_t(n * Config::ROWS_A) * lda;
    float* to = filled + place_in_As<Config>(row, colA);
    if constexpr (COPY_A == CopyA::registers) {
      if constexpr (WHOLE) {
        fetchedA[n] = *reinterpret_cast<const float4*>(from);  //@ load-A
      } else {
        float a[4] = {};
        for (int i = 0; i < 4; ++i)
          if (firstRow + row < M && asked * BK + colA + i < K)
            a[i] = from[i];  //@ load-A-words
        fetchedA[n] = {a[0], a[1], a[2], a[3]};
      }
    } else if constexpr (!WHOLE) {
      for (int i = 0; i < Config::WIDTH_A; ++i) {
        if (firstRow + row < M && asked * BK + colA + i < K)
          tile::ptx::cp_async_ca<4>(to + i, from + i);  //@ load-A-words store-As-words
        else
          to[i] = 0.0f;  //@ store-As-zero
      }
    } else if constexpr (COPY_A == CopyA::words) {
      tile::ptx::cp_async_ca<4>(to, from);  //@ load-A store-As
    } else {
      tile::ptx::cp_async_cg(to, from);  //@ load-A store-As
    }
  };
  const auto copy_B = [&](int n) {
    const int k = rowB + n * Config::ROWS_B;
    const float* from = nextB + std::size_t(n * Config::ROWS_B) * ldb;
    float* to = filled + place_in_Bs<Config>(k, colB);
    if constexpr (WHOLE && Config::COPY_B == CopyB::quads) {
      tile::ptx::cp_async_cg(to, from);  //@ load-B store-Bs
    } else if constexpr (WHOLE) {
      tile::ptx::cp_async_ca<4>(to, from);  //@ load-B store-Bs
    } else {
      for (int j = 0; j < Config::WIDTH_B; ++j) {
        if (asked * BK + k < K && firstCol + colB + j < N)
          tile::ptx::cp_async_ca<4>(to + j, from + j);  //@ load-B-words store-Bs-words
        else
          to[j] = 0.0f;  //@ store-Bs-zero
      }
    }
  };
  const auto copy = [&](int n) {
    if (asked >= tiles) return;
    if (n < Config::COPIES_A)
      copy_A(n);
    else
      copy_B(n - Config::COPIES_A);
  };
  // All copies of a tile have been started: they are a group, empty behind the last tile.
  const auto finish_tile = [&] {
    if constexpr (COPY_A == CopyA::registers) {
#pragma unroll
      for (int n = 0; n < Config::COPIES_A; ++n) {
        if (asked >= tiles) break;
        const float a[4] = {fetchedA[n].x, fetchedA[n].y, fetchedA[n].z, fetchedA[n].w};
        for (int i = 0; i < 4; ++i)
          filled[place_in_As<Config>(rowA + n * Config::ROWS_A, colA + i)] =  //@ store-As
              a[i];
      }
    }
    tile::ptx::cp_async_commit_group();
    ++asked;
    filled = next_stage(filled);
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // [/snippet load]

  // [snippet wait]
  const auto wait_for_tile = [&] {
    // what this thread copied of the tile has arrived
    tile::ptx::cp_async_wait_group<Config::STAGES - 2>();
    // so has what the others copied, and all have read the stage that the next copies go to
    __syncthreads();
  };
  // [/snippet wait]

  // [snippet multiply]
  constexpr int SETS = AHEAD ? 2 : 1;
  float regM[TRANSPOSED ? SETS : 1][ROWS], regN[SETS][COLS];  // operands of a step
  float4 quads[TRANSPOSED ? 1 : ROWS];  // of A not transposed: of four steps

  const auto load_operands = [&](const float* stage, int k, int set) {
    if constexpr (TRANSPOSED) {
      for (int i = 0; i < ROWS; i += 4) {
        const int row = warpRow + threadRow + row_of_result<Config>(i);
        const float4 four =  //@ load-As
            *reinterpret_cast<const float4*>(&stage[place_in_As<Config>(row, k)]);
        regM[set][i] = four.x, regM[set][i + 1] = four.y, regM[set][i + 2] = four.z,
        regM[set][i + 3] = four.w;
      }
    }
    for (int j = 0; j < COLS; j += 4) {
      const int col = warpCol + threadCol + col_of_result<Config>(j);
      const float4 four =  //@ load-Bs
          *reinterpret_cast<const float4*>(&stage[place_in_Bs<Config>(k, col)]);
      regN[set][j] = four.x, regN[set][j + 1] = four.y, regN[set][j + 2] = four.z,
      regN[set][j + 3] = four.w;
    }
  };
  const auto load_quads = [&](const float* stage, int k) {
    for (int i = 0; i < ROWS; ++i) {
      const int row = warpRow + threadRow + row_of_result<Config>(i);
      quads[i] =  //@ load-As
          *reinterpret_cast<const float4*>(&stage[place_in_As<Config>(row, k)]);
    }
  };
  const auto multiply = [&](int k, int set) {
    for (int i = 0; i < ROWS; ++i) {
      float a;
      if constexpr (TRANSPOSED)
        a = regM[set][i];
      else
        a = k % 4 == 0   ? quads[i].x
            : k % 4 == 1 ? quads[i].y
            : k % 4 == 2 ? quads[i].z
                         : quads[i].w;
      for (int n = 0; n < COLS; ++n) {
        const int j = nth_column<Config>(i, n);
        acc[i][j] += a * regN[set][j];
      }
    }
  };
  // One tile; what comes in between for the next ones is left out in the last.
  const auto multiply_tile = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if constexpr (!TRANSPOSED) {
        if (k % 4 == 0) load_quads(read, k);
      }
      if constexpr (!AHEAD) {
        load_operands(read, k, 0);
      } else {
        if (k < BK - 1) load_operands(read, k + 1, (k + 1) % 2);
      }
      if constexpr (!LAST) {
#pragma unroll
        for (int n = 0; n < Config::COPIES; ++n) {
          if (step_of_copy<Config>(n) == k) copy(n);
        }
      }
      if constexpr (AHEAD && !LAST) {
        if (k == BK - 1) {  // the operands of the next step lie in the next tile
          finish_tile();
          wait_for_tile();
          load_operands(next_stage(read), 0, 0);
        }
      }
      multiply(k, AHEAD ? k % 2 : 0);
    }
    if constexpr (!AHEAD && !LAST) {
      finish_tile();
      wait_for_tile();
    }
  };
  // [/snippet multiply]

  // [snippet main-loop]
#pragma unroll
  for (int stage = 0; stage < Config::STAGES - 1; ++stage) {
#pragma unroll
    for (int n = 0; n < Config::COPIES; ++n) copy(n);
    finish_tile();
  }
  wait_for_tile();
  if constexpr (AHEAD) load_operands(read, 0, 0);
#pragma unroll 1
  for (int multiplied = 1; multiplied < tiles; ++multiplied) {
    multiply_tile(std::false_type{});
    read = next_stage(read);
  }
  multiply_tile(std::true_type{});
  // [/snippet main-loop]

#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; j += 4) {
      const int row = firstRow + warpRow + threadRow + row_of_result<Config>(i);
      const int col = firstCol + warpCol + threadCol + col_of_result<Config>(j);
      float* c = &C[std::size_t(row) * ldc + col];
      if constexpr (WHOLE) {
        float4 result{alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2],
                      alpha * acc[i][j + 3]};
        if (beta != 0.0f) {
          const float4 old = *reinterpret_cast<const float4*>(c);  //@ load-C
          result = {result.x + beta * old.x, result.y + beta * old.y, result.z + beta * old.z,
                    result.w + beta * old.w};
        }
        *reinterpret_cast<float4*>(c) = result;  //@ store-C
      } else {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (row >= M || col + n >= N) continue;
          float result = alpha * acc[i][j + n];
          if (beta != 0.0f) result += beta * c[n];  //@ load-C-words
          c[n] = result;                            //@ store-C-words
        }
      }
    }
  }
}

// [snippet launch]
bool divisible_by_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
template <class Config>
bool float4s_fit(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         divisible_by_16(g.A) && divisible_by_16(g.B) && divisible_by_16(g.C);
}

template <class Config>
void launch_async(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(float4s_fit<Config>(g) ? sgemm_async<Config, true> : sgemm_async<Config, false>,
               grid, dim3(Config::NUM_THREADS), Config::SMEM_BYTES, g.M, g.N, g.K, g.alpha,
               g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("stages2", Stages2{});
  f("stages3", Stages3{});
  f("stages4", Stages4{});
  f("stages5", Stages5{});
  f("late2", Late2{});
  f("late3", Late3{});
  f("late4", Late4{});
  f("spread", Spread{});
  f("row_quads", RowQuads{});
  f("row_words", RowWords{});
  f("registers", Registers{});
  f("at_use", AtUse{});
  f("in_rows", InRows{});
  f("all_words", AllWords{});
}

const tile::Case counted{256, 512, 256};  // four blocks

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  for_each_config([&]<class C>(const std::string& name, C) {
    const double ffma = C::BK * C::ROWS * C::COLS, lds = C::BK * (C::ROWS + C::COLS) / 4.0;
    const double sts = C::COPY_A == CopyA::registers ? 4 * C::COPIES_A : 0;
    // and the group, the wait, the barrier
    const double all = ffma + lds + sts + C::COPIES + 3;
    const double warps = C::NUM_THREADS / 32.0;
    const int sets = C::OPERANDS == Operands::ahead ? 2 : 1;
    facts.predicted(name + ".threads", C::NUM_THREADS);
    facts.predicted(name + ".results", C::ROWS * C::COLS);
    facts.predicted(name + ".stage_kb", C::STAGE_WORDS * 4 / 1024.0, 1);
    facts.predicted(name + ".smem_kb", C::SMEM_BYTES / 1024.0, 1);
    facts.predicted(name + ".copies", C::COPIES);
    facts.predicted(name + ".copies_of_A", C::COPIES_A);
    facts.predicted(name + ".operands",
                    C::TRANSPOSED ? sets * (C::ROWS + C::COLS) : 4 * C::ROWS + sets * C::COLS);
    facts.predicted(name + ".in_flight", C::COPY_A == CopyA::registers ? 4 * C::COPIES_A : 0);
    facts.predicted(name + ".tile_bytes", 4 * C::BK * (C::BM + C::BN));
    facts.predicted(name + ".round.ffma", ffma);
    facts.predicted(name + ".round.lds", lds);
    facts.predicted(name + ".round.all", all);
    facts.predicted(name + ".round.ceiling", tile::h200.peak_tflops() * ffma / all);
    // What the FFMA of one tile take at least, one per cycle per scheduler, and how many of them
    // pass from copies to their use.
    facts.predicted(name + ".tile_cycles", ffma * warps / tile::GpuSpec::schedulers);
    facts.predicted(name + ".ahead_cycles",
                    (C::STAGES - 1) * ffma * warps / tile::GpuSpec::schedulers);
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN,
                          double(C::ROWS + C::COLS) / (C::ROWS * C::COLS), 4, 4);
  });
  using C = Stages3;
  const auto [row, k] = copy_A_of<C>(13);
  facts.predicted("worked.copy.row", row);
  facts.predicted("worked.copy.k", k);
  facts.predicted("worked.copy.word", place_in_As<C>(row, k));
  facts.predicted("worked.copy.bank", place_in_As<C>(row, k) % tile::GpuSpec::banks);
  facts.predicted("worked.copy.next_bank", place_in_As<C>(row, k + 1) % tile::GpuSpec::banks);
  facts.predicted("worked.stride", C::STRIDE_A);
  facts.predicted("worked.result.row", first_result_of<C>(13).row);
  facts.predicted("worked.result.col", first_result_of<C>(13).col);
  facts.predicted("worked.result.row4", first_result_of<C>(13).row + row_of_result<C>(4));
  facts.predicted("worked.result.row_words.row", first_result_of<RowWords>(13).row);
  facts.predicted("worked.result.row_words.row4",
                  first_result_of<RowWords>(13).row + row_of_result<RowWords>(4));
  // How many tiles a problem has, and how often the busiest SM has one to do.
  for (const int size : {1024, 4096}) {
    const int tiles = tile::ceil_div(size, C::BM) * tile::ceil_div(size, C::BN);
    facts.predicted("tiles." + std::to_string(size), tiles);
    facts.predicted("rounds." + std::to_string(size), tile::ceil_div(tiles, tile::h200.sms));
  }
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_async<Config>,
          reinterpret_cast<const void*>(sgemm_async<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          0,
          Config::SMEM_BYTES};
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) { all.push_back(kernel<C>(name)); });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 14, .title = "Asynchronous copies", .kernels = kernels(),
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("fewer tiles than stages, as many, and more, whole and ragged" *
          doctest::test_suite("thorough")) {
  for_each_config([]<class C>(const char* name, C) {
    for (const int tiles : {1, C::STAGES, 2 * C::STAGES + 1}) {
      const int K = tiles * C::BK;
      INFO(name, ", K = ", K);
      const auto ragged = [&](int more) {
        return tile::Case{35, 31, K + more, 1, 2, 1, tile::Fill::integers};
      };
      const tile::Case whole{C::BM, C::BN, K, 1, 0, 0, tile::Fill::integers};
      CHECK(tile::first_failure(launch_async<C>, {whole, ragged(-1), ragged(1)}) == "");
    }
  });
}

// Each way to copy, to lie, to begin, once; the others are in the test above.
TILE_TRIED_ON_MODEL("stages3", "late2", "spread", "row_quads", "registers", "at_use",
                    "all_words")

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{128, 512, 40}, {70, 90, 101}});
}

TEST_CASE("a kernel's name says its stages, or in what it differs from the one with three") {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    CHECK(C::BM == 128);
    CHECK(C::BN == 256);
    CHECK(C::NUM_THREADS == 256);
    const bool has_number = name.starts_with("stages") || name.starts_with("late");
    CHECK(C::STAGES == (has_number ? name.back() - '0' : 3));
    CHECK(C::START == (name.starts_with("late") ? Start::late
                       : name == "spread"       ? Start::spread
                                                : Start::first));
    CHECK((C::COPY_A == CopyA::quads) == (name == "row_quads"));
    CHECK((C::COPY_B == CopyB::words) == (name == "all_words"));
    CHECK(C::TRANSPOSED == !name.starts_with("row_"));
    CHECK((C::COPY_A == CopyA::registers) == (name == "registers"));
    CHECK((C::OPERANDS == Operands::at_use) == (name == "at_use"));
    CHECK((C::ORDER == Order::rows) == (name == "in_rows"));
  });
}

TEST_CASE(
    "every result of a tile has one thread, and so has every element of the tiles of A and B") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    std::vector<int> results(C::BM * C::BN), of_A(C::BM * C::BK), of_B(C::BK * C::BN);
    for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
      const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
      const auto [row, col] = first_result_of<C>(thread);
      for (int i = 0; i < C::ROWS; ++i)
        for (int j = 0; j < C::COLS; ++j)
          ++results.at(std::size_t((warpRow + row + row_of_result<C>(i)) * C::BN + warpCol +
                                   col + col_of_result<C>(j)));
      for (int n = 0; n < C::COPIES_A; ++n)
        for (int i = 0; i < C::WIDTH_A; ++i)
          ++of_A.at(std::size_t((copy_A_of<C>(thread).row + n * C::ROWS_A) * C::BK +
                                copy_A_of<C>(thread).col + i));
      for (int n = 0; n < C::COPIES_B; ++n)
        for (int i = 0; i < C::WIDTH_B; ++i)
          ++of_B.at(std::size_t((copy_B_of<C>(thread).row + n * C::ROWS_B) * C::BN +
                                copy_B_of<C>(thread).col + i));
    }
    CHECK(results == std::vector<int>(results.size(), 1));
    CHECK(of_A == std::vector<int>(of_A.size(), 1));
    CHECK(of_B == std::vector<int>(of_B.size(), 1));
  });
}

TEST_CASE(
    "no two elements share a word of a stage, and float4s begin at multiples of 16 bytes") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    std::vector<int> elements(C::STAGE_WORDS);
    for (int k = 0; k < C::BK; ++k) {
      for (int row = 0; row < C::BM; ++row) ++elements.at(std::size_t(place_in_As<C>(row, k)));
      for (int col = 0; col < C::BN; ++col) ++elements.at(std::size_t(place_in_Bs<C>(k, col)));
    }
    CHECK(*std::max_element(elements.begin(), elements.end()) == 1);
    CHECK(C::STAGE_WORDS % 4 == 0);
    for (int k = 0; k < C::BK; ++k) {
      CHECK(place_in_Bs<C>(k, 4) % 4 == 0);
      CHECK(place_in_As<C>(4, k / 4 * 4) % 4 == 0);
    }
  });
}

TEST_CASE(
    "the map of the snake has every column of a row, and begins a row where it ended the last") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    for (int i = 0; i < C::ROWS; ++i) {
      std::vector<int> columns(C::COLS);
      for (int n = 0; n < C::COLS; ++n) ++columns.at(std::size_t(nth_column<C>(i, n)));
      CHECK(columns == std::vector<int>(C::COLS, 1));
      const bool goes_on = nth_column<C>(i, C::COLS - 1) == nth_column<C>(i + 1, 0);
      CHECK(goes_on == (C::ORDER == Order::snake));
    }
  });
}

// [snippet ring]
// The ring by itself, around chapter 03's kernel: a tile of 32 x 32 results, one for each of
// 1024 threads. Tiles are whole, alpha is 1 and beta 0.
template <int STAGES>
__global__ void __launch_bounds__(1024)
    sgemm_ring(int K, const float* A, int lda, const float* B, int ldb, float* C, int ldc) {
  __shared__ float As[STAGES][32][32], Bs[STAGES][32][32];
  const int threadRow = threadIdx.x / 32, threadCol = threadIdx.x % 32;
  const int row = blockIdx.y * 32 + threadRow, col = blockIdx.x * 32 + threadCol;
  const int tiles = K / 32;

  // Starts this thread's two copies of a tile.
  const auto start_copies = [&](int tile) {
    if (tile < tiles) {
      const int stage = tile % STAGES, k = tile * 32;
      tile::ptx::cp_async_ca<4>(&As[stage][threadRow][threadCol],
                                &A[std::size_t(row) * lda + k + threadCol]);
      tile::ptx::cp_async_ca<4>(&Bs[stage][threadRow][threadCol],
                                &B[std::size_t(k + threadRow) * ldb + col]);
    }
    tile::ptx::cp_async_commit_group();  // of two copies, or of none behind the last tile
  };

  for (int tile = 0; tile < STAGES - 1; ++tile) start_copies(tile);
  float acc = 0.0f;
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % STAGES;
    // what this thread copied of the tile has arrived
    tile::ptx::cp_async_wait_group<STAGES - 2>();
    // so has what the others copied, and the stage that the next copies go to has been read
    __syncthreads();
    start_copies(tile + STAGES - 1);
    for (int k = 0; k < 32; ++k) acc += As[stage][threadRow][k] * Bs[stage][k][threadCol];
  }
  C[std::size_t(row) * ldc + col] = acc;
}
// [/snippet ring]

template <int STAGES>
void launch_ring(const tile::Gemm& g) {
  tile::launch(sgemm_ring<STAGES>, dim3(g.N / 32, g.M / 32), dim3(1024), 0, g.K, g.A, g.lda,
               g.B, g.ldb, g.C, g.ldc);
}

TEST_CASE("the ring by itself is exact with fewer tiles than stages, as many, and more") {
  const auto exact = [](void (*launch)(const tile::Gemm&), int stages) {
    INFO(stages, " stages");
    for (const int tiles : {1, stages, 2 * stages + 1})
      CHECK(tile::first_failure(launch,
                                {{64, 96, tiles * 32, 1, 0, 3, tile::Fill::integers}}) == "");
  };
  exact(launch_ring<2>, 2);
  exact(launch_ring<3>, 3);
  exact(launch_ring<5>, 5);
}

#if TILE_ON_MODEL
TEST_CASE(
    "in the ring by itself a wait leaves the copies of all tiles but the next under way" *
    doctest::test_suite("model")) {
  const auto run =
      tile::traced_run(launch_ring<3>, {32, 32, 4 * 32, 1, 0, 0, tile::Fill::integers});
  CHECK(run.barriers == 4);
  CHECK(run.waits_for_copies == std::vector<std::uint64_t>{0, 4 * 1024});
}

TEST_CASE("a block passes one barrier a tile" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 5}) {
      INFO(kernel.name);
      const tile::Case c{kernel.tile.BM,      kernel.tile.BN, tiles * kernel.tile.BK, 1, 0, 0,
                         tile::Fill::integers};
      CHECK(tile::traced_run(kernel.launch, c).barriers == std::uint64_t(tiles));
    }
}

// What one block does between two barriers: the tiles of B that it begins to copy, the words
// of shared memory that it or its copies write, and those that it reads; sorted, each once.
struct Interval {
  std::vector<std::int64_t> tiles, written, read;
};

void keep_each_once(std::vector<std::int64_t>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

template <class C>
std::vector<Interval> intervals_of(C, int tiles) {
  simt::Trace options;
  options.keep_touches = true;
  const simt::Counts run = tile::traced_run(
      launch_async<C>, {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers}, options);
  std::vector<Interval> intervals(run.barriers + 1);
  for (const simt::Touch& t : run.touches) {
    Interval& interval = intervals.at(std::size_t(t.interval));
    if (t.array == "B") interval.tiles.push_back(t.byte_offset / 4 / C::BN / C::BK);
    if (t.array != "stages") continue;
    for (std::int64_t word = t.byte_offset / 4; word < (t.byte_offset + t.width) / 4; ++word)
      (t.op == simt::Op::load ? interval.read : interval.written).push_back(word);
  }
  for (Interval& interval : intervals) {
    keep_each_once(interval.tiles);
    keep_each_once(interval.written);
    keep_each_once(interval.read);
  }
  return intervals;
}

TEST_CASE(
    "copies run STAGES - 1 tiles ahead, and no stage is both written and read between two barriers" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C config) {
    INFO(name);
    const int tiles = 2 * C::STAGES + 1, ahead = C::STAGES - 1;
    const auto intervals = intervals_of(config, tiles);
    REQUIRE(intervals.size() == std::size_t(tiles + 1));
    std::vector<std::int64_t> first(static_cast<std::size_t>(ahead));
    for (int s = 0; s < ahead; ++s) first[std::size_t(s)] = s;
    CHECK(intervals[0].tiles == first);
    CHECK(intervals[0].read.empty());
    for (int i = 1; i <= tiles; ++i) {  // tile i - 1 is multiplied
      CAPTURE(i);
      const Interval& interval = intervals[std::size_t(i)];
      CHECK(interval.tiles == (i - 1 + ahead < tiles ? std::vector<std::int64_t>{i - 1 + ahead}
                                                     : std::vector<std::int64_t>{}));
      CHECK(interval.read.size() == std::size_t((C::BM + C::BN) * C::BK));
      CHECK(interval.read.front() / C::STAGE_WORDS == (i - 1) % C::STAGES);
      CHECK(interval.read.back() / C::STAGE_WORDS == (i - 1) % C::STAGES);
      for (const std::int64_t word : interval.written)
        REQUIRE(!std::binary_search(interval.read.begin(), interval.read.end(), word));
    }
  });
}

TEST_CASE("a wait leaves the copies of all tiles but the next under way" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    const int tiles = C::STAGES + 1;
    const auto run = tile::traced_run(
        launch_async<C>, {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers});
    std::vector<std::uint64_t> waits(C::STAGES - 1);
    waits.back() = std::uint64_t(tiles * C::NUM_THREADS);  // one before each tile
    CHECK(run.waits_for_copies == waits);
  });
}

// What one thread does while one tile is multiplied: for each copy of a later tile that it
// starts, in their order, the latest step whose operands of B it had asked for by then.
struct Copying {
  std::int64_t step = -1;
  std::vector<std::int64_t> copies;
};

// Of all threads of one block and all tiles during which another is asked for: those of the
// first tile, then of the next.
template <class C>
std::vector<Copying> copying_of(C) {
  simt::Trace options;
  options.keep_touches = true;
  const tile::Case c{C::BM, C::BN, (C::STAGES + 1) * C::BK, 1, 0, 0, tile::Fill::integers};
  const simt::Counts run = tile::traced_run(launch_async<C>, c, options);
  // all but the last STAGES - 1 tiles ask for another
  std::vector<Copying> threads(2 * C::NUM_THREADS);
  for (const simt::Touch& t : run.touches) {  // in the order of each thread
    if (t.interval < 1 || t.interval > 2) continue;
    Copying& thread = threads.at(std::size_t((t.interval - 1) * C::NUM_THREADS + t.thread));
    const std::int64_t word_of_B = t.byte_offset / 4 % C::STAGE_WORDS - C::WORDS_A;
    if (t.array != "stages")
      thread.copies.push_back(thread.step);
    else if (t.op == simt::Op::load && word_of_B >= 0)
      thread.step = std::max(thread.step, word_of_B / C::BN);
  }
  return threads;
}

TEST_CASE(
    "a thread starts its copies behind the loads of the step that the kernel's name says" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const std::string& name, C config) {
    INFO(name);
    std::vector<std::int64_t> expected;
    for (int n = 0; n < C::COPIES; ++n)
      expected.push_back((name.starts_with("late") ? 6
                          : name == "spread"       ? n / 2
                                                   : 0) +
                         (name == "at_use" ? 0 : 1));
    for (const Copying& thread : copying_of(config)) REQUIRE(thread.copies == expected);
  });
}

TEST_CASE("no access to shared memory by a kernel of whole tiles meets a bank conflict" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run = tile::count(launch_async<C>, {128, 256, 16});
    CHECK(tile::bank_conflict(run, "store-As") == "");
    CHECK(tile::bank_conflict(run, "store-Bs") == "");
    CHECK(tile::bank_conflict(run, "load-As") == "");
    CHECK(tile::bank_conflict(run, "load-Bs") == "");
    const auto per_request = [&](const char* tag) {
      return double(tile::site(run, tag).wavefronts) / double(tile::site(run, tag).requests);
    };
    CHECK(per_request("store-As") == (C::COPY_A == CopyA::quads ? 4 : 1));  // 128 words or 32
    CHECK(per_request("store-Bs") == C::WIDTH_B);
    CHECK(per_request("load-As") == 2);
    CHECK(per_request("load-Bs") == 2);
  });
}

TEST_CASE(
    "where tiles are ragged, the words of a thread that copies quads of B meet in banks" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    const auto run = tile::count(launch_async<C>, {128, 256, 16, 1, 0, 1});
    const simt::Site &stores = tile::site(run, "store-Bs-words"),
                     &loads = tile::site(run, "load-B-words");
    CHECK(stores.wavefronts == C::WIDTH_B * stores.requests);
    const double sectors = double(loads.sectors) / double(loads.requests);
    if (C::COPY_B == CopyB::quads)
      CHECK(sectors > 16);
    else
      CHECK(sectors < 5);  // four for whole sectors
  });
}

TEST_CASE(
    "4-byte copies of A take four times as many requests as 16-byte ones, and the same sectors" *
    doctest::test_suite("model")) {
  const tile::Case c{256, 256, 64};
  const auto transposed = tile::count(launch_async<Stages3>, c),
             words = tile::count(launch_async<RowWords>, c),
             quads = tile::count(launch_async<RowQuads>, c);
  CHECK(tile::site(words, "load-A").requests == 4 * tile::site(quads, "load-A").requests);
  CHECK(tile::site(words, "load-A").sectors == tile::site(quads, "load-A").sectors);
  CHECK(tile::site(words, "load-A").tag_passes == tile::site(quads, "load-A").tag_passes);
  CHECK(tile::site(words, "store-As").wavefronts == tile::site(quads, "store-As").wavefronts);
  for (const auto* rows : {&words, &quads}) {
    CHECK(tile::site(transposed, "load-As").requests == tile::site(*rows, "load-As").requests);
    CHECK(tile::site(transposed, "load-As").wavefronts ==
          tile::site(*rows, "load-As").wavefronts);
  }
}

TEST_CASE(
    "each copy of a tile is started in the step that the kernel's name says, and before the last" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    for (int n = 0; n < C::COPIES; ++n) {
      const int step = step_of_copy<C>(n);
      CHECK(step == (name.starts_with("late") ? 6 : name == "spread" ? n / 2 : 0));
      CHECK(step < C::BK - 1);
    }
  });
}
#endif
