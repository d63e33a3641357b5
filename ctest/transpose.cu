// A worked example for `./tile count`: the transpose of a 32 x 32 tile, naive, through shared memory, and padded.
//
// Copy this file, replace the kernels, run ./tile count on it. Lines cost what the table says.
#include "common/count/count.hpp"

constexpr int N = 32;  // one tile, one warp a row

// Reads rows, writes columns: each store touches 32 sectors.
__global__ void transpose_naive(float* out, const float* in) {
  const int x = threadIdx.x, y = threadIdx.y;
  const float value = in[y * N + x];
  out[x * N + y] = value;
}

// Reads rows and writes rows of global memory; the columns are read from shared memory instead. A row of the tile is
// `width` words long: with 32, all of a column lies in one bank; with 33, in 32 different ones.
template <int width>
__global__ void transpose_shared(float* out, const float* in) {
  __shared__ float tile[N * width];
  const int x = threadIdx.x, y = threadIdx.y;
  const float value = in[y * N + x];
  tile[y * width + x] = value;
  __syncthreads();  // threads read what others wrote
  const float turned = tile[x * width + y];
  out[y * N + x] = turned;
}

static void run(void (*kernel)(float*, const float*)) {
  auto in = tile::array<float>("in", N * N), out = tile::array<float>("out", N * N);
  tile::launch(kernel, dim3(1), dim3(N, N), 0, out.device(), in.device());
  for (int y = 0; y < N; ++y)
    for (int x = 0; x < N; ++x) tile::expect(out.host()[y * N + x] == in.host()[x * N + y], "out is in transposed");
}

TILE_COUNT("naive") { run(transpose_naive); }
TILE_COUNT("through shared memory") { run(transpose_shared<N>); }
TILE_COUNT("through shared memory, rows padded by one word") { run(transpose_shared<N + 1>); }
