// Tile by Tile, chapter 10: transpose and swizzle.
//
// Question: can the transposed store of A avoid bank conflicts without a word of padding?
// Idea: permute the words within each row of As by XORing bits of the row into the column,
// shifted to bits of the bank that the lanes of a warp leave unused. Which bits those are
// follows from the lane map; the rank of a small matrix of bits says whether a swizzle works.
// Previous chapter: 09, bank conflicts and padding. The kernel is chapter 08's `large` with
// another layout of As.
//
// Build, run, verify:   ./tile run 10      ctest --preset model -R chapter10
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a k-tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // warp subtiles side by side
          int TM_, int TN_,           // rows and columns of C per thread and warp subtile
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          int DOWN_, int UP_>         // the swizzle: col ^ ((row >> DOWN) << UP)
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_, DOWN = DOWN_, UP = UP_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a warp subtile
  // rows of a warp subtile: 32 threads with TM x TN accumulators each cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;          // warp subtiles one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of the tile of B
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN accumulators must cover a warp subtile, and WMITER x WNITER of these the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert((BM + BN) * BK * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
  // the bits of a column that the swizzle may flip
  static constexpr int FLIPS = (BK - 1) >> DOWN << UP;
  static_assert(
      is_power_of_two(ROWS_A) && is_power_of_two(WSUBM) && is_power_of_two(TM) &&
          FLIPS < ROWS_A && FLIPS < WSUBM,
      "the swizzle must not flip a bit that the kernel adds to a swizzled column: else two elements "
      "share an address, or one is read from where it was not stored");
};

template <int DOWN, int UP>
using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, DOWN, UP>;  // chapter 08's `large`

using Swizzled = Large<2, 3>;  // col ^ ((row >> 2) << 3): the chapter's kernel
using XorRow = Large<0, 0>;    // col ^ row
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// Where a thread's warp tile begins in the block's tile.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN accumulators begin in a warp subtile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B (as in
// chapter 06).
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// [/snippet maps]
// [snippet swizzle]
// The column at which an element of the transposed tile is stored in its row of As.
template <class C>
constexpr __host__ __device__ int swizzle(int row, int col) {
  return col ^ (row >> C::DOWN << C::UP);
}
// [/snippet swizzle]

// [snippet rank]
// The words that lanes 1, 2, 4, 8 and 16 access, XORed with that of lane 0.
struct LaneBits {
  unsigned word[5];
};

template <class Word>
constexpr LaneBits bits_of(Word word) {
  LaneBits bits{};
  for (int b = 0; b < 5; ++b) bits.word[b] = unsigned(word(1 << b) ^ word(0));
  return bits;
}

// The rank over GF(2) of these words; only their bits in `mask` count.
constexpr int rank(LaneBits bits, unsigned mask = ~0u) {
  int rank = 0;
  for (unsigned left : bits.word) {
    left &= mask;
    for (int i = 0; i < rank; ++i)
      if ((left ^ bits.word[i]) < left) left ^= bits.word[i];  // clears that word's top bit
    if (left != 0) bits.word[rank++] = left;
  }
  return rank;
}

// Each dimension that the bank lacks doubles the words in every bank that is used.
constexpr int wavefronts_of(const LaneBits& bits) {
  return 1 << (rank(bits) - rank(bits, 31));
}
// [/snippet rank]

