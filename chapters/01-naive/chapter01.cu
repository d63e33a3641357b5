// Tile by Tile, chapter 01: the naive kernel.
//
// Question: what does a GPU make of the textbook triple loop?
// Idea: each thread computes one element of C and walks along K by itself. The kernel shares
// and reuses nothing, so its speed is what the caches make of its loads.
// Previous chapter: 00, the machine and the measure.
//
// Build, run, verify:   ./tile run 01      ctest --preset model -R chapter01
#include <algorithm>
#include <map>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/clocks.hpp"
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
struct Config {
  static constexpr int BM = 32;  // rows of C per block
  static constexpr int BN = 4;   // columns of C per block
  static constexpr int NUM_THREADS = BM * BN;
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BM % 32 == 0,
                "a warp must lie within one column of the tile: the counts below assume it");
};
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// The element of C that a thread computes. threadIdx is the position in the block, not in the
// grid. The 32 threads of a warp differ in threadIdx.x, so they compute 32 rows of one column.
constexpr __host__ __device__ Position result_of(int blockX, int blockY, int threadX,
                                                 int threadY) {
  return {blockY * Config::BM + threadX, blockX * Config::BN + threadY};
}
// [/snippet maps]

__global__ void sgemm_naive(int M, int N, int K, float alpha,  //
                            const float* A, int lda,           // M x K
                            const float* B, int ldb,           // K x N
                            float beta,                        //
                            float* C, int ldc) {               // M x N
  const auto [row, col] = result_of(blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y);
  if (row >= M || col >= N) return;  // the last tiles may extend beyond C

  // [snippet main-loop]
  float acc = 0.0f;
  for (int k = 0; k < K; ++k) {
    const float a = A[std::size_t(row) * lda + k];  //@ load-A
    const float b = B[std::size_t(k) * ldb + col];  //@ load-B
    acc += a * b;
  }
  // [/snippet main-loop]

  // [snippet epilogue]
  float* c = &C[std::size_t(row) * ldc + col];
  float result = alpha * acc;
  if (beta != 0.0f) result += beta * *c;  //@ load-C
  *c = result;                            //@ store-C
  // [/snippet epilogue]
}

// [snippet launch]
void launch_naive(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  const dim3 block(Config::BM, Config::BN);
  tile::launch(sgemm_naive, grid, block, 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb,
               g.beta, g.C, g.ldc);
}
constexpr auto launch_default = launch_naive;
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// [snippet lda]
// What L1 does for a warp-wide multiply-add: it loads 32 words of A, `lda` apart, and one word
// of B.
struct StepCost {
  double tag_passes = 0, wavefronts = 0, cycles = 0;
};
// How many cycles a pair of requests, for 32 lines and for one word, costs beyond the rule.
// The key is the largest number of words that the first request has in a bank.
using Extra = std::map<int, double>;

// The mean over the warps of an M x K matrix A and over every `sparse`-th of its columns.
StepCost step_cost(int M, int K, int lda, int sparse = 61, const Extra& extra = {}) {
  StepCost sum;
  int steps = 0;
  for (int row = 0; row < M; row += 32)
    for (int k = 0; k < K; k += sparse, ++steps) {
      simt::WarpAccess access{.active = ~0u};
      for (int lane = 0; lane < 32; ++lane)
        access.address[std::size_t(lane)] =
            4 * (std::uint64_t(row + lane) * std::uint64_t(lda) + std::uint64_t(k));
      const int passes = simt::tag_passes(access),
                wavefronts = simt::global_wavefronts(access);
      sum.tag_passes += passes + 1;  // B: one line, one word
      sum.wavefronts += wavefronts + 1;
      sum.cycles +=
          std::max(passes, wavefronts) + 1 + (extra.empty() ? 0 : extra.at(wavefronts));
    }
  return {sum.tag_passes / steps, sum.wavefronts / steps, sum.cycles / steps};
}
// [/snippet lda]

