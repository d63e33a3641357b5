// Tile by Tile, a lab of chapter 11: what does a store of part of a sector cost?
//
// No matrix, only stores: each warp writes pieces of 32 sectors, in ways that differ in how many
// requests they make, how many bytes they write and how many sectors they touch, into memory
// that stays in L2 and into memory that does not.
//
// Build, run, verify:   ./tile run 11-parts      ctest --preset model -R chapter11.parts
#include "common/report/chapter.hpp"
#if TILE_ON_GPU
#include "common/bench/timing.hpp"
#endif

namespace {

// How a warp writes 32 sectors, before it goes on to the next 32.
enum class Writing {
  whole,       // whole sectors, in two requests of float4s
  words,       // the same sectors word by word, in eight
  twice,       // whole sectors, and all of them again
  parts,       // left halves of all sectors, then right halves
  parts_late,  // the same, but only after the left halves of all that the warp writes
  left_parts   // left halves only
};
constexpr int PIECE = 256;  // words: 32 sectors

// How often a warp goes over its memory, how many requests it makes in each piece, and how
// many words a lane writes in one.
constexpr __host__ __device__ int visits_of(Writing writing) {
  return writing == Writing::parts_late ? 2 : 1;
}
constexpr __host__ __device__ int requests_of(Writing writing) {
  if (writing == Writing::words) return 8;
  if (writing == Writing::twice) return 4;
  return writing == Writing::parts_late || writing == Writing::left_parts ? 1 : 2;
}
constexpr __host__ __device__ int width_of(Writing writing) {
  return writing == Writing::words ? 1 : 4;
}
// The first word of a piece that a lane writes in a request.
constexpr __host__ __device__ int word_of(Writing writing, int visit, int request, int lane) {
  if (writing == Writing::whole || writing == Writing::twice)
    return request % 2 * 128 + lane * 4;
  if (writing == Writing::words) return request * 32 + lane;
  return lane * 8 + (visit + request) * 4;
}

// Each warp writes PIECES pieces, `sweeps` times over. Neighbouring warps write neighbouring
// pieces.
template <Writing WRITING, int PIECES>
__global__ void write_sectors(float* out, int sweeps) {
  const int lane = threadIdx.x % 32;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32,
            warps = gridDim.x * blockDim.x / 32;
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (int visit = 0; visit < visits_of(WRITING); ++visit)
#pragma unroll 1
      for (int piece = 0; piece < PIECES; ++piece) {
        float* to = out + (std::size_t(piece) * warps + warp) * PIECE;
        float value = float(sweep + 1);
#pragma unroll
        for (int request = 0; request < requests_of(WRITING); ++request) {
          float* word = to + word_of(WRITING, visit, request, lane);
          const float4 four{value, value, value, value};
          if constexpr (width_of(WRITING) == 1)
            *word = value;  //@ write-word
          else
            *reinterpret_cast<float4*>(word) = four;  //@ write-four
          // Without this, the compiler would drop the first stores of `twice`.
          __syncwarp();
        }
      }
}

// The memory that all warps of a full GPU write together: small enough to stay in L2, or far
// too large for it.
struct Place {
  std::string key;
  int pieces, sweeps;
};
constexpr int FEW_PIECES = 2, MANY_PIECES = 128;
const Place in_l2{"l2", FEW_PIECES, 256}, to_dram{"dram", MANY_PIECES, 1};
constexpr int THREADS = 256, BLOCKS = 8;  // in a block; blocks on an SM
constexpr std::size_t words_written(int sms, const Place& place) {
  return std::size_t(sms) * BLOCKS * THREADS / 32 * std::size_t(place.pieces) * PIECE;
}

using WritingKernel = void (*)(float*, int);
// A way of writing: its name in tables, and its kernels for the two places.
struct Writer {
  std::string name;
  Writing writing;
  WritingKernel few_pieces, many_pieces;

