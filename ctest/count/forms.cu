// Forms in which people write kernels and launches, that all compile. ctest/count.sh compares how they are counted.
#include "included.cuh"

#include "common/count/count.hpp"

__global__ void in_an_included_file(float* out, const float* in) {
  extern __shared__ float words[];
  __shared__ __align__(16) float own[64];
  assert(threadIdx.x < 64);
  const float* const line = keep(threadIdx.x);
  own[threadIdx.x] = 2;
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[63 - threadIdx.x] * weights[threadIdx.x % 4] + offset + line[63 - threadIdx.x] * own[3];
  atomicAdd(&first, 1);  //= atomic first (global)
  atomicInc(&second, 100);
}
void launch_by_angles(int threads, float* out, const float* in, cudaStream_t stream = 0) {
  dim3 gridDim(1), blockDim(threads);
  CHECK(cudaFuncSetAttribute(in_an_included_file, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  in_an_included_file<<<gridDim, blockDim, threads * sizeof(float), stream>>>(out, in);
  CHECK(cudaPeekAtLastError());
  CHECK(cudaDeviceSynchronize());
}
TILE_COUNT("an included file, constant memory, counters") {  //= load weights (constant) 4 2
  auto in = tile::array<float>("in", 64), out = tile::array<float>("out", 64);
  const float five = 5;
  cudaMemcpyToSymbol(offset, &five, sizeof(five));
  tile::flops(64);  //= , at most 0.0
  launch_by_angles(64, out.device(), in.device());
  tile::expect(out.host()[2] == 61 * 3 + 5 + 61 * 2, "out is in reversed, weighted and moved");
}

// What a reference or a pointer refers to is an index, and is loaded once; extents may be elements.
constexpr int extents[] = {4, 8};
struct Queue { int head, tail; unsigned part : 8; };
__global__ void references(float* out, const int* order, const Queue* queues) {
  __shared__ float tasks[32];
  float local[extents[0]] = {};
  tasks[threadIdx.x] = 1;
  __syncwarp();
  const int& mine = order[threadIdx.x];
  const Queue& queue = queues[threadIdx.x];
  if (threadIdx.x < 32) [[likely]]                                //= load order (global) 4 1 4
    out[threadIdx.x] = tasks[mine] + tasks[queue.head] + local[2];  //= load queues (global) 4 1 12
}
TILE_COUNT("references") {
  auto out = tile::array<float>("out", 32);
  auto order = tile::array<int>("order", 32);
  auto queues = tile::array<Queue>("queues", 32);
  references<<<1, 32>>>(out.device(), order.device(), queues.device());
}

// Structs are moved as a whole, by their alignment; vectors of constants are stored as a whole, small members for themselves.
template <class T> __global__ void copy(T* out, const T* in) { out[threadIdx.x] = in[threadIdx.x]; }
template <class T> void run(const char* in_name, const char* out_name) {
  auto in = tile::array<T>(in_name, 32), out = tile::array<T>(out_name, 32);
  copy<T><<<1, 32>>>(out.device(), in.device());
}
struct A4of20 { float values[5]; };
struct A8of24 { double a, b, c; };
struct __align__(16) A16of32 { float a, b, c, d, e, f, g, h; };
struct Chars { char values[5]; };
TILE_COUNT("structs") {
  run<A4of20>("in20", "out20");  //= load in20 (global) 4 5
  run<A8of24>("in24", "out24");  //= store out24 (global) 8 3
  run<A16of32>("in32", "out32");  //= store out32 (global) 16 2
  run<Chars>("in5", "out5");      //= load in5 (global) 1 5
  run<float4>("in16", "out16");   //= store out16 (global) 16 1 16
}
struct Point { float x, y, z; unsigned char kind; };
__global__ void constants(int4* a, float2* b, uchar4* c, Point* p, A16of32* wide) {
  __shared__ A16of32 tile[32];
  tile[threadIdx.x] = wide[threadIdx.x];  //= store tile (shared) 16 2
  a[threadIdx.x] = make_int4(1, 2, 3, 4);  //= store a (global) 16 1 16
  b[threadIdx.x] = make_float2(1, 2);      //= store b (global) 8 1 8
  c[threadIdx.x] = make_uchar4(1, 2, 3, 4);  //= store c (global) 4 1 4
  p[threadIdx.x].kind = 1;                   //= store p (global) 1 1 16
}
TILE_COUNT("constants") {
  auto a = tile::array<int4>("a", 32);
  auto b = tile::array<float2>("b", 32);
  auto c = tile::array<uchar4>("c", 32);
  auto p = tile::array<Point>("p", 32);
  auto wide = tile::array<A16of32>("wide", 32);
  constants<<<1, 32>>>(a.device(), b.device(), c.device(), p.device(), wide.device());
}
