// Tests of the SIMT model: its counting rules against hardware counters, its vocabulary, and every mistake it finds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/sim/rules.hpp"
#include "common/report/chapter.hpp"
#include "common/count/count.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of the SIMT model", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

simt::Counts traced(const std::function<void()>& work) { return simt::trace(work).front(); }

// The message of the simt::Error that `work` ends with, or "" without one.
std::string mistake(const std::function<void()>& work) {
  try {
    simt::trace(work);
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const simt::Site& only_site(const simt::Counts& counts, simt::Op op, simt::Space space) {
  const simt::Site* found = nullptr;
  for (const auto& site : counts.sites)
    if (site.op == op && site.space == space) {
      REQUIRE(found == nullptr);
      found = &site;
    }
  REQUIRE(found != nullptr);
  return *found;
}

// --- The measured patterns ------------------------------------------------------------------------------------
constexpr int pattern_words = 8192;

template <class T>
__global__ void load_pattern(const int* word_of_lane, T* out) {
  __shared__ __align__(16) float words[pattern_words];
  for (int i = threadIdx.x; i < pattern_words; i += blockDim.x) words[i] = float(i);
  __syncthreads();                                                                 // lanes read what others wrote
  const T value = *reinterpret_cast<const T*>(&words[word_of_lane[threadIdx.x]]);  // the pattern
  out[threadIdx.x] = value;
}

template <class T>
__global__ void store_pattern(const int* word_of_lane, T* inout) {
  __shared__ __align__(16) float words[pattern_words];
  T* const target = reinterpret_cast<T*>(&words[word_of_lane[threadIdx.x]]);
  *target = inout[threadIdx.x];  // the pattern; it may send two lanes to one word, a race that is no matter here
  __syncthreads();               // all stores before any load
  inout[threadIdx.x] = *target;
}

// A line of common/sim/data: comma-separated fields, the last of them the word that each lane touches.
struct MeasuredRow {
  std::string line;
  std::vector<std::string> fields;
  std::vector<int> words;
};

std::vector<MeasuredRow> measured_rows(const std::string& file, std::size_t field_count) {
  std::ifstream in(tile::in_repository("common/sim/data/" + file));
  REQUIRE(in);
  std::vector<MeasuredRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    MeasuredRow row{line, {}, {}};
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) row.fields.push_back(field);
    REQUIRE(row.fields.size() == field_count);
    std::istringstream list(row.fields.back());
    for (int word; list >> word;) row.words.push_back(word);
    REQUIRE(row.words.size() == 32);
    rows.push_back(row);
  }
  return rows;
}

template <class T>
__global__ void load_global_pattern(const float* data, const int* word_of_lane, T* out) {
  const T value = *reinterpret_cast<const T*>(&data[word_of_lane[threadIdx.x]]);  //@ pattern
  out[threadIdx.x] = value;
}
template <class T>
__global__ void store_global_pattern(float* data, const int* word_of_lane, const T* in) {
  *reinterpret_cast<T*>(&data[word_of_lane[threadIdx.x]]) = in[threadIdx.x];  //@ pattern
}

// What one access with this pattern to global memory costs.
template <class T>
simt::Site global_access(const std::string& op, const std::vector<int>& words) {
  auto lanes = tile::array<int>("lanes", 32);
  lanes.set(words);
  auto values = tile::array<T>("values", 32);
  auto data = tile::array<float>("data", std::size_t(*std::max_element(words.begin(), words.end()) + 4));
  const dim3 one(1), warp(32);
  const auto launch = [&] {
    if (op == "ld")
      tile::launch(load_global_pattern<T>, one, warp, 0, data.device(), lanes.device(), values.device());
    else
      tile::launch(store_global_pattern<T>, one, warp, 0, data.device(), lanes.device(), values.device());
  };
  const auto counts = simt::trace(launch, {.report_races = false}).front();
  for (const simt::Site& site : counts.sites)
    if (site.array == "data") return site;
  throw std::logic_error("the pattern was not counted");
}

template <class T>
std::uint64_t wavefronts_of(const std::string& op, const std::vector<int>& words) {
  auto lanes = tile::array<int>("lanes", 32);
  lanes.set(words);
  auto values = tile::array<T>("values", 32);
  const dim3 one(1), warp(32);
  if (op == "ld") {
    const auto counts = traced([&] { tile::launch(load_pattern<T>, one, warp, 0, lanes.device(), values.device()); });
    return only_site(counts, simt::Op::load, simt::Space::shared).wavefronts;
  }
  const auto counts =
      simt::trace([&] { tile::launch(store_pattern<T>, one, warp, 0, lanes.device(), values.device()); },
                  {.report_races = false})
          .front();
  return only_site(counts, simt::Op::store, simt::Space::shared).wavefronts;
}

}  // namespace

