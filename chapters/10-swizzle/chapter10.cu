// Tile by Tile, chapter 10: transpose and swizzle.
//
// Question: can the transposed store of A do without bank conflicts, and without a single word
// of padding? Idea: permute the words within each row of As by XOR with the row's number,
// shifted to where the address bits of a warp leave banks unused. Bits are vectors over GF(2),
// an XOR swizzle is a linear map, and whether it helps is a rank. Previous chapter: 09, bank
// conflicts and padding. The kernel is chapter 08's `large`, but for where a word of As lies.
//
// Build, run, verify:   ./tile run 10      ctest --preset model -R chapter10
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
// How a thread takes four neighbours in a row of the tile from As.
enum class Reads {
  float4s,  // as one float4: the swizzle must leave four neighbours in order
  // the same, where an argument says which bits of the row count: one machine code for several
  // swizzles
  masked,
  // as one float4, in the order in which they lie; the row, known when compiled, says which
  // word is which
  renamed,
  // one by one in the source; what the machine code makes of it is the compiler's choice
  words,
  single_words  // one by one in the machine code, too
};

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          int DOWN_, int UP_,         // the swizzle: col ^ ((row >> DOWN) << UP)
          Reads READS_>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_, DOWN = DOWN_, UP = UP_;
  static constexpr Reads READS = READS_;
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
  // the bits of a column that the swizzle may flip
  static constexpr int FLIPS = (BK - 1) >> DOWN << UP;
  static_assert(
      std::has_single_bit(unsigned(ROWS_A)) && std::has_single_bit(unsigned(WSUBM)) &&
          std::has_single_bit(unsigned(TM)) && FLIPS < ROWS_A && FLIPS < WSUBM,
      "what the kernel adds to a swizzled column must not meet a bit that the swizzle flips: else two elements "
      "share a place, or one is read where it was not stored");
  static_assert(
      (READS != Reads::float4s && READS != Reads::masked) || FLIPS % 4 == 0,
      "a float4 needs its four words in order: the swizzle must leave the two lowest bits of a column alone");
};

template <int DOWN, int UP, Reads READS>
using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, DOWN, UP, READS>;  // chapter 08's

using Swizzled = Large<2, 3, Reads::float4s>;  // col ^ ((row >> 2) << 3): the chapter's kernel
using Masked = Large<2, 3, Reads::masked>;     // col ^ (((row >> 2) & mask) << 3)
using XorRow = Large<0, 0, Reads::renamed>;    // col ^ row
using XorTwice = Large<0, 1, Reads::single_words>;  // col ^ (row << 1)
using Words = Large<0, 1, Reads::words>;            // the same, if the compiler may join words
using Renamed = Large<0, 1, Reads::renamed>;        // the same, joined in the source
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
// Where in its row of As an element of the transposed tile lies.
template <class C>
constexpr __host__ __device__ int swizzle(int row, int col) {
  return col ^ (row >> C::DOWN << C::UP);
}
// [/snippet maps]

// VECTORISED: tiles are whole and addresses divisible by 16.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_swizzled(int M, int N, int K, float alpha,  //
                   const float* A, int lda,           // M x K
                   const float* B, int ldb,           // K x N
                   float beta,                        //
                   float* C, int ldc,                 // M x N
                   int mask) {                        // of Reads::masked
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM: the tile of A, transposed, each row swizzled
  alignas(16) __shared__ float As[BK * BM];
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const auto place = [mask](int row, int col) {
    return Config::READS == Reads::masked ? col ^ ((row >> Config::DOWN & mask) << Config::UP)
                                          : swizzle<Config>(row, col);
  };
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
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
      for (int i = 0; i < 4; ++i)
        As[(colA + i) * BM + place(colA + i, rowA) + down] = a[i];  //@ store-As
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
    // [/snippet load]
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      // The loop is unrolled, so that these bits are a constant. Those above TM move a
      // thread's columns together.
      const int flips = place(dotIdx, 0);
      const float* rowOfAs = &As[dotIdx * BM + warpRow + (threadRow ^ flips / TM * TM)];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          if constexpr (Config::READS == Reads::words ||
                        Config::READS == Reads::single_words) {
            // No access to what is volatile may be joined with another.
            using Word = std::conditional_t<Config::READS == Reads::words, const float,
                                            const volatile float>;
            Word* from = rowOfAs + wm * WSUBM;
            for (int j = 0; j < 4; ++j)
              regM[wm][i + j] = from[(i + j) ^ flips % TM];  //@ load-As-words
          } else {
            const float* from = rowOfAs + wm * WSUBM + (i ^ flips % TM / 4 * 4);
            const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
            const float words[4] = {four.x, four.y, four.z, four.w};
            for (int j = 0; j < 4; ++j) regM[wm][i + j] = words[j ^ flips % 4];
          }
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

template <class Config, int MASK = 0>
void launch_swizzled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(
      can_vectorise<Config>(g) ? sgemm_swizzled<Config, true> : sgemm_swizzled<Config, false>,
      grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
      g.beta, g.C, g.ldc, MASK);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// ---- Which swizzle? Everything from here on runs on the host, on either machine ----

// [snippet accesses]
// Rows of shared memory, without padding. Sizes are powers of two.
struct Layout {
  int element;        // bytes
  int rows, columns;  // elements
};

// A warp-wide access: `vector` neighbours in a row for each lane. Where lane l begins is the
// XOR of what the bits of l contribute, and so is most of what kernels do: bits of the lane's
// number become bits of a row and of a column.
struct Access {
  std::array<Position, 5> bit;  // lanes 1, 2, 4, 8, 16
  int vector;
  bool load;
};

constexpr Position position_of(const Access& access, int lane) {
  Position p{};
  for (int b = 0; b < 5; ++b)
    if (lane >> b & 1)
      p.row ^= access.bit[std::size_t(b)].row, p.col ^= access.bit[std::size_t(b)].col;
  return p;
}

// The access whose lanes begin where `map(lane)` says, but for a common offset, which moves
// all lanes to other banks alike.
template <class Map>
constexpr Access access_by(Map map, int vector, bool load) {
  const Position first = map(0);
  Access access{{}, vector, load};
  for (int b = 0; b < 5; ++b) {
    const Position p = map(1 << b);
    access.bit[std::size_t(b)] = {p.row ^ first.row, p.col ^ first.col};
  }
  for (int lane = 0; lane < 32; ++lane) {
    const Position p = map(lane), made = position_of(access, lane);
    if ((p.row ^ first.row) != made.row || (p.col ^ first.col) != made.col)
      throw std::invalid_argument(
          "this lane map is no XOR of what the bits of the lane contribute: no solver for it");
  }
  return access;
}

// An XOR swizzle: each bit of an element's offset in the tile, row * columns + column, flips
// lower bits of it.
struct Swizzle {
  std::array<int, 18> flips{};  // by bit 0, 1, ... of the offset

  constexpr int operator()(int offset) const {
    int place = offset;
    for (int b = 0; offset >> b; ++b)
      if (offset >> b & 1) place ^= flips[std::size_t(b)];
    return place;
  }
};

constexpr int byte_of(const Layout& layout, const Swizzle& swizzle, Position p) {
  return swizzle(p.row * layout.columns + p.col) * layout.element;
}
// [/snippet accesses]

// [snippet rank]
// How many bits of a lane's number run through the lanes that shared memory serves together.
constexpr int bits_together(const Layout& layout, const Access& access) {
  const int bytes = layout.element * access.vector, bits = bytes == 16  ? 3
                                                           : bytes == 8 ? 4
                                                                        : 5;
  const auto ignored = [&](std::size_t b) {
    return access.bit[b].row == 0 && access.bit[b].col == 0;
  };
  return bits < 5 && access.load && (ignored(0) || ignored(1)) ? bits + 1 : bits;
}

// The rank over GF(2) of the first `count` of these vectors of bits.
constexpr int rank(std::array<unsigned, 5> vectors, int count) {
  int rank = 0;
  for (int next = 0; next < count; ++next) {
    unsigned left = vectors[std::size_t(next)];
    for (int i = 0; i < rank; ++i) left = std::min(left, left ^ vectors[std::size_t(i)]);
    if (left != 0) vectors[std::size_t(rank++)] = left;
  }
  return rank;
}

// Of the lanes served together: in how many dimensions their addresses vary, and in how many
// their banks do.
struct Ranks {
  int address, bank;
};

constexpr Ranks ranks_of(const Layout& layout, const Access& access, const Swizzle& swizzle) {
  const unsigned bytes = unsigned(layout.element * access.vector);
  std::array<unsigned, 5> addresses{}, banks{};
  for (std::size_t b = 0; b < 5; ++b) {
    addresses[b] = unsigned(byte_of(layout, swizzle, access.bit[b])) / bytes;
    // 32 banks of 4 bytes; a wider access takes several at once
    banks[b] = addresses[b] % (128 / bytes);
  }
  const int together = bits_together(layout, access);
  return {rank(addresses, together), rank(banks, together)};
}

// Each dimension that the banks lack doubles the words that meet in a bank.
constexpr int wavefronts_by_rank(const Layout& layout, const Access& access,
                                 const Swizzle& swizzle) {
  const Ranks ranks = ranks_of(layout, access, swizzle);
  return (32 >> bits_together(layout, access)) << (ranks.address - ranks.bank);
}
// [/snippet rank]

// [snippet families]
constexpr int log2_of(int power_of_two) { return std::countr_zero(unsigned(power_of_two)); }

// Bits of the row flip bits of the column: col ^ ((row >> down) % 2^bits << up).
struct Shift {
  int bits, down, up;
};

constexpr Swizzle swizzle_by(const Layout& layout, Shift shift) {
  Swizzle swizzle;
  for (int b = 0; b < shift.bits; ++b)
    swizzle.flips[std::size_t(log2_of(layout.columns) + shift.down + b)] = 1 << (shift.up + b);
  return swizzle;
}

// CUTLASS's Swizzle<B, M, S>, of an offset in elements: bits M+S to M+S+B-1 are XORed into
// bits M to M+B-1.
struct Cutlass {
  int B, M, S;
  constexpr int operator()(int offset) const {
    return offset ^ ((offset >> S) & (((1 << B) - 1) << M));
  }
};

constexpr Swizzle swizzle_by(Cutlass named) {
  Swizzle swizzle;
  for (int b = 0; b < named.B; ++b)
    swizzle.flips[std::size_t(named.M + named.S + b)] = 1 << (named.M + b);
  return swizzle;
}

// A shift in CUTLASS's notation: in an offset, bits of the row begin where those of the column
// end.
constexpr Cutlass cutlass_name(const Layout& layout, Shift shift) {
  return {shift.bits, shift.up, log2_of(layout.columns) + shift.down - shift.up};
}
// [/snippet families]

// [snippet solver]
void require_solvable(const Layout& layout, const std::vector<Access>& accesses) {
  for (const int size : {layout.element, layout.rows, layout.columns})
    if (size <= 0 || !std::has_single_bit(unsigned(size)))
      throw std::invalid_argument("element, rows and columns must be powers of two, not " +
                                  std::to_string(size));
  if (double(layout.element) * layout.rows * layout.columns > 227 * 1024)
    throw std::invalid_argument(
        "a tile must fit into the 227 KB of shared memory that a block can have");
  for (const Access& access : accesses) {
    const int bytes = layout.element * access.vector;
    if (bytes != 4 && bytes != 8 && bytes != 16)
      throw std::invalid_argument("a lane accesses 4, 8 or 16 bytes, not " +
                                  std::to_string(bytes));
    for (const Position p : access.bit)
      if (p.row < 0 || p.row >= layout.rows || p.col < 0 || p.col >= layout.columns ||
          p.col % access.vector != 0)
        throw std::invalid_argument(
            "a lane's vector must lie in the tile and begin at a multiple of its length");
  }
}

// Whether, of the lanes with rows below `rows`, two that are served together want different
// words of one bank. Then so do lane 0 and another, their XOR: addresses and banks are linear
// in the lane.
constexpr bool conflicts(const Layout& layout, const Access& access, const Swizzle& swizzle,
                         int rows) {
  const int bytes = layout.element * access.vector;
  for (int lane = 1; lane < 1 << bits_together(layout, access); ++lane) {
    const Position p = position_of(access, lane);
    const int address = byte_of(layout, swizzle, p) / bytes;
    if (p.row < rows && address != 0 && address % (128 / bytes) == 0) return true;
  }
  return false;
}

bool any_conflicts(const Layout& layout, const std::vector<Access>& accesses,
                   const Swizzle& swizzle, int rows) {
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return conflicts(layout, access, swizzle, rows);
  });
}

