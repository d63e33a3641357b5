// Tile by Tile, chapter 09: bank conflicts and padding.
//
// Question: when do the lanes of a warp get in each other's way in shared memory, and does
// padding keep them apart? Idea: shared memory has 32 banks, and an access takes as many
// wavefronts as the fullest bank has words to deliver. Words left free between the rows of a
// tile move rows to other banks, which helps an access whose lanes touch different rows.
// Previous chapter: 08, whose kernel `large` this is. The layout of As is new.
//
// Build, run, verify:   ./tile run 09      ctest --preset model -R chapter09
#include "common/report/chapter.hpp"

namespace {

// [snippet config]
template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a k-tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // warp subtiles side by side
          int TM_, int TN_,           // rows and columns of C per thread and subtile
          int BLOCKS_,                // blocks that must fit on an SM: a bound on registers
          int PAD_ = 0,               // words left free in As ...
          int ROWS_PER_PAD_ = 1>      // ... after every so many of its rows
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_, PAD = PAD_,
                       ROWS_PER_PAD = ROWS_PER_PAD_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a subtile
  // rows of a subtile: 32 threads of TM x TN cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;          // subtiles below each other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of the tile of A that all threads load with one float4 each
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // and of the tile of B
  static constexpr int AS_WORDS = BK * BM + (BK - 1) / ROWS_PER_PAD * PAD;
  static constexpr int SMEM_BYTES = (AS_WORDS + BK * BN) * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN must cover a subtile, and WMITER x WNITER subtiles the warp tile");
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
                "an SM holds at most 2048 threads: a larger bound would have no effect");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
  static_assert(
      PAD % 4 == 0,
      "a padded row must still begin at a multiple of 16 bytes: else its float4s are misaligned");
  static_assert(ROWS_PER_PAD >= 1, "padding comes after every so many rows, at least one");
};

using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;  // chapter 08's
using Padded = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, 4>;
using Grouped = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, 8, 4>;
// [/snippet config]

// [snippet offset]
// The word of As that holds row `row`, column k of the tile of A. The division is unsigned, so
// that dividing by a power of two takes only a shift.
template <class C>
constexpr __host__ __device__ int As_offset(int k, int row) {
  return k * C::BM + int(unsigned(k) / C::ROWS_PER_PAD) * C::PAD + row;
}
// [/snippet offset]

struct Position {
  int row, col;
};

// Where a thread's warp tile begins in the block's tile. A warp is 32 consecutive threads.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN elements of C begin in a subtile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  const int laneId = thread % 32;
  return {laneId / (C::WSUBN / C::TN) * C::TM, laneId % (C::WSUBN / C::TN) * C::TN};
}
// The first element of a thread's first float4 in the tile of A, and in the tile of B.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}

// VECTORISED: all tiles are whole and all addresses divisible by 16; otherwise predicated.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_warp_tiled(int M, int N, int K, float alpha,  //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM and padding: the tile of A, transposed
  alignas(16) __shared__ float As[Config::AS_WORDS];
  alignas(16) __shared__ float Bs[BK * BN];  // BK x BN, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN accumulators per subtile
  // [snippet main-loop]
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
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
        As[As_offset<Config>(colA + i, rowA + down)] = a[i];  //@ store-As
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
    // a thread reads what others stored: no thread may start before all have stored
    __syncthreads();

#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from =
              &As[As_offset<Config>(dotIdx, warpRow + wm * WSUBM + threadRow + i)];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
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
    // the next iteration overwrites the tiles: no thread may store while another still reads
    __syncthreads();
  }
  // [/snippet main-loop]

  // Unrolled, because registers cannot be indexed: an accumulator chosen at run time would
  // have to live in local memory.
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

// Whether every tile of a problem is whole and every float4 begins at a multiple of 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_warp_tiled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_warp_tiled<Config, true>
                                        : sgemm_warp_tiled<Config, false>,
               grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B,
               g.ldb, g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_warp_tiled<Grouped>;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// ---- The page's numbers about banks

