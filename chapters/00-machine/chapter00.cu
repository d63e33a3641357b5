// Tile by Tile, chapter 00: the machine and the measure.
//
// Question: how fast could a matrix multiply be on this GPU, and how do we know how fast it
// is? Idea: one small kernel per resource, which keeps that resource busy and nothing else.
// Their rates are the roofs over everything that follows, and cuBLAS is the yardstick.
//
// Build, run, verify:   ./tile run 00      ctest --preset model -R chapter00
#include <numeric>

#include "common/bench/record.hpp"
#include "common/count/count.hpp"
#include "common/report/chapter.hpp"
#include "common/sim/rules.hpp"
#if TILE_ON_GPU
#include "common/bench/clocks.hpp"
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
struct Config {
  static constexpr int NUM_THREADS = 1024;
  static constexpr int CHAINS = 8;    // independent chains of FMAs in a thread of ffma_peak
  static constexpr int SETS = 16;     // and of ffma_operands; a set is three registers
  static constexpr int TABLE = 1024;  // words in each half of a block's table in shared memory
  static constexpr int LINE_WORDS = 32;    // 4-byte words in a 128-byte line
  static constexpr int L1_STEPS = 8;       // loads from L1 in an iteration, a line apart
  static constexpr int L1_TABLE = 2048;    // words after which the loads start over
  static constexpr int L1_SINGLES = 8192;  // offset of the words that all lanes share
  static_assert(NUM_THREADS % 32 == 0, "the counts below are per full warp");
  static_assert(TABLE % 32 == 0, "a warp reads 32 neighbouring words at a time");
};
// [/snippet config]

// [snippet ffma]
// Nothing but FFMA. The CHAINS independent chains of a thread hide each other's latency.
__global__ void ffma_peak(float* out, float factor, float summand, int iterations) {
  float acc[Config::CHAINS];
  for (int i = 0; i < Config::CHAINS; ++i) acc[i] = float(threadIdx.x + i);
#pragma unroll 64  // 512 FFMA per iteration: the loop overhead is below one percent
  for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
    for (int i = 0; i < Config::CHAINS; ++i) acc[i] = acc[i] * factor + summand;
  float sum = 0;
  for (int i = 0; i < Config::CHAINS; ++i) sum += acc[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet ffma]

// [snippet operands]
// An FFMA has three operands, and each chain has its own accumulator. With READS = 1 all
// chains share the factor and the summand; with 2 each has its own summand, and with 3 its
// own factor as well. `in` holds 3 * SETS + blockDim.x numbers, so that the compiler knows
// neither their values nor which lanes could share them.
template <int READS>
__global__ void __launch_bounds__(512)
    ffma_operands(const float* in, float* out, int iterations) {
  float acc[Config::SETS], factor[Config::SETS], summand[Config::SETS];
  for (int i = 0; i < Config::SETS; ++i) {
    acc[i] = in[i + threadIdx.x];
    factor[i] = in[Config::SETS + i + threadIdx.x];
    summand[i] = in[2 * Config::SETS + i + threadIdx.x];
  }
#pragma unroll 16
  for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
    for (int i = 0; i < Config::SETS; ++i)
      acc[i] = acc[i] * factor[READS > 2 ? i : 0] + summand[READS > 1 ? i : 0];
  float sum = 0;
  for (int i = 0; i < Config::SETS; ++i) sum += acc[i] + factor[i] + summand[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet operands]

// [snippet copy]
// Loads and stores each byte once, sixteen bytes at a time.
__global__ void dram_copy(const float4* in, float4* out, std::size_t count) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const float4 value = in[i];  //@ load-copy
    out[i] = value;              //@ store-copy
  }
}
// [/snippet copy]

// [snippet l2]
// Every block reads the whole buffer and bypasses L1. With apart = 1 neighbouring blocks
// start at neighbouring parts of the buffer; with a larger value they start far apart.
__global__ void l2_read(const float4* in, float* out, int count, int apart) {
  float sum = 0;
  const int part = int(blockIdx.x * apart % gridDim.x);
  const int start =
      int((long long)count * part / gridDim.x) / int(blockDim.x) * int(blockDim.x);
#pragma unroll 8
  for (int step = threadIdx.x; step < count; step += blockDim.x) {
    const int at = start + step;
    const float4 value = __ldcg(&in[at < count ? at : at - count]);  //@ load-l2
    sum += value.x + value.y + value.z + value.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet l2]

// [snippet shared]
// The lanes of a warp read neighbouring words: one wavefront per request. The two halves of
// the table alternate, so that the compiler cannot keep a word in a register.
__global__ void shared_read(float* out, int iterations) {
  __shared__ float table[2 * Config::TABLE];
  for (int i = threadIdx.x; i < 2 * Config::TABLE; i += blockDim.x) table[i] = float(i % 7);
  __syncthreads();  // the table must be filled before any thread reads words that others wrote
  float sum = 0;
  int half = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < Config::TABLE; i += 32)
      sum += table[half + i + threadIdx.x % 32];  //@ load-table
    half ^= Config::TABLE;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet shared]

