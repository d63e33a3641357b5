// Tile by Tile, chapter 21: BF16, half a float.
//
// Question: what do inputs of half the size buy a kernel that bytes do not limit? Idea: a BF16
// number is the upper half of a float, so a shift or a mask converts it. One kernel converts
// its inputs on the way into shared memory, once per k-tile; the other keeps them packed
// there, two to a word, and converts the operands of each k-step.
// Previous chapter on plain loads: 13. This is its kernel `serpentine`, with inputs of
// 16 bits and the maps, products and epilogue that chapters 14 to 19 share.
//
// Build, run, verify:   ./tile run 21      ctest --preset model -R chapter21
#include <bit>
#include <cmath>

#include "chapters/21-bf16/number_format.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
using bf16 = __nv_bfloat16;  // the upper half of a float: sign, 8 bits of exponent, 7 more

// Where an element of A or B becomes a float.
enum class Convert {
  nowhere,     // it is one already
  on_the_way,  // before it is stored; shared memory holds floats
  at_use       // after shared memory, which holds pairs of BF16
};

template <Convert CONVERT_, int UNROLL_ = 8>
struct Config {
  static constexpr Convert CONVERT = CONVERT_;
  static constexpr int UNROLL = UNROLL_;  // k-steps unrolled in the inner loop
  using In = std::conditional_t<CONVERT == Convert::nowhere, float, bf16>;     // of A and B
  using Shared = std::conditional_t<CONVERT == Convert::at_use, bf16, float>;  // of As and Bs
  using Four = std::conditional_t<CONVERT == Convert::at_use, uint2, float4>;  // of Shared
  static constexpr int BM = 128, BN = 128, BK = 16;                            // block tile
  static constexpr int WM = 64, WN = 64;                                       // warp tile
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // of accumulators, per thread
  static constexpr int BLOCKS = 2;                    // resident per SM: bounds the registers
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  static constexpr int LOADED = 16 / sizeof(In);  // elements that a thread loads at once
  // rows of the A and the B tile that all threads together load at once
  static constexpr int ROWS_A = LOADED * NUM_THREADS / BK, ROWS_B = LOADED * NUM_THREADS / BN;
  // loads that each thread issues per k-tile
  static constexpr int LOADS_A = BM / ROWS_A, LOADS_B = BK / ROWS_B;
  // consecutive rows of A that one thread loads: two where they become the halves of a word
  static constexpr int PAIR = CONVERT == Convert::at_use ? 2 : 1;
  // consecutive elements that a warp stores into one row of As
  static constexpr int STORED = 32 * LOADED / BK * PAIR;
  static constexpr int SMEM_BYTES = 2 * (BM + BN) * BK * int(sizeof(Shared));
  static_assert(BM % ROWS_A == 0 && BK % ROWS_B == 0,
                "a tile must be a whole number of loads by all threads");
  static_assert(BK % UNROLL == 0, "the inner loop must run a whole number of times");
  static_assert(PAIR == 1 || LOADS_A == PAIR, "a thread must load one pair of rows of A");
  static_assert(STORED % 4 == 0 && (BK / LOADED - 1) * STORED < WM,
                "the swizzle must keep four elements together and stay within the warp tile");
};

using Deep = Config<Convert::nowhere>;           // floats
using OnTheWay = Config<Convert::on_the_way>;    // BF16 in memory, floats in shared memory
using Packed = Config<Convert::at_use>;          // BF16 in both
using PackedLong = Config<Convert::at_use, 16>;  // all k-steps unrolled, as in chapter 13
// [/snippet config]

// [snippet convert]
// A word holds two BF16. A BF16 number has the exponent of a float, so it becomes one when it
// is moved to the upper half of a word: the lower one by a shift, the upper one by a mask.
__device__ __forceinline__ float lower_of(unsigned word) {
  return __uint_as_float(word << 16);
}
__device__ __forceinline__ float upper_of(unsigned word) {
  return __uint_as_float(word & 0xffff0000u);
}
// [/snippet convert]

// [snippet maps]
using tile::Position;