// An access whose lane l begins at word first_word(l): how many lanes are served together, how
// many different words the first group of them accesses and in how many banks, and how many
// wavefronts the whole access takes.
struct BankUse {
  int together, words, banks, wavefronts;
};
template <class FirstWord>
BankUse bank_use(int bytes, bool is_load, FirstWord first_word) {
  simt::WarpAccess access{.active = ~0u, .size = bytes};
  for (int lane = 0; lane < 32; ++lane)
    access.address[std::size_t(lane)] = 4 * std::uint64_t(first_word(lane));
  const int together = simt::lanes_together(access, is_load);
  std::vector<int> words, banks;
  for (int lane = 0; lane < together; ++lane)
    for (int i = 0; i < bytes / 4; ++i)
      words.push_back(first_word(lane) + i), banks.push_back((first_word(lane) + i) % 32);
  const auto distinct = [](std::vector<int>& values) {
    std::sort(values.begin(), values.end());
    return int(std::unique(values.begin(), values.end()) - values.begin());
  };
  return {together, distinct(words), distinct(banks),
          simt::shared_wavefronts(access, is_load)};
}

// The transposed store of a float4 of A: where each lane stores the first of its words.
template <class C>
int stored_word(int lane) {
  return As_offset<C>(load_A_of<C>(lane).col, load_A_of<C>(lane).row);
}
template <class C>
BankUse bank_use_of_store() {
  return bank_use(4, false, stored_word<C>);
}
using Deep = Config<128, 128, 32, 64, 64, 2, 8, 4, 3, 4, 4>;  // the answer to exercise 2
// The same store with any stride between rows of As and `lanes_per_row` lanes to a row of A.
int wavefronts_of_stride(int lanes_per_row, int stride) {
  return bank_use(4, false,
                  [&](int lane) {
                    return lane % lanes_per_row * 4 * stride + lane / lanes_per_row;
                  })
      .wavefronts;
}
// A load of chapter 06, whose lanes read float4s 8 words apart, from row 1 of Bs, with `pad`
// words left free after each row.
using Flat = Config<128, 128, 16, 32, 128, 1, 16, 8, 3>;  // a warp is two rows of 16 threads
BankUse bank_use_of_flat_load(int pad) {
  return bank_use(16, true,
                  [&](int lane) { return Flat::BN + pad + thread_tile_of<Flat>(lane).col; });
}

void predict(tile::Facts& facts) {
  const auto give = [&](const std::string& key, const BankUse& use) {
    facts.predicted(key + ".together", use.together);
    facts.predicted(key + ".words", use.words);
    facts.predicted(key + ".banks", use.banks);
    facts.predicted(key + ".wavefronts", use.wavefronts);
  };
  const auto of_kernel = [&]<class C>(const std::string& name, C) {
    give(name + ".store_As", bank_use_of_store<C>());
    for (int lane = 0; lane < 4; ++lane) {  // the lanes that store the first row of A
      const std::string key = "worked." + name + "." + std::to_string(lane);
      facts.predicted(key + ".word", stored_word<C>(lane));
      facts.predicted(key + ".bank", stored_word<C>(lane) % 32);
    }
  };
  of_kernel("large", Large{});
  of_kernel("padded", Padded{});
  of_kernel("grouped", Grouped{});
  give("large.load_Bs",
       bank_use(16, true, [](int lane) { return thread_tile_of<Large>(lane).col; }));
  give("deep.store_As", bank_use_of_store<Deep>());
  give("flat.load_Bs", bank_use_of_flat_load(0));
  give("flat_padded.load_Bs", bank_use_of_flat_load(4));
  for (const int depth : {8, 16}) {
    const std::string of_depth = ".depth" + std::to_string(depth);
    int best = 32, best_aligned = 32;
    for (int stride = 128; stride <= 160; ++stride) {
      const int wavefronts = wavefronts_of_stride(depth / 4, stride);
      best = std::min(best, wavefronts);
      if (stride % 4 == 0) best_aligned = std::min(best_aligned, wavefronts);
      if (stride <= 136)
        facts.predicted("stride." + std::to_string(stride) + of_depth, wavefronts);
    }
    facts.predicted("stride.best" + of_depth, best);
    facts.predicted("stride.best_aligned" + of_depth, best_aligned);
  }
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_warp_tiled<Config>,
          reinterpret_cast<const void*>(sgemm_warp_tiled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES};
}

}  // namespace

