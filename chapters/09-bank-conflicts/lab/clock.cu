// Tile by Tile, chapter 09, a lab: what does an access to shared memory cost?
//
// Question: by which rule do the banks serve the lanes of a warp? Idea: keep shared memory
// busy with one pattern of accesses and nothing else; the cycles of a request are then its
// wavefronts. Several rules fit all patterns that a profiler counted (common/sim/data); the
// clock times patterns about which these rules disagree.
//
// Build, run, verify:   ./tile run 09-clock      ctest --preset model -R chapter09.clock
#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// A warp-wide access to shared memory: how many bytes a lane reads or writes, and the first of
// its words. In a load, a lane whose first word is IDLE takes no part.
struct Pattern {
  template <class FirstWord>
  Pattern(std::string name_, int bytes_, bool is_load_, FirstWord first_word)
      : name(std::move(name_)), bytes(bytes_), is_load(is_load_) {
    for (int lane = 0; lane < 32; ++lane) word[lane] = first_word(lane);
  }
  std::string name;
  int bytes;
  bool is_load;
  std::array<int, 32> word;
};
constexpr int IDLE = -1;

// Numbers the pairs of lanes l and l ^ distance, and gives the number of the pair that a lane
// belongs to.
constexpr int pair_of(int lane, int distance) {
  // the bit that tells the lanes of a pair apart
  const int highest = int(std::bit_floor(unsigned(distance)));
  const int lower = std::min(lane, lane ^ distance);
  return lower / (2 * highest) * highest + lower % highest;
}

const std::vector<Pattern> patterns = [] {
  const bool load = true, store = false;
  std::vector<Pattern> all{
      {"load4.neighbours", 4, load, [](int lane) { return lane; }},
      {"load4.one_word", 4, load, [](int) { return 0; }},
      {"load4.two_rows", 4, load, [](int lane) { return lane % 2 * 32; }},
      {"load4.apart2", 4, load, [](int lane) { return lane * 2; }},
      {"load4.apart3", 4, load, [](int lane) { return lane * 3; }},
      {"load4.apart32", 4, load, [](int lane) { return lane * 32; }},
      {"load4.apart33", 4, load, [](int lane) { return lane * 33; }},
      {"load8.neighbours", 8, load, [](int lane) { return lane * 2; }},
      {"load8.one_word", 8, load, [](int) { return 0; }},
      {"load8.apart4", 8, load, [](int lane) { return lane * 4; }},
      {"load16.neighbours", 16, load, [](int lane) { return lane * 4; }},
      {"load16.one_word", 16, load, [](int) { return 0; }},
      {"load16.rows_of_16", 16, load, [](int lane) { return lane / 16 * 8; }},
      {"load16.rows_of_8", 16, load, [](int lane) { return lane / 8 * 8; }},
      {"load16.rows_of_4", 16, load, [](int lane) { return lane / 4 * 8; }},
      {"load16.columns", 16, load, [](int lane) { return lane % 8 * 4; }},
      {"load16.paired", 16, load, [](int lane) { return lane / 2 % 8 * 4; }},
      {"load16.flat", 16, load, [](int lane) { return lane % 16 * 8; }},
      {"load16.apart32", 16, load, [](int lane) { return lane * 32; }},
      {"store4.neighbours", 4, store, [](int lane) { return lane; }},
      {"store4.apart2", 4, store, [](int lane) { return lane * 2; }},
      {"store4.two_a_row", 4, store, [](int lane) { return lane % 2 * 4 * 128 + lane / 2; }},
      {"store4.two_a_row_padded", 4, store,
       [](int lane) { return lane % 2 * 4 * 132 + lane / 2; }},
      {"store4.four_a_row", 4, store, [](int lane) { return lane % 4 * 4 * 128 + lane / 4; }},
      {"store4.four_a_row_padded", 4, store,
       [](int lane) { return lane % 4 * 4 * 132 + lane / 4; }},
      {"store8.neighbours", 8, store, [](int lane) { return lane * 2; }},
      {"store8.apart4", 8, store, [](int lane) { return lane * 4; }},
      {"store16.neighbours", 16, store, [](int lane) { return lane * 4; }},
  };
  // Which lanes must agree? Here lane l has the address of lane l ^ distance, and of no other
  // lane, for all distances within two groups.
  for (const int bytes : {8, 16}) {
    const auto pairs = [&](int distance) {
      return [=](int lane) { return pair_of(lane, distance) * bytes / 4; };
    };
    const std::string width = std::to_string(bytes);
    for (int distance = 1; distance < 256 / bytes; ++distance)
      all.emplace_back("load" + width + ".by" + std::to_string(distance), bytes, load,
                       pairs(distance));
    // Must all lanes agree at the same distance? One half of the warp agrees at distance 1 and
    // the other at 2; or so do alternate quads.
    all.emplace_back("load" + width + ".halves_differ", bytes, load,
                     [&](int lane) { return pairs(lane < 16 ? 1 : 2)(lane); });
    all.emplace_back("load" + width + ".quads_differ", bytes, load,
                     [&](int lane) { return pairs(lane % 8 < 4 ? 1 : 2)(lane); });
    // Must all lanes agree? Lanes 0 to 15 do at distance 1, the others do not.
    all.emplace_back("load" + width + ".half_agrees", bytes, load,
                     [&](int lane) { return lane < 16 ? pairs(1)(lane) : lane * bytes / 4; });
    // Idle lanes: one of every pair, or every other group.
    all.emplace_back("load" + width + ".odd_idle", bytes, load,
                     [&](int lane) { return lane % 2 == 0 ? pairs(1)(lane) : IDLE; });
    all.emplace_back("load" + width + ".groups_idle", bytes, load, [&](int lane) {
      return lane * bytes / 128 % 2 == 0 ? lane * bytes / 4 : IDLE;
    });
    // Do stores merge?
    all.emplace_back("store" + width + ".one_word", bytes, store, [](int) { return 0; });
    for (const int distance : {1, 2})
      all.emplace_back("store" + width + ".by" + std::to_string(distance), bytes, store,
                       pairs(distance));
  }
  return all;
}();

