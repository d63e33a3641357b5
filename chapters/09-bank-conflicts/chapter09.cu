// Tile by Tile, chapter 09: bank conflicts and padding.
//
// Question: when do the lanes of a warp get in each other's way in shared memory, and does
// padding keep them apart? Idea: shared memory has 32 banks, and a bank gives one word a
// cycle. Measure what patterns of access cost, find the rule, and choose places for the words
// of a tile by it.
// Previous chapter: 08, whose kernel `large` this is. New are the places in As and Bs, and
// which lane has which results.
//
// Build, run, verify:   ./tile run 09      ctest --preset model -R chapter09
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// [snippet patterns]
// A warp-wide access of shared memory: how many bytes a lane reads or writes, and the first of
// its words. A lane of a load whose first word is IDLE takes no part.
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

// Pairs of lanes, each of a lane l and lane l ^ distance, are numbered: the number of the pair
// that a lane is in.
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
      // As in chapter 06
      {"load16.rows_of_16", 16, load, [](int lane) { return lane / 16 * 8; }},
      // As in `large`
      {"load16.rows_of_8", 16, load, [](int lane) { return lane / 8 * 8; }},
      // As in chapter 08's `tall`
      {"load16.rows_of_4", 16, load, [](int lane) { return lane / 4 * 8; }},
      // Bs in `large`
      {"load16.columns", 16, load, [](int lane) { return lane % 8 * 4; }},
      // Bs in `remapped`
      {"load16.paired", 16, load, [](int lane) { return lane / 2 % 8 * 4; }},
      // Bs in chapter 06 and in `flat`
      {"load16.flat", 16, load, [](int lane) { return lane % 16 * 8; }},
      {"load16.apart32", 16, load, [](int lane) { return lane * 32; }},
      {"store4.neighbours", 4, store, [](int lane) { return lane; }},
      {"store4.apart2", 4, store, [](int lane) { return lane * 2; }},
      // As of depth 8
      {"store4.two_a_row", 4, store, [](int lane) { return lane % 2 * 4 * 128 + lane / 2; }},
      {"store4.two_a_row_padded", 4, store,
       [](int lane) { return lane % 2 * 4 * 132 + lane / 2; }},
      // As of depth 16
      {"store4.four_a_row", 4, store, [](int lane) { return lane % 4 * 4 * 128 + lane / 4; }},
      {"store4.four_a_row_padded", 4, store,
       [](int lane) { return lane % 4 * 4 * 132 + lane / 4; }},
      {"store8.neighbours", 8, store, [](int lane) { return lane * 2; }},
      {"store8.apart4", 8, store, [](int lane) { return lane * 4; }},
      {"store16.neighbours", 16, store, [](int lane) { return lane * 4; }},
  };
  // Who must agree with whom? Lane l with lane l ^ distance, and with no other; as far apart
  // as two groups reach.
  for (const int bytes : {8, 16}) {
    const auto pairs = [&](int distance) {
      return [=](int lane) { return pair_of(lane, distance) * bytes / 4; };
    };
    const std::string width = std::to_string(bytes);
    for (int distance = 1; distance < 256 / bytes; ++distance)
      all.emplace_back("load" + width + ".by" + std::to_string(distance), bytes, load,
                       pairs(distance));
    // Must all agree in the same way? One half of the warp by 1 and the other by 2; or one
    // quad and the next.
    all.emplace_back("load" + width + ".halves_differ", bytes, load,
                     [&](int lane) { return pairs(lane < 16 ? 1 : 2)(lane); });
    all.emplace_back("load" + width + ".quads_differ", bytes, load,
                     [&](int lane) { return pairs(lane % 8 < 4 ? 1 : 2)(lane); });
    // Must all agree? Lanes 0 to 15 by 1, the others not at all.
    all.emplace_back("load" + width + ".half_agrees", bytes, load,
                     [&](int lane) { return lane < 16 ? pairs(1)(lane) : lane * bytes / 4; });
    // Lanes that take no part: half of every pair, or every other group.
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
// [/snippet patterns]

// A pattern whose words lie `offset` words further.
simt::WarpAccess access_of(const Pattern& pattern, int offset = 0) {
  simt::WarpAccess access{.size = pattern.bytes};
  for (int lane = 0; lane < 32; ++lane) {
    if (pattern.word[lane] == IDLE) continue;
    access.active |= 1u << lane;
    access.address[lane] = 4 * std::uint64_t(pattern.word[lane] + offset);
  }
  return access;
}
bool has_all_patterns(const tile::Record& record) {
  return std::all_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
    return record["rates"].contains("cycles." + pattern.name);
  });
}
int wavefronts_of(const Pattern& pattern) {
  return simt::shared_wavefronts(access_of(pattern), pattern.is_load);
}

// [snippet candidates]
// A rule that the 150 counted patterns cannot tell from the others. All say that 8 and 16
// bytes are served in groups of 16 and 8 lanes, two neighbouring groups together if lanes
// agree; they differ in who must agree.
struct Candidate {
  const char* name;
  // each two groups decide for themselves; else the warp as a whole
  bool by_two_groups = false;
  bool by_quads = false;  // each four lanes may agree at a distance of their own
  // a bit for each distance at which lanes l and l ^ distance may agree
  unsigned distances = 1 << 1 | 1 << 2;
  bool stores = false;       // stores merge as loads do
  bool idle_differ = false;  // a lane does not agree with one that takes no part
  // a group of which no lane takes part takes a wavefront all the same
  bool idle_cost = false;
};
constexpr Candidate candidates[]{
    {.name = "warp"},
    {.name = "two_groups", .by_two_groups = true},
    {.name = "quads", .by_quads = true},
    {.name = "two_groups_quads", .by_two_groups = true, .by_quads = true},
    // all but 4, 8, 16, 20 and 24: those the 150 exclude
    {.name = "distances", .distances = 0xfeeefeeeu},
    {.name = "stores", .stores = true},
    {.name = "idle_differ", .idle_differ = true},
    {.name = "idle_cost", .idle_cost = true},
};
// [/snippet candidates]

int wavefronts_by(const Candidate& rule, const simt::WarpAccess& access, bool is_load) {
  const auto takes_part = [&](int lane) { return (access.active >> lane & 1u) != 0; };
  const auto agree = [&](int lane, int other) {
    if (takes_part(lane) && takes_part(other))
      return access.address[lane] == access.address[other];
    return !rule.idle_differ || takes_part(lane) == takes_part(other);
  };
  const auto agree_in_one_way = [&](int first, int lanes) {
    for (int distance = 1; distance < 32; ++distance) {
      bool all = (rule.distances >> distance & 1u) != 0;
      for (int lane = first; lane < first + lanes; ++lane)
        all = all && agree(lane, lane ^ distance);
      if (all) return true;
    }
    return false;
  };
  const auto merge = [&](int first, int lanes) {
    const int in_one_way = rule.by_quads ? 4 : lanes;
    for (int part = first; part < first + lanes; part += in_one_way)
      if (!agree_in_one_way(part, in_one_way)) return false;
    return true;
  };
  const int group = 128 / std::max(4, access.size);
  const auto group_passes = [&](int first, int lanes) {
    return std::max(simt::rules::bank_passes(access, first, lanes), rule.idle_cost ? 1 : 0);
  };
  if (group == 32) return group_passes(0, 32);
  int wavefronts = 0;
  for (int first = 0; first < 32; first += 2 * group) {
    const bool merged = (is_load || rule.stores) &&
                        (rule.by_two_groups ? merge(first, 2 * group) : merge(0, 32));
    wavefronts += merged ? group_passes(first, 2 * group)
                         : group_passes(first, group) + group_passes(first + group, group);
  }
  return wavefronts;
}

// [snippet bench]
struct Bench {
  static constexpr int NUM_THREADS = 128;
  // on an SM: 24 warps, so that one has a request ready in every cycle
  static constexpr int BLOCKS = 6;
  // words of shared memory for each warp: warps have nothing to do with each other
  static constexpr int REGION = 2304;
  static constexpr int LOAD_STEPS = 16;  // accesses in a turn of the loop
  static constexpr int STORE_STEPS = 8;
  // words from an access to the next: each word stays in its bank
  static constexpr int LOAD_STEP = 32;
  static_assert(NUM_THREADS / 32 * REGION * 4 <= 48 * 1024,
                "a block declares at most 48 KB of shared memory");
  static_assert(LOAD_STEP % 32 == 0, "a word must stay in its bank from access to access");
};