TEST_CASE("all measured shared-memory patterns cost what the hardware counted" * doctest::test_suite("model")) {
  const auto rows = measured_rows("h200-shared-memory-wavefronts.csv", 6);
  CHECK(rows.size() == 150);
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    const std::uint64_t counted = row.fields[0] == "4"   ? wavefronts_of<float>(row.fields[1], row.words)
                                  : row.fields[0] == "8" ? wavefronts_of<float2>(row.fields[1], row.words)
                                                         : wavefronts_of<float4>(row.fields[1], row.words);
    CHECK(counted == std::stoull(row.fields[2]));
  }
}

TEST_CASE("in no measured shared-memory pattern lanes receive more than 256 bytes a wavefront" *
          doctest::test_suite("model")) {
  for (const MeasuredRow& row : measured_rows("h200-shared-memory-wavefronts.csv", 6)) {
    CAPTURE(row.line);
    CHECK(32 * std::stoi(row.fields[0]) <= 256 * std::stoi(row.fields[2]));
  }
}

TEST_CASE("all measured accesses that hit L1 cost what the hardware counted" * doctest::test_suite("model")) {
  const auto rows = measured_rows("h200-l1-global-accesses.csv", 8);
  CHECK(rows.size() == 230);
  const auto nearest = [](const std::string& mean) { return std::uint64_t(std::lround(std::stod(mean))); };
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    const simt::Site site = row.fields[0] == "4"   ? global_access<float>(row.fields[1], row.words)
                            : row.fields[0] == "8" ? global_access<float2>(row.fields[1], row.words)
                                                   : global_access<float4>(row.fields[1], row.words);
    CHECK(site.lines == nearest(row.fields[2]));
    CHECK(site.tag_passes == nearest(row.fields[3]));
    // A lower bound for stores that touch many lines.
    const bool exact = row.fields[1] == "ld" || site.lines <= 28;
    if (exact) CHECK(site.l1_wavefronts == nearest(row.fields[4]));
    if (!exact) CHECK(site.l1_wavefronts <= nearest(row.fields[4]));
  }
}

TEST_CASE("accesses of one and two bytes cost what the hardware counted" * doctest::test_suite("model")) {
  const auto rows = measured_rows("h200-narrow-accesses.csv", 10);
  CHECK(rows.size() == 364);
  const auto nearest = [](const std::string& mean) { return std::lround(std::stod(mean)); };
  std::map<std::string, int> kinds;
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    const bool shared = row.fields[0] == "shared", is_load = row.fields[2] == "ld";
    simt::WarpAccess access{.size = std::stoi(row.fields[1])};
    for (std::size_t lane = 0; lane < 32; ++lane) {
      if (row.words[lane] < 0) continue;
      access.active |= 1u << lane;
      access.address[lane] = std::uint64_t(row.words[lane]) * std::uint64_t(access.size);
    }
    ++kinds[row.fields[0] + row.fields[1] + row.fields[2]];
    if (shared) {
      CHECK(simt::shared_wavefronts(access, is_load) == nearest(row.fields[3]));
      continue;
    }
    CHECK(simt::lines_of(access) == nearest(row.fields[4]));
    CHECK(simt::tag_passes(access) == nearest(row.fields[5]));
    CHECK(simt::sectors_of(access) == nearest(row.fields[6]));
    // A lower bound for stores that touch many lines.
    const bool exact = is_load || simt::lines_of(access) <= 8;
    if (exact) CHECK(simt::global_wavefronts(access, is_load) == nearest(row.fields[3]));
    if (!exact) CHECK(simt::global_wavefronts(access, is_load) <= nearest(row.fields[3]));
  }
  CHECK(kinds == std::map<std::string, int>{{"shared1ld", 29},
                                            {"shared1st", 29},
                                            {"shared2ld", 77},
                                            {"shared2st", 77},
                                            {"global2ld", 76},
                                            {"global2st", 76}});
}

