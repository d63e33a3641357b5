// Structs that kernels move as a whole. ctest/count-told.sh looks at what is printed.
#include "common/count/count.hpp"

struct A4of16 { float a, b, c, d; };
struct A4of20 { float values[5]; };
struct A4of24 { float a, b, c, d, e, f; };
struct A4of32 { float a, b, c, d, e, f, g, h; };
struct A8of16 { double a, b; };
struct A8of24 { double a, b, c; };
struct __align__(8) FloatsBy8 { float a, b, c, d, e, f; };
struct __align__(16) A16of32 { float a, b, c, d, e, f, g, h; };
struct Chars { char values[5]; };
struct Shorts { short values[6]; };
struct Two { A4of24 first, second; };

template <class T>
__global__ void copy(T* out, const T* in) {
  out[threadIdx.x] = in[threadIdx.x];
}
template <class T>
void run() {
  auto in = tile::array<T>("in", 32), out = tile::array<T>("out", 32);
  copy<T><<<1, 32>>>(out.device(), in.device());
}
TILE_COUNT("16 bytes, aligned to 4") { run<A4of16>(); }
TILE_COUNT("20 bytes, aligned to 4") { run<A4of20>(); }
TILE_COUNT("24 bytes, aligned to 4") { run<A4of24>(); }
TILE_COUNT("32 bytes, aligned to 4") { run<A4of32>(); }
TILE_COUNT("16 bytes, aligned to 8") { run<A8of16>(); }
TILE_COUNT("24 bytes, aligned to 8") { run<A8of24>(); }
TILE_COUNT("24 bytes, floats aligned to 8") { run<FloatsBy8>(); }
TILE_COUNT("32 bytes, aligned to 16") { run<A16of32>(); }
TILE_COUNT("5 bytes, aligned to 1") { run<Chars>(); }
TILE_COUNT("12 bytes, aligned to 2") { run<Shorts>(); }
TILE_COUNT("16 bytes, aligned to 16") { run<float4>(); }

__global__ void members(Two* out, const Two* in) { out[threadIdx.x].second = in[threadIdx.x].first; }
TILE_COUNT("a member of 24 bytes") {
  auto in = tile::array<Two>("in", 32), out = tile::array<Two>("out", 32);
  members<<<1, 32>>>(out.device(), in.device());
}

template <class T>
__global__ void cast(float* out, const float* in) {
  reinterpret_cast<T*>(out)[threadIdx.x] = reinterpret_cast<const T*>(in)[threadIdx.x];
}
TILE_COUNT("20 bytes in an array of floats") {
  auto in = tile::array<float>("in", 160), out = tile::array<float>("out", 160);
  cast<A4of20><<<1, 32>>>(out.device(), in.device());
}

__device__ A8of24 in[32], out[32];
__global__ void copy_variables() { out[threadIdx.x] = in[threadIdx.x]; }
TILE_COUNT("a __device__ array") { copy_variables<<<1, 32>>>(); }

__global__ void to_shared(A4of24* out) {
  __shared__ A4of24 tile[32];
  tile[threadIdx.x] = out[threadIdx.x];
}
TILE_COUNT("in shared memory") {
  auto out = tile::array<A4of24>("out", 32);
  to_shared<<<1, 32>>>(out.device());
}
TILE_COUNT("24 bytes in an array of floats") {
  auto in = tile::array<float>("in", 192), out = tile::array<float>("out", 192);
  cast<A4of24><<<1, 32>>>(out.device(), in.device());
}
TILE_COUNT("past the end") {
  auto in = tile::array<A4of24>("in", 31), out = tile::array<A4of24>("out", 32);
  copy<A4of24><<<1, 32>>>(out.device(), in.device());
}