// [snippet l1]
// Lane l reads word l * stride of a table that stays in L1, so the stride decides how many
// lines and how many banks a request touches. Each load is one line further than the one
// before, and after L1_TABLE words the loads start over. With PAIRED each request is followed
// by a second one, in which all lanes read one word.
template <bool PAIRED>
__global__ void l1_read(const float* in, float* out, int stride, int iterations) {
  const float* word = in + threadIdx.x % 32 * stride;
  const float* single = in + Config::L1_SINGLES;
  float sum = 0;
  int at = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < Config::L1_STEPS; ++i) {
      sum += word[at + i * Config::LINE_WORDS];                          //@ load-l1
      if constexpr (PAIRED) sum += single[at + i * Config::LINE_WORDS];  //@ load-single
    }
    at = (at + Config::L1_STEPS * Config::LINE_WORDS) % Config::L1_TABLE;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet l1]

// [snippet l1-patterns]
// Strides that tell the stages of L1 apart: how many lines a request touches, and in how many
// banks its words lie.
struct L1Pattern {
  const char* name;
  int stride, lines, banks;
};
constexpr L1Pattern l1_patterns[]{{"one_line", 1, 1, 32}, {"many_banks", 33, 32, 32},
                                  {"words2", 34, 32, 16}, {"words4", 36, 32, 8},
                                  {"words8", 40, 32, 4},  {"words16", 48, 32, 2},
                                  {"one_bank", 32, 32, 1}};
// [/snippet l1-patterns]

// The cycles of a request of l1_read by the rule, averaged over the table: its lines move
// through the tag banks as the loads advance.
double l1_cycles(const L1Pattern& pattern) {
  constexpr int steps = Config::L1_TABLE / Config::LINE_WORDS;
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    simt::WarpAccess access{.active = ~0u};
    for (int lane = 0; lane < 32; ++lane)
      access.address[std::size_t(lane)] =
          4 * std::uint64_t(step * Config::LINE_WORDS + lane * pattern.stride);
    sum += std::max(simt::tag_passes(access), simt::global_wavefronts(access));
  }
  return sum / steps;
}

constexpr int cublas_sizes[]{1024, 2048, 4096, 8192};

// The rates that measure_rates records: their keys, and labels for a table. sm_mhz.NAME is the
// lowest SM clock that was sampled while the rates of that name were measured.
std::vector<tile::Chapter::Rate> all_rates() {
  std::vector<tile::Chapter::Rate> rates{
      {"sm_clock_ghz", "SM clock right after FFMA, GHz"},
      {"ffma_tflops", "FFMA, TFLOP/s"},
      {"dram_copy_gbs", "DRAM copy, read and written, GB/s"},
      {"l2_read_gbs", "L2 read, neighbouring blocks close, GB/s"},
      {"l2_read_apart_gbs", "L2 read, neighbouring blocks far apart, GB/s"},
      {"shared_read_gbs", "shared memory read, GB/s"},
      {"shared_wavefronts_per_cycle", "shared memory read, wavefronts per cycle and SM"}};
  const auto add = [&](const std::string& name, const std::string& label) {
    rates.push_back({name, label});
  };
  for (const std::string reads : {"1", "2", "3"}) {
    const std::string of = ", READS = " + reads;
    add("ffma_cycles.reads" + reads, "cycles per FFMA and scheduler" + of);
    add("ffma_cycles_alone.reads" + reads, "cycles per FFMA, one warp per scheduler" + of);
  }
  for (const auto& [name, stride, lines, banks] : l1_patterns) {
    const std::string of = ": " + std::to_string(lines) +
                           (lines == 1 ? " line, " : " lines, ") + std::to_string(banks) +
                           (banks == 1 ? " bank" : " banks");
    add(std::string("l1_cycles.") + name, "L1 cycles per request" + of);
    add(std::string("l1_cycles_16_warps.") + name, "L1 cycles, 16 warps per SM" + of);
    add(std::string("l1_pair_extra.") + name, "L1 cycles of a pair beyond the rule" + of);
  }
  std::vector<std::string> clocked{"ffma",          "operands",    "dram_copy", "l2_read",
                                   "l2_read_apart", "shared_read", "l1"};
  for (const std::string type : {"fp32", "tf32", "bf16"})
    for (const int size : cublas_sizes) {
      clocked.push_back("cublas_" + type + "_" + std::to_string(size));
      add(clocked.back(), "cuBLAS, TFLOP/s: " + clocked.back().substr(7));
    }
  for (const std::string& name : clocked) add("sm_mhz." + name, "lowest SM clock: " + name);
  return rates;
}

