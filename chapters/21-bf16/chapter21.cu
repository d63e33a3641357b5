// Tile by Tile, chapter 21: sixteen bits in, thirty-two out.
//
// Question: what does half the bytes buy a kernel that bytes do not limit?
// Idea: A and B hold numbers of 16 bits, sums stay 32 bits wide. Such a number is the upper
// half of a float, so a shift makes a float of it. Three kernels do so at three places: on the
// way into shared memory, at use, and at use two by two. Previous chapter: 12, whose kernels
// these are but for the elements of A, B and C, and for the order of a step's products.
//
// Build, run, verify:   ./tile run 21      ctest --preset model -R chapter21
#include <algorithm>
#include <bit>
#include <cmath>

#include "chapters/21-bf16/number_format.hpp"
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
using bf16 = __nv_bfloat16;  // the upper half of a float: a sign, 8 bits of exponent, 7 more

// Where an element of A or B becomes a float.
enum class Convert {
  nowhere,     // it is one
  on_the_way,  // between registers and shared memory, which holds floats
  at_use,      // behind shared memory, one element after the other
  two_by_two   // the same, two elements at a time: the two halves of a word
};
// In which order a block stores tiles and multiplies, as in chapter 12.
enum class Schedule { ahead, two_buffers };
// In which order a thread makes the products of a step.
enum class Order {
  by_pieces,      // piece by piece, in each row by row from left to right, as in chapter 12
  back_and_forth  // through all pieces row by row, to the right and back in turn
};

template <Convert CONVERT_, class Out_,  // where elements are converted; the type of C's
          Schedule SCHEDULE_, Order ORDER_, int WNITER_,
          int TN_,  // pieces of a warp's tile, side by side, and a thread's columns
          int BK_ = 16, int UNROLL_ = BK_>  // depth of a tile along K; steps written out
struct Config {
  static constexpr Convert CONVERT = CONVERT_;
  static constexpr Schedule SCHEDULE = SCHEDULE_;
  static constexpr Order ORDER = ORDER_;
  static constexpr bool FLOATS = CONVERT == Convert::nowhere || CONVERT == Convert::on_the_way;
  // The types of elements: of A and B; of As and Bs; of C.
  using In = std::conditional_t<CONVERT == Convert::nowhere, float, bf16>;
  using Shared = std::conditional_t<FLOATS, float, bf16>;
  using Out = Out_;
  // Rows and columns of C per block, depth of a tile along K; rows and columns per warp; rows
  // and columns of results per thread and piece.
  static constexpr int BM = 128, BN = 128, BK = BK_, WM = 64, WN = 64, TM = 8, TN = TN_;
  // Steps that stand in the machine code: all of a tile, or a loop turns more than once.
  static constexpr int UNROLL = UNROLL_;
  static constexpr int WNITER = WNITER_;
  static constexpr int BLOCKS = 2;           // that an SM must hold: a limit on registers
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;  // rows: 32 threads' results cover it
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int RESULTS = WM * WN / 32;  // results per thread
  static constexpr int NUM_THREADS = BM * BN / RESULTS;
  static constexpr int LOADED = 16 / sizeof(In);    // elements of A or B in 16 bytes
  static constexpr int READ = 16 / sizeof(Shared);  // elements of As or Bs in 16 bytes
  // Rows of a tile that all threads together load at once, and how many loads each makes.
  static constexpr int ROWS_A = LOADED * NUM_THREADS / BK, LOADS_A = BM / ROWS_A;
  static constexpr int ROWS_B = LOADED * NUM_THREADS / BN, LOADS_B = BK / ROWS_B;
  // Rows of A that follow each other in one thread: two where it makes words of two.
  static constexpr int NEIGHBOURS = CONVERT == Convert::two_by_two ? 2 : 1;
  static constexpr int TURNED = 32 * LOADED / BK * NEIGHBOURS;  // of a row of As, by one warp
  static constexpr int BUFFERS = SCHEDULE == Schedule::two_buffers ? 2 : 1;
  static constexpr int SMEM_BYTES = BUFFERS * (BM + BN) * BK * int(sizeof(Shared));
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WM % WSUBM == 0,
      "32 threads of TM x TN results must cover a piece, and pieces the warp's tile");
  static_assert(TM % READ == 0 && TN % READ == 0,
                "16 bytes of As or Bs must belong to one thread's row of results");
  static_assert(
      BM % ROWS_A == 0 && BK % ROWS_B == 0 && LOADS_A % NEIGHBOURS == 0,
      "threads must not load past a tile nor leave parts out, and words take two rows");
  static_assert(WSUBM / TM == 4 && WSUBN / TN == 8,
                "lanes form 4 rows of 8: their bits 0 and 4 count the rows");
  static_assert(BK % UNROLL == 0, "the loop over steps must turn a whole number of times");
  static_assert(TURNED % TM == 0, "the swizzle must move the rows of a thread together");
  static_assert((BK / LOADED - 1) * TURNED < WM, "the swizzle must stay within a warp's rows");
};

// 16 bytes of shared memory are four columns of floats, or eight of 16 bits.
template <Convert CONVERT, class Out, Schedule SCHEDULE, Order ORDER, int UNROLL = 16>
using Wide = Config<CONVERT, Out, SCHEDULE, ORDER, 2, 4, 16, UNROLL>;
template <Convert CONVERT, class Out, Schedule SCHEDULE, Order ORDER, int BK = 16,
          int UNROLL = BK>
using Narrow = Config<CONVERT, Out, SCHEDULE, ORDER, 1, 8, BK, UNROLL>;

// Chapter 12's kernel; then floats in this chapter's order, in both schedules.
using Deep = Wide<Convert::nowhere, float, Schedule::two_buffers, Order::by_pieces>;
using Plain = Wide<Convert::nowhere, float, Schedule::two_buffers, Order::back_and_forth>;
using PlainAhead = Wide<Convert::nowhere, float, Schedule::ahead, Order::back_and_forth>;
// 16 bits in, converted at three places; and 16 bits out as well.
using OnTheWay = Wide<Convert::on_the_way, float, Schedule::ahead, Order::back_and_forth>;
using OnTheWayBuffered =
    Wide<Convert::on_the_way, float, Schedule::two_buffers, Order::back_and_forth>;
using AtUse = Narrow<Convert::at_use, float, Schedule::ahead, Order::back_and_forth>;
using Packed = Narrow<Convert::two_by_two, float, Schedule::ahead, Order::back_and_forth>;
using Rounded = Wide<Convert::on_the_way, bf16, Schedule::ahead, Order::back_and_forth>;
// Half as many instructions in the loop: of each tile 8 steps and again 8, or tiles of 8.
using PlainAheadHalves =
    Wide<Convert::nowhere, float, Schedule::ahead, Order::back_and_forth, 8>;
using OnTheWayHalves =
    Wide<Convert::on_the_way, float, Schedule::ahead, Order::back_and_forth, 8>;
using AtUseHalves =
    Narrow<Convert::at_use, float, Schedule::ahead, Order::back_and_forth, 16, 8>;