TEST_CASE("the tag bank of a line depends on each bit as measured" * doctest::test_suite("model")) {
  std::ifstream in(tile::in_repository("common/sim/data/h200-l1-tag-bank-bits.csv"));
  REQUIRE(in);
  std::map<int, std::vector<int>> passes;  // bit -> by low_bank
  std::map<int, std::uint64_t> base;
  for (std::string line; std::getline(in, line);) {
    int bit = 0, low_bank = 0, count = 0;
    unsigned long long base_line = 0;
    if (std::sscanf(line.c_str(), "%d,%d,%d,%llu", &bit, &low_bank, &count, &base_line) != 4) continue;
    passes[bit].push_back(count);
    base[bit] = base_line;
  }
  REQUIRE(passes.size() == 20);
  for (const auto& [bit, by_low_bank] : passes) {
    REQUIRE(by_low_bank.size() == 4);
    CAPTURE(bit);
    const auto most = std::max_element(by_low_bank.begin(), by_low_bank.end());
    CHECK((simt::tag_bank(base[bit] + (1ull << bit)) ^ simt::tag_bank(base[bit])) == most - by_low_bank.begin());
  }
}

// --- Vocabulary ---------------------------------------------------------------------------------------------------
namespace {

__global__ void write_indices(int* out) {
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = int(threadIdx.z * 100 + blockIdx.z);
}

__global__ void reverse_dynamic(float* data) {
  extern __shared__ float reversed[];
  reversed[threadIdx.x] = data[threadIdx.x];
  __syncthreads();  // a thread reads what another wrote
  data[threadIdx.x] = reversed[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(64) shuffle_and_vote(const int* in, int* out) {
  const int lane = threadIdx.x % 32;
  int value = __ldg(&in[threadIdx.x]);
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  const int from_zero = __shfl_sync(0xffffffffu, lane * 10, 0);
  const int from_below = __shfl_up_sync(0xffffffffu, lane, 1);
  const int from_above = __shfl_down_sync(0xffffffffu, lane, 1, 8);
  const unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
  const int any = __any_sync(0xffffffffu, lane == 31), all = __all_sync(0xffffffffu, lane < 31);
  __syncwarp();
  out[threadIdx.x] = value + from_zero + 1000 * from_below + 100000 * from_above + (odd == 0xaaaaaaaau) * 10000000 +
                     any * 20000000 + all * 40000000;
}

__global__ void count_atomically(int* global_total, float* float_total, unsigned* largest) {
  __shared__ int block_total;
  if (threadIdx.x == 0) block_total = 0;
  __syncthreads();  // the others add to what thread 0 cleared
  atomicAdd(&block_total, 2);
  __syncthreads();  // thread 0 reads the sum of all
  if (threadIdx.x == 0) atomicAdd(global_total, block_total);
  atomicAdd(float_total, 0.5f);
  atomicMax(largest, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void narrow_types(const __half* in, __nv_bfloat16* out) {
  out[threadIdx.x] = __float2bfloat16(2.0f * __half2float(in[threadIdx.x]));
}

__global__ void copy_vectors(const float4* __restrict__ in, float4* __restrict__ out, const float2* pairs,
                             float2* sums) {
  out[threadIdx.x] = in[threadIdx.x];
  const float2 pair = pairs[threadIdx.x];
  sums[threadIdx.x] = make_float2(pair.x + pair.y, pair.x);
}

}  // namespace

TEST_CASE("blocks and grids have three dimensions" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 2 * 3 * 4 * 5 * 6);
  const auto counts = traced([&] { tile::launch(write_indices, dim3(2, 3, 4), dim3(5, 3, 2), 0, out.device()); });
  CHECK(out.host().back() == 103);
  CHECK(only_site(counts, simt::Op::store, simt::Space::global).accesses == 720);
}

__global__ void mark(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

TEST_CASE("the sampled block is the one that was named, or the last along an axis that has fewer" *
          doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 3 * 32);
  const auto sampled_byte = [&](unsigned blocks, const dim3& sample_block) {
    const auto launch = [&] { tile::launch(mark, dim3(blocks), dim3(32), 0, out.device()); };
    const auto counts = simt::trace(launch, {.sample_block = sample_block}).front();
    REQUIRE(counts.samples.size() == 1);
    return counts.samples[0].byte_offset[0];
  };
  CHECK(sampled_byte(3, dim3(0, 0)) == 0);
  CHECK(sampled_byte(3, dim3(1, 1)) == 4 * 32);
  CHECK(sampled_byte(3, dim3(5, 1)) == 4 * 64);
  CHECK(sampled_byte(1, dim3(1, 1)) == 0);
}

TEST_CASE("dynamic shared memory" * doctest::test_suite("model")) {
  auto data = tile::array<float>("data", 96);
  const auto counts = traced([&] { tile::launch(reverse_dynamic, dim3(1), dim3(96), 96 * 4, data.device()); });
  CHECK(data.host()[0] == 95);
  CHECK(counts.dynamic_shared_bytes == 384);
  CHECK(only_site(counts, simt::Op::load, simt::Space::shared).array == "reversed");
  CHECK(contains(mistake([&] { tile::launch(reverse_dynamic, dim3(1), dim3(96), 95 * 4, data.device()); }),
                 "out of bounds: reverse_dynamic"));
}

TEST_CASE("shuffles and votes" * doctest::test_suite("model")) {
  auto in = tile::array<int>("in", 64), out = tile::array<int>("out", 64);
  traced([&] { tile::launch(shuffle_and_vote, dim3(1), dim3(64), 0, in.device(), out.device()); });
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32, sum = t < 32 ? 31 * 16 : 31 * 16 + 32 * 32;
    const int above = lane % 8 == 7 ? lane : lane + 1, below = lane == 0 ? 0 : lane - 1;
    CHECK(out.host()[std::size_t(t)] == sum + 1000 * below + 100000 * above + 30000000);
  }
}

TEST_CASE("atomics on global and shared memory" * doctest::test_suite("model")) {
  auto total = tile::array<int>("total", 1);
  auto float_total = tile::array<float>("float_total", 1);
  auto largest = tile::array<unsigned>("largest", 1);
  const auto counts = traced([&] {
    tile::launch(count_atomically, dim3(7), dim3(96), 0, total.device(), float_total.device(), largest.device());
  });
  CHECK(total.host()[0] == 7 * 96 * 2);
  CHECK(float_total.host()[0] == 7 * 96 / 2.0f);
  CHECK(largest.host()[0] == 7 * 96 - 1);
  CHECK(only_site(counts, simt::Op::atomic, simt::Space::shared).requests == 7 * 3);
}

TEST_CASE("half and bfloat16 storage" * doctest::test_suite("model")) {
  auto in = tile::array<__half>("in", 32);
  auto out = tile::array<__nv_bfloat16>("out", 32);
  std::vector<__half> values;
  for (int i = 0; i < 32; ++i) values.push_back(__float2half(float(i) / 4));
  in.set(values);
  const auto counts = traced([&] { tile::launch(narrow_types, dim3(1), dim3(32), 0, in.device(), out.device()); });
  CHECK(__bfloat162float(out.host()[9]) == 4.5f);
  CHECK(only_site(counts, simt::Op::load, simt::Space::global).sectors == 2);
  CHECK(__half2float(__float2half(1.0f / 3)) == doctest::Approx(1.0 / 3).epsilon(0.001));
  CHECK(std::isnan(__bfloat162float(__float2bfloat16(NAN))));
}

TEST_CASE("vector copies are one access" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 128), out = tile::array<float>("out", 128);
  auto pairs = tile::array<float>("pairs", 64), sums = tile::array<float>("sums", 64);
  const auto counts = traced([&] {
    tile::launch(copy_vectors, dim3(1), dim3(32), 0, reinterpret_cast<float4*>(in.device()),
                 reinterpret_cast<float4*>(out.device()), reinterpret_cast<float2*>(pairs.device()),
                 reinterpret_cast<float2*>(sums.device()));
  });
  CHECK(out.host() == in.host());
  CHECK(counts.sites.size() == 4);
  std::multiset<int> widths;
  for (const auto& site : counts.sites) {
    widths.insert(site.width);
    CHECK(site.requests == 1);
  }
  CHECK(widths == std::multiset<int>{8, 8, 16, 16});
}

// --- Divergence ---------------------------------------------------------------------------------------------------
namespace {

__global__ void some_lanes(const float* in, float* out) {
  float sum = 0;
  for (unsigned i = 0; i <= threadIdx.x; ++i) sum += in[i];
  if (threadIdx.x < 8) out[threadIdx.x] = sum;
}

}  // namespace

TEST_CASE("lanes that leave a loop early are grouped by iteration" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  const auto counts = traced([&] { tile::launch(some_lanes, dim3(1), dim3(32), 0, in.device(), out.device()); });
  const auto& load = only_site(counts, simt::Op::load, simt::Space::global);
  CHECK(load.requests == 32);
  CHECK(load.accesses == 32 * 33 / 2);
  CHECK(load.sectors == 32);  // in each iteration all lanes that are left read one word
  CHECK(only_site(counts, simt::Op::store, simt::Space::global).accesses == 8);
}

namespace {

__global__ void every_other_turn(const float* in, float* out) {
  float sum = 0;
  for (unsigned i = 0; i < 16; ++i)
    if (i % 2 == threadIdx.x % 2) sum += in[i];
  out[threadIdx.x] = sum;
}

// A turn of more basic blocks than the model follows.
#define BRANCH(k) value = value > k ? value * k : value - k
#define BRANCHES(k)            \
  BRANCH(k);                   \
  if (value > in[k]) sum += k; \
  if (value < in[k + 1]) sum -= k
__global__ void every_other_long_turn(const float* in, float* out) {
  float sum = 0, value = in[threadIdx.x];
  for (unsigned i = 0; i < 16; ++i) {
    BRANCHES(1);
    BRANCHES(2);
    BRANCHES(3);
    BRANCHES(4);
    BRANCHES(5);
    BRANCHES(6);
    BRANCHES(7);
    BRANCHES(8);
    BRANCHES(9);
    BRANCHES(10);
    BRANCHES(11);
    BRANCHES(12);
    BRANCHES(13);
    BRANCHES(14);
    BRANCHES(15);
    BRANCHES(16);
    if (i % 2 == threadIdx.x % 2) sum += out[i];  //@ every-other
  }
  out[threadIdx.x + 32] = sum;
}
#undef BRANCH
#undef BRANCHES

__global__ void one_branch_or_the_other(const float* in, float* out) {
  float value = 0;
  if (threadIdx.x % 2 == 0)
    value = in[0];
  else
    value = in[1];
  out[threadIdx.x] = value + in[2];
}

}  // namespace

TEST_CASE("accesses of different loop turns are marked as estimated" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  const auto skipping =
      traced([&] { tile::launch(every_other_turn, dim3(1), dim3(32), 0, in.device(), out.device()); });
  CHECK(only_site(skipping, simt::Op::load, simt::Space::global).estimated);
  auto wide = tile::array<float>("wide", 64);
  const auto long_turns =
      traced([&] { tile::launch(every_other_long_turn, dim3(1), dim3(32), 0, in.device(), wide.device()); });
  CHECK(tile::site(long_turns, "every-other").estimated);
  const auto leaving = traced([&] { tile::launch(some_lanes, dim3(1), dim3(32), 0, in.device(), out.device()); });
  CHECK_FALSE(only_site(leaving, simt::Op::load, simt::Space::global).estimated);
  const auto branching =
      traced([&] { tile::launch(one_branch_or_the_other, dim3(1), dim3(32), 0, in.device(), out.device()); });
  for (const auto& site : branching.sites) CHECK_FALSE(site.estimated);
}

TEST_CASE("rules: sectors, lines and wavefronts of one access" * doctest::test_suite("model")) {
  simt::WarpAccess access{{}, 0xffffffffu, 4};
  for (int lane = 0; lane < 32; ++lane) access.address[std::size_t(lane)] = std::uint64_t(lane) * 4 + 16;
  CHECK(simt::sectors_of(access) == 5);  // 128 bytes that start in the middle of a sector
  CHECK(simt::lines_of(access) == 2);
  CHECK(simt::shared_wavefronts(access, true) == 1);
  for (int lane = 0; lane < 32; ++lane) access.address[std::size_t(lane)] = std::uint64_t(lane) * 128;
  CHECK(simt::shared_wavefronts(access, true) == 32);
  access.active = 0xff;
  CHECK(simt::shared_wavefronts(access, true) == 8);
}

TEST_CASE("rules: a load's group of lanes takes a wavefront even if none takes part" * doctest::test_suite("model")) {
  for (const int size : {8, 16}) {
    const int group = 128 / size;
    simt::WarpAccess access{{}, (1u << group) - 1, size};  // the first group alone
    for (int lane = 0; lane < 32; ++lane) access.address[std::size_t(lane)] = std::uint64_t(lane * size);
    CHECK(simt::shared_wavefronts(access, true) == 32 / group);
    CHECK(simt::global_wavefronts(access) == 32 / group);
    CHECK(simt::shared_wavefronts(access, false) == 1);
    CHECK(simt::global_wavefronts(access, false) == 1);
    access.active = 0x55555555u;                                 // lanes whose neighbour takes no part
    CHECK(simt::shared_wavefronts(access, true) == 32 / group);  // two words in a bank, half as many groups
    CHECK(simt::lanes_together(access, true) == 2 * group);
  }
}

// --- Mistakes -------------------------------------------------------------------------------------------------
namespace {

__global__ void race_in_shared(float* out) {
  __shared__ float words[64];
  words[threadIdx.x] = 1;
  out[threadIdx.x] = words[63 - threadIdx.x];  // no barrier
}
__global__ void race_in_global(float* out) { out[0] = float(threadIdx.x); }
__global__ void race_between_blocks(float* out) {
  if (threadIdx.x == 0) out[0] = float(blockIdx.x);
}
// All threads read an element, then the last of them writes it: a race with each of the others, not with itself.
__global__ void last_reader_writes_shared(float* out) {
  __shared__ float words[2];
  if (threadIdx.x == 0) words[1] = 1;
  __syncthreads();  // the others read what thread 0 wrote
  out[threadIdx.x] = words[1];
  if (threadIdx.x == blockDim.x - 1) words[1] = 2;
}
__global__ void last_reader_writes_global(float* inout) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = inout[0];
  if (thread == gridDim.x * blockDim.x - 1) inout[0] = value + 1;
}
__global__ void in_place_after_barrier(float* data) {
  const float value = data[31 - threadIdx.x];
  __syncthreads();  // the others have read before this thread writes
  data[threadIdx.x] = value;
}
__global__ void warp_synchronous(float* out) {
  __shared__ float words[32];
  words[threadIdx.x] = float(threadIdx.x);
  __syncwarp();
  out[threadIdx.x] = words[31 - threadIdx.x];
}
__global__ void barrier_for_half(float* out) {
  if (threadIdx.x < 16) return;
  __syncthreads();  // half of the threads never come
  out[threadIdx.x] = 1;
}
__global__ void two_barriers(float* out) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void warp_op_for_half(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffffffu, int(threadIdx.x), 0);
}
__global__ void past_the_end(float* out, int n) { out[threadIdx.x + n] = 1; }
__global__ void past_the_shared_end(float* out) {
  __shared__ float words[32];
  words[threadIdx.x * 100000] = 1;
  out[threadIdx.x] = words[threadIdx.x];
}
__global__ void past_the_end_of_registers(float* out, int n) {
  float sums[4] = {};
  for (int i = 0; i < n; ++i) sums[i] += out[i];
  out[threadIdx.x] = sums[n - 1];
}
__global__ void from_one_shared_array_into_the_next(float* out) {
  __shared__ float one[32], other[32];
  one[threadIdx.x] = other[threadIdx.x] = 1;
  __syncwarp();
  out[threadIdx.x] = one[threadIdx.x + 1] + other[threadIdx.x + 1];
}
__global__ void misaligned(const float* in, float4* out) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x + 1);
}
__global__ void uninitialised(float* out) {
  __shared__ float words[64];
  words[threadIdx.x] = 1;
  __syncthreads();  // the upper half still holds nothing
  out[threadIdx.x] = words[threadIdx.x + 32];
}
int writable_global = 1;
__global__ void writes_a_global_variable() { writable_global = int(threadIdx.x); }

}  // namespace

