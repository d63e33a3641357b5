// Tile by Tile, chapter 15: one thread asks for a tile.
//
// Question: in chapter 14 every thread computes addresses and starts copies of a k-tile. What
// if one thread could ask for the whole k-tile? Idea: a tensor map describes a matrix; the
// tensor memory accelerator (TMA) copies a box of it, with zeros for what is outside, and an
// mbarrier counts the bytes that have landed. TMA cannot transpose, so A is transposed first.
// Previous chapter: 14; its ring and its wait are this chapter's, with other copies.
//
// Build, run, verify:   ./tile run 15      ctest --preset model -R chapter15
#include <set>
#include <type_traits>

#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet config]
struct Tma {
  static constexpr int BM = 256, BN = 128, BK = 16;   // block tile
  static constexpr int WM = 64, WN = 64;              // warp tile
  static constexpr int STAGES = 6;                    // k-tiles in shared memory
  static constexpr int ROWS = WM / 4, COLS = WN / 8;  // accumulators of a thread
  static constexpr int NUM_THREADS = BM * BN / (ROWS * COLS);
  static constexpr int WORDS_A = BK * BM, STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr unsigned STAGE_BYTES = STAGE_WORDS * sizeof(float);
  static constexpr int SMEM_BYTES = STAGES * int(STAGE_BYTES);
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
  static_assert(BM <= 256 && BN <= 256, "a box has at most 256 elements along each side");
  static_assert(STAGE_BYTES % 128 == 0 && WORDS_A * 4 % 128 == 0,
                "a box begins at a multiple of 128 bytes of shared memory");
  static_assert(STAGES >= 2 && STAGES <= 1024 / 8,
                "a k-tile is copied while another is multiplied; a stage has an mbarrier");
  static_assert(SMEM_BYTES + 1024 <= 227 * 1024,
                "a block has at most 227 KB of shared memory");
};
// [/snippet config]