using AtUseShort = Narrow<Convert::at_use, float, Schedule::ahead, Order::back_and_forth, 8>;
using PackedHalves =
    Narrow<Convert::two_by_two, float, Schedule::ahead, Order::back_and_forth, 16, 8>;
// [/snippet config]

// [snippet convert]
// The exponent trick: a number of 16 bits has the exponent of a float, so it needs only to be
// moved into place. Of the two in a word the lower one is shifted up, and the upper one stays
// where it is.
__device__ __forceinline__ float lower_of(unsigned word) {
  return __uint_as_float(word << 16);
}
__device__ __forceinline__ float upper_of(unsigned word) {
  return __uint_as_float(word & 0xffff0000u);
}

// The way back is a rounding, to the nearest and of two to the even one: cvt.rn.bf16.f32.
__device__ __forceinline__ unsigned word_of(float lower, float upper) {
  const __nv_bfloat162 two = __floats2bfloat162_rn(lower, upper);
  return unsigned(__bfloat16_as_ushort(two.y)) << 16 | __bfloat16_as_ushort(two.x);
}

// 16 bytes, as floats.
template <class Element>
__device__ __forceinline__ void to_floats(const uint4& from, float* to) {
  const unsigned words[4] = {from.x, from.y, from.z, from.w};
  for (int i = 0; i < 4; ++i)
    if constexpr (sizeof(Element) == 4)
      to[i] = __uint_as_float(words[i]);
    else
      to[2 * i] = lower_of(words[i]), to[2 * i + 1] = upper_of(words[i]);
}
// [/snippet convert]

// Elements one by one: what they are worth, their bits in words, and how a value is written.
__device__ __forceinline__ float value_of(float element) { return element; }
__device__ __forceinline__ float value_of(bf16 element) { return __bfloat162float(element); }
__device__ __forceinline__ uint4 sixteen_bytes(const float (&e)[4]) {
  return {__float_as_uint(e[0]), __float_as_uint(e[1]), __float_as_uint(e[2]),
          __float_as_uint(e[3])};
}
__device__ __forceinline__ uint4 sixteen_bytes(const bf16 (&e)[8]) {
  unsigned word[4];
  for (int i = 0; i < 4; ++i)
    word[i] =
        unsigned(__bfloat16_as_ushort(e[2 * i + 1])) << 16 | __bfloat16_as_ushort(e[2 * i]);
  return {word[0], word[1], word[2], word[3]};
}
__device__ __forceinline__ void put(float* to, float value) {
  *to = value;  //@ store-C-words
}
__device__ __forceinline__ void put(bf16* to, float value) {
  *to = __float2bfloat16(value);  //@ store-C-words
}

// Eight elements, for the compiler to take apart.
struct alignas(16) Eight {
  bf16 element[8];
};

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
// Where a thread's TM x TN results begin in a piece of the warp's tile. Lanes 2n and 2n + 1
// lie one below the other.
template <class C>
constexpr __host__ __device__ Position results_of(int thread) {
  const int laneId = thread % 32;
  return {(laneId / 16 * 2 + laneId % 2) * C::TM, laneId / 2 % 8 * C::TN};
}
// The first element of a thread's first load from the tile of A, and from the tile of B.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / C::LOADED) * C::NEIGHBOURS,
          thread % (C::BK / C::LOADED) * C::LOADED};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / C::LOADED), thread % (C::BN / C::LOADED) * C::LOADED};
}
// How many rows below the first a thread's load number n from the tile of A lies.
template <class C>
constexpr __host__ __device__ int load_A_below(int n) {
  return n % C::NEIGHBOURS + n / C::NEIGHBOURS * C::NEIGHBOURS * C::ROWS_A;
}
// Where in its row of As an element of the transposed tile lies. A warp stores TURNED
// neighbours in each of BK / LOADED rows; this gives each of the rows other banks.
template <class C>
constexpr __host__ __device__ int swizzle_A(int k, int col) {
  return col ^ k / C::LOADED * C::TURNED;
}
// Where in its row of Bs an element lies. A thread that has loaded eight floats stores them as
// four and four, and threads four apart would meet in a bank.
template <class C>
constexpr __host__ __device__ int swizzle_B(int col) {
  return C::CONVERT == Convert::on_the_way ? col ^ col / 32 % 2 * 4 : col;
}
// [/snippet maps]

// Four results of a row of C that begin at a multiple of 8 or 16 bytes.
__device__ __forceinline__ float4 four_of(const float* c) {
  return *reinterpret_cast<const float4*>(c);  //@ load-C
}
__device__ __forceinline__ float4 four_of(const bf16* c) {
  const uint2 words = *reinterpret_cast<const uint2*>(c);  //@ load-C
  return {lower_of(words.x), upper_of(words.x), lower_of(words.y), upper_of(words.y)};
}
__device__ __forceinline__ void put_four(float* c, const float4& four) {
  *reinterpret_cast<float4*>(c) = four;  //@ store-C
}
__device__ __forceinline__ void put_four(bf16* c, const float4& four) {
  const uint2 words{word_of(four.x, four.y), word_of(four.z, four.w)};
  *reinterpret_cast<uint2*>(c) = words;  //@ store-C
}

