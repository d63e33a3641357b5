// Mistakes. ctest/count.sh compares what is told of each with the comment behind it.
#include "run.cuh"

__device__ float table[4][8];
__constant__ float weights[8];

// Out of bounds: which element it would have been.
RUN(past, float, 32, 32, 0) {
  // Kernel, place, block, thread, address, element.
  out[threadIdx.x + 1] = 1;  //! out of bounds: past, @, block (0,0,0), thread (31,0,0) writes .* 0x[0-9a-f]*, .* out\[32\], and it has 32
}
RUN(wrapped, float, 32, 32, 0) {
  out[threadIdx.x - 1] = 1;  //! out of bounds: wrapped, @, .* an unsigned index went below 0: this is out\[4294967295\]
}
RUN(past_tables, float, 32, 32, 0) {
  if (threadIdx.x == 0) (&table[0][0])[33] = 1;  //! out of bounds: past_tables, @, .* this is table\[4\]\[1\]
}
RUN(past_tile, float, 32, 32, 0) {
  __shared__ float tile[4][8];
  float* const first = &tile[0][0];
  first[int(threadIdx.x) - 1] = 1;  //! out of bounds: past_tile, @, .* before the start of tile: this is tile\[-1\]\[7\]
}
RUN(past_extent, float, 32, 32, 0) {
  __shared__ float tile[4][8];
  tile[0][threadIdx.x] = 1;  //! out of bounds: past_extent, @, .* uses index 8 of an array of type 'float \[8\]'
}
RUN(past_dynamic, float, 32, 32, 64) {
  extern __shared__ float words[];
  words[threadIdx.x] = 1;  //! out of bounds: past_dynamic, @, .* this is words\[16\], .* to which the launch gives 64 bytes
}
RUN(no_dynamic, float, 32, 32, 0) {
  extern __shared__ float words[];
  words[threadIdx.x] = 1;  //! out of bounds: no_dynamic, @, .* but the launch gives words no bytes: the size of extern __shared__
}
RUN(past_constant, float, 32, 32, 0) {
  const float* const first = weights;
  out[threadIdx.x] = first[threadIdx.x];  //! out of bounds: past_constant, @, .* past the end of weights: this is weights\[8\]
}
RUN(misaligned, float, 32, 1, 0) {
  *reinterpret_cast<float4*>(out + 1) = make_float4(0.f, 0.f, 0.f, 0.f);  //! misaligned: misaligned, @, .* writes 16 bytes
}
__global__ void ones(float* out) {
  out[threadIdx.x] = 1;  //! out of bounds: ones, @, .* in no allocation: is it a host pointer
}
TILE_COUNT("a pointer of the host") {
  std::vector<float> host(32);
  ones<<<1, 32>>>(host.data());
}