// [snippet copy]
// VECTORISED: tiles of C are whole, and its float4s are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_tma(const __grid_constant__ CUtensorMap mapA,  // K x M: A transposed
              const __grid_constant__ CUtensorMap mapB,  // K x N
              int M, int N, int K, float alpha, float beta, float* C, int ldc) {  // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  // STAGES times: BK x BM of A, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  __shared__ __align__(1024) std::uint64_t full[1024 / 8];  // STAGES are used
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int k_tiles = (K - 1) / BK + 1;

  if (threadIdx.x == 0) {
    // a phase needs one arrival: that of the thread that asks for the copies
    for (int stage = 0; stage < STAGES; ++stage) ptx::mbarrier_init(&full[stage], 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised

  int copied = 0, filled = 0;  // k-tiles that have been asked for; the stage of the next
  // Asks for the next k-tile: the stage is full when both boxes have landed.
  const auto start_copies = [&] {
    if (threadIdx.x == 0 && copied < k_tiles) {
      float *As = stages + filled * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      ptx::mbarrier_arrive_expect_tx(&full[filled], Config::STAGE_BYTES);
      ptx::cp_async_bulk_tensor(As, mapA, blockRow, copied * BK,  //@ load-A store-As
                                &full[filled]);
      ptx::cp_async_bulk_tensor(Bs, mapB, blockCol, copied * BK,  //@ load-B store-Bs
                                &full[filled]);
    }
    ++copied;
    filled = filled + 1 == STAGES ? 0 : filled + 1;
  };
  // [/snippet copy]

  // [snippet operands]
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = tile::thread_tile_of(int(threadIdx.x));
  float acc[ROWS][COLS] = {};
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  const auto load_operands = [&](int stage, int dotIdx) {
    const float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
    tile::load_operands(  //@ load-operands
        As + dotIdx * BM + warpRow + threadRow, Bs + dotIdx * BN + warpCol + threadCol,
        regM[dotIdx % 2], regN[dotIdx % 2]);
  };
  // [/snippet operands]

  // [snippet main-loop]
  for (int stage = 0; stage < STAGES - 1; ++stage) start_copies();
  int read = 0;         // the stage that operands come from
  unsigned parity = 0;  // of its phase: changes each time the ring is round
  ptx::mbarrier_wait_parity(&full[read], parity);
  load_operands(read, 0);
  // A k-tile. LAST: no other follows.
  const auto compute = [&](auto last) {
    constexpr bool LAST = decltype(last)::value;
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      if (dotIdx < BK - 1) load_operands(read, dotIdx + 1);
      if (!LAST && dotIdx == 0) start_copies();
      if (!LAST && dotIdx == BK - 1) {
        if (++read == STAGES) read = 0, parity ^= 1;
        ptx::mbarrier_wait_parity(&full[read], parity);  // the next k-tile has landed
        __syncthreads();  // all have read the stage that is filled next
        load_operands(read, 0);
      }
      tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
    }
  };
#pragma unroll 1
  for (int k_tile = 1; k_tile < k_tiles; ++k_tile) compute(std::false_type{});
  compute(std::true_type{});
  // [/snippet main-loop]

  // [snippet launch]
  tile::store_accumulators<VECTORISED>(  //@ load-C store-C
      acc, blockRow + warpRow + threadRow, blockCol + warpCol + threadCol, M, N, alpha, beta,
      C, ldc);
}

// What a launch needs besides the operands: A transposed, tensor maps.
template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        grid_(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM)),
        A_(g.M, g.K, g.A, g.lda, "A transposed"),
        B_(g.K, g.N, g.B, g.ldb, "B copied"),
        mapA_(tile::tensor_map(A_.get(), {g.K, g.M, A_.ld(), Config::BK, Config::BM})),
        mapB_(tile::tensor_map(B_.get(), {g.K, g.N, B_.ld(), Config::BK, Config::BN})) {
    tile::require_launchable(grid_);
  }

  void run() override {
    A_.run();
    B_.run();
    const bool vectorised = g_.M % Config::BM == 0 && g_.N % Config::BN == 0 &&
                            g_.ldc % 4 == 0 &&
                            reinterpret_cast<std::uintptr_t>(g_.C) % 16 == 0;
    tile::launch(vectorised ? sgemm_tma<Config, true> : sgemm_tma<Config, false>, grid_,
                 dim3(Config::NUM_THREADS), Config::SMEM_BYTES, mapA_, mapB_, g_.M, g_.N, g_.K,
                 g_.alpha, g_.beta, g_.C, g_.ldc);
  }

 private:
  tile::Gemm g_;
  dim3 grid_;
  tile::Repacked<true> A_;
  tile::Repacked<false> B_;
  CUtensorMap mapA_, mapB_;
};

void require_tma(bool available) {
  if (!available)
    throw std::runtime_error(
        "chapter 15 needs TMA, and so compute capability 9.0 and a program compiled for it");
}

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  require_tma(tile::machine::device().copies_in_bulk);
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("tma", Tma{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({.name = name,
                   .address = reinterpret_cast<const void*>(sgemm_tma<C, true>),
                   .block_threads = C::NUM_THREADS,
                   .tile = {C::BM, C::BN, C::BK, tile::Alignment::whole_C},
                   .static_shared = 1024,
                   .dynamic_shared = C::SMEM_BYTES,
                   .prepare = prepare<C>});
  });
  return all;
}

}  // namespace