#if TILE_ON_GPU
// Keeps one warp per SM busy for a given number of the SM's own cycles.
__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

// Returns what `measure` returns, and records the lowest SM clock meanwhile as sm_mhz.NAME.
double clocked(tile::RateSink& sink, const std::string& name,
               const std::function<double()>& measure) {
  tile::ClockSampler sampler(tile::nvml());
  const double value = measure();
  const tile::Record clocks = sampler.stop();
  if (clocks.at("samples") != 0) {
    const double lowest = clocks.at("sm_mhz")[0];
    double& mhz = sink.rates.try_emplace("sm_mhz." + name, lowest).first->second;
    mhz = std::min(mhz, lowest);
  }
  return value;
}

void measure_rates(tile::RateSink& sink) {
  const int sms = tile::describe_gpu().at("sms");
  constexpr std::size_t copy_bytes = std::size_t(1) << 30, l2_bytes = std::size_t(16) << 20;
  const tile::Buffer in = tile::device_memory(copy_bytes),
                     out = tile::device_memory(copy_bytes);
  const std::vector<float> noise = tile::make_values(copy_bytes / 16, tile::Fill::random, 7);
  for (int quarter = 0; quarter < 4; ++quarter)
    tile::cuda_check(cudaMemcpy(static_cast<char*>(in.get()) + quarter * copy_bytes / 4,
                                noise.data(), copy_bytes / 4, cudaMemcpyHostToDevice),
                     "fill");
  const auto* numbers = static_cast<const float*>(in.get());
  const auto* quads = static_cast<const float4*>(in.get());
  auto* results = static_cast<float*>(out.get());

  const dim3 block(Config::NUM_THREADS);
  const dim3 resident(sms * 2);  // two blocks of 1024 threads fill an SM
  const double warps = double(resident.x) * Config::NUM_THREADS / 32;
  // Milliseconds of a kernel. The warm-up is long enough for samples of the clock under load.
  const auto ms_of = [&](const std::string& name, auto kernel, dim3 grid, dim3 threads,
                         auto... arguments) {
    const auto run = [&](int) { tile::launch(kernel, grid, threads, 0, arguments...); };
    return clocked(sink, name, [&] { return tile::time_ms(run, 20, 100).median; });
  };

  constexpr int iterations = 1 << 14;
  const double ffma_ms =
      ms_of("ffma", ffma_peak, resident, block, results, 0.999f, 0.001f, iterations);
  sink.rate("ffma_tflops", 2.0 * 32 * warps * Config::CHAINS * iterations / ffma_ms * 1e-9);

  // Right after the hottest kernel, this is the clock that arithmetic runs at.
  const long long cycles = 20'000'000;
  const auto run_spin = [&](int) { tile::launch(spin, dim3(sms), dim3(32), 0, cycles); };
  const double clock_hz = cycles / tile::time_ms(run_spin, 5).median * 1e3;
  sink.rate("sm_clock_ghz", clock_hz * 1e-9);

  for (const auto& [name, kernel] : {std::pair{"reads1", &ffma_operands<1>},
                                     {"reads2", &ffma_operands<2>},
                                     {"reads3", &ffma_operands<3>}})
    // With one warp per scheduler, no other warp's instructions come between two of its own.
    for (const auto& [key, blocks, threads] :
         {std::tuple{"ffma_cycles.", 2, 512}, {"ffma_cycles_alone.", 1, 128}}) {
      const double ms = ms_of("operands", kernel, dim3(sms * blocks), dim3(threads), numbers,
                              results, iterations);
      const double ffma = double(blocks) * threads / 32 / 4 * iterations * Config::SETS;
      sink.rate(std::string(key) + name, ms * 1e-3 * clock_hz / ffma);
    }

  const double copy_ms = ms_of("dram_copy", dram_copy, dim3(sms * 16), dim3(512), quads,
                               static_cast<float4*>(out.get()), copy_bytes / 16);
  sink.rate("dram_copy_gbs", 2.0 * copy_bytes / copy_ms * 1e-6);
  for (const auto& [name, apart] : {std::pair{"l2_read", 1}, {"l2_read_apart", 37}}) {
    const double ms =
        ms_of(name, l2_read, resident, block, quads, results, int(l2_bytes / 16), apart);
    sink.rate(std::string(name) + "_gbs", double(l2_bytes) * resident.x / ms * 1e-6);
  }

  constexpr int table_iterations = 1 << 10, l1_iterations = 1 << 9;
  const double requests = warps * table_iterations * Config::TABLE / 32;
  const double shared_ms =
      ms_of("shared_read", shared_read, resident, block, results, table_iterations);
  sink.rate("shared_read_gbs", 128 * requests / shared_ms * 1e-6);
  sink.rate("shared_wavefronts_per_cycle", requests / sms / (shared_ms * 1e-3 * clock_hz));
  for (const L1Pattern& pattern : l1_patterns) {
    const auto cycles_of = [&](auto kernel, int threads) {  // in each of two blocks on an SM
      return ms_of("l1", kernel, resident, dim3(threads), numbers, results, pattern.stride,
                   l1_iterations) *
             1e-3 * clock_hz / (2.0 * threads / 32 * l1_iterations * Config::L1_STEPS);
    };
    const std::string name = pattern.name;
    sink.rate("l1_cycles." + name, cycles_of(l1_read<false>, Config::NUM_THREADS));
    sink.rate("l1_cycles_16_warps." + name, cycles_of(l1_read<false>, 256));
    sink.rate("l1_pair_extra." + name,
              cycles_of(l1_read<true>, Config::NUM_THREADS) - l1_cycles(pattern) - 1);
  }

  for (const int size : cublas_sizes)
    for (const std::string type : {"fp32", "tf32", "bf16"}) {
      tile::Case cube{size, size, size};
      if (type == "bf16") cube.types.A = cube.types.B = tile::Element::bf16;
      const std::string name = "cublas_" + type + "_" + std::to_string(size);
      const int repetitions = size <= 2048 ? 200 : 20;
      sink.rate(name, clocked(sink, name, [&] {
                  return tile::cublas_tflops(cube, type == "tf32", repetitions);
                }));
    }
}

