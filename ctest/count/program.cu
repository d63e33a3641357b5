#include <cstdio>
// A program as nvcc takes it. ctest/count.sh compares what is told of it.
__global__ void k(float* p) { p[threadIdx.x] = 1; }  //! program.cu:3: __global__ and <<<>>> are unknown here: write #include "common/count/count.hpp"
int main() {  //! program.cu: and [0-9]* more errors* of the compiler
  float* p;
  cudaMalloc(&p, 128);  //! @: cudaMalloc is not part of the model
  k<<<1, 32>>>(p);  //! .*program.cu: the file describes no run
}