// VECTORS: tiles are whole and rows begin at multiples of 16 bytes.
template <class Config, bool VECTORS>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    gemm_narrow(int M, int N, int K, float alpha,       //
                const typename Config::In* A, int lda,  // M x K
                const typename Config::In* B, int ldb,  // K x N
                float beta,                             //
                typename Config::Out* C, int ldc) {     // M x N
  using In = typename Config::In;
  using Shared = typename Config::Shared;
  constexpr Convert CONVERT = Config::CONVERT;
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  constexpr int BUFFERS = Config::BUFFERS, LOADED = Config::LOADED, READ = Config::READ;
  alignas(16) __shared__ Shared
      As[BUFFERS][BK * BM];  // each BK x BM: a tile of A, transposed, each row swizzled
  alignas(16)
      __shared__ Shared Bs[BUFFERS][BK * BN];  // each BK x BN, row-major, each row swizzled

  const int firstRow = blockIdx.y * BM, firstCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = results_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece

  // [snippet load]
  const In* nextA = A + std::size_t(firstRow + rowA) * lda + colA;
  const In* nextB = B + std::size_t(rowB) * ldb + firstCol + colB;
  // This thread's part of a tile on its way, as it came.
  uint4 fetchedA[Config::LOADS_A], fetchedB[Config::LOADS_B];

  // From global memory into registers: a tile, bkIdx deep. Nothing waits for it yet.
  const auto fetch = [&](int bkIdx) {
#pragma unroll
    for (int n = 0; n < Config::LOADS_A; ++n) {
      const In* from = nextA + std::size_t(load_A_below<Config>(n)) * lda;
      if constexpr (VECTORS) {
        fetchedA[n] = *reinterpret_cast<const uint4*>(from);  //@ load-A
      } else {
        In a[LOADED] = {};
        for (int i = 0; i < LOADED; ++i)
          if (firstRow + rowA + load_A_below<Config>(n) < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
        fetchedA[n] = sixteen_bytes(a);
      }
    }
#pragma unroll
    for (int n = 0; n < Config::LOADS_B; ++n) {
      const In* from = nextB + std::size_t(n * Config::ROWS_B) * ldb;
      if constexpr (VECTORS) {
        fetchedB[n] = *reinterpret_cast<const uint4*>(from);  //@ load-B
      } else {
        In b[LOADED] = {};
        for (int j = 0; j < LOADED; ++j)
          if (bkIdx + rowB + n * Config::ROWS_B < K && firstCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        fetchedB[n] = sixteen_bytes(b);
      }
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // [/snippet load]

  // [snippet store]
  // From registers into a buffer of shared memory. Here a thread waits for what it fetched.
  const auto store = [&](int buffer) {
#pragma unroll
    for (int n = 0; n < Config::LOADS_A; n += Config::NEIGHBOURS) {
      Shared* to =
          &As[buffer][colA * BM + swizzle_A<Config>(colA, rowA) + load_A_below<Config>(n)];
      if constexpr (CONVERT == Convert::at_use) {
        const unsigned words[4] = {fetchedA[n].x, fetchedA[n].y, fetchedA[n].z, fetchedA[n].w};
        for (int i = 0; i < LOADED; ++i)
          to[i * BM] =
              __ushort_as_bfloat16((unsigned short)(words[i / 2] >> i % 2 * 16));  //@ store-As
      } else if constexpr (CONVERT == Convert::two_by_two) {
        // Two rows of A that follow each other are the lower and upper halves of words of As.
        const uint4 &one = fetchedA[n], &next = fetchedA[n + 1];
        const unsigned lower[4] = {one.x, one.y, one.z, one.w};
        const unsigned upper[4] = {next.x, next.y, next.z, next.w};
        for (int i = 0; i < LOADED; ++i) {
          // Bytes 4 to 7 are the second word's: both words' lower halves, or both upper ones.
          const unsigned word =
              __byte_perm(lower[i / 2], upper[i / 2], i % 2 == 0 ? 0x5410 : 0x7632);
          *reinterpret_cast<unsigned*>(to + i * BM) = word;  //@ store-As
        }
      } else {
        float a[LOADED];
        to_floats<In>(fetchedA[n], a);
        for (int i = 0; i < LOADED; ++i) to[i * BM] = a[i];  //@ store-As
      }
    }
#pragma unroll
    for (int n = 0; n < Config::LOADS_B; ++n) {
      Shared* row = &Bs[buffer][(rowB + n * Config::ROWS_B) * BN];
      if constexpr (Config::FLOATS) {
        float b[LOADED];
        to_floats<In>(fetchedB[n], b);
        for (int j = 0; j < LOADED; j += 4) {
          const float4 four{b[j], b[j + 1], b[j + 2], b[j + 3]};
          *reinterpret_cast<float4*>(&row[swizzle_B<Config>(colB + j)]) = four;  //@ store-Bs
        }
      } else {
        *reinterpret_cast<uint4*>(&row[colB]) = fetchedB[n];  //@ store-Bs
      }
    }
  };
  // [/snippet store]

  // [snippet multiply]
  const auto multiply = [&](int buffer) {
#pragma unroll Config::UNROLL
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[WMITER * TM], regN[WNITER * TN];  // this thread's parts of a row of As, of Bs
      for (int i = 0; i < WMITER * TM; i += READ) {
        const int row = i / TM * WSUBM + threadRow + i % TM;  // of the warp's, a column of As
        const int col = warpRow + swizzle_A<Config>(dotIdx, row);
        const Shared* from = &As[buffer][dotIdx * BM + col];
        if constexpr (CONVERT == Convert::at_use) {
          const Eight eight = *reinterpret_cast<const Eight*>(from);  //@ load-As
          for (int e = 0; e < READ; ++e) regM[i + e] = value_of(eight.element[e]);
        } else {
          const uint4 bytes = *reinterpret_cast<const uint4*>(from);  //@ load-As
          to_floats<Shared>(bytes, regM + i);
        }
      }
      for (int j = 0; j < WNITER * TN; j += READ) {
        const int col = swizzle_B<Config>(warpCol + j / TN * WSUBN + threadCol + j % TN);
        const Shared* from = &Bs[buffer][dotIdx * BN + col];
        if constexpr (CONVERT == Convert::at_use) {
          const Eight eight = *reinterpret_cast<const Eight*>(from);  //@ load-Bs
          for (int e = 0; e < READ; ++e) regN[j + e] = value_of(eight.element[e]);
        } else {
          const uint4 bytes = *reinterpret_cast<const uint4*>(from);  //@ load-Bs
          to_floats<Shared>(bytes, regN + j);
        }
      }
      const auto multiply_add = [&](int i, int j) {
        acc[i / TM][i % TM][j / TN][j % TN] += regM[i] * regN[j];
      };
      if constexpr (Config::ORDER == Order::by_pieces) {
        for (int wm = 0; wm < WMITER; ++wm)
          for (int wn = 0; wn < WNITER; ++wn)
            for (int i = 0; i < TM; ++i)
              for (int j = 0; j < TN; ++j) multiply_add(wm * TM + i, wn * TN + j);
      } else {
        for (int i = 0; i < WMITER * TM; ++i)
          for (int j = 0; j < WNITER * TN; ++j)
            multiply_add(i, i % 2 == 0 ? j : WNITER * TN - 1 - j);
      }
    }
  };
  // [/snippet multiply]

  // [snippet main-loop]
  int buffer = 0;
  fetch(0);
  store(buffer);
  __syncthreads();  // a thread reads what others wrote: all must have stored before
  for (int bkIdx = BK; bkIdx < K; bkIdx += BK) {
    fetch(bkIdx);
    multiply(buffer);
    if constexpr (BUFFERS == 1) __syncthreads();  // nobody may store while another still reads
    buffer = (buffer + 1) % BUFFERS;
    store(buffer);
    __syncthreads();  // all have stored, and all have read what the next round overwrites
  }
  multiply(buffer);
  // [/snippet main-loop]

  // [snippet write-back]
  // Unrolled, because a register has no index: a sum that is chosen at run time would have to
  // live in local memory.
#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int wn = 0; wn < WNITER; ++wn) {
        const int row = firstRow + warpRow + wm * WSUBM + threadRow + i;
        const int col = firstCol + warpCol + wn * WSUBN + threadCol;
        const float* sum = acc[wm][i][wn];
        typename Config::Out* c = &C[std::size_t(row) * ldc + col];
        if constexpr (VECTORS) {
#pragma unroll
          for (int j = 0; j < TN; j += 4) {
            float4 result{alpha * sum[j], alpha * sum[j + 1], alpha * sum[j + 2],
                          alpha * sum[j + 3]};
            if (beta != 0.0f) {
              const float4 old = four_of(c + j);
              result = {result.x + beta * old.x, result.y + beta * old.y,
                        result.z + beta * old.z, result.w + beta * old.w};
            }
            put_four(c + j, result);
          }
        } else {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            if (row >= M || col + j >= N) continue;
            float result = alpha * sum[j];
            if (beta != 0.0f) result += beta * value_of(c[j]);  //@ load-C-words
            put(c + j, result);
          }
        }
      }
    }
  }
  // [/snippet write-back]
}