__host__ __device__ inline float sum_of(float word) { return word; }
__host__ __device__ inline float sum_of(float2 words) { return words.x + words.y; }
__host__ __device__ inline float sum_of(float4 words) {
  return words.x + words.y + (words.z + words.w);
}
template <class Words>
__host__ __device__ Words filled_with(float value) {
  if constexpr (sizeof(Words) == 16)
    return {value, value, value, value};
  else if constexpr (sizeof(Words) == 8)
    return {value, value};
  else
    return value;
}

// Loads alone: lane l begins at word first[l] of its warp's region. Every turn begins at
// another place, so that the compiler cannot keep a word: it knows neither `apart` nor `mask`.
template <class Words>
__global__ void __launch_bounds__(Bench::NUM_THREADS)
    shared_loads(const int* first, float* out, int apart, int mask, int rounds) {
  alignas(16) __shared__ float table[Bench::NUM_THREADS / 32 * Bench::REGION];
  float* region = table + threadIdx.x / 32 * Bench::REGION;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) region[i] = float(i % 7);
  __syncthreads();  // a lane reads words that others wrote
  if (first[threadIdx.x % 32] == IDLE) return;
  const float* words = region + first[threadIdx.x % 32];
  float sum = 0;
  int at = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < Bench::LOAD_STEPS; ++i)
      sum += sum_of(*reinterpret_cast<const Words*>(words + at +  //@ load-pattern
                                                    i * Bench::LOAD_STEP));
    at = (at + apart) & mask;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same loads from global memory, and soon out of L1: the same table for all warps.
template <class Words>
__global__ void __launch_bounds__(Bench::NUM_THREADS)
    l1_loads(const float* table, const int* first, float* out, int apart, int mask,
             int rounds) {
  if (first[threadIdx.x % 32] == IDLE) return;
  const float* words = table + first[threadIdx.x % 32];
  float sum = 0;
  int at = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < Bench::LOAD_STEPS; ++i)
      sum += sum_of(
          *reinterpret_cast<const Words*>(words + at + i * Bench::LOAD_STEP));  //@ load-l1
    at = (at + apart) & mask;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Stores alone, to places `step` elements of type Words apart, so that no lane overwrites what
// another wrote. What is there at the end is read, so that the compiler cannot drop them.
template <class Words>
__global__ void __launch_bounds__(Bench::NUM_THREADS)
    shared_stores(const int* first, float* out, int step, int apart, int mask, int rounds) {
  alignas(16) __shared__ float table[Bench::NUM_THREADS / 32 * Bench::REGION];
  float* region = table + threadIdx.x / 32 * Bench::REGION;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) region[i] = 0;
  __syncthreads();  // the zeros must be there before another lane stores
  auto* words = reinterpret_cast<Words*>(region + first[threadIdx.x % 32]);
  const auto value = filled_with<Words>(1.0f);
  int at = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < Bench::STORE_STEPS; ++i)
      words[at + i * step] = value;  //@ store-pattern
    at = (at + apart) & mask;
  }
  __syncthreads();  // a lane reads words that others wrote
  float sum = 0;
  for (int i = threadIdx.x % 32; i < Bench::REGION; i += 32) sum += region[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// [/snippet bench]

// words after which loads start again
constexpr int LOAD_TURN = Bench::LOAD_STEPS * Bench::LOAD_STEP;
int steps_of(const Pattern& pattern) {
  return pattern.is_load ? Bench::LOAD_STEPS : Bench::STORE_STEPS;
}

// Calls `launch_as` with a value of the type that a lane of the pattern reads or writes.
template <class Launch>
void with_type_of(const Pattern& pattern, Launch launch_as) {
  if (pattern.bytes == 4) launch_as(float{});
  if (pattern.bytes == 8) launch_as(float2{});
  if (pattern.bytes == 16) launch_as(float4{});
}

// Runs `rounds` turns of a pattern in shared memory. `first` holds the pattern's words, `out`
// a number for each thread.
void launch_pattern(const Pattern& pattern, dim3 grid, dim3 block, const int* first,
                    float* out, int rounds) {
  with_type_of(pattern, [&]<class Words>(Words) {
    if (pattern.is_load) {
      tile::launch(shared_loads<Words>, grid, block, 0, first, out, Bench::LOAD_STEP,
                   LOAD_TURN - 1, rounds);
    } else {
      // Beyond the last word of the pattern or, where it is spread over rows of 128 words and
      // more, within its gaps.
      const int step = (pattern.word[31] < 128 ? 128 : 32) * 4 / int(sizeof(Words));
      const int turn = Bench::STORE_STEPS * step;
      tile::launch(shared_stores<Words>, grid, block, 0, first, out, step, turn, 2 * turn - 1,
                   rounds);
    }
  });
}

// The same for a load from global memory; `table` has REGION words.
void launch_l1_pattern(const Pattern& pattern, dim3 grid, dim3 block, const float* table,
                       const int* first, float* out, int rounds) {
  with_type_of(pattern, [&]<class Words>(Words) {
    tile::launch(l1_loads<Words>, grid, block, 0, table, first, out, Bench::LOAD_STEP,
                 LOAD_TURN - 1, rounds);
  });
}

std::vector<tile::Chapter::Rate> pattern_rates() {
  std::vector<tile::Chapter::Rate> rates;
  for (const Pattern& pattern : patterns)
    rates.push_back({"cycles." + pattern.name, "cycles a request: " + pattern.name});
  for (const Pattern& pattern : patterns)
    if (pattern.is_load)
      rates.push_back({"l1_cycles." + pattern.name, "the same from L1: " + pattern.name});
  return rates;
}

#if TILE_ON_GPU
// Keeps one warp of an SM busy for a known number of the SM's own cycles.
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
  float *table, *out;
  tile::cuda_check(cudaMalloc(&first, 32 * sizeof(int)), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&table, Bench::REGION * sizeof(float)), "cudaMalloc");
  tile::cuda_check(cudaMalloc(&out, std::size_t(grid.x) * block.x * sizeof(float)),
                   "cudaMalloc");
  const std::vector<float> values = tile::make_values(Bench::REGION, tile::Fill::random, 13);
  tile::cuda_check(
      cudaMemcpy(table, values.data(), Bench::REGION * sizeof(float), cudaMemcpyHostToDevice),
      "fill");
  const int requests = 1 << 16;  // of a warp
  const double requests_of_sm = double(Bench::BLOCKS) * Bench::NUM_THREADS / 32 * requests;
  // Cycles of an SM for a request. The clock is measured right after, so that they are the
  // SM's own.
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
    const int rounds = requests / steps_of(pattern);
    sink.rate("cycles." + pattern.name,
              cycles([&] { launch_pattern(pattern, grid, block, first, out, rounds); }));
    if (pattern.is_load)
      sink.rate("l1_cycles." + pattern.name, cycles([&] {
                  launch_l1_pattern(pattern, grid, block, table, first, out, rounds);
                }));
  }
  cudaFree(first), cudaFree(table), cudaFree(out);
}
#else
constexpr void (*measure_patterns)(tile::RateSink&) = nullptr;
#endif

// [snippet config]
// Where the words of the tiles lie, and which lane has which results.
struct Layout {
  int pad_A = 0;        // words left free in As ...
  int rows_a_pad = 1;   // ... after every so many of its rows
  int pad_B = 0;        // words left free after every row of Bs
  bool paired = false;  // two neighbouring lanes share their columns, not their rows
};

template <int BM_, int BN_, int BK_,  // rows and columns of C per block, depth of a tile
          int WM_, int WN_,           // rows and columns of C per warp
          int WNITER_,                // pieces of the warp's tile, side by side
          int TM_, int TN_,           // rows and columns of results per thread and piece
          int BLOCKS_,                // blocks an SM must hold: a limit on registers
          Layout LAYOUT_ = Layout{}>