// A swizzle flips columns by multiples of this, so that every vector stays whole, in order and
// aligned.
int widest_vector(const std::vector<Access>& accesses) {
  int widest = 1;
  for (const Access& access : accesses) widest = std::max(widest, access.vector);
  return widest;
}

// The shift of fewest bits with which none of the accesses has a conflict; of no bits where
// none has one anyway.
std::optional<Shift> solve_by_shift(const Layout& layout,
                                    const std::vector<Access>& accesses) {
  const int row_bits = log2_of(layout.rows), column_bits = log2_of(layout.columns);
  const int lowest = log2_of(widest_vector(accesses));
  for (int bits = 0; bits <= std::min(row_bits, column_bits - lowest); ++bits)
    for (int down = 0; down + bits <= row_bits; ++down)
      for (int up = lowest; up + bits <= column_bits; ++up)
        if (const Shift shift{bits, down, up};
            !any_conflicts(layout, accesses, swizzle_by(layout, shift), layout.rows))
          return shift;
  return std::nullopt;
}

// Chooses what bit `b` of the row flips, and then the bits above. What only rows below 2^b
// conflict about is settled by then.
bool choose_flips(const Layout& layout, const std::vector<Access>& accesses, Swizzle& swizzle,
                  int b) {
  if (any_conflicts(layout, accesses, swizzle, 1 << b)) return false;
  if (1 << b == layout.rows) return true;
  int rows = 0;  // bits of the row that differ among the lanes of an access
  for (const Access& access : accesses)
    for (const Position p : access.bit) rows |= p.row;
  // flipping bits above changes no bank
  const int in_banks = std::min(layout.columns, 128 / layout.element);
  int& flipped = swizzle.flips[std::size_t(log2_of(layout.columns) + b)];
  for (flipped = 0; flipped < (rows >> b & 1 ? in_banks : 1);
       flipped += widest_vector(accesses))
    if (choose_flips(layout, accesses, swizzle, b + 1)) return true;
  flipped = 0;
  return false;
}

// Any swizzle of columns by rows: each bit of the row flips the bits of the column that are
// chosen for it.
std::optional<Swizzle> solve_by_row_bits(const Layout& layout,
                                         const std::vector<Access>& accesses) {
  Swizzle swizzle;
  return choose_flips(layout, accesses, swizzle, 0) ? std::optional(swizzle) : std::nullopt;
}

// CUTLASS's swizzle of fewest bits: any bits of the offset, of the row or of the column, flip
// as many lower ones.
std::optional<Cutlass> solve_by_offset(const Layout& layout,
                                       const std::vector<Access>& accesses) {
  const int offset_bits = log2_of(layout.rows * layout.columns),
            lowest = log2_of(widest_vector(accesses));
  for (int B = 1; B <= offset_bits; ++B)
    for (int M = lowest; M + 2 * B <= offset_bits; ++M)
      for (int S = B; M + S + B <= offset_bits; ++S)
        if (const Cutlass named{B, M, S};
            !any_conflicts(layout, accesses, swizzle_by(named), layout.rows))
          return named;
  return std::nullopt;
}

enum class Family { nothing, shift_of_row, bits_of_row, offset };  // the simplest first
struct Answer {
  Family family;
  Swizzle swizzle;
};

