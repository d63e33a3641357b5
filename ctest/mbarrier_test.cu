// Tests of mbarriers and copies in bulk on the SIMT model: which mistakes it finds, and which right kernels it leaves alone.
#include <string>

#include "common/cuda/ptx_bulk.hpp"
#include "common/report/chapter.hpp"
#include "common/report/count.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of mbarriers and copies in bulk", .kernels = {}, .counted = {1, 1, 1},
             .sizes = {})

namespace {

namespace ptx = tile::ptx;

// --- A GEMM whose tiles come by TMA -------------------------------------------------------------------------------------

enum class Mistake {
  none,
  no_full_wait,   // consumers read before the tile is there
  no_empty_wait,  // the producer overwrites what consumers may still read
  too_few_bytes,  // announced
  too_many_bytes,
  wrong_parity,     // consumers begin with parity 1
  arrives_early,    // consumers say that they have read the stage before they do
  missing_arrival,  // one warp of consumers does not say that it has read the stage
  no_init_fence,    // mbarriers are not fenced for the copies
  no_init_barrier,  // nor do the threads wait for their initialisation
  no_init,
  tries_once,  // a wait that does not try again
};

struct Config {
  static constexpr int BM = 32, BN = 64, BK = 16, STAGES = 2, CONSUMERS = 64;
  static constexpr int NUM_THREADS = CONSUMERS + 32;
  static constexpr unsigned BYTES = (BM * BK + BK * BN) * sizeof(float);
};

// C = A*B: a producer warp fetches tiles of A and B, 64 consumers multiply them, each a column of the tile of C.
template <Mistake MISTAKE>
__global__ void gemm_by_tma(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                            float* C, int M, int N, int K) {
  using C_ = Config;
  __shared__ __align__(128) float As[C_::STAGES][C_::BM * C_::BK];
  __shared__ __align__(128) float Bs[C_::STAGES][C_::BK * C_::BN];
  __shared__ std::uint64_t full[C_::STAGES], empty[C_::STAGES];
  const int t = int(threadIdx.x), steps = (K + C_::BK - 1) / C_::BK;
  const int blockRow = int(blockIdx.y) * C_::BM, blockCol = int(blockIdx.x) * C_::BN;
  if (t == 0) {
    for (int s = 0; s < C_::STAGES && MISTAKE != Mistake::no_init; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], C_::CONSUMERS / 32);
    }
    if (MISTAKE != Mistake::no_init_fence) ptx::fence_mbarrier_init();
  }
  if (MISTAKE != Mistake::no_init_barrier) __syncthreads();  // the mbarriers are there for all

  if (t >= C_::CONSUMERS) {
    if (t != C_::CONSUMERS) return;
    for (int step = 0; step < steps; ++step) {
      const int s = step % C_::STAGES, turn = step / C_::STAGES;
      if (MISTAKE != Mistake::no_empty_wait) ptx::mbarrier_wait_parity(&empty[s], unsigned(turn + 1) % 2);
      const int off = MISTAKE == Mistake::too_few_bytes ? -64 : MISTAKE == Mistake::too_many_bytes ? 64 : 0;
      ptx::mbarrier_arrive_expect_tx(&full[s], C_::BYTES + unsigned(off));
      ptx::cp_async_bulk_tensor(As[s], mapA, step * C_::BK, blockRow, &full[s]);
      ptx::cp_async_bulk_tensor(Bs[s], mapB, blockCol, step * C_::BK, &full[s]);
    }
    return;
  }

  float acc[C_::BM] = {};
  for (int step = 0; step < steps; ++step) {
    const int s = step % C_::STAGES, turn = step / C_::STAGES;
    const unsigned parity = unsigned(turn + (MISTAKE == Mistake::wrong_parity)) % 2;
    if (MISTAKE == Mistake::tries_once)
      (void)ptx::mbarrier_try_wait_parity(&full[s], parity);
    else if (MISTAKE != Mistake::no_full_wait)
      ptx::mbarrier_wait_parity(&full[s], parity);
    if (MISTAKE == Mistake::arrives_early && t % 32 == 0) ptx::mbarrier_arrive(&empty[s]);
    for (int k = 0; k < C_::BK; ++k) {
      const float b = Bs[s][k * C_::BN + t];
      for (int m = 0; m < C_::BM; ++m) acc[m] += As[s][m * C_::BK + k] * b;
    }
    __syncwarp();  // the warp has read the stage
    const bool stays_away = MISTAKE == Mistake::arrives_early || (MISTAKE == Mistake::missing_arrival && t >= 32);
    if (t % 32 == 0 && !stays_away) ptx::mbarrier_arrive(&empty[s]);
  }
  for (int m = 0; m < C_::BM; ++m)
    if (blockRow + m < M && blockCol + t < N) C[(blockRow + m) * N + blockCol + t] = acc[m];
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Runs the GEMM; returns what the model says of it.
template <Mistake MISTAKE>
std::string said_of_gemm(int M, int N, int K, std::vector<float>* result = nullptr,
                         std::vector<simt::Counts>* counts = nullptr) {
  using C_ = Config;
  auto A = tile::array<float>("A", std::size_t(M * K)), B = tile::array<float>("B", std::size_t(K * N)),
       C = tile::array<float>("C", std::size_t(M * N));
  A.set(tile::make_values(std::size_t(M * K), tile::Fill::integers, 1));
  B.set(tile::make_values(std::size_t(K * N), tile::Fill::integers, 2));
  const CUtensorMap mapA = tile::tensor_map(A.device(), {M, K, K, C_::BM, C_::BK}),
                    mapB = tile::tensor_map(B.device(), {K, N, N, C_::BK, C_::BN});
  const dim3 grid{unsigned((N + C_::BN - 1) / C_::BN), unsigned((M + C_::BM - 1) / C_::BM)};
  try {
    auto traced = simt::trace(
        [&] { tile::launch(gemm_by_tma<MISTAKE>, grid, dim3(C_::NUM_THREADS), 0, mapA, mapB, C.device(), M, N, K); });
    if (counts != nullptr) *counts = traced;
  } catch (const simt::Error& e) {
    return e.what();
  }
  if (result != nullptr) *result = C.host();
  return "";
}

}  // namespace