// The first element of a thread's first load from the A tile, and from the B tile.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / C::LOADED) * C::PAIR, thread % (C::BK / C::LOADED) * C::LOADED};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / C::LOADED), thread % (C::BN / C::LOADED) * C::LOADED};
}
// Row offset of a thread's n-th load from the A tile, relative to its first.
template <class C>
constexpr __host__ __device__ int below(int n) {
  return C::PAIR == 2 ? n : n * C::ROWS_A;
}
// The swizzled column of an element of As (chapter 10): a warp stores STORED consecutive
// elements into each of BK / LOADED rows, and each of these rows gets other banks.
template <class C>
constexpr __host__ __device__ int swizzle_A(int row, int col) {
  return col ^ row / C::LOADED * C::STORED;
}
// The swizzled column of an element of Bs. `on_the_way` stores the eight floats of one load as
// two float4s; without the swizzle, those of lanes four apart share their banks.
template <class C>
constexpr __host__ __device__ int swizzle_B(int col) {
  return C::CONVERT == Convert::on_the_way ? col ^ col / 32 % 2 * 4 : col;
}
// [/snippet maps]

// [snippet unpack]
// The elements of a 16-byte load as floats.
__device__ __forceinline__ void unpack(const uint4& loaded, float (&to)[4]) {
  to[0] = __uint_as_float(loaded.x), to[1] = __uint_as_float(loaded.y);
  to[2] = __uint_as_float(loaded.z), to[3] = __uint_as_float(loaded.w);
}
__device__ __forceinline__ void unpack(const uint4& loaded, float (&to)[8]) {
  to[0] = lower_of(loaded.x), to[1] = upper_of(loaded.x), to[2] = lower_of(loaded.y),
  to[3] = upper_of(loaded.y), to[4] = lower_of(loaded.z), to[5] = upper_of(loaded.z),
  to[6] = lower_of(loaded.w), to[7] = upper_of(loaded.w);
}
// The inverse, for elements that were loaded one by one.
__device__ __forceinline__ uint4 pack(const float (&e)[4]) {
  return {__float_as_uint(e[0]), __float_as_uint(e[1]), __float_as_uint(e[2]),
          __float_as_uint(e[3])};
}
__device__ __forceinline__ uint4 pack(const bf16 (&e)[8]) {
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    words[i] =
        unsigned(__bfloat16_as_ushort(e[2 * i + 1])) << 16 | __bfloat16_as_ushort(e[2 * i]);
  return {words[0], words[1], words[2], words[3]};
}

// Four operands as As and Bs hold them, floats or BF16, become floats.
__device__ __forceinline__ void to_floats(const float4& four, float* reg) {
  reg[0] = four.x, reg[1] = four.y, reg[2] = four.z, reg[3] = four.w;
}
__device__ __forceinline__ void to_floats(const uint2& four, float* reg) {
  reg[0] = lower_of(four.x), reg[1] = upper_of(four.x);
  reg[2] = lower_of(four.y), reg[3] = upper_of(four.y);
}
// [/snippet unpack]

