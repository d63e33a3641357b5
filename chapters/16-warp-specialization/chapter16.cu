// Tile by Tile, chapter 16: producers and consumers.
//
// Question: in chapter 15 all warps meet at a barrier for each k-tile, so that one thread can ask
// for the next. Must those that multiply wait for each other? Idea: warp specialization. A
// producer warp asks for k-tiles and waits for stages to be empty; consumer warps wait for
// stages to be full and multiply. setmaxnreg moves the producers' registers to the consumers.
// Previous chapter: 15.
//
// Build, run, verify:   ./tile run 16      ctest --preset model -R chapter16
#include <algorithm>
#include <random>
#include <type_traits>

#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/thread_tile.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet config]
// REALLOCATED: the consumers get the registers that the producers release.
template <bool REALLOCATED_>
struct Config {
  static constexpr bool REALLOCATED = REALLOCATED_;
  static constexpr int BM = 256, BN = 128, BK = 16;          // block tile
  static constexpr int WM = 64, WN = 64;                     // warp tile
  static constexpr int STAGES = 6;                           // k-tiles in shared memory
  static constexpr int ROWS = WM / 4, COLS = WN / 8;         // accumulators of a thread
  static constexpr int CONSUMERS = BM * BN / (ROWS * COLS);  // threads
  static constexpr int PRODUCERS = 128;  // threads: registers move in groups of four warps
  static constexpr int NUM_THREADS = CONSUMERS + PRODUCERS;
  // registers of each thread: at launch, and after setmaxnreg
  static constexpr int LAUNCH_REGISTERS = 64 * 1024 / NUM_THREADS / 8 * 8;
  static constexpr int CONSUMER_REGISTERS = 240, PRODUCER_REGISTERS = 24;
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
  static_assert(STAGES >= 2 && STAGES <= 64, "a k-tile is copied while another is multiplied");
  static_assert(CONSUMERS % 128 == 0 && PRODUCERS % 128 == 0,
                "four warps change their registers together: setmaxnreg would wait forever");
  static_assert(
      CONSUMERS * CONSUMER_REGISTERS + PRODUCERS * PRODUCER_REGISTERS <=
          NUM_THREADS * LAUNCH_REGISTERS,
      "a block has the registers it was launched with: setmaxnreg would wait forever");
  static_assert(SMEM_BYTES + 1024 <= 227 * 1024,
                "a block has at most 227 KB of shared memory");
};
using Specialized = Config<true>;      // the chapter's kernel
using EqualRegisters = Config<false>;  // the same without setmaxnreg
// [/snippet config]