struct Config {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WNITER = WNITER_,
                       TM = TM_, TN = TN_, BLOCKS = BLOCKS_;
  static constexpr Layout LAYOUT = LAYOUT_;
  static constexpr int WSUBN = WN / WNITER;  // columns of a piece
  // rows of a piece: 32 threads of TM x TN results cover it
  static constexpr int WSUBM = 32 * TM * TN / WSUBN;
  static constexpr int WMITER = WM / WSUBM;  // pieces of the warp's tile, one below the other
  static constexpr int ACCUMULATORS = WM * WN / 32;  // results per thread
  static constexpr int NUM_THREADS = BM * BN / ACCUMULATORS;
  // rows of a tile of A that all threads together copy at once
  static constexpr int ROWS_A = 4 * NUM_THREADS / BK;
  static constexpr int ROWS_B = 4 * NUM_THREADS / BN;  // rows of a tile of B
  static constexpr int AS_WORDS = BK * BM + (BK - 1) / LAYOUT.rows_a_pad * LAYOUT.pad_A;
  static constexpr int BS_WORDS = BK * BN + (BK - 1) * LAYOUT.pad_B;
  static constexpr int SMEM_BYTES = (AS_WORDS + BS_WORDS) * 4;
  // Where the element of step k and row `row` of the tile of A lies in As; and of step k and
  // column `col` of B in Bs. Unsigned, for a division by a power of two is then a shift alone.
  static constexpr __host__ __device__ int place_in_As(int k, int row) {
    return k * BM + int(unsigned(k) / LAYOUT.rows_a_pad) * LAYOUT.pad_A + row;
  }
  static constexpr __host__ __device__ int place_in_Bs(int k, int col) {
    return k * (BN + LAYOUT.pad_B) + col;
  }
  static_assert(BM % WM == 0 && BN % WN == 0,
                "a warp's tile must not cross the edge of the block's tile");
  static_assert(
      WN % WNITER == 0 && WSUBN % TN == 0 && 32 * TM * TN % WSUBN == 0 && WSUBM % TM == 0 &&
          WM % WSUBM == 0,
      "32 threads of TM x TN results must cover a piece, and WMITER x WNITER pieces the warp's tile");
  static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
                "a float4 lies in one row: sizes must be multiples of 4");
  static_assert(
      BM * BK % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BK == 0,
      "BM*BK must be divisible by 4*NUM_THREADS: else threads copy past the tile of A or leave parts out");
  static_assert(
      BK * BN % (4 * NUM_THREADS) == 0 && 4 * NUM_THREADS % BN == 0,
      "BK*BN must be divisible by 4*NUM_THREADS: else threads copy past the tile of B or leave parts out");
  static_assert(NUM_THREADS <= 1024,
                "a block has at most 1024 threads: the launch would fail");
  static_assert(BLOCKS >= 1 && BLOCKS * NUM_THREADS <= 2048,
                "an SM holds at most 2048 threads: a bound beyond says nothing");
  static_assert(SMEM_BYTES <= 48 * 1024,
                "a block declares at most 48 KB of shared memory: ptxas would refuse");
  static_assert(
      LAYOUT.pad_A % 4 == 0 && LAYOUT.pad_B % 4 == 0,
      "a padded row must still begin at a multiple of 16 bytes: else its float4s are misaligned");
  static_assert(LAYOUT.rows_a_pad >= 1,
                "padding comes after every so many rows, at least one");
  static_assert(!LAYOUT.paired || WSUBM / TM % 2 == 0,
                "lanes of a pair have two rows: a piece needs an even number");
};

using Large = Config<128, 128, 16, 64, 64, 2, 8, 4, 3>;  // chapter 08's
using Padded = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 4}>;
using Grouped = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 8, .rows_a_pad = 4}>;
using Remapped = Config<128, 128, 16, 64, 64, 2, 8, 4, 3, Layout{.paired = true}>;
// a warp is two rows of 16 threads, as in chapters 06 and 07
using Flat = Config<128, 128, 16, 32, 128, 1, 16, 8, 3>;
using FlatPadded = Config<128, 128, 16, 32, 128, 1, 16, 8, 3, Layout{.pad_B = 4}>;
// [/snippet config]

// [snippet maps]
struct Position {
  int row, col;
};

// Where the tile of a thread's warp begins in the block's tile. A warp is 32 threads that
// follow each other.
template <class C>
constexpr __host__ __device__ Position warp_tile_of(int thread) {
  const int warpId = thread / 32;
  return {warpId / (C::BN / C::WN) * C::WM, warpId % (C::BN / C::WN) * C::WN};
}
// Where a thread's TM x TN results begin in a piece of the warp's tile.
template <class C>
constexpr __host__ __device__ Position thread_tile_of(int thread) {
  constexpr int across = C::WSUBN / C::TN;  // threads side by side
  const int laneId = thread % 32;
  if constexpr (C::LAYOUT.paired)
    return {(laneId / (2 * across) * 2 + laneId % 2) * C::TM, laneId / 2 % across * C::TN};
  else
    return {laneId / across * C::TM, laneId % across * C::TN};
}
// The first word of a thread's first float4 in the tile of A, and in the tile of B, as in
// chapter 06.
template <class C>
constexpr __host__ __device__ Position load_A_of(int thread) {
  return {thread / (C::BK / 4), thread % (C::BK / 4) * 4};
}
template <class C>
constexpr __host__ __device__ Position load_B_of(int thread) {
  return {thread / (C::BN / 4), thread % (C::BN / 4) * 4};
}
// [/snippet maps]

// VECTORISED: tiles are whole and addresses divisible by 16.
template <class Config, bool VECTORISED>
__global__ void __launch_bounds__(Config::NUM_THREADS, Config::BLOCKS)
    sgemm_warp_tiled(int M, int N, int K, float alpha,  //
                     const float* A, int lda,           // M x K
                     const float* B, int ldb,           // K x N
                     float beta,                        //
                     float* C, int ldc) {               // M x N
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM,
                TN = Config::TN;
  constexpr int WMITER = Config::WMITER, WNITER = Config::WNITER, WSUBM = Config::WSUBM,
                WSUBN = Config::WSUBN;
  // BK x BM and padding: the tile of A, transposed
  alignas(16) __shared__ float As[Config::AS_WORDS];
  alignas(16) __shared__ float Bs[Config::BS_WORDS];  // BK x BN and padding, row-major

  const int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
  const auto [warpRow, warpCol] = warp_tile_of<Config>(threadIdx.x);
  const auto [threadRow, threadCol] = thread_tile_of<Config>(threadIdx.x);
  const auto [rowA, colA] = load_A_of<Config>(threadIdx.x);
  const auto [rowB, colB] = load_B_of<Config>(threadIdx.x);

  const float* nextA = A + std::size_t(blockRow + rowA) * lda + colA;
  const float* nextB = B + std::size_t(rowB) * ldb + blockCol + colB;
  float acc[WMITER][TM][WNITER][TN] = {};  // TM x TN results in each piece
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    // [snippet load]
    for (int down = 0; down < BM; down += Config::ROWS_A) {
      const float* from = nextA + std::size_t(down) * lda;
      float a[4] = {};
      if constexpr (VECTORISED) {
        const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-A
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
      } else {
        for (int i = 0; i < 4; ++i)
          if (blockRow + rowA + down < M && bkIdx + colA + i < K)
            a[i] = from[i];  //@ load-A-words
      }
      for (int i = 0; i < 4; ++i)
        As[Config::place_in_As(colA + i, rowA + down)] = a[i];  //@ store-As
    }
    for (int down = 0; down < BK; down += Config::ROWS_B) {
      const float* from = nextB + std::size_t(down) * ldb;
      float4 four{};
      if constexpr (VECTORISED) {
        four = *reinterpret_cast<const float4*>(from);  //@ load-B
      } else {
        float b[4] = {};
        for (int j = 0; j < 4; ++j)
          if (bkIdx + rowB + down < K && blockCol + colB + j < N)
            b[j] = from[j];  //@ load-B-words
        four = {b[0], b[1], b[2], b[3]};
      }
      *reinterpret_cast<float4*>(&Bs[Config::place_in_Bs(rowB + down, colB)]) =  //@ store-Bs
          four;
    }
    nextA += BK;
    nextB += std::size_t(BK) * ldb;
    // [/snippet load]
    // a thread reads what others wrote: nobody may start before all have stored
    __syncthreads();

    // [snippet multiply]
#pragma unroll
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      // one row of As, one row of Bs: this thread's parts
      float regM[WMITER][TM], regN[WNITER][TN];
      for (int wm = 0; wm < WMITER; ++wm)
        for (int i = 0; i < TM; i += 4) {
          const float* from =
              &As[Config::place_in_As(dotIdx, warpRow + wm * WSUBM + threadRow + i)];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-As
          regM[wm][i] = four.x, regM[wm][i + 1] = four.y, regM[wm][i + 2] = four.z,
          regM[wm][i + 3] = four.w;
        }
      for (int wn = 0; wn < WNITER; ++wn)
        for (int j = 0; j < TN; j += 4) {
          const float* from =
              &Bs[Config::place_in_Bs(dotIdx, warpCol + wn * WSUBN + threadCol + j)];
          const float4 four = *reinterpret_cast<const float4*>(from);  //@ load-Bs
          regN[wn][j] = four.x, regN[wn][j + 1] = four.y, regN[wn][j + 2] = four.z,
          regN[wn][j + 3] = four.w;
        }
      for (int wm = 0; wm < WMITER; ++wm)
        for (int wn = 0; wn < WNITER; ++wn)
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) acc[wm][i][wn][j] += regM[wm][i] * regN[wn][j];
    }
    // [/snippet multiply]
    // the next round overwrites the tiles: nobody may store while another still reads
    __syncthreads();
  }

  // Unrolled, because a register has no index: a sum that is chosen at run time would have to
  // live in local memory.
