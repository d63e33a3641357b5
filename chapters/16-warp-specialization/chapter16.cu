// Tile by Tile, chapter 16: producers and consumers.
//
// Question: in chapter 15 all warps meet at a barrier for each k-tile, so that one thread can ask
// for the next. Must those that multiply wait for each other? Idea: warp specialization. A
// producer warp asks for k-tiles and waits for stages to be empty; consumer warps wait for
// stages to be full and multiply. setmaxnreg moves the producers' registers to the consumers.
// Previous chapter: 15.
//
// Build, run, verify:   ./tile run 16      ctest --preset model -R chapter16
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

}  // namespace

TILE_CHAPTER(.number = 16, .title = "Producers and consumers", .kernels = kernels(),
             .counted = {512, 256, 128}, .sizes = {1024, 1536, 2048, 4092, 4096, 8192},
             .constants = {{"BM", Specialized::BM},
                           {"BN", Specialized::BN},
                           {"BK", Specialized::BK},
                           {"STAGES", Specialized::STAGES}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
