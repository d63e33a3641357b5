// Tile by Tile, chapter 00: the machine and the measure.
//
// Question: how fast could a matrix multiply be on this GPU, and how do we know how fast it
// is? Idea: one small kernel per resource, each of which keeps that resource busy and nothing
// else. Their rates are the roof over everything that follows. cuBLAS is the yardstick beside
// it.
//
// Build, run, verify:   ./tile run 00      ctest --preset model -R chapter00
#include "common/report/chapter.hpp"
#include "common/sim/rules.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet config]
struct Config {
  static constexpr int NUM_THREADS = 1024;
  static constexpr int CHAINS = 8;  // independent FMAs in flight per thread
  static constexpr int SETS = 16;   // the same, where operands differ: sets of three registers
  static constexpr int TABLE = 1024;  // words in each half of a block's table in shared memory
  static constexpr int LINE_WORDS = 32;  // 4-byte words in a 128-byte line
  static constexpr int L1_STEPS = 8;  // reads of L1 in a turn of the loop, each a line further
  static constexpr int L1_TABLE = 2048;  // words after which they start again
  // words from the table to where single words are read
  static constexpr int L1_SINGLES = 8192;
  static_assert(NUM_THREADS % 32 == 0, "the counts below are per full warp");
  static_assert(TABLE % 32 == 0, "a warp reads 32 neighbouring words at a time");
};
// [/snippet config]

// [snippet ffma]
// Nothing but FFMA: CHAINS independent chains a thread hide the latency of each other.
__global__ void ffma_peak(float* out, float factor, float summand, int rounds) {
  float acc[Config::CHAINS];
  for (int i = 0; i < Config::CHAINS; ++i) acc[i] = float(threadIdx.x + i);
#pragma unroll 64  // 512 FFMA a turn: the loop costs less than one in a hundred
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < Config::CHAINS; ++i) acc[i] = acc[i] * factor + summand;
  float sum = 0;
  for (int i = 0; i < Config::CHAINS; ++i) sum += acc[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet ffma]

// [snippet operands]
// An FFMA has three operands, and each chain has an accumulator of its own. With READS = 1 all
// chains share the factor and the summand; with 2 each has a summand of its own, with 3 a
// factor, too. `in` holds 3 * SETS + blockDim.x numbers: what they are the compiler cannot
// know, nor that lanes could share them.
template <int READS>
__global__ void __launch_bounds__(512) ffma_operands(const float* in, float* out, int rounds) {
  float acc[Config::SETS], factor[Config::SETS], summand[Config::SETS];
  for (int i = 0; i < Config::SETS; ++i) {
    acc[i] = in[i + threadIdx.x];
    factor[i] = in[Config::SETS + i + threadIdx.x];
    summand[i] = in[2 * Config::SETS + i + threadIdx.x];
  }
#pragma unroll 16
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < Config::SETS; ++i)
      acc[i] = acc[i] * factor[READS > 2 ? i : 0] + summand[READS > 1 ? i : 0];
  float sum = 0;
  for (int i = 0; i < Config::SETS; ++i) sum += acc[i] + factor[i] + summand[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet operands]

// [snippet copy]
// Every byte once in, once out, sixteen at a time.
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
// Every block reads the whole buffer, past L1. Blocks start at different places, `apart`
// blocks' shares apart: with 1, neighbouring multiprocessors follow each other closely; with a
// larger one they read unrelated lines.
__global__ void l2_read(const float4* in, float* out, int count, int apart) {
  float sum = 0;
  const int share = int(blockIdx.x * apart % gridDim.x);
  const int start =
      int((long long)count * share / gridDim.x) / int(blockDim.x) * int(blockDim.x);
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
// One word a lane, neighbouring words: one wavefront a request. The two halves of the table
// alternate, so that the compiler cannot keep a word.
__global__ void shared_read(float* out, int rounds) {
  __shared__ float table[2 * Config::TABLE];
  for (int i = threadIdx.x; i < 2 * Config::TABLE; i += blockDim.x) table[i] = float(i % 7);
  __syncthreads();  // a thread reads words that others wrote
  float sum = 0;
  int half = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < Config::TABLE; i += 32)
      sum += table[half + i + threadIdx.x % 32];  //@ load-table
    half ^= Config::TABLE;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet shared]

