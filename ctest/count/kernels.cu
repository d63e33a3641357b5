// Parts of kernels as people write them. ctest/count-told.sh looks at what is printed.
#include <cuda_fp16.h>

#include "common/count/count.hpp"

__global__ void histogram(const unsigned char* data, int n) {
  __shared__ int bins[200];
  for (int i = threadIdx.x; i < 200; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&bins[data[i]], 1);
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[i % 2], 1);
}
TILE_COUNT("a histogram") {
  auto data = tile::array<unsigned char>("data", 32);
  histogram<<<1, 32>>>(data.device(), 32);
}

__device__ int head;
__global__ void queue(float* out, const int* order) {
  __shared__ float tasks[32];
  tasks[threadIdx.x] = 1;
  __syncwarp();
  const int* const mine = order + threadIdx.x;
  out[threadIdx.x] = tasks[head];
  out[threadIdx.x + 32] = tasks[*mine];
}
TILE_COUNT("a queue") {
  auto out = tile::array<float>("out", 64);
  auto order = tile::array<int>("order", 32);
  queue<<<1, 32>>>(out.device(), order.device());
}

__global__ void two_rows(float* out) {
  __shared__ float tile[16][18];
  tile[threadIdx.y][threadIdx.x + 1] = 1;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += tile[threadIdx.y][threadIdx.x + 1];
  out[threadIdx.y * 16 + threadIdx.x] = sum;
}
TILE_COUNT("two rows a warp") {
  auto out = tile::array<float>("out", 256);
  two_rows<<<1, dim3(16, 16)>>>(out.device());
}

__global__ void halves(__half* out) {
  __shared__ __half tile[32][32];
  for (int i = 0; i < 32; ++i) tile[i][threadIdx.x] = __float2half(1);
  __syncwarp();
  for (int i = 0; i < 32; ++i) out[32 * i + threadIdx.x] = tile[threadIdx.x][i];
}
TILE_COUNT("halves") {
  auto out = tile::array<__half>("out", 1024);
  halves<<<1, 32>>>(out.device());
}

__global__ void second_time(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = tile[threadIdx.x + 32] = 1;
  __syncwarp();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += tile[threadIdx.x * (1 + i % 2)];
  out[threadIdx.x] = sum;
}
TILE_COUNT("a conflict the second time") {
  auto out = tile::array<float>("out", 32);
  second_time<<<1, 32>>>(out.device());
}