constexpr int SWEPT_SIZE = 4096, SWEPT_PADS = 32;  // the leading dimensions 4096 to 4128

std::string sweep_key(int pad) { return "lda." + std::to_string(SWEPT_SIZE + pad); }

std::vector<tile::Chapter::Rate> sweep_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (int pad = 0; pad <= SWEPT_PADS; ++pad)
    rates.push_back(
        {sweep_key(pad), "ms at 4096 with lda = " + std::to_string(SWEPT_SIZE + pad)});
  rates.push_back({"sm_mhz.sweep", "lowest SM clock of the sweep"});
  return rates;
}

#if TILE_ON_GPU
// Times the kernel at 4096 with each leading dimension of A, on random values, and samples the
// SM clock meanwhile.
void measure_sweep(tile::RateSink& sink) {
  const std::size_t n = SWEPT_SIZE;
  const std::vector<float> values =
      tile::make_values(n * (n + SWEPT_PADS), tile::Fill::random, 11);
  const std::size_t bytes = values.size() * sizeof(float);
  const tile::Buffer A = tile::device_memory(bytes), B = tile::device_memory(bytes),
                     C = tile::device_memory(bytes);
  for (const tile::Buffer* input : {&A, &B})
    tile::cuda_check(cudaMemcpy(input->get(), values.data(), bytes, cudaMemcpyHostToDevice),
                     "fill");
  const auto *a = static_cast<const float*>(A.get()), *b = static_cast<const float*>(B.get());
  auto* c = static_cast<float*>(C.get());
  const int size = SWEPT_SIZE;
  tile::ClockSampler sampler(tile::nvml());
  for (int pad = 0; pad <= SWEPT_PADS; ++pad) {
    const tile::Gemm g{size, size, size, 1, a, size + pad, b, size, 0, c, size};
    sink.rate(sweep_key(pad), tile::time_ms([&](int) { launch_naive(g); }, 5).median);
  }
  if (const tile::Record clocks = sampler.stop(); clocks.at("samples") != 0)
    sink.rate("sm_mhz.sweep", clocks.at("sm_mhz")[0]);
}
#else
constexpr void (*measure_sweep)(tile::RateSink&) = nullptr;
#endif

// What chapter 00 measured on the reference GPU; empty without its record.
Extra measured_extra() {
  Extra extra;
  const auto chapters =
      std::filesystem::path(tile::this_chapter_file()).parent_path().parent_path();
  for (const tile::Record& record : tile::load_records(chapters / "00-machine")) {
    if (record["gpu"] != tile::reference_gpu) continue;
    int words = 1;
    for (const char* pattern :
         {"many_banks", "words2", "words4", "words8", "words16", "one_bank"}) {
      if (const std::string rate = std::string("l1_pair_extra.") + pattern;
          record["rates"].contains(rate))
        extra[words] = record["rates"][rate];
      words *= 2;
    }
  }
  return extra;
}

// The predictions that need a loop.
void predict(tile::Facts& facts) {
  const tile::GpuSpec& gpu = tile::h200;
  const double cycles_per_second = gpu.sms * gpu.clock_ghz * 1e9;
  // warp-wide multiply-adds
  const double steps = double(SWEPT_SIZE) * SWEPT_SIZE * SWEPT_SIZE / 32;
  const Extra extra = measured_extra();
  for (int pad = 0; pad <= SWEPT_PADS; ++pad) {
    const StepCost cost = step_cost(SWEPT_SIZE, SWEPT_SIZE, SWEPT_SIZE + pad, 251);
    const StepCost paired = step_cost(SWEPT_SIZE, SWEPT_SIZE, SWEPT_SIZE + pad, 251, extra);
    facts.predicted(sweep_key(pad) + ".tag_passes", cost.tag_passes);
    facts.predicted(sweep_key(pad) + ".wavefronts", cost.wavefronts);
    facts.predicted(sweep_key(pad) + ".cycles", cost.cycles);
    facts.predicted(sweep_key(pad) + ".ms", steps * cost.cycles / cycles_per_second * 1e3);
    facts.predicted(sweep_key(pad) + ".paired.ms",
                    steps * paired.cycles / cycles_per_second * 1e3);
  }
  const StepCost odd = step_cost(4092, 4092, 4092, 251);
  facts.predicted("4092.cycles", odd.cycles);
  facts.predicted("4092.ms", 4092.0 * 4092 * 4092 / 32 * odd.cycles / cycles_per_second * 1e3);
  facts.predicted_loads("naive", 2, 0);
}

}  // namespace