// [snippet l1]
// Lane l reads word l * stride of a table that stays in L1, so that the stride decides how
// many lines and how many banks a request touches. All warps read the same table, each step a
// line further and round again. PAIRED: after each request follows one for a single word, the
// same for all lanes.
template <bool PAIRED>
__global__ void l1_read(const float* in, float* out, int stride, int rounds) {
  const float* word = in + threadIdx.x % 32 * stride;
  const float* single = in + Config::L1_SINGLES;
  float sum = 0;
  int at = 0;
  for (int round = 0; round < rounds; ++round) {
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
// Strides that tell the parts of L1 apart.
struct L1Pattern {
  const char* name;
  int stride;  // words
};
constexpr L1Pattern l1_patterns[]{
    {"one_line", 1},  // 32 neighbours: 1 line, each word in a bank of its own
    // from here on each lane has a line of its own, 32 lines; each word in a bank of its own
    {"many_banks", 33},
    {"words2", 34},    // ... two words in each of 16 banks
    {"words4", 36},    // ... four in each of 8
    {"words8", 40},    // ... eight in each of 4
    {"words16", 48},   // ... sixteen in each of 2
    {"one_bank", 32},  // ... all in one
};
// [/snippet l1-patterns]

// What l1_read asks of L1, a request on average: the steps through its table are lines apart,
// so only tags differ.
struct L1Cost {
  double tag_passes = 0, cycles = 0;
};
L1Cost l1_cost(const L1Pattern& pattern) {
  constexpr int steps = Config::L1_TABLE / Config::LINE_WORDS;
  L1Cost sum;
  for (int step = 0; step < steps; ++step) {
    simt::WarpAccess access{.active = ~0u};
    for (int lane = 0; lane < 32; ++lane)
      access.address[std::size_t(lane)] =
          4 * std::uint64_t(step * Config::LINE_WORDS + lane * pattern.stride);
    sum.tag_passes += simt::tag_passes(access);
    sum.cycles += std::max(simt::tag_passes(access), simt::global_wavefronts(access));
  }
  return {sum.tag_passes / steps, sum.cycles / steps};
}

const std::vector<tile::Chapter::Rate> rates{
    {"sm_clock_ghz", "SM clock under load, GHz"},
    {"ffma_tflops", "FFMA, TFLOP/s"},
    {"ffma_cycles.reads1", "cycles an FFMA and scheduler: 1 register read"},
    {"ffma_cycles.reads2", "cycles an FFMA and scheduler: 2 registers read"},
    {"ffma_cycles.reads3", "cycles an FFMA and scheduler: 3 registers read"},
    {"ffma_cycles_alone.reads1", "the same with one warp a scheduler: 1 register read"},
    {"ffma_cycles_alone.reads2", "one warp a scheduler: 2 registers read"},
    {"ffma_cycles_alone.reads3", "one warp a scheduler: 3 registers read"},
    {"dram_copy_gbs", "DRAM copy, GB/s read and written"},
    {"l2_read_gbs", "L2 read, neighbours close, GB/s"},
    {"l2_read_apart_gbs", "L2 read, neighbours apart, GB/s"},
    {"shared_read_gbs", "shared memory read, GB/s"},
    {"shared_wavefronts_per_cycle", "shared wavefronts per cycle and SM"},
    {"l1_cycles.one_line", "L1 cycles a request: 1 line, 32 banks"},
    {"l1_cycles.many_banks", "L1 cycles a request: 32 lines, 32 banks"},
    {"l1_cycles.words2", "L1 cycles a request: 32 lines, 16 banks"},
    {"l1_cycles.words4", "L1 cycles a request: 32 lines, 8 banks"},
    {"l1_cycles.words8", "L1 cycles a request: 32 lines, 4 banks"},
    {"l1_cycles.words16", "L1 cycles a request: 32 lines, 2 banks"},
    {"l1_cycles.one_bank", "L1 cycles a request: 32 lines, 1 bank"},
    {"l1_cycles_16_warps.one_line", "L1 cycles a request with 16 warps an SM: 1 line"},
    {"l1_cycles_16_warps.many_banks", "16 warps an SM: 32 lines, 32 banks"},
    {"l1_cycles_16_warps.words2", "16 warps an SM: 32 lines, 16 banks"},
    {"l1_cycles_16_warps.words4", "16 warps an SM: 32 lines, 8 banks"},
    {"l1_cycles_16_warps.words8", "16 warps an SM: 32 lines, 4 banks"},
    {"l1_cycles_16_warps.words16", "16 warps an SM: 32 lines, 2 banks"},
    {"l1_cycles_16_warps.one_bank", "16 warps an SM: 32 lines, 1 bank"},
    {"l1_pair_extra.one_line", "with a one-word request after each, beyond the rule: 1 line"},
    {"l1_pair_extra.many_banks", "the same: 32 lines, 32 banks"},
    {"l1_pair_extra.words2", "the same: 32 lines, 16 banks"},
    {"l1_pair_extra.words4", "the same: 32 lines, 8 banks"},
    {"l1_pair_extra.words8", "the same: 32 lines, 4 banks"},
    {"l1_pair_extra.words16", "the same: 32 lines, 2 banks"},
    {"l1_pair_extra.one_bank", "the same: 32 lines, 1 bank"},
    {"cublas_fp32_1024", "cuBLAS FP32, 1024, TFLOP/s"},
    {"cublas_fp32_2048", "cuBLAS FP32, 2048"},
    {"cublas_fp32_4096", "cuBLAS FP32, 4096"},
    {"cublas_fp32_8192", "cuBLAS FP32, 8192"},
    {"cublas_tf32_1024", "cuBLAS TF32, 1024"},
    {"cublas_tf32_2048", "cuBLAS TF32, 2048"},
    {"cublas_tf32_4096", "cuBLAS TF32, 4096"},
    {"cublas_tf32_8192", "cuBLAS TF32, 8192"},
    {"cublas_bf16_1024", "cuBLAS BF16, 1024"},
    {"cublas_bf16_2048", "cuBLAS BF16, 2048"},
    {"cublas_bf16_4096", "cuBLAS BF16, 4096"},
    {"cublas_bf16_8192", "cuBLAS BF16, 8192"}};

#if TILE_ON_GPU
// Keeps one warp a multiprocessor busy for a known number of the multiprocessor's own cycles.
__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void measure_rates(tile::RateSink& sink) {
  int sms = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  const std::size_t copy_bytes = std::size_t(1) << 30;
  const std::size_t l2_bytes = std::size_t(16) << 20;
  char *in, *out;
  tile::cuda_check(cudaMalloc(&in, copy_bytes), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&out, copy_bytes), "cudaMalloc");
  const std::vector<float> noise = tile::make_values(copy_bytes / 16, tile::Fill::random, 7);
  for (int quarter = 0; quarter < 4; ++quarter)
    tile::cuda_check(cudaMemcpy(in + quarter * copy_bytes / 4, noise.data(), copy_bytes / 4,
                                cudaMemcpyHostToDevice),
                     "fill");
  auto* results = reinterpret_cast<float*>(out);

  const dim3 block(Config::NUM_THREADS);
  const dim3 resident(sms * 2);  // two blocks of 1024 threads fill a multiprocessor
  const double warps = double(resident.x) * Config::NUM_THREADS / 32;

  const int rounds = 1 << 14;
  const double ffma_ms =
      tile::time_ms([&](int) {
        tile::launch(ffma_peak, resident, block, 0, results, 0.999f, 0.001f, rounds);
      }).median;
  sink.rate("ffma_tflops", 2.0 * 32 * warps * Config::CHAINS * rounds / ffma_ms * 1e-9);

  // Right after the hottest kernel: the clock that arithmetic runs at.
  const long long cycles = 20'000'000;
  const double clock_hz =
      cycles /
      tile::time_ms([&](int) { tile::launch(spin, dim3(sms), dim3(32), 0, cycles); }, 5)
          .median *
      1e3;
  sink.rate("sm_clock_ghz", clock_hz * 1e-9);

  const int operand_rounds = 1 << 14;
  const auto* numbers = reinterpret_cast<const float*>(in);
  for (const auto& [name, kernel] : {std::pair{"reads1", &ffma_operands<1>},
                                     {"reads2", &ffma_operands<2>},
                                     {"reads3", &ffma_operands<3>}}) {
    // With one warp a scheduler nobody else's instructions come between two of a warp's.
    for (const auto& [key, blocks, threads] :
         {std::tuple{"ffma_cycles.", 2, 512}, {"ffma_cycles_alone.", 1, 128}}) {
      const double ms =
          tile::time_ms([&, kernel = kernel, blocks = blocks, threads = threads](int) {
            tile::launch(kernel, dim3(sms * blocks), dim3(threads), 0, numbers, results,
                         operand_rounds);
          }).median;
      const double per_scheduler =
          double(blocks) * threads / 32 / 4 * operand_rounds * Config::SETS;
      sink.rate(std::string(key) + name, ms * 1e-3 * clock_hz / per_scheduler);
    }
  }

  const double copy_ms = tile::time_ms([&](int) {
                           tile::launch(dram_copy, dim3(sms * 16), dim3(512), 0,
                                        reinterpret_cast<const float4*>(in),
                                        reinterpret_cast<float4*>(out), copy_bytes / 16);
                         }).median;
  sink.rate("dram_copy_gbs", 2.0 * copy_bytes / copy_ms * 1e-6);

  for (const auto& [name, apart] : {std::pair{"l2_read_gbs", 1}, {"l2_read_apart_gbs", 37}}) {
    const double ms =
        tile::time_ms([&, apart = apart](int) {
          tile::launch(l2_read, resident, block, 0, reinterpret_cast<const float4*>(in),
                       results, int(l2_bytes / 16), apart);
        }).median;
    sink.rate(name, double(l2_bytes) * resident.x / ms * 1e-6);
  }

  const int table_rounds = 1 << 10;
  const double requests = warps * table_rounds * Config::TABLE / 32;
  const double shared_ms =
      tile::time_ms([&](int) {
        tile::launch(shared_read, resident, block, 0, results, table_rounds);
      }).median;
  sink.rate("shared_read_gbs", 128 * requests / shared_ms * 1e-6);
  sink.rate("shared_wavefronts_per_cycle", requests / sms / (shared_ms * 1e-3 * clock_hz));

  const int l1_rounds = 1 << 9;
  for (const L1Pattern& pattern : l1_patterns) {
    // two blocks of so many threads on each SM
    const auto cycles = [&](auto kernel, int threads) {
      const auto run = [&](int) {
        tile::launch(kernel, resident, dim3(threads), 0, numbers, results, pattern.stride,
                     l1_rounds);
      };
      return tile::time_ms(run).median * 1e-3 * clock_hz /
             (2.0 * threads / 32 * l1_rounds * Config::L1_STEPS);
    };
    sink.rate(std::string("l1_cycles.") + pattern.name,
              cycles(l1_read<false>, Config::NUM_THREADS));
    sink.rate(std::string("l1_cycles_16_warps.") + pattern.name, cycles(l1_read<false>, 256));
    sink.rate(std::string("l1_pair_extra.") + pattern.name,
              cycles(l1_read<true>, Config::NUM_THREADS) - l1_cost(pattern).cycles - 1);
  }
  cudaFree(in);
  cudaFree(out);

  for (const int size : {1024, 2048, 4096, 8192}) {
    tile::Case cube{size, size, size};
    sink.rate("cublas_fp32_" + std::to_string(size), tile::cublas_tflops(cube));
    sink.rate("cublas_tf32_" + std::to_string(size), tile::cublas_tflops(cube, true));
    cube.types.A = cube.types.B = tile::Element::bf16;
    sink.rate("cublas_bf16_" + std::to_string(size), tile::cublas_tflops(cube));
  }
}

// For a profiler: which kernel does cuBLAS choose, what do the L2 slices see of l2_read, what
// do warps of ffma_operands wait for?
void profile() {
  tile::cublas_tflops({4096, 4096, 4096}, false, 1);
  char* memory;
  const std::size_t bytes = std::size_t(16) << 20;
  tile::cuda_check(cudaMalloc(&memory, 2 * bytes), "cudaMalloc");
  tile::launch(l2_read, dim3(264), dim3(Config::NUM_THREADS), 0,
               reinterpret_cast<const float4*>(memory),
               reinterpret_cast<float*>(memory + bytes), int(bytes / 16), 1);
  tile::cuda_check(cudaMemset(memory, 0, bytes), "cudaMemset");
  for (const auto kernel : {&ffma_operands<1>, &ffma_operands<2>, &ffma_operands<3>})
    tile::launch(kernel, dim3(264), dim3(512), 0, reinterpret_cast<const float*>(memory),
                 reinterpret_cast<float*>(memory + bytes), 1 << 12);
  tile::cuda_check(cudaDeviceSynchronize(), "l2_read");
  cudaFree(memory);
}
#else
constexpr void (*measure_rates)(tile::RateSink&) = nullptr;
constexpr void (*profile)() = nullptr;
#endif

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const double n = 4092;
  const double flops = 2 * n * n * n + n * n, read = 3 * n * n * 4, written = n * n * 4;
  const tile::GpuSpec& a6000 = tile::rtx_a6000;
  facts.predicted("4092.gflop", flops * 1e-9, 0);
  facts.predicted("4092.read_mb", read * 1e-6, 0);
  facts.predicted("4092.written_mb", written * 1e-6, 0);
  facts.predicted("4092.intensity", flops / (read + written), 0);
  facts.predicted("a6000.peak_tflops", a6000.peak_tflops(), 1);
  facts.predicted("a6000.dram_gbs", a6000.dram_gbs, 0);
  facts.predicted("a6000.arithmetic_ms", flops / a6000.peak_tflops() * 1e-9, 2);
  facts.predicted("a6000.memory_ms", (read + written) / a6000.dram_gbs * 1e-6, 2);
  facts.predicted(
      "a6000.times",
      flops / a6000.peak_tflops() * 1e-9 / ((read + written) / a6000.dram_gbs * 1e-6), 0);
  for (const auto& [key, gpu] : {std::pair{"a6000", tile::rtx_a6000},
                                 {"laptop", tile::rtx_5060_laptop},
                                 {"h100", tile::h100},
                                 {"h200", tile::h200}}) {
    facts.predicted(std::string(key) + ".ridge", gpu.ridge(), 1);
    facts.predicted(std::string(key) + ".peak", gpu.peak_tflops(), 1);
    facts.predicted(std::string(key) + ".bandwidth", gpu.dram_gbs, 0);
  }
  const tile::GpuSpec& gpu = tile::h200;
  const double h200_flops = 2.0 * 4096 * 4096 * 4096, h200_bytes = 3.0 * 4096 * 4096 * 4;
  facts.predicted("h200.arithmetic_ms", h200_flops / gpu.peak_tflops() * 1e-9, 2);
  facts.predicted("h200.memory_ms", h200_bytes / gpu.dram_gbs * 1e-6, 3);
  facts.predicted("h200.intensity", h200_flops / h200_bytes, 0);
  facts.predicted("h200.shared_gbs", gpu.sms * gpu.clock_ghz * 128, 0);
  facts.predicted("h200.lanes", gpu.sms * gpu.fma_lanes);
  for (const L1Pattern& pattern : l1_patterns) {
    const L1Cost cost = l1_cost(pattern);
    facts.predicted(std::string("l1.") + pattern.name + ".tag_passes", cost.tag_passes);
    facts.predicted(std::string("l1.") + pattern.name + ".cycles", cost.cycles);
  }
  // The page before this chapter: an SM's parts, ...
  constexpr int schedulers = tile::GpuSpec::schedulers, warp = tile::GpuSpec::warp;
  facts.predicted("sm.sms", gpu.sms);
  facts.predicted("sm.warp", warp);
  facts.predicted("sm.schedulers", schedulers);
  facts.predicted("sm.warps_per_scheduler", gpu.max_warps() / schedulers);
  facts.predicted("sm.lanes_per_scheduler", gpu.fma_lanes / schedulers);
  facts.predicted("sm.threads", gpu.max_threads);
  facts.predicted("sm.blocks", gpu.max_blocks);
  facts.predicted("sm.registers", gpu.registers);
  facts.predicted("sm.registers_kb", gpu.registers * 4 / 1024);
  facts.predicted("sm.registers_per_scheduler", gpu.registers / schedulers);
  facts.predicted("sm.registers_full", gpu.registers / gpu.max_threads);
  facts.predicted("sm.l1_kb", gpu.l1_bytes / 1024);
  facts.predicted("sm.shared_kb", gpu.shared_bytes / 1024);
  facts.predicted("sm.banks", tile::GpuSpec::banks);
  facts.predicted("sm.bank_bytes", tile::GpuSpec::bank_bytes);
  facts.predicted("sm.wavefront_bytes", tile::GpuSpec::banks * tile::GpuSpec::bank_bytes);
  // ... and Little's law: in flight = latency * rate. With 128 registers a thread, blocks of
  // 256 threads fill an SM.
  constexpr int registers = 128, block = 256, one_in = 20;
  const int few_threads = tile::occupancy(gpu, block, registers, 0).blocks * block;
  // warps a scheduler
  const int full = gpu.max_warps() / schedulers, few = few_threads / warp / schedulers;
  facts.predicted("hide.registers", registers);
  facts.predicted("hide.threads", few_threads);
  facts.predicted("hide.occupancy_percent", 100.0 * few_threads / gpu.max_threads);
  facts.predicted("hide.warps_per_scheduler", few);
  facts.predicted("hide.one_in", one_in);
  const auto in_flight = [&](const std::string& key, double latency, double rate) {
    facts.predicted(key + ".scheduler", latency * rate);
    facts.predicted(key + ".sm", schedulers * latency * rate);
    facts.predicted(key + ".full", std::ceil(latency * rate / full));
    facts.predicted(key + ".few", std::ceil(latency * rate / few));
  };
  for (const int latency : {4, 30, 600})
    in_flight("hide." + std::to_string(latency), latency, 1);
  in_flight("hide.600.mixed", 600, 1.0 / one_in);
  const double bytes_per_cycle = gpu.dram_gbs / gpu.clock_ghz / gpu.sms;
  facts.predicted("hide.dram.bytes_per_cycle", bytes_per_cycle, 1);
  facts.predicted("hide.dram.bytes", 600 * bytes_per_cycle, 0);
  facts.predicted("hide.dram.words_full",
                  std::ceil(600 * bytes_per_cycle / gpu.max_threads / 4));
  facts.predicted("hide.dram.words_few", std::ceil(600 * bytes_per_cycle / few_threads / 4));
}

}  // namespace