TEST_CASE("races are found, and name both lines" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  const std::string shared = mistake([&] { tile::launch(race_in_shared, dim3(1), dim3(64), 0, out.device()); });
  CHECK(contains(shared, "race: race_in_shared, model_test.cu:"));
  CHECK(contains(shared, "block (0,0,0), thread ("));
  CHECK(contains(shared, "words["));
  CHECK(contains(shared, "address 0x"));
  CHECK(contains(mistake([&] { tile::launch(race_in_global, dim3(1), dim3(2), 0, out.device()); }),
                 "race: race_in_global"));
  CHECK(contains(mistake([&] { tile::launch(race_between_blocks, dim3(2), dim3(1), 0, out.device()); }),
                 "race: race_between_blocks"));
}

TEST_CASE("a race is between two threads" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  setenv("SIMT_THREADS", "1", 1);  // blocks one after the other: the writer is the last reader
  for (const unsigned threads : {32u, 64u}) {
    const std::string found =
        mistake([&] { tile::launch(last_reader_writes_shared, dim3(1), dim3(threads), 0, out.device()); });
    const std::string writer = "thread (" + std::to_string(threads - 1) + ",0,0)";
    CHECK(contains(found, writer + " writes words[1]"));
    CHECK(contains(found, ", which thread ("));
    CHECK_FALSE(contains(found, "which " + writer));
  }
  const std::string blocks =
      mistake([&] { tile::launch(last_reader_writes_global, dim3(2), dim3(1), 0, out.device()); });
  CHECK(contains(blocks, "block (1,0,0), thread (0,0,0) writes out[0]"));
  CHECK(contains(blocks, "which thread (0,0,0) of block number 0 read"));
  CHECK(contains(blocks, "with nothing between that orders the two, as a fence and an atomic operation do"));
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a mistake that comes back is told once" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  const std::string found = mistake([&] { tile::launch(race_in_global, dim3(64), dim3(64), 0, out.device()); });
  CHECK(contains(found, "race: race_in_global"));
  CHECK_FALSE(contains(found, "\n"));
}