// [snippet launch]
template <class T>
constexpr tile::Element element_of =
    std::is_same_v<T, float> ? tile::Element::f32 : tile::Element::bf16;
template <class Config>
constexpr tile::Types types_of{element_of<typename Config::In>,
                               element_of<typename Config::In>,
                               element_of<typename Config::Out>};

// Whether a matrix begins at a multiple of 16 bytes, and each of its rows with it.
bool rows_divisible_by_16(tile::Element element, const void* matrix, int ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 &&
         ld % tile::elements_of_16_bytes(element) == 0;
}

template <class Config>
bool vectors_fit(const tile::Product& product) {
  const tile::Problem& p = product.problem;
  return p.M % Config::BM == 0 && p.N % Config::BN == 0 && p.K % Config::BK == 0 &&  //
         rows_divisible_by_16(p.types.A, product.A, p.lda) &&
         rows_divisible_by_16(p.types.B, product.B, p.ldb) &&
         rows_divisible_by_16(p.types.C, product.C, p.ldc);
}

template <class Config>
void launch_narrow(const tile::Product& product) {
  tile::require_valid(product);
  tile::require_rows_of(product, types_of<Config>);
  using In = typename Config::In;
  const tile::Problem& p = product.problem;
  const dim3 grid(tile::ceil_div(p.N, Config::BN), tile::ceil_div(p.M, Config::BM));
  tile::launch(
      vectors_fit<Config>(product) ? gemm_narrow<Config, true> : gemm_narrow<Config, false>,
      grid, dim3(Config::NUM_THREADS), 0, p.M, p.N, p.K, product.alpha,
      static_cast<const In*>(product.A), p.lda, static_cast<const In*>(product.B), p.ldb,
      product.beta, static_cast<typename Config::Out*>(product.C), p.ldc);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("deep", Deep{});
  f("words", Plain{});
  f("words_ahead", PlainAhead{});
  f("on_the_way", OnTheWay{});
  f("on_the_way_buffered", OnTheWayBuffered{});
  f("at_use", AtUse{});
  f("packed", Packed{});
  f("rounded", Rounded{});
  f("at_use_halves", AtUseHalves{});
  f("at_use_short", AtUseShort{});
  f("packed_halves", PackedHalves{});
  f("words_ahead_halves", PlainAheadHalves{});
  f("on_the_way_halves", OnTheWayHalves{});
}

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  // What formats hold. Numbers far from 1 are written with a power of ten.
  const auto short_text = [](const std::string& form, double value) {
    char text[64];
    std::snprintf(text, sizeof text, form.c_str(), value);
    return std::string(text);
  };
  const double pi = 3.14159265358979323846;
  for (const tile::NumberFormat& format :
       {tile::bf16_format, tile::fp16_format, tile::tf32_format, tile::fp32_format}) {
    std::string name = "format.";
    for (const char* c = format.name; *c != 0; ++c) name += char(*c >= 'A' ? *c | 32 : *c);
    facts.predicted(name + ".bits", format.bits());
    facts.predicted(name + ".exponent_bits", format.exponent_bits);
    facts.predicted(name + ".mantissa_bits", format.mantissa_bits);
    facts.predicted(name + ".significand_bits", format.mantissa_bits + 1);
    facts.predicted(name + ".bias", format.bias());
    for (const auto& [key, value] : {std::pair("unit_roundoff", format.unit_roundoff()),
                                     {"step_at_one", format.step_at_one()},
                                     {"smallest_normal", format.smallest_normal()},
                                     {"smallest_subnormal", format.smallest_subnormal()}})
      facts.text(name + "." + key, "predicted", short_text("%.3g", value));
    facts.text(name + ".largest", "predicted", short_text("%.5g", format.largest()));
    const std::uint32_t stored = tile::encoded(format, pi);
    std::string bits;
    for (int bit = format.bits() - 1; bit >= 0; --bit) {
      bits += char('0' + (stored >> bit & 1u));
      if (bit == format.bits() - 1 || bit == format.mantissa_bits) bits += ' ';
    }
    facts.text(name + ".pi.bits", "predicted", bits);
    facts.text(name + ".pi.value", "predicted",
               short_text("%.7g", tile::decoded(format, stored)));
  }

  // Products of two significands, in FP32.
  for (const tile::NumberFormat& format : {tile::bf16_format, tile::fp16_format}) {
    const std::string name =
        format.bits() == 16 && format.exponent_bits == 8 ? "exact.bf16" : "exact.fp16";
    const int first = 1 << format.mantissa_bits;
    int products = 0, rounded = 0;
    for (int a = first; a < 2 * first; ++a)
      for (int b = first; b < 2 * first; ++b, ++products)
        rounded += double(float(a) * float(b)) != double(a) * double(b);
    facts.predicted(name + ".products", products);
    facts.predicted(name + ".rounded", rounded);
    facts.predicted(name + ".significand_bits", 2 * (format.mantissa_bits + 1));
  }

  // What rounding costs a sum of K products, in millionths of the sum of their magnitudes: of
  // the inputs, both sums in float64; of the sums, which are made one by one in FP32.
  enum class Signs { both, positive };
  const auto errors = [&](const std::string& name, int K, int spread,
                          Signs signs = Signs::both) {
    constexpr int results = 256;
    const auto values = [&](std::uint64_t seed) {
      std::vector<float> all =
          tile::make_values(std::size_t(K) * results, tile::Fill::random, seed);
      const auto exponents = tile::make_values(all.size(), tile::Fill::random, seed + 1);
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = std::exp2(float(spread) * exponents[i]) *
                 (signs == Signs::both ? all[i] : std::abs(all[i]));
      return all;
    };
    const std::vector<float> A = values(1), B = values(3);
    double inputs = 0, sums = 0, output = 0;
    double squares = 0, squares_of_sums = 0, squared_errors = 0, squared_errors_of_output = 0;
    for (int result = 0; result < results; ++result) {
      double exact = 0, of_rounded = 0, magnitude = 0, magnitude_of_rounded = 0;
      float sum = 0;
      for (int k = 0; k < K; ++k) {
        const float a = A[std::size_t(result) * K + k], b = B[std::size_t(result) * K + k];
        const float rounded_a = tile::rounded_to(tile::Element::bf16, a),
                    rounded_b = tile::rounded_to(tile::Element::bf16, b);
        exact += double(a) * b;
        magnitude += std::abs(double(a) * b);
        of_rounded += double(rounded_a) * rounded_b;
        magnitude_of_rounded += std::abs(double(rounded_a) * rounded_b);
        sum += rounded_a * rounded_b;
      }
      inputs = std::max(inputs, std::abs(of_rounded - exact) / magnitude);
      sums = std::max(sums, std::abs(sum - of_rounded) / magnitude_of_rounded);
      const double output_error = double(tile::rounded_to(tile::Element::bf16, sum)) - sum;
      output = std::max(output, std::abs(output_error / sum));
      squares += exact * exact;
      squares_of_sums += double(sum) * sum;
      squared_errors += (of_rounded - exact) * (of_rounded - exact);
      squared_errors_of_output += output_error * output_error;
    }
    const double u = tile::bf16_format.unit_roundoff(), v = tile::fp32_format.unit_roundoff();
    facts.predicted(name + ".inputs_ppm", 1e6 * inputs, 0);
    facts.predicted(name + ".inputs_bound_ppm", 1e6 * (2 * u + u * u), 0);
    facts.predicted(name + ".inputs_of_result_ppm", 1e6 * std::sqrt(squared_errors / squares),
                    0);
    facts.predicted(name + ".sums_ppm", 1e6 * sums, 3);
    facts.predicted(name + ".sums_bound_ppm", 1e6 * (K - 1) * v / (1 - (K - 1) * v), 1);
    facts.predicted(name + ".output_ppm", 1e6 * output, 0);
    facts.predicted(name + ".output_of_result_ppm",
                    1e6 * std::sqrt(squared_errors_of_output / squares_of_sums), 0);
    facts.predicted(name + ".output_bound_ppm", 1e6 * u, 0);
  };
  for (const int K : {16, 64, 256, 1024, 4096, 16384})
    errors("error.K" + std::to_string(K), K, 0);
  for (const int spread : {0, 8, 32})
    errors("error.spread" + std::to_string(spread), 1024, spread);
  for (const int K : {1024, 16384})
    errors("error.positive.K" + std::to_string(K), K, 0, Signs::positive);
  // Inputs uniform in [-1, 1) have a mean square of 1/3, and their errors one of 2^-14 / 84:
  // in the n-th binade below 1, with one of 2^(n + 1) inputs, it is that of errors uniform
  // within half a step of 2^-(n + 8). Relative to C, both inputs' add up.
  facts.predicted("error.uniform.inputs_of_result_ppm", 1e6 * 0x1p-7 / std::sqrt(14.0), 0);

  // What a thread issues for a step, and for a tile beside its steps.
  for_each_config([&]<class C>(const std::string& name, C) {
    const int operands = C::WMITER * C::TM + C::WNITER * C::TN,
              loaded = C::LOADED * (C::LOADS_A + C::LOADS_B);
    const int stores_A = C::LOADED * C::LOADS_A / C::NEIGHBOURS,
              stores_B = C::FLOATS ? C::LOADED * C::LOADS_B / 4 : C::LOADS_B;
    const int converted = C::FLOATS ? 0 : operands,
              converted_before = C::CONVERT == Convert::on_the_way ? loaded : 0;
    // Upper halves that are shifted down for a store of 16 bits; words of two rows.
    const int moves = C::CONVERT == Convert::at_use       ? stores_A / 2
                      : C::CONVERT == Convert::two_by_two ? stores_A
                                                          : 0;
    const int loads = C::LOADS_A + C::LOADS_B,
              barriers = C::SCHEDULE == Schedule::two_buffers ? 1 : 2;
    const double lds = 1.0 * operands / C::READ;
    const double beside = converted_before + moves + loads + stores_A + stores_B + barriers;
    const double slots = C::RESULTS + lds + converted + beside / C::BK;
    facts.predicted(name + ".threads", C::NUM_THREADS);
    facts.predicted(name + ".results", C::RESULTS);
    facts.predicted(name + ".loaded", C::LOADED);
    facts.predicted(name + ".buffers", C::BUFFERS);
    facts.predicted(name + ".pieces", C::WMITER * C::WNITER);
    facts.predicted(name + ".piece.rows", C::TM);
    facts.predicted(name + ".piece.cols", C::TN);
    facts.predicted(name + ".in_flight", 4 * loads);
    facts.predicted(name + ".shared_kb", C::SMEM_BYTES / 1024.0);
    facts.predicted(name + ".step.ffma", C::RESULTS);
    facts.predicted(name + ".step.operands", operands);
    facts.predicted(name + ".step.lds", lds);
    facts.predicted(name + ".step.conversions", converted);
    facts.predicted(name + ".tile.conversions", converted_before);
    facts.predicted(name + ".tile.moves", moves);
    facts.predicted(name + ".tile.ldg", loads);
    facts.predicted(name + ".tile.sts", stores_A + stores_B);
    facts.predicted(name + ".tile.barriers", barriers);
    facts.predicted(name + ".tile.slots_per_step", beside / C::BK, 1);
    facts.predicted(name + ".step.slots", slots, 1);
    facts.predicted(name + ".step.ffma_percent", 100 * C::RESULTS / slots, 1);
    facts.predicted(name + ".step.conversions_per_ffma",
                    (converted + 1.0 * converted_before / C::BK) / C::RESULTS, 3);
    facts.predicted(name + ".step.tflops", tile::h200.peak_tflops() * C::RESULTS / slots, 1);
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN, 1.0 * operands / C::RESULTS,
                          C::LOADED, C::READ);
  });
  facts.predicted("square.conversions_per_ffma", (8.0 + 8.0) / (8 * 8));
  facts.predicted("gpu.ffma_peak_tflops", tile::h200.peak_tflops(), 1);
  facts.predicted("gpu.bf16_peak_tflops", tile::h200.bf16_tflops, 1);
  facts.predicted("gpu.bf16_per_ffma", tile::h200.bf16_tflops / tile::h200.peak_tflops(), 1);
  // Four tensor cores an SM, each with 512 multiply-adds a cycle; two flops each.
  const double ffma_flops = 2.0 * tile::h200.fma_lanes, tensor_flops = 2.0 * 4 * 512,
               clock = tile::h200.clock_ghz;
  facts.predicted("gpu.flops_per_cycle.ffma", ffma_flops);
  facts.predicted("gpu.flops_per_cycle.bf16", tensor_flops);
  facts.predicted("gpu.flops_per_cycle.ratio", tensor_flops / ffma_flops);
  facts.predicted("gpu.ffma_clock_ghz", clock, 2);
  facts.predicted("gpu.bf16_clock_ghz",
                  1e3 * tile::h200.bf16_tflops / (tile::h200.sms * tensor_flops), 2);
  facts.predicted("gpu.bf16_at_ffma_clock_tflops",
                  1e-3 * tile::h200.sms * tensor_flops * clock, 0);
  // Registers of a thread, were there three blocks on an SM: they come eight at a time.
  facts.predicted("three_blocks.registers", tile::h200.registers / (3 * 128) / 8 * 8);

  // Where thread 37 puts the first element that it loads from the tile of A, and where the
  // floats that it loads first from the tile of B.
  for_each_config([&]<class C>(const std::string& kernel, C) {
    constexpr int thread = 37;
    const std::string name = "worked." + kernel;
    const auto [row, k] = load_A_of<C>(thread);
    const auto byte_at = [](int depth, int col) {
      return (depth * C::BM + col) * int(sizeof(typename C::Shared));
    };
    const auto byte_of = [&](int other) {
      const auto [its_row, its_k] = load_A_of<C>(other);
      return byte_at(its_k, swizzle_A<C>(its_k, its_row));
    };
    facts.predicted(name + ".row", row);
    facts.predicted(name + ".k", k);
    facts.predicted(name + ".place", swizzle_A<C>(k, row));
    facts.predicted(name + ".byte", byte_of(thread));
    facts.predicted(name + ".bank", byte_of(thread) / 4 % 32);
    facts.predicted(name + ".unswizzled_bank", byte_at(k, row) / 4 % 32);
    for (int lane = 0; lane < 32; ++lane)
      if (lane != thread % 32 && byte_of(thread / 32 * 32 + lane) / 4 == byte_of(thread) / 4)
        facts.predicted(name + ".partner", lane);
    const auto [row_B, col_B] = load_B_of<C>(thread);
    const auto bank_B = [](int depth, int col) {
      return (depth * C::BN + col) * int(sizeof(typename C::Shared)) / 4 % 32;
    };
    facts.predicted(name + ".B.row", row_B);
    facts.predicted(name + ".B.col", col_B);
    facts.predicted(name + ".B.first", swizzle_B<C>(col_B));
    facts.predicted(name + ".B.second", swizzle_B<C>(col_B + 4));
    facts.predicted(name + ".B.bank", bank_B(row_B, swizzle_B<C>(col_B)));
    facts.predicted(name + ".B.unswizzled_bank", bank_B(row_B, col_B));
    facts.predicted(name + ".result_row",
                    warp_tile_of<C>(thread).row + results_of<C>(thread).row);
    facts.predicted(name + ".result_col",
                    warp_tile_of<C>(thread).col + results_of<C>(thread).col);
  });
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          nullptr,
          reinterpret_cast<const void*>(gemm_narrow<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES,
          0,
          [](const tile::Product& product) -> std::unique_ptr<tile::BoundKernel> {
            return std::make_unique<tile::BoundLauncher<tile::Product>>(launch_narrow<Config>,
                                                                        product);
          },
          types_of<Config>};
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) { all.push_back(kernel<C>(name)); });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 21, .title = "Sixteen bits in, thirty-two out", .kernels = kernels(),
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

