// Tile by Tile, chapter 14: a ring of stages.
//
// Question: a k-tile on its way to shared memory passes through registers. What does a kernel
// gain that needs none for it? Idea: cp.async copies from global to shared memory while the
// thread continues. A ring of stages holds k-tiles in flight, and before each barrier a thread
// waits until its copies of the next k-tile have landed.
// Previous chapter: 13; what it taught is in common/cuda/thread_tile.hpp from here on.
//
// Build, run, verify:   ./tile run 14      ctest --preset model -R chapter14
#include <algorithm>
#include <set>
#include <type_traits>

#include "common/cuda/ptx.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet ring]
// The ring by itself, around chapter 03's kernel: a tile of 32 x 32 elements of C, one for
// each of 1024 threads. Tiles are whole, alpha is 1 and beta is 0.
template <int STAGES>
__global__ void __launch_bounds__(1024)
    sgemm_small_ring(int K, const float* A, int lda, const float* B, int ldb, float* C,
                     int ldc) {
  __shared__ float As[STAGES][32][32], Bs[STAGES][32][32];
  const int threadRow = threadIdx.x / 32, threadCol = threadIdx.x % 32;
  const int row = blockIdx.y * 32 + threadRow, col = blockIdx.x * 32 + threadCol;
  const int k_tiles = K / 32;

  // Starts this thread's two copies of a k-tile.
  const auto start_copies = [&](int k_tile) {
    if (k_tile < k_tiles) {
      const int stage = k_tile % STAGES, bkIdx = k_tile * 32;
      ptx::cp_async_ca<4>(&As[stage][threadRow][threadCol],
                          &A[std::size_t(row) * lda + bkIdx + threadCol]);
      ptx::cp_async_ca<4>(&Bs[stage][threadRow][threadCol],
                          &B[std::size_t(bkIdx + threadRow) * ldb + col]);
    }
    ptx::cp_async_commit_group();  // two copies, or none after the last k-tile
  };

  for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) start_copies(k_tile);
  float acc = 0.0f;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const int stage = k_tile % STAGES;
    // this thread's copies of this k-tile have landed
    ptx::cp_async_wait_group<STAGES - 2>();
    // so have those of all threads; also: all have read the stage that is filled next
    __syncthreads();
    start_copies(k_tile + STAGES - 1);
    for (int dotIdx = 0; dotIdx < 32; ++dotIdx)
      acc += As[stage][threadRow][dotIdx] * Bs[stage][dotIdx][threadCol];
  }
  C[std::size_t(row) * ldc + col] = acc;
}
// [/snippet ring]

// [snippet config]
template <int STAGES_>
struct Config {
  static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
  static constexpr int BM = 128, BN = 256, BK = 8;    // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  // rows of the A tile that all threads together copy at once, a word each
  static constexpr int ROWS_A = NUM_THREADS / BK;
  static constexpr int STRIDE_A = BM + 4;  // of the transposed A tile, padded (chapter 09)
  static constexpr int WORDS_A = BK * STRIDE_A;
  static constexpr int STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE_WORDS * 4;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(NUM_THREADS % BK == 0 && BM % ROWS_A == 0,
                "else threads copy past the A tile or leave parts out");
  static_assert(NUM_THREADS % BN == 0 && BK * BN % (4 * NUM_THREADS) == 0 &&
                    4 * NUM_THREADS % BN == 0,
                "else threads copy past the B tile or leave parts out");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
  static_assert(STAGES >= 2, "a k-tile is copied while another is multiplied");
  static_assert(SMEM_BYTES <= 227 * 1024, "a block has at most 227 KB of shared memory");
};
// [/snippet config]

