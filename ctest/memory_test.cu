// Tests of the SIMT model's memory: __shared__ variables wherever they are declared, __device__ variables, and the host memory that
// a long kernel takes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of the SIMT model's memory")
TEST_SUITE_BEGIN("model");

// --- __shared__ in the kernel, and in functions that it calls -----------------------------------------------------------------

enum class Declared { in_kernel, in_function, in_template };

__device__ float* words_of_function() {
  __shared__ float words[64];
  return words;
}
template <class T>
__device__ T* words_of_template() {
  __shared__ T words[64];
  return words;
}

__device__ void reverse(float* words, float* out) {
  const unsigned block = blockIdx.x * 64;
  words[threadIdx.x] = float(block + threadIdx.x);
  __syncthreads();  // threads read what others wrote
  out[block + threadIdx.x] = words[63 - threadIdx.x];
}

template <Declared WHERE>
__global__ void reversed(float* out) {
  if constexpr (WHERE == Declared::in_kernel) {
    __shared__ float words[64];
    reverse(words, out);
  }
  if constexpr (WHERE == Declared::in_function) reverse(words_of_function(), out);
  if constexpr (WHERE == Declared::in_template) reverse(words_of_template<float>(), out);
}

TEST_CASE("__shared__ variables are counted in the same way wherever they are declared") {
  auto out = tile::array<float>("out", 192);
  const auto own = counted(reversed<Declared::in_kernel>, 3, 64, out);
  CHECK(own.static_shared_bytes == 256);
  REQUIRE(own.sites.size() == 3);
  for (const auto kernel : {reversed<Declared::in_function>, reversed<Declared::in_template>}) {
    out.set(std::vector<float>(192, 0));
    const auto counts = counted(kernel, 3, 64, out);
    CHECK(out.host()[64] == 127);
    CHECK(counts.static_shared_bytes == own.static_shared_bytes);
    REQUIRE(counts.sites.size() == own.sites.size());
    for (std::size_t i = 0; i < own.sites.size(); ++i) {
      const simt::Site &site = counts.sites[i], &expected = own.sites[i];
      CHECK(site.line == expected.line);
      CHECK(site.space == expected.space);
      CHECK(site.requests == expected.requests);
      CHECK(site.wavefronts == expected.wavefronts);
      CHECK(site.sectors == expected.sectors);
    }
  }
}

TEST_KERNEL("a race in a __shared__ variable of a function is found", race_in_function, float, 1, 64, " words[") {
  float* const words = words_of_function();
  words[threadIdx.x] = 1;
  out[threadIdx.x] = words[63 - threadIdx.x];
}
__global__ void half_written(float* out) {
  float* const words = words_of_function();
  if (threadIdx.x < 32) words[threadIdx.x] = 1;
  __syncthreads();  // the upper half still holds nothing
  out[threadIdx.x] = words[threadIdx.x];
}
TEST_CASE("unwritten words of a __shared__ variable of a function are found") {
  CHECK(says(said_of(half_written, 1, 64, tile::array<float>("out", 64)), "reads words["));
}

enum class Update { add, compare, exchange };
__global__ void update_unwritten(int* out, Update how) {
  __shared__ int word;
  if (how == Update::add) atomicAdd(&word, 1);
  if (how == Update::compare) atomicCAS(&word, 0, 1);
  if (how == Update::exchange) out[1] = atomicExch(&word, 1);
  out[0] = atomicMax(&word, 5);
}
TEST_CASE("an atomic update of shared memory that nobody wrote is a read of it, unless it exchanges") {
  const auto out = tile::array<int>("out", 2);
  for (const Update how : {Update::add, Update::compare, Update::exchange})
    CHECK(says(said_of(update_unwritten, 1, 1, out, how),
               how == Update::exchange ? "" : "uninitialised: update_unwritten, memory_test.cu:",
               how == Update::exchange ? "" : "block (0,0,0), thread (0,0,0) updates word[0] (address 0x"));
  CHECK(out.host()[1] == -1);  // whatever has run in this memory before
}