TILE_CHAPTER(.number = 0, .title = "The machine and the measure", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {}, .predict = predict,
             .measure_rates = measure_rates, .profile = profile,
             .profiled = {{"cublas", "gemm"},
                          {"l2", "l2_read"},
                          {"reads1", "ffma_operandsILi1E"},
                          {"reads2", "ffma_operandsILi2E"},
                          {"reads3", "ffma_operandsILi3E"}},
             .rates = rates)

namespace {

// Device memory for one test, filled with 0, 1, 2, ...
struct Array {
  Array(std::size_t count, const char* name)
      : size(count),
        data(static_cast<float*>(
            tile::machine::allocate(count * sizeof(float), sizeof(float), name))) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = float(i);
    tile::machine::copy_to_device(data, values.data(), count * sizeof(float));
  }
  ~Array() { tile::machine::release(data); }
  Array(const Array&) = delete;
  std::vector<float> download() const {
    std::vector<float> values(size);
    tile::machine::copy_to_host(values.data(), data, size * sizeof(float));
    return values;
  }
  float4* quads() const { return reinterpret_cast<float4*>(data); }
  std::size_t size;
  float* data;
};

}  // namespace

TEST_CASE("the copy copies") {
  const Array in(4096, "in"), out(4096, "out");
  const std::vector<float> zeros(4096);
  tile::machine::copy_to_device(out.data, zeros.data(), 4096 * sizeof(float));
  tile::launch(dram_copy, dim3(3), dim3(64), 0, in.quads(), out.quads(), std::size_t(1024));
  CHECK(out.download() == in.download());
}