// The simplest swizzle with which none of the accesses has a conflict; nothing if there is
// none in these families.
std::optional<Answer> solve(const Layout& layout, const std::vector<Access>& accesses) {
  require_solvable(layout, accesses);
  if (const auto shift = solve_by_shift(layout, accesses))
    return Answer{shift->bits == 0 ? Family::nothing : Family::shift_of_row,
                  swizzle_by(layout, *shift)};
  if (const auto swizzle = solve_by_row_bits(layout, accesses))
    return Answer{Family::bits_of_row, *swizzle};
  if (const auto named = solve_by_offset(layout, accesses))
    return Answer{Family::offset, swizzle_by(*named)};
  return std::nullopt;
}
// [/snippet solver]

// As, and what a warp does with it: a word of each lane stored, a float4 of each loaded.
template <class C>
constexpr Layout layout_of_As() {
  return {sizeof(float), C::BK, C::BM};
}
template <class C>
constexpr Access store_of_As() {
  return access_by(
      [](int lane) {
        return Position{load_A_of<C>(lane).col, load_A_of<C>(lane).row};
      },
      1, false);
}
template <class C>
constexpr Access load_of_As() {
  return access_by([](int lane) { return Position{0, thread_tile_of<C>(lane).row}; }, 4, true);
}

// [snippet experiment]
// One machine code that stores with four, two or one words in a bank, and computes right each
// time.
struct Variant {
  std::string words;  // in a bank
  tile::Launcher launch;
  Swizzle swizzle;
};

const std::array<Variant, 3> variants{
    {{"4", launch_swizzled<Masked, 0>, Swizzle{}},
     {"2", launch_swizzled<Masked, 1>, swizzle_by(layout_of_As<Masked>(), {1, 2, 3})},
     {"1", launch_swizzled<Masked, 3>, swizzle_by(layout_of_As<Masked>(), {2, 2, 3})}}};

// Wavefronts of the stores of A for a warp-wide multiply-add: a warp stores a word of each
// lane for every BN of them.
double stores_per_fma(const Variant& v) {
  return wavefronts_by_rank(layout_of_As<Masked>(), store_of_As<Masked>(), v.swizzle) /
         double(Masked::BN);
}
// [/snippet experiment]

constexpr std::array experiment_sizes{2048, 4096};
std::string rate_name(int size, const std::string& what) {
  return "masked." + std::to_string(size) + "." + what;
}

// At each size, for each variant the cycles of an SM for a warp-wide multiply-add, and the
// price of a wavefront, fitted to them.
std::vector<tile::Chapter::Rate> experiment_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (const int size : experiment_sizes) {
    const std::string at = " at " + std::to_string(size) + ", one machine code";
    for (const Variant& v : variants)
      rates.push_back({rate_name(size, v.words),
                       "cycles for a multiply-add, words in a bank: " + v.words + at});
    rates.push_back(
        {rate_name(size, "price"), "cycles for a wavefront of the stores of A" + at});
    rates.push_back({rate_name(size, "price.low"), "the same, the lowest of the rounds"});
    rates.push_back({rate_name(size, "price.high"), "the same, the highest of the rounds"});
  }
  return rates;
}

#if TILE_ON_GPU
// Variants take turns, so that no drift of the GPU's clock looks like a price.
void measure_variants(tile::RateSink& sink) {
  constexpr int ROUNDS = 9;
  int sms = 0, khz = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  tile::cuda_check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock rate");
  for (const int size : experiment_sizes) {
    const tile::Rotation rotation({size, size, size});
    const double cycles_per_ms = double(khz) * sms / (std::pow(size, 3) / 32);
    std::array<std::vector<double>, variants.size()> cycles;
    std::vector<double> prices;
    for (int round = 0; round < ROUNDS; ++round) {
      std::vector<double> stores, values;
      for (std::size_t i = 0; i < variants.size(); ++i) {
        stores.push_back(stores_per_fma(variants[i]));
        values.push_back(cycles_per_ms * tile::median_ms(variants[i].launch, rotation, 20));
        cycles[i].push_back(values.back());
      }
      prices.push_back(tile::slope_of(stores, values));
    }
    for (std::size_t i = 0; i < variants.size(); ++i)
      sink.rate(rate_name(size, variants[i].words), tile::spread_of(cycles[i]).median);
    sink.rate(rate_name(size, "price"), tile::spread_of(prices).median);
    sink.rate(rate_name(size, "price.low"), *std::min_element(prices.begin(), prices.end()));
    sink.rate(rate_name(size, "price.high"), *std::max_element(prices.begin(), prices.end()));
  }
}
#else
constexpr void (*measure_variants)(tile::RateSink&) = nullptr;
#endif

// Bs of chapter 09's `flat`, and what a warp does with it: 16 lanes load every other float4 of
// a row, 32 lanes store a row.
constexpr Layout layout_of_flat{sizeof(float), 16, 128};
std::array<Access, 2> accesses_of_flat() {
  return {access_by(
              [](int lane) {
                return Position{0, lane % 16 * 8};
              },
              4, true),
          access_by(
              [](int lane) {
                return Position{0, lane * 4};
              },
              4, false)};
}

// How many swizzles of columns by rows keep the vectors of the accesses whole.
double family_size(const Layout& layout, const std::vector<Access>& accesses) {
  int rows = 0;
  for (const Access& access : accesses)
    for (const Position p : access.bit) rows |= p.row;
  return std::pow(layout.columns / widest_vector(accesses), std::popcount(unsigned(rows)));
}

// Whether an access wants words at the same place in more of the widest vectors than lie side
// by side in the banks. Then no permutation that keeps these whole can serve it without a
// conflict, of whatever family.
bool too_few_places(const Layout& layout, const std::vector<Access>& accesses) {
  const int widest = widest_vector(accesses), places = 128 / (layout.element * widest);
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    // that the lanes served together want, by the place in them
    std::map<int, std::set<int>> vectors;
    for (int lane = 0; lane < 1 << bits_together(layout, access); ++lane) {
      const Position p = position_of(access, lane);
      const int offset = p.row * layout.columns + p.col;
      vectors[offset % widest].insert(offset / widest);
    }
    return std::any_of(vectors.begin(), vectors.end(),
                       [&](const auto& at) { return int(at.second.size()) > places; });
  });
}

// `across` lanes side by side in a row, `vector` elements each, and the others in rows `step`
// apart.
Access lanes_in_rows(int across, int vector, int step, bool load) {
  return access_by(
      [&](int lane) {
        return Position{lane / across * step, lane % across * vector};
      },
      vector, load);
}

// `down` lanes in rows `step` apart, and then the next column.
Access lanes_in_columns(int down, int vector, int step, bool load) {
  return access_by(
      [&](int lane) {
        return Position{lane % down * step, lane / down * vector};
      },
      vector, load);
}

// Eight rows and two columns; lanes whose numbers differ in bit `same` alone want the same.
Access lanes_that_share(std::size_t same, int vector, bool load) {
  Access access{{}, vector, load};
  std::size_t b = 0;
  for (const Position p :
       {Position{1, 0}, Position{2, 0}, Position{4, 0}, Position{0, vector}}) {
    if (b == same) ++b;
    access.bit[b++] = p;
  }
  return access;
}