int wavefronts_of(const Pattern& pattern) {
  simt::WarpAccess access{.size = pattern.bytes};
  for (int lane = 0; lane < 32; ++lane) {
    if (pattern.word[lane] == IDLE) continue;
    access.active |= 1u << lane;
    access.address[lane] = 4 * std::uint64_t(pattern.word[lane]);
  }
  return simt::shared_wavefronts(access, pattern.is_load);
}

struct Bench {
  static constexpr int NUM_THREADS = 128;
  // on an SM: 24 warps, so that there should be a request ready in every cycle
  static constexpr int BLOCKS = 6;
  // words of shared memory for each warp, which no other warp accesses
  static constexpr int REGION = 2304;
  static constexpr int LOAD_STEPS = 16;  // accesses in an iteration
  static constexpr int STORE_STEPS = 8;
  static constexpr int LOAD_STEP = 32;  // words from one access to the next, in the same bank
};

__host__ __device__ inline float sum_of(float word) { return word; }
__host__ __device__ inline float sum_of(float2 words) { return words.x + words.y; }
__host__ __device__ inline float sum_of(float4 words) {
  return words.x + words.y + (words.z + words.w);
}
template <class Words>
__host__ __device__ Words filled_with(float value) {
  if constexpr (sizeof(Words) == 16) return {value, value, value, value};
  if constexpr (sizeof(Words) == 8) return {value, value};
  if constexpr (sizeof(Words) == 4) return value;
}

// Only loads: lane l begins at word first[l] of its warp's region. Every iteration begins at
// another offset: the compiler knows neither `step` nor `mask`, and so cannot keep a word.
template <class Words>
__global__ void __launch_bounds__(Bench::NUM_THREADS)
    shared_loads(const int* first, float* out, int step, int mask, int iterations) {
  alignas(16) __shared__ float table[Bench::NUM_THREADS / 32 * Bench::REGION];
  float* region = table + threadIdx.x / 32 * Bench::REGION;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) region[i] = float(i % 7);
  __syncthreads();  // a lane reads words that others wrote
  if (first[threadIdx.x % 32] == IDLE) return;
  const float* words = region + first[threadIdx.x % 32];
  float sum = 0;
  int at = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < Bench::LOAD_STEPS; ++i)
      sum += sum_of(*reinterpret_cast<const Words*>(words + at +  //@ load-pattern
                                                    i * Bench::LOAD_STEP));
    at = (at + step) & mask;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Only stores, `step` elements of type Words apart, so that no lane overwrites what another