// VECTORISED: all tiles are whole, and every float4 is aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_swizzled(int M, int N, int K, float alpha,  //
                   const float* A, int lda,           // M x K
                   const float* B, int ldb,           // K x N
                   float beta,                        //
                   float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM: the tile of A, transposed, each row swizzled
  alignas(16) __shared__ float As[BK * BM];
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  // the accumulators: TM x TN in each warp subtile
  float acc[WMITER][TM][WNITER][TN] = {};
  // [snippet main-loop]
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
        As[(colA + i) * BM + swizzle<Config>(colA + i, rowA) + down] = a[i];  //@ store-As
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
    // a thread reads what others stored: no thread may start before all have stored
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      // The bits that this row flips: a constant, because the loop is unrolled.
      const int flips = swizzle<Config>(dotIdx, 0);
      // Flips of TM and more move a thread's columns together; lower ones permute them.
      const float* rowOfAs = &As[dotIdx * BM + warpRow + (threadRow ^ flips / TM * TM)];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from = rowOfAs + wm * WSUBM + (i ^ flips % TM / 4 * 4);
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          const float words[4] = {four.x, four.y, four.z, four.w};
          // The two lowest bits permute the words of a float4: only a choice of registers.
          for (int j = 0; j < 4; ++j) regM[wm][i + j] = words[j ^ flips % 4];
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
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }
  // [/snippet main-loop]

  // [snippet epilogue]
  // Unrolled: registers cannot be indexed at run time, and accumulators would be spilled.
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
  // [/snippet epilogue]
}

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether all tiles are whole and every float4 is aligned to 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_swizzled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(
      can_vectorise<Config>(g) ? sgemm_swizzled<Config, true> : sgemm_swizzled<Config, false>,
      grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
      g.beta, g.C, g.ldc);
}

constexpr auto launch_default = launch_swizzled<Swizzled>;
// [/snippet launch]

// The word of As that a lane of warp 0 stores first, where `lanes` lanes copy each row of A and
// As is swizzled by col ^ ((row >> down) << up).
constexpr int word_stored(int lanes, int down, int up, int lane) {
  const int row = lane % lanes * 4, col = lane / lanes;
  return row * Swizzled::BM + (col ^ (row >> down << up));
}
constexpr int NONE = 30;  // a shift that leaves no bit of a row

// The predictions that the page cites.
void predict(tile::Facts& facts) {
  const auto list = [](unsigned mask) {
    std::string bits;
    for (int b = 0; mask >> b != 0; ++b)
      if (mask >> b & 1u) bits += (bits.empty() ? "" : ", ") + std::to_string(b);
    return bits.empty() ? "none" : bits;
  };
  // A store into As with `lanes` lanes per row of A: which bits each bit of the lane flips.
  const auto describe = [&](const std::string& name, int lanes, int down, int up) {
    const LaneBits words = bits_of([&](int l) { return word_stored(lanes, down, up, l); });
    facts.predicted(name + ".store_As.address_rank", rank(words));
    facts.predicted(name + ".store_As.bank_rank", rank(words, 31));
    facts.predicted(name + ".store_As.wavefronts", wavefronts_of(words));
    facts.text(name + ".store_As.lane_bit0", "predicted", list(words.word[0] % 32));
    facts.text(name + ".store_As.lane_bit1", "predicted", list(words.word[1] % 32));
    facts.text(name + ".store_As.lane_bits2to4", "predicted",
               list((words.word[2] | words.word[3] | words.word[4]) % 32));
    unsigned varying = 0;
    for (const unsigned word : words.word) varying |= word;
    facts.text(name + ".store_As.varying", "predicted", list(varying));
    facts.text(name + ".store_As.varying_banks", "predicted", list(varying % 32));
  };
  describe("plain", 4, NONE, 0);
  describe("xor_row", 4, 0, 0);
  describe("xor_twice", 4, 0, 1);
  describe("swizzled", 4, 2, 3);
  describe("deep8", 2, NONE, 0);
  describe("deep8_swizzled", 2, 2, 4);
  describe("deep32", 8, NONE, 0);
  describe("deep32_swizzled", 8, 2, 2);
  facts.predicted("swizzled.swizzle.down", Swizzled::DOWN);  // for the figures
  facts.predicted("swizzled.swizzle.up", Swizzled::UP);
  for (const char* name : {"swizzled", "xor_row"})
    facts.predicted_loads(
        name, 1.0 / Swizzled::BM + 1.0 / Swizzled::BN,
        double(Swizzled::WMITER * Swizzled::TM + Swizzled::WNITER * Swizzled::TN) /
            Swizzled::ACCUMULATORS,
        4, 4);
  // Thread 101: what it copies, and where its third word goes.
  const auto [rowA, colA] = load_A_of<Swizzled>(101);
  const int row = colA + 2, place = swizzle<Swizzled>(row, rowA);
  facts.predicted("worked.rowA", rowA);
  facts.predicted("worked.row", row);
  facts.predicted("worked.place", place);
  facts.predicted("worked.word", row * Swizzled::BM + place);
  facts.predicted("worked.bank", (row * Swizzled::BM + place) % 32);
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
             .kernels = {kernel<Swizzled>("swizzled"), kernel<XorRow>("xor_row")},
             .counted = {256, 256, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Swizzled::BM}, {"BN", Swizzled::BN}, {"BK", Swizzled::BK}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 08's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
}