// A grid of layouts and what a warp does with them: one access, or the store of a tile and a
// load from the same. Those for which there are more swizzles of columns by rows than a test
// can try are left out.
template <class Visit>
void for_each_problem(Visit visit) {
  constexpr int ROWS = 32;
  const auto visit_small = [&](const Layout& layout, const std::vector<Access>& accesses) {
    if (family_size(layout, accesses) <= 1 << 14) visit(layout, accesses);
  };
  for (const int element : {2, 4, 8})
    for (const int columns : {8, 16, 32, 64, 128})
      for (const int vector : {1, 2, 4, 8}) {
        const int bytes = element * vector;
        if (bytes < 4 || bytes > 16) continue;
        const Layout layout{element, ROWS, columns};
        std::vector<Access> stores;
        for (const int lanes : {1, 2, 4, 8, 16, 32})
          for (const int step : {1, 2, 4}) {
            if (lanes * vector <= columns && (32 / lanes - 1) * step < ROWS)
              stores.push_back(lanes_in_rows(lanes, vector, step, false));
            if ((lanes - 1) * step < ROWS && 32 / lanes * vector <= columns)
              stores.push_back(lanes_in_columns(lanes, vector, step, false));
          }
        for (const std::size_t same : {0, 1, 2})
          if (2 * vector <= columns)
            for (const bool load : {false, true})
              visit_small(layout, {lanes_that_share(same, vector, load)});
        for (const Access& store : stores) {
          visit_small(layout, {store});
          for (const int wide : {2, 4, 8})
            if (wide > vector && element * wide <= 16 && 4 * wide <= columns)
              visit_small(layout, {store, lanes_in_columns(8, wide, 1, true)});
        }
      }
}

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const Layout As = layout_of_As<Swizzled>();
  const Access store = store_of_As<Swizzled>(), load = load_of_As<Swizzled>();
  const auto bits_of = [](unsigned mask) {
    std::string bits;
    for (int b = 0; mask >> b != 0; ++b)
      if (mask >> b & 1u) bits += (bits.empty() ? "" : ", ") + std::to_string(b);
    return bits;
  };
  // Which bits of an address differ among the lanes that shared memory serves together.
  const auto varying = [&](const std::string& name, const Access& access) {
    unsigned mask = 0;
    for (int b = 0; b < bits_together(As, access); ++b)
      mask |= unsigned(byte_of(As, Swizzle{}, access.bit[std::size_t(b)])) / sizeof(float);
    facts.text(name + ".varying", "predicted", bits_of(mask));
    facts.text(name + ".varying_banks", "predicted", bits_of(mask % 32));
  };
  varying("store_As", store);
  varying("load_As", load);
  const auto describe = [&](const std::string& name, const Swizzle& swizzle) {
    const Ranks ranks = ranks_of(As, store, swizzle);
    facts.predicted(name + ".store_As.address_rank", ranks.address);
    facts.predicted(name + ".store_As.bank_rank", ranks.bank);
    facts.predicted(name + ".store_As.wavefronts", wavefronts_by_rank(As, store, swizzle));
    // The bits of the bank that bits `from` to `to` of the lane flip.
    const auto flipped = [&](const std::string& key, int from, int to) {
      unsigned mask = 0;
      for (int b = from; b <= to; ++b)
        mask |= unsigned(byte_of(As, swizzle, store.bit[std::size_t(b)])) / sizeof(float) % 32;
      facts.text(name + ".store_As." + key, "predicted", mask == 0 ? "none" : bits_of(mask));
    };
    flipped("lane_bit0", 0, 0);
    flipped("lane_bit1", 1, 1);
    flipped("lane_bits2to4", 2, 4);
  };
  describe("plain", Swizzle{});
  describe("xor_row", swizzle_by(As, {4, 0, 0}));
  describe("xor_twice", swizzle_by(As, {4, 0, 1}));
  describe("swizzled", swizzle_by(As, {2, 2, 3}));
  facts.predicted("swizzled.swizzle.down", Swizzled::DOWN);
  facts.predicted("swizzled.swizzle.up", Swizzled::UP);
  const auto kernel_facts = [&]<class C>(const std::string& name, C, int words_per_load) {
    const double a = double(C::WMITER * C::TM) / words_per_load,
                 b = double(C::WNITER * C::TN) / 4;
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN,
                          double(C::WMITER * C::TM + C::WNITER * C::TN) / C::ACCUMULATORS, 4,
                          4);
    facts.predicted(name + ".lds_per_step", a + b);
  };
  kernel_facts("swizzled", Swizzled{}, 4);
  kernel_facts("xor_row", XorRow{}, 4);
  kernel_facts("xor_twice", XorTwice{}, 1);
  kernel_facts("words", Words{}, 1);
  kernel_facts("renamed", Renamed{}, 4);
  // Wavefronts of the stores of A in a round, of all warps of a block, and what is saved of
  // them for each warp-wide FMA.
  const double stores = Swizzled::BM * Swizzled::BK / 32.0;
  const double fmas = double(Swizzled::BM) * Swizzled::BN * Swizzled::BK / 32;
  facts.predicted("round.stores", stores);
  facts.predicted("round.fmas", fmas);
  facts.predicted("round.before", stores * wavefronts_by_rank(As, store, Swizzle{}));
  facts.predicted("round.after",
                  stores * wavefronts_by_rank(As, store, swizzle_by(As, {2, 2, 3})));
  const double saved = facts.value("round.before") - facts.value("round.after");
  facts.predicted("saved_per_fma", saved / fmas, 4);
  facts.predicted("saved_per_fma.xor_row", stores * 2 / fmas, 4);
  // TFLOP/s where an SM takes so many cycles for a warp-wide FMA, and back.
  facts.predicted("tflops_times_cycles", tile::h200.sms * tile::h200.clock_ghz * 64 * 1e-3, 3);
  // Thread 101, which copies what follows from its number, and where its third word goes.
  const auto [rowA, colA] = load_A_of<Swizzled>(101);
  const int row = colA + 2, place = swizzle<Swizzled>(row, rowA);
  facts.predicted("worked.rowA", rowA);
  facts.predicted("worked.colA", colA);
  facts.predicted("worked.row", row);
  facts.predicted("worked.flips", swizzle<Swizzled>(row, 0));
  facts.predicted("worked.place", place);
  facts.predicted("worked.word", row * As.columns + place);
  facts.predicted("worked.bank", (row * As.columns + place) % 32);
  // What the solver says of the problems that the tests check, and of a few in particular.
  int problems = 0, impossible = 0;
  std::map<Family, int> answers;
  int none = 0;
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    ++problems;
    impossible += too_few_places(layout, accesses);
    const auto answer = solve(layout, accesses);
    ++(answer ? answers[answer->family] : none);
  });
  facts.predicted("grid.problems", problems);
  facts.predicted("grid.nothing", answers[Family::nothing]);
  facts.predicted("grid.by_shift", answers[Family::shift_of_row]);
  facts.predicted("grid.by_row_bits", answers[Family::bits_of_row]);
  facts.predicted("grid.by_offset", answers[Family::offset]);
  facts.predicted("grid.none", none);
  facts.predicted("grid.impossible", impossible);
  const auto solved = [&](const std::string& name, const Layout& layout,
                          const std::vector<Access>& accesses) {
    const auto answer = solve(layout, accesses);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const std::string key = "solver." + name + (i == 0 ? ".first" : ".second");
      facts.predicted(key + ".before", wavefronts_by_rank(layout, accesses[i], Swizzle{}));
      if (answer)
        facts.predicted(key + ".after",
                        wavefronts_by_rank(layout, accesses[i], answer->swizzle));
    }
    const auto says = [&](const std::string& formula, const std::string& cutlass) {
      facts.text("solver." + name + ".formula", "predicted", formula);
      facts.text("solver." + name + ".cutlass", "predicted", cutlass);
    };
    const auto named = [](Cutlass c) {
      return "<" + std::to_string(c.B) + ", " + std::to_string(c.M) + ", " +
             std::to_string(c.S) + ">";
    };
    if (const auto shift = solve_by_shift(layout, accesses)) {
      std::string bits = "row";
      if (shift->down > 0) bits = "(row >> " + std::to_string(shift->down) + ")";
      if (1 << (shift->down + shift->bits) != layout.rows)
        bits = "(" + bits + " % " + std::to_string(1 << shift->bits) + ")";
      if (shift->up > 0) bits = "(" + bits + " << " + std::to_string(shift->up) + ")";
      const Cutlass c = cutlass_name(layout, *shift);
      says(shift->bits == 0 ? "col" : "col ^ " + bits, named(c));
      facts.predicted("solver." + name + ".pattern_bytes",
                      layout.element << (c.B + c.M + c.S));
    } else if (solve_by_row_bits(layout, accesses)) {
      says("by bits of the row", "-");
    } else if (const auto c = solve_by_offset(layout, accesses)) {
      const std::string mask = std::to_string(((1 << c->B) - 1) << c->M);
      says("offset ^ ((offset >> " + std::to_string(c->S) + ") & " + mask + ")", named(*c));
    } else {
      says("none of these", "-");
    }
  };
  // The tile of A, transposed, `deep` along K: deep / 4 lanes copy a row of it.
  for (const int deep : {8, 16, 32}) {
    const Access copy = access_by(
        [&](int lane) {
          return Position{lane % (deep / 4) * 4, lane / (deep / 4)};
        },
        1, false);
    solved("As" + std::to_string(deep), {4, deep, 128}, {copy, load});
  }
  const auto along = [](int lane) { return Position{0, lane}; };
  const auto down = [](int lane) { return Position{lane, 0}; };
  solved("square", {4, 32, 32}, {access_by(along, 1, false), access_by(down, 1, true)});
  const auto quads = [](int lane) { return Position{lane / 8, lane % 8 * 4}; };
  solved("square4", {4, 32, 32}, {access_by(quads, 4, false), access_by(down, 1, true)});
  const auto [flat_load, flat_store] = accesses_of_flat();
  solved("flat", layout_of_flat, {flat_load, flat_store});
  // Eight rows of 16 bytes for each quarter-warp, as tensor cores take them from tiles of
  // 2-byte elements.
  for (const int columns : {64, 32, 16})
    solved("halves" + std::to_string(columns), {2, 64, columns},
           {access_by(
               [](int lane) {
                 return Position{lane % 32, 0};
               },
               8, true)});
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_swizzled<Config>,
          reinterpret_cast<const void*>(sgemm_swizzled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          (Config::BM + Config::BN) * Config::BK * sizeof(float)};
}

}  // namespace

