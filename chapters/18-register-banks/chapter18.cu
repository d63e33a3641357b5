// Tile by Tile, chapter 18: two banks of registers, and past cuBLAS.
//
// Question: at 4096 chapter 17's kernel is slower than chapter 16's, whose main loop has the same
// FFMA and loads. Which registers do they read? Idea: an FFMA should read one register from each
// of the two banks. It does if accumulators lie in registers of the other parity than the
// operands of B, and storing the words of partials in another order is enough for that.
// Previous chapter: 17; only the order of these words is new.
//
// Build, run, verify:   ./tile run 18      ctest --preset model -R chapter18
#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet config]
template <bool SWAPPED_>
struct Config {
  static constexpr bool SWAPPED = SWAPPED_;          // the words of partials, pair by pair
  static constexpr int BM = 256, BN = 128, BK = 16;  // block tile
  static constexpr int WM = 64, WN = 64;             // warp tile
  static constexpr int STAGES = 6;                   // k-tiles in shared memory
  static constexpr int GROUP_ROWS = 8;               // rows of block tiles in a raster group
  // stream-K: splits of a block tile, on average; k-tiles of a work unit
  static constexpr int MAX_SPLITS = 8, MIN_K_TILES = 8;
  static constexpr int ROWS = WM / 4, COLS = WN / 8;         // accumulators of a thread
  static constexpr int CONSUMERS = BM * BN / (ROWS * COLS);  // threads
  static constexpr int PRODUCERS = 128;
  static constexpr int NUM_THREADS = CONSUMERS + PRODUCERS;
  static constexpr int CONSUMER_REGISTERS = 240, PRODUCER_REGISTERS = 24;
  static constexpr int WORDS_A = BK * BM, STAGE_WORDS = WORDS_A + BK * BN;
  static constexpr unsigned STAGE_BYTES = STAGE_WORDS * sizeof(float);
  static constexpr int SMEM_BYTES = STAGES * int(STAGE_BYTES);
  // registers of each thread at launch
  static constexpr int LAUNCH_REGISTERS = 64 * 1024 / NUM_THREADS / 8 * 8;
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp tile must not cross the edge of the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0,
                "32 threads of 4 x 4 elements must cover a warp subtile of 16 x 32");
  static_assert(BK % 2 == 0, "a k-tile must begin with the first set of operands again");
  static_assert(BM <= 256 && BN <= 256, "a box has at most 256 elements along each side");
  static_assert(STAGE_BYTES % 128 == 0 && WORDS_A * 4 % 128 == 0,
                "a box begins at a multiple of 128 bytes of shared memory");
  static_assert(STAGES >= 2 && STAGES <= 64, "a k-tile is copied while another is multiplied");
  static_assert(CONSUMERS % 128 == 0 && PRODUCERS % 128 == 0,
                "four warps change their registers together: setmaxnreg would wait forever");
  static_assert(
      CONSUMERS * CONSUMER_REGISTERS + PRODUCERS * PRODUCER_REGISTERS <=
          NUM_THREADS * LAUNCH_REGISTERS,
      "a block has the registers it was launched with: setmaxnreg would wait forever");
  static_assert(SMEM_BYTES + 1024 <= 227 * 1024,
                "a block has at most 227 KB of shared memory");
  static_assert(GROUP_ROWS >= 1, "a raster group has a row of block tiles");
  static_assert(
      MAX_SPLITS >= 1 && MIN_K_TILES >= 1,
      "a work unit has a k-tile: a block without work would read past the last tile");
};
using Straight = Config<false>;
using Swapped = Config<true>;  // the chapter's kernel
// [/snippet config]

