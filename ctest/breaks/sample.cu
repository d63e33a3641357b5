// A small program for the experiments of sample.json, most of which do not go as they say (../breaks.sh).
#include "common/report/chapter.hpp"

TILE_CHAPTER(.number = 0, .title = "a sample for break-it experiments", .kernels = {}, .counted = {1, 1, 1},
             .sizes = {})

namespace {

constexpr int THREADS = 64;
static_assert(THREADS % 32 == 0, "a block must consist of whole warps");

__global__ void reverse(float* out, const float* in) {
  __shared__ float tile[THREADS];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();  // a thread reads what another wrote
  out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

struct Array {
  explicit Array(const char* name)
      : memory(static_cast<float*>(tile::machine::allocate(THREADS * sizeof(float), sizeof(float), name))) {}
  ~Array() { tile::machine::release(memory); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  float* const memory;
};

std::vector<float> reversed(const std::vector<float>& values) {
  const Array in("in"), out("out");
  tile::machine::copy_to_device(in.memory, values.data(), values.size() * sizeof(float));
  simt::trace([&] { tile::launch(reverse, dim3(1), dim3(THREADS), 0, out.memory, in.memory); });
  std::vector<float> result(values.size());
  tile::machine::copy_to_host(result.data(), out.memory, result.size() * sizeof(float));
  return result;
}

std::vector<float> counting() {
  std::vector<float> values(THREADS);
  for (int i = 0; i < THREADS; ++i) values[i] = float(i);
  return values;
}

}  // namespace

TEST_CASE("first and last change places" * doctest::test_suite("model")) {
  const auto result = reversed(counting());
  CHECK(result.front() == THREADS - 1);
  CHECK(result.back() == 0);
}

TEST_CASE("no race" * doctest::test_suite("model")) {
  CHECK_NOTHROW(reversed(counting()));
  CHECK_NOTHROW(counting());
}

TEST_CASE("only compiled where it must fail" * doctest::test_suite("model")) {
  // A brace in a text ends nothing: "}", '}', }
  static_assert(THREADS != 128 && THREADS != 160, "tests of another name are not compiled");
  CHECK(reversed(counting()).size() == THREADS);
}
