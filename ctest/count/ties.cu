// Resources, and lines, that take as long as each other. ctest/count-told.sh looks at what is printed.
#include "common/count/count.hpp"

__global__ void scatter(float* out) { out[threadIdx.x * 32] = 1; }
TILE_COUNT("a tie") {
  auto out = tile::array<float>("out", 1024);
  scatter<<<1, 32>>>(out.device());
}
__global__ void copy(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }
TILE_COUNT("two lines") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  copy<<<1, 32>>>(out.device(), in.device());
}
__global__ void conflict(float* out) {
  __shared__ float tile[1024];
  tile[threadIdx.x * 32] = 1;
  out[threadIdx.x * 32] = 1;
}
TILE_COUNT("banks alone") {
  auto out = tile::array<float>("out", 1024);
  conflict<<<1, 32>>>(out.device());
}