TEST_CASE("every block of the L2 kernel reads the whole buffer") {
  const Array in(4 * 256, "in"), out(4 * 64, "out");
  const double whole = 1024.0 * 1023 / 2;
  for (const int apart : {1, 3}) {
    tile::launch(l2_read, dim3(4), dim3(64), 0, in.quads(), out.data, 256, apart);
    const auto sums = out.download();
    for (int block = 0; block < 4; ++block) {
      double sum = 0;
      for (int thread = 0; thread < 64; ++thread)
        sum += sums[std::size_t(block * 64 + thread)];
      CHECK(sum == whole);
    }
  }
}

TEST_CASE("the FFMA chains compute what they say") {
  const Array out(3 * 64, "out");
  tile::launch(ffma_peak, dim3(3), dim3(64), 0, out.data, 2.0f, 1.0f, 3);
  // x -> 2x + 1, three times, from t .. t+7: 8 (8t + 28) + 8 * 7
  std::vector<float> expected;
  for (int i = 0; i < 3 * 64; ++i) expected.push_back(8.0f * (8 * (i % 64) + 28) + 56);
  CHECK(out.download() == expected);
}

TEST_CASE("the FFMA with one to three operands of their own compute what they say") {
  constexpr int SETS = Config::SETS, threads = 64;
  const Array in(3 * SETS + threads, "in"), out(2 * threads, "out");
  const auto expected = [&](int reads) {
    std::vector<float> sums;
    for (int i = 0; i < 2 * threads; ++i) {
      const int thread = i % threads;
      float sum = 0;
      for (int set = 0; set < SETS; ++set) {
        const float factor = float(SETS + (reads > 2 ? set : 0) + thread);
        const float summand = float(2 * SETS + (reads > 1 ? set : 0) + thread);
        float acc = float(set + thread);
        for (int round = 0; round < 2; ++round) acc = acc * factor + summand;
        sum += acc + float(SETS + set + thread) + float(2 * SETS + set + thread);
      }
      sums.push_back(sum);
    }
    return sums;
  };
  const auto run = [&](auto kernel) {
    tile::launch(kernel, dim3(2), dim3(threads), 0, in.data, out.data, 2);
    return out.download();
  };
  CHECK(run(ffma_operands<1>) == expected(1));
  CHECK(run(ffma_operands<2>) == expected(2));
  CHECK(run(ffma_operands<3>) == expected(3));
}