#pragma unroll
  for (int wm = 0; wm < WMITER; ++wm) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int wn = 0; wn < WNITER; ++wn) {
        const int row = blockRow + warpRow + wm * WSUBM + threadRow + i;
        const int col = blockCol + warpCol + wn * WSUBN + threadCol;
        const float* sum = acc[wm][i][wn];
        float* c = &C[std::size_t(row) * ldc + col];
        if constexpr (VECTORISED) {
#pragma unroll
          for (int j = 0; j < TN; j += 4) {
            float4 result{alpha * sum[j], alpha * sum[j + 1], alpha * sum[j + 2],
                          alpha * sum[j + 3]};
            if (beta != 0.0f) {
              const float4 old = *reinterpret_cast<const float4*>(c + j);  //@ load-C
              result = {result.x + beta * old.x, result.y + beta * old.y,
                        result.z + beta * old.z, result.w + beta * old.w};
            }
            *reinterpret_cast<float4*>(c + j) = result;  //@ store-C
          }
        } else {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            if (row >= M || col + j >= N) continue;
            float result = alpha * sum[j];
            if (beta != 0.0f) result += beta * c[j];  //@ load-C-words
            c[j] = result;                            //@ store-C-words
          }
        }
      }
    }
  }
}

// [snippet launch]
bool is_aligned_16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// Whether every tile is whole and every float4 of a problem begins at a multiple of 16 bytes.
template <class Config>
bool can_vectorise(const tile::Gemm& g) {
  return g.M % Config::BM == 0 && g.N % Config::BN == 0 && g.K % Config::BK == 0 &&  //
         g.lda % 4 == 0 && g.ldb % 4 == 0 && g.ldc % 4 == 0 &&                       //
         is_aligned_16(g.A) && is_aligned_16(g.B) && is_aligned_16(g.C);
}

template <class Config>
void launch_warp_tiled(const tile::Gemm& g) {
  tile::require_valid(g);
  const dim3 grid(tile::ceil_div(g.N, Config::BN), tile::ceil_div(g.M, Config::BM));
  tile::launch(can_vectorise<Config>(g) ? sgemm_warp_tiled<Config, true>
                                        : sgemm_warp_tiled<Config, false>,
               grid, dim3(Config::NUM_THREADS), 0, g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B,
               g.ldb, g.beta, g.C, g.ldc);
}
// [/snippet launch]

const tile::Case counted{256, 256, 256};