  WritingKernel kernel(const Place& place) const {
    return place.pieces == FEW_PIECES ? few_pieces : many_pieces;
  }
  std::string key(const Place& place) const { return "write." + place.key + "." + name; }
  // Part of the name of the kernel's function, which identifies it in the profiler's reports.
  std::string part_of_name(const Place& place) const {
    return "WritingE" + std::to_string(int(writing)) + "ELi" + std::to_string(place.pieces) +
           "E";
  }
};
template <Writing WRITING>
Writer writer(const char* name) {
  return {name, WRITING, write_sectors<WRITING, FEW_PIECES>,
          write_sectors<WRITING, MANY_PIECES>};
}
const std::vector<Writer> writers{
    writer<Writing::whole>("whole"),           writer<Writing::words>("words"),
    writer<Writing::twice>("twice"),           writer<Writing::parts>("parts"),
    writer<Writing::parts_late>("parts_late"), writer<Writing::left_parts>("left_parts")};

std::vector<tile::Chapter::Profiled> profiled() {
  std::vector<tile::Chapter::Profiled> all;
  for (const Place& place : {in_l2, to_dram})
    for (const Writer& w : writers) all.push_back({w.key(place), w.part_of_name(place)});
  return all;
}

// Microseconds per sweep for each way of writing.
std::vector<tile::Chapter::Rate> rates() {
  std::vector<tile::Chapter::Rate> rates{{"lowest_mhz", "lowest SM clock"}};
  for (const Place& place : {in_l2, to_dram})
    for (const Writer& w : writers)
      rates.push_back({w.key(place), "microseconds of writing, " + w.name + ", " + place.key});
  return rates;
}

#if TILE_ON_GPU
// Calls `use` for each way of writing and each place, with what launches it on the whole GPU.
template <class Use>
void for_each_writing(Use use) {
  int sms = 0;
  tile::cuda_check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
                   "multiprocessor count");
  for (const Place& place : {in_l2, to_dram}) {
    float* memory = nullptr;
    const std::size_t bytes = words_written(sms, place) * sizeof(float);
    tile::cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    tile::cuda_check(cudaMemset(memory, 0, bytes), "cudaMemset");
    for (const Writer& w : writers)
      use(w, place, [&] {
        tile::launch(w.kernel(place), dim3(unsigned(sms * BLOCKS)), dim3(THREADS), 0, memory,
                     place.sweeps);
      });
    cudaFree(memory);
  }
}

void measure(tile::RateSink& sink) {
  for_each_writing([&](const Writer& w, const Place& place, const auto& launch) {
    sink.rate(w.key(place),
              1e3 * tile::time_ms([&](int) { launch(); }, 40).median / place.sweeps);
  });
}

// For a profiler: runs each way of writing once.
void profile() {
  for_each_writing([](const Writer&, const Place&, const auto& launch) { launch(); });
  tile::cuda_check(cudaDeviceSynchronize(), "write_sectors");
}
#else
constexpr void (*measure)(tile::RateSink&) = nullptr;
constexpr void (*profile)() = nullptr;
#endif

// What a warp needs to write a piece: requests, bytes, and the sectors that these touch.
double requests_of_a_piece(Writing writing) {
  return visits_of(writing) * requests_of(writing);
}
double bytes_of_a_piece(Writing writing) {
  return requests_of_a_piece(writing) * 128 * width_of(writing);
}
double sectors_of_a_piece(Writing writing) {
  int sectors = 0;
  for (int visit = 0; visit < visits_of(writing); ++visit)
    for (int request = 0; request < requests_of(writing); ++request) {
      simt::WarpAccess access{.active = ~0u, .size = 4 * width_of(writing)};
      for (int lane = 0; lane < 32; ++lane)
        access.address[std::size_t(lane)] =
            4 * std::uint64_t(word_of(writing, visit, request, lane));
      sectors += simt::distinct_blocks(access, 5);
    }
  return sectors;
}

