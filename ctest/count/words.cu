// Words that readers bring from CUDA, as `./tile count` takes them. Each run says itself whether its results are right.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cublas_v2.h>
#include <cuda_pipeline.h>
#include <math_constants.h>

#include "common/count/count.hpp"

namespace cg = cooperative_groups;

template <class T> void must_be(const tile::DeviceArray<T>& array, const std::vector<T>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    tile::expect(array.host()[i] == expected[i], "element " + std::to_string(i));
}

__global__ void arithmetic(float* f, int* n, double* d) {
  const float x = 0.25f;
  f[0] = rsqrtf(x), f[1] = __expf(0), f[2] = __logf(1) + __sinf(0), f[3] = __powf(2, 3);
  f[4] = max(1.0, 2.5f), f[5] = min(3u, 2), f[6] = isnan(CUDART_NAN_F) && !isnan(x);
  f[7] = __int_as_float(__float_as_int(1.5f)), f[8] = fmaxf(1, 2) + fabsf(-1), f[9] = __ldcs(f + 4),
  f[10] = rsqrt(4.0);
  __stcs(f + 11, 8.0f);
  n[0] = __popc(0xff), n[1] = __ffs(8), n[2] = __clz(1), n[3] = __float2int_rn(2.5f), n[4] = int(__brev(1));
  n[5] = int(__byte_perm(0x03020100, 0x07060504, 0x7410));
  n[6] = int(__umulhi(1u << 31, 4));
  d[0] = fma(2.0, 3.0, 4.0);
}
TILE_COUNT("arithmetic") {
  auto f = tile::array<float>("f", 12);
  auto n = tile::array<int>("n", 7);
  auto d = tile::array<double>("d", 1);
  arithmetic<<<1, 1>>>(f.device(), n.device(), d.device());
  must_be(f, {2, 1, 0, 8, 2.5f, 2, 1, 1.5f, 3, 2.5f, 0.5f, 8});
  must_be(n, {8, 4, 31, 2, int(0x80000000), 0x07040100, 2});
  must_be(d, {10});
}

__global__ void atomics(unsigned* u, float* f, double* d, unsigned long long* l) {
  atomicAdd(u, 1), atomicDec(u + 1, 5), atomicMax(u + 2, threadIdx.x), atomicCAS(u + 3, 0, 9);
  atomicAdd(f, 1), atomicAdd(d, 0.5), atomicAdd(l, 2ull);
  if (threadIdx.x == 0) atomicExch(f + 1, 3);
  __threadfence();
}
TILE_COUNT("atomic functions") {
  auto u = tile::array<unsigned>("u", 4);
  auto f = tile::array<float>("f", 2);
  auto d = tile::array<double>("d", 1);
  auto l = tile::array<unsigned long long>("l", 1);
  u.set({0, 0, 0, 0});
  atomics<<<1, 32>>>(u.device(), f.device(), d.device(), l.device());
  must_be(u, {32, 4, 31, 9});
  must_be(f, {32, 3}), must_be(d, {16}), must_be(l, {64});
}

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const int odd = lane % 2;
  unsigned active = 0;
  if (odd) active = __activemask();
  const unsigned sum = __reduce_add_sync(0xffffffff, lane), most = __reduce_max_sync(0xffffffff, lane);
  const int least = __reduce_min_sync(0xffffffff, -int(lane));
  const unsigned same = __match_any_sync(0xffffffff, lane / 8);
  const int count = __syncthreads_count(odd), any = __syncthreads_or(lane == 70), all = __syncthreads_and(lane < 64);
  const unsigned below = __shfl_up_sync(0xffffffff, lane, 1), above = __shfl_down_sync(0xffffffff, lane, 1, 8);
  const unsigned ballot = __ballot_sync(0xffffffff, lane % 2);
  const int some = __any_sync(0xffffffff, lane == 63), every = __all_sync(0xffffffff, lane != 40);
  if (lane == 32) out[8] = below, out[9] = above, out[10] = ballot, out[11] = unsigned(10 * some + every);
  if (lane == 39) out[12] = above;  // the last of eight
  if (lane == 33) {
    out[0] = active, out[1] = sum, out[2] = most, out[3] = unsigned(least), out[4] = same;
    out[5] = unsigned(count), out[6] = unsigned(any), out[7] = unsigned(all);
  }
}
// Of values smaller than an int CUDA makes one.
__global__ void small_shuffles(int* out) {
  const auto next = __shfl_down_sync(~0u, char(-int(threadIdx.x)), 1);
  const auto last = __shfl_sync(~0u, (unsigned short)(65504 + threadIdx.x), 31);
  static_assert(sizeof(next) == 4 && sizeof(last) == 4);
  const bool odd = __shfl_xor_sync(~0u, threadIdx.x % 2 == 1, 1);
  if (threadIdx.x == 4) out[0] = next, out[1] = last, out[2] = odd;
}
TILE_COUNT("shuffles of small types") {
  auto out = tile::array<int>("out", 3);
  small_shuffles<<<1, 32>>>(out.device());
  must_be(out, {-5, 65535, 1});
}
TILE_COUNT("what lanes and threads find out together") {
  auto out = tile::array<unsigned>("out", 13);
  votes<<<1, 64>>>(out.device());
  must_be(out, {0xaaaaaaaa, 1520, 63, unsigned(-63), 0xff, 32, 0, 1, 32, 33, 0xaaaaaaaa, 10, 39});
}

