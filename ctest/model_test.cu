// Tests of the SIMT model: its counting rules against hardware counters, its vocabulary, and the mistakes it finds.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/sim/rules.hpp"
#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of the SIMT model")
TEST_SUITE_BEGIN("model");

// --- The measured patterns ------------------------------------------------------------------------------------

// A line of common/sim/data: comma-separated fields; in most files the last ones are the words that the lanes touch, or
// -1.
struct MeasuredRow {
  std::string line;
  std::vector<std::string> fields;

  double number(std::size_t field) const { return std::stod(fields.at(field)); }
  /// The mean of several measurements, rounded to an integer.
  int count(std::size_t field) const { return int(std::lround(number(field))); }
  /// The access, with `size` bytes per lane and words of `word` bytes.
  simt::WarpAccess access(int size, int word) const {
    simt::WarpAccess access{.size = size};
    std::istringstream words(fields.back());
    std::size_t lane = 0;
    for (int at; words >> at; ++lane) {
      if (at < 0) continue;
      access.active |= 1u << lane;
      access.address.at(lane) = std::uint64_t(at) * std::uint64_t(word);
    }
    REQUIRE(lane == 32);
    return access;
  }
};

static std::vector<MeasuredRow> measured_rows(const std::string& file) {
  std::ifstream in(tile::in_repository("common/sim/data/" + file));
  REQUIRE(in);
  std::vector<MeasuredRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    rows.push_back({line, {}});
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) rows.back().fields.push_back(field);
  }
  return rows;
}

TEST_CASE("all measured shared-memory patterns cost what the hardware counted") {
  const auto rows = measured_rows("h200-shared-memory-wavefronts.csv");
  CHECK(rows.size() == 150);
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    CHECK(simt::shared_wavefronts(row.access(row.count(0), 4), row.fields[1] == "ld") == row.count(2));
  }
}

TEST_CASE("in no measured shared-memory pattern do lanes receive more than 256 bytes per wavefront") {
  for (const MeasuredRow& row : measured_rows("h200-shared-memory-wavefronts.csv")) {
    CAPTURE(row.line);
    CHECK(32 * row.count(0) <= 256 * row.count(2));
  }
}

// Lines, passes and wavefronts; for some stores the wavefronts are a lower bound.
static void check_global(const simt::WarpAccess& access, bool load, const std::array<int, 3>& measured) {
  CHECK(simt::lines_of(access) == measured[0]);
  CHECK(simt::tag_passes(access) == measured[1]);
  const int counted = simt::global_wavefronts(access, load);
  CHECK((load || simt::exact_for_store(access) ? counted == measured[2] : counted <= measured[2]));
}

TEST_CASE("all measured accesses that hit L1 cost what the hardware counted") {
  const auto rows = measured_rows("h200-l1-global-accesses.csv");
  CHECK(rows.size() == 230);
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    check_global(row.access(row.count(0), 4), row.fields[1] == "ld", {row.count(2), row.count(3), row.count(4)});
  }
}

TEST_CASE("of stores to many lines as many take the counted wavefronts as pass the tags in seven passes") {
  const auto rows = measured_rows("h100-stores.csv");
  CHECK(rows.size() == 336);
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    check_global(row.access(row.count(0), 4), false, {row.count(1), row.count(2), row.count(3)});
  }
}

TEST_CASE("accesses of one and two bytes cost what the hardware counted") {
  const auto rows = measured_rows("h200-narrow-accesses.csv");
  CHECK(rows.size() == 364);
  for (const MeasuredRow& row : rows) {
    CAPTURE(row.line);
    const bool load = row.fields[2] == "ld";
    const simt::WarpAccess access = row.access(row.count(1), row.count(1));
    if (row.fields[0] == "shared") {
      CHECK(simt::shared_wavefronts(access, load) == row.count(3));
      continue;
    }
    check_global(access, load, {row.count(4), row.count(5), row.count(3)});
    CHECK(simt::sectors_of(access) == row.count(6));
  }
}