TEST_CASE("a barrier orders accesses" * doctest::test_suite("model")) {
  auto data = tile::array<float>("data", 32);
  CHECK(mistake([&] { tile::launch(in_place_after_barrier, dim3(1), dim3(32), 0, data.device()); }) == "");
  CHECK(data.host()[0] == 31);
  CHECK(mistake([&] { tile::launch(warp_synchronous, dim3(1), dim3(32), 0, data.device()); }) == "");
}

TEST_CASE("barriers that not all threads reach" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  auto ints = tile::array<int>("ints", 64);
  const std::string half = mistake([&] { tile::launch(barrier_for_half, dim3(1), dim3(64), 0, out.device()); });
  CHECK(contains(half, "barrier: barrier_for_half, model_test.cu:"));
  CHECK(contains(half, "16 of the block's 64 threads returned"));
  CHECK(contains(mistake([&] { tile::launch(two_barriers, dim3(1), dim3(64), 0, out.device()); }),
                 "waits at the one of model_test.cu:"));
  CHECK(contains(mistake([&] { tile::launch(warp_op_for_half, dim3(1), dim3(32), 0, ints.device()); }),
                 "warp operation: warp_op_for_half"));
}

TEST_CASE("accesses out of bounds" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK(contains(mistake([&] { tile::launch(past_the_end, dim3(1), dim3(32), 0, out.device(), 40); }),
                 "4 bytes past the end of out"));
  CHECK(contains(mistake([&] { tile::launch(past_the_shared_end, dim3(1), dim3(32), 0, out.device()); }),
                 "out of bounds: past_the_shared_end, model_test.cu:"));
}

