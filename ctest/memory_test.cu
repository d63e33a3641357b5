// Tests of the SIMT model's memory: __shared__ variables wherever they are declared, __device__ variables, and how much memory of
// the host a long kernel takes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>

#include "common/report/chapter.hpp"
#include "common/count/count.hpp"

// Gives this program the command line of the chapters.
TILE_CHAPTER(.number = 0, .title = "tests of the SIMT model's memory", .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

namespace {

template <class... Parameters, class... Arguments>
simt::Counts counted(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  return simt::trace([&] { tile::launch(kernel, grid, block, 0, arguments...); }).front();
}

// What the model says of a launch, or "" where it says nothing.
template <class... Parameters, class... Arguments>
std::string said_of(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  try {
    counted(kernel, grid, block, arguments...);
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- __shared__ in the kernel, in functions that it calls, at file scope -----------------------------------------------------

enum class Declared { in_kernel, in_function, in_template, at_file_scope, outside_namespaces };

}  // namespace

__shared__ float words_outside_namespaces[64];
__device__ bool first_of_a_line, second_of_a_line;
static bool of_the_host;

namespace {

__shared__ float words_at_file_scope[64];

__device__ float* words_of_function() {
  __shared__ float words[64];
  return words;
}
template <class T>
__device__ T* words_of_template() {
  __shared__ T words[64];
  return words;
}

template <Declared WHERE>
__device__ void reverse(float* words, float* out) {
  const unsigned block = blockIdx.x * 64;
  words[threadIdx.x] = float(block + threadIdx.x);  //@ fill
  __syncthreads();                                  // a thread reads what another wrote
  out[block + threadIdx.x] = words[63 - threadIdx.x];
}

template <Declared WHERE>
__global__ void reversed(float* out) {
  if constexpr (WHERE == Declared::in_kernel) {
    __shared__ float words[64];
    reverse<WHERE>(words, out);
  }
  if constexpr (WHERE == Declared::in_function) reverse<WHERE>(words_of_function(), out);
  if constexpr (WHERE == Declared::in_template) reverse<WHERE>(words_of_template<float>(), out);
  if constexpr (WHERE == Declared::at_file_scope) reverse<WHERE>(words_at_file_scope, out);
  if constexpr (WHERE == Declared::outside_namespaces) reverse<WHERE>(words_outside_namespaces, out);
}

template <Declared WHERE>
__global__ void without_a_barrier(float* out) {
  float* const words = WHERE == Declared::in_function ? words_of_function() : words_at_file_scope;
  words[threadIdx.x] = 1;
  out[threadIdx.x] = words[63 - threadIdx.x];
}

__global__ void half_written(float* out) {
  if (threadIdx.x < 32) words_at_file_scope[threadIdx.x] = 1;
  __syncthreads();  // the upper half still holds nothing
  out[threadIdx.x] = words_at_file_scope[threadIdx.x];
}

// Each block keeps a word of its own while it waits for the other.
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

__global__ void too_much_in_a_function(float* out) {
  const auto words = [] {
    __shared__ float own[10000];
    return own;
  };
  words()[threadIdx.x] = words_of_function()[threadIdx.x] = 1;
  __shared__ float more[2256];
  more[threadIdx.x] = words()[threadIdx.x];
  out[threadIdx.x] = more[threadIdx.x] + words_of_function()[threadIdx.x];
}

__global__ void before_its_own(float* out) { out[threadIdx.x - 1u] = 1; }

__global__ void beyond_its_own(float* out, int i) {
  __shared__ float words[32];
  float* const pointer = words;
  pointer[i] = 1;
  out[0] = words[0];
}

// However it is declared, and whoever uses it.
#define AS_A_WORD __shared__ __align__(32)
__global__ void declared_in_many_ways(float* out, unsigned* places) {
  static __shared__ alignas(64) float square[4][8], line[32];
  __shared__ volatile int word;
  AS_A_WORD unsigned short halves[3];
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
  __syncthreads();  // all that lies in shared memory is there
  out[i] = of_both(1)(i % 8) + float(word + halves[2]) + pointers[1][i];
  if (i == 0) {
    places[0] = unsigned(reinterpret_cast<std::uintptr_t>(square) % 64);
    places[1] = unsigned(reinterpret_cast<std::uintptr_t>(halves) % 32);
    places[2] = unsigned(sizeof square + sizeof halves);
  }
}

__global__ void race_in_a_row() {
  __shared__ double rows[4][8];
  rows[3][threadIdx.x / 2] = threadIdx.x;
}

// Two blocks that are there together leave where their words lie.
template <bool TOUCH>
__global__ void leave_address(volatile std::uintptr_t* addresses, float* out) {
  __shared__ float words[4];
  words[threadIdx.x] = 1;
  __syncthreads();  // all words are there
  if (threadIdx.x > 0) return;
  addresses[blockIdx.x] = reinterpret_cast<std::uintptr_t>(words);
  while (addresses[1 - blockIdx.x] == 0) {
  }
  if (TOUCH && blockIdx.x == 1) out[0] = *reinterpret_cast<float*>(addresses[0]);
}

__global__ void only_the_first_writes(float* out) {
  __shared__ float words[32];
  if (blockIdx.x == 0) words[threadIdx.x] = 1;
  out[blockIdx.x * 32 + threadIdx.x] = words[threadIdx.x];
}

struct Words {
  float values[16];
};
__global__ void by_value(Words words, float* out) { out[threadIdx.x] = words.values[threadIdx.x % 16]; }

// --- __device__ variables --------------------------------------------------------------------------------------------------

__device__ float table[4] = {2, 3, 5, 7};
__device__ unsigned finished_blocks;
static __device__ int start = 40;
__device__ float2 pair_of_words{1, 2};
__device__ float parts[2][2];
__device__ bool flag_of_a_byte = true;
__device__ volatile int signal_word;

__global__ void look_up(float* out) {
  const float value = table[threadIdx.x % 4];  //@ look-up
  out[threadIdx.x] = value;
}
__global__ void look_up_in_array(const float* values, float* out) {
  const float value = values[threadIdx.x % 4];  //@ look-up-in-array
  out[threadIdx.x] = value;
}
__global__ void count_on(int* out) {
  if (threadIdx.x == 0) out[0] = start++ + (flag_of_a_byte ? 1000 : 0) + int(pair_of_words.y);
}
__global__ void all_count() { start += 1; }
__global__ void beyond_the_table(float* out, int i) {
  const float* const pointer = table;
  out[0] = pointer[i];
}
__global__ void two_variables() { second_of_a_line = !first_of_a_line; }
__global__ void variable_of_the_host() { of_the_host = true; }

__device__ float sum_of(const float* values, unsigned count) {
  float sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// The last block adds up what the others left in `parts`.
template <bool FENCE>
__global__ void reduce(const float* in, float* out) {
  if (threadIdx.x != 0) return;
  parts[blockIdx.x / 2][blockIdx.x % 2] = sum_of(in + 64 * blockIdx.x, 64);
  if (FENCE) __threadfence();
  if (atomicAdd(&finished_blocks, 1u) % gridDim.x != gridDim.x - 1) return;
  out[0] = sum_of(&parts[0][0], gridDim.x);
}

__global__ void hand_over(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    out[0] = 5;
    __threadfence();
    signal_word = 1;
  } else {
    while (signal_word == 0) {
    }
    __threadfence();
    out[1] = out[0];
  }
}

// --- Long kernels -------------------------------------------------------------------------------------------------------------

enum class Meeting { block, warp, shuffle };

template <Meeting WHERE>
__global__ void long_loop(float* out, int turns) {
  __shared__ float words[32];
  words[threadIdx.x] = 1;
  float sum = 0;
  for (int i = 0; i < turns; ++i) {
    if (WHERE == Meeting::block) __syncthreads();  // as a loop over tiles has
    if (WHERE == Meeting::warp) __syncwarp();
    if (WHERE == Meeting::shuffle) sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    for (int k = 0; k < 32; ++k) sum += words[threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

// Half of the warp stores while the other half waits, which stores then.
__global__ void half_waits(float* out) {
  if (threadIdx.x >= 16) __syncwarp(0xffff0000u);
  out[threadIdx.x] = 1;  //@ store
}

// One block waits while another works, and lets it go on again and again.
__global__ void patient(const float* in, volatile int* flag, float* out, int turns) {
  if (blockIdx.x == 0) {
    while (flag[0] == 0) {  //@ wait
    }
    return;
  }
  float sum = 0;
  for (int i = 0; i < turns; ++i)
    for (int k = 0; k < 65; ++k) sum += in[i % 2];
  out[0] = sum;
  flag[0] = 1;
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("__shared__ variables are counted alike wherever they are declared" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 192);
  const auto own = counted(reversed<Declared::in_kernel>, dim3(3), dim3(64), out.device());
  CHECK(own.static_shared_bytes == 256);
  REQUIRE(own.sites.size() == 3);
  for (const auto kernel : {reversed<Declared::in_function>, reversed<Declared::in_template>,
                            reversed<Declared::at_file_scope>, reversed<Declared::outside_namespaces>}) {
    out.set(std::vector<float>(192, 0));
    const auto counts = counted(kernel, dim3(3), dim3(64), out.device());
    CHECK(out.host()[64] == 127);
    CHECK(counts.static_shared_bytes == own.static_shared_bytes);
    REQUIRE(counts.sites.size() == own.sites.size());
    for (std::size_t i = 0; i < own.sites.size(); ++i) {
      const simt::Site &site = counts.sites[i], &expected = own.sites[i];
      CHECK(site.line == expected.line);
      CHECK(site.op == expected.op);
      CHECK(site.space == expected.space);
      CHECK(site.requests == expected.requests);
      CHECK(site.wavefronts == expected.wavefronts);
      CHECK(site.sectors == expected.sectors);
    }
  }
}

TEST_CASE("races and unwritten words are found in __shared__ variables wherever they are declared" *
          doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  CHECK(contains(said_of(without_a_barrier<Declared::in_function>, dim3(1), dim3(64), out.device()), " words["));
  CHECK(contains(said_of(without_a_barrier<Declared::at_file_scope>, dim3(1), dim3(64), out.device()),
                 " words_at_file_scope["));
  CHECK(contains(said_of(half_written, dim3(1), dim3(64), out.device()), "reads words_at_file_scope["));
}

TEST_CASE("blocks that are resident together have __shared__ variables of their own" * doctest::test_suite("model")) {
  auto flags = tile::array<int>("flags", 2), out = tile::array<int>("out", 2);
  for (const char* threads : {"1", "2"}) {
    setenv("SIMT_THREADS", threads, 1);
    flags.set({0, 0});
    CHECK(said_of(waiting_for_each_other, dim3(2), dim3(32), flags.device(), out.device()) == "");
    CHECK(out.host() == std::vector<int>{1010, 1111});
    flags.set({0, 0});
    tile::launch(waiting_for_each_other, dim3(2), dim3(32), 0, flags.device(), out.device());  // not traced
    CHECK(out.host() == std::vector<int>{1010, 1111});
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("__shared__ variables of functions count towards the limit of a block" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  const std::string said = said_of(too_much_in_a_function, dim3(1), dim3(32), out.device());
  INFO(said);
  CHECK(contains(said, "launch of too_much_in_a_function: 49280 bytes of static shared memory; 48 KB is the limit"));
}

TEST_CASE("a __shared__ variable of another kernel is out of bounds" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 1);
  for (int i = 32; i < 1024; i += 32)
    CHECK(contains(said_of(beyond_its_own, dim3(1), dim3(1), out.device(), i),
                   fmt::format("{} bytes past the end of words", 4 * (i + 1 - 32))));
  CHECK(contains(said_of(beyond_its_own, dim3(1), dim3(1), out.device(), -4), "outside every __shared__ array"));
}

TEST_CASE("__shared__ variables may be declared in many ways" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  auto places = tile::array<unsigned>("places", 3);
  const auto counts = counted(declared_in_many_ways, dim3(1), dim3(32), out.device(), places.device());
  CHECK(counts.static_shared_bytes == 4 * 8 * 4 + 32 * 4 + 4 + 6 + 6 + 2 * 8);
  for (unsigned i = 0; i < 32; ++i) CHECK(out.host()[i] == float(8 + i % 8) + float(31 - i % 8) + 8 + float(31 - i));
  CHECK(places.host() == std::vector<unsigned>{0, 0, 4 * 8 * 4 + 6});
  CHECK(contains(said_of(race_in_a_row, dim3(1), dim3(16)), "writes rows[3][0] (address "));
}

TEST_CASE("the shared memory of each block lies elsewhere, and is for it alone" * doctest::test_suite("model")) {
  auto addresses = tile::array<std::uintptr_t>("addresses", 2);
  auto out = tile::array<float>("out", 1);
  for (const char* threads : {"1", "2"}) {
    setenv("SIMT_THREADS", threads, 1);
    addresses.set({0, 0});
    CHECK(said_of(leave_address<false>, dim3(2), dim3(4), addresses.device(), out.device()) == "");
    CHECK(addresses.host()[0] != addresses.host()[1]);
    addresses.set({0, 0});
    const std::string said = said_of(leave_address<true>, dim3(2), dim3(4), addresses.device(), out.device());
    INFO(said);
    CHECK(contains(said, "block (1,0,0), thread (0,0,0) reads shared memory of "));
    const bool gone = contains(said, "a block that has ended, at address");
    CHECK((gone || contains(said, "block (0,0,0) at address")));
  }
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a block finds nothing in its shared memory that another has written" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 64);
  setenv("SIMT_THREADS", "1", 1);
  CHECK(contains(said_of(only_the_first_writes, dim3(2), dim3(32), out.device()),
                 "block (1,0,0), thread (0,0,0) reads words[0]"));
  unsetenv("SIMT_THREADS");
}

TEST_CASE("a thread's arguments are its own" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  Words words{};
  words.values[3] = 5;
  const auto counts = counted(by_value, dim3(1), dim3(32), words, out.device());
  CHECK(out.host()[19] == 5);
  REQUIRE(counts.sites.size() == 1);
  CHECK(counts.sites[0].op == simt::Op::store);
}

TEST_CASE("an index without a sign that went below 0 is told as what it was" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32),
       behind = tile::array<float>("behind", 32);
  CHECK(contains(said_of(before_its_own, dim3(1), dim3(32), out.device()),
                 ", 4 bytes before the start of out but for 2^32 elements: an index without a sign went below 0"));
}

TEST_CASE("__device__ variables are global memory" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32), values = tile::array<float>("values", 4);
  values.set({2, 3, 5, 7});
  const auto variable = counted(look_up, dim3(1), dim3(32), out.device());
  CHECK(out.host()[6] == 5);
  const simt::Site& load = tile::site(variable, "look-up");
  CHECK(load.array == "table");
  CHECK(load.space == simt::Space::global);
  const auto array = counted(look_up_in_array, dim3(1), dim3(32), values.device(), out.device());
  const simt::Site& expected = tile::site(array, "look-up-in-array");
  CHECK(load.sectors == expected.sectors);
  CHECK(load.l1_cycles == expected.l1_cycles);
  CHECK(contains(said_of(beyond_the_table, dim3(1), dim3(1), out.device(), 4), "4 bytes past the end of table"));
}

TEST_CASE("__device__ variables keep their values from launch to launch" * doctest::test_suite("model")) {
  auto out = tile::array<int>("out", 1);
  for (const int expected : {1042, 1043}) {
    CHECK(said_of(count_on, dim3(1), dim3(32), out.device()) == "");
    CHECK(out.host()[0] == expected);
  }
}

TEST_CASE("races on __device__ variables are found" * doctest::test_suite("model")) {
  CHECK(contains(said_of(all_count, dim3(1), dim3(2)), " start[0] (address "));
  CHECK(contains(said_of(all_count, dim3(2), dim3(1)), " start[0] (address "));
  auto in = tile::array<float>("in", 256), out = tile::array<float>("out", 1);
  in.set(std::vector<float>(256, 1));
  for (const char* threads : {"1", "2"}) {
    setenv("SIMT_THREADS", threads, 1);
    CHECK(said_of(reduce<true>, dim3(4), dim3(32), in.device(), out.device()) == "");
    CHECK(out.host()[0] == 256);
    CHECK(contains(said_of(reduce<false>, dim3(4), dim3(32), in.device(), out.device()), "reads parts["));
  }
  unsetenv("SIMT_THREADS");
  auto words = tile::array<int>("words", 2);
  CHECK(said_of(hand_over, dim3(2), dim3(32), words.device()) == "");
  CHECK(words.host()[1] == 5);
}

TEST_CASE("a variable that is not known to be a __device__ one is refused" * doctest::test_suite("model")) {
  const std::string said = said_of(variable_of_the_host, dim3(1), dim3(1));
  INFO(said);
  CHECK(
      contains(said, "writes of_the_host, a variable of the program that is neither __shared__ nor a __device__ one"));
  CHECK(said_of(two_variables, dim3(1), dim3(1)) == "");
}

TEST_CASE("a kernel that loops long takes no more memory than one that does not" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  const auto run = [&](int turns) {
    for (const auto kernel : {long_loop<Meeting::block>, long_loop<Meeting::warp>, long_loop<Meeting::shuffle>})
      CHECK(said_of(kernel, dim3(1), dim3(32), out.device(), turns) == "");
  };
  run(10);
  const long before = peak_kilobytes();
  run(4000);  // 2 MB of accesses a lane, were all kept
  CHECK(peak_kilobytes() - before < 16 << 10);
}

TEST_CASE("lanes that return do not part a warp's access" * doctest::test_suite("model")) {
  auto out = tile::array<float>("out", 32);
  const simt::Site store = tile::site(counted(half_waits, dim3(1), dim3(32), out.device()), "store");
  CHECK(store.requests == 1);
  CHECK(store.accesses == 32);
}

TEST_CASE("a long wait counts as a short one" * doctest::test_suite("model")) {
  auto in = tile::array<float>("in", 2), out = tile::array<float>("out", 1);
  auto flag = tile::array<int>("flag", 1);
  for (const int turns : {1, 100, 2000}) {
    flag.set({0});
    const simt::Site wait =
        tile::site(counted(patient, dim3(2), dim3(1), in.device(), flag.device(), out.device(), turns), "wait");
    CHECK(wait.requests == 1);
    CHECK_FALSE(wait.estimated);
  }
}
