// Tile by Tile, chapter 15: sixteen bits in, thirty-two out.
//
// Question: what does half the bytes buy a kernel that bytes do not limit?
// Idea: A and B hold numbers of 16 bits, sums stay 32 bits wide. Such a number is the upper
// half of a float, so a shift makes a float of it. Three kernels do so at three places: on the
// way into shared memory, at use, and at use two by two. Previous chapter: 12, whose kernels
// these are but for the elements of A, B and C, and for the order of a step's products.
//
// Build, run, verify:   ./tile run 15      ctest --preset model -R chapter15
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

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
          int TN_>  // pieces of a warp's tile, side by side, and a thread's columns
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
  static constexpr int BM = 128, BN = 128, BK = 16, WM = 64, WN = 64, TM = 8, TN = TN_;
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
  static_assert(TURNED % TM == 0, "the swizzle must move the rows of a thread together");
  static_assert((BK / LOADED - 1) * TURNED < WM, "the swizzle must stay within a warp's rows");
};

// 16 bytes of shared memory are four columns of floats, or eight of 16 bits.
template <Convert CONVERT, class Out, Schedule SCHEDULE, Order ORDER>
using Wide = Config<CONVERT, Out, SCHEDULE, ORDER, 2, 4>;
template <Convert CONVERT, class Out, Schedule SCHEDULE, Order ORDER>
using Narrow = Config<CONVERT, Out, SCHEDULE, ORDER, 1, 8>;

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
          const unsigned word = i % 2 == 0 ? (lower[i / 2] & 0xffffu) | upper[i / 2] << 16
                                           : lower[i / 2] >> 16 | (upper[i / 2] & 0xffff0000u);
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
#pragma unroll
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
}

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  for_each_config([&]<class C>(const std::string& name, C) {
    facts.predicted(name + ".results", C::RESULTS);
  });
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          nullptr,
          reinterpret_cast<const void*>(gemm_narrow<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Takes::float4s},
          Config::SMEM_BYTES,
          0,
          tile::prepare_nothing<launch_narrow<Config>>,
          types_of<Config>};
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) { all.push_back(kernel<C>(name)); });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 15, .title = "Sixteen bits in, thirty-two out", .kernels = kernels(),
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