// Each way to keep and to convert elements once; the test that follows tries the others, too.
TILE_TRIED_ON_MODEL("words_ahead", "on_the_way", "on_the_way_buffered", "at_use", "packed",
                    "rounded")

TEST_CASE("one tile, two, and odd and even numbers of them, whole and residue" *
          doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 3})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * kernel.tile.BK + more;
        const tile::Case whole{kernel.tile.BM,      kernel.tile.BN, K, 1, 0, 0,
                               tile::Fill::integers};
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel,
                                  {whole, {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

// Conversions as a kernel makes them: of each of n floats, alone and in a word, and back, by
// the toolkit and from both halves of the word; and the product of these halves.
struct Converted {
  std::vector<unsigned short> alone;
  std::vector<unsigned> words;
  std::vector<float> back, lower, upper, product;
};

__global__ void convert(const float* in, bf16* alone, unsigned* words, float* back,
                        float* lower, float* upper, float* product, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  put(alone + i, in[i]);
  words[i] = word_of(in[i], in[n - 1 - i]);
  back[i] = value_of(alone[i]);
  lower[i] = lower_of(words[i]);
  upper[i] = upper_of(words[i]);
  product[i] = lower[i] * upper[i];
}

Converted converted(const std::vector<float>& in) {
  const auto n = in.size();
  struct Memory {
    Memory(std::size_t count, std::size_t bytes)
        : at(tile::machine::allocate(count * bytes, bytes, "values")) {}
    ~Memory() { tile::machine::release(at); }
    void* at;
  };
  const Memory from(n, 4), alone(n, 2), words(n, 4), back(n, 4), lower(n, 4), upper(n, 4),
      product(n, 4);
  tile::machine::copy_to_device(from.at, in.data(), 4 * n);
  tile::launch(convert, dim3(tile::ceil_div(int(n), 256)), dim3(256), 0,
               static_cast<const float*>(from.at), static_cast<bf16*>(alone.at),
               static_cast<unsigned*>(words.at), static_cast<float*>(back.at),
               static_cast<float*>(lower.at), static_cast<float*>(upper.at),
               static_cast<float*>(product.at), int(n));
  const auto fetched = [n]<class T>(const Memory& memory, T) {
    std::vector<T> values(n);
    tile::machine::copy_to_host(values.data(), memory.at, sizeof(T) * n);
    return values;
  };
  return {fetched(alone, (unsigned short)(0)),
          fetched(words, 0u),
          fetched(back, 0.0f),
          fetched(lower, 0.0f),
          fetched(upper, 0.0f),
          fetched(product, 0.0f)};
}

// Whether a float is what a number of 16 bits is worth, by a reference that knows only how
// many bits the format has: the same bits, or both no number.
bool is_worth(float value, unsigned stored) {
  const double expected = tile::decoded(tile::bf16_format, stored);
  if (std::isnan(expected)) return std::isnan(value);
  return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(float(expected));
}

// How many floats are not converted as by the reference.
int not_as_reference(const std::vector<float>& in) {
  const Converted made = converted(in);
  int wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const unsigned expected = tile::encoded(tile::bf16_format, in[i]),
                   other = tile::encoded(tile::bf16_format, in[in.size() - 1 - i]);
    wrong += made.alone[i] != expected || made.words[i] != (other << 16 | expected) ||
             !is_worth(made.back[i], expected) || !is_worth(made.lower[i], expected) ||
             !is_worth(made.upper[i], other);
  }
  return wrong;
}

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST_CASE(
    "all 65,536 numbers of 16 bits become floats and come back, but for no number's bits") {
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) numbers.push_back(float_of(bits << 16));
  CHECK(not_as_reference(numbers) == 0);
  const Converted made = converted(numbers);
  int other = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    other += made.alone[bits] != (std::isnan(numbers[bits]) ? 0x7fffu : bits);
  CHECK(other == 0);
}