// [snippet maps]
// The first element that a thread copies of the A tile: one word at a time, so that each word
// can go to its own row of the transposed tile.
template <class C>
constexpr __host__ __device__ tile::Position copy_A_of(int thread) {
  return {thread / C::BK, thread % C::BK};
}
// The first element that a thread copies of the B tile, WIDTH words at a time.
template <class C, int WIDTH>
constexpr __host__ __device__ tile::Position copy_B_of(int thread) {
  return {thread / (C::BN / WIDTH), thread % (C::BN / WIDTH) * WIDTH};
}
// The word of a stage that holds an element of the A tile, and one of the B tile.
template <class C>
constexpr __host__ __device__ int word_in_As(int row, int k) {
  return k * C::STRIDE_A + row;
}
template <class C>
constexpr __host__ __device__ int word_in_Bs(int k, int col) {
  return C::WORDS_A + k * C::BN + col;
}
// [/snippet maps]

// [snippet copy]
// VECTORISED: all tiles are whole, and rows of B are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_ring(int M, int N, int K, float alpha,  //
               const float* A, int lda,           // M x K
               const float* B, int ldb,           // K x N
               float beta,                        //
               float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS;
  constexpr int WIDTH_B = VECTORISED ? 4 : 1;  // words of B that a thread copies at once
  constexpr int ROWS_B = WIDTH_B * Config::NUM_THREADS / BN;
  // STAGES times: BK x BM of A, transposed and padded, then BK x BN of B
  extern __shared__ float4 shared[];
  float* const stages = reinterpret_cast<float*>(shared);

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = tile::thread_tile_of(threadIdx.x);
  const auto [rowA, colA] = copy_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = copy_B_of<Config, WIDTH_B>(threadIdx.x);
  float acc[ROWS][COLS] = {};

  // the stage after this one in the ring
  const auto next = [&](float* stage) {
    return stage == stages + (Config::STAGES - 1) * Config::STAGE_WORDS
               ? stages
               : stage + Config::STAGE_WORDS;
  };
  float *filled = stages, *read = stages;  // stages that copies go to, that operands come from
  int copied = 0;                          // k-tiles whose copies this thread has started
  const int k_tiles = (K - 1) / BK + 1;
  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;

  // Copies a word, or stores a zero for what is outside the matrix.
  const auto copy_word = [](float* to, const float* from, bool inside) {
    if (inside)
      ptx::cp_async_ca<4>(to, from);  //@ load-word store-word
    else
      *to = 0.0f;  //@ store-zero
  };
  // Starts this thread's copies of the next k-tile. They are a group, which is empty after the
  // last k-tile.
  const auto start_copies = [&] {
    if (copied < k_tiles) {
#pragma unroll
      for (int row = 0; row < BM; row += Config::ROWS_A) {
        float* to = filled + word_in_As<Config>(rowA + row, colA);
        const float* from = nextA + std::size_t(row) * lda;
        if constexpr (VECTORISED)
          ptx::cp_async_ca<4>(to, from);  //@ load-A store-As
        else
          copy_word(to, from, blockRow + rowA + row < M && copied * BK + colA < K);
      }
#pragma unroll
      for (int k = 0; k < BK; k += ROWS_B) {
        float* to = filled + word_in_Bs<Config>(rowB + k, colB);
        const float* from = nextB + std::size_t(k) * ldb;
        if constexpr (VECTORISED)
          ptx::cp_async_cg(to, from);  //@ load-B store-Bs
        else
          copy_word(to, from, copied * BK + rowB + k < K && blockCol + colB < N);
      }
    }
    ptx::cp_async_commit_group();
    ++copied;
    filled = next(filled);
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
  };
  // [/snippet copy]

  // [snippet compute]
  const auto wait = [&] {
    // this thread's copies of the next k-tile have landed
    ptx::cp_async_wait_group<Config::STAGES - 2>();
    // so have those of all threads; also: all have read the stage that is filled next
    __syncthreads();
  };
  // operands of a k-step and of the next (chapter 13)
  float regM[2][ROWS], regN[2][COLS];
  const auto load_operands = [&](const float* stage, int dotIdx) {
    tile::load_operands(  //@ load-operands
        stage + word_in_As<Config>(warpRow + threadRow, dotIdx),
        stage + word_in_Bs<Config>(dotIdx, warpCol + threadCol), regM[dotIdx % 2],
        regN[dotIdx % 2]);
  };
  // A k-tile. LAST: no other follows.
  const auto compute = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      if (dotIdx < BK - 1) load_operands(read, dotIdx + 1);
      if (!LAST && dotIdx == 0) start_copies();
      if (!LAST && dotIdx == BK - 1) {
        wait();  // the operands of the next k-step are in the next stage
        read = next(read);
        load_operands(read, 0);
      }
      tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
    }
  };
  // [/snippet compute]

  // [snippet main-loop]