// [snippet signature]
// VECTORISED: tiles of C are whole, and its float4s are aligned to 16 bytes.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, 1)
    sgemm_specialized(const __grid_constant__ CUtensorMap mapA,  // K x M: A transposed
                      const __grid_constant__ CUtensorMap mapB,  // K x N
                      int M, int N, int K, float alpha, float beta, float* C, int ldc) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, ROWS = Config::ROWS,
                COLS = Config::COLS, STAGES = Config::STAGES;
  // STAGES times: BK x BM of A, then BK x BN of B
  extern __shared__ __align__(1024) float stages[];
  // of each stage; both arrays together have 1 KB, so that the stages are aligned to it
  __shared__ std::uint64_t full[64], empty[64];
  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const int k_tiles = (K - 1) / BK + 1;
  // [/snippet signature]

  // [snippet barriers]
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(&full[stage], 1);  // the producer, and the bytes it expects
      ptx::mbarrier_init(&empty[stage], Config::CONSUMERS / 32);  // each consumer warp
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the mbarriers are initialised
  // [/snippet barriers]

  // [snippet producer]
  if (threadIdx.x >= Config::CONSUMERS) {
    if constexpr (Config::REALLOCATED) ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
    if (threadIdx.x > Config::CONSUMERS) return;  // one thread is enough
    int stage = 0;
    // of the phase before the first, which counts as complete: at first all stages are empty
    unsigned parity = 1;
#pragma unroll 1
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      ptx::mbarrier_wait_parity(&empty[stage], parity);
      ptx::mbarrier_arrive_expect_tx(&full[stage], Config::STAGE_BYTES);
      float *As = stages + stage * Config::STAGE_WORDS, *Bs = As + Config::WORDS_A;
      ptx::cp_async_bulk_tensor(As, mapA, blockRow, k_tile * BK,  //@ load-A store-As
                                &full[stage]);
      ptx::cp_async_bulk_tensor(Bs, mapB, blockCol, k_tile * BK,  //@ load-B store-Bs
                                &full[stage]);
      if (++stage == STAGES) stage = 0, parity ^= 1;
    }
    return;
  }
  // [/snippet producer]

  // [snippet operands]
  if constexpr (Config::REALLOCATED) ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
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
      if (!LAST && dotIdx == BK - 1) {
        std::uint64_t* const used = &empty[read];
        if (++read == STAGES) read = 0, parity ^= 1;
        ptx::mbarrier_wait_parity(&full[read], parity);  // the next k-tile has landed
        __syncwarp();  // all lanes have loaded their last operands of the stage used
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(used);
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
    tile::launch(
        vectorised ? sgemm_specialized<Config, true> : sgemm_specialized<Config, false>, grid_,
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

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error(
        "chapter 16 needs TMA, and so compute capability 9.0 and a program compiled for it");
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("specialized", Specialized{});
  f("equal_registers", EqualRegisters{});
}

std::vector<tile::Kernel> kernels() {
  std::vector<tile::Kernel> all;
  for_each_config([&]<class C>(const char* name, C) {
    all.push_back({.name = name,
                   .address = reinterpret_cast<const void*>(sgemm_specialized<C, true>),
                   .block_threads = C::NUM_THREADS,
                   .tile = {C::BM, C::BN, C::BK, tile::Alignment::whole_C},
                   .static_shared = 1024,
                   .dynamic_shared = C::SMEM_BYTES,
                   .prepare = prepare<C>});
  });
  return all;
}

// [snippet use]
// Where a k-tile goes, and the parities of the phases that its producer and its consumers wait
// for. The kernel counts stage and parity up instead.
struct Use {
  int stage, phase;
  unsigned empty_parity, full_parity;
};
constexpr Use use_of(int k_tile, int stages) {
  const int phase = k_tile / stages;
  // empty: the phase before, in which the stage's last k-tile was released
  return {k_tile % stages, phase, unsigned(phase + 1) % 2, unsigned(phase) % 2};
}
// [/snippet use]

void predict(tile::Facts& facts) {
  for (const int k_tile : {0, 1, 5, 6, 7, 12}) {
    const Use use = use_of(k_tile, Specialized::STAGES);
    const std::string name = "phase." + std::to_string(k_tile) + ".";
    facts.predicted(name + "stage", use.stage);
    facts.predicted(name + "number", use.phase);
    facts.predicted(name + "empty_parity", int(use.empty_parity));
    facts.predicted(name + "full_parity", int(use.full_parity));
  }
}

}  // namespace

TILE_CHAPTER(.number = 16, .title = "Producers and consumers", .kernels = kernels(),
             .counted = {512, 256, 128}, .sizes = {1024, 1536, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Specialized::BM},
                           {"BN", Specialized::BN},
                           {"BK", Specialized::BK},
                           {"STAGES", Specialized::STAGES},
                           {"ROWS", Specialized::ROWS},
                           {"COLS", Specialized::COLS},
                           {"CONSUMERS", Specialized::CONSUMERS},
                           {"PRODUCERS", Specialized::PRODUCERS},
                           {"NUM_THREADS", Specialized::NUM_THREADS},
                           {"LAUNCH_REGISTERS", Specialized::LAUNCH_REGISTERS},
                           {"CONSUMER_REGISTERS", Specialized::CONSUMER_REGISTERS},
                           {"PRODUCER_REGISTERS", Specialized::PRODUCER_REGISTERS},
                           {"STAGE_BYTES", Specialized::STAGE_BYTES}},
             .predict = predict, .baseline = tile::Baseline::stronger)