TEST_CASE("indices beyond an array" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK(mistake([&] { tile::launch(past_the_end_of_registers, dim3(1), dim3(1), 0, out.device(), 4); }) == "");
  const std::string found =
      mistake([&] { tile::launch(past_the_end_of_registers, dim3(1), dim3(1), 0, out.device(), 5); });
  CHECK(contains(found, "out of bounds: past_the_end_of_registers, model_test.cu:"));
  CHECK(contains(found, "block (0,0,0), thread (0,0,0) uses index 4 of an array of type 'float [4]'"));
  CHECK_THROWS_AS(tile::launch(past_the_end_of_registers, dim3(1), dim3(1), 0, out.device(), 5), simt::Error);
  CHECK(
      contains(mistake([&] { tile::launch(from_one_shared_array_into_the_next, dim3(1), dim3(32), 0, out.device()); }),
               "thread (31,0,0) uses index 32 of an array of type 'float [32]'"));
}

TEST_CASE("a run that is not traced stays in its memory as well" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK_THROWS_WITH_AS(tile::launch(past_the_end, dim3(1), dim3(32), 0, out.device(), 1 << 30),
                       doctest::Contains("out of bounds: past_the_end"), simt::Error);
  CHECK_THROWS_WITH_AS(tile::launch(past_the_shared_end, dim3(1), dim3(32), 0, out.device()),
                       doctest::Contains("out of bounds: past_the_shared_end"), simt::Error);
  CHECK_THROWS_WITH_AS(
      tile::launch(misaligned, dim3(1), dim3(8), 0, out.device(), reinterpret_cast<float4*>(out.device())),
      doctest::Contains("misaligned: misaligned"), simt::Error);
}