TILE_CHAPTER(.number = 10, .title = "Transpose and swizzle",
             .kernels = {kernel<Swizzled>("swizzled"), kernel<XorRow>("xor_row"),
                         kernel<XorTwice>("xor_twice"), kernel<Words>("words"),
                         kernel<Renamed>("renamed")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .measure_rates = measure_variants, .rates = experiment_rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE(
    "CUTLASS calls the chapter's swizzle Swizzle<2, 3, 6>, and it moves every offset of the tile alike") {
  const Layout layout = layout_of_As<Swizzled>();
  const Cutlass named = cutlass_name(layout, {2, 2, 3});
  CHECK(named.B == 2);
  CHECK(named.M == 3);
  CHECK(named.S == 6);
  for (int row = 0; row < layout.rows; ++row)
    for (int col = 0; col < layout.columns; ++col)
      REQUIRE(named(row * layout.columns + col) ==
              row * layout.columns + swizzle<Swizzled>(row, col));
}

// Where the 32 lanes of a warp begin, in words, and how many bytes each accesses.
template <class Word>
simt::WarpAccess access_of(int bytes, Word word) {
  simt::WarpAccess access{.active = ~0u, .size = bytes};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] = 4 * std::uint64_t(word(lane));
  return access;
}

// The stores of As of a block, one warp's after another's: calls `visit` with what it is, for
// messages, and the access.
template <class C, class Visit>
void for_each_store(Visit visit) {
  for (int warp = 0; warp < C::NUM_THREADS / 32; ++warp)
    for (int down = 0; down < C::BM; down += C::ROWS_A)
      for (int i = 0; i < 4; ++i)
        visit("word " + std::to_string(i) + " stored by warp " + std::to_string(warp),
              access_of(4, [&](int lane) {
                const auto [rowA, colA] = load_A_of<C>(32 * warp + lane);
                return (colA + i) * C::BM + swizzle<C>(colA + i, rowA + down);
              }));
}

// The loads of As of a block as the kernel makes them, `width` words wide.
template <class C, class Visit>
void for_each_load(int width, Visit visit) {
  for (int warp = 0; warp < C::NUM_THREADS / 32; ++warp)
    for (int dotIdx = 0; dotIdx < C::BK; ++dotIdx)
      for (int wm = 0; wm < C::WMITER; ++wm)
        for (int i = 0; i < C::TM; i += width)
          visit("row " + std::to_string(dotIdx) + " loaded by warp " + std::to_string(warp),
                access_of(4 * width, [&](int lane) {
                  const int thread = 32 * warp + lane;
                  const int col = warp_tile_of<C>(thread).row + wm * C::WSUBM +
                                  thread_tile_of<C>(thread).row + i;
                  return dotIdx * C::BM + swizzle<C>(dotIdx, col) / width * width;
                }));
}

#if TILE_ON_MODEL
// Throws what is in conflict in an access, if anything.
void require_no_conflict(const std::string& what, const simt::WarpAccess& access,
                         bool is_load) {
  if (const std::string conflict = tile::bank_conflict(access, is_load); !conflict.empty())
    throw std::runtime_error(what + ": " + conflict);
}

// All stores of As that a block makes for a tile, and all its loads, `width` words wide.
template <class C>
void check_accesses_of_As(int width) {
  int stores = 0, loads = 0;
  for_each_store<C>([&](const std::string& what, const simt::WarpAccess& access) {
    ++stores;
    REQUIRE_NOTHROW(require_no_conflict(what, access, false));
    REQUIRE(simt::shared_wavefronts(access, false) == 1);
  });
  for_each_load<C>(width, [&](const std::string& what, const simt::WarpAccess& access) {
    ++loads;
    REQUIRE_NOTHROW(require_no_conflict(what, access, true));
    REQUIRE(simt::shared_wavefronts(access, true) == (width == 4 ? 2 : 1));
  });
  CHECK(stores == C::BM * C::BK / 32);
  CHECK(loads == C::NUM_THREADS / 32 * C::BK * C::WMITER * C::TM / width);
}

TEST_CASE("no two lanes of a store or load of As want different words of one bank" *
          doctest::test_suite("model")) {
  check_accesses_of_As<Swizzled>(4);
  check_accesses_of_As<XorTwice>(1);
}
#endif

template <class C>
void check_store_wavefronts(int each) {
  for_each_store<C>([&](const std::string& what, const simt::WarpAccess& access) {
    CAPTURE(what);
    REQUIRE(simt::shared_wavefronts(access, false) == each);
  });
}

TEST_CASE("col ^ row leaves two words in a bank, col ^ (row << 1) one") {
  check_store_wavefronts<XorRow>(2);
  check_store_wavefronts<XorTwice>(1);
  check_store_wavefronts<Swizzled>(1);
}

TEST_CASE(
    "each row is permuted, and only the chapter's swizzle leaves a float4 in one piece and in order") {
  const auto check = [&]<class C>(C, bool in_order) {
    bool whole = true, ordered = true;
    for (int row = 0; row < C::BK; ++row) {
      std::vector<int> used(C::BM);
      for (int col = 0; col < C::BM; ++col) ++used.at(std::size_t(swizzle<C>(row, col)));
      CHECK(used == std::vector<int>(C::BM, 1));
      for (int col = 0; col < C::BM; col += 4)
        for (int j = 0; j < 4; ++j) {
          whole = whole && swizzle<C>(row, col + j) / 4 == swizzle<C>(row, col) / 4;
          ordered = ordered && swizzle<C>(row, col + j) == swizzle<C>(row, col) / 4 * 4 + j;
        }
    }
    CHECK(whole);  // no XOR takes an aligned group of 2^n apart
    CHECK(ordered == in_order);
  };
  check(Swizzled{}, true);
  check(XorRow{}, false);
  check(XorTwice{}, false);
}

// ---- The solver ----

// What one access takes by the rules of the hardware, and the least it could: one wavefront
// for all lanes served together.
struct Cost {
  int wavefronts, least;
};

Cost cost_of(const Layout& layout, const Access& access, const Swizzle& swizzle,
             Position first) {
  simt::WarpAccess all{.active = ~0u, .size = layout.element * access.vector};
  for (int lane = 0; lane < 32; ++lane) {
    const Position p = position_of(access, lane);
    all.address[std::size_t(lane)] =
        std::uint64_t(byte_of(layout, swizzle, {p.row ^ first.row, p.col ^ first.col}));
  }
  return {simt::shared_wavefronts(all, access.load),
          32 / simt::lanes_together(all, access.load)};
}

bool free_of_conflicts(const Layout& layout, const std::vector<Access>& accesses,
                       const Swizzle& swizzle) {
  return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    const Cost cost = cost_of(layout, access, swizzle, {0, 0});
    return cost.wavefronts == cost.least;
  });
}

