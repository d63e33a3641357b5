// Errors of C++, in the compiler's words and the reader's lines. ctest/count.sh compares.
#include "common/cuda/ptx_bulk.hpp"
#include "common/count/count.hpp"
__device__ const float table[2] = {1, 2};                  //! @: .*the model cannot count reads of constant tables
__global__ void __cluster_dims__(2, 1, 1) clustered() {}   //! @: .*takes a cluster.s size from the launch
__global__ void copies(float* x, const CUtensorMap map) {  //! @: .*must be const __grid_constant__ CUtensorMap
  x[0] = map.rows;
}
__global__ void k(float* p, int n) {
  float x = p[threadIdx.x]
  p[threadIdx.x] = x;  //! @: expected .* before .*p.
  int i = "text";      //! @: invalid conversion from .* to .*int.$
  p[i] = undefined;    //! @: .undefined. was not declared
}
#define TILE_OF(n) __shared__ float tile[n];
__global__ void h() { TILE_OF(64) }  //! @: .*the model does not see a __shared__ in a macro
template <class T> __global__ void g(T* p) { p[0] = p.x; }  //! @: request for member
TILE_COUNT("launches") {
  auto a = tile::array<int>("a", 32);
  k<<<1, 32>>>(a.device());     //! @: the launch has more arguments than the kernel takes, or fewer$
  k<<<1, 32>>>(a.device(), 1);  //! @: an argument of the launch has another type than the kernel's parameter
}
TILE_COUNT("deduced") { auto a = tile::array<float>("a", 32); g<<<1, 32>>>(a.device()); }  //! @: a launch must name the template arg
TILE_COUNT("inside") { auto a = tile::array<float>("a", 32); g<float><<<1, 32>>>(a.device()); }