TEST_CASE(
    "between neighbours a float goes to the nearer one, and from the middle to the even one") {
  std::vector<float> floats;  // around each number, and around the middle to the next
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    for (const std::uint32_t more : {0x1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      floats.push_back(float_of(bits << 16 | more));
  CHECK(not_as_reference(floats) == 0);
  const auto one = [](float value) { return converted({value}).alone.front(); };
  CHECK(one(1 + 0x1p-8f) == one(1));  // the middle, and 1 is even
  CHECK(one(1 + 3 * 0x1p-8f) == one(1 + 0x1p-6f));
  CHECK(one(1 + 0x1p-8f + 0x1p-23f) == one(1 + 0x1p-7f));
  CHECK(one(-0.0f) == 0x8000);
  CHECK(one(float_of(0x7f7fffff)) == 0x7f80);  // FP32's largest number: beyond, infinity
  CHECK(one(-float_of(0x7f800000)) == 0xff80);
  CHECK(one(float_of(0x7f800001)) ==
        0x7fff);               // a signalling NaN becomes a quiet one, not infinity
  CHECK(one(0x1p-133f) == 1);  // the smallest subnormal
  CHECK(one(0x1p-134f) == 0);
}

TEST_CASE("a product of two numbers of 16 bits is exact in FP32, but for the smallest") {
  const std::vector<float> scales{1.0f, 0x1p-126f, 0x1p100f};
  std::vector<float> ones, others;  // all pairs, of which a word holds one from each end
  for (std::uint32_t a = 0x3f80; a < 0x4000; ++a)
    for (std::uint32_t b = 0x3f80; b < 0x4000; ++b)
      for (const float scale : scales) {
        ones.push_back(float_of(a << 16) * scale);
        others.push_back(float_of(b << 16));
      }
  std::vector<float> in = ones;
  in.insert(in.end(), others.rbegin(), others.rend());
  const std::vector<float> product = converted(in).product;
  int rounded = 0;
  for (std::size_t i = 0; i < ones.size(); ++i)
    rounded += double(product[i]) != double(ones[i]) * double(others[i]);
  CHECK(rounded == 0);
  const float odd = 1 + 0x1p-7f;  // its square has 15 bits, of which the last is worth 2^-14
  const auto square = [odd](float one, float other) {
    return double(converted({odd * one, odd * other}).product.front());
  };
  CHECK(square(0x1p-67f, 0x1p-68f) == double(odd) * odd * 0x1p-135);
  CHECK(square(0x1p-68f, 0x1p-68f) != double(odd) * odd * 0x1p-136);
}

TEST_CASE("a result is the sum of products in the order of k, and C's type rounds it once") {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{128, 128, 80}, {70, 90, 101}});
}