TEST_CASE("the shared-memory kernel reads its table") {
  const Array out(3 * 64, "out");
  tile::launch(shared_read, dim3(3), dim3(64), 0, out.data, 2);
  std::vector<float> expected(3 * 64);
  for (int i = 0; i < 3 * 64; ++i)
    for (int word = i % 32; word < 2 * Config::TABLE; word += 32)
      expected[std::size_t(i)] += float(word % 7);
  CHECK(out.download() == expected);
}

TEST_CASE("the L1 kernel reads its table line by line, and round again") {
  const int stride = 3, rounds = 10;
  const Array in(std::size_t(Config::L1_SINGLES + Config::L1_TABLE), "in"), out(3 * 64, "out");
  const auto expected = [&](bool paired) {
    std::vector<float> sums(3 * 64);
    for (int i = 0; i < 3 * 64; ++i)
      for (int step = 0; step < rounds * Config::L1_STEPS; ++step) {
        const int at = step * Config::LINE_WORDS % Config::L1_TABLE;
        sums[std::size_t(i)] += float(i % 32 * stride + at);
        if (paired) sums[std::size_t(i)] += float(Config::L1_SINGLES + at);
      }
    return sums;
  };
  tile::launch(l1_read<false>, dim3(3), dim3(64), 0, in.data, out.data, stride, rounds);
  CHECK(out.download() == expected(false));
  tile::launch(l1_read<true>, dim3(3), dim3(64), 0, in.data, out.data, stride, rounds);
  CHECK(out.download() == expected(true));
}