TILE_TRIED_ON_MODEL("specialized")
TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("fewer k-tiles than stages, as many, and more: whole and residue" *
          doctest::test_suite("thorough")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    for (const int k_tiles : {1, 2, 5, 6, 7, 12, 13})
      for (const int more : {-1, 0, 1}) {
        const int K = k_tiles * kernel.tile.BK + more;
        INFO(kernel.name, ", K = ", K);
        CHECK(tile::first_failure(kernel, {{256, 128, K, 1, 0, 0, tile::Fill::integers},
                                           {70, 31, K, 1, 2, 1, tile::Fill::integers}}) == "");
      }
}

TEST_CASE("the result equals that of chapter 05's order of additions bit for bit" *
          doctest::test_suite("thorough")) {
  tile::test_order_of_additions(tile::this_chapter().kernels, {{256, 128, 80}, {70, 90, 101}});
}

// An mbarrier that expects no bytes.
struct Mbarrier {
  int count, missing = count, phase = 0;
  bool is_over(unsigned parity) const { return phase % 2 != int(parity); }
  void arrive() {
    if (--missing == 0) missing = count, ++phase;
  }
};

// Runs a producer, copies and consumers step by step, in an order that the seed chooses, with
// the kernel's rule for stages and parities. `wrong` says what went wrong, `apart` how many
// k-tiles the fastest consumer was ahead of the slowest.
struct Simulated {
  std::string wrong{};
  int apart = 0;
};
Simulated simulate(int stages, int k_tiles, unsigned parity_of_producer, unsigned seed) {
  struct Actor {
    int k_tile = 0, stage = 0;  // that it waits for
    unsigned parity = 0;
    void next(int of) {
      ++k_tile;
      if (++stage == of) stage = 0, parity ^= 1;
    }
  };
  std::vector<Actor> consumers(Specialized::CONSUMERS / 32);
  std::vector<Mbarrier> full(stages, {1}), empty(stages, {int(consumers.size())});
  std::vector<int> landed(stages, -1), in_flight;
  Actor producer{0, 0, parity_of_producer};
  const auto slowest = [&] { return std::ranges::min(consumers, {}, &Actor::k_tile).k_tile; };
  Simulated result;
  std::mt19937 random(seed);
  for (int idle = 0; slowest() < k_tiles; ++idle) {
    if (idle == 10000) return {"stuck"};
    const std::size_t who = random() % (consumers.size() + 2);
    if (who < consumers.size()) {
      Actor& consumer = consumers[who];
      const Use use = use_of(consumer.k_tile, stages);
      if (consumer.k_tile == k_tiles || !full[consumer.stage].is_over(consumer.parity))
        continue;
      if (use.stage != consumer.stage || use.full_parity != consumer.parity)
        return {"another stage or parity for a consumer"};
      if (landed[use.stage] != consumer.k_tile) return {"a k-tile was read, but not landed"};
      // it releases the k-tile before, whose last operands it has loaded
      if (consumer.k_tile > 0) empty[use_of(consumer.k_tile - 1, stages).stage].arrive();
      consumer.next(stages);
      if (slowest() > 0)  // all have begun
        result.apart = std::max(result.apart, consumer.k_tile - slowest());
    } else if (who == consumers.size()) {
      const Use use = use_of(producer.k_tile, stages);
      if (producer.k_tile == k_tiles || !empty[producer.stage].is_over(producer.parity))
        continue;
      if (use.stage != producer.stage || use.empty_parity != producer.parity)
        return {"another stage or parity for the producer"};
      // a consumer that waits for a k-tile still reads the one before
      if (slowest() - 1 <= producer.k_tile - stages && producer.k_tile >= stages)
        return {"a stage was filled while it was read"};
      in_flight.push_back(producer.k_tile);
      producer.next(stages);
    } else {
      if (in_flight.empty()) continue;
      const std::size_t n = random() % in_flight.size();  // copies land in any order
      const int stage = use_of(in_flight[n], stages).stage;
      landed[stage] = in_flight[n];
      full[stage].arrive();
      in_flight.erase(in_flight.begin() + std::ptrdiff_t(n));
    }
    idle = 0;
  }
  return result;
}