// For a profiler: which kernel does cuBLAS choose, how many reads of l2_read reach the slices
// of L2, and what do the warps of ffma_operands wait for?
void profile() {
  tile::cublas_tflops({4096, 4096, 4096}, false, 1);
  constexpr std::size_t bytes = std::size_t(16) << 20;
  const tile::Buffer in = tile::device_memory(bytes), out = tile::device_memory(bytes);
  auto* results = static_cast<float*>(out.get());
  tile::launch(l2_read, dim3(264), dim3(Config::NUM_THREADS), 0,
               static_cast<const float4*>(in.get()), results, int(bytes / 16), 1);
  tile::cuda_check(cudaMemset(in.get(), 0, bytes), "cudaMemset");
  for (const auto kernel : {&ffma_operands<1>, &ffma_operands<2>, &ffma_operands<3>})
    tile::launch(kernel, dim3(264), dim3(512), 0, static_cast<const float*>(in.get()), results,
                 1 << 12);
  tile::cuda_check(cudaDeviceSynchronize(), "profile");
}
#else
constexpr void (*measure_rates)(tile::RateSink&) = nullptr;
constexpr void (*profile)() = nullptr;
#endif

// The predictions that figures and other pages share or that need a loop, and the SM clock
// before the first rate of the record and after the last.
void predict(tile::Facts& facts) {
  const tile::GpuSpec& gpu = tile::h200;
  for (const auto& [key, spec] : {std::pair{std::string("a6000"), &tile::rtx_a6000},
                                  {"laptop", &tile::rtx_5060_laptop},
                                  {"h100", &tile::h100},
                                  {"h200", &gpu}}) {
    facts.predicted(key + ".ridge", spec->ridge(), 1);
    facts.predicted(key + ".peak", spec->peak_tflops(), 1);
    facts.predicted(key + ".bandwidth", spec->dram_gbs, 0);
  }
  const double flops = 2.0 * 4096 * 4096 * 4096, bytes = 3.0 * 4096 * 4096 * 4;
  facts.predicted("h200.arithmetic_ms", flops / gpu.peak_tflops() * 1e-9, 2);
  facts.predicted("h200.memory_ms", bytes / gpu.dram_gbs * 1e-6, 3);
  facts.predicted("h200.intensity", flops / bytes, 0);
  facts.predicted("h200.shared_gbs", gpu.sms * gpu.clock_ghz * 128, 0);
  facts.predicted("h200.lanes", gpu.sms * gpu.fma_lanes);
  for (const L1Pattern& pattern : l1_patterns)
    facts.predicted(std::string("l1.") + pattern.name + ".cycles", l1_cycles(pattern));
  // For other pages; 600 follows from Little's law, at one instruction per cycle.
  facts.predicted("sm.sms", gpu.sms);
  facts.predicted("sm.warps_per_scheduler", gpu.max_threads / gpu.warp / gpu.schedulers);
  facts.predicted("sm.wavefront_bytes", tile::GpuSpec::banks * tile::GpuSpec::bank_bytes);
  facts.predicted("hide.600.scheduler", 600);
  for (const tile::Record& record :
       tile::load_records(tile::in_repository("chapters/00-machine")))
    if (record["gpu"] == tile::reference_gpu)
      for (const std::string when : {"clocks_before", "clocks_after"})
        facts.measured(when + ".sm_mhz", record.at(when).at("sm_mhz"), 0);
}

}  // namespace