TEST_CASE("a request of each L1 pattern has the lines and banks that the pattern is for") {
  const std::vector<std::pair<std::size_t, std::size_t>> lines_and_banks{
      {1, 32}, {32, 32}, {32, 16}, {32, 8}, {32, 4}, {32, 2}, {32, 1}};
  REQUIRE(lines_and_banks.size() == std::size(l1_patterns));
  const auto distinct = [](std::vector<int> all) {
    std::sort(all.begin(), all.end());
    return std::size_t(std::unique(all.begin(), all.end()) - all.begin());
  };
  for (std::size_t i = 0; i < lines_and_banks.size(); ++i) {
    INFO(l1_patterns[i].name);
    std::vector<int> lines, banks;
    for (int lane = 0; lane < 32; ++lane) {
      const int word = lane * l1_patterns[i].stride;
      lines.push_back(word / Config::LINE_WORDS);
      banks.push_back(word % tile::GpuSpec::banks);
    }
    CHECK(std::pair(distinct(lines), distinct(banks)) == lines_and_banks[i]);
  }
}

TEST_CASE("a 4092 GEMM costs 137 GFLOP and is compute-bound on paper") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("4092.gflop") == doctest::Approx(137.0).epsilon(0.005));
  CHECK(facts.value("4092.read_mb") == doctest::Approx(201).epsilon(0.005));
  CHECK(facts.value("4092.written_mb") == doctest::Approx(67).epsilon(0.005));
  CHECK(facts.value("a6000.arithmetic_ms") == doctest::Approx(4.5).epsilon(0.02));
  CHECK(facts.value("a6000.memory_ms") == doctest::Approx(0.34).epsilon(0.03));
  CHECK(facts.value("a6000.times") > 10);
}

