// Words of CUDA that the model does not have. ctest/count.sh compares what is told.
#include <cooperative_groups.h>

#include "common/count/count.hpp"
__global__ void old(int* p) {
  p[0] = __shfl_down(p[0], 1);        //! @: __shfl_down is not part of the model: write the form with a mask
  p[1] = __any(p[1]);                 //! @: __any is not part of the model: write the form with a mask
  p[3] = __vadd4(p[0], p[1]);         //! @: __vadd4 is not part of the model: write it in C++
  cooperative_groups::coalesced_threads();      //! @: coalesced_threads is not part of the model: write it with tiles
  cooperative_groups::labeled_partition(p, 1);  //! @: labeled_partition is not part of the model: write it with tiles
  cooperative_groups::thread_group group = cooperative_groups::this_thread_block();  //! @: thread_group is not part of the model: pass
  nvcuda::wmma::fragment<int> f;      //! @: nvcuda is not part of the model: the model has no tensor cores yet
  cudaTextureObject_t texture = {};   //! @: cudaTextureObject_t is not part of the model: the model has no textures
  p[2] = texture + 1;
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;  //! @: cuda is not part of the model: the model has no libcu++
  barrier.arrive_and_wait();
}
TILE_COUNT("host") {
  float* p;
  cudaMalloc(&p, 128);                //! @: cudaMalloc is not part of the model: write auto a = tile::array<float>("a", n)
  cudaMemcpyAsync(p, p, 4);           //! @: cudaMemcpyAsync is not part of the model: fill an array
  cudaEvent_t start;                  //! @: cudaEvent_t is not part of the model: leave it out
  cublasSgemm(start);                 //! @: cublasSgemm is not part of the model: leave it out
  thrust::fill(p, p + 1, 0);          //! @: thrust is not part of the model: leave it out
}  //! refused.cu: and [0-9]* more errors\{0,1\} of the compiler, which may be consequences; --verbose shows all$
