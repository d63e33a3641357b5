// Mistakes, and ctest/count-told.sh looks at what is told of them.
#include "common/count/count.hpp"

__device__ float table[4][8];

__global__ void past(float* out) { out[threadIdx.x + 1] = 1; }
__global__ void before(float* out) { out[int(threadIdx.x) - 1] = 1; }
__global__ void wrapped(float* out) { out[threadIdx.x - 1] = 1; }
__global__ void past_table() {
  float* const first = &table[0][0];
  if (threadIdx.x == 0) first[33] = 1;
}
__global__ void past_tile() {
  __shared__ float tile[4][8];
  float* const first = &tile[0][0];
  first[threadIdx.x + 1] = 1;
}
__global__ void before_tile() {
  __shared__ float tile[4][8];
  float* const first = &tile[0][0];
  first[int(threadIdx.x) - 1] = 1;
}
__global__ void past_dynamic() {
  extern __shared__ float words[];
  words[threadIdx.x] = 1;
}
__global__ void past_extent() {
  __shared__ float tile[4][8];
  tile[0][threadIdx.x] = 1;
}
__global__ void some_return() {
  if (threadIdx.x >= 32) return;
  __syncthreads();
}
__global__ void two_lines() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}
__device__ float word_of(const float* words, int i) { return words[i]; }
__global__ void inlined_twice(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = word_of(tile, threadIdx.x ^ 32) + word_of(tile, threadIdx.x ^ 33);
}
__global__ void of_vectors(float4* vectors) {
  if (threadIdx.x % 32 == 0) vectors[3].z = threadIdx.x;
}
__global__ void of_table() {
  if (threadIdx.x % 32 == 0) table[1][3] = threadIdx.x;
}
__global__ void straddles(float* out) {
  const float4 v = make_float4(1, 2, 3, threadIdx.x);
  reinterpret_cast<float4*>(out)[threadIdx.x] = v;
}
__global__ void straddles_tile() {
  __shared__ __align__(16) float tile[30];
  float* const first = tile;
  const float4 v = make_float4(1, 2, 3, threadIdx.x);
  reinterpret_cast<float4*>(first)[threadIdx.x] = v;
}
__constant__ float weights[8];
__global__ void past_constant(float* out) {
  const float* const first = weights;
  out[threadIdx.x] = first[threadIdx.x];
}
__global__ void wrapped_tile(unsigned n) {
  __shared__ float tile[8];
  tile[n - 70] = 1;
}
__global__ void chosen_vector(float4* vectors, bool which) {
  const float x = threadIdx.x;
  vectors[0] = which ? float4{x, x, x, x} : float4{1, 2, 3, x};
}
__global__ void misaligned_constants(float* out) { *reinterpret_cast<float4*>(out + 1) = make_float4(0.f, 0.f, 0.f, 0.f); }

TILE_COUNT("past") { auto out = tile::array<float>("out", 32); past<<<1, 32>>>(out.device()); }
TILE_COUNT("before") { auto out = tile::array<float>("out", 32); before<<<1, 32>>>(out.device()); }
TILE_COUNT("wrapped") { auto out = tile::array<float>("out", 32); wrapped<<<1, 32>>>(out.device()); }
TILE_COUNT("past_table") { past_table<<<1, 32>>>(); }
TILE_COUNT("past_tile") { past_tile<<<1, 32>>>(); }
TILE_COUNT("before_tile") { before_tile<<<1, 32>>>(); }
TILE_COUNT("past_dynamic") { past_dynamic<<<1, 32, 64>>>(); }
TILE_COUNT("past_extent") { past_extent<<<1, 32>>>(); }
TILE_COUNT("some_return") { some_return<<<1, 64>>>(); }
TILE_COUNT("two_lines") { two_lines<<<1, 64>>>(); }
TILE_COUNT("inlined_twice") { auto out = tile::array<float>("out", 64); inlined_twice<<<1, 64>>>(out.device()); }
TILE_COUNT("of_vectors") { auto vectors = tile::array<float4>("vectors", 4); of_vectors<<<1, 64>>>(vectors.device()); }
TILE_COUNT("of_table") { of_table<<<1, 64>>>(); }
TILE_COUNT("straddles") { auto out = tile::array<float>("out", 30); straddles<<<1, 8>>>(out.device()); }
TILE_COUNT("straddles_tile") { straddles_tile<<<1, 8>>>(); }
TILE_COUNT("past_constant") { auto out = tile::array<float>("out", 32); past_constant<<<1, 32>>>(out.device()); }
TILE_COUNT("wrapped_tile") { wrapped_tile<<<1, 1>>>(3); }
TILE_COUNT("chosen_vector") { auto vectors = tile::array<float4>("vectors", 1); chosen_vector<<<1, 64>>>(vectors.device(), true); }
TILE_COUNT("misaligned_constants") { auto out = tile::array<float>("out", 32); misaligned_constants<<<1, 1>>>(out.device()); }