using XorTwice = Large<0, 1>;  // col ^ (row << 1), which no kernel of the chapter uses

// Checks all stores into As that a block makes for a k-tile.
template <class C>
void check_store_wavefronts(int each) {
  for (int warp = 0; warp < C::NUM_THREADS / 32; ++warp)
    for (int down = 0; down < C::BM; down += C::ROWS_A)
      for (int i = 0; i < 4; ++i) {
        simt::WarpAccess access{.active = ~0u, .size = 4};
        for (int lane = 0; lane < 32; ++lane) {
          const auto [rowA, colA] = load_A_of<C>(32 * warp + lane);
          access.address[std::size_t(lane)] =
              4 * std::uint64_t((colA + i) * C::BM + swizzle<C>(colA + i, rowA + down));
        }
        REQUIRE(simt::shared_wavefronts(access, false) == each);
      }
}

TEST_CASE("col ^ row leaves two words in a bank, col ^ (row << 1) one") {
  check_store_wavefronts<XorRow>(2);
  check_store_wavefronts<XorTwice>(1);
  check_store_wavefronts<Swizzled>(1);
}

#if TILE_ON_MODEL
TEST_CASE("no two lanes of a store or load of As want different words of one bank" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_default, {128, 128, 16});
  for (const char* tag : {"store-As", "load-As"})
    CHECK(tile::bank_conflict(counts, tag) == "");
  // All warps and rows: eight lanes of a load read the same words, so two quarters merge.
  CHECK(tile::site(counts, "store-As").wavefronts == tile::site(counts, "store-As").requests);
  CHECK(tile::site(counts, "load-As").wavefronts ==
        2 * tile::site(counts, "load-As").requests);
}

TEST_CASE("the model counts what the ranks say" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_swizzled<XorRow>, {128, 256, 64});
  // both blocks of a row of blocks store all of A
  CHECK(tile::site(counts, "store-As").requests == 128 * 64 / 32 * 2);
  CHECK(tile::site(counts, "store-As").wavefronts == 128 * 64 / 32 * 2 * 2);
  CHECK(tile::site(counts, "load-As").wavefronts ==
        2 * tile::site(counts, "load-As").requests);
}
#endif

TEST_CASE(
    "each row is permuted, and only the chapter's swizzle leaves a float4 in one piece and in order") {
  const auto check = [&]<class C>(C, bool in_order) {
    bool whole = true, ordered = true;
    CHECK(tile::covers_once(C::BK, C::BM, C::BK, [](int row, auto take) {
            for (int col = 0; col < C::BM; ++col) take(row, swizzle<C>(row, col));
          }) == "");
    for (int row = 0; row < C::BK; ++row)
      for (int col = 0; col < C::BM; ++col) {
        const int first = swizzle<C>(row, col / 4 * 4) / 4 * 4;
        whole = whole && swizzle<C>(row, col) / 4 * 4 == first;
        ordered = ordered && swizzle<C>(row, col) == first + col % 4;
      }
    CHECK(whole);  // no XOR splits an aligned group of 2^n words
    CHECK(ordered == in_order);
  };
  check(Swizzled{}, true);
  check(XorRow{}, false);
  check(XorTwice{}, false);
}

