// Tests that the model counts the accesses of the source, despite g++'s optimizations: each kernel here provokes one
// pass that merges, drops, moves or duplicates accesses, or one kind of access without a hook.
#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "ctest/model_tests.hpp"

MODEL_TESTS("tests of what the model counts")
TEST_SUITE_BEGIN("model");

struct Words8 {
  float words[8];
};
using Kernel = void (*)(float*, const float*);

// Runs one warp of `kernel` on two arrays of 1024 elements and counts it.
static simt::Counts counts_of(Kernel kernel) {
  auto in = tile::array<float>("in", 1024), out = tile::array<float>("out", 1024);
  return counted(kernel, 1, 32, out, in);
}

// Warp-wide requests at the sites with this tag, of one operation.
static std::uint64_t requests(const simt::Counts& counts, std::string_view tag, simt::Op op = simt::Op::load) {
  std::uint64_t sum = 0;
  for (const simt::Site& site : counts.sites)
    if (site.op == op && tile::has_tag(site, tag)) sum += site.requests;
  return sum;
}
// The message with which the model rejects `kernel`, or "" if it counts it.
static std::string refusal(Kernel kernel) {
  return said_by([&] { counts_of(kernel); });
}

// --- Passes that merge, drop or move accesses -----------------------------------------------------------------------
__global__ void same_word_twice_in_a_loop(float* out, const float* in) {
  __shared__ float Bs[32];
  Bs[threadIdx.x] = in[threadIdx.x];
  __syncthreads();  // a thread reads what others wrote
  float sum = 0, product = 1;
  for (int i = 0; i < 8; ++i) {
    sum += Bs[i];      //@ first
    product *= Bs[i];  //@ second
    sum += Bs[0];      //@ invariant
  }
  out[threadIdx.x] = sum + product;
}

__global__ void same_word_three_times_in_a_line(float* out, const float* in) {
  out[threadIdx.x] = in[0] * in[0] + in[0];  //@ line
}

// Chapter 04's main loop with the load of Bs left inside the inner loop.
__global__ void operand_loaded_for_each_result(float* out, const float* in) {
  __shared__ float As[64], Bs[256];
  for (int i = threadIdx.x; i < 64; i += 32) As[i] = in[i];
  for (int i = threadIdx.x; i < 256; i += 32) Bs[i] = in[i];
  __syncthreads();  // a thread reads what others wrote
  float acc[8] = {};
  for (int dotIdx = 0; dotIdx < 8; ++dotIdx)
    for (int i = 0; i < 8; ++i) {
      const float regN = Bs[dotIdx * 32 + threadIdx.x];  //@ load-Bs
      acc[i] += As[i * 8 + dotIdx] * regN;               //@ load-As
    }
  for (int i = 0; i < 8; ++i) out[i * 32 + threadIdx.x] = acc[i];
}

__global__ void stored_twice(float* out, const float* in) {
  float* const own = &out[threadIdx.x];
  *own = 1;                                   //@ overwritten
  *own = 2;                                   //@ the-same
  *own = 2;                                   //@ again
  for (int i = 0; i < 8; ++i) *own += in[i];  //@ accumulate
}

__global__ void stored_then_loaded(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x];
  const float back = out[threadIdx.x];  //@ back
  out[threadIdx.x + 32] = back;
}

__global__ void loaded_before_a_branch(float* out, const float* in) {
  const unsigned thread = threadIdx.x;
  const float value = in[thread];  //@ unconditional
  if (__builtin_expect(thread < 8, 0)) out[thread] = 3 * value;
}

__global__ void loaded_in_both_branches(float* out, const float* in) {
  const unsigned thread = threadIdx.x;
  float value;
  if (out[thread] > 3)
    value = in[thread];  //@ branch
  else
    value = 2 * in[thread];  //@ branch
  value += in[thread];       //@ after
  out[thread] = value;
}

__global__ void stored_under_a_condition(float* out, const float* in) {
  float* const own = &out[threadIdx.x];
  const float limit = in[7], old = *own;
  if (old > limit) *own = 1;  //@ conditional
}

__global__ void loaded_between_two_branches(float* out, const float* in) {
  const unsigned thread = threadIdx.x;
  int kind = 4;
  if (thread < 8)
    kind = 7;
  else if (thread < 20)
    kind = 9;
  float value = in[thread];  //@ once
  if (kind == 9) value = 2 * value + 1;
  out[thread] = value;
}

__global__ void loaded_through_either_pointer(float* out, const float* in) {
  __shared__ float As[64];
  As[threadIdx.x] = in[threadIdx.x];
  As[threadIdx.x + 32] = in[threadIdx.x];
  __syncthreads();  // a thread reads what others wrote
  const float* from = &As[35];
  if (threadIdx.x % 2 == 0) from = &As[5];
  out[threadIdx.x] = *from;  //@ once
}