TEST_CASE("pages that nobody touches cost nothing" * doctest::test_suite("model")) {
  auto* huge = static_cast<float*>(simt::allocate(std::size_t(64) << 30, sizeof(float), "huge"));
  tile::launch(past_the_end, dim3(1), dim3(32), 0, huge, 2000000000);
  CHECK(huge[2000000031] == 1);
  simt::release(huge);
}

TEST_CASE("misaligned, uninitialised, and memory the model does not know" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 256), out = tile::array<float>("out", 256);
  CHECK(contains(mistake([&] {
                   tile::launch(misaligned, dim3(1), dim3(32), 0, in.device(), reinterpret_cast<float4*>(out.device()));
                 }),
                 "misaligned: misaligned, model_test.cu:"));
  CHECK(contains(mistake([&] { tile::launch(uninitialised, dim3(1), dim3(32), 0, out.device()); }),
                 "uninitialised: uninitialised"));
  CHECK(contains(mistake([&] { tile::launch(writes_a_global_variable, dim3(1), dim3(1), 0); }),
                 "writes writable_global, a variable of the program"));
  CHECK(writable_global == 1);
}

__global__ void reads_either(const float* a, const float* b, float* out) {
  const float* from = threadIdx.x % 2 == 0 ? a : b;
  out[threadIdx.x] = from[threadIdx.x];
}