// [snippet signature]
// VECTORISED: tiles of C are whole, and its float4s are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_persistent(const __grid_constant__ CUtensorMap mapA,  // K x M: A transposed
                     const __grid_constant__ CUtensorMap mapB,  // K x N
                     const __grid_constant__ tile::TileScheduler scheduler,
                     const __grid_constant__ tile::Fixup fixup,  //
                     int M, int N, float alpha, float beta, float* C, int ldc) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  constexpr int CONSUMERS = Config::CONSUMERS;
  constexpr bool SWAPPED = Config::SWAPPED;
  // STAGES times: BK x BM of A, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  // of each stage; both arrays together have 1 KB, so that the stages are aligned to it
  __shared__ std::uint64_t full[64], empty[64];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(&full[stage], 1);
      ptx::mbarrier_init(&empty[stage], CONSUMERS / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised
  // [/snippet signature]

  // [snippet producer]
  if (threadIdx.x >= CONSUMERS) {
    ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
    if (threadIdx.x > CONSUMERS) return;
    int stage = 0;
    unsigned parity = 1;  // all stages are empty
    const auto copy = [&](tile::Position tile, int k_tile) {
      ptx::mbarrier_wait_parity(&empty[stage], parity);
      ptx::mbarrier_arrive_expect_tx(&full[stage], Config::STAGE_BYTES);
      float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      ptx::cp_async_bulk_tensor(As, mapA, tile.row * BM, k_tile * BK,  //@ load-A store-As
                                &full[stage]);
      ptx::cp_async_bulk_tensor(Bs, mapB, tile.col * BN, k_tile * BK,  //@ load-B store-Bs
                                &full[stage]);
      if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    tile::WorkTileIterator work(scheduler, int(blockIdx.x));
    tile::Position tile{};
    while (work.next(scheduler)) {
      tile = scheduler.position_of(work.tile);
#pragma unroll 1
      for (int k_tile = work.k_begin; k_tile < work.k_end; ++k_tile) copy(tile, k_tile);
    }
    // consumers load operands one k-step ahead: after the last k-tile, of one never multiplied
    copy(tile, 0);
    return;
  }
  // [/snippet producer]

  // [snippet operands]
  ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
  const auto [warpRow, warpCol] = tile::warp_tile_of<Config>(int(threadIdx.x));
  const auto [threadRow, threadCol] = tile::thread_tile_of(int(threadIdx.x));
  float acc[ROWS][COLS];
  float regM[2][ROWS], regN[2][COLS];  // operands of a k-step and of the next (chapter 13)
  const char* const firstA = reinterpret_cast<const char*>(stages + warpRow + threadRow);
  const char* const firstB =
      reinterpret_cast<const char*>(stages + Config::WORDS_A + warpCol + threadCol);
  // Loads the operands of a k-step from the stage at this offset, in bytes.
  const auto load_operands = [&](int offset, int dotIdx) {
    tile::load_operands(  //@ load-operands
        reinterpret_cast<const float*>(firstA + offset) + dotIdx * BM,
        reinterpret_cast<const float*>(firstB + offset) + dotIdx * BN, regM[dotIdx % 2],
        regN[dotIdx % 2]);
  };
  // [/snippet operands]

  // [snippet main-loop]
  int offset = 0;                               // of the stage, in bytes
  std::uint64_t *landed = full, *read = empty;  // its mbarriers
  unsigned parity = 0;
  // Waits until the next stage is full, then releases this one.
  const auto next_stage = [&] {
    std::uint64_t* const used = read;
    ++landed, ++read, offset += int(Config::STAGE_BYTES);
    const bool wraps = landed == full + STAGES;
    if (wraps) landed = full, read = empty, offset = 0;
    parity ^= unsigned(wraps);
    ptx::mbarrier_wait_parity(landed, parity);
    __syncwarp();  // all lanes have loaded their last operands of the stage
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(used);
  };
  ptx::mbarrier_wait_parity(landed, parity);
  load_operands(0, 0);
  tile::WorkTileIterator work(scheduler, int(blockIdx.x));
#pragma unroll 1
  while (work.next(scheduler)) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLS; ++j) acc[i][j] = 0.0f;
#pragma unroll 1
    for (int k_tile = work.k_begin; k_tile < work.k_end; ++k_tile) {
#pragma unroll
      for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
        if (dotIdx == BK - 1) next_stage();
        load_operands(offset, (dotIdx + 1) % BK);
        tile::multiply(acc, regM[dotIdx % 2], regN[dotIdx % 2]);
      }
    }
    // [/snippet main-loop]

    // [snippet fixup]
    if (work.k_begin > 0) {  // the block that begins this block tile stores it
      tile::store_partials<CONSUMERS, SWAPPED>(acc, fixup);  //@ store-partials
      continue;
    }
    const int end = (work.tile + 1) * scheduler.k_tiles;
    if (work.k_end < scheduler.k_tiles)
      for (int n = scheduler.unit_of(int(blockIdx.x)) + 1; scheduler.begin_of(n) < end; ++n)
        tile::add_partials<CONSUMERS, SWAPPED>(  //@ load-partials wait-ready
            acc, fixup, scheduler.block_of(n));
    const tile::Position tile = scheduler.position_of(work.tile);
    tile::store_accumulators<VECTORISED>(  //@ load-C store-C
        acc, tile.row * BM + warpRow + threadRow, tile.col * BN + warpCol + threadCol, M, N,
        alpha, beta, C, ldc);
    if constexpr (!VECTORISED) __syncwarp();  // reconverge the warp after predicated stores
  }
  // [/snippet fixup]
}