TILE_CHAPTER(.number = 0, .title = "The machine and the measure", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {},
             .constants = {{"warp", tile::GpuSpec::warp},
                           {"schedulers", tile::GpuSpec::schedulers},
                           {"fma_lanes", tile::h200.fma_lanes},
                           {"max_blocks", tile::h200.max_blocks},
                           {"l1_bytes", tile::h200.l1_bytes},
                           {"banks", tile::GpuSpec::banks},
                           {"bank_bytes", tile::GpuSpec::bank_bytes}},
             .predict = predict, .measure_rates = measure_rates, .profile = profile,
             .profiled = {{"cublas", "gemm"},
                          {"l2", "l2_read"},
                          {"reads1", "ffma_operandsILi1E"},
                          {"reads2", "ffma_operandsILi2E"},
                          {"reads3", "ffma_operandsILi3E"}},
             .rates = all_rates())

using Array = tile::DeviceArray<float>;  // filled with 0, 1, 2, ...
float4* quads(const Array& array) { return reinterpret_cast<float4*>(array.device()); }

TEST_CASE("the copy copies") {
  Array in("in", 4096), out("out", 4096);
  out.set(std::vector<float>(4096));
  tile::launch(dram_copy, dim3(3), dim3(64), 0, quads(in), quads(out), std::size_t(1024));
  CHECK(out.host() == in.host());
}

TEST_CASE("every block of the L2 kernel reads the whole buffer") {
  const Array in("in", 4 * 256), out("out", 4 * 64);
  for (const int apart : {1, 3}) {
    tile::launch(l2_read, dim3(4), dim3(64), 0, quads(in), out.device(), 256, apart);
    const auto sums = out.host();
    for (auto block = sums.begin(); block != sums.end(); block += 64)
      CHECK(std::accumulate(block, block + 64, 0.0) == 1024.0 * 1023 / 2);
  }
}

TEST_CASE("the FFMA chains compute what they say") {
  const Array out("out", 3 * 64);
  tile::launch(ffma_peak, dim3(3), dim3(64), 0, out.device(), 2.0f, 1.0f, 3);
  // x -> 2x + 1, three times, from t .. t+7: 8 (8t + 28) + 8 * 7
  std::vector<float> expected;
  for (int i = 0; i < 3 * 64; ++i) expected.push_back(8.0f * (8 * (i % 64) + 28) + 56);
  CHECK(out.host() == expected);
}