TEST_CASE("no measured atomic operation was faster than the model's bounds, and the slowest sectors were as slow") {
  double closest = 2;
  for (const MeasuredRow& row : measured_rows("h100-atomics.csv")) {
    CAPTURE(row.line);
    std::map<std::uint64_t, int> lanes;  // by sector
    int sectors = 0;
    simt::WarpAccess access{.active = ~0u};
    for (int warp = 0; warp < row.count(6) * row.count(7); ++warp) {
      for (int lane = 0; lane < 32; ++lane)
        ++lanes[(access.address[std::size_t(lane)] =
                     4ull * (row.count(2) * (lane % row.count(3)) + row.count(4) * (warp % row.count(7)) +
                             row.count(5) * (warp / row.count(7)))) /
                32];
      sectors += simt::sectors_of(access);
    }
    if (row.fields[0] == "shared") {
      CHECK(simt::shared_wavefronts(access, false) <= 1.01 * row.number(8));
      continue;
    }
    const int most = std::ranges::max_element(lanes, {}, [](auto& sector) { return sector.second; })->second;
    const double bound = std::max(most * simt::atomic_ns_of_sector, sectors / simt::atomic_sectors_per_ns);
    const double times = row.number(8) * row.count(6) * row.count(7) / bound;
    CHECK(times >= 1);
    closest = std::min(closest, times);
  }
  CHECK(closest < 1.01);
}

TEST_CASE("the tag bank of a line depends on each bit as measured") {
  std::map<int, std::vector<int>> passes;  // bit -> by low_bank
  std::map<int, std::uint64_t> base;
  for (const MeasuredRow& row : measured_rows("h200-l1-tag-bank-bits.csv")) {
    if (row.fields[0] == "bit") continue;  // the names of the columns
    const int bit = int(row.number(0));
    passes[bit].push_back(int(row.number(2)));
    base[bit] = std::stoull(row.fields[3]);
  }
  REQUIRE(passes.size() == 20);
  for (const auto& [bit, by_low_bank] : passes) {
    REQUIRE(by_low_bank.size() == 4);
    const auto most = std::max_element(by_low_bank.begin(), by_low_bank.end());
    CHECK((simt::tag_bank(base[bit] + (1ull << bit)) ^ simt::tag_bank(base[bit])) == most - by_low_bank.begin());
  }
}

TEST_CASE("rules: a load's group of lanes takes a wavefront even if none of them is active") {
  for (const int size : {8, 16}) {
    const int group = 128 / size;
    simt::WarpAccess access{{}, (1u << group) - 1, size};  // only the first group
    for (std::size_t lane = 0; lane < 32; ++lane) access.address[lane] = lane * std::size_t(size);
    CHECK(simt::shared_wavefronts(access, true) == 32 / group);
    CHECK(simt::global_wavefronts(access) == 32 / group);
    CHECK(simt::shared_wavefronts(access, false) == 1);
    CHECK(simt::global_wavefronts(access, false) == 1);
    access.active = 0x55555555u;                                 // lanes whose neighbour is inactive
    CHECK(simt::shared_wavefronts(access, true) == 32 / group);  // two words in a bank, half as many groups
    CHECK(simt::lanes_together(access, true) == 2 * group);
  }
}

// --- Vocabulary ---------------------------------------------------------------------------------------------------

__global__ void write_indices(int* out) {
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = int(threadIdx.z * 100 + blockIdx.z);
}

TEST_CASE("blocks and grids have three dimensions, on any number of host threads") {
  auto out = tile::array<int>("out", 2 * 3 * 4 * 5 * 6);
  std::set<std::uint64_t> sectors;
  on_host_threads({1, 4}, [&] {
    const auto counts = counted(write_indices, dim3(2, 3, 4), dim3(5, 3, 2), out);
    CHECK(out.host().back() == 103);
    const simt::Site& store = only_site(counts, simt::Op::store, simt::Space::global);
    CHECK(store.accesses == 720);
    sectors.insert(store.sectors);
  });
  CHECK(sectors.size() == 1);
}