TEST_CASE(
    "whole numbers that are no BF16 are rounded to the nearest, and to even between two") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    if (kernel.types.C == tile::Element::bf16)
      for (const tile::Case& c : {tile::Case{128, 128, 64, 21, 0, 0, tile::Fill::integers},
                                  tile::Case{70, 31, 37, 21, 0, 1, tile::Fill::integers}})
        CHECK(tile::first_failure(kernel, {c}) == "");  // products of 21: most are above 256
}

TEST_CASE("a kernel is given operands of its types only, row by row") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    tile::Case c{8, 8, 8};
    const bool floats = kernel.types.A == tile::Element::f32;
    c.types.A = floats ? tile::Element::bf16 : tile::Element::f32;
    c.types.B = kernel.types.B;
    c.types.C = kernel.types.C;
    const tile::Operands of_other_types(c);
    CHECK_THROWS_AS(tile::Launchable(kernel).run(of_other_types.product()),
                    std::invalid_argument);
    c.types = kernel.types;
    c.layout_B = tile::Layout::columns;
    const tile::Operands by_columns(c);
    CHECK_THROWS_AS(tile::Launchable(kernel).run(by_columns.product()), std::invalid_argument);
  }
}

TEST_CASE("a kernel's name says where it converts, its buffers and its order") {
  for_each_config([]<class C>(const std::string& name, C) {
    INFO(name);
    const bool floats = name == "deep" || name.starts_with("words");
    const bool at_use = name.starts_with("at_use"), packed = name.starts_with("packed");
    CHECK(C::CONVERT == (floats   ? Convert::nowhere
                         : at_use ? Convert::at_use
                         : packed ? Convert::two_by_two
                                  : Convert::on_the_way));
    const bool two = name == "deep" || name == "words" || name.ends_with("buffered");
    CHECK(C::SCHEDULE == (two ? Schedule::two_buffers : Schedule::ahead));
    CHECK(C::BUFFERS == (two ? 2 : 1));
    CHECK(C::ORDER == (name == "deep" ? Order::by_pieces : Order::back_and_forth));
    CHECK(std::is_same_v<typename C::In, float> == floats);
    CHECK(std::is_same_v<typename C::Out, bf16> == (name == "rounded"));
    CHECK(C::NUM_THREADS == 128);
    CHECK(C::RESULTS == 128);
    CHECK(C::BLOCKS == 2);
    CHECK(C::BK == (name.ends_with("short") ? 8 : 16));
    CHECK(C::UNROLL == (name.ends_with("short") || name.ends_with("halves") ? 8 : 16));
    CHECK(C::SMEM_BYTES == C::BUFFERS * 2 * 128 * C::BK * (at_use || packed ? 2 : 4));
  });
}

// The first element of a tile that not exactly one thread has, and those that have it; or ""
// without such an element.
using Threads = std::vector<int>;
std::string first_not_of_one_thread(const std::vector<Threads>& threads_of, int width) {
  for (std::size_t i = 0; i < threads_of.size(); ++i) {
    if (threads_of[i].size() == 1) continue;
    std::string text = "row " + std::to_string(i / std::size_t(width)) + ", column " +
                       std::to_string(i % std::size_t(width)) + ": threads";
    for (const int thread : threads_of[i]) text += " " + std::to_string(thread);
    return threads_of[i].empty() ? text + " none" : text;
  }
  return "";
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    std::vector<Threads> results(C::BM * C::BN), copiesA(C::BM * C::BK),
        copiesB(C::BN * C::BK);
    for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
      const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
      const auto [row, col] = results_of<C>(thread);
      for (int wm = 0; wm < C::WMITER; ++wm)
        for (int wn = 0; wn < C::WNITER; ++wn)
          for (int i = 0; i < C::TM; ++i)
            for (int j = 0; j < C::TN; ++j)
              results
                  .at(std::size_t((warpRow + wm * C::WSUBM + row + i) * C::BN + warpCol +
                                  wn * C::WSUBN + col + j))
                  .push_back(thread);
      for (int i = 0; i < C::LOADED; ++i) {
        for (int n = 0; n < C::LOADS_A; ++n)
          copiesA
              .at(std::size_t((load_A_of<C>(thread).row + load_A_below<C>(n)) * C::BK +
                              load_A_of<C>(thread).col + i))
              .push_back(thread);
        for (int n = 0; n < C::LOADS_B; ++n)
          copiesB
              .at(std::size_t((load_B_of<C>(thread).row + n * C::ROWS_B) * C::BN +
                              load_B_of<C>(thread).col + i))
              .push_back(thread);
      }
    }
    CHECK(first_not_of_one_thread(results, C::BN) == "");
    CHECK(first_not_of_one_thread(copiesA, C::BK) == "");
    CHECK(first_not_of_one_thread(copiesB, C::BN) == "");
  });
}