TILE_CHAPTER(.number = 1, .title = "The naive kernel",
             .kernels = {{"naive",
                          launch_default,
                          reinterpret_cast<const void*>(sgemm_naive),
                          Config::NUM_THREADS,
                          {Config::BM, Config::BN, 1, tile::Alignment::any}}},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096},
             .constants = {{"BM", Config::BM},
                           {"BN", Config::BN},
                           {"NUM_THREADS", Config::NUM_THREADS}},
             .predict = predict, .measure_rates = measure_sweep, .profiled_pads = {1, 8, 16},
             .rates = sweep_rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

TEST_CASE("threads (0,0) and (0,1) share a row of A") {
  constexpr auto first = result_of(0, 0, 0, 0), second = result_of(0, 0, 0, 1),
                 third = result_of(0, 0, 1, 0);
  CHECK(first.row == second.row);  // it is often said that they share a column of B
  CHECK(first.col != second.col);
  CHECK(first.row != third.row);
  CHECK(first.col == third.col);
  CHECK(result_of(3, 2, 5, 1).row == 69);
  CHECK(result_of(3, 2, 5, 1).col == 13);
}

TEST_CASE("every element of a tile has exactly one thread") {
  CHECK(tile::covers_once(Config::BM, Config::BN, Config::NUM_THREADS,
                          [](int thread, auto take) {
                            const auto [row, col] =
                                result_of(0, 0, thread % Config::BM, thread / Config::BM);
                            take(row, col);
                          }) == "");
}

#if TILE_ON_MODEL
// A few rows of the counted problem. What a request costs does not depend on how many there
// are.
const tile::Case strip{64, 256, 256};

TEST_CASE("a warp's load of A touches 32 sectors, of B one" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, strip);
  const auto& A = tile::site(counts, "load-A");
  CHECK(A.sectors == 32 * A.requests);
  CHECK(A.lines == 32 * A.requests);
  const auto& B = tile::site(counts, "load-B");
  CHECK(B.sectors == B.requests);
  CHECK(B.lines == B.requests);
  CHECK(A.requests == 64u * 256 * 256 / 32);
  CHECK(B.requests == A.requests);
}

TEST_CASE("nothing is reused: eight bytes a multiply-add" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, {64, 96, 40});
  const auto fmas = std::uint64_t(64) * 96 * 40;
  CHECK(tile::site(counts, "load-A").bytes() + tile::site(counts, "load-B").bytes() ==
        8 * fmas);
}

TEST_CASE("threads past the edge are idle" * doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, {33, 33, 8});
  CHECK(counts.grid.x == 9);  // 33 columns in tiles of 4
  CHECK(counts.grid.y == 2);  // 33 rows in tiles of 32
  CHECK(tile::site(counts, "store-C").accesses == 33 * 33);
  const auto launched = counts.grid.x * counts.grid.y * Config::NUM_THREADS;
  CHECK(launched - tile::site(counts, "store-C").accesses == 9 * 2 * 128 - 33 * 33);
}

TEST_CASE("C is read only where beta asks for it" * doctest::test_suite("model")) {
  CHECK_THROWS_AS(tile::site(tile::count(launch_naive, {32, 32, 8}), "load-C"),
                  std::out_of_range);
  const auto counts = tile::count(launch_naive, {32, 32, 8, 1.0f, 0.5f});
  CHECK(tile::site(counts, "load-C").accesses == 32 * 32);
}