// wrote. The sum at the end keeps the compiler from dropping them.
template <class Words>
__global__ void __launch_bounds__(Bench::NUM_THREADS)
    shared_stores(const int* first, float* out, int step, int next, int mask, int iterations) {
  alignas(16) __shared__ float table[Bench::NUM_THREADS / 32 * Bench::REGION];
  float* region = table + threadIdx.x / 32 * Bench::REGION;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) region[i] = 0;
  __syncthreads();  // all zeros must be stored before another lane stores
  auto* words = reinterpret_cast<Words*>(region + first[threadIdx.x % 32]);
  const auto value = filled_with<Words>(1.0f);
  int at = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < Bench::STORE_STEPS; ++i)
      words[at + i * step] = value;  //@ store-pattern
    at = (at + next) & mask;
  }
  __syncthreads();  // a lane reads words that others wrote
  float sum = 0;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) sum += region[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int steps_of(const Pattern& pattern) {
  return pattern.is_load ? Bench::LOAD_STEPS : Bench::STORE_STEPS;
}

// Runs `iterations` of a pattern. `first` holds the pattern's words; `out` receives a sum for
// each thread.
void launch_pattern(const Pattern& pattern, dim3 grid, dim3 block, const int* first,
                    float* out, int iterations) {
  const auto as = [&]<class Words>(Words) {
    if (pattern.is_load) {
      tile::launch(shared_loads<Words>, grid, block, 0, first, out, Bench::LOAD_STEP,
                   Bench::LOAD_STEPS * Bench::LOAD_STEP - 1, iterations);
    } else {
      // The next store goes beyond the last word of the pattern or, if that is spread over
      // rows of 128 words or more, into its gaps.
      const int step = (pattern.word[31] < 128 ? 128 : 32) * 4 / int(sizeof(Words));
      const int next = Bench::STORE_STEPS * step;  // from one iteration to the next
      tile::launch(shared_stores<Words>, grid, block, 0, first, out, step, next, 2 * next - 1,
                   iterations);
    }
  };
  if (pattern.bytes == 4) as(float{});
  if (pattern.bytes == 8) as(float2{});
  if (pattern.bytes == 16) as(float4{});
}

std::vector<tile::Chapter::Rate> pattern_rates() {
  std::vector<tile::Chapter::Rate> rates{{"lowest_mhz", "lowest SM clock"}};
  for (const Pattern& pattern : patterns)
    rates.push_back({"cycles." + pattern.name, "cycles per request: " + pattern.name});
  return rates;
}

#if TILE_ON_GPU
// Keeps a warp busy for a known number of its SM's cycles.
__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void measure_patterns(tile::RateSink& sink) {
  int sms = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  const dim3 grid(sms * Bench::BLOCKS), block(Bench::NUM_THREADS);
  int* first;
  float* out;
  tile::cuda_check(cudaMalloc(&first, 32 * sizeof(int)), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&out, std::size_t(grid.x) * block.x * sizeof(float)),
                   "cudaMalloc");
  const int requests = 1 << 16;  // of a warp
  const double requests_of_sm = double(Bench::BLOCKS) * Bench::NUM_THREADS / 32 * requests;
  // SM cycles per request. The clock rate is measured right after the pattern, to convert its
  // time into cycles.
  const auto cycles = [&](auto run) {
    const double ms = tile::time_ms([&](int) { run(); }).median;
    const long long spun = 20'000'000;
    const double spun_ms =
        tile::time_ms([&](int) { tile::launch(spin, dim3(sms), dim3(32), 0, spun); }, 5)
            .median;
    return ms * double(spun) / spun_ms / requests_of_sm;
  };
  for (const Pattern& pattern : patterns) {
    tile::cuda_check(
        cudaMemcpy(first, pattern.word.data(), 32 * sizeof(int), cudaMemcpyHostToDevice),
        "fill");
    const int iterations = requests / steps_of(pattern);
    sink.rate("cycles." + pattern.name,
              cycles([&] { launch_pattern(pattern, grid, block, first, out, iterations); }));
  }
  cudaFree(first), cudaFree(out);
}
#else
constexpr void (*measure_patterns)(tile::RateSink&) = nullptr;
#endif

void predict(tile::Facts& facts) {
  for (const Pattern& pattern : patterns) {
    std::vector<int> words;
    for (const int word : pattern.word)
      for (int i = 0; word != IDLE && i < pattern.bytes / 4; ++i) words.push_back(word + i);
    std::sort(words.begin(), words.end());
    const std::string key = "pattern." + pattern.name;
    facts.predicted(key + ".words",
                    double(std::unique(words.begin(), words.end()) - words.begin()));
    facts.predicted(key + ".wavefronts", wavefronts_of(pattern));
  }
  facts.predicted("patterns", double(patterns.size()));
  const auto records =
      tile::load_records(tile::in_repository("chapters/09-bank-conflicts/lab/clock"));
  if (records.empty()) {
    for (const char* key :
         {"fitting", "percent", "load8.by_others.cycles", "load16.by_others.cycles"})
      facts.not_yet_measured(key);
    return;
  }
  const auto cycles_of = [&](const std::string& name) {
    return records.front()["rates"].at("cycles." + name).get<double>();
  };
  // the number of patterns whose cycles per request, when rounded, equal their wavefronts
  int fitting = 0;
  double percent = 0;
  for (const Pattern& pattern : patterns) {
    fitting += std::lround(cycles_of(pattern.name)) == wavefronts_of(pattern);
    percent = std::max(percent,
                       100 * std::abs(cycles_of(pattern.name) / wavefronts_of(pattern) - 1));
  }
  facts.measured("fitting", fitting);
  facts.measured("percent", percent, 0);
  // The fewest cycles of a load whose lanes agree at a distance other than 1 and 2.
  for (const int bytes : {8, 16}) {
    const std::string loads = "load" + std::to_string(bytes) + ".by";
    double fewest = 1e9;
    for (int distance = 3; distance < 256 / bytes; ++distance)
      fewest = std::min(fewest, cycles_of(loads + std::to_string(distance)));
    facts.measured(loads + "_others.cycles", fewest);
  }
}

}  // namespace