namespace {
// Whether a swizzle that keeps vectors whole has no conflicts; `tried` counts those that were
// tried.
struct Trial {
  const Layout& layout;
  const std::vector<Access>& accesses;
  int lowest = log2_of(widest_vector(accesses)),
      offset_bits = log2_of(layout.rows * layout.columns), tried = 0;

  bool works(const Swizzle& swizzle) {
    ++tried;
    return free_of_conflicts(layout, accesses, swizzle);
  }

  bool any_shift() {
    for (int bits = 1; 1 << bits <= std::min(layout.rows, layout.columns); ++bits)
      for (int down = 0; 1 << (down + bits) <= layout.rows; ++down)
        for (int up = lowest; 1 << (up + bits) <= layout.columns; ++up)
          if (works(swizzle_by(layout, {bits, down, up}))) return true;
    return false;
  }

  // Bits of the row that are the same for all lanes of each access flip nothing: they would
  // move all lanes to other banks alike.
  bool any_row_bits(Swizzle swizzle = {}, int b = 0) {
    if (1 << b == layout.rows) return works(swizzle);
    int rows = 0;
    for (const Access& access : accesses)
      for (const Position p : access.bit) rows |= p.row;
    for (int flips = 0; flips < (rows >> b & 1 ? layout.columns : 1); flips += 1 << lowest) {
      swizzle.flips[std::size_t(log2_of(layout.columns) + b)] = flips;
      if (any_row_bits(swizzle, b + 1)) return true;
    }
    return false;
  }

  bool any_offset() {
    for (int B = 1; B <= offset_bits; ++B)
      for (int M = 0; M <= offset_bits; ++M)
        for (int S = 0; S <= offset_bits; ++S)
          if (S >= B && M >= lowest && M + S + B <= offset_bits &&
              works(swizzle_by(Cutlass{B, M, S})))
            return true;
    return false;
  }
};
}  // namespace

// How many shifts of at least a bit there are, by counting: so many bits of a row flip others
// of so many of a column.
int shift_family_size(int row_bits, int column_bits) {
  int size = 0;
  for (int bits = 1; bits <= std::min(row_bits, column_bits); ++bits)
    size += (row_bits - bits + 1) * (column_bits - bits + 1);
  return size;
}
// The same of CUTLASS's swizzles, which take so many bits from above others.
int offset_family_size(int bits) {
  int size = 0;
  for (int left = bits - 2; left >= 0; left -= 2) size += (left + 1) * (left + 2) / 2;
  return size;
}

TEST_CASE(
    "each answer of the solver has no conflicts, and where it has none, trying all of a family finds none" *
    doctest::test_suite("thorough")) {
  std::map<Family, int> answers;
  int none = 0;
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    CAPTURE(layout.element);
    CAPTURE(layout.columns);
    CAPTURE(accesses.size());
    CAPTURE(accesses[0].vector);
    const auto answer = solve(layout, accesses);
    ++(answer ? answers[answer->family] : none);
    if (answer) {
      CHECK(free_of_conflicts(layout, accesses, answer->swizzle));
      for (const int flips : answer->swizzle.flips)
        CHECK(flips % widest_vector(accesses) == 0);
      for (int bit = 1; bit < widest_vector(accesses); bit *= 2)
        CHECK(answer->swizzle(bit) == bit);
    }
    if (too_few_places(layout, accesses)) CHECK_FALSE(answer.has_value());
    const auto is_later_than = [&](Family family) {
      return !answer || answer->family > family;
    };
    Trial unchanged{layout, accesses}, shifts{layout, accesses}, row_bits{layout, accesses},
        offsets{layout, accesses};
    CHECK(unchanged.works(Swizzle{}) != is_later_than(Family::nothing));
    if (is_later_than(Family::shift_of_row)) {
      CHECK_FALSE(shifts.any_shift());
      CHECK(shifts.tried ==
            shift_family_size(log2_of(layout.rows), log2_of(layout.columns) - shifts.lowest));
    }
    if (is_later_than(Family::bits_of_row)) {
      CHECK_FALSE(row_bits.any_row_bits());
      CHECK(row_bits.tried == family_size(layout, accesses));
    }
    if (is_later_than(Family::offset)) {
      CHECK_FALSE(offsets.any_offset());
      CHECK(offsets.tried == offset_family_size(offsets.offset_bits - offsets.lowest));
    }
  });
  for (const Family family :
       {Family::nothing, Family::shift_of_row, Family::bits_of_row, Family::offset})
    CHECK(answers[family] > 10);
  CHECK(none > 10);
}

TEST_CASE(
    "CUTLASS's swizzle with a negative S, which XORs lower bits into higher ones, changes no conflict") {
  int compared = 0;
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    if (accesses.size() > 1 || layout.columns > 32) return;
    const int lowest = log2_of(accesses[0].vector),
              offset_bits = log2_of(layout.rows * layout.columns);
    for (int B = 1; B <= 3; ++B)
      for (int M = lowest; M + 2 * B <= offset_bits; ++M)
        for (int up = B; M + up + B <= offset_bits; ++up) {
          Swizzle upwards;
          for (int b = 0; b < B; ++b) upwards.flips[std::size_t(M + b)] = 1 << (M + up + b);
          const Cost cost = cost_of(layout, accesses[0], upwards, {0, 0});
          CHECK(cost.wavefronts == cost_of(layout, accesses[0], Swizzle{}, {0, 0}).wavefronts);
          ++compared;
        }
  });
  CHECK(compared > 1000);
}

TEST_CASE(
    "the load that padding does not cure: a bit of the column cures it, and no bit of the row does") {
  const auto [load, store] = accesses_of_flat();
  const std::vector<Access> both{load, store};
  const auto wavefronts = [&](const Access& access, const Swizzle& swizzle) {
    return cost_of(layout_of_flat, access, swizzle, {0, 0}).wavefronts;
  };
  CHECK(wavefronts(load, Swizzle{}) == 8);
  CHECK_FALSE(solve_by_shift(layout_of_flat, both).has_value());
  CHECK_FALSE(solve_by_row_bits(layout_of_flat, both).has_value());
  const auto named = solve_by_offset(layout_of_flat, both);
  REQUIRE(named.has_value());
  CHECK(named->B == 1);
  CHECK(named->M == 2);
  CHECK(named->S == 3);
  CHECK(wavefronts(load, swizzle_by(*named)) == 4);
  CHECK(wavefronts(store, swizzle_by(*named)) == 4);
  for (int row = 0; row < layout_of_flat.rows; ++row)
    for (int col = 0; col < layout_of_flat.columns; ++col)
      REQUIRE((*named)(row * layout_of_flat.columns + col) ==
              row * layout_of_flat.columns + (col ^ (((col >> 5) & 1) << 2)));
}