TEST_CASE("a GEMM whose tiles come by TMA" * doctest::test_suite("model")) {
  for (const auto& [M, N, K] : {std::tuple{64, 128, 96}, {40, 72, 20}, {1, 4, 4}}) {
    std::vector<float> result;
    CHECK(said_of_gemm<Mistake::none>(M, N, K, &result) == "");
    const auto A = tile::make_values(std::size_t(M * K), tile::Fill::integers, 1),
               B = tile::make_values(std::size_t(K * N), tile::Fill::integers, 2);
    REQUIRE(result.size() == std::size_t(M * N));
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[std::size_t(m * K + k)] * B[std::size_t(k * N + n)];
        REQUIRE(result[std::size_t(m * N + n)] == sum);
      }
  }
}

// Each of these is what the GEMM does wrong, and what is said of it.
TEST_CASE("who reads before the tile is there is found" * doctest::test_suite("model")) {
  CHECK(contains(said_of_gemm<Mistake::no_full_wait>(64, 128, 96), "reads Bs[0]"));
  CHECK(contains(said_of_gemm<Mistake::wrong_parity>(64, 128, 96), "reads Bs[0]"));
  CHECK(contains(said_of_gemm<Mistake::tries_once>(64, 128, 96), "reads Bs[0]"));
  CHECK(contains(said_of_gemm<Mistake::arrives_early>(64, 128, 96), "asynchronously writes As[0]"));
}

TEST_CASE("a phase that lacks something is a deadlock that says what" * doctest::test_suite("model")) {
  const std::string bytes = said_of_gemm<Mistake::too_many_bytes>(64, 128, 96);
  CHECK(contains(bytes, "deadlock: gemm_by_tma<"));
  CHECK(contains(bytes, "waits for phase 0 (parity 0) of mbarrier full[0] (address 0x"));
  CHECK(contains(bytes, ": 0 of 1 arrivals and 64 bytes are missing at mbarrier_test.cu:"));
  const std::string arrival = said_of_gemm<Mistake::missing_arrival>(64, 128, 96);
  CHECK(contains(arrival, "waits for phase 0 (parity 0) of mbarrier empty[0] (address 0x"));
  CHECK(contains(arrival, ": 1 of 2 arrivals and 0 bytes are missing"));
  CHECK(contains(arrival, "thread (0,0,0), with 63 threads more, waits for phase 1 (parity 1) of mbarrier full[0]"));
}

TEST_CASE("more bytes or arrivals than a phase takes are found" * doctest::test_suite("model")) {
  CHECK(contains(said_of_gemm<Mistake::too_few_bytes>(64, 128, 96),
                 "copies 4096 bytes for mbarrier full[0] (address 0x"));
  CHECK(contains(said_of_gemm<Mistake::too_few_bytes>(64, 128, 96),
                 ": 64 bytes more have come in phase 0 than were announced"));
  CHECK(contains(said_of_gemm<Mistake::no_empty_wait>(64, 128, 96),
                 ": all 1 arrivals of phase 0 were there, which lacks 12288 bytes"));
}

TEST_CASE("mbarriers are initialised, fenced and then used" * doctest::test_suite("model")) {
  CHECK(contains(said_of_gemm<Mistake::no_init>(64, 128, 96), ", which nobody has initialised"));
  const std::string fence = said_of_gemm<Mistake::no_init_fence>(64, 128, 96);
  CHECK(contains(fence, "missing proxy fence: gemm_by_tma<"));
  CHECK(contains(fence, "with no fence.mbarrier_init between"));
  CHECK(contains(said_of_gemm<Mistake::no_init_barrier>(64, 128, 96), "race: gemm_by_tma<"));
}