TEST_CASE("ridge points") {
  CHECK(tile::rtx_a6000.ridge() == doctest::Approx(39).epsilon(0.01));
  CHECK(tile::rtx_5060_laptop.ridge() == doctest::Approx(25).epsilon(0.01));
  CHECK(tile::h200.peak_tflops() == doctest::Approx(66.9).epsilon(0.001));
  CHECK(tile::h100.ridge() > tile::h200.ridge());  // same arithmetic, slower memory
}

// The share of its issue slots that a scheduler fills if it has `chains` chains of
// instructions, in each of which an instruction waits `latency` cycles for the one before it.
double slots_filled(int chains, int latency) {
  // the cycle in which a chain can issue again
  std::vector<long> ready(std::size_t(chains), 0);
  const long cycles = 8L * latency;
  long issued = 0;
  for (long now = 0; now < cycles; ++now) {
    const auto next = std::min_element(ready.begin(), ready.end());
    if (*next > now) continue;
    *next = now + latency;
    ++issued;
  }
  return double(issued) / double(cycles);
}

TEST_CASE(
    "as many instructions in flight as Little's law says fill every issue slot, and one fewer does not") {
  tile::Facts facts;
  predict(facts);
  for (const int latency : {4, 30, 600}) {
    const std::string key = "hide." + std::to_string(latency);
    const int needed = int(facts.value(key + ".scheduler"));
    CHECK(slots_filled(needed, latency) == 1);
    CHECK(slots_filled(needed - 1, latency) < 1);
    CHECK(facts.value(key + ".sm") == 4 * needed);
    for (const auto& [share, warps] : {std::pair{".full", 16}, {".few", 4}}) {
      const int each = int(facts.value(key + share));
      CHECK(slots_filled(warps * each, latency) == 1);
      if (each > 1) CHECK(slots_filled(warps * (each - 1), latency) < 1);
    }
  }
  CHECK(facts.value("hide.600.mixed.scheduler") == 30);
  // More results on their way than a thread has registers for.
  CHECK(facts.value("hide.600.full") > facts.value("sm.registers_full"));
  CHECK(facts.value("hide.600.few") > facts.value("hide.registers"));
}