__global__ void mark(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

TEST_CASE("the sampled block is the requested one, or the last along an axis that has fewer") {
  auto out = tile::array<int>("out", 3 * 32);
  const auto sampled_byte = [&](unsigned blocks, const dim3& sample_block) {
    const auto launch = [&] { tile::launch(mark, blocks, 32, 0, out.device()); };
    const auto counts = simt::trace(launch, {.sample_block = sample_block}).front();
    REQUIRE(counts.samples.size() == 1);
    return counts.samples[0].byte_offset[0];
  };
  CHECK(sampled_byte(3, dim3(0, 0)) == 0);
  CHECK(sampled_byte(3, dim3(1, 1)) == 4 * 32);
  CHECK(sampled_byte(3, dim3(5, 1)) == 4 * 64);
  CHECK(sampled_byte(1, dim3(1, 1)) == 0);
}

__global__ void reverse_dynamic(float* data) {
  extern __shared__ float reversed[];
  reversed[threadIdx.x] = data[threadIdx.x];
  __syncthreads();  // threads read what others wrote
  data[threadIdx.x] = reversed[blockDim.x - 1 - threadIdx.x];
}

TEST_CASE("dynamic shared memory") {
  auto data = tile::array<float>("data", 96);
  const auto reverse = [&](std::size_t bytes) {
    return simt::trace([&] { tile::launch(reverse_dynamic, 1, 96, bytes, data.device()); }).front();
  };
  const auto counts = reverse(96 * 4);
  CHECK(data.host()[0] == 95);
  CHECK(counts.dynamic_shared_bytes == 384);
  CHECK(only_site(counts, simt::Op::load, simt::Space::shared).array == "reversed");
  CHECK(says(said_by([&] { reverse(300000); }), "227 KB is the limit"));
}

// --- Divergence ---------------------------------------------------------------------------------------------------

__global__ void some_lanes(const float* in, float* out) {
  float sum = 0;
  for (unsigned i = 0; i <= threadIdx.x; ++i) sum += in[i];
  if (threadIdx.x < 8) out[threadIdx.x] = sum;
}

TEST_CASE("lanes that leave a loop early are grouped by iteration") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  const auto counts = counted(some_lanes, 1, 32, in, out);
  const auto& load = only_site(counts, simt::Op::load, simt::Space::global);
  CHECK(load.requests == 32);
  CHECK(load.accesses == 32 * 33 / 2);
  CHECK(load.sectors == 32);  // in each iteration all lanes that are left read one word
  CHECK_FALSE(load.estimated);
  CHECK(only_site(counts, simt::Op::store, simt::Space::global).accesses == 8);
}

__global__ void every_other_iteration(const float* in, float* out) {
  float sum = 0;
  for (unsigned i = 0; i < 16; ++i)
    if (i % 2 == threadIdx.x % 2) sum += in[i];
  out[threadIdx.x] = sum;
}

// An iteration of more basic blocks than the model follows.
#define BRANCH(k) (sum += value > in[k] ? float(k) : 0, value = value > k ? value * k : value - k)
#define FOUR_BRANCHES(k) BRANCH(k), BRANCH(k + 1), BRANCH(k + 2), BRANCH(k + 3)
#define BRANCHES FOUR_BRANCHES(1), FOUR_BRANCHES(5), FOUR_BRANCHES(9), FOUR_BRANCHES(13)
__global__ void every_other_long_iteration(const float* in, float* out) {
  float sum = 0, value = in[threadIdx.x];
  for (unsigned i = 0; i < 16; ++i) {
    BRANCHES;
    if (i % 2 == threadIdx.x % 2) sum += out[i];  //@ every-other
  }
  out[threadIdx.x + 32] = sum;
}

__global__ void one_branch_or_the_other(const float* in, float* out) {
  float value = 0;
  if (threadIdx.x % 2 == 0)
    value = in[0];
  else
    value = in[1];
  out[threadIdx.x] = value + in[2];
}

TEST_CASE("accesses of different loop iterations are marked as estimated") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 64);
  const auto skipping = counted(every_other_iteration, 1, 32, in, out);
  CHECK(only_site(skipping, simt::Op::load, simt::Space::global).estimated);
  CHECK(tile::site(counted(every_other_long_iteration, 1, 32, in, out), "every-other").estimated);
  for (const auto& site : counted(one_branch_or_the_other, 1, 32, in, out).sites) CHECK_FALSE(site.estimated);
}

__global__ void reads_either(const float* a, const float* b, float* out) {
  const float* from = threadIdx.x % 2 == 0 ? a : b;
  out[threadIdx.x] = from[threadIdx.x];
}
TEST_CASE("lanes of one load with different arrays are one request for each, marked as a guess") {
  auto a = tile::array<float>("a", 32), b = tile::array<float>("b", 5000), out = tile::array<float>("out", 32);
  int loads = 0;
  for (const simt::Site& site : counted(reads_either, 1, 32, a, b, out).sites) {
    if (site.op != simt::Op::load) continue;
    ++loads;
    CHECK(site.requests == 1);
    CHECK(site.accesses == 16);
    CHECK(site.sectors == 4);
    CHECK(site.estimated);
  }
  CHECK(loads == 2);
}

// --- Mistakes -------------------------------------------------------------------------------------------------

__global__ void race_in_global(float* out) { out[0] = float(threadIdx.x); }

TEST_CASE("a race is reported once, with both lines") {
  auto out = tile::array<float>("out", 64);
  const std::string found = said_of(race_in_global, 64, 64, out);
  CHECK(says(found, "race: race_in_global, model_test.cu:", "block (", ",0,0), thread (", "writes out[0] (address 0x",
             " at model_test.cu:"));
  CHECK(found.find('\n') == std::string::npos);
}