#pragma unroll
  for (int stage = 0; stage < Config::STAGES - 1; ++stage) start_copies();
  wait();
  load_operands(read, 0);
#pragma unroll 1
  for (int k_tile = 1; k_tile < k_tiles; ++k_tile) compute(std::false_type{});
  compute(std::true_type{});
  // [/snippet main-loop]

  // [snippet launch]
  tile::store_accumulators<VECTORISED>(  //@ load-C store-C
      acc, blockRow + warpRow + threadRow, blockCol + warpCol + threadCol, M, N, alpha, beta,
      C, ldc);
}

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
void launch_ring(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_ring<Config, true> : sgemm_ring<Config, false>,
               grid, dim3(Config::NUM_THREADS), Config::SMEM_BYTES, g.M, g.N, g.K, g.alpha,
               g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_ring<Config<3>>;
// [/snippet launch]

template <int STAGES>
void launch_small_ring(const tile::Gemm& g) {
  tile::launch(sgemm_small_ring<STAGES>, dim3(g.N / 32, g.M / 32), dim3(1024), 0, g.K, g.A,
               g.lda, g.B, g.ldb, g.C, g.ldc);
}

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("stages2", Config<2>{});
  f("stages3", Config<3>{});
  f("stages4", Config<4>{});
  f("stages5", Config<5>{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({name,
                   launch_ring<C>,
                   reinterpret_cast<const void*>(sgemm_ring<C, true>),
                   C::NUM_THREADS,
                   {C::BM, C::BN, C::BK, tile::Alignment::float4s},
                   0,
                   C::SMEM_BYTES});
  });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 14, .title = "A ring of stages", .kernels = kernels(),
             .counted = {256, 512, 256}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Config<3>::BM},
                           {"BN", Config<3>::BN},
                           {"BK", Config<3>::BK},
                           {"ROWS", Config<3>::ROWS},
                           {"COLS", Config<3>::COLS},
                           {"NUM_THREADS", Config<3>::NUM_THREADS},
                           {"STRIDE_A", Config<3>::STRIDE_A},
                           {"STAGE_WORDS", Config<3>::STAGE_WORDS}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
// The others differ from it in a number; the tests below try all.
TILE_TRIED_ON_MODEL("stages3")

TEST_CASE("the ring by itself is exact with fewer k-tiles than stages, as many, and more") {
  const auto exact = [](void (*launch)(const tile::Gemm&), int stages) {
    INFO(stages, " stages");
    for (const int tiles : {1, stages, 2 * stages + 1})
      CHECK(tile::first_failure(launch,
                                {{64, 96, tiles * 32, 1, 0, 3, tile::Fill::integers}}) == "");
  };
  exact(launch_small_ring<2>, 2);
  exact(launch_small_ring<3>, 3);
  exact(launch_small_ring<5>, 5);
}