__device__ __noinline__ float word_at(const float* address) { return *address; }  //@ in-helper
__global__ void loaded_by_a_function(float* out, const float* in) {
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += word_at(in + threadIdx.x);
  out[threadIdx.x] = sum;
}

__global__ void restricted(float* __restrict__ out, const float* __restrict__ in) {
  for (int i = 0; i < 4; ++i) {
    out[threadIdx.x] = in[threadIdx.x];   //@ first
    out[threadIdx.x] += in[threadIdx.x];  //@ second
  }
}

// --- Accesses without hooks ------------------------------------------------------------------------------------------
template <int bytes>
__global__ void built_in_copy(float* out, const float* in) {
  __builtin_memcpy(out + 16 * threadIdx.x, in + 16 * threadIdx.x, bytes);
}
template <int bytes>
__global__ void copy(float* out, const float* in) {
  memcpy(out + 16 * threadIdx.x, in + 16 * threadIdx.x, bytes);
}
__global__ void overlapping_copy(float* out, const float*) { memmove(out + 16 * threadIdx.x, out + 4, 16); }
__global__ void clear(float* out, const float*) { memset(out + 16 * threadIdx.x, 0, 16); }
__global__ void built_in_clear(float* out, const float*) { __builtin_memset(out + 16 * threadIdx.x, 0, 64); }
__global__ void comparison(float* out, const float* in) {
  out[threadIdx.x] = memcmp(in, in + threadIdx.x, 16) == 0 ? 1.0f : 0.0f;
}
__global__ void standard_copy(float* out, const float* in) {
  std::copy_n(in + 16 * threadIdx.x, 16, out + 16 * threadIdx.x);
}
__global__ void struct_copy(float* out, const float* in) {
  reinterpret_cast<Words8*>(out)[threadIdx.x] = reinterpret_cast<const Words8*>(in)[threadIdx.x];
}
using Vector8 __attribute__((vector_size(32))) = float;
__global__ void wide_vector(float* out, const float* in) {
  reinterpret_cast<Vector8*>(out)[threadIdx.x] = reinterpret_cast<const Vector8*>(in)[threadIdx.x] + 1;
}
__global__ void standard_atomic(float* out, const float*) {
  std::atomic_ref<int>(*reinterpret_cast<int*>(out)).fetch_add(1);
}
float program_table[4] = {1, 2, 3, 4};
__global__ void table_of_the_program(float* out, const float*) { out[threadIdx.x] = program_table[threadIdx.x % 4]; }

__device__ __noinline__ float first_and_last(float4 value) { return value.x + value.w; }
__global__ void vector_by_value(float* out, const float* in) {
  out[threadIdx.x] = first_and_last(reinterpret_cast<const float4*>(in)[threadIdx.x]);  //@ argument
}
__device__ __noinline__ float4 four_times(float value) { return {value, value, value, value}; }
__global__ void vector_from_a_function(float* out, const float* in) {
  new (out + 4 * threadIdx.x) float4{four_times(in[threadIdx.x])};  //@ result
}
// A vector made from a list of values, which g++ may store element by element.
__global__ void vector_from_a_list(float* out, const float* in) {
  const float value = in[threadIdx.x];
  reinterpret_cast<float4*>(out)[threadIdx.x] = {value, value, value, value};  //@ list
}
// One of two vectors, which g++ 12 may store in two places.
__global__ void vector_by_choice(float* out, const float* in) {
  const float value = in[threadIdx.x];
  float4* const own = &reinterpret_cast<float4*>(out)[threadIdx.x];
  own[0] = value > 3 ? make_float4(value, value, value, value) : make_float4(0, 0, 0, 0);  //@ element
  own->x = value > 3 ? 1.0f : 2.0f;                                                        //@ member
}
__global__ void assigned_in_a_chain(float* out, const float* in) {
  out[threadIdx.x] = out[threadIdx.x + 32] = in[threadIdx.x];  //@ chain
}
__global__ void loaded_and_unused(float* out, const float* in) {
  [[maybe_unused]] const float value = in[threadIdx.x];  //@ unused
  out[threadIdx.x] = 1;
}

__global__ void vectors_of_the_compiler(float* out, const float* in) {
  using Vector4 __attribute__((vector_size(16))) = float;
  reinterpret_cast<Vector4*>(out)[threadIdx.x] = reinterpret_cast<const Vector4*>(in)[threadIdx.x];  //@ four
}
__global__ void arrays_of_its_own(float* out, const float* in) {
  Words8 own = {}, copy;
  for (int i = 0; i < 8; ++i) own.words[i] = in[i];
  memcpy(&copy, &own, sizeof own);
  out[threadIdx.x] = copy.words[threadIdx.x % 8];
}