TEST_CASE(
    "the rank says how many wavefronts an access takes, with every shift, wherever it begins") {
  int compared = 0;
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    const int last = layout.columns - widest_vector(accesses);
    for (const Shift shift :
         {Shift{0, 0, 0}, Shift{1, 2, 3}, Shift{2, 0, 1}, Shift{2, 2, 2}, Shift{3, 0, 2}}) {
      const Swizzle swizzle = swizzle_by(layout, shift);
      const int flips = ((1 << shift.bits) - 1) << shift.up;
      if (flips >= layout.columns || flips % widest_vector(accesses) != 0) continue;
      for (const Access& access : accesses)
        for (const Position first :
             {Position{0, 0}, Position{5, 0}, Position{layout.rows - 1, last}}) {
          const Cost cost = cost_of(layout, access, swizzle, first);
          CHECK(wavefronts_by_rank(layout, access, swizzle) == cost.wavefronts);
          CHECK(conflicts(layout, access, swizzle, layout.rows) ==
                (cost.wavefronts > cost.least));
          ++compared;
        }
    }
  });
  CHECK(compared > 1000);
}

TEST_CASE("the rank of vectors of bits") {
  CHECK(rank({}, 5) == 0);
  CHECK(rank({1, 2, 4, 8, 16}, 5) == 5);
  CHECK(rank({1, 2, 4, 8, 16}, 3) == 3);
  CHECK(rank({3, 5, 6}, 3) == 2);         // 3 ^ 5 = 6
  CHECK(rank({7, 7, 0, 8, 15}, 5) == 2);  // 7 ^ 8 = 15
  CHECK(rank({6, 5, 12, 10, 9}, 5) == 3);
}

TEST_CASE(
    "lanes as they copy A and take it from As: the bits that vary, and what their ranks are") {
  const Layout As = layout_of_As<Swizzled>();
  const Access store = store_of_As<Swizzled>(), load = load_of_As<Swizzled>();
  CHECK(bits_together(As, store) == 5);
  CHECK(bits_together(As, load) == 4);  // neighbours want the same
  CHECK(ranks_of(As, store, Swizzle{}).bank == 3);
  CHECK(ranks_of(As, store, swizzle_by(As, {4, 0, 0})).bank == 4);
  CHECK(ranks_of(As, store, swizzle_by(As, {4, 0, 1})).bank == 5);
  CHECK(ranks_of(As, store, swizzle_by(As, {2, 2, 3})).bank == 5);
  CHECK(ranks_of(As, store, swizzle_by(As, {2, 2, 3})).address == 5);
  CHECK(ranks_of(As, load, swizzle_by(As, {2, 2, 3})).bank == 1);
  CHECK(ranks_of(As, load, swizzle_by(As, {2, 2, 3})).address == 1);
}

TEST_CASE("the solver finds the chapter's swizzle, and it is the shift of fewest bits") {
  const std::vector<Access> accesses{store_of_As<Swizzled>(), load_of_As<Swizzled>()};
  const auto shift = solve_by_shift(layout_of_As<Swizzled>(), accesses);
  REQUIRE(shift.has_value());
  CHECK((1 << (shift->down + shift->bits)) == Swizzled::BK);
  CHECK(shift->down == Swizzled::DOWN);
  CHECK(shift->up == Swizzled::UP);
  const Swizzle found = swizzle_by(layout_of_As<Swizzled>(), *shift);
  for (int row = 0; row < Swizzled::BK; ++row)
    for (int col = 0; col < Swizzled::BM; ++col)
      REQUIRE(found(row * Swizzled::BM + col) ==
              row * Swizzled::BM + swizzle<Swizzled>(row, col));
}

TEST_CASE("where nothing conflicts the solver's shift has no bits") {
  const auto shift = solve_by_shift({4, 32, 32}, {lanes_in_rows(32, 1, 1, false)});
  REQUIRE(shift.has_value());
  CHECK(shift->bits == 0);
}

TEST_CASE("each answer by shift has the fewest bits") {
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    const auto shift = solve_by_shift(layout, accesses);
    if (!shift || shift->bits == 0) return;
    const int fewer = shift->bits - 1, lowest = log2_of(widest_vector(accesses));
    for (int down = 0; 1 << (down + fewer) <= layout.rows; ++down)
      for (int up = lowest; 1 << (up + fewer) <= layout.columns; ++up)
        CHECK_FALSE(
            free_of_conflicts(layout, accesses, swizzle_by(layout, {fewer, down, up})));
  });
}

TEST_CASE(
    "where no shift will do, bits of the row chosen one by one may, and where float4s must stay whole none may") {
  // Bits 0 and 2 of the row vary, and banks 1 and 4 are free: no shift moves bits two apart to
  // places three apart.
  const Layout tile{4, 32, 32};
  const Access scattered{{{{0, 1}, {0, 4}, {0, 8}, {1, 0}, {4, 0}}}, 1, false};
  CHECK_FALSE(solve_by_shift(tile, {scattered}).has_value());
  const auto answer = solve(tile, {scattered});
  REQUIRE(answer.has_value());
  CHECK(answer->family == Family::bits_of_row);
  CHECK(free_of_conflicts(tile, {scattered}, answer->swizzle));
  // A column of 32 words has 8 places for float4s.
  const Access column = lanes_in_rows(1, 1, 1, true), quads = lanes_in_rows(8, 4, 1, false);
  CHECK(solve_by_shift(tile, {column}).has_value());
  CHECK_FALSE(solve(tile, {column, quads}).has_value());
  CHECK(too_few_places(tile, {column, quads}));
  CHECK_FALSE(too_few_places(tile, {column}));
}

TEST_CASE(
    "a swizzle by shift is CUTLASS's of three numbers, for every shift that stays in its row") {
  int compared = 0;
  for (const Layout layout : {Layout{4, 16, 128}, Layout{2, 8, 32}, Layout{16, 32, 8}})
    for (int bits = 0; bits <= 4; ++bits)
      for (int down = 0; 1 << (down + bits) <= layout.rows; ++down)
        for (int up = 0; 1 << (up + bits) <= layout.columns; ++up) {
          const Shift shift{bits, down, up};
          const Cutlass named = cutlass_name(layout, shift);
          const Swizzle by_shift = swizzle_by(layout, shift), by_name = swizzle_by(named);
          bool same = true;
          for (int row = 0; row < layout.rows; ++row)
            for (int col = 0; col < layout.columns; ++col) {
              const int offset = row * layout.columns + col;
              const int mixed = col ^ ((row >> down) % (1 << bits) << up);
              same = same && named(offset) == row * layout.columns + mixed;
              same = same && by_shift(offset) == named(offset) &&
                     by_name(offset) == named(offset);
            }
          CHECK(same);
          CHECK(named.S >= named.B);  // as CUTLASS asks for
          ++compared;
        }
  CHECK(compared > 50);
}

TEST_CASE(
    "the solver, asked for eight rows of 16 bytes, finds the three swizzles of the tensor memory accelerator") {
  // As the PTX ISA has them: 16-byte pieces of rows of 128, 64 and 32 bytes change places by
  // the address bits from 7 on.
  for (const int row_bytes : {128, 64, 32}) {
    CAPTURE(row_bytes);
    const Layout halves{2, 64, row_bytes / 2};
    const Access rows = access_by([](int lane) { return Position{lane, 0}; }, 8, true);
    const auto shift = solve_by_shift(halves, {rows});
    REQUIRE(shift.has_value());
    const Swizzle found = swizzle_by(halves, *shift);
    const int pieces = row_bytes / 16, rows_in_128 = 128 / row_bytes;
    for (int row = 0; row < 64; ++row)
      for (int col = 0; col < halves.columns; ++col) {
        const int piece = col / 8 ^ row / rows_in_128 % pieces;
        REQUIRE(found(row * halves.columns + col) ==
                row * halves.columns + piece * 8 + col % 8);
      }
    // Of bytes: Swizzle<3, 4, 3>, <2, 4, 3> and <1, 4, 3>.
    const Cutlass bytes =
        cutlass_name({1, 64, row_bytes}, {shift->bits, shift->down, shift->up + 1});
    CHECK(bytes.B == log2_of(pieces));
    CHECK(bytes.M == 4);
    CHECK(bytes.S == 3);
    // The accelerator takes bits of the address. They are those of the offset if the tile
    // begins where its pattern does.
    const auto is_found_at = [&](int begin) {
      bool same = true;
      for (int offset = 0; offset < 64 * halves.columns; ++offset)
        same = same && bytes(begin + 2 * offset) == begin + 2 * found(offset);
      return same;
    };
    const int pattern = 1 << (bytes.B + bytes.M + bytes.S);
    CHECK(is_found_at(pattern));
    CHECK(is_found_at(3 * pattern));
    CHECK_FALSE(is_found_at(pattern / 2));
  }
}