// [snippet launch]
// What a launch needs besides the operands: A transposed, tensor maps, the scheduler, and room
// for partials.
template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        scheduler_(tile::stream_k<Config>(g.M, g.N, g.K, tile::machine::device().sms)),
        A_(g.M, g.K, g.A, g.lda, "A transposed"),
        B_(g.K, g.N, g.B, g.ldb, "B copied"),
        partials_(slots(), Config::BM * Config::BN / 4, "partials"),
        ready_(1, slots(), "ready"),
        mapA_(tile::tensor_map(A_.get(), {g.K, g.M, A_.ld(), Config::BK, Config::BM})),
        mapB_(tile::tensor_map(B_.get(), {g.K, g.N, B_.ld(), Config::BK, Config::BN})) {
    const std::vector<int> none(slots());
    if (!none.empty())
      tile::machine::copy_to_device(ready_.get(), none.data(), none.size() * sizeof(int));
  }

  void run() override {
    A_.run();
    B_.run();
    const bool vectorised = g_.M % Config::BM == 0 && g_.N % Config::BN == 0 &&
                            g_.ldc % 4 == 0 &&
                            reinterpret_cast<std::uintptr_t>(g_.C) % 16 == 0;
    tile::launch(vectorised ? sgemm_persistent<Config, true> : sgemm_persistent<Config, false>,
                 dim3(unsigned(scheduler_.blocks)), dim3(Config::NUM_THREADS),
                 Config::SMEM_BYTES, mapA_, mapB_, scheduler_,
                 tile::Fixup{partials_.get(), ready_.get()}, g_.M, g_.N, g_.alpha, g_.beta,
                 g_.C, g_.ldc);
  }

 private:
  std::size_t slots() const {
    return scheduler_.split_tiles > 0 ? std::size_t(scheduler_.blocks) : 0;
  }

  tile::Gemm g_;
  tile::TileScheduler scheduler_;
  tile::Repacked<true> A_;
  tile::Repacked<false> B_;
  tile::DeviceMatrix<float4> partials_;
  tile::DeviceMatrix<int> ready_;
  CUtensorMap mapA_, mapB_;
};

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error(
        "chapter 18 needs TMA, and so compute capability 9.0 and a program compiled for it");
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]
#ifdef TILE_KERNELS_ONLY  // chapter 19 needs no more
}  // namespace
#else

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("straight", Straight{});
  f("swapped", Swapped{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({.name = name,
                   .address = reinterpret_cast<const void*>(sgemm_persistent<C, true>),
                   .block_threads = C::NUM_THREADS,
                   .tile = {C::BM, C::BN, C::BK, tile::Alignment::whole_C},
                   .static_shared = 1024,
                   .dynamic_shared = C::SMEM_BYTES,
                   .prepare = prepare<C>,
                   .takes_any_extent = true});
  });
  return all;
}

