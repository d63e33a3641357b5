// Tile by Tile, chapter 17: no SM left over.
//
// Question: 4096 x 4096 has 512 block tiles for 132 SMs: three waves, and a fourth that leaves 16
// SMs idle; 1024 x 1024 has 32 tiles, and 100 idle SMs. Can all SMs work all the time? Idea:
// persistent blocks, one per SM, that loop over work tiles. What does not fill a wave is split
// along K (stream-K); the block that stores such a tile adds the partials of the others.
// Previous chapter: 16.
//
// Build, run, verify:   ./tile run 17      ctest --preset model -R chapter17
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
// What a launch needs besides the operands: A transposed, tensor maps, the scheduler, and room
// for partials.
template <class Config>
class Bound : public tile::BoundKernel {
 public:
  explicit Bound(const tile::Gemm& g)
      : g_(g),
        scheduler_(
            Config::SCHEDULE == Schedule::stream_k
                ? tile::stream_k<Config>(g.M, g.N, g.K, tile::machine::device().sms)
                : tile::whole_tiles<Config>(g.M, g.N, g.K, tile::machine::device().sms)),
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

}  // namespace

TILE_CHAPTER(.number = 17, .title = "No SM left over", .kernels = kernels(),
             .counted = {512, 256, 128}, .sizes = {1024, 1536, 2048, 4092, 4096, 8192},
             .constants = {{"BM", StreamK::BM},
                           {"BN", StreamK::BN},
                           {"BK", StreamK::BK},
                           {"STAGES", StreamK::STAGES}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