// The arithmetic of the prose.
void predict(tile::Facts& facts) {
  const auto distinct = [](std::vector<int> values) {
    std::sort(values.begin(), values.end());
    return double(std::unique(values.begin(), values.end()) - values.begin());
  };
  double most_bytes = 0;  // that the lanes receive in a wavefront
  for (const Pattern& pattern : patterns) {
    const std::string key = "pattern." + pattern.name;
    std::vector<int> words;
    for (const int word : pattern.word)
      for (int i = 0; word != IDLE && i < pattern.bytes / 4; ++i) words.push_back(word + i);
    facts.predicted(key + ".words", distinct(words));
    facts.predicted(key + ".wavefronts", wavefronts_of(pattern));
    // Where the candidates disagree, what each of them says.
    std::set<int> said;
    for (const Candidate& candidate : candidates)
      said.insert(wavefronts_by(candidate, access_of(pattern), pattern.is_load));
    for (const Candidate& candidate : candidates)
      if (said.size() > 1)
        facts.predicted(key + "." + candidate.name,
                        wavefronts_by(candidate, access_of(pattern), pattern.is_load));
    if (!pattern.is_load) continue;
    most_bytes =
        std::max(most_bytes, double(pattern.bytes) * std::popcount(access_of(pattern).active) /
                                 wavefronts_of(pattern));
    facts.predicted(key + ".l1_wavefronts", simt::global_wavefronts(access_of(pattern)));
    // The tags differ from step to step of the benchmark, and so does the larger of passes and
    // wavefronts.
    double cycles = 0;
    for (int turn = 0; turn < Bench::LOAD_STEPS; ++turn)
      for (int i = 0; i < Bench::LOAD_STEPS; ++i) {
        const auto access = access_of(pattern, (turn + i) * Bench::LOAD_STEP);
        cycles += std::max(simt::tag_passes(access), simt::global_wavefronts(access));
      }
    facts.predicted(key + ".l1_cycles", cycles / (Bench::LOAD_STEPS * Bench::LOAD_STEPS));
  }

  facts.predicted("pattern.most_bytes", most_bytes);

  // What an access of the first warp asks of the banks: how many lanes are served together,
  // and of the first of these groups, how many different words it wants, in how many banks,
  // and how many of the five bits of a bank's number vary.
  const auto ask = [&](const std::string& key, int bytes, bool is_load, auto first_word) {
    simt::WarpAccess access{.active = ~0u, .size = bytes};
    for (int lane = 0; lane < 32; ++lane)
      access.address[std::size_t(lane)] = 4 * std::uint64_t(first_word(lane));
    const int group = simt::lanes_together(access, is_load);
    std::vector<int> words, banks;
    unsigned vary = 0;
    for (int lane = 0; lane < group; ++lane)
      for (int i = 0; i < bytes / 4; ++i) {
        const int word = first_word(lane) + i;
        words.push_back(word), banks.push_back(word % 32),
            vary |= unsigned(word ^ first_word(0)) % 32;
      }
    facts.predicted(key + ".together", group);
    facts.predicted(key + ".words", distinct(words));
    facts.predicted(key + ".banks", distinct(banks));
    facts.predicted(key + ".bank_bits", std::popcount(vary));
    facts.predicted(key + ".wavefronts", simt::shared_wavefronts(access, is_load));
  };
  const auto asks = [&]<class C>(const std::string& name, C) {
    const auto stored = [](int lane) {
      return C::place_in_As(load_A_of<C>(lane).col, load_A_of<C>(lane).row);
    };
    ask(name + ".store_As", 4, false, stored);
    ask(name + ".load_As", 16, true,
        [](int lane) { return C::place_in_As(1, thread_tile_of<C>(lane).row); });
    ask(name + ".load_Bs", 16, true,
        [](int lane) { return C::place_in_Bs(1, thread_tile_of<C>(lane).col); });
    ask(name + ".store_Bs", 16, false, [](int lane) {
      return C::place_in_Bs(load_B_of<C>(lane).row, load_B_of<C>(lane).col);
    });
    const double loads_As = C::WMITER * C::TM / 4 * facts.value(name + ".load_As.wavefronts");
    const double loads_Bs = C::WNITER * C::TN / 4 * facts.value(name + ".load_Bs.wavefronts");
    facts.predicted(name + ".wavefronts_per_step", loads_As + loads_Bs);
    facts.predicted(name + ".read_wavefronts_per_fma", (loads_As + loads_Bs) / C::ACCUMULATORS,
                    3);
    facts.predicted(name + ".store_wavefronts_per_fma",
                    facts.value(name + ".store_As.wavefronts") / C::BN, 4);
    facts.predicted(name + ".blocks_by_shared",
                    tile::occupancy(tile::h200, C::NUM_THREADS, 168, C::SMEM_BYTES).by_shared);
    facts.predicted_loads(name, 1.0 / C::BM + 1.0 / C::BN,
                          double(C::WMITER * C::TM + C::WNITER * C::TN) / C::ACCUMULATORS, 4,
                          4);
    // the worked example: lanes that store one row of A
    for (int lane = 0; lane < 4; ++lane) {
      const std::string key = "worked." + name + "." + std::to_string(lane);
      facts.predicted(key + ".word", stored(lane));
      facts.predicted(key + ".bank", stored(lane) % 32);
    }
  };
  asks("large", Large{});
  asks("padded", Padded{});
  asks("grouped", Grouped{});
  asks("remapped", Remapped{});
  asks("flat", Flat{});
  asks("flat_padded", FlatPadded{});
  const auto swizzled_Bs = [](int k, int col) {
    return Flat::place_in_Bs(k, col ^ (col >> 5 & 1) << 2);
  };
  ask("flat_swizzled.load_Bs", 16, true,
      [&](int lane) { return swizzled_Bs(1, thread_tile_of<Flat>(lane).col); });
  ask("flat_swizzled.load_Bs_beside", 16, true,
      [&](int lane) { return swizzled_Bs(1, thread_tile_of<Flat>(lane).col + 4); });
  ask("flat_swizzled.store_Bs", 16, false, [&](int lane) {
    return swizzled_Bs(load_B_of<Flat>(lane).row, load_B_of<Flat>(lane).col);
  });

  // Every stride from 128 words to 160, where a row is `lanes_a_row` lanes: the wavefronts of
  // the transposed store.
  const auto strided = [](int lanes_a_row, int stride) {
    simt::WarpAccess access{.active = ~0u};
    for (int lane = 0; lane < 32; ++lane)
      access.address[std::size_t(lane)] =
          4 * std::uint64_t(lane % lanes_a_row * 4 * stride + lane / lanes_a_row);
    return simt::shared_wavefronts(access, false);
  };
  for (const int depth : {8, 16}) {
    int best = 32, best_aligned = 32;
    for (int stride = 128; stride <= 160; ++stride) {
      const int wavefronts = strided(depth / 4, stride);
      best = std::min(best, wavefronts);
      if (stride % 4 == 0) best_aligned = std::min(best_aligned, wavefronts);
      if (stride <= 136)
        facts.predicted("stride." + std::to_string(stride) + ".depth" + std::to_string(depth),
                        wavefronts);
    }
    facts.predicted("stride.best.depth" + std::to_string(depth), best);
    facts.predicted("stride.best_aligned.depth" + std::to_string(depth), best_aligned);
  }

  facts.predicted("step.ffma_cycles", double(Large::ACCUMULATORS) / tile::GpuSpec::schedulers);

  // What it should bring: throughput at 4096 if each wavefront less saves what earlier records
  // say that it costs.
  const auto chapters = tile::in_repository("chapters");
  const auto record_of = [&](const char* chapter) {
    for (const tile::Record& record : tile::load_records(chapters / chapter))
      if (record["gpu"] == tile::reference_gpu) return record;
    return tile::Record();
  };
  const tile::Record tuning = record_of("07-autotuning"), tiling = record_of("08-warp-tiling");
  if (tuning.is_null() || tiling.is_null()) return;
  // cycles of an SM for a warp-wide multiply-add
  const double at_peak = 1.0 / tile::GpuSpec::schedulers;
  const auto cycles_of = [&](const tile::Record& record, const std::string& kernel) {
    for (const auto& k : record["kernels"])
      for (const auto& run : k["runs"])
        if (k["name"] == kernel && run["M"] == 4096 && run["N"] == 4096)
          return at_peak * tile::h200.peak_tflops() / run["tflops"].template get<double>();
    throw std::logic_error(kernel);
  };
  double least = 1e9, most = 0;
  for (const auto& [name, value] : tuning["rates"].items())
    if (name.rfind("stores.", 0) == 0 && name.find(".price") != std::string::npos)
      least = std::min(least, value.get<double>()), most = std::max(most, value.get<double>());
  const double now = cycles_of(tiling, "large");
  facts.predicted("price.least", least);
  facts.predicted("price.most", most);
  facts.predicted("now.cycles", now, 4);
  // wavefronts for a multiply-add
  const auto expect = [&](const std::string& key, double fewer, double price) {
    facts.predicted(key + ".tflops",
                    at_peak * tile::h200.peak_tflops() / (now - fewer * price));
    facts.predicted(key + ".percent", 100 * now / (now - fewer * price) - 100, 1);
  };
  for (const char* name : {"padded", "grouped"}) {
    const double fewer = facts.value("large.store_wavefronts_per_fma") -
                         facts.value(std::string(name) + ".store_wavefronts_per_fma");
    expect(std::string("expected.") + name + ".least", fewer, least);
    expect(std::string("expected.") + name + ".most", fewer, most);
  }
  // Chapters 07 and 08 have a pair that differs in its warps: it gives a price for a wavefront
  // of the loads.
  const double flat_loads = facts.value("flat.read_wavefronts_per_fma"),
               loads = facts.value("large.read_wavefronts_per_fma");
  const double load_price = (cycles_of(tuning, "tuned") - now) / (flat_loads - loads);
  facts.predicted("price.loads", load_price);
  expect("expected.remapped", loads - facts.value("remapped.read_wavefronts_per_fma"),
         load_price);

  // What it brought, from this chapter's record: cycles for a wavefront less, between which
  // two kernels. Kernels are timed in turn, so each repetition gives a difference; low and
  // high enclose the median of such differences with 95 percent.
  struct Paid {
    const char *name, *slower, *faster, *wavefronts;
  };
  const std::vector<Paid> all_paid{
      {"padded", "large", "padded", ".store_wavefronts_per_fma"},
      {"last", "padded", "grouped", ".store_wavefronts_per_fma"},
      {"grouped", "large", "grouped", ".store_wavefronts_per_fma"},
      {"remapped", "large", "remapped", ".read_wavefronts_per_fma"},
      {"flat", "flat", "large", ".read_wavefronts_per_fma"}};
  const tile::Record own = record_of("09-bank-conflicts");
  std::vector<std::string> results{"clock.percent", "clock.unmerged.percent",
                                   "clock.l1.percent", "clock.as_the_rule"};
  for (const Candidate& candidate : candidates)
    results.push_back(std::string("clock.as_") + candidate.name);
  for (const Paid& paid : all_paid)
    for (const char* what : {"", ".low", ".high"})
      results.push_back(std::string("paid.") + paid.name + what);
  for (const char* loads : {"load8", "load16"})
    for (const char* what : {"fewest", "most"})
      results.push_back(std::string("clock.") + loads + ".by_others." + what);
  if (own.is_null() || !has_all_patterns(own)) {
    for (const std::string& key : results) facts.not_yet_measured(key);
    return;
  }
  const auto cycles_of_samples = [&](const std::string& kernel) {
    const tile::Record& run = *tile::find_run(own, kernel, 4096);
    std::vector<double> cycles;
    for (const double ms : run["samples_ms"].get<std::vector<double>>())
      cycles.push_back(cycles_of(own, kernel) * ms / run["median_ms"].get<double>());
    return cycles;
  };
  // Of the sorted values, how many at each end are left out, so that the others enclose the
  // median with 95 percent.
  const auto left_out = [](std::size_t values) {
    // so many of fair coins show heads
    double exactly = std::pow(0.5, double(values)), at_most = exactly;
    std::size_t heads = 0;
    while (at_most <= 0.025) {
      exactly *= double(values - heads) / double(heads + 1);
      at_most += exactly;
      ++heads;
    }
    return heads - 1;
  };
  for (const Paid& paid : all_paid) {
    const double fewer = facts.value(paid.slower + std::string(paid.wavefronts)) -
                         facts.value(paid.faster + std::string(paid.wavefronts));
    const std::vector<double> slower = cycles_of_samples(paid.slower),
                              faster = cycles_of_samples(paid.faster);
    std::vector<double> saved;
    for (std::size_t i = 0; i < std::min(slower.size(), faster.size()); ++i)
      saved.push_back((slower[i] - faster[i]) / fewer);
    std::sort(saved.begin(), saved.end());
    const std::string key = std::string("paid.") + paid.name;
    facts.measured(key, (cycles_of(own, paid.slower) - cycles_of(own, paid.faster)) / fewer,
                   2);
    facts.measured(key + ".low", saved[left_out(saved.size())], 2);
    facts.measured(key + ".high", saved[saved.size() - 1 - left_out(saved.size())], 2);
  }
  // For how many patterns the clock, in whole cycles, shows what a rule says.
  const auto patterns_as = [&](auto rule) {
    return double(std::count_if(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
      return std::lround(own["rates"].at("cycles." + pattern.name).get<double>()) ==
             rule(pattern);
    }));
  };
  facts.predicted("patterns", double(patterns.size()));
  facts.measured("clock.as_the_rule", patterns_as(wavefronts_of), 0);
  for (const Candidate& candidate : candidates)
    facts.measured(std::string("clock.as_") + candidate.name,
                   patterns_as([&](const Pattern& pattern) {
                     return wavefronts_by(candidate, access_of(pattern), pattern.is_load);
                   }),
                   0);
  // Of the loads in which lane l agrees with lane l ^ distance alone: the cycles where
  // distance is neither 1 nor 2.
  for (const int bytes : {8, 16}) {
    const std::string loads = "load" + std::to_string(bytes) + ".by";
    double fewest = 1e9, most_cycles = 0;
    for (int distance = 3; distance < 256 / bytes; ++distance) {
      const double cycles = own["rates"]["cycles." + loads + std::to_string(distance)];
      fewest = std::min(fewest, cycles), most_cycles = std::max(most_cycles, cycles);
    }
    facts.measured("clock." + loads + "_others.fewest", fewest);
    facts.measured("clock." + loads + "_others.most", most_cycles);
  }
  double worst = 0, worst_unmerged = 0, worst_l1 = 0;
  for (const Pattern& pattern : patterns) {
    const auto percent = [&](const char* rate, double rule) {
      return 100 * std::abs(own["rates"].at(rate + pattern.name).get<double>() / rule - 1);
    };
    const double error = percent("cycles.", wavefronts_of(pattern));
    worst = std::max(worst, error);
    const bool merges = simt::lanes_together(access_of(pattern), pattern.is_load) !=
                        simt::lanes_together(access_of(pattern), false);
    if (!merges) worst_unmerged = std::max(worst_unmerged, error);
    if (pattern.is_load)
      worst_l1 = std::max(
          worst_l1,
          percent("l1_cycles.", facts.value("pattern." + pattern.name + ".l1_cycles")));
  }
  facts.measured("clock.percent", worst, 0);
  facts.measured("clock.unmerged.percent", worst_unmerged, 0);
  facts.measured("clock.l1.percent", worst_l1, 0);
}