TEST_CASE("33 lines a multiply-add, and their words in one bank: 33 cycles" *
          doctest::test_suite("model")) {
  const auto counts = tile::count(launch_naive, strip);
  const auto& A = tile::site(counts, "load-A");
  const auto& B = tile::site(counts, "load-B");
  const std::uint64_t fmas = 64u * 256 * 256 / 32;  // warp-wide
  CHECK(A.lines + B.lines == 33 * fmas);
  CHECK(A.l1_wavefronts == 32 * fmas);
  CHECK(B.l1_wavefronts == fmas);
  // 256 words apart, the 32 lines spread evenly over the four tag banks
  CHECK(A.tag_passes == 8 * fmas);
  CHECK(A.l1_cycles + B.l1_cycles == 33 * fmas);
}

// The times in the reference GPU's record over a prediction of them, one for each padding.
std::vector<double> times_over(const std::string& prediction) {
  tile::Facts facts;
  predict(facts);
  std::vector<double> ratios;
  for (const tile::Record& record :
       tile::load_records(tile::in_repository("chapters/01-naive")))
    for (int pad = 0; record["gpu"] == tile::reference_gpu && pad <= SWEPT_PADS; ++pad)
      ratios.push_back(record["rates"].at(sweep_key(pad)).get<double>() /
                       facts.value(sweep_key(pad) + prediction));
  return ratios;
}

TEST_CASE("the prediction over lda is within 10 percent of the record" *
          doctest::test_suite("model")) {
  for (const double ratio : times_over(".paired.ms")) {
    CHECK(ratio > 1 / 1.1);
    CHECK(ratio < 1.1);
  }
}

TEST_CASE("over lda the rule is never above the record" * doctest::test_suite("model")) {
  const std::vector<double> ratios = times_over(".ms");
  for (const double ratio : ratios) CHECK(ratio >= 1);
  if (ratios.empty()) return;
  // The times at 4104, 4112 and 4120 exceed it most.
  const double least = std::min({ratios[8], ratios[16], ratios[24]});
  CHECK(std::count_if(ratios.begin(), ratios.end(), [=](double r) { return r >= least; }) ==
        3);
}

TEST_CASE("the arithmetic over lda counts what the model counts" *
          doctest::test_suite("model thorough")) {
  for (const int pad : {0, 1, 8}) {
    constexpr int size = 128;
    // A begins at the start of its allocation, as it does when the GPU is timed.
    const auto bytes = std::size_t(size) * std::size_t(size + pad) * sizeof(float);
    auto* A_data = static_cast<float*>(tile::machine::allocate(bytes, sizeof(float), "A"));
    auto* B_data = static_cast<float*>(tile::machine::allocate(bytes, sizeof(float), "B"));
    auto* C_data = static_cast<float*>(tile::machine::allocate(bytes, sizeof(float), "C"));
    const tile::Gemm gemm{size,   size, size, 1,      A_data, size + pad,
                          B_data, size, 0,    C_data, size};
    const auto counts = simt::trace([&] { launch_naive(gemm); }).front();
    for (float* data : {A_data, B_data, C_data}) tile::machine::release(data);
    const double fmas = double(size) * size * size / 32;
    const auto& A = tile::site(counts, "load-A");
    const auto& B = tile::site(counts, "load-B");
    const StepCost cost = step_cost(size, size, size + pad, 1);
    CAPTURE(pad);
    CHECK(double(A.tag_passes + B.tag_passes) / fmas == doctest::Approx(cost.tag_passes));
    CHECK(double(A.l1_wavefronts + B.l1_wavefronts) / fmas ==
          doctest::Approx(cost.wavefronts));
    CHECK(double(A.l1_cycles + B.l1_cycles) / fmas == doctest::Approx(cost.cycles));
  }
}
#endif
