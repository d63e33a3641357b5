// Tile by Tile, chapter 18, lab: the order of a thread's operand loads.
//
// Question: is it the register banks that make one of chapter 18's kernels faster than another?
// The order in which the source loads a thread's operands is a second thing that changes nothing
// but which registers ptxas assigns. The kernel is chapter 18's; how many float4s of A are loaded
// before those of B is a parameter, and so is the order of the words of partials.
//
// Build, run, verify:   ./tile run 18-orders      ctest --preset model -R chapter18.orders
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "common/cuda/repack.hpp"
#include "common/cuda/tile_scheduler.hpp"
#include "common/report/chapter.hpp"

namespace {

namespace ptx = tile::ptx;

template <int A_FIRST_, bool SWAPPED_>
struct Config {
  static constexpr int A_FIRST = A_FIRST_;           // float4s of A loaded before those of B
  static constexpr bool SWAPPED = SWAPPED_;          // the words of partials, in pairs
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
};

/// The float4s of a thread's operands of one k-step, in the order in which they are loaded:
/// the n-th one is operands 4 * index to 4 * index + 3 of A or of B.
struct Load {
  bool of_A;
  int index;
};
template <class Config>
constexpr __host__ __device__ Load load_of(int n) {
  constexpr int of_B = Config::COLS / 4;
  if (n < Config::A_FIRST) return {true, n};
  if (n < Config::A_FIRST + of_B) return {false, n - Config::A_FIRST};
  return {true, n - of_B};
}

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
    const float* const As = reinterpret_cast<const float*>(firstA + offset) + dotIdx * BM;
    const float* const Bs = reinterpret_cast<const float*>(firstB + offset) + dotIdx * BN;
    float(&a)[ROWS] = regM[dotIdx % 2];
    float(&b)[COLS] = regN[dotIdx % 2];
#pragma unroll
    for (int n = 0; n < (ROWS + COLS) / 4; ++n) {
      const auto [of_A, index] = load_of<Config>(n);
      const int i = 4 * index;
      if (of_A) {
        const float4 four =  //@ load-As
            *reinterpret_cast<const float4*>(As + tile::row_of(i));
        a[i] = four.x, a[i + 1] = four.y, a[i + 2] = four.z, a[i + 3] = four.w;
      } else {
        const float4 four =  //@ load-Bs
            *reinterpret_cast<const float4*>(Bs + tile::col_of(i));
        b[i] = four.x, b[i + 1] = four.y, b[i + 2] = four.z, b[i + 3] = four.w;
      }
    }
  };

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
}

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

// Calls f(name, configuration) for every kernel of this chapter.
template <class F>
void for_each_config(F&& f) {
  f("straight_0", Config<0, false>{});
  f("straight_1", Config<1, false>{});
  f("straight_2", Config<2, false>{});
  f("straight_3", Config<3, false>{});
  f("straight_4", Config<4, false>{});
  f("swapped_0", Config<0, true>{});
  f("swapped_1", Config<1, true>{});
  f("swapped_2", Config<2, true>{});
  f("swapped_3", Config<3, true>{});
  f("swapped_4", Config<4, true>{});
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

}  // namespace

TILE_CHAPTER(.number = 18, .title = "Register banks: the order of the loads",
             .kernels = kernels(), .counted = {512, 256, 128}, .sizes = {4096, 8192})

// the kernels of each word order differ only in the order of their loads
TILE_TRIED_ON_MODEL("straight_1", "swapped_4")
TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE(
    "every order loads each operand once, and as many float4s of A first as its name says") {
  for_each_config([]<class C>(const std::string name, C) {
    INFO(name);
    CHECK(tile::covers_once(2, C::ROWS / 4, 1, [](int, auto take) {
            for (int j = C::COLS / 4; j < C::ROWS / 4; ++j) take(1, j);  // B has fewer
            for (int n = 0; n < (C::ROWS + C::COLS) / 4; ++n)
              take(load_of<C>(n).of_A ? 0 : 1, load_of<C>(n).index);
          }) == "");
    int first = 0;
    while (load_of<C>(first).of_A) ++first;
    CHECK(name == (C::SWAPPED ? "swapped_" : "straight_") + std::to_string(first));
  });
}

TEST_CASE("every order computes the same bits" * doctest::test_suite("thorough")) {
  // three blocks share the 30 k-tiles of two block tiles: both are split
  const tile::Case c{256, 256, 240};
  std::vector<float> expected;
  for (const tile::Kernel& kernel : tile::this_chapter().kernels) {
    INFO(kernel.name);
    const tile::BoundCase bound(kernel, c);
    bound.kernel->run();
    tile::machine::synchronize();
    const std::vector<float> result = bound.operands.download_C();
    if (expected.empty()) expected = result;
    CHECK(result == expected);
  }
}