// VECTORISED: all tiles are whole, and rows of A, B and C begin at multiples of 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    gemm_bf16(int M, int N, int K, float alpha,       //
              const typename Config::In* A, int lda,  // M x K
              const typename Config::In* B, int ldb,  // K x N
              float beta,                             //
              float* C, int ldc) {                    // M x N
  using In = typename Config::In;
  using Shared = typename Config::Shared;
  using Four = typename Config::Four;
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, LOADED = Config::LOADED;
  // each BK x BM: the A tile, transposed and swizzled
  alignas(16) __shared__ Shared As[2][BK * BM];
  alignas(16) __shared__ Shared Bs[2][BK * BN];  // each BK x BN: the B tile, swizzled

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = tile::thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);
  float acc[Config::ROWS][Config::COLS] = {};

  const In* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const In* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  // this thread's part of the k-tile in flight
  uint4 stagedA[Config::LOADS_A], stagedB[Config::LOADS_B];

  // [snippet load]
  // Loads the k-tile at bkIdx into registers. No thread waits for the data yet.
  const auto load = [&](int bkIdx) {
#pragma unroll
    for (int n = 0; n < Config::LOADS_A; ++n) {
      const In* from = nextA + std::size_t(below<Config>(n)) * lda;
      if constexpr (VECTORISED) {
        stagedA[n] = *reinterpret_cast<const uint4*>(from);  //@ load-A
      } else {
        In a[LOADED] = {};
#pragma unroll
        for (int i = 0; i < LOADED; ++i)
          if (blockRow + rowA + below<Config>(n) < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-elements
        stagedA[n] = pack(a);
      }
    }
#pragma unroll
    for (int n = 0; n < Config::LOADS_B; ++n) {
      const In* from = nextB + std::size_t(n * Config::ROWS_B) * ldb;
      if constexpr (VECTORISED) {
        stagedB[n] = *reinterpret_cast<const uint4*>(from);  //@ load-B
      } else {
        In b[LOADED] = {};
#pragma unroll
        for (int j = 0; j < LOADED; ++j)
          if (bkIdx + rowB + n * Config::ROWS_B < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-elements
        stagedB[n] = pack(b);
      }
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // [/snippet load]

  // [snippet store]
  // Stores the loaded k-tile in a shared buffer. Here a thread waits for its loads.
  const auto store = [&](int buffer) {
    Shared* to = &As[buffer][colA * BM + swizzle_A<Config>(colA, rowA)];
    if constexpr (Config::CONVERT == Convert::at_use) {
      const uint4 &first = stagedA[0], &second = stagedA[1];  // two consecutive rows of A
      const unsigned lower[4] = {first.x, first.y, first.z, first.w};
      const unsigned upper[4] = {second.x, second.y, second.z, second.w};
      // pairs element i of both rows: lower halves of their words for even i, upper ones for odd
#pragma unroll
      for (int i = 0; i < LOADED; ++i)
        *reinterpret_cast<unsigned*>(to + i * BM) =  //@ store-As
            __byte_perm(lower[i / 2], upper[i / 2], i % 2 == 0 ? 0x5410 : 0x7632);
    } else {
#pragma unroll
      for (int n = 0; n < Config::LOADS_A; ++n) {
        float a[LOADED];
        unpack(stagedA[n], a);
#pragma unroll
        for (int i = 0; i < LOADED; ++i) to[i * BM + below<Config>(n)] = a[i];  //@ store-As
      }
    }
#pragma unroll
    for (int n = 0; n < Config::LOADS_B; ++n) {
      Shared* row = &Bs[buffer][(rowB + n * Config::ROWS_B) * BN];
      if constexpr (Config::CONVERT == Convert::at_use) {
        *reinterpret_cast<uint4*>(&row[colB]) = stagedB[n];  //@ store-Bs
      } else {
        float b[LOADED];
        unpack(stagedB[n], b);
#pragma unroll
        for (int j = 0; j < LOADED; j += 4) {
          const float4 four{b[j], b[j + 1], b[j + 2], b[j + 3]};
          *reinterpret_cast<float4*>(&row[swizzle_B<Config>(colB + j)]) = four;  //@ store-Bs
        }
      }
    }
  };
  // [/snippet store]

  // [snippet compute]
  const auto compute = [&](int buffer) {
#pragma unroll Config::UNROLL
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float regM[Config::ROWS], regN[Config::COLS];
#pragma unroll
      for (int i = 0; i < Config::ROWS; i += 4) {
        const int row = threadRow + tile::row_of(i);  // of the warp tile
        const int col = warpRow + swizzle_A<Config>(dotIdx, row);
        const Shared* from = &As[buffer][dotIdx * BM + col];
        const Four four = *reinterpret_cast<const Four*>(from);  //@ load-As
        to_floats(four, &regM[i]);
      }
#pragma unroll
      for (int j = 0; j < Config::COLS; j += 4) {
        const int col = swizzle_B<Config>(warpCol + threadCol + tile::col_of(j));
        const Shared* from = &Bs[buffer][dotIdx * BN + col];
        const Four four = *reinterpret_cast<const Four*>(from);  //@ load-Bs
        to_floats(four, &regN[j]);
      }
      tile::multiply(acc, regM, regN);
    }
  };
  // [/snippet compute]

  // [snippet main-loop]
  int buffer = 0;
  load(0);  // prologue: the first k-tile
  store(buffer);
  __syncthreads();  // threads read what others stored
  for (int bkIdx = BK; bkIdx < K; bkIdx += BK) {
    load(bkIdx);      // prefetch the next k-tile
    compute(buffer);  // hides the latency of its loads
    buffer ^= 1;
    store(buffer);
    // all have stored this buffer before the next iteration reads it, and all have read the
    // other one before the next iteration overwrites it
    __syncthreads();
  }
  compute(buffer);  // the last k-tile
  // [/snippet main-loop]
  tile::store_accumulators<VECTORISED>(acc, blockRow + warpRow + threadRow,
                                       blockCol + warpCol + threadCol, M, N, alpha, beta, C,
                                       ldc);
}

// [snippet launch]
template <class Config>
constexpr tile::Element element =
    std::is_same_v<typename Config::In, float> ? tile::Element::f32 : tile::Element::bf16;
template <class Config>
constexpr tile::Types types{element<Config>, element<Config>, tile::Element::f32};

// Whether a matrix and each of its rows begin at a multiple of 16 bytes.
bool rows_are_aligned_16(tile::Element element, const void* matrix, int ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 &&
         ld % tile::elements_of_16_bytes(element) == 0;
}

template <class Config>
void launch_bf16(const tile::Product& product) {
  tile::require_valid(product);
  tile::require_rows_of(product, types<Config>);
  using In = typename Config::In;
  const tile::Problem& p = product.problem;
  const bool vectorised = p.M % Config::BM == 0 && p.N % Config::BN == 0 &&
                          p.K % Config::BK == 0 &&
                          rows_are_aligned_16(element<Config>, product.A, p.lda) &&
                          rows_are_aligned_16(element<Config>, product.B, p.ldb) &&
                          rows_are_aligned_16(tile::Element::f32, product.C, p.ldc);
  const dim3 grid(tile::ceil_div(p.N, Config::BN), tile::ceil_div(p.M, Config::BM));
  tile::launch(vectorised ? gemm_bf16<Config, true> : gemm_bf16<Config, false>, grid,
               dim3(Config::NUM_THREADS), 0, p.M, p.N, p.K, product.alpha,
               static_cast<const In*>(product.A), p.lda, static_cast<const In*>(product.B),
               p.ldb, product.beta, static_cast<float*>(product.C), p.ldc);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("deep", Deep{});
  f("on_the_way", OnTheWay{});
  f("packed", Packed{});
  f("packed_long", PackedLong{});
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          nullptr,
          reinterpret_cast<const void*>(gemm_bf16<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES,
          0,
          [](const tile::Product& product) -> std::unique_ptr<tile::BoundKernel> {
            return std::make_unique<tile::BoundLauncher<tile::Product>>(launch_bf16<Config>,
                                                                        product);
          },
          types<Config>};
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) { all.push_back(kernel<C>(name)); });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 21, .title = "BF16: half a float", .kernels = kernels(),
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Packed::BM},
                           {"BN", Packed::BN},
                           {"BK", Packed::BK},
                           {"ROWS", Packed::ROWS},
                           {"COLS", Packed::COLS},
                           {"NUM_THREADS", Packed::NUM_THREADS}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("one to three k-tiles, whole and residue" * doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 3})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * kernel.tile.BK + more;
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel, {{128, 128, K, 1, 0, 0, tile::Fill::integers},
                                           {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

// Converts both halves of words, as the kernels do.
__global__ void convert(const unsigned* words, float* lower, float* upper, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  lower[i] = lower_of(words[i]);
  upper[i] = upper_of(words[i]);
}

TEST_CASE(
    "every BF16 bit pattern converts to the float of the same value from either half of a word") {
  constexpr int n = 65536;
  struct Memory {
    void* at = tile::machine::allocate(4 * n, 4, "words");
    ~Memory() { tile::machine::release(at); }
  } words, lower, upper;
  std::vector<unsigned> pairs(n);
  for (unsigned bits = 0; bits < n; ++bits) pairs[bits] = (n - 1 - bits) << 16 | bits;
  tile::machine::copy_to_device(words.at, pairs.data(), 4 * n);
  tile::launch(convert, dim3(n / 256), dim3(256), 0, static_cast<const unsigned*>(words.at),
               static_cast<float*>(lower.at), static_cast<float*>(upper.at), n);
  std::vector<float> lowers(n), uppers(n);
  tile::machine::copy_to_host(lowers.data(), lower.at, 4 * n);
  tile::machine::copy_to_host(uppers.data(), upper.at, 4 * n);
  const auto is_value_of = [](float value, unsigned bits) {
    const double expected = tile::decoded(tile::bf16_format, bits);
    return std::isnan(expected)
               ? std::isnan(value)
               : std::bit_cast<unsigned>(value) == std::bit_cast<unsigned>(float(expected));
  };
  int wrong = 0;
  for (unsigned bits = 0; bits < n; ++bits)
    wrong += !is_value_of(lowers[bits], bits) || !is_value_of(uppers[bits], n - 1 - bits);
  CHECK(wrong == 0);
}

TEST_CASE("the result equals that of additions in the order of k bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{128, 128, 80}, {70, 90, 101}});
}

TEST_CASE("a kernel refuses a matrix of another type, and a column-major one") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const auto refuses = [&](const auto& change) {
      tile::Case c{8, 8, 8};
      c.types = kernel.types;
      change(c);
      const tile::Operands operands(c);
      CHECK_THROWS_AS(tile::Launchable(kernel).run(operands.product()), std::invalid_argument);
    };
    const auto other =
        kernel.types.A == tile::Element::f32 ? tile::Element::bf16 : tile::Element::f32;
    refuses([&](tile::Case& c) { c.types.A = other; });
    refuses([&](tile::Case& c) { c.types.B = other; });
    refuses([&](tile::Case& c) { c.types.C = tile::Element::bf16; });
    refuses([&](tile::Case& c) { c.layout_A = tile::Layout::columns; });
    refuses([&](tile::Case& c) { c.layout_B = tile::Layout::columns; });
  }
}