TILE_CHAPTER(.number = 9, .title = "What does an access to shared memory cost?", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {}, .predict = predict,
             .measure_rates = measure_patterns, .rates = pattern_rates())

namespace {

// An array on the device, for one test.
template <class T>
struct Array {
  Array(const std::vector<T>& values, const char* name)
      : size(values.size()),
        data(static_cast<T*>(tile::machine::allocate(size * sizeof(T), sizeof(T), name))) {
    tile::machine::copy_to_device(data, values.data(), size * sizeof(T));
  }
  ~Array() { tile::machine::release(data); }
  Array(const Array&) = delete;
  std::vector<T> download() const {
    std::vector<T> values(size);
    tile::machine::copy_to_host(values.data(), data, size * sizeof(T));
    return values;
  }
  std::size_t size;
  T* data;
};

}  // namespace

TEST_CASE("loads add up the words that their pattern names, and stores fill them") {
  for (const Pattern& pattern : patterns) {
    CAPTURE(pattern.name);
    const Array<int> first({pattern.word.begin(), pattern.word.end()}, "first");
    const Array<float> out(std::vector<float>(32), "out");
    launch_pattern(pattern, dim3(1), dim3(32), first.data, out.data, 2);
    const std::vector<float> found = out.download();
    std::vector<float> expected(32);
    std::vector<int> stored;
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (int word = 0; word < pattern.bytes / 4 && pattern.word[lane] != IDLE; ++word) {
        stored.push_back(pattern.word[lane] + word);
        for (int i = 0; i < 2 * Bench::LOAD_STEPS; ++i)
          expected[lane] += float((pattern.word[lane] + word +
                                   32 * (i / Bench::LOAD_STEPS + i % Bench::LOAD_STEPS)) %
                                  7);
      }
    std::sort(stored.begin(), stored.end());
    const auto words = std::unique(stored.begin(), stored.end()) - stored.begin();
    if (pattern.is_load) CHECK(found == expected);
    if (!pattern.is_load)
      CHECK(std::accumulate(found.begin(), found.end(), 0.0f) ==
            float(2 * Bench::STORE_STEPS * words));
  }
}

#if TILE_ON_MODEL
TEST_CASE("the model counts the wavefronts that the rule says" *
          doctest::test_suite("model")) {
  for (const Pattern& pattern : patterns) {
    CAPTURE(pattern.name);
    const Array<int> first({pattern.word.begin(), pattern.word.end()}, "first");
    const Array<float> out(std::vector<float>(32), "out");
    // Some lanes store the same value to the same word: an intended race.
    const auto run = [&] {
      launch_pattern(pattern, dim3(1), dim3(32), first.data, out.data, 2);
    };
    const simt::Counts counts = simt::trace(run, {.report_races = pattern.is_load}).front();
    const simt::Site& site =
        tile::site(counts, pattern.is_load ? "load-pattern" : "store-pattern");
    CHECK(site.requests == 2u * unsigned(steps_of(pattern)));
    CHECK(site.width == pattern.bytes);
    CHECK(site.wavefronts == site.requests * unsigned(wavefronts_of(pattern)));
  }
}

TEST_CASE("the clock shows the wavefronts of the rule, pattern by pattern" *
          doctest::test_suite("model")) {
  for (const tile::Record& record :
       tile::load_records(tile::in_repository("chapters/09-bank-conflicts/lab/clock"))) {
    const bool reference = record["gpu"] == tile::reference_gpu;
    for (const Pattern& pattern : patterns) {
      CAPTURE(record["gpu"].get<std::string>());
      CAPTURE(pattern.name);
      const double measured = record["rates"].at("cycles." + pattern.name).get<double>();
      const int rule = wavefronts_of(pattern);
      // on another GPU, a difference is a finding and not an error
      WARN(std::lround(measured) == rule);
      if (reference) CHECK((measured > 0.99 * rule && measured < 1.15 * rule));
    }
  }
}
#endif