// The cycles in which a warp can issue the FFMA of a k-tile, in the order of the source. Each bank
// delivers one register per cycle and may be one register behind. Operands and accumulators lie
// in four consecutive registers each, as float4s do, and an operand that the FFMA before has as
// well is not read again.
template <class C>
int issue_cycles() {
  int even = 0, odd = 0, cycles = 0;  // registers that the banks have yet to deliver
  const auto read = [&](int number) { ++(number % 2 == 0 ? even : odd); };
  for (int k_tile = 0; k_tile < 2; ++k_tile) {  // the second begins as the first ended
    cycles = 0;
    for (int dotIdx = 0; dotIdx < C::BK; ++dotIdx)
      for (int i = 0, j_before = -1; i < C::ROWS; ++i)
        for (int n = 0; n < C::COLS; ++n) {
          const int j = i % 2 == 0 ? n : C::COLS - 1 - n;
          read(tile::word_of<C::SWAPPED>(j % 4));  // of a float4 of accumulators
          if (n == 0) read(i % 4);                 // of a float4 of A
          if (j != j_before) read(j % 4);          // of a float4 of B
          j_before = j;
          do {
            ++cycles;
            even = std::max(even - 1, 0), odd = std::max(odd - 1, 0);
          } while (std::max(even, odd) > 1);
        }
  }
  return cycles;
}

void predict(tile::Facts& facts) {
  for_each_config([&]<class C>(const std::string& name, C) {
    facts.predicted(name + ".issue_cycles", issue_cycles<C>());
  });
}

}  // namespace

TILE_CHAPTER(.number = 18, .title = "Two banks of registers, and past cuBLAS",
             .kernels = kernels(), .counted = {512, 256, 128},
             .sizes = {1024, 1536, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Swapped::BM},
                           {"BN", Swapped::BN},
                           {"BK", Swapped::BK},
                           {"STAGES", Swapped::STAGES},
                           {"ROWS", Swapped::ROWS},
                           {"COLS", Swapped::COLS},
                           {"CONSUMERS", Swapped::CONSUMERS},
                           {"NUM_THREADS", Swapped::NUM_THREADS}},
             .predict = predict, .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("word_of permutes four words, and swapped it changes the parity of each") {
  CHECK(tile::covers_once(2, 4, 1, [](int, auto take) {
          for (int n = 0; n < 4; ++n)
            take(0, tile::word_of<false>(n)), take(1, tile::word_of<true>(n));
        }) == "");
  for (int n = 0; n < 4; ++n) {
    CHECK(tile::word_of<false>(n) == n);
    CHECK(tile::word_of<true>(n) % 2 != n % 2);
    CHECK(tile::word_of<true>(n) / 2 == n / 2);  // it stays in its pair
  }
}

TEST_CASE("the kernels differ in the order of words alone, each as its name says") {
  CHECK(!Straight::SWAPPED);
  CHECK(Swapped::SWAPPED);
  CHECK(tile::this_chapter().kernels[0].address ==
        reinterpret_cast<const void*>(sgemm_persistent<Straight, true>));
  CHECK(tile::this_chapter().kernels[1].address ==
        reinterpret_cast<const void*>(sgemm_persistent<Swapped, true>));
}

TEST_CASE("swapped, an FFMA reads one register of each bank; straight, a turn costs a cycle") {
  using C = Swapped;
  const int ffma = C::ROWS * C::COLS * C::BK;
  // the first FFMA of a k-step reads three registers
  CHECK(issue_cycles<Swapped>() == ffma + C::BK);
  CHECK(issue_cycles<Straight>() == ffma + C::BK + C::ROWS * C::BK);
}

// Stores numbered accumulators as partials, and adds them to what is left of other ones.
template <bool SWAPPED>
__global__ void __launch_bounds__(Swapped::CONSUMERS)
    store_and_add(const __grid_constant__ tile::Fixup fixup, float* added) {
  constexpr int ROWS = Swapped::ROWS, COLS = Swapped::COLS, THREADS = Swapped::CONSUMERS;
  const int thread = int(blockIdx.x) * THREADS + int(threadIdx.x);
  float acc[ROWS][COLS];
  for (int n = 0; n < ROWS * COLS; ++n)
    acc[n / COLS][n % COLS] = float(thread * ROWS * COLS + n);
  tile::store_partials<THREADS, SWAPPED>(acc, fixup);
  for (int n = 0; n < ROWS * COLS; ++n) acc[n / COLS][n % COLS] = 0.5f;
  tile::add_partials<THREADS, SWAPPED>(acc, fixup, int(blockIdx.x));
  for (int n = 0; n < ROWS * COLS; ++n)
    added[thread * ROWS * COLS + n] = acc[n / COLS][n % COLS];
}