TEST_CASE("the threads load every element of both tiles once, in every kernel") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::BM, C::BK, C::NUM_THREADS, [](int thread, auto take) {
            for (int n = 0; n < C::LOADS_A; ++n)
              for (int i = 0; i < C::LOADED; ++i)
                take(load_A_of<C>(thread).row + below<C>(n), load_A_of<C>(thread).col + i);
          }) == "");
    CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
            for (int n = 0; n < C::LOADS_B; ++n)
              for (int j = 0; j < C::LOADED; ++j)
                take(load_B_of<C>(thread).row + n * C::ROWS_B, load_B_of<C>(thread).col + j);
          }) == "");
  });
}

TEST_CASE("the swizzles permute each row and move the elements of one access together") {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    CHECK(tile::covers_once(C::BK, C::BM, 1, [](int, auto take) {
            for (int row = 0; row < C::BK; ++row)
              for (int col = 0; col < C::BM; ++col) take(row, swizzle_A<C>(row, col));
          }) == "");
    CHECK(tile::covers_once(1, C::BN, 1, [](int, auto take) {
            for (int col = 0; col < C::BN; ++col) take(0, swizzle_B<C>(col));
          }) == "");
    for (int col = 0; col < C::BN; ++col) {
      REQUIRE(swizzle_B<C>(col) == swizzle_B<C>(col / 4 * 4) + col % 4);
      if (C::CONVERT == Convert::at_use) REQUIRE(swizzle_B<C>(col) == col);
      for (int row = 0; row < C::BK; ++row) {
        REQUIRE(swizzle_A<C>(row, col) == swizzle_A<C>(row, col / 4 * 4) + col % 4);
        // the kernel swizzles within a warp tile, and the first of a thread's loads only
        REQUIRE(swizzle_A<C>(row, col) ==
                col / C::WM * C::WM + swizzle_A<C>(row, col % C::WM));
        if (C::PAIR == 1)
          REQUIRE(swizzle_A<C>(row, col) ==
                  col / C::ROWS_A * C::ROWS_A + swizzle_A<C>(row, col % C::ROWS_A));
      }
    }
  });
}

