// Tile by Tile, chapter 15: one thread asks for a tile.
//
// Question: in chapter 14 every thread computes addresses and starts copies of a k-tile. What
// if one thread could ask for the whole k-tile? Idea: a tensor map describes a matrix; the
// tensor memory accelerator (TMA) copies a box of it, zeros included for what is outside, and
// an mbarrier counts the bytes that have landed. TMA cannot transpose, so A is transposed first.
// Previous chapter: 14; this is its ring.
//
// Build, run, verify:   ./tile run 15      ctest --preset model -R chapter15
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
  static_assert(STAGES >= 2, "a k-tile is copied while another is multiplied");
  static_assert(SMEM_BYTES + 1024 <= 227 * 1024,
                "a block has at most 227 KB of shared memory");
};
// [/snippet config]

// [snippet signature]
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
  // [/snippet signature]

  // [snippet copy]
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

template <class Config>
std::unique_ptr<tile::BoundKernel> prepare(const tile::Product& product) {
  const tile::Gemm g = tile::gemm_of(product);
  tile::require_valid(g);
  if (!tile::machine::device().copies_in_bulk)
    throw std::runtime_error(
        "chapter 15 needs TMA, and so compute capability 9.0 and a program compiled for it");
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
                           {"STAGES", Tma::STAGES}},
             .baseline = tile::Baseline::stronger)

TILE_GEMM_TESTS(tile::this_chapter().kernels)