// All threads read an element, then the last one writes it: a race with each of the others, not with itself.
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

TEST_CASE("a race is between two threads") {
  auto out = tile::array<float>("out", 64);
  on_host_threads({1}, [&] {  // blocks one after the other: the writer is the last reader
    for (const unsigned threads : {32u, 64u}) {
      const std::string found = said_of(last_reader_writes_shared, 1, threads, out);
      const std::string writer = "thread (" + std::to_string(threads - 1) + ",0,0)";
      CHECK(says(found, writer + " writes words[1]", ", which thread ("));
      CHECK(found.find("which " + writer) == std::string::npos);
    }
    CHECK(says(said_of(last_reader_writes_global, 2, 1, out), "block (1,0,0), thread (0,0,0) writes out[0]",
               "which thread (0,0,0) of block number 0 read",
               "with nothing between that orders the two, as a fence and an atomic operation do"));
  });
}

TEST_KERNEL("threads at two __syncthreads of a block do not wait for each other", two_barriers, float, 1, 64,
            "waits at the one of model_test.cu:") {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void past_the_end(float* out, int n) { out[threadIdx.x + n] = 1; }
__global__ void past_the_shared_end(float* out) {
  __shared__ float words[32];
  words[threadIdx.x * 100000] = 1;
  out[threadIdx.x] = words[threadIdx.x];
}
__global__ void misaligned(const float* in, float* out) {
  reinterpret_cast<float4*>(out)[threadIdx.x] = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x + 1);
}

TEST_CASE("an untraced run is checked for accesses out of bounds, too") {
  auto out = tile::array<float>("out", 64);
  CHECK(says(said_untraced(past_the_end, 1, 32, out, 1 << 30), "out of bounds: past_the_end"));
  CHECK(says(said_untraced(past_the_shared_end, 1, 32, out), "out of bounds: past_the_shared_end"));
  CHECK(says(said_untraced(misaligned, 1, 8, out, out), "misaligned: misaligned"));
}

TEST_CASE("untouched pages cost nothing") {
  auto* huge = static_cast<float*>(tile::machine::allocate(std::size_t(64) << 30, sizeof(float), "huge"));
  tile::launch(past_the_end, 1, 32, 0, huge, 2000000000);
  CHECK(huge[2000000031] == 1);
  tile::machine::release(huge);
}

TEST_CASE("elements of C that were never written are reported") {
  auto out = tile::array<float>("out", 64);
  tile::machine::declare_matrix(out.device(), 0, 8, 8, 8);
  counted(past_the_end, 1, 32, out, 0);
  CHECK(said_by([&] { simt::require_all_written(out.device()); }) ==
        "missing: 32 of 64 elements of out were never written; the first is out[4][0]");
}

__global__ void past_the_end_of_registers(float* out, int n) {
  float sums[4] = {};
  for (int i = 0; i < n; ++i) sums[i] += out[i];
  out[threadIdx.x] = sums[n - 1];
}
TEST_CASE("indices beyond an array") {
  auto out = tile::array<float>("out", 64);
  CHECK(says(said_of(past_the_end_of_registers, 1, 1, out, 4), ""));
  CHECK(says(said_of(past_the_end_of_registers, 1, 1, out, 5),
             "out of bounds: past_the_end_of_registers, model_test.cu:",
             "block (0,0,0), thread (0,0,0) uses index 4 of an array of type 'float [4]'"));
  CHECK(says(said_untraced(past_the_end_of_registers, 1, 1, out, 5), "uses index 4"));
}

struct Padded {
  float pad, values[4];
};
__global__ void past_the_end_of_member(float* out, int i, bool shared) {
  __shared__ Padded in_shared[2];
  Padded own{0, {out[0]}};
  in_shared[0].values[3] = in_shared[1].pad = 1;
  out[0] = shared ? in_shared[0].values[i] : own.values[i];
}
TEST_CASE("indices beyond an array that is the last member of a struct") {
  for (const bool shared : {false, true})
    for (const int i : {3, 4})
      CHECK(says(said_of(past_the_end_of_member, 1, 1, tile::array<float>("out", 1), i, shared),
                 i == 3 ? "" : "thread (0,0,0) uses index 4 of an array of type 'float [4]'"));
}

TEST_CASE("launches that no GPU would accept are rejected") {
  auto out = tile::array<float>("out", 64);
  CHECK(says(said_of(race_in_global, 1, 2048, out), "1024 is the limit"));
  CHECK(says(said_of(race_in_global, 0, 32, out), "is 0"));
}

TEST_SUITE_END();
