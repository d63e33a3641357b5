// Tile by Tile, chapter 17: no SM left over.
//
// Question: the block tiles of C rarely fill the last wave, and a small C has fewer tiles than
// the GPU has SMs. Can all SMs work all the time? Idea: persistent blocks, one per SM, that loop
// over work tiles. What does not fill a wave is split along K (stream-K); the block that begins
// such a block tile adds the partials of the others.
// Previous chapter: 16; its ring and its roles are unchanged.
//
// Build, run, verify:   ./tile run 17      ctest --preset model -R chapter17
#include <set>

#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

// [snippet config]
// Whether block tiles that do not fill a wave are split along K.
enum class Schedule { whole_tiles, stream_k };

template <Schedule SCHEDULE_>
struct Config {
  static constexpr Schedule SCHEDULE = SCHEDULE_;
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
using WholeTiles = Config<Schedule::whole_tiles>;
using StreamK = Config<Schedule::stream_k>;  // the chapter's kernel
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
  constexpr bool SWAPPED = false;
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
template <class C>
tile::TileScheduler scheduler_of(int M, int N, int K, int sms) {
  return C::SCHEDULE == Schedule::stream_k ? tile::stream_k<C>(M, N, K, sms)
                                           : tile::whole_tiles<C>(M, N, K, sms);
}

// What a launch needs besides the operands: A transposed, tensor maps, the scheduler, and room
// for partials.
template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        scheduler_(scheduler_of<Config>(g.M, g.N, g.K, tile::machine::device().sms)),
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

  const tile::TileScheduler& scheduler() const { return scheduler_; }
  const int* ready() const { return ready_.get(); }

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
        "chapter 17 needs TMA, and so compute capability 9.0 and a program compiled for it");
  return std::make_unique<Bound<Config>>(g);
}
// [/snippet launch]

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("whole_tiles", WholeTiles{});
  f("stream_k", StreamK{});
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

struct WorkTile {
  int block, tile, k_begin, k_end;
};
// The work tiles of all blocks, each block's in its order.
std::vector<WorkTile> work_tiles_of(const tile::TileScheduler& s) {
  std::vector<WorkTile> all;
  for (int block = 0; block < s.blocks; ++block)
    for (tile::WorkTileIterator work(s, block); work.next(s);)
      all.push_back({block, work.tile, work.k_begin, work.k_end});
  return all;
}

void predict(tile::Facts& facts) {
  const int sms = tile::h200.sms;
  for_each_config([&]<class C>(const std::string& name, C) {
    for (const int n : {1024, 1536, 2048, 4096, 8192}) {
      const tile::TileScheduler s = scheduler_of<C>(n, n, n, sms);
      const std::string key = name + "." + std::to_string(n) + ".";
      std::vector<int> k_tiles(std::size_t(s.blocks)), splits(std::size_t(s.tiles()));
      int partials = 0;
      for (const WorkTile& work : work_tiles_of(s)) {
        k_tiles[std::size_t(work.block)] += work.k_end - work.k_begin;
        ++splits[std::size_t(work.tile)];
        partials += work.k_begin > 0;
      }
      const int most = *std::max_element(k_tiles.begin(), k_tiles.end());
      facts.predicted(key + "most_k_tiles", most);
      facts.predicted(key + "busy", double(s.tiles()) * s.k_tiles / most / sms);
      if (C::SCHEDULE == Schedule::whole_tiles) continue;
      facts.predicted(key + "partials", partials);
      facts.predicted(key + "blocks_per_tile",
                      *std::max_element(splits.begin(), splits.end()));
    }
  });
}

}  // namespace

TILE_CHAPTER(.number = 17, .title = "No SM left over", .kernels = kernels(),
             .counted = {512, 256, 128}, .sizes = {1024, 1536, 2048, 4092, 4096, 8192},
             .constants = {{"BM", StreamK::BM},
                           {"BN", StreamK::BN},
                           {"BK", StreamK::BK},
                           {"STAGES", StreamK::STAGES},
                           {"GROUP_ROWS", StreamK::GROUP_ROWS},
                           {"MAX_SPLITS", StreamK::MAX_SPLITS},
                           {"MIN_K_TILES", StreamK::MIN_K_TILES}},
             .predict = predict, .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)

// Few and many block tiles and k-tiles, for few and many SMs.
template <class F>
void for_each_scheduler(F&& f) {
  for_each_config([&]<class C>(const std::string& name, C) {
    for (const int sms : {1, 3, 132})
      for (const int M : {1, C::BM, 5 * C::BM + 1, 12 * C::BM})
        for (const int N : {C::BN, 11 * C::BN})
          for (const int K : {1, 8 * C::BK, 9 * C::BK - 3, 100 * C::BK}) {
            INFO(name, ", ", M, " x ", N, " x ", K, ", SMs: ", sms);
            f(C{}, scheduler_of<C>(M, N, K, sms), sms);
          }
  });
}