__global__ void groups(unsigned* out, const unsigned* in) {
  __shared__ unsigned copied[64];
  const auto grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto sixteen = cg::tiled_partition<16>(block);
  __pipeline_memcpy_async(&copied[block.thread_rank()], in + grid.thread_rank(), 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  block.sync();
  const unsigned rank = warp.thread_rank(), value = copied[threadIdx.x];
  const unsigned bits = cg::reduce(warp, 1u << rank, cg::plus<unsigned>());
  const unsigned most = cg::reduce(sixteen, rank, cg::greater<unsigned>()), next = sixteen.shfl_down(rank, 1);
  const unsigned same = sixteen.match_any(rank / 4), before = sixteen.shfl_up(value + rank, 2);
  if (grid.thread_rank() == 70) {
    out[0] = before, out[1] = bits, out[2] = same, out[3] = most, out[4] = next, out[5] = warp.meta_group_rank();
    out[6] = unsigned(grid.num_blocks() * 1000 + grid.block_rank() * 100 + grid.size() / 2);
  }
}
TILE_COUNT("cooperative groups and pipeline primitives") {
  auto in = tile::array<unsigned>("in", 128), out = tile::array<unsigned>("out", 7);
  in.set(std::vector<unsigned>(128, 2));
  groups<<<2, 64>>>(out.device(), in.device());
  must_be(out, {6, 0xffffffff, 0xf0, 15, 7, 0, 2164});
}

__global__ void narrow(__half* out, nv_bfloat16* sums, const __half2* in, const __nv_bfloat162* pairs) {
  const __half2 pair = in[threadIdx.x], both = __hfma2(pair, __float2half2_rn(2), __floats2half2_rn(1, 0));
  out[threadIdx.x] = __hadd(pair.x, pair.y) + __hmax(pair.x * pair.y, __low2half(both)) - __float2half(0.5f);
  const __nv_bfloat162 two = __hadd2(pairs[threadIdx.x], __float2bfloat162_rn(2));
  const nv_bfloat16 next = __shfl_down_sync(~0u, __float2bfloat16(float(threadIdx.x)), 1);
  if (threadIdx.x == 3) sums[1] = next, sums[2] = __hfma(two.x, two.y, __float2bfloat16(0.5f));
  atomicAdd(out + 32, __shfl_xor_sync(~0u, __half(int(threadIdx.x)), 16));
  atomicAdd(sums, __nv_bfloat16(1)), atomicAdd(reinterpret_cast<__half2*>(out + 34), __halves2half2(1, 2));
}
TILE_COUNT("halves and bfloat16") {
  auto in = tile::array<__half2>("in", 32);
  auto out = tile::array<__half>("out", 36);
  auto sums = tile::array<nv_bfloat16>("sums", 3);
  auto pairs = tile::array<__nv_bfloat162>("pairs", 32);
  in.set(std::vector<__half2>(32, {2.0f, 3.0f})), out.set(std::vector<__half>(36, 0));
  sums.set({0, 0, 0}), pairs.set(std::vector<__nv_bfloat162>(32, {2.0f, 3.0f}));
  narrow<<<1, 32>>>(out.device(), sums.device(), in.device(), pairs.device());
  tile::expect(float(out.host()[7]) == 5 + 6 - 0.5f && float(out.host()[32]) == 496, "halves");
  tile::expect(float(out.host()[34]) == 32 && float(out.host()[35]) == 64, "pairs of halves");
  tile::expect(float(sums.host()[0]) == 32 && float(sums.host()[1]) == 4 && float(sums.host()[2]) == 20.5f, "bfloat16");
}