// Races and barriers: between whom, and what would order them.
__device__ float word_of(const float* words, int i) {
  return words[i];  //! uninitialised: inlined, @, .* reads tile\[32\] .* which no thread of the block has written
}
RUN(inlined, float, 64, 64, 0) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;  //! race: inlined, @, .* writes tile\[32\] .*, which thread (0,0,0) read at mistakes.cu:[0-9]* with no barrier
  out[threadIdx.x] = word_of(tile, threadIdx.x ^ 32) + word_of(tile, threadIdx.x ^ 33);  //! race: inlined, .* reads
}
RUN(of_vectors, float4, 4, 64, 0) {
  if (threadIdx.x % 32 == 0) out[3].z = threadIdx.x;  //! race: of_vectors, @, .* out\[3\] from its byte 8 on (address
}
RUN(two_warps, float, 64, 64, 0) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;  //! race: two_warps, @, .*: __syncwarp() would order these two, __syncthreads() all threads of the block)$
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  //! race: two_warps, @
}  //! uninitialised: two_warps
RUN(shuffled, float, 32, 32, 0) {
  __shared__ float tile[32];
  const float one = __shfl_xor_sync(~0u, 1.0f, 1);
  tile[threadIdx.x] = one;  //! race: shuffled, @, .* (both are lanes of one warp: __syncwarp() would order these two, 
  out[threadIdx.x] = tile[threadIdx.x ^ 1];  //! race: shuffled, @
}  //! uninitialised: shuffled
RUN(some_return, float, 32, 64, 0) {
  if (threadIdx.x >= 32) return;
  __syncthreads();  //! barrier: some_return, @, .* waits at __syncthreads, but 32 .* returned .*, thread (32,0,0) among them$
}
RUN(half_warp, float, 32, 32, 0) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(~0u, 1.0f, 1);  //! warp operation: half_warp, @, .* takes a value from lane 16, which has returned: the mask
}
RUN(lacks_lanes, int, 48, 48, 0) {
  out[threadIdx.x] = __shfl_down_sync(~0u, 1, 16);  //! warp operation: lacks_lanes, @, .* from lane 16, which the block does not have
}
__device__ double add(double* sum, double value) {  // atomicAdd as the CUDA C++ Programming Guide makes it of atomicCAS
  auto* const bits = reinterpret_cast<unsigned long long*>(sum);
  unsigned long long old = *bits, seen;  //! race: of_doubles, @, .* reads out\[0\] .* (a read that may come between atomic updates
  do {
    seen = old;
    old = atomicCAS(bits, seen, std::bit_cast<unsigned long long>(value + std::bit_cast<double>(seen)));  //! race: of_doubles
  } while (old != seen);
  return value;
}
RUN(of_doubles, double, 1, 32, 0) {
  add(out, 1.0);
}
RUN(traps, float, 32, 32, 0) {
  if (threadIdx.x == 5) __trap();  //! trap: traps, @, block (0,0,0), thread (5,0,0)[^ ]* executes __trap()
}
RUN(divides, int, 32, 32, 0) {
  out[threadIdx.x] = 5 / (int(threadIdx.x) - 3);  //! undefined: divides, @, .* thread (3,0,0) divides an integer by 0
}
RUN(asserts, int, 32, 32, 0) {
  assert(threadIdx.x != 7);  //! assert: asserts, @, .* thread (7,0,0) fails assert(threadIdx.x != 7)$
}
RUN(large, int, 32, 32, 0) {
  int own[100000];  // of a GPU's thread no more than 512 KB
  for (int i = 0; i < 100000; i += 1000) own[i] = i;
  out[threadIdx.x] = own[1000 * threadIdx.x];  //! unsupported: large, mistakes.cu:[0-9]*, .* of more than 260 KB
}
RUN(raced_bytes, int, 32, 64, 0) {
  reinterpret_cast<unsigned char*>(out)[threadIdx.x % 33] = threadIdx.x;  //! race: raced_bytes, @, .* writes out\[0\] (
}
// What kernels have no memory for.
RUN(allocates, int, 32, 1, 0) {
  int* const own = new int[4];
  own[out[0]] = 1;  //! out of bounds: allocates, @, .* or from malloc() or new?
  out[0] = own[0];
}
struct Shape { __device__ virtual int sides() const { return 0; } };
struct Square : Shape { __device__ int sides() const override { return 4; } };
RUN(calls_virtual, int, 32, 1, 0) {
  const Shape shape;
  const Square square;
  const Shape* const either = out[0] > 0 ? &shape : &square;
  out[0] = either->sides();  //! unsupported: calls_virtual, @, .* reads Square, .* the model has no virtual functions
}
struct Six { float a, b, c, d, e, f; };
RUN(to_shared, Six, 32, 32, 0) {
  __shared__ Six tile[32];
  tile[threadIdx.x] = out[threadIdx.x];  //! unsupported: to_shared, @, .* moves 24 bytes at once in shared memory
}

// What ends a run without a kernel's line. Launches before it are counted, and so are the runs behind it.
TILE_COUNT("throws") { throw 3; }  //! mistakes.cu, "throws": it throws something that is not a std::exception$
TILE_COUNT("idle") {}              //! mistakes.cu, "idle": it launches nothing: call tile::launch in its TILE_COUNT$
TILE_COUNT("expects") {            //! mistakes.cu, "expects": expectation not met: nothing is one$
  auto out = tile::array<float>("out", 32);
  ones<<<1, 32>>>(out.device());   //= == expects ones<<<(1,1,1), (32,1,1)>>>
  tile::expect(false, "nothing is one");  //= failed: expectation not met; stderr has the findings
}
TILE_COUNT("after all") {
  auto out = tile::array<float>("out", 32);
  ones<<<1, 32>>>(out.device());  //= == after all ones<<<(1,1,1), (32,1,1)>>>
}  //= expects (failed) (30) mistakes.cu: after all; what binds: L1 and banks, a tie
