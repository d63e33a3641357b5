// What follows from counts. ctest/count.sh compares what is printed with the comments.
#include <cuda_fp16.h>

#include "run.cuh"

// Ties are called so, of resources and of lines.
RUN(scatter, float, 1024, 32, 0) { out[threadIdx.x * 32] = 1; }  //= hottest L1: @, store of out, 100%: 32 sectors,
//= 32 sectors, where 4 would do: neighbouring lanes are 128 bytes apart; let neighbouring threads
//= L1 32 and banks 32 (a tie),
//= (1) advice.cu: scatter; what binds: L1 and banks, a tie (2) 
RUN(copy, float, 64, 32, 0) { out[threadIdx.x] = out[threadIdx.x + 32]; }
//= load of out, 50%, a tie with 1 more:
//= its sectors are fully used; only fewer accesses would cost less
//= registers are not known: --registers N; 131 of 132 SMs have no block
RUN(conflict, float, 1024, 32, 0) {
  __shared__ float tile[1024];
  tile[threadIdx.x * 32] = 1;
  out[threadIdx.x * 32] = 1;
}
//= banks 64 (binds), L1 32
//= hottest banks: advice.cu:

// Global memory.
RUN(shifted, float, 64, 32, 0) { out[threadIdx.x + 3] = 1; }
//= store of out, 100%: its sectors are fully used
__global__ void moved(float* out, int by) { out[blockIdx.x * by + threadIdx.x + 3] = 1; }
TILE_COUNT("moved") { moved<<<264, 32>>>(tile::array<float>("out", 265 * 32).device(), 32); }
//= (binds), 
//= registers are not known: --registers N; 264 blocks of the 4224 of one wave
//= hottest DRAM bytes: advice.cu:
//= 5 sectors, where 4 would do: the first byte is 12 bytes after the start of a sector
__global__ void same(float* out) {
  const float value = out[threadIdx.x];
  if (value > -1e30f && threadIdx.x == 0) out[32 + blockIdx.x] = value;
}
TILE_COUNT("same") { same<<<2640, 32>>>(tile::array<float>("out", 2672).device()); }
//= hottest L2 bytes: advice.cu:
//= fully used; with larger tiles, fewer blocks would move the same ones (chapters 03 to 05)
RUN(apart, float, 16384, 32, 0) { out[threadIdx.x * threadIdx.x * 16] = 1; }
//= the lanes' elements are scattered; let neighbouring threads
RUN(pairs, float, 96, 32, 0) { out[threadIdx.x + 64] = out[2 * threadIdx.x] + out[2 * threadIdx.x + 1]; }
//= 8 sectors, where 4 would do: neighbouring lanes are 8 bytes apart; let neighbouring threads (threadIdx.x) load
RUN(in_parts, float4, 32, 32, 0) {
  const float x = threadIdx.x;
  out[threadIdx.x] = float4{x, x, x, x};
}
//= of neighbouring structs of 16 bytes; with an array for each member
RUN(eight, float, 256, 32, 0) {
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = 1;
}
//= neighbouring lanes are 32 bytes apart; let neighbouring threads
struct Particle { float x, y, z, vx, vy, vz; };
RUN(one_member, Particle, 32, 32, 0) { out[threadIdx.x].x = 1; }
//= neighbouring lanes store 4 bytes each of neighbouring structs of 24 bytes; with an array for each member
RUN(one_lane, float, 64, 32, 0) {
  if (threadIdx.x == 0) out[0] = 1;
}
//= (in the sampled warp, 1 lane took part)
RUN(again, float, 64, 32, 0) {
  for (int i = 0; i < 8; ++i) out[threadIdx.x + 32] = out[threadIdx.x];
}
//= a block loads each of its sectors 8 times; keep in a register
RUN(one_counter, int, 1, 32, 0) { atomicAdd(out, 1); }  //= hottest atomics: @, atomic of out, 100%: 32 lanes update 1
//= atomics 1.45 (binds), L1 1
//= 32 lanes update 1 element, and those of one element wait for each other; reduce in the warp (__shfl_down_sync, __reduce_add_sync) and let one lane update
__global__ void count_on(int* out, int lanes) { if (int(threadIdx.x) % lanes == 0) atomicAdd(out, 1); }
static void count_on_from(int lanes) { count_on<<<64, 256>>>(tile::array<int>("out", 1).device(), lanes); }
TILE_COUNT("all lanes") { count_on_from(1); }
//= one lane update, reduce in the block (shared memory) and let one thread update, spread the updates over several sectors
TILE_COUNT("a lane of each warp") { count_on_from(32); }
//= 512 updates of one sector (32 bytes) wait for each other; reduce in the block (shared memory) and let one thread update, spread
TILE_COUNT("a thread of each block") { count_on_from(256); }
//= 64 updates of one sector (32 bytes) wait for each other; spread the updates over several sectors (in

// Shared memory.
RUN(halves, __half, 1024, 32, 0) {
  __shared__ __half tile[32][32];
  for (int i = 0; i < 32; ++i) tile[i][threadIdx.x] = __float2half(1);
  __syncwarp();
  for (int i = 0; i < 32; ++i) out[32 * i + threadIdx.x] = tile[threadIdx.x][i];
}
//= pad each row of 16 words by one word (2 elements)
RUN(bins, int, 1, 32, 0) {
  __shared__ int bins[64];
  bins[threadIdx.x * 2] = 0;
  __syncwarp();
  atomicAdd(&bins[0], 1);  //= atomic bins (shared) 4 1 - - - >=1 - 33%
}
//= 2 wavefronts, where 1 would do: 2 different words lie in one bank; neighbouring lanes are 2 words apart
RUN(columns, int, 32, 32, 0) {
  __shared__ int bins[32][32];
  for (int i = 0; i < 32; ++i) bins[i][threadIdx.x] = 0;
  __syncwarp();
  for (int i = 0; i < 8; ++i) atomicAdd(&bins[threadIdx.x][i], 1);
}
//= atomic of bins, 89%: 32 wavefronts, where 1 would do: 32 different words lie in one bank; pad each row of 32 words by one word
RUN(second_time, float, 32, 32, 0) {
  __shared__ float tile[64];
  tile[threadIdx.x] = tile[threadIdx.x + 32] = 1;
  __syncwarp();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += tile[threadIdx.x * (1 + i % 2)];
  out[threadIdx.x] = sum;
}
//= no bank conflict the first time, but 1.50 wavefronts on average, where 1 would do
RUN(ragged, float, 160, 32, 0) {
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    if ((int(threadIdx.x) + i) % 3 == 0) sum += out[32 + i * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}
//= ~ lanes of a warp came here after different numbers of loop iterations

// Arithmetic.
static void copy_with(int ffma) {
  tile::flops(2 * 32 * ffma);
  copy<<<1, 32>>>(tile::array<float>("out", 64).device());
}
TILE_COUNT("some arithmetic") { copy_with(16); }
//= sums 2 8 2 2 2 11% at least
//= hottest issue slots: advice.cu:11, load of out, 6%, a tie with 1 more: accesses of 16 bytes (float4) would take 1/4 of
TILE_COUNT("much arithmetic") {
  tile::flops(2 * 32 * 2000);
  again<<<1, 32>>>(tile::array<float>("out", 64).device());
}
//= hottest none: issue slots binds, and no access to memory has 1% of it
TILE_COUNT("arithmetic") { copy_with(1024); }
//= hottest none: FFMA issue binds, and no access to memory has 1% of it
