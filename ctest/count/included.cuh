// Included by words.cu: what is rewritten there is rewritten here.
#pragma once
#include <cuda_runtime.h>

__constant__ const float weights[4] = {1, 2, 3, 4};
__constant__ float offset;
__device__ unsigned first_counter, second_counter;

__global__ void in_an_included_file(float* out, const float* in) {
  extern __shared__ float words[];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x] * weights[threadIdx.x % 4] + offset;
  atomicAdd(&first_counter, 1);
  atomicInc(&second_counter, 100);
}

inline void launch_by_angles(int threads, float* out, const float* in) {
  dim3 gridDim(1), blockDim(threads);
  in_an_included_file<<<gridDim, blockDim, threads * sizeof(float), nullptr>>>(out, in);
}