TILE_CHAPTER(.number = 9, .title = "Bank conflicts and padding",
             .kernels = {kernel<Large>("large"), kernel<Padded>("padded"),
                         kernel<Grouped>("grouped")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Large::BM},
                           {"BN", Large::BN},
                           {"BK", Large::BK},
                           {"TM", Large::TM},
                           {"TN", Large::TN},
                           {"WMITER", Large::WMITER},
                           {"WNITER", Large::WNITER},
                           {"ACCUMULATORS", Large::ACCUMULATORS},
                           {"NUM_THREADS", Large::NUM_THREADS}},
             .predict = predict)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("the result equals the one of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels,
                                {{128, 256, 208}, {70, 90, 301}});
  CHECK(tile::first_failure(launch_default, {{70, 90, 301}}) == "");
}

TEST_CASE("every element of C belongs to one thread, and one copies each of As and Bs") {
  using C = Large;
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
          const auto [row, col] = thread_tile_of<C>(thread);
          for (int wm = 0; wm < C::WM; wm += C::WSUBM)
            for (int wn = 0; wn < C::WN; wn += C::WSUBN)
              for (int i = 0; i < C::TM; ++i)
                for (int j = 0; j < C::TN; ++j)
                  take(warpRow + wm + row + i, warpCol + wn + col + j);
        }) == "");
  CHECK(tile::covers_once(C::BM, C::BK, C::NUM_THREADS, [](int thread, auto take) {
          const auto [row, col] = load_A_of<C>(thread);
          for (int down = 0; down < C::BM; down += C::ROWS_A)
            for (int i = 0; i < 4; ++i) take(row + down, col + i);
        }) == "");
  CHECK(tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [row, col] = load_B_of<C>(thread);
          for (int down = 0; down < C::BK; down += C::ROWS_B)
            for (int j = 0; j < 4; ++j) take(row + down, col + j);
        }) == "");
}

template <class C>
void check_offsets() {
  std::vector<int> words(C::AS_WORDS);
  for (int k = 0; k < C::BK; ++k) {
    for (int row = 0; row < C::BM; ++row) ++words.at(std::size_t(As_offset<C>(k, row)));
    for (int row = 0; row < C::BM; row += 4) {
      CHECK(As_offset<C>(k, row) % 4 == 0);
      CHECK(As_offset<C>(k, row + 3) == As_offset<C>(k, row) + 3);
    }
  }
  CHECK(*std::max_element(words.begin(), words.end()) == 1);
  CHECK(std::count(words.begin(), words.end(), 1) == C::BK * C::BM);
  CHECK(words.back() == 1);  // the array is not too long
}

TEST_CASE("every element of As has a word of its own, and every float4 an aligned one") {
  check_offsets<Large>();
  check_offsets<Padded>();
  check_offsets<Grouped>();
  check_offsets<Deep>();
}

TEST_CASE("padding costs no block on an SM") {
  CHECK(Padded::SMEM_BYTES == Large::SMEM_BYTES + 15 * 4 * 4);  // after each row but the last
  CHECK(Grouped::SMEM_BYTES == Large::SMEM_BYTES + 3 * 8 * 4);  // after each fourth
  for (const tile::Kernel& k : tile::this_chapter().kernels) {
    CAPTURE(k.name);
    const auto o = tile::occupancy(tile::h200, Large::NUM_THREADS, 168, int(k.static_shared));
    CHECK(o.blocks == Large::BLOCKS);
    CHECK(o.by_shared > o.by_registers);
  }
}