TEST_CASE("the FFMA with one to three operands of their own compute what they say") {
  constexpr int SETS = Config::SETS, threads = 64;
  const Array in("in", 3 * SETS + threads), out("out", 2 * threads);
  int reads = 0;
  for (const auto kernel : {&ffma_operands<1>, &ffma_operands<2>, &ffma_operands<3>}) {
    ++reads;
    tile::launch(kernel, dim3(2), dim3(threads), 0, in.device(), out.device(), 2);
    std::vector<float> expected(2 * threads);
    for (int i = 0; i < 2 * threads; ++i)
      for (int set = 0; set < SETS; ++set) {
        const int acc = set + i % threads, factor = SETS + i % threads + (reads > 2 ? set : 0),
                  summand = 2 * SETS + i % threads + (reads > 1 ? set : 0);
        expected[std::size_t(i)] +=
            float((acc * factor + summand) * factor + summand) + float(3 * SETS + 2 * acc);
      }
    CHECK(out.host() == expected);
  }
}

TEST_CASE("the shared-memory kernel reads its table") {
  const Array out("out", 3 * 64);
  tile::launch(shared_read, dim3(3), dim3(64), 0, out.device(), 2);
  std::vector<float> expected(3 * 64);
  for (int i = 0; i < 3 * 64; ++i)
    for (int word = i % 32; word < 2 * Config::TABLE; word += 32)
      expected[std::size_t(i)] += float(word % 7);
  CHECK(out.host() == expected);
}

TEST_CASE("the L1 kernel reads its table line by line, and starts over") {
  const int stride = 3, iterations = 10;
  const Array in("in", std::size_t(Config::L1_SINGLES + Config::L1_TABLE)), out("out", 3 * 64);
  for (const bool paired : {false, true}) {
    tile::launch(paired ? l1_read<true> : l1_read<false>, dim3(3), dim3(64), 0, in.device(),
                 out.device(), stride, iterations);
    std::vector<float> expected(3 * 64);
    for (int i = 0; i < 3 * 64; ++i)
      for (int step = 0; step < iterations * Config::L1_STEPS; ++step) {
        const int at = step * Config::LINE_WORDS % Config::L1_TABLE;
        expected[std::size_t(i)] += float(i % 32 * stride + at);
        if (paired) expected[std::size_t(i)] += float(Config::L1_SINGLES + at);
      }
    CHECK(out.host() == expected);
  }
}

#if TILE_ON_MODEL
TEST_CASE("the microbenchmarks load what they claim to" * doctest::test_suite("model")) {
  const Array in("in", 32 * 1024), out("out", 2048);
  const auto counts_of = [&](auto&& run) { return simt::trace(run).front(); };

  for (const auto& [name, stride, lines, banks] : l1_patterns) {
    CAPTURE(name);
    const auto counts = counts_of([&, stride = stride] {
      tile::launch(l1_read<false>, dim3(1), dim3(1024), 0, in.device(), out.device(), stride,
                   4);
    });
    const simt::Site& load = tile::site(counts, "load-l1");
    CHECK(load.requests == 32u * 4 * Config::L1_STEPS);
    CHECK(load.lines == std::uint64_t(lines) * load.requests);
    CHECK(load.sectors == (lines == 1 ? 4u : 32u) * load.requests);
    CHECK(load.l1_wavefronts * std::uint64_t(banks) == 32 * load.requests);
    CHECK(load.l1_cycles >= std::max(load.tag_passes, load.l1_wavefronts));
    if (banks > 4) CHECK(load.l1_cycles == load.tag_passes);
  }

  const auto shared =
      counts_of([&] { tile::launch(shared_read, dim3(1), dim3(1024), 0, out.device(), 8); });
  const auto& word = tile::site(shared, "load-table");
  CHECK(word.wavefronts == word.requests);

  const auto copy = counts_of([&] {
    tile::launch(dram_copy, dim3(2), dim3(64), 0, quads(in), quads(out), std::size_t(512));
  });
  CHECK(tile::site(copy, "load-copy").sectors == 512 * 16 / 32);
}

TEST_CASE("blocks of the L2 kernel start apart" * doctest::test_suite("model")) {
  const Array in("in", 4 * 256), out("out", 3 * 32);
  for (const auto& [apart, second, third] : {std::tuple{1, 64, 160}, {2, 160, 64}})
    for (unsigned block = 0; block < 3; ++block) {
      simt::Trace trace;
      trace.sample_block = {block, 0, 0};
      const auto run = [&, apart = apart] {
        tile::launch(l2_read, dim3(3), dim3(32), 0, quads(in), out.device(), 256, apart);
      };
      const simt::Counts counts = simt::trace(run, trace).front();
      const int start = block == 0 ? 0 : block == 1 ? second : third;
      CHECK(counts.samples.front().byte_offset[0] == start * 16);
    }
}
#endif
