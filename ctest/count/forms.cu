// Forms in which people write kernels and launches, that all compile. ctest/count.sh compares how they are counted.
#include <math.h>

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

// Valid CUDA in less usual forms: a function that has std::lerp's name, NULL, and the words of a declaration in other orders.
__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
namespace n {
template <int N, class T>
__global__ void __launch_bounds__(32) lerps(T* out, const T* in, const float* none, unsigned long long count) {
  extern __shared__ __align__(16) float words[];
  words[threadIdx.x] = in[threadIdx.x];
  const auto taken = [](int i) { return lerp(words[i], N, 0.5f); };  //= load words (shared) 4 1
  if (none == NULL && threadIdx.x < count) out[threadIdx.x] = taken(threadIdx.x);
}
}  // namespace n
__global__ void other_orders(float* out) {
  __shared__ extern float one[];
  extern float __shared__ __align__(16) two[];
  one[threadIdx.x] = 1;
  out[threadIdx.x] = two[threadIdx.x];
}
TILE_COUNT("less usual forms") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  n::lerps<3, float><<<1, 32, 128>>>(out.device(), in.device(), NULL, 32);
  tile::expect(out.host()[7] == 5, "half of 7 and 3");
  other_orders<<<1, 32, 128>>>(out.device());
}

// Accesses to parts of elements: the bytes of one word are no race.
__global__ void parts(unsigned char* bytes, float* halves) {
  bytes[threadIdx.x] = bytes[threadIdx.x + 64];  //= load words (global) 1 2 1 1 1 1 100%
  halves[threadIdx.x] = 1;                       //= store doubles (global) 4 2 4
}
TILE_COUNT("parts of elements") {
  auto words = tile::array<int>("words", 32);
  auto doubles = tile::array<double>("doubles", 32);
  parts<<<1, 64>>>(reinterpret_cast<unsigned char*>(words.device()), reinterpret_cast<float*>(doubles.device()));
  tile::expect(words.host()[3] == 19, "words moved by bytes");
}

// The macros of nvcc: functions of the host, and nothing else, do not see the architecture.
#if !defined(__CUDACC__) || CUDART_VERSION < 12000
#error "nvcc has these"
#endif
#define HOST_DEVICE __host__ __device__
HOST_DEVICE inline int architecture() {
#if defined(__CUDA_ARCH__)
  return __CUDA_ARCH__;
#else
  return 0;
#endif
}
int on_host() {
#if __CUDA_ARCH__ >= 500
  return 0;
#else
  return 1;
#endif
}
__global__ void architectures(int* out) { out[threadIdx.x] = architecture(); }
TILE_COUNT("architecture") {
  auto out = tile::array<int>("out", 32);
  architectures<<<1, 32>>>(out.device());
  tile::expect(out.host()[0] == (on_host() ? 900 : 0), "900 on the device");
}