template <class Config>
tile::Kernel kernel(const char* name) {
  return {name,
          launch_warp_tiled<Config>,
          reinterpret_cast<const void*>(sgemm_warp_tiled<Config, true>),
          Config::NUM_THREADS,
          {Config::BM, Config::BN, Config::BK, tile::Alignment::float4s},
          Config::SMEM_BYTES};
}

}  // namespace

TILE_CHAPTER(.number = 9, .title = "Bank conflicts and padding",
             .kernels = {kernel<Large>("large"), kernel<Padded>("padded"),
                         kernel<Grouped>("grouped"), kernel<Remapped>("remapped"),
                         kernel<Flat>("flat"), kernel<FlatPadded>("flat_padded")},
             .counted = counted, .sizes = {1024, 2048, 4092, 4096, 8192}, .predict = predict,
             .measure_rates = measure_patterns, .rates = pattern_rates())

TILE_GEMM_TESTS(tile::this_chapter().kernels)

namespace {

const std::vector<tile::Launcher> launchers{
    launch_warp_tiled<Large>,    launch_warp_tiled<Padded>, launch_warp_tiled<Grouped>,
    launch_warp_tiled<Remapped>, launch_warp_tiled<Flat>,   launch_warp_tiled<FlatPadded>};

// The bits of what a launcher makes of random inputs.
std::vector<float> result_of(tile::Launcher launcher, const tile::Case& c) {
  tile::Operands operands(c);
  launcher(operands.gemm());
  tile::machine::synchronize();
  return operands.download_C();
}

}  // namespace

TEST_CASE("neither places nor lanes change a bit of the result") {
  for (const tile::Case& c : {tile::Case{128, 256, 208}, tile::Case{70, 90, 301}}) {
    const std::vector<float> expected = result_of(launch_warp_tiled<Large>, c);
    for (std::size_t i = 0; i < launchers.size(); ++i) {
      CAPTURE(tile::this_chapter().kernels.at(i).name);
      const std::vector<float> result = result_of(launchers[i], c);
      REQUIRE(result.size() == expected.size());
      CHECK(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)) == 0);
    }
  }
}

// Which threads have each element of a tile.
class Owners {
 public:
  Owners(int rows, int cols) : cols_(cols), threads_(std::size_t(rows * cols)) {}
  void add(int row, int col, int thread) {
    threads_.at(std::size_t(row * cols_ + col)).push_back(thread);
  }
  // The first element that has no thread, or several, and which; "" if each has one.
  std::string complaint() const {
    for (std::size_t at = 0; at < threads_.size(); ++at) {
      if (threads_[at].size() == 1) continue;
      std::string who;
      for (const int thread : threads_[at])
        who += (who.empty() ? "" : ", ") + std::to_string(thread);
      return "row " + std::to_string(int(at) / cols_) + ", column " +
             std::to_string(int(at) % cols_) + " has " +
             (who.empty() ? "no thread" : "threads " + who);
    }
    return "";
  }

 private:
  int cols_;
  std::vector<std::vector<int>> threads_;
};

template <class C>
void check_maps() {
  Owners results(C::BM, C::BN), copies_of_A(C::BM, C::BK), copies_of_B(C::BK, C::BN);
  for (int thread = 0; thread < C::NUM_THREADS; ++thread) {
    const auto [warpRow, warpCol] = warp_tile_of<C>(thread);
    const auto [row, col] = thread_tile_of<C>(thread);
    for (int wm = 0; wm < C::WMITER; ++wm)
      for (int wn = 0; wn < C::WNITER; ++wn)
        for (int i = 0; i < C::TM; ++i)
          for (int j = 0; j < C::TN; ++j)
            results.add(warpRow + wm * C::WSUBM + row + i, warpCol + wn * C::WSUBN + col + j,
                        thread);
    for (int i = 0; i < 4; ++i) {
      for (int down = 0; down < C::BM; down += C::ROWS_A)
        copies_of_A.add(load_A_of<C>(thread).row + down, load_A_of<C>(thread).col + i, thread);
      for (int down = 0; down < C::BK; down += C::ROWS_B)
        copies_of_B.add(load_B_of<C>(thread).row + down, load_B_of<C>(thread).col + i, thread);
    }
  }
  CHECK(results.complaint() == "");
  CHECK(copies_of_A.complaint() == "");
  CHECK(copies_of_B.complaint() == "");
}

// Every element of a tile has a place of its own in the array that the kernel declares, and
// every float4 an aligned one.
template <class C>
void check_places() {
  std::vector<int> A(C::AS_WORDS), B(C::BS_WORDS);
  for (int k = 0; k < C::BK; ++k) {
    for (int row = 0; row < C::BM; ++row) ++A.at(std::size_t(C::place_in_As(k, row)));
    for (int col = 0; col < C::BN; ++col) ++B.at(std::size_t(C::place_in_Bs(k, col)));
    for (int i = 0; i < C::BM; i += 4) {
      CHECK(C::place_in_As(k, i) % 4 == 0);
      CHECK(C::place_in_As(k, i + 3) == C::place_in_As(k, i) + 3);
    }
    for (int j = 0; j < C::BN; j += 4) {
      CHECK(C::place_in_Bs(k, j) % 4 == 0);
      CHECK(C::place_in_Bs(k, j + 3) == C::place_in_Bs(k, j) + 3);
    }
  }
  CHECK(*std::max_element(A.begin(), A.end()) == 1);
  CHECK(*std::max_element(B.begin(), B.end()) == 1);
  CHECK(std::count(A.begin(), A.end(), 1) == C::BK * C::BM);
  CHECK(std::count(B.begin(), B.end(), 1) == C::BK * C::BN);
  CHECK(A.back() == 1);  // not a word too many
  CHECK(B.back() == 1);
}

TEST_CASE("every result of a tile has one thread, and so has every element of As and Bs") {
  check_maps<Large>();
  check_maps<Remapped>();
  check_maps<Flat>();
}

TEST_CASE("every element has a place of its own, and every float4 an aligned one") {
  check_places<Large>();
  check_places<Padded>();
  check_places<Grouped>();
  check_places<FlatPadded>();
}

TEST_CASE("padding costs no block on an SM") {
  const auto check = []<class C>(C, int words_of_padding) {
    CHECK(C::SMEM_BYTES == ((C::BM + C::BN) * C::BK + words_of_padding) * 4);
  };
  check(Large{}, 0);
  check(Padded{}, (Padded::BK - 1) * 4);  // 4 words after each row but the last
  // after each so many
  check(Grouped{}, (Grouped::BK / Grouped::LAYOUT.rows_a_pad - 1) * Grouped::LAYOUT.pad_A);
  check(FlatPadded{}, (FlatPadded::BK - 1) * 4);
  for (const tile::Kernel& k : tile::this_chapter().kernels) {
    CAPTURE(k.name);
    const auto o = tile::occupancy(tile::h200, 128, 168, int(k.static_shared));
    CHECK(o.blocks == 3);
    CHECK(o.by_shared > o.by_registers);
  }
}

// A float or int array of the device for one test.
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

std::vector<int> words_of(const Pattern& pattern) {
  return {pattern.word.begin(), pattern.word.end()};
}