TEST_CASE("swizzles permute a row and keep together what is moved together") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    for (int k = 0; k < C::BK; ++k) {
      std::vector<int> places(C::BM);
      for (int col = 0; col < C::BM; ++col) {
        ++places.at(std::size_t(swizzle_A<C>(k, col)));
        REQUIRE(swizzle_A<C>(k, col) == swizzle_A<C>(k, col / C::TM * C::TM) + col % C::TM);
        REQUIRE(swizzle_A<C>(k, col) == col / C::WM * C::WM + swizzle_A<C>(k, col % C::WM));
        REQUIRE(swizzle_A<C>(k, col) ==
                swizzle_A<C>(k / C::LOADED * C::LOADED, col));  // a thread's row is one place
      }
      CHECK(places == std::vector<int>(places.size(), 1));
    }
    // Loads that lie load_A_below each other, too: the swizzle is asked for the first only.
    for (int thread = 0; thread < C::NUM_THREADS; ++thread)
      for (int n = 0; n < C::LOADS_A; ++n) {
        const auto [row, k] = load_A_of<C>(thread);
        REQUIRE(swizzle_A<C>(k, row + load_A_below<C>(n)) ==
                swizzle_A<C>(k, row) + load_A_below<C>(n));
      }
    std::vector<int> places(C::BN);
    for (int col = 0; col < C::BN; ++col) {
      ++places.at(std::size_t(swizzle_B<C>(col)));
      REQUIRE(swizzle_B<C>(col) == swizzle_B<C>(col / 4 * 4) + col % 4);
      if (!C::FLOATS) REQUIRE(swizzle_B<C>(col) == col);
    }
    CHECK(places == std::vector<int>(places.size(), 1));
  });
}

TEST_CASE("the prediction counts 24 conversions beside 128 multiply-adds, or 32 a tile") {
  tile::Facts facts;
  predict(facts);
  for (const std::string name :
       {"at_use", "packed", "at_use_halves", "at_use_short", "packed_halves"}) {
    CHECK(facts.value(name + ".step.conversions") == 24);
    CHECK(facts.value(name + ".step.ffma") == 128);
    CHECK(facts.value(name + ".step.lds") == 3);
    CHECK(facts.value(name + ".tile.conversions") == 0);
  }
  CHECK(facts.value("on_the_way.step.conversions") == 0);
  CHECK(facts.value("on_the_way.tile.conversions") == 32);
  CHECK(facts.value("on_the_way.step.lds") == 6);
  CHECK(facts.value("words.tile.conversions") == 0);
  CHECK(facts.value("words.in_flight") == 2 * facts.value("on_the_way.in_flight"));
  CHECK(facts.value("at_use.tile.sts") == 18);
  CHECK(facts.value("at_use_short.tile.sts") == 9);
  CHECK(facts.value("packed.tile.sts") == 10);
  CHECK(facts.value("on_the_way.tile.sts") == facts.value("words.tile.sts"));
  // ffma / slots, by hand: 128 + 3 + 24 + (8 moves, 4 loads, 10 stores, 2 barriers) / 16.
  CHECK(facts.value("packed.step.slots") == 156.5);
  CHECK(facts.value("packed_halves.step.slots") == facts.value("packed.step.slots"));
  CHECK(facts.value("at_use_halves.step.slots") == facts.value("at_use.step.slots"));
  for (const std::string name : {"words_ahead", "on_the_way"})
    CHECK(facts.value(name + "_halves.step.slots") == facts.value(name + ".step.slots"));
  // 128 + 3 + 24 + (4 moves, 2 loads, 9 stores, 2 barriers) / 8.
  CHECK(facts.value("at_use_short.step.slots") == 157.125);
  CHECK(facts.value("exact.bf16.rounded") == 0);
  CHECK(facts.value("exact.bf16.products") == 128 * 128);
  // 32 conversions, 4 loads, 20 stores and 2 barriers in 16 steps.
  CHECK(facts.value("on_the_way.tile.slots_per_step") == 3.625);
  // Rounding both inputs, measured and by the closed form.
  CHECK(facts.value("error.K1024.inputs_of_result_ppm") ==
        doctest::Approx(facts.value("error.uniform.inputs_of_result_ppm")).epsilon(0.1));
  // Rounding C once is nearly as rounding one of the inputs.
  CHECK(facts.value("error.K1024.output_of_result_ppm") ==
        doctest::Approx(facts.value("error.uniform.inputs_of_result_ppm") / std::sqrt(2.0))
            .epsilon(0.1));
  // Of a wide spread errors come close to the bound of the inputs, and past half of it.
  CHECK(facts.value("error.spread32.inputs_ppm") >
        0.5 * facts.value("error.spread32.inputs_bound_ppm"));
  for (const std::string of_inputs : {"K16", "K1024", "K16384", "positive.K1024",
                                      "positive.K16384", "spread8", "spread32"}) {
    const std::string name = "error." + of_inputs;
    for (const std::string of : {"inputs", "sums", "output"}) {
      CHECK(facts.value(name + "." + of + "_ppm") > 0);
      CHECK(facts.value(name + "." + of + "_ppm") <=
            facts.value(name + "." + of + "_bound_ppm"));
    }
  }
}

#if TILE_ON_MODEL
TEST_CASE("two barriers a tile with one buffer, one with two" * doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    for (const std::uint64_t tiles : {1, 2, 5}) {
      const tile::Case c{C::BM, C::BN, int(tiles) * C::BK, 1, 0, 0, tile::Fill::integers};
      CHECK(tile::traced_run(kernel<C>(name), c).barriers ==
            (C::BUFFERS == 2 ? tiles : 2 * tiles - 1));
    }
  });
}

TEST_CASE(
    "no access to shared memory meets a bank conflict, whatever the width of its elements" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run = tile::count(kernel<C>(name), {256, 256, 64});
    const auto per_request = [&](const char* tag) {
      return double(tile::site(run, tag).wavefronts) / double(tile::site(run, tag).requests);
    };
    for (const char* tag : {"store-As", "store-Bs", "load-As", "load-Bs"})
      CHECK(tile::bank_conflict(run, tag) == "");
    CHECK(per_request("store-As") == 1);
    CHECK(per_request("store-Bs") == 4);
    CHECK(per_request("load-As") == 2);
    CHECK(per_request("load-Bs") == 2);
    CHECK(tile::site(run, "store-As").width == (C::CONVERT == Convert::at_use ? 2 : 4));
    // 16 bytes a lane, of twice as many elements where these have half the bytes.
    CHECK(tile::site(run, "load-A").width == 16);
    CHECK(tile::site(run, "load-A").accesses == 256 * 64 * 2 / C::LOADED);
    CHECK(tile::site(run, "load-As").requests == tile::site(run, "load-As").accesses / 32);
  });
}

TEST_CASE("the guarded path moves elements one by one, of 2 bytes or 4" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run =
        tile::traced_run(kernel<C>(name), {70, 90, 33, 1, 2, 1, tile::Fill::integers});
    CHECK(tile::site(run, "load-A-words").width == sizeof(typename C::In));
    CHECK(tile::site(run, "load-B-words").width == sizeof(typename C::In));
    CHECK(tile::site(run, "load-C-words").width == sizeof(typename C::Out));
    CHECK(tile::site(run, "store-C-words").width == sizeof(typename C::Out));
    CHECK(tile::site(run, "store-C-words").accesses == 70 * 90);
  });
}
#endif