TEST_CASE("an access takes as many wavefronts as it has words per bank that it reaches") {
  const auto check = [](const std::string& access, const BankUse& use, int words, int banks) {
    CAPTURE(access);
    CHECK(use.words == words);
    CHECK(use.banks == banks);
    CHECK(use.wavefronts == 32 / use.together * words / banks);
  };
  check("large.store_As", bank_use_of_store<Large>(), 32, 8);
  check("padded.store_As", bank_use_of_store<Padded>(), 32, 16);
  check("grouped.store_As", bank_use_of_store<Grouped>(), 32, 32);
  check("deep.store_As", bank_use_of_store<Deep>(), 32, 32);
  check("flat.load_Bs", bank_use_of_flat_load(0), 32, 16);
}

TEST_CASE("no stride of whole float4s cures the store of a tile 16 deep") {
  CHECK(wavefronts_of_stride(2, 128) == 2);
  CHECK(wavefronts_of_stride(2, 132) == 1);
  CHECK(wavefronts_of_stride(4, 128) == 4);
  CHECK(wavefronts_of_stride(4, 129) == 2);
  CHECK(wavefronts_of_stride(4, 130) == 1);
  for (int stride = 128; stride <= 160; stride += 4)
    CHECK(wavefronts_of_stride(4, stride) > 1);
}

TEST_CASE("no padding of Bs helps float4 loads 8 words apart") {
  for (int pad = 0; pad <= 32; pad += 4) CHECK(bank_use_of_flat_load(pad).wavefronts == 8);
}

#if TILE_ON_MODEL
template <class C>
simt::Counts counted_twice_as_deep() {
  return tile::count(launch_warp_tiled<C>, {C::BM, C::BN, 2 * C::BK});
}

// Wavefronts of a request, on average.
template <class C>
double wavefronts(std::string_view tag) {
  const simt::Counts counts = counted_twice_as_deep<C>();
  const simt::Site& site = tile::site(counts, tag);
  return double(site.wavefronts) / double(site.requests);
}

TEST_CASE("where there should be no conflict, no two lanes want different words of a bank" *
          doctest::test_suite("model")) {
  const auto check = [](const std::string& kernel, const simt::Counts& counts, auto... tags) {
    CAPTURE(kernel);
    for (const char* tag : {tags...}) CHECK(tile::bank_conflict(counts, tag) == "");
  };
  check("large", counted_twice_as_deep<Large>(), "load-As", "load-Bs", "store-Bs");
  check("padded", counted_twice_as_deep<Padded>(), "load-As", "load-Bs", "store-Bs");
  check("grouped", counted_twice_as_deep<Grouped>(), "store-As", "load-As", "load-Bs",
        "store-Bs");
}

TEST_CASE("a stride of 132 cures the store of a tile 8 deep, and halves that of one 16 deep" *
          doctest::test_suite("model")) {
  using Shallow = Config<128, 128, 8, 64, 64, 2, 8, 4, 3>;
  using ShallowPadded = Config<128, 128, 8, 64, 64, 2, 8, 4, 3, 4>;
  CHECK(wavefronts<Shallow>("store-As") == 2);
  CHECK(wavefronts<ShallowPadded>("store-As") == 1);
  CHECK(wavefronts<Large>("store-As") == 4);
  CHECK(wavefronts<Padded>("store-As") == 2);
  CHECK(wavefronts<Grouped>("store-As") == 1);
}

TEST_CASE("padding As leaves the other accesses as they were" * doctest::test_suite("model")) {
  for (const char* tag : {"load-As", "load-Bs", "store-Bs"}) {
    CAPTURE(tag);
    CHECK(wavefronts<Padded>(tag) == wavefronts<Large>(tag));
    CHECK(wavefronts<Grouped>(tag) == wavefronts<Large>(tag));
  }
}

TEST_CASE("the flat load of the model takes the wavefronts of the prose" *
          doctest::test_suite("model")) {
  CHECK(wavefronts<Flat>("load-Bs") == bank_use_of_flat_load(0).wavefronts);
}
#endif
