// Included by forms.cu: what is rewritten there is rewritten here. With helpers as public projects have them.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                                                              \
  do {                                                                                                           \
    const cudaError_t status = (call);                                                                           \
    if (status != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(status)); exit(1); }                 \
  } while (0)

__constant__ const float weights[4] = {1, 2, 3, 4};
__constant__ float offset;
__device__ unsigned first, second;
inline __device__ float* keep(float value) {
  __shared__ float line[64];
  const auto store = [=](int i) { line[i] = value; };  //= @ store line (shared) 4 2
  store(threadIdx.x);
  return line;
}