TILE_CHAPTER(.number = 15, .title = "One thread asks for a tile", .kernels = kernels(),
             .counted = {512, 256, 128}, .sizes = {1024, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Tma::BM},
                           {"BN", Tma::BN},
                           {"BK", Tma::BK},
                           {"STAGES", Tma::STAGES},
                           {"ROWS", Tma::ROWS},
                           {"COLS", Tma::COLS},
                           {"NUM_THREADS", Tma::NUM_THREADS}},
             .profiled = {{"transposition", "repackILb1"}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

tile::Kernel tma() { return kernels().front(); }

TEST_CASE("fewer k-tiles than stages, as many, and more: whole and residue" *
          doctest::test_suite("thorough")) {
  for (const int k_tiles : {1, 2, 5, 6, 7, 12, 13})
    for (const int more : {-1, 0, 1}) {
      const int K = k_tiles * Tma::BK + more;
      INFO("K = ", K);
      CHECK(tile::first_failure(tma(), {{256, 128, K, 1, 0, 0, tile::Fill::integers},
                                        {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
    }
}

TEST_CASE("the result equals that of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions({tma()}, {{256, 128, 80}, {70, 90, 101}});
}

TEST_CASE("the threads compute every element of the block tile once") {
  using C = Tma;
  CHECK(tile::covers_once(C::BM, C::BN, C::NUM_THREADS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = tile::warp_tile_of<C>(thread);
          const auto [row, col] = tile::thread_tile_of(thread);
          for (int i = 0; i < C::ROWS; ++i)
            for (int j = 0; j < C::COLS; ++j)
              take(warpRow + row + tile::row_of(i), warpCol + col + tile::col_of(j));
        }) == "");
}

TEST_CASE("the two boxes fill a stage, and an mbarrier expects the bytes of both") {
  using C = Tma;
  CHECK(tile::covers_once(1, C::STAGE_WORDS, 1, [](int, auto take) {
          for (int word = 0; word < C::BK * C::BM; ++word) take(0, word);
          for (int word = 0; word < C::BK * C::BN; ++word) take(0, C::WORDS_A + word);
        }) == "");
  CHECK(C::STAGE_BYTES == 4u * C::BK * (C::BM + C::BN));
}

TEST_CASE("a matrix that TMA cannot take has no tensor map, and one line says why") {
  alignas(16) static float x[8];
  const auto map = [](const float* base, int ld, int box_cols) {
    tile::tensor_map(base, {16, 128, ld, 16, box_cols});
  };
  CHECK_NOTHROW(map(x, 128, 128));
  const std::string it = "a tensor map of 16 x 128 elements, ld ";
  CHECK_THROWS_WITH_AS(
      map(x + 1, 128, 128),
      (it + "128, in boxes of 16 x 128: it must begin at a multiple of 16 bytes").c_str(),
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(map(x, 130, 128),
                       (it + "130, in boxes of 16 x 128: the bytes of a row, ld elements, "
                             "must be a multiple of 16")
                           .c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      map(x, 128, 260),
      (it + "128, in boxes of 16 x 260: each extent of a box must be 1 to 256").c_str(),
      std::invalid_argument);
}

TEST_CASE("without TMA a product is refused, and one line says what is needed") {
  CHECK_NOTHROW(require_tma(true));
  CHECK_THROWS_WITH_AS(
      require_tma(false),
      "chapter 15 needs TMA, and so compute capability 9.0 and a program compiled for it",
      std::runtime_error);
}

#if TILE_ON_MODEL
TEST_CASE("A is transposed once per run, and B is copied only if it is misaligned" *
          doctest::test_suite("model")) {
  const auto started = [](tile::PerMatrix pads, tile::PerMatrix offsets) {
    tile::Case c{256, 128, 32};
    c.pads = pads, c.offsets = offsets;
    const tile::BoundCase bound(tma(), c);
    std::vector<const void*> functions;
    for (const simt::Counts& launch : simt::launches([&] { bound.kernel->run(); }))
      functions.push_back(launch.function);
    return functions;
  };
  const void* const transpose = reinterpret_cast<const void*>(tile::repack<true>);
  const void* const copy = reinterpret_cast<const void*>(tile::repack<false>);
  const std::vector<const void*> aligned{transpose, tma().address};
  const std::vector<const void*> misaligned{transpose, copy, tma().address};
  CHECK(started({}, {}) == aligned);
  CHECK(started({1, 4, 0}, {1, 4, 0}) == aligned);  // of A, nothing matters
  for (const int words : {1, 2, 3}) {
    CHECK(started({0, words, 0}, {}) == misaligned);
    CHECK(started({}, {0, words, 0}) == misaligned);
  }
}

TEST_CASE("one instantiation takes every K; M, N and C decide between the two" *
          doctest::test_suite("model")) {
  const auto fast = [](int M, int N, int K, int pad_of_C = 0) {
    tile::Case c{M, N, K};
    c.pads.C = pad_of_C;
    return tile::launched(tma(), c).function == tma().address;
  };
  for (const int K : {1, 13, 16, 4092}) CHECK(fast(512, 256, K));
  CHECK(!fast(508, 256, 16));
  CHECK(!fast(512, 252, 16));
  CHECK(!fast(512, 256, 16, 2));
}

TEST_CASE("a k-tile is two copies of a whole box, which read only what is inside" *
          doctest::test_suite("model")) {
  using C = Tma;
  const auto run = [](int M, int N, int K) { return tile::traced_run(tma(), {M, N, K}); };
  const int blocks = 4, k_tiles = 3;
  const simt::Counts whole = run(2 * C::BM, 2 * C::BN, k_tiles * C::BK),
                     residue = run(2 * C::BM - 40, 2 * C::BN - 24, k_tiles * C::BK - 5);
  for (const simt::Counts& counts : {whole, residue}) {
    for (const char* tag : {"load-A", "load-B", "store-As", "store-Bs"})
      CHECK(tile::site(counts, tag).requests == blocks * k_tiles);
    CHECK(tile::site(counts, "store-As").bytes() + tile::site(counts, "store-Bs").bytes() ==
          blocks * k_tiles * C::STAGE_BYTES);
  }
  const auto sectors = [](const simt::Counts& counts, const char* tag) {
    return int(tile::site(counts, tag).sectors);
  };
  const int K = k_tiles * C::BK;  // 8 elements per sector; a row of blocks reads B once more
  CHECK(sectors(whole, "load-A") == 2 * K * (2 * C::BM) / 8);
  CHECK(sectors(whole, "load-B") == 2 * K * (2 * C::BN) / 8);
  CHECK(sectors(residue, "load-A") == 2 * (K - 5) * (2 * C::BM - 40) / 8);
  CHECK(sectors(residue, "load-B") == 2 * (K - 5) * (2 * C::BN - 24) / 8);
}

TEST_CASE("between two barriers a block reads one stage, all of it, and the next one after" *
          doctest::test_suite("model")) {
  using C = Tma;
  const int k_tiles = 2 * C::STAGES + 1;
  const simt::Counts run =
      tile::traced_run(tma(), {C::BM, C::BN, k_tiles * C::BK, 1, 0, 0, tile::Fill::integers},
                       {.keep_touches = true});
  REQUIRE(run.barriers == k_tiles);  // one for the mbarriers, and one between k-tiles
  std::vector<std::set<std::int64_t>> read(k_tiles + 1);  // float4s of shared memory
  for (const simt::Touch& t : run.touches)
    if (t.array == "stages" && t.op == simt::Op::load)
      read.at(std::size_t(t.interval)).insert(t.byte_offset / 16);
  CHECK(read[0].empty());
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    CAPTURE(k_tile);
    const std::set<std::int64_t>& of_k_tile = read[std::size_t(k_tile + 1)];
    const std::int64_t first = k_tile % C::STAGES * (C::STAGE_WORDS / 4);
    CHECK(of_k_tile.size() == C::STAGE_WORDS / 4);
    CHECK(*of_k_tile.begin() == first);
    CHECK(*of_k_tile.rbegin() == first + C::STAGE_WORDS / 4 - 1);
  }
}

TEST_CASE("no load of operands has a bank conflict" * doctest::test_suite("model")) {
  CHECK(tile::bank_conflict(tile::count(tma(), {512, 256, 64}), "load-operands") == "");
}
#endif