TEST_CASE("the solver refuses what its algebra is not about") {
  const Access store = store_of_As<Swizzled>();
  CHECK_THROWS_WITH(solve({4, 16, 132}, {store}),
                    "element, rows and columns must be powers of two, not 132");
  CHECK_THROWS_WITH(solve({4, 0, 128}, {store}),
                    "element, rows and columns must be powers of two, not 0");
  CHECK_THROWS_WITH(solve({4, 1 << 9, 128}, {store}),
                    "a tile must fit into the 227 KB of shared memory that a block can have");
  CHECK_THROWS_WITH(solve({2, 16, 128}, {store}), "a lane accesses 4, 8 or 16 bytes, not 2");
  // In turn: a row too high, one too low, a column too high, one too low, and a vector that
  // begins elsewhere.
  for (const Position outside :
       {Position{16, 0}, Position{-1, 0}, Position{0, 128}, Position{0, -4}, Position{0, 2}}) {
    Access access = load_of_As<Swizzled>();
    CHECK_NOTHROW(solve({4, 16, 128}, {access}));
    access.bit[4] = outside;
    CHECK_THROWS_WITH(
        solve({4, 16, 128}, {access}),
        "a lane's vector must lie in the tile and begin at a multiple of its length");
  }
  const char* no_xor =
      "this lane map is no XOR of what the bits of the lane contribute: no solver for it";
  CHECK_THROWS_WITH(access_by(
                        [](int lane) {
                          return Position{0, 3 * lane};
                        },
                        1, false),
                    no_xor);
  CHECK_THROWS_WITH(access_by(
                        [](int lane) {
                          return Position{3 * lane, 0};
                        },
                        1, false),
                    no_xor);
}

TEST_CASE("the prose's arithmetic") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("round.before") == 256);
  CHECK(facts.value("round.after") == 64);
  CHECK(facts.value("saved_per_fma") == 3.0 / 128);
  CHECK(facts.value("saved_per_fma.xor_row") == 2.0 / 128);
  CHECK(facts.value("worked.word") == 6 * 128 + (25 ^ 8));
  CHECK(facts.value("xor_row.store_As.wavefronts") == 2);
  const auto text = [&](const std::string& key) {
    for (const auto& fact : facts.all())
      if (fact.key == key) return fact.text;
    return std::string("no such fact");
  };
  CHECK(text("store_As.varying") == "0, 1, 2, 9, 10");
  CHECK(text("store_As.varying_banks") == "0, 1, 2");
  CHECK(text("solver.As16.formula") == "col ^ ((row >> 2) << 3)");
  CHECK(text("solver.As8.formula") == "col ^ ((row >> 2) << 4)");
  CHECK(text("solver.As32.formula") == "col ^ ((row >> 2) << 2)");
  CHECK(text("solver.square.formula") == "col ^ row");
  CHECK(text("solver.square4.formula") == "none of these");
  CHECK(text("solver.flat.formula") == "offset ^ ((offset >> 3) & 4)");
  CHECK(text("solver.flat.cutlass") == "<1, 2, 3>");
  CHECK(facts.value("solver.flat.first.before") == 8);
  CHECK(facts.value("solver.flat.first.after") == 4);
  CHECK(facts.value("solver.flat.second.after") == 4);
  const auto answered = [&](const char* how) {
    return facts.value(std::string("grid.") + how);
  };
  CHECK(answered("nothing") + answered("by_shift") + answered("by_row_bits") +
            answered("by_offset") + answered("none") ==
        answered("problems"));
  int impossible = 0;
  for_each_problem([&](const Layout& layout, const std::vector<Access>& accesses) {
    impossible += too_few_places(layout, accesses);
  });
  CHECK(answered("impossible") == impossible);
  CHECK(0 < impossible);
  CHECK(impossible < answered("none"));
  CHECK(text("solver.halves64.formula") == "col ^ ((row % 8) << 3)");
  CHECK(text("solver.halves16.cutlass") == "<1, 3, 3>");
  CHECK(facts.value("solver.halves64.pattern_bytes") == 1024);
  CHECK(facts.value("solver.halves16.pattern_bytes") == 256);
}

TEST_CASE("the result equals the one of chapter 08's order of additions bit for bit" *
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
        ++copiesA.at(std::size_t(
            (load_A_of<C>(thread).col + i) * C::BM +
            swizzle<C>(load_A_of<C>(thread).col + i, load_A_of<C>(thread).row) + down));
      for (int down = 0; down < C::BK; down += C::ROWS_B)
        ++copiesB.at(std::size_t((load_B_of<C>(thread).row + down) * C::BN +
                                 load_B_of<C>(thread).col + i));
    }
  }
  CHECK(results == std::vector<int>(results.size(), 1));
  CHECK(copiesA == std::vector<int>(copiesA.size(), 1));
  CHECK(copiesB == std::vector<int>(copiesB.size(), 1));
}

TEST_CASE("every result of a tile has one thread, and so has every place of As and Bs") {
  check_maps(Swizzled{});
  check_maps(XorRow{});
  check_maps(XorTwice{});
}

TEST_CASE("the experiment's variants compute right") {
  for (const Variant& v : variants) {
    CAPTURE(v.words);
    CHECK(tile::first_failure(v.launch, {{128, 256, 48, 2, 1, 4, tile::Fill::integers}}) ==
          "");
    CHECK(tile::first_failure(v.launch, {{70, 90, 33, 2, 1, 1, tile::Fill::integers}}) == "");
  }
  CHECK(stores_per_fma(variants[0]) == 4.0 / 128);
}

#if TILE_ON_MODEL
TEST_CASE("the experiment's stores have the conflicts that it says" *
          doctest::test_suite("model")) {
  for (const Variant& v : variants) {
    CAPTURE(v.words);
    const auto counts = tile::count(v.launch, {128, 128, 32});
    const auto& store = tile::site(counts, "store-As");
    CHECK(store.wavefronts == std::uint64_t(std::stoi(v.words)) * store.requests);
    CHECK(stores_per_fma(v) * Masked::BN == std::stoi(v.words));
    CHECK(tile::site(counts, "load-As").wavefronts ==
          2 * tile::site(counts, "load-As").requests);
  }
}
TEST_CASE("the model counts what the ranks say" * doctest::test_suite("model")) {
  const tile::Case c{128, 256, 64};
  const std::uint64_t stores =
      // a row of blocks stores A once for each tile of C
      128 * 64 / 32 * (256 / Swizzled::BN);
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    CAPTURE(kernel.name);
    const auto counts = tile::count(kernel.launch, c);
    const std::uint64_t each = kernel.name == "xor_row" ? 2 : 1;
    if (each == 1) CHECK(tile::bank_conflict(counts, "store-As") == "");
    CHECK(tile::site(counts, "store-As").requests == stores);
    CHECK(tile::site(counts, "store-As").wavefronts == each * stores);
    CHECK(tile::site(counts, "store-Bs").wavefronts ==
          4 * tile::site(counts, "store-Bs").requests);
    const bool words = kernel.name == "xor_twice" || kernel.name == "words";
    CHECK(tile::bank_conflict(counts, words ? "load-As-words" : "load-As") == "");
    const auto& load = tile::site(counts, words ? "load-As-words" : "load-As");
    CHECK(load.wavefronts == (words ? 1 : 2) * load.requests);
    CHECK(load.requests == (words ? 4u : 1u) * 2048);
  }
}
#endif