TEST_CASE(
    "the rank says how many wavefronts a store of As takes, with every shift, wherever it begins") {
  CHECK(rank({{7, 7, 0, 8, 15}}) == 2);  // 7 ^ 8 = 15
  int compared = 0;
  for (const int lanes : {1, 2, 4, 8})
    for (int down = 0; down < 5; ++down)
      for (int up = 0; up + 5 - down <= 7; ++up)
        for (const int first : {0, 5, 3 * 1024 + 77}) {
          const auto word = [&](int lane) { return word_stored(lanes, down, up, lane); };
          simt::WarpAccess access{.active = ~0u, .size = 4};
          for (int lane = 0; lane < 32; ++lane)
            access.address[std::size_t(lane)] = 4 * std::uint64_t(first ^ word(lane));
          REQUIRE(simt::shared_wavefronts(access, false) == wavefronts_of(bits_of(word)));
          ++compared;
        }
  CHECK(compared == 4 * (3 + 4 + 5 + 6 + 7) * 3);
  for (int lane = 0; lane < 32; ++lane)  // and the store is the kernel's
    CHECK(word_stored(4, Swizzled::DOWN, Swizzled::UP, lane) ==
          load_A_of<Swizzled>(lane).col * Swizzled::BM +
              swizzle<Swizzled>(load_A_of<Swizzled>(lane).col, load_A_of<Swizzled>(lane).row));
}

TEST_CASE(
    "CUTLASS's Swizzle<2, 3, 6> maps every offset of the tile as the chapter's swizzle does") {
  constexpr int B = 2, M = 3, S = 6;
  for (int offset = 0; offset < Swizzled::BK * Swizzled::BM; ++offset) {
    const int row = offset / Swizzled::BM, col = offset % Swizzled::BM;
    REQUIRE((offset ^ ((offset >> S) & (((1 << B) - 1) << M))) ==
            row * Swizzled::BM + swizzle<Swizzled>(row, col));
  }
}

TEST_CASE("the prose's arithmetic") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("worked.word") == 6 * 128 + (25 ^ 8));
  for (const auto& [tile, wavefronts] :
       std::map<std::string, int>{{"plain", 4}, {"deep8", 2}, {"deep32", 8}, {"xor_row", 2}})
    CHECK(facts.value(tile + ".store_As.wavefronts") == wavefronts);
  for (const std::string tile : {"swizzled", "xor_twice", "deep8_swizzled", "deep32_swizzled"})
    CHECK(facts.value(tile + ".store_As.wavefronts") == 1);
}

template <class C>
void check_maps() {
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
          const auto [row, col] = thread_tile_of<C>(thread);
          for (int wm = 0; wm < C::WMITER; ++wm)
            for (int wn = 0; wn < C::WNITER; ++wn)
              for (int i = 0; i < C::TM * C::TN; ++i)
                take(warpRow + wm * C::WSUBM + row + i / C::TN,
                     warpCol + wn * C::WSUBN + col + i % C::TN);
        }) == "");
  CHECK(tile::covers_once(C::BK, C::BM, C::NUM_THREADS, [](int thread, auto take) {
          const auto [rowA, colA] = load_A_of<C>(thread);
          for (int down = 0; down < C::BM; down += C::ROWS_A)
            for (int i = 0; i < 4; ++i) take(colA + i, swizzle<C>(colA + i, rowA) + down);
        }) == "");
  CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [rowB, colB] = load_B_of<C>(thread);
          for (int down = 0; down < C::BK; down += C::ROWS_B)
            for (int j = 0; j < 4; ++j) take(rowB + down, colB + j);
        }) == "");
}

TEST_CASE("one thread computes each element of C, and one stores each word of As and Bs") {
  check_maps<Swizzled>();
  check_maps<XorRow>();
  check_maps<XorTwice>();
}
