// Forms in which people write kernels, that all compile, and are counted. ctest/count-told.sh looks at what is printed.
#include "common/count/count.hpp"

// Attributes behind names and brackets.
enum Kind { plain, old [[deprecated]] };
struct [[nodiscard]] Result { float value; };
enum class [[nodiscard]] Code { good };
[[nodiscard]] __device__ float twice(float x [[maybe_unused]]) { return 2 * x; }
__global__ void attributes(float* out, const float* in, const int* index, int n [[maybe_unused]]) {
  int i [[maybe_unused]] = threadIdx.x;
  alignas(16) [[maybe_unused]] float spare;
  if (i < n) [[likely]] out[i] = twice(in[index[i]]);
  while (i < 32) [[likely]] i += 32;
  for (int k = 0; k < index[0]; ++k) [[unlikely]] out[k] = 0;
}
TILE_COUNT("attributes") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  auto index = tile::array<int>("index", 32);
  attributes<<<1, 32>>>(out.device(), in.device(), index.device(), 32);
}

// Extents that are themselves elements, and names that are variables elsewhere.
constexpr int extents[] = {4, 8};
struct Values { float values[extents[0]]; };
template <int m> __device__ float first(float (&x)[extents[m]]) { return x[0]; }
__device__ float second(const float x[extents[1]]) { return x[1]; }
template <int n> __global__ void of_extent(float* out, const float* in) {
  float local[extents[0]] = {}, other[n]{};
  Values v{};
  out[threadIdx.x] = first<0>(local) + second(in) + v.values[1] + other[0];
}
__global__ void other_n(float* out) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 4;
  __syncwarp();
  out[n] = 1;
}
TILE_COUNT("extents") {
  auto in = tile::array<float>("in", 32), out = tile::array<float>("out", 32);
  of_extent<4><<<1, 32>>>(out.device(), in.device());
}

// Indices of a class's own, in braces and without a copy.
struct Place {
  int row, col;
  Place(int r, int c) : row(r), col(c) {}
  Place(const Place&) = delete;
};
struct View {
  float* data;
  __device__ float& operator[](const Place& p) const { return data[p.row * 8 + p.col]; }
};
__global__ void own_index(View view, const int* rows) {
  const int i = threadIdx.x;
  view[{rows[0], i % 8}] = 1;
  view[Place(rows[1], i % 8)] = 1;
}
TILE_COUNT("own indices") {
  auto out = tile::array<float>("out", 32);
  auto rows = tile::array<int>("rows", 2);
  own_index<<<1, 8>>>(View{out.device()}, rows.device());
}

// What a reference refers to is an index, and is loaded once.
struct Queue { int head, tail; unsigned part : 8; };
__global__ void references(float* out, const int* order, const Queue* queues, const int* other) {
  __shared__ float tasks[32];
  tasks[threadIdx.x] = 1;
  __syncwarp();
  const int& mine = order[threadIdx.x];
  const Queue& queue = queues[threadIdx.x];
  float sum = 0;
  for (const int& i : reinterpret_cast<const int(&)[4]>(*other)) sum += tasks[i];
  out[threadIdx.x] = tasks[mine] + tasks[queue.head] + sum;
}
TILE_COUNT("references") {
  auto out = tile::array<float>("out", 32);
  auto order = tile::array<int>("order", 32), other = tile::array<int>("other", 4);
  auto queues = tile::array<Queue>("queues", 32);
  references<<<1, 32>>>(out.device(), order.device(), queues.device(), other.device());
}