TEST_CASE("128 registers a thread leave a quarter of the threads") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("hide.threads") * facts.value("hide.registers") == 65536);
  CHECK(facts.value("hide.occupancy_percent") == 25);
  CHECK(facts.value("hide.warps_per_scheduler") == 4);
  CHECK(facts.value("sm.registers_full") * 2048 == 65536);
  CHECK(tile::h200.max_warps() == 64);
  // 4.8 TB/s for 132 SMs at 1.98 GHz, for 600 cycles: 11 KB, 21.5 bytes for each of 512
  // threads.
  CHECK(facts.value("hide.dram.bytes") == doctest::Approx(11019).epsilon(0.001));
  CHECK(facts.value("hide.dram.words_full") == 2);
  CHECK(facts.value("hide.dram.words_few") == 6);
}

#if TILE_ON_MODEL
TEST_CASE("the microbenchmarks load what they claim to" * doctest::test_suite("model")) {
  const Array in(32 * 1024, "in"), out(2048, "out");
  const auto counts_of = [&](auto&& run) { return simt::trace(run).front(); };

  const auto l1 = [&](const std::string& pattern) {
    int stride = 0;
    for (const auto& [name, words] : l1_patterns)
      if (name == pattern) stride = words;
    const auto counts = counts_of([&] {
      tile::launch(l1_read<false>, dim3(1), dim3(1024), 0, in.data, out.data, stride, 4);
    });
    const simt::Site& site = tile::site(counts, "load-l1");
    CHECK(site.requests == 32u * 4 * Config::L1_STEPS);
    return site;
  };
  const simt::Site one_line = l1("one_line"), many_banks = l1("many_banks"),
                   one_bank = l1("one_bank");
  CHECK(one_line.l1_cycles == one_line.requests);
  CHECK(one_line.lines == one_line.requests);
  CHECK(many_banks.lines == 32 * many_banks.requests);
  CHECK(many_banks.l1_wavefronts == many_banks.requests);
  CHECK(many_banks.l1_cycles == many_banks.tag_passes);
  CHECK(many_banks.tag_passes >= 8 * many_banks.requests);
  CHECK(one_bank.lines == 32 * one_bank.requests);
  CHECK(one_bank.l1_cycles == 32 * one_bank.requests);

  const auto shared =
      counts_of([&] { tile::launch(shared_read, dim3(1), dim3(1024), 0, out.data, 8); });
  const auto& word = tile::site(shared, "load-table");
  CHECK(word.wavefronts == word.requests);
  CHECK(shared.static_shared_bytes == 2 * Config::TABLE * sizeof(float));

  const auto copy = counts_of([&] {
    tile::launch(dram_copy, dim3(2), dim3(64), 0, in.quads(), out.quads(), std::size_t(512));
  });
  CHECK(tile::site(copy, "load-copy").sectors == 512 * 16 / 32);
  CHECK(tile::site(copy, "load-copy").width == 16);
}

TEST_CASE("blocks of the L2 kernel begin their shares apart" * doctest::test_suite("model")) {
  const Array in(4 * 256, "in"), out(3 * 32, "out");
  const std::vector<std::pair<int, std::vector<int>>> cases{{1, {0, 64, 160}},
                                                            // 85 and 170, in 32s
                                                            {2, {0, 160, 64}}};
  for (const auto& [apart, starts] : cases)
    for (unsigned block = 0; block < 3; ++block) {
      simt::Trace trace;
      trace.sample_block = {block, 0, 0};
      const auto run = [&] {
        tile::launch(l2_read, dim3(3), dim3(32), 0, in.quads(), out.data, 256, apart);
      };
      const simt::Counts counts = simt::trace(run, trace).front();
      REQUIRE(tile::has_tag(counts.sites[counts.samples.front().site], "load-l2"));
      CHECK(counts.samples.front().byte_offset[0] == starts[block] * 16);
    }
}
#endif