TEST_CASE(
    "each k-tile of each block tile belongs to one work tile, and each block has some work") {
  for_each_scheduler([](auto, const tile::TileScheduler& s, int sms) {
    std::vector<int> times(std::size_t(s.tiles()) * s.k_tiles), work_tiles(s.blocks);
    CHECK(s.blocks <= sms);
    for (const WorkTile& work : work_tiles_of(s)) {
      REQUIRE(work.k_begin < work.k_end);
      ++work_tiles.at(std::size_t(work.block));
      for (int k_tile = work.k_begin; k_tile < work.k_end; ++k_tile)
        ++times.at(std::size_t(work.tile) * s.k_tiles + k_tile);
    }
    CHECK(times == std::vector<int>(times.size(), 1));
    CHECK(*std::min_element(work_tiles.begin(), work_tiles.end()) > 0);
  });
}

TEST_CASE("work units differ by at most one k-tile, and blocks have as many whole tiles") {
  for_each_scheduler([]<class C>(C, const tile::TileScheduler& s, int) {
    CHECK((C::SCHEDULE == Schedule::stream_k || s.split_tiles == 0));
    if (s.split_tiles == 0) return;
    std::set<int> lengths;
    for (int n = 0; n < s.blocks; ++n) lengths.insert(s.begin_of(n + 1) - s.begin_of(n));
    CHECK(*lengths.rbegin() - *lengths.begin() <= 1);
    CHECK(*lengths.begin() >= C::MIN_K_TILES);
    CHECK((s.tiles() - s.split_tiles) % s.blocks == 0);
    std::vector<int> splits(std::size_t(s.tiles()));
    for (const WorkTile& work : work_tiles_of(s)) ++splits[std::size_t(work.tile)];
    // one more where units do not begin with block tiles
    CHECK(*std::max_element(splits.begin(), splits.end()) <= C::MAX_SPLITS + 1);
  });
}

TEST_CASE(
    "a block stores at most one partial, its first; only a block with a higher index waits") {
  for_each_scheduler([](auto, const tile::TileScheduler& s, int) {
    std::vector<int> stored(std::size_t(s.blocks)), added(std::size_t(s.blocks));
    int latest = -1;
    for (const WorkTile& work : work_tiles_of(s)) {
      if (work.k_begin > 0) {
        CHECK(work.block != latest);  // it has nothing to wait for before
        ++stored[std::size_t(work.block)];
      } else if (work.k_end < s.k_tiles) {
        for (int n = s.unit_of(work.block) + 1; s.begin_of(n) < (work.tile + 1) * s.k_tiles;
             ++n) {
          CHECK(s.block_of(n) < work.block);
          ++added.at(std::size_t(s.block_of(n)));
        }
      }
      latest = work.block;
    }
    CHECK(stored == added);
    CHECK(*std::max_element(stored.begin(), stored.end()) <= 1);
  });
}

TEST_CASE("stream-K splits what does not fill a wave, and a block tile for each block") {
  const auto scheduler = [](int n) { return tile::stream_k<StreamK>(n, n, n, 132); };
  CHECK(scheduler(1024).split_tiles == 32);
  CHECK(scheduler(2048).split_tiles == 128);
  CHECK(scheduler(4096).split_tiles == 512 - 3 * 132 + 132);
  CHECK(tile::stream_k<StreamK>(33 * 256, 4 * 128, 4096, 132).split_tiles == 0);  // a wave
  CHECK(tile::stream_k<StreamK>(256, 128, 65536, 132).blocks == 8);  // splits of a block tile
  CHECK(tile::stream_k<StreamK>(256, 128, 16 * 16, 132).blocks == 2);  // deep enough for two
  CHECK(tile::stream_k<StreamK>(256, 128, 15 * 16, 132).blocks == 1);
  CHECK(tile::stream_k<StreamK>(512, 128, 7 * 16, 3).split_tiles == 0);
}

TEST_CASE("the raster order passes each block tile once, group by group, down the columns") {
  for_each_scheduler([]<class C>(C, const tile::TileScheduler& s, int) {
    CHECK(tile::covers_once(s.tilesM, s.tilesN, 1, [&](int, auto take) {
            for (int t = 0; t < s.tiles(); ++t)
              take(s.position_of(t).row, s.position_of(t).col);
          }) == "");
    for (int t = 0; t < s.tiles(); ++t)
      REQUIRE(s.position_of(t).row / 8 == t / (8 * s.tilesN));
    CHECK(s.position_of(s.tilesM > 1).row == (s.tilesM > 1));
  });
}