TEST_CASE("the microbenchmarks read and write the words that they say") {
  constexpr int rounds = 3;
  for (const Pattern& pattern : patterns) {
    CAPTURE(pattern.name);
    const std::vector<int> words = words_of(pattern);
    const Array<int> first(words, "first");
    const Array<float> out(std::vector<float>(64), "out");
    launch_pattern(pattern, dim3(2), dim3(32), first.data, out.data, rounds);
    const std::vector<float> found = out.download();
    const int words_a_lane = pattern.bytes / 4;
    if (pattern.is_load) {
      std::vector<float> expected(64);
      for (std::size_t lane = 0; lane < 64; ++lane)
        for (int round = 0; round < rounds; ++round)
          for (int i = 0; i < Bench::LOAD_STEPS; ++i)
            for (int word = 0; word < words_a_lane; ++word)
              if (words[lane % 32] != IDLE)
                expected[lane] += float((words[lane % 32] + 32 * (round + i) + word) % 7);
      CHECK(found == expected);
      std::vector<float> values;
      for (int i = 0; i < Bench::REGION; ++i) values.push_back(float(i % 7));
      const Array<float> table(values, "table");
      launch_l1_pattern(pattern, dim3(2), dim3(32), table.data, first.data, out.data, rounds);
      CHECK(out.download() == expected);
    } else {
      std::vector<int> stored;
      for (const int word : words)
        for (int i = 0; i < words_a_lane; ++i) stored.push_back(word + i);
      std::sort(stored.begin(), stored.end());
      const auto distinct = std::unique(stored.begin(), stored.end()) - stored.begin();
      for (int block = 0; block < 2; ++block)  // two turns' places, then the first again
        CHECK(std::accumulate(found.begin() + 32 * block, found.begin() + 32 * (block + 1),
                              0.0f) == float(2 * Bench::STORE_STEPS * distinct));
    }
  }
}

TEST_CASE("conflicts are words over banks: how many bits of the bank's number vary decides") {
  tile::Facts facts;
  predict(facts);
  const auto check = [&](const std::string& access, int groups, int words, int bank_bits) {
    CAPTURE(access);
    CHECK(facts.value(access + ".together") * groups == 32);
    CHECK(facts.value(access + ".words") == words);
    CHECK(facts.value(access + ".bank_bits") == bank_bits);
    CHECK(facts.value(access + ".banks") == (1 << bank_bits));
    CHECK(facts.value(access + ".wavefronts") == groups * words / (1 << bank_bits));
  };
  check("large.store_As", 1, 32, 3);   // of the row
  check("padded.store_As", 1, 32, 4);  // and one of the column
  check("grouped.store_As", 1, 32, 5);
  check("large.load_Bs", 4, 32, 5);
  check("remapped.load_Bs", 2, 32, 5);
  check("flat.load_Bs", 4, 32, 4);
  check("flat_padded.load_Bs", 4, 32, 4);  // a row's padding is the same for all lanes
  check("flat_swizzled.load_Bs", 4, 32, 5);
  check("flat_swizzled.load_Bs_beside", 4, 32, 5);
  check("flat_swizzled.store_Bs", 4, 32, 5);
  check("flat.store_Bs", 4, 32, 5);
}

const Pattern& pattern_named(const std::string& name) {
  const auto pattern = std::find_if(patterns.begin(), patterns.end(),
                                    [&](const Pattern& p) { return p.name == name; });
  if (pattern == patterns.end()) throw std::logic_error("no pattern has the name " + name);
  return *pattern;
}

TEST_CASE("patterns that stand for an access of a kernel are that access") {
  const auto check = [](const std::string& name, auto word) {
    CAPTURE(name);
    for (int lane = 0; lane < 32; ++lane) CHECK(pattern_named(name).word[lane] == word(lane));
  };
  const auto stored = [&]<class C>(const std::string& name, C) {
    check(name, [](int lane) {
      return C::place_in_As(load_A_of<C>(lane).col, load_A_of<C>(lane).row);
    });
  };
  stored("store4.two_a_row", Config<128, 128, 8, 64, 64, 2, 8, 4, 3>{});
  stored("store4.two_a_row_padded",
         Config<128, 128, 8, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 4}>{});
  stored("store4.four_a_row", Large{});
  stored("store4.four_a_row_padded", Padded{});
  // a warp is two rows of 16 threads, with 8 x 8 results each
  using Of06 = Config<128, 128, 8, 16, 128, 1, 8, 8, 1>;
  using Tall = Config<64, 128, 16, 64, 32, 1, 8, 8, 4>;  // chapter 08's `tall`
  check("load16.rows_of_16", [](int lane) { return thread_tile_of<Of06>(lane).row; });
  check("load16.rows_of_4", [](int lane) { return thread_tile_of<Tall>(lane).row; });
  check("load16.rows_of_8", [](int lane) { return thread_tile_of<Large>(lane).row; });
  check("load16.columns", [](int lane) { return thread_tile_of<Large>(lane).col; });
  check("load16.paired", [](int lane) { return thread_tile_of<Remapped>(lane).col; });
  check("load16.flat", [](int lane) { return thread_tile_of<Flat>(lane).col; });
}

TEST_CASE("the 150 counted patterns leave every candidate") {
  std::ifstream rows(tile::in_repository("common/sim/data/h200-shared-memory-wavefronts.csv"));
  int counted_patterns = 0;
  for (std::string row; std::getline(rows, row);) {
    if (row.empty() || row[0] == '#') continue;
    ++counted_patterns;
    CAPTURE(row);
    // width_bytes,op,wavefronts,bank_conflicts,family,word of lane 0 ... 31
    std::istringstream in(row);
    std::array<std::string, 5> field;
    for (std::string& text : field) std::getline(in, text, ',');
    simt::WarpAccess access{.active = ~0u, .size = std::stoi(field[0])};
    for (std::uint64_t& address : access.address) {
      in >> address;
      address *= 4;
    }
    REQUIRE(in);
    for (const Candidate& candidate : candidates)
      CHECK(wavefronts_by(candidate, access, field[1] == "ld") == std::stoi(field[2]));
  }
  CHECK(counted_patterns == 150);
}

TEST_CASE("each pattern that is named by a distance agrees at that distance alone") {
  const auto agrees = [](const Pattern& pattern, int first, int lanes, int distance) {
    for (int lane = first; lane < first + lanes; ++lane)
      if (pattern.word[lane] != pattern.word[lane ^ distance]) return false;
    return true;
  };
  const auto check = [&](const std::string& name, auto expected) {
    CAPTURE(name);
    const Pattern& pattern = pattern_named(name);
    for (int quad = 0; quad < 32; quad += 4)
      for (int distance = 1; distance < 32; ++distance) {
        CAPTURE(quad);
        CAPTURE(distance);
        CHECK(agrees(pattern, quad, 4, distance) == expected(quad, distance));
      }
  };
  for (const std::string width : {"8", "16"}) {
    for (int by = 1; by < 256 / std::stoi(width); ++by)
      check("load" + width + ".by" + std::to_string(by),
            [=](int, int distance) { return distance == by; });
    for (const int by : {1, 2})
      check("store" + width + ".by" + std::to_string(by),
            [=](int, int distance) { return distance == by; });
    check("load" + width + ".halves_differ",
          [](int quad, int distance) { return distance == (quad < 16 ? 1 : 2); });
    check("load" + width + ".quads_differ",
          [](int quad, int distance) { return distance == (quad % 8 == 0 ? 1 : 2); });
    for (const char* op : {"load", "store"})
      check(op + width + ".one_word", [](int, int) { return true; });
    check("load" + width + ".half_agrees",
          [](int quad, int distance) { return quad < 16 && distance == 1; });
    const Pattern odd_idle = pattern_named("load" + width + ".odd_idle");
    const Pattern groups_idle = pattern_named("load" + width + ".groups_idle");
    const int group = 128 / std::stoi(width);
    for (int lane = 0; lane < 32; ++lane) {
      CHECK((odd_idle.word[lane] == IDLE) == (lane % 2 == 1));
      CHECK((groups_idle.word[lane] == IDLE) == (lane / group % 2 == 1));
    }
  }
}

TEST_CASE("no stride of whole float4s cures the stores of a tile 16 deep") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("stride.128.depth8") == 2);
  CHECK(facts.value("stride.132.depth8") == 1);
  CHECK(facts.value("stride.128.depth16") == 4);
  CHECK(facts.value("stride.129.depth16") == 2);
  CHECK(facts.value("stride.130.depth16") == 1);
  CHECK(facts.value("stride.132.depth16") == 2);
  CHECK(facts.value("stride.best.depth16") == 1);
  CHECK(facts.value("stride.best_aligned.depth16") == 2);
  CHECK(facts.value("stride.best_aligned.depth8") == 1);
}