TEST_CASE("a wait for a parity is a wait for the phase, in whatever order warps proceed") {
  for (const int stages : {2, 3, Specialized::STAGES})
    for (const int k_tiles : {1, 2, 5, 6, 7, 12, 13, 40}) {
      int apart = 0;
      for (unsigned seed = 0; seed < 50; ++seed) {
        CAPTURE(stages);
        CAPTURE(k_tiles);
        CAPTURE(seed);
        const Simulated run = simulate(stages, k_tiles, 1, seed);
        REQUIRE(run.wrong == "");
        apart = std::max(apart, run.apart);
      }
      CHECK(apart <= stages - 1);
    }
  CHECK(simulate(Specialized::STAGES, 7, 0, 0).wrong == "stuck");  // no phase 0 is over
  CHECK(simulate(1, 2, 1, 0).wrong == "stuck");  // a stage is released when the next is full
}

TEST_CASE("registers of all warps fit an SM, and those of a scheduler's warps its quarter") {
  using C = Specialized;
  const int quarter = 64 * 1024 / 4;
  int launched[4] = {}, reallocated[4] = {}, of_nine_warps[4] = {};
  for (int warp = 0; warp < C::NUM_THREADS / 32; ++warp) {
    const bool consumes = warp < C::CONSUMERS / 32;
    launched[warp % 4] += 32 * C::LAUNCH_REGISTERS;
    reallocated[warp % 4] += 32 * (consumes ? C::CONSUMER_REGISTERS : C::PRODUCER_REGISTERS);
    of_nine_warps[warp % 4] += warp < 9;
  }
  for (int scheduler = 0; scheduler < 4; ++scheduler) {
    CHECK(launched[scheduler] <= quarter);
    CHECK(launched[scheduler] + 4 * 32 * 8 > quarter);  // 8 more would not fit
    CHECK(reallocated[scheduler] == launched[scheduler]);
  }
  CHECK(*std::ranges::max_element(of_nine_warps) == 3);
  CHECK(quarter / 3 / 32 / 8 * 8 == C::LAUNCH_REGISTERS);  // so nine warps gain none
  // accumulators and two sets of operands alone
  const int needed = C::ROWS * C::COLS + 2 * (C::ROWS + C::COLS);
  CHECK(needed > C::LAUNCH_REGISTERS);
  CHECK(needed < C::CONSUMER_REGISTERS);
}

TEST_CASE("the consumers compute every element of the block tile once") {
  using C = Specialized;
  CHECK(tile::covers_once(C::BM, C::BN, C::CONSUMERS, [](int thread, auto take) {
          const auto [warpRow, warpCol] = tile::warp_tile_of<C>(thread);
          const auto [row, col] = tile::thread_tile_of(thread);
          for (int i = 0; i < C::ROWS; ++i)
            for (int j = 0; j < C::COLS; ++j)
              take(warpRow + row + tile::row_of(i), warpCol + col + tile::col_of(j));
        }) == "");
}

#if TILE_ON_MODEL
TEST_CASE("stages are used in turn, and filled again only when all warps have read them" *
          doctest::test_suite("model")) {
  using C = Specialized;
  const int k_tiles = 2 * C::STAGES + 1;
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const simt::Counts run = tile::traced_run(
        kernel, {C::BM, C::BN, k_tiles * C::BK, 1, 2, 0, tile::Fill::integers},
        {.keep_touches = true});
    CHECK(run.barriers == 1);  // in front of the main loop; none in it
    for (const char* copies : {"store-As", "store-Bs"})
      CHECK(tile::site(run, copies).requests == k_tiles);
    std::vector<std::int64_t> read(C::STAGES);  // bytes
    for (const simt::Touch& t : run.touches) {
      if (t.array != "stages") continue;
      REQUIRE(t.thread < C::CONSUMERS);
      read.at(std::size_t(t.byte_offset / C::STAGE_BYTES)) += t.width;
    }
    for (int stage = 0; stage < C::STAGES; ++stage) {
      CAPTURE(stage);
      const int uses = (k_tiles - 1 - stage) / C::STAGES + 1;
      CHECK(read[std::size_t(stage)] ==
            uses * std::int64_t(4 * C::BK * (C::ROWS + C::COLS) * C::CONSUMERS));
    }
  }
}

TEST_CASE("no load of operands has a bank conflict" * doctest::test_suite("model")) {
  for (const tile::Kernel& kernel : tile::this_chapter().kernels)
    CHECK(tile::bank_conflict(tile::count(kernel, {512, 256, 64}), "load-operands") == "");
}
#endif