TEST_CASE("fewer k-tiles than stages, as many, and more, whole and residue" *
          doctest::test_suite("thorough")) {
  for_each_config([]<class C>(const char* name, C) {
    for (const int tiles : {1, C::STAGES, 2 * C::STAGES + 1})
      for (const int more : {-1, 0, 1}) {
        const int K = tiles * C::BK + more;
        INFO(name, ", K = ", K);
        CHECK(tile::first_failure(launch_ring<C>,
                                  {{C::BM, C::BN, K, 1, 0, 0, tile::Fill::integers},
                                   {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
  });
}

TEST_CASE("the result equals that of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{256, 512, 40}, {70, 90, 101}});
}

TEST_CASE("a kernel's name says how many stages it has") {
  for_each_config([]<class C>(const std::string& name, C) {
    CHECK(name == "stages" + std::to_string(C::STAGES));
  });
}

TEST_CASE(
    "the threads compute every element of the block tile and copy every element of both tiles once") {
  using C = Config<3>;
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = tile::warp_tile_of<C>(thread);
          const auto [row, col] = tile::thread_tile_of(thread);
          for (int i = 0; i < C::ROWS; ++i)
            for (int j = 0; j < C::COLS; ++j)
              take(warpRow + row + tile::row_of(i), warpCol + col + tile::col_of(j));
        }) == "");
  CHECK(tile::covers_once(C::BM, C::BK, C::NUM_THREADS, [](int thread, auto take) {
          const auto [row, col] = copy_A_of<C>(thread);
          for (int n = 0; n < C::BM; n += C::ROWS_A) take(row + n, col);
        }) == "");
  const auto covers_B = []<int WIDTH>(std::integral_constant<int, WIDTH>) {
    return tile::covers_once(C::BK, C::BN, C::NUM_THREADS, [](int thread, auto take) {
      const auto [row, col] = copy_B_of<C, WIDTH>(thread);
      for (int n = 0; n < C::BK; n += WIDTH * C::NUM_THREADS / C::BN)
        for (int j = 0; j < WIDTH; ++j) take(row + n, col + j);
    });
  };
  CHECK(covers_B(std::integral_constant<int, 1>{}) == "");
  CHECK(covers_B(std::integral_constant<int, 4>{}) == "");
}

TEST_CASE("no two elements share a word of a stage, and float4s are aligned to 16 bytes") {
  using C = Config<3>;
  std::set<int> words;
  for (int k = 0; k < C::BK; ++k) {
    for (int row = 0; row < C::BM; ++row) words.insert(word_in_As<C>(row, k));
    for (int col = 0; col < C::BN; ++col) words.insert(word_in_Bs<C>(k, col));
    CHECK(word_in_As<C>(4, k) % 4 == 0);
    CHECK(word_in_Bs<C>(k, 4) % 4 == 0);
  }
  CHECK(words.size() == std::size_t(C::BK * (C::BM + C::BN)));
  CHECK(*words.begin() >= 0);
  CHECK(*words.rbegin() < C::STAGE_WORDS);
  CHECK(C::STAGE_WORDS % 4 == 0);
}

#if TILE_ON_MODEL
// A run of one block with this many k-tiles.
template <class C>
simt::Counts run_of(int tiles, const simt::Trace& options = {}) {
  return tile::traced_run(
      launch_ring<C>, {C::BM, C::BN, tiles * C::BK, 1, 0, 0, tile::Fill::integers}, options);
}

TEST_CASE(
    "a block passes one barrier per k-tile, and a wait leaves STAGES - 2 groups pending" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    for (const int tiles : {1, C::STAGES + 1}) {
      const auto run = run_of<C>(tiles);
      CHECK(run.barriers == std::uint64_t(tiles));
      std::vector<std::uint64_t> waits(C::STAGES - 1);
      waits.back() = std::uint64_t(tiles) * C::NUM_THREADS;
      CHECK(run.waits_for_copies == waits);
    }
  });
  const auto small =
      tile::traced_run(launch_small_ring<3>, {32, 32, 4 * 32, 1, 0, 0, tile::Fill::integers});
  CHECK(small.barriers == 4);
  CHECK(small.waits_for_copies == std::vector<std::uint64_t>{0, 4 * 1024});
}