// Small members of structs.
struct Cell { int id; bool alive; };
struct Derived : Cell { bool on; };
struct Point { float x, y, z; unsigned char kind; };
struct Named { char name[16]; int id; };
struct Halves { float w; short h[2]; };
struct Mixed { double x; int n; };
struct Long { long long x; float w; };
struct Around { float3 x; float m; };
struct Before { float x[4]; int n; };
struct Bits { int id; unsigned low : 8, high : 24; };
template <class T, class Touch> __global__ void touch(T* out, Touch) { Touch()(out[threadIdx.x]); }
template <class T, class Touch> void touched(Touch how) {
  auto out = tile::array<T>("out", 32);
  touch<T, Touch><<<1, 32>>>(out.device(), how);
}
TILE_COUNT("members") {
  touched<Cell>([](Cell& c) { if (c.alive) c.id = 1; });
  touched<Derived>([](Derived& d) { d.on = true; });
  touched<Point>([](Point& p) { p.kind = 1; });
  touched<Named>([](Named& n) { n.name[2] = 1; });
  touched<Halves>([](Halves& h) { h.h[1] = 1; });
  touched<Mixed>([](Mixed& m) { m.n = 1; });
  touched<Long>([](Long& l) { l.w = 1; });
  touched<Around>([](Around& a) { a.m = a.x.y; });
  touched<Before>([](Before& b) { b.n = 1; });
  touched<Bits>([](Bits& b) { b.low = 1; });
}

// Vectors of constants are stored as a whole.
__global__ void constants(float4* out) { out[threadIdx.x] = make_float4(0.f, 0.f, 0.f, 0.f); }
TILE_COUNT("constants") {
  auto out = tile::array<float4>("out", 32);
  constants<<<1, 32>>>(out.device());
}
__global__ void choices(float4* out) {
  const float x = threadIdx.x;
  out[threadIdx.x] = threadIdx.x % 2 ? make_float4(x, x, x, x) : make_float4(0.f, 0.f, 0.f, 0.f);
}
TILE_COUNT("choices") {
  auto out = tile::array<float4>("out", 32);
  choices<<<1, 32>>>(out.device());
}
__global__ void small_constants(int4* a, float2* b, uchar4* c) {
  a[threadIdx.x] = make_int4(1, 2, 3, 4);
  b[threadIdx.x] = make_float2(1, 2);
  c[threadIdx.x] = make_uchar4(1, 2, 3, 4);
}
TILE_COUNT("small constants") {
  auto a = tile::array<int4>("a", 32);
  auto b = tile::array<float2>("b", 32);
  auto c = tile::array<uchar4>("c", 32);
  small_constants<<<1, 32>>>(a.device(), b.device(), c.device());
}

struct alignas(16) Wide { float v[8]; };
__global__ void aligned_in_shared(Wide* out) {
  __shared__ Wide tile[32];
  tile[threadIdx.x] = out[threadIdx.x];
}
TILE_COUNT("aligned in shared memory") {
  auto out = tile::array<Wide>("out", 32);
  aligned_in_shared<<<1, 32>>>(out.device());
}

// Throws what is no exception; the runs behind it are counted.
TILE_COUNT("throws") { throw 3; }

// Advice.
__global__ void in_parts(float4* out) {
  const float x = threadIdx.x;
  out[threadIdx.x] = float4{x, x, x, x};
}
TILE_COUNT("a vector in parts") {
  auto out = tile::array<float4>("out", 32);
  in_parts<<<1, 32>>>(out.device());
}
__global__ void of_bytes(unsigned char* out) {
  for (int i = 0; i < 16; ++i) out[threadIdx.x * 16 + i] = 1;
}
TILE_COUNT("bytes in a row") {
  auto out = tile::array<unsigned char>("out", 512);
  of_bytes<<<1, 32>>>(out.device());
}
__global__ void two_rows_of_32(float* out) {
  __shared__ float s[16][18];
  const int t = threadIdx.x;
  s[t / 16][t % 16] = 1;
  __syncwarp();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += s[t / 16][t % 16];
  out[t] = sum;
}
TILE_COUNT("two rows of 32 threads") {
  auto out = tile::array<float>("out", 32);
  two_rows_of_32<<<1, 32>>>(out.device());
}
struct Particle { float x, y, z, vx, vy, vz; };
__global__ void one_member(float* out, const Particle* in) { out[threadIdx.x] = in[threadIdx.x].x; }
TILE_COUNT("one member") {
  auto out = tile::array<float>("out", 32);
  auto in = tile::array<Particle>("in", 32);
  one_member<<<1, 32>>>(out.device(), in.device());
}
__global__ void one_lane(float* out) {
  if (threadIdx.x == 0)
    for (int i = 0; i < 64; ++i) out[i] = 1;
}
TILE_COUNT("one lane") {
  auto out = tile::array<float>("out", 64);
  one_lane<<<1, 32>>>(out.device());
}