// g++ does not announce the accesses of a function without instrumentation.
__attribute__((noinline, no_sanitize("thread"))) void unannounced(float* out) { out[5] = 42; }
__global__ void store_past_the_hooks(float* out, const float*) { unannounced(out); }

template <class Number>
__global__ void through_shared(float* out, const float* in) {
  __shared__ Number shared[32];
  shared[threadIdx.x] = Number(in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = float(shared[31 - threadIdx.x]);
}

// Two reads of a word are two, and every store is one; accesses stay on their side of a branch; what a function reads
// or returns is counted.
TEST_CASE("accesses of the source are counted once each") {
  using Requests = std::map<std::string, std::uint64_t>;  // by tag
  struct Expected {
    Kernel kernel;
    Requests loads, stores = {};
  };
  for (const Expected& expected : std::vector<Expected>{
           {same_word_twice_in_a_loop, {{"first", 8}, {"second", 8}, {"invariant", 8}}},
           {same_word_three_times_in_a_line, {{"line", 3}}},
           {operand_loaded_for_each_result, {{"load-Bs", 64}, {"load-As", 64}}},
           {restricted, {{"first", 4}, {"second", 8}}},  // the second of in, and of out
           {stored_twice, {{"accumulate", 16}}, {{"overwritten", 1}, {"the-same", 1}, {"again", 1}, {"accumulate", 8}}},
           {stored_then_loaded, {{"back", 1}}},
           {loaded_before_a_branch, {{"unconditional", 1}}},
           {loaded_in_both_branches, {{"branch", 2}, {"after", 1}}},
           {loaded_between_two_branches, {{"once", 1}}},
           {loaded_through_either_pointer, {{"once", 1}}},
           {loaded_by_a_function, {{"in-helper", 8}}},
           {vector_by_value, {{"argument", 1}}},
           {vectors_of_the_compiler, {{"four", 1}}, {{"four", 1}}},
           {vector_from_a_function, {}, {{"result", 1}}},
           {vector_from_a_list, {}, {{"list", 4}}},
           {vector_by_choice, {}, {{"element", 1}, {"member", 1}}},
           {assigned_in_a_chain, {{"chain", 2}}},
           {loaded_and_unused, {{"unused", 0}}}}) {
    const simt::Counts counts = counts_of(expected.kernel);
    for (const auto& load : expected.loads) CHECK(requests(counts, load.first) == load.second);
    for (const auto& store : expected.stores) CHECK(requests(counts, store.first, simt::Op::store) == store.second);
  }
  // out is 0, 1, 2, ... and in[7] is 7: eight lanes of the 32 do not store
  CHECK(tile::site(counts_of(loaded_before_a_branch), "unconditional").accesses == 32);
  for (const auto& site : counts_of(stored_under_a_condition).sites)
    if (site.op == simt::Op::store) CHECK(site.accesses == 24);
  for (const auto& site : counts_of(vector_by_value).sites)
    if (site.op == simt::Op::load) CHECK(site.width == 16);
}

TEST_CASE("a lane's own arrays may be copied with memcpy") { CHECK(refusal(arrays_of_its_own) == ""); }

TEST_CASE("shared arrays of 16-bit numbers need no initialisation guard") {
  for (const Kernel kernel : {through_shared<__half>, through_shared<__nv_bfloat16>}) {
    const simt::Counts counts = counts_of(kernel);
    REQUIRE(counts.sites.size() == 4);  // of `in`, of `shared` twice, and of `out`
    for (const simt::Site& site : counts.sites) CHECK(site.requests == 1);
  }
}

TEST_CASE("block copies of any kind are rejected") {
  for (const Kernel kernel : {built_in_copy<4>, built_in_copy<16>, built_in_copy<32>, built_in_copy<64>, copy<16>,
                              copy<64>, overlapping_copy, clear, built_in_clear, comparison, standard_copy})
    CHECK(says(refusal(kernel), "with memcpy or the like"));
  CHECK(says(refusal(struct_copy), "moves 32 bytes at once"));
  CHECK(says(refusal(wide_vector), "moves 32 bytes at once"));
}

TEST_CASE("C++ atomics, host tables and stores without hooks are rejected") {
  CHECK(says(refusal(standard_atomic), "uses a C++ atomic operation"));
  CHECK(says(refusal(table_of_the_program), "reads program_table, a variable of the program that is neither"));
  CHECK(says(refusal(store_past_the_hooks), "changed out[5] by a store that the compiler did not announce"));
}

TEST_SUITE_END();