#if TILE_ON_MODEL
TEST_CASE("the microbenchmarks take the wavefronts that the rule says" *
          doctest::test_suite("model")) {
  for (const Pattern& pattern : patterns) {
    CAPTURE(pattern.name);
    const Array<int> first(words_of(pattern), "first");
    const Array<float> out(std::vector<float>(32), "out");
    // Pairs of lanes that store the same to the same word: a race, and meant.
    const bool lanes_share =
        std::set<int>(pattern.word.begin(), pattern.word.end()).size() < 32;
    const simt::Trace trace{.report_races = pattern.is_load || !lanes_share};
    const auto run = [&] {
      launch_pattern(pattern, dim3(1), dim3(32), first.data, out.data, 2);
    };
    const simt::Counts counts = simt::trace(run, trace).front();
    const simt::Site& site =
        tile::site(counts, pattern.is_load ? "load-pattern" : "store-pattern");
    CHECK(site.requests == 2u * unsigned(steps_of(pattern)));
    CHECK(site.width == pattern.bytes);
    CHECK(site.wavefronts == site.requests * unsigned(wavefronts_of(pattern)));
  }
}

TEST_CASE("the clock shows the wavefronts of the rule, pattern by pattern" *
          doctest::test_suite("model")) {
  tile::Facts facts;
  predict(facts);
  int compared = 0;
  for (const tile::Record& record :
       tile::load_records(tile::in_repository("chapters/09-bank-conflicts"))) {
    REQUIRE(has_all_patterns(record));
    const auto rate = [&](const std::string& name) {
      return record["rates"].at(name).get<double>();
    };
    const bool hopper = record["architecture"].get<std::string>().starts_with("90");
    for (const Pattern& pattern : patterns) {
      CAPTURE(record["gpu"].get<std::string>());
      CAPTURE(pattern.name);
      const double measured = rate("cycles." + pattern.name);
      if (hopper)
        CHECK(std::lround(measured) == wavefronts_of(pattern));
      else  // of another architecture this is news, not an error
        WARN(std::lround(measured) == wavefronts_of(pattern));
      if (record["gpu"] != tile::reference_gpu) continue;
      ++compared;
      CHECK(measured > 0.99 * wavefronts_of(pattern));
      CHECK(measured < 1.15 * wavefronts_of(pattern));
      if (!pattern.is_load) continue;
      const double rule = facts.value("pattern." + pattern.name + ".l1_cycles");
      CHECK(rate("l1_cycles." + pattern.name) > 0.99 * rule);
      CHECK(rate("l1_cycles." + pattern.name) < 1.12 * rule);
    }
  }
  CHECK(compared == int(patterns.size()));
}

TEST_CASE("the clock leaves one candidate" * doctest::test_suite("model")) {
  for (const Pattern& pattern : patterns)
    for (const Candidate& candidate : candidates)
      if (candidate.idle_cost)
        CHECK(wavefronts_by(candidate, access_of(pattern), pattern.is_load) ==
              wavefronts_of(pattern));
  tile::Facts facts;
  predict(facts);
  for (const Candidate& candidate : candidates) {
    CAPTURE(candidate.name);
    const double fitted = facts.value(std::string("clock.as_") + candidate.name);
    CHECK((fitted == double(patterns.size())) == candidate.idle_cost);
  }
}

template <class C>
simt::Counts counted_twice_as_deep() {
  return tile::count(launch_warp_tiled<C>, {C::BM, C::BN, 2 * C::BK});
}

// Wavefronts of a request, on average.
template <class C>
double wavefronts(std::string_view tag) {
  const simt::Counts counts = counted_twice_as_deep<C>();
  const simt::Site& site = tile::site(counts, tag);
  return double(site.wavefronts) / double(site.requests);
}

TEST_CASE(
    "where a kernel claims to be free of conflicts, no two lanes want different words of a bank" *
    doctest::test_suite("model")) {
  const auto check = [](const std::string& kernel, const simt::Counts& counts, auto... tags) {
    CAPTURE(kernel);
    for (const char* tag : {tags...}) CHECK(tile::bank_conflict(counts, tag) == "");
  };
  check("large", counted_twice_as_deep<Large>(), "load-As", "load-Bs", "store-Bs");
  check("padded", counted_twice_as_deep<Padded>(), "load-As", "load-Bs", "store-Bs");
  check("grouped", counted_twice_as_deep<Grouped>(), "store-As", "load-As", "load-Bs",
        "store-Bs");
  check("remapped", counted_twice_as_deep<Remapped>(), "load-As", "load-Bs", "store-Bs");
}

TEST_CASE(
    "a stride of 132 cures the stores of a tile 8 deep, and halves those of one 16 deep" *
    doctest::test_suite("model")) {
  using Shallow = Config<128, 128, 8, 64, 64, 2, 8, 4, 3>;
  using ShallowPadded = Config<128, 128, 8, 64, 64, 2, 8, 4, 3, Layout{.pad_A = 4}>;
  CHECK(wavefronts<Shallow>("store-As") == 2);
  CHECK(wavefronts<ShallowPadded>("store-As") == 1);
  CHECK(wavefronts<Large>("store-As") == 4);
  CHECK(wavefronts<Padded>("store-As") == 2);
  CHECK(wavefronts<Grouped>("store-As") == 1);
}

TEST_CASE("the prose's arithmetic: wavefronts for a multiply-add, and what one costs" *
          doctest::test_suite("model")) {
  tile::Facts facts;
  predict(facts);
  // A warp's wavefronts for each of its multiply-adds, as the model counts them.
  const auto check = [&]<class C>(const std::string& name, C) {
    CAPTURE(name);
    const tile::Case c{C::BM, C::BN, 2 * C::BK};
    const auto counts = tile::count(launch_warp_tiled<C>, c);
    const double multiply_adds = double(c.M) * c.N * c.K / 32;
    const auto per_fma = [&](const char* tag) {
      return double(tile::site(counts, tag).wavefronts) / multiply_adds;
    };
    CHECK(facts.value(name + ".store_wavefronts_per_fma") ==
          doctest::Approx(per_fma("store-As")));
    CHECK(facts.value(name + ".read_wavefronts_per_fma") ==
          doctest::Approx(per_fma("load-As") + per_fma("load-Bs")));
  };
  check("large", Large{});
  check("padded", Padded{});
  check("grouped", Grouped{});
  check("remapped", Remapped{});
  check("flat", Flat{});
  // results of a thread, over schedulers
  CHECK(facts.value("step.ffma_cycles") == 8 * 4 * 2 * 2 / 4);

  // At the price of the loads `large`, given the wavefronts of `flat`, is as fast as the
  // kernel that the price is from.
  const auto chapters = tile::in_repository("chapters");
  const auto throughput = [&](const char* chapter, const char* kernel) {
    for (const tile::Record& record : tile::load_records(chapters / chapter))
      if (record["gpu"] == tile::reference_gpu)
        return tile::find_run(record, kernel, 4096)->at("tflops").get<double>();
    return 0.0;
  };
  const double more = facts.value("flat.read_wavefronts_per_fma") -
                      facts.value("large.read_wavefronts_per_fma");
  const double now = facts.value("now.cycles"), price = facts.value("price.loads");
  CHECK(now / (now + more * price) == doctest::Approx(throughput("07-autotuning", "tuned") /
                                                      throughput("08-warp-tiling", "large")));
  const double fewer = facts.value("large.read_wavefronts_per_fma") -
                       facts.value("remapped.read_wavefronts_per_fma");
  CHECK(facts.value("expected.remapped.tflops") ==
        doctest::Approx(throughput("08-warp-tiling", "large") * now / (now - fewer * price)));
}

TEST_CASE("padding As leaves the other accesses as they were" * doctest::test_suite("model")) {
  for (const char* tag : {"load-As", "load-Bs", "store-Bs"}) {
    CAPTURE(tag);
    CHECK(wavefronts<Padded>(tag) == wavefronts<Large>(tag));
    CHECK(wavefronts<Grouped>(tag) == wavefronts<Large>(tag));
  }
}

TEST_CASE("padding Bs does not cure the loads of a flat warp" * doctest::test_suite("model")) {
  CHECK(wavefronts<Flat>("load-Bs") == 8);
  CHECK(wavefronts<FlatPadded>("load-Bs") == 8);
  CHECK(wavefronts<FlatPadded>("store-Bs") == wavefronts<Flat>("store-Bs"));
}

TEST_CASE("lanes in pairs lower the wavefronts of a step from 16 to 12" *
          doctest::test_suite("model")) {
  const auto per_step = [&]<class C>(C) {
    return wavefronts<C>("load-As") * C::WMITER * C::TM / 4 +
           wavefronts<C>("load-Bs") * C::WNITER * C::TN / 4;
  };
  CHECK(per_step(Large{}) == 16);
  CHECK(per_step(Remapped{}) == 12);
  CHECK(wavefronts<Remapped>("store-As") == wavefronts<Large>("store-As"));
  CHECK(wavefronts<Remapped>("load-As") == wavefronts<Large>("load-As"));
}
#endif