TEST_CASE("partials return to their accumulators, and lie in the order of word_of") {
  constexpr int BLOCKS = 2, THREADS = Swapped::CONSUMERS,
                PER_THREAD = Swapped::ROWS * Swapped::COLS,
                ALL = BLOCKS * THREADS * PER_THREAD;
  const auto check = [&](auto store_and_add, auto word_of) {
    const tile::DeviceMatrix<float> added(1, ALL, "added");
    const tile::DeviceMatrix<float4> partials(1, ALL / 4, "partials");
    const tile::DeviceMatrix<int> ready(1, BLOCKS, "ready");
    std::vector<int> flags(BLOCKS);
    tile::machine::copy_to_device(ready.get(), flags.data(), BLOCKS * sizeof(int));
    tile::launch(store_and_add, dim3(BLOCKS), dim3(THREADS), 0,
                 tile::Fixup{partials.get(), ready.get()}, added.get());
    std::vector<float> result(ALL), words(ALL);
    tile::machine::copy_to_host(result.data(), added.get(), ALL * sizeof(float));
    tile::machine::copy_to_host(words.data(), partials.get(), ALL * sizeof(float));
    tile::machine::copy_to_host(flags.data(), ready.get(), BLOCKS * sizeof(int));
    CHECK(flags == std::vector<int>(BLOCKS));
    for (int n = 0; n < ALL; ++n) {
      REQUIRE(result[std::size_t(n)] == float(n) + 0.5f);
      // float4s of a block: the first of each thread, then the second of each
      const int four = n / 4, word = n % 4, of_block = four % (THREADS * PER_THREAD / 4);
      const int thread = four / (THREADS * PER_THREAD / 4) * THREADS + of_block % THREADS;
      REQUIRE(words[std::size_t(n)] ==
              float(thread * PER_THREAD + of_block / THREADS * 4 + word_of(word)));
    }
  };
  check(store_and_add<false>, tile::word_of<false>);
  check(store_and_add<true>, tile::word_of<true>);
}

TEST_CASE("block tiles that two, three and four blocks share are exact") {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    CHECK(tile::first_failure(kernel, {{256, 128, 256, 1, 2, 0, tile::Fill::integers},
                                       {256, 384, 176, 1, 2, 0, tile::Fill::integers},
                                       {255, 129, 401, 1, 2, 1, tile::Fill::integers}}) == "");
}

TEST_CASE("both kernels compute the same bits, whether block tiles are split or whole") {
  for (const tile::Case& c : {tile::Case{256, 256, 240}, {512, 256, 96}, {70, 200, 501}}) {
    INFO(tile::describe(c));
    std::vector<std::vector<float>> results;
    for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
      const tile::BoundCase bound(kernel, c);
      bound.kernel->run();
      results.push_back(bound.operands.download_C());
    }
    CHECK(results[0] == results[1]);
  }
}

#if TILE_ON_MODEL
TEST_CASE("each block copies the k-tiles of its work, and one more" *
          doctest::test_suite("model")) {
  using C = Swapped;
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    // two block tiles of 15 k-tiles for three blocks
    const simt::Counts run = tile::traced_run(kernel, {C::BM, 2 * C::BN, 15 * C::BK});
    CHECK(run.grid.x == 3);
    CHECK(run.block.x == C::NUM_THREADS);
    CHECK(tile::site(run, "load-A").requests == 2 * 15 + 3);
    CHECK(tile::site(run, "load-B").requests == 2 * 15 + 3);
    // a thread's operands of 16 k-steps of each k-tile, and of one k-step before the first
    CHECK(tile::site(run, "load-operands").requests ==
          (2 * 15 * C::BK + 3) * (C::ROWS + C::COLS) / 4 * C::CONSUMERS / 32);
  }
}

TEST_CASE("no load of operands has a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    CHECK(tile::bank_conflict(tile::count(kernel, {256, 128, 32}), "load-operands") == "");
  }
}
#endif
#endif