TEST_CASE("where an int does not count all k-tiles, no block tile is split") {
  constexpr int LARGE = INT_MAX / 16 * 16;  // K: 2^27 - 1 k-tiles
  const tile::TileScheduler s = tile::stream_k<StreamK>(512, 1024, LARGE, 132);  // 16 tiles
  CHECK(s.split_tiles == 16);
  CHECK(s.begin_of(s.blocks) == 16 * s.k_tiles);
  const std::vector<WorkTile> all = work_tiles_of(s);
  CHECK(all.front().tile == 15);
  CHECK(all.front().k_end == s.k_tiles);
  CHECK(tile::stream_k<StreamK>(512, 1152, LARGE, 132).split_tiles == 0);
  CHECK(tile::stream_k<StreamK>(1, 1, INT_MAX, 132).k_tiles == 1 << 27);
}

TEST_CASE("partials make the same result as whole tiles") {
  const auto problem = [](int tilesM, int tilesN, int k_tiles) {
    using C = StreamK;
    return tile::Case{tilesM * C::BM,      tilesN * C::BN, k_tiles * C::BK, 1, 2, 0,
                      tile::Fill::integers};
  };
  // one block tile in two work units, and in three; three in four; with residue
  CHECK(tile::first_failure(tile::this_chapter().kernels[1],
                            {problem(1, 1, 16),
                             problem(1, 1, 25),
                             problem(1, 3, 11),
                             {255, 129, 401, 1, 2, 1, tile::Fill::integers}}) == "");
}

TEST_CASE("the result is the same, bit for bit, in each run") {
  const tile::BoundCase bound(tile::this_chapter().kernels[1], {300, 66, 1000});
  const auto result = [&] {
    bound.kernel->run();
    return bound.operands.download_C();
  };
  const std::vector<float> first = result();
  CHECK(result() == first);
  CHECK(result() == first);
}

TEST_CASE("after a run all flags are zero, and the next run adds its own partials") {
  const tile::Case split{65, 190, 400, 1, 0, 0, tile::Fill::integers};
  tile::Operands operands(split);
  Bound<StreamK> kernel(operands.gemm());
  REQUIRE(kernel.scheduler().split_tiles > 0);
  for (const int seed : {1, 5, 9}) {
    operands.refill_A(tile::Fill::integers, std::uint64_t(seed));
    kernel.run();
    CHECK(tile::compare(operands).message == "");
    std::vector<int> flags(std::size_t(kernel.scheduler().blocks), -1);
    tile::machine::copy_to_host(flags.data(), kernel.ready(), flags.size() * sizeof(int));
    for (const int flag : flags) CHECK(flag == 0);
  }
}

#if TILE_ON_MODEL
TEST_CASE("the fixup is ordered, and its accesses are coalesced" *
          doctest::test_suite("model")) {
  using C = StreamK;
  // one block tile and three work units
  const tile::Case split{C::BM, C::BN, 25 * C::BK, 1, 2, 0, tile::Fill::integers};
  const simt::Counts run = tile::traced_run(tile::this_chapter().kernels[1], split);
  CHECK(run.grid.x == 3);
  int sites = 0;
  for (const simt::Site& site : run.sites) {
    if (site.array != "partials") continue;
    ++sites;                                             // the store and the load
    CHECK(site.requests == 2 * C::BM * C::BN / 4 / 32);  // of two partials, by all warps
    CHECK(site.sectors == 16 * site.requests);
  }
  CHECK(sites == 2);
}

TEST_CASE("blocks are as many as the SMs, or as the block tiles if these are fewer" *
          doctest::test_suite("model")) {
  const auto blocks = [](int kernel, const tile::Case& c) {
    return tile::launched(tile::this_chapter().kernels[std::size_t(kernel)], c).grid.x;
  };
  CHECK(tile::machine::device().sms == tile::h200.sms);
  CHECK(blocks(0, {1024, 1024, 1024}) == 32);
  CHECK(blocks(1, {1024, 1024, 1024}) == 132);
  CHECK(blocks(0, {4096, 4096, 4096}) == 132);
  CHECK(blocks(1, {4096, 4096, 4096}) == 132);
}

TEST_CASE("no load of operands has a bank conflict" * doctest::test_suite("model")) {
  const auto run = tile::count(tile::this_chapter().kernels[1], {256, 128, 32});
  CHECK(tile::bank_conflict(run, "load-operands") == "");
}
#endif