__global__ void reads_either_shared(float* out) {
  __shared__ float a[32], b[32];
  a[threadIdx.x] = 1, b[threadIdx.x] = 2;
  __syncwarp();
  const float* from = threadIdx.x % 4 == 0 ? a : b;
  out[threadIdx.x] = from[threadIdx.x];
}

TEST_CASE("lanes of one load with different arrays are one request for each, which is a guess" *
          doctest::test_suite("model")) {
  auto a = tile::array<float>("a", 32), b = tile::array<float>("b", 5000), out = tile::array<float>("out", 32);
  a.set(std::vector<float>(32, 1)), b.set(std::vector<float>(5000, 2));
  const auto read = [](const simt::Counts& counts, const std::string& array) {
    const auto site = std::find_if(counts.sites.begin(), counts.sites.end(),
                                   [&](const simt::Site& s) { return s.array == array && s.op == simt::Op::load; });
    REQUIRE(site != counts.sites.end());
    return *site;
  };
  const auto check = [&](const simt::Site& site, std::uint64_t accesses) {
    CHECK(site.requests == 1);
    CHECK(site.accesses == accesses);
    CHECK(site.estimated);
  };
  const auto either =
      traced([&] { tile::launch(reads_either, dim3(1), dim3(32), 0, a.device(), b.device(), out.device()); });
  check(read(either, "a"), 16);
  check(read(either, "b"), 16);
  CHECK(read(either, "b").sectors == 4);
  CHECK(out.host()[30] == 1);
  CHECK(out.host()[31] == 2);
  const auto shared = traced([&] { tile::launch(reads_either_shared, dim3(1), dim3(32), 0, out.device()); });
  check(read(shared, "a"), 8);
  check(read(shared, "b"), 24);
}

TEST_CASE("launches that no GPU would take" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK(contains(mistake([&] { tile::launch(race_in_global, dim3(1), dim3(2048), 0, out.device()); }),
                 "1024 is the limit"));
  CHECK(contains(mistake([&] { tile::launch(race_in_global, dim3(0), dim3(32), 0, out.device()); }), "is 0"));
  CHECK(contains(mistake([&] { tile::launch(reverse_dynamic, dim3(1), dim3(32), 300000, out.device()); }),
                 "227 KB is the limit"));
}

TEST_CASE("elements of C that nobody wrote" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  simt::declare_matrix(out.device(), 0, 8, 8, 8);
  simt::trace([&] { tile::launch(past_the_end, dim3(1), dim3(32), 0, out.device(), 0); });
  CHECK_THROWS_WITH_AS(simt::require_all_written(out.device()),
                       "missing: 32 of 64 elements of out were never written, the first is out[4][0]", simt::Error);
}

TEST_CASE("counts do not depend on the number of host threads" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 720);
  std::vector<std::uint64_t> sectors;
  for (const char* threads : {"1", "4"}) {
    setenv("SIMT_THREADS", threads, 1);
    const auto counts = traced([&] { tile::launch(write_indices, dim3(2, 3, 4), dim3(5, 3, 2), 0, out.device()); });
    sectors.push_back(only_site(counts, simt::Op::store, simt::Space::global).sectors);
  }
  unsetenv("SIMT_THREADS");
  CHECK(sectors[0] == sectors[1]);
}