// Each thread copies up to four words, the last bytes of them as zeros.
__global__ void copy_words(const float* in, float* out, unsigned bytes, unsigned zeros) {
  __shared__ alignas(16) float words[128];
  float* const own = words + 4 * threadIdx.x;
  __pipeline_memcpy_async(own, in + 4 * threadIdx.x, bytes, zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (unsigned i = 0; i < bytes / 4; ++i) out[4 * threadIdx.x + i] = own[i];
}
TEST_CASE("an asynchronous copy is of 4, 8 or 16 bytes, of which the last may be zeros") {
  auto in = tile::array<float>("in", 125), out = tile::array<float>("out", 128);
  for (const auto& [bytes, zeros] : {std::pair(2u, 0u), {12u, 0u}, {32u, 0u}, {8u, 12u}})
    for (const auto& said :
         {said_of(copy_words, 1, 32, in, out, bytes, zeros), said_untraced(copy_words, 1, 32, in, out, bytes, zeros)})
      CHECK(says(said, "undefined: copy_words, memory_test.cu:",
                 fmt::format("thread (0,0,0) copies {} bytes asynchronously, {} of", bytes, zeros)));
  for (const unsigned bytes : {4u, 8u, 16u}) CHECK(says(said_of(copy_words, 1, 31, in, out, bytes, 0u), ""));
  CHECK(says(said_of(copy_words, 1, 32, in, out, 16u, 8u), "out of bounds: copy_words", "this is in[125]"));
  for (const auto& [zeros, sites] : {std::pair(12u, 2), {16u, 1}}) {
    const auto counts = counted(copy_words, 1, 32, in, out, 16u, zeros);
    CHECK(out.host()[124] == (zeros == 16 ? 0 : 124));
    CHECK(out.host()[125] == 0);
    CHECK(std::ranges::count(counts.sites, true, &simt::Site::by_copy) == sites);
  }
  CHECK(says(said_of(copy_words, 1, 31, in, out, 16u, 4u), ""));
  CHECK(out.host()[122] == 122);
  CHECK(out.host()[123] == 0);
}

// Each block keeps its own word while it waits for the other block.
__global__ void waiting_for_each_other(volatile int* flags, int* out) {
  __shared__ int of_kernel;
  if (threadIdx.x == 0) of_kernel = words_of_template<int>()[0] = 10 + int(blockIdx.x);
  __syncthreads();  // all threads use the words
  if (threadIdx.x == 0) {
    flags[blockIdx.x] = 1;
    while (flags[1 - blockIdx.x] == 0) {
    }
  }
  __syncthreads();  // both blocks have written theirs
  if (threadIdx.x == 1) out[blockIdx.x] = 100 * of_kernel + words_of_template<int>()[0];
}

TEST_CASE("blocks that are resident together have their own __shared__ variables") {
  auto flags = tile::array<int>("flags", 2), out = tile::array<int>("out", 2);
  on_host_threads({1, 2}, [&] {
    flags.set({0, 0});
    CHECK(says(said_of(waiting_for_each_other, 2, 32, flags, out), ""));
    CHECK(out.host() == std::vector<int>{1010, 1111});
    flags.set({0, 0});
    CHECK(says(said_untraced(waiting_for_each_other, 2, 32, flags, out), ""));
    CHECK(out.host() == std::vector<int>{1010, 1111});
  });
}

TEST_KERNEL("__shared__ variables of functions count towards the limit of a block", too_much_in_a_function, float, 1,
            32, "launch of too_much_in_a_function: 49280 bytes of static shared memory; 48 KB is the limit") {
  const auto words = [] {
    __shared__ float own[10000];
    return own;
  };
  words()[threadIdx.x] = words_of_function()[threadIdx.x] = 1;
  __shared__ float more[2256];
  more[threadIdx.x] = words()[threadIdx.x];
  out[threadIdx.x] = more[threadIdx.x] + words_of_function()[threadIdx.x];
}

__global__ void beyond_its_own(float* out, int i) {
  __shared__ float words[32];
  float* const pointer = words;
  pointer[i] = 1;
  out[0] = words[0];
}

TEST_CASE("a __shared__ variable of another kernel is out of bounds") {
  auto out = tile::array<float>("out", 1);
  for (int i = 32; i < 1024; i += 32)
    CHECK(says(said_of(beyond_its_own, 1, 1, out, i), fmt::format("{} bytes past the end of words", 4 * (i + 1 - 32))));
  CHECK(says(said_of(beyond_its_own, 1, 1, out, -4), "outside every __shared__ array"));
}

// Shared memory that is declared in many ways, and used by the kernel and by functions.
__global__ void declared_in_many_ways(float* out, unsigned* offsets) {
  static __shared__ alignas(64) float square[4][8], line[32];
  __shared__ volatile int word;
  __shared__ __align__(32) unsigned short halves[3];
  __shared__ float* pointers[2];
  const unsigned i = threadIdx.x;
  const auto fill = [=](float value) { square[i / 8][i % 8] = line[31 - i] = value; };
  const auto of_both = [](unsigned k) { return [k](unsigned n) { return square[k][n] + line[n]; }; };
  fill(float(i));
  if (i == 0) {
    word = 3;
    halves[2] = 5;
    pointers[1] = line;
  }
  __syncthreads();  // all of shared memory is written
  out[i] = of_both(1)(i % 8) + float(word + halves[2]) + pointers[1][i];
  if (i == 0) {
    offsets[0] = unsigned(reinterpret_cast<std::uintptr_t>(square) % 64);
    offsets[1] = unsigned(reinterpret_cast<std::uintptr_t>(halves) % 32);
    offsets[2] = unsigned(sizeof square + sizeof halves);
  }
}

TEST_CASE("__shared__ variables may be declared in many ways") {
  auto out = tile::array<float>("out", 32);
  auto offsets = tile::array<unsigned>("offsets", 3);
  CHECK(counted(declared_in_many_ways, 1, 32, out, offsets).static_shared_bytes ==
        4 * 8 * 4 + 32 * 4 + 4 + 6 + 6 + 2 * 8);
  for (unsigned i = 0; i < 32; ++i) CHECK(out.host()[i] == float(8 + i % 8) + float(31 - i % 8) + 8 + float(31 - i));
  CHECK(offsets.host() == std::vector<unsigned>{0, 0, 4 * 8 * 4 + 6});
}

TEST_KERNEL("an element of a multidimensional array is reported with its indices", race_in_a_row, float, 1, 16,
            "writes rows[3][0] (address ") {
  __shared__ double rows[4][8];
  rows[3][threadIdx.x / 2] = threadIdx.x;
}

// Two blocks that are resident together store the addresses of their words.
__global__ void leave_address(volatile std::uintptr_t* addresses, float* out, bool touch) {
  __shared__ float words[4];
  words[threadIdx.x] = 1;
  __syncthreads();  // all words are there
  if (threadIdx.x > 0) return;
  addresses[blockIdx.x] = reinterpret_cast<std::uintptr_t>(words);
  while (addresses[1 - blockIdx.x] == 0) {
  }
  if (touch && blockIdx.x == 1) out[0] = *reinterpret_cast<float*>(addresses[0]);
}

TEST_CASE("each block has its own shared memory, which other blocks cannot access") {
  auto addresses = tile::array<std::uintptr_t>("addresses", 2);
  auto out = tile::array<float>("out", 1);
  on_host_threads({1, 2}, [&] {
    addresses.set({0, 0});
    CHECK(says(said_of(leave_address, 2, 4, addresses, out, false), ""));
    CHECK(addresses.host()[0] != addresses.host()[1]);
    addresses.set({0, 0});
    const std::string said = said_of(leave_address, 2, 4, addresses, out, true);
    const bool gone = said.find("a block that has ended, at address") != std::string::npos;
    CHECK(
        says(said, "block (1,0,0), thread (0,0,0) reads shared memory of ", gone ? "at" : "block (0,0,0) at address"));
  });
}

TEST_KERNEL("a block does not see what another has written to shared memory", only_the_first_writes, float, 2, 32,
            "block (1,0,0), thread (0,0,0) reads words[0]") {
  __shared__ float words[32];
  if (blockIdx.x == 0) words[threadIdx.x] = 1;
  out[blockIdx.x * 32 + threadIdx.x] = words[threadIdx.x];
}

struct Words {
  float values[16];
};
__global__ void by_value(Words words, float* out) { out[threadIdx.x] = words.values[threadIdx.x % 16]; }

TEST_CASE("each thread has its own copies of the arguments") {
  auto out = tile::array<float>("out", 32);
  Words words{};
  words.values[3] = 5;
  const auto counts = counted(by_value, 1, 32, words, out);
  CHECK(out.host()[19] == 5);
  REQUIRE(counts.sites.size() == 1);
  CHECK(counts.sites[0].op == simt::Op::store);
}

// --- __device__ variables --------------------------------------------------------------------------------------------------

__device__ float table[4] = {2, 3, 5, 7};
static __device__ int start = 40;
__device__ float2 pair_of_words{1, 2};
__device__ bool flag_of_a_byte = true;
__device__ bool first_of_a_line, second_of_a_line;
static bool of_the_host;

__global__ void look_up(float* out) { out[threadIdx.x] = table[threadIdx.x % 4]; }
TEST_CASE("__device__ variables are global memory") {
  auto out = tile::array<float>("out", 32);
  const auto counts = counted(look_up, 1, 32, out);
  CHECK(out.host()[6] == 5);
  const simt::Site& load = only_site(counts, simt::Op::load, simt::Space::global);
  CHECK(load.array == "table");
  CHECK(load.sectors == 1);
}

__global__ void count_on(int* out) {
  if (threadIdx.x == 0) out[0] = start++ + (flag_of_a_byte ? 1000 : 0) + int(pair_of_words.y);
}

TEST_CASE("__device__ variables keep their values from launch to launch") {
  auto out = tile::array<int>("out", 1);
  for (const int expected : {1042, 1043}) {
    CHECK(says(said_of(count_on, 1, 32, out), ""));
    CHECK(out.host()[0] == expected);
  }
}

__global__ void all_count() { start += 1; }

TEST_CASE("races on __device__ variables are found") {
  CHECK(says(said_of(all_count, 1, 2), " start[0] (address "));
  CHECK(says(said_of(all_count, 2, 1), " start[0] (address "));
}

TEST_KERNEL("one-byte __device__ variables may share a word", two_variables, float, 1, 1, "") {
  second_of_a_line = !first_of_a_line;
}
TEST_KERNEL("a variable that is not known to be a __device__ variable is rejected", variable_of_the_host, float, 1, 1,
            "writes of_the_host, a variable of the program that is neither __shared__ nor a __device__ one") {
  of_the_host = true;
}

// --- Long kernels -------------------------------------------------------------------------------------------------------------

enum class Barrier { block, warp, shuffle };
__global__ void long_loop(float* out, int iterations, Barrier where) {
  __shared__ float words[32];
  words[threadIdx.x] = 1;
  float sum = 0;
  for (int i = 0; i < iterations; ++i) {
    if (where == Barrier::block) __syncthreads();  // as a loop over tiles has
    if (where == Barrier::warp) __syncwarp();
    if (where == Barrier::shuffle) sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    for (int k = 0; k < 32; ++k) sum += words[threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

static long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_CASE("a kernel with a long loop takes no more memory than one with a short loop") {
  auto out = tile::array<float>("out", 32);
  const auto run = [&](int iterations) {
    for (const Barrier where : {Barrier::block, Barrier::warp, Barrier::shuffle})
      CHECK(says(said_of(long_loop, 1, 32, out, iterations, where), ""));
  };
  run(10);
  const long before = peak_kilobytes();
  run(4000);  // 2 MB of accesses per lane, if all were kept
  CHECK(peak_kilobytes() - before < 16 << 10);
}

// Half of the warp stores while the other half waits, and then stores.
__global__ void half_waits(float* out) {
  if (threadIdx.x >= 16) __syncwarp(0xffff0000u);
  out[threadIdx.x] = 1;
}

TEST_CASE("lanes that return early do not split a warp's access") {
  auto out = tile::array<float>("out", 32);
  const auto counts = counted(half_waits, 1, 32, out);
  CHECK(only_site(counts, simt::Op::store, simt::Space::global).requests == 1);
  CHECK(only_site(counts, simt::Op::store, simt::Space::global).accesses == 32);
}

TEST_SUITE_END();