TEST_CASE(
    "copies are STAGES - 1 k-tiles ahead, and no stage is both filled and read between two barriers" *
    doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const int tiles = 2 * C::STAGES + 1;
    const auto run = run_of<C>(tiles, {.keep_touches = true});
    REQUIRE(run.barriers == std::uint64_t(tiles));
    // of each interval between barriers: the k-tiles whose copies are started, and the slots of
    // 16 bytes of shared memory that are filled and read
    std::vector<std::set<std::int64_t>> started(tiles + 1), filled(tiles + 1), read(tiles + 1);
    for (const simt::Touch& t : run.touches) {
      if (t.array == "B") started[t.interval].insert(t.byte_offset / 4 / C::BN / C::BK);
      if (t.array != "shared") continue;
      (t.op == simt::Op::load ? read : filled)[t.interval].insert(t.byte_offset / 16);
    }
    for (int i = 0; i <= tiles; ++i) {  // k-tile i - 1 is multiplied
      CAPTURE(i);
      std::set<std::int64_t> expected;
      for (int tile = i == 0 ? 0 : i + C::STAGES - 2; tile <= i + C::STAGES - 2; ++tile)
        if (tile < tiles) expected.insert(tile);
      CHECK(started[i] == expected);
      CHECK(read[i].size() == std::size_t(i == 0 ? 0 : (C::BM + C::BN) * C::BK / 4));
      for (const std::int64_t slot : read[i]) {
        REQUIRE(slot * 4 / C::STAGE_WORDS == (i - 1) % C::STAGES);
        REQUIRE(!filled[i].contains(slot));
      }
    }
  });
}

TEST_CASE("a thread starts its copies after it has loaded the operands of two k-steps" *
          doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run = run_of<C>(C::STAGES + 1, {.keep_touches = true});
    // float4s that each thread reads between the first two barriers before its first copy
    std::vector<int> reads(C::NUM_THREADS);
    std::set<int> copying;
    for (const simt::Touch& t : run.touches) {
      if (t.interval != 1) continue;
      if (t.array == "A") copying.insert(t.thread);
      if (t.array == "shared" && t.op == simt::Op::load)
        reads[t.thread] += !copying.contains(t.thread);
    }
    CHECK(copying.size() == std::size_t(C::NUM_THREADS));
    CHECK(reads == std::vector<int>(C::NUM_THREADS, 2 * (C::ROWS + C::COLS) / 4));
  });
}

TEST_CASE("no access to a stage has a bank conflict" * doctest::test_suite("model")) {
  for_each_config([]<class C>(const char* name, C) {
    INFO(name);
    const auto run = tile::count(launch_ring<C>, {C::BM, C::BN, 32});
    for (const char* tag : {"store-As", "store-Bs"})
      CHECK(tile::bank_conflict(run, tag) == "");
    const auto per_request = [&](const char* tag) {
      return double(tile::site(run, tag).wavefronts) / double(tile::site(run, tag).requests);
    };
    CHECK(per_request("store-As") == 1);
    CHECK(per_request("store-Bs") == 4);
    CHECK(per_request("load-operands") == 2);
  });
}

TEST_CASE(
    "A takes four times as many requests per word as B, and residue tiles copy words only" *
    doctest::test_suite("model")) {
  using C = Config<3>;
  const std::uint64_t K = 4 * C::BK;
  const auto whole = tile::count(launch_ring<C>, {C::BM, C::BN, int(K)});
  CHECK(tile::site(whole, "load-A").requests == C::BM * K / 32);
  CHECK(tile::site(whole, "load-B").requests == C::BN * K / (4 * 32));
  CHECK(tile::site(whole, "load-A").sectors == 4 * tile::site(whole, "load-A").requests);
  const auto words = tile::count(launch_ring<C>, {C::BM, C::BN, int(K), 1, 0, 1});
  std::uint64_t requests = 0;  // of the copies of A and of B, which are different sites
  for (const simt::Site& site : words.sites)
    if (tile::has_tag(site, "load-word")) requests += site.requests;
  CHECK(requests == (C::BM + C::BN) * K / 32);
}
#endif