#if TILE_ON_MODEL
TEST_CASE("one barrier per k-tile" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int tiles : {1, 2, 5})
      CHECK(tile::traced_run(kernel, {128, 128, 16 * tiles, 1, 0, 0, tile::Fill::integers})
                .barriers == std::uint64_t(tiles));
}

TEST_CASE("no access to As or Bs has a bank conflict; BF16 halves the number of global loads" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run = tile::count(kernel<C>(name), {256, 256, 64});
    for (const char* tag : {"store-As", "store-Bs", "load-As", "load-Bs"})
      CHECK(tile::bank_conflict(run, tag) == "");
    for (const char* tag : {"load-As", "load-Bs"})
      CHECK(tile::site(run, tag).width == 4 * sizeof(typename C::Shared));
    CHECK(tile::site(run, "store-As").width == 4);
    for (const char* tag : {"load-A", "load-B"}) {
      CHECK(tile::site(run, tag).width == 16);
      CHECK(tile::site(run, tag).accesses == 256 * 64 * 2 / C::LOADED);
    }
  });
}

TEST_CASE("the predicated kernel loads A and B element by element" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run =
        tile::traced_run(kernel<C>(name), {70, 90, 33, 1, 2, 1, tile::Fill::integers});
    for (const char* tag : {"load-A-elements", "load-B-elements"})
      CHECK(tile::site(run, tag).width == sizeof(typename C::In));
  });
}
#endif