// The predictions that the page cites: the time of each way of writing as a multiple of
// `whole`, if it is proportional to requests, to bytes, or to sectors.
void predict(tile::Facts& facts) {
  for (const Writer& w : writers) {
    const auto multiple = [&](const std::string& explanation, auto cost) {
      facts.predicted("by_" + explanation + "." + w.name,
                      cost(w.writing) / cost(Writing::whole));
    };
    multiple("requests", requests_of_a_piece);
    multiple("size", bytes_of_a_piece);
    multiple("sectors", sectors_of_a_piece);
  }
  for (const Place& place : {in_l2, to_dram})
    facts.predicted(place.key + ".mb", double(words_written(tile::h200.sms, place)) * 4e-6);
}

}  // namespace

TILE_CHAPTER(.number = 11, .title = "Coalesced write-back", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {}, .predict = predict, .measure_rates = measure,
             .profile = profile, .profiled = profiled(), .rates = rates())

TEST_CASE(
    "what stays in L2 takes less than half of it, what goes to DRAM four times as much") {
  const double l2 = 50e6;  // of an H100 by its whitepaper; that of an H200 is no smaller
  CHECK(4.0 * double(words_written(tile::h200.sms, in_l2)) < l2 / 2);
  CHECK(4.0 * double(words_written(tile::h200.sms, to_dram)) > 4 * l2);
}

// What four warps leave in memory that was 0 before.
std::vector<float> memory_after(const Writer& writer, int sweeps) {
  const std::size_t words = 4 * std::size_t(FEW_PIECES) * PIECE;
  float* memory = static_cast<float*>(
      tile::machine::allocate(words * sizeof(float), sizeof(float), "memory"));
  std::vector<float> values(words);
  tile::machine::copy_to_device(memory, values.data(), words * sizeof(float));
  tile::launch(writer.few_pieces, dim3(2), dim3(64), 0, memory, sweeps);
  tile::machine::copy_to_host(values.data(), memory, words * sizeof(float));
  tile::machine::release(memory);
  return values;
}

TEST_CASE("each way of writing writes every word, or the left half of every sector") {
  for (const Writer& w : writers) {
    const std::vector<float> values = memory_after(w, 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool written = w.writing != Writing::left_parts || i % 8 < 4;
      REQUIRE_MESSAGE(values[i] == (written ? 3.0f : 0.0f), w.name << ", word " << i);
    }
  }
}

#if TILE_ON_MODEL
simt::Counts traced(const Writer& w) {
  const std::size_t words = 2 * std::size_t(FEW_PIECES) * PIECE;
  float* memory = static_cast<float*>(
      tile::machine::allocate(words * sizeof(float), sizeof(float), "memory"));
  simt::Trace options;
  options.keep_touches = true;
  const simt::Counts counts =
      simt::trace([&] { tile::launch(w.few_pieces, dim3(1), dim3(64), 0, memory, 1); },
                  options)
          .front();
  tile::machine::release(memory);
  return counts;
}

TEST_CASE("each way of writing makes its requests, and touches its sectors" *
          doctest::test_suite("model")) {
  for (const Writer& w : writers) {
    CAPTURE(w.name);
    const simt::Counts counts = traced(w);
    const simt::Site& write =
        tile::site(counts, width_of(w.writing) == 1 ? "write-word" : "write-four");
    const int pieces = 2 * FEW_PIECES;
    CHECK(double(write.requests) == pieces * requests_of_a_piece(w.writing));
    CHECK(double(write.bytes()) == pieces * bytes_of_a_piece(w.writing));
    CHECK(double(write.sectors) == pieces * sectors_of_a_piece(w.writing));
  }
}

TEST_CASE("a lane writes a right half right after the left one, or after all its left halves" *
          doctest::test_suite("model")) {
  for (const Writer& w : writers) {
    std::vector<std::int64_t> bytes;
    for (const simt::Touch& touch : traced(w).touches)
      if (touch.thread == 0 && touch.op == simt::Op::store) bytes.push_back(touch.byte_offset);
    if (w.name == "parts") CHECK(bytes == std::vector<std::int64_t>{0, 16, 2048, 2064});
    if (w.name == "parts_late") CHECK(bytes == std::vector<std::int64_t>{0, 2048, 16, 2064});
  }
}
#endif
