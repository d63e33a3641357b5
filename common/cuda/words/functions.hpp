// CUDA's built-in variables and functions, for device code and of the runtime. Where a GPU approximates (__expf and the
// like), the model computes as accurately as the host: results differ in their last digits, counts do not.
#pragma once

#include <math.h>  // before the macros below, because it declares their names
#include <stdlib.h>

// --- Threads, warps and blocks ---------------------------------------------------------------------------------------
#define threadIdx (::simt::device::thread_index())
#define blockIdx (::simt::device::block_index())
#define blockDim (::simt::device::block_extent())
#define gridDim (::simt::device::grid_extent())
constexpr int warpSize = 32;

SIMT_INLINE void __syncthreads() { simt::device::block_barrier(); }
SIMT_INLINE void __threadfence() { simt::device::fence(false); }
SIMT_INLINE void __threadfence_block() { simt::device::fence(true); }
SIMT_INLINE void __nanosleep(unsigned) { simt::device::pause(); }
SIMT_INLINE void __trap() { simt::device::trap(); }
SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { simt::device::together(mask, simt::device::sync, 0); }
#define SIMT_SHUFFLE(name, Operand, function)                                                \
  template <class T>                                                                         \
  SIMT_INLINE auto name(unsigned mask, T value, Operand operand, int width = 32) {           \
    return simt::device::exchange(simt::device::function, mask, value, int(operand), width); \
  }
SIMT_SHUFFLE(__shfl_sync, int, shuffle)
SIMT_SHUFFLE(__shfl_up_sync, unsigned, shuffle_up)
SIMT_SHUFFLE(__shfl_down_sync, unsigned, shuffle_down)
SIMT_SHUFFLE(__shfl_xor_sync, int, shuffle_xor)
#undef SIMT_SHUFFLE
SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return unsigned(simt::device::together(mask, simt::device::ballot, predicate != 0));
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
SIMT_INLINE int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
#define SIMT_REDUCE(name, expression)                                                            \
  template <class T>                                                                             \
  requires(std::is_integral_v<T> && sizeof(T) == 4) SIMT_INLINE T name(unsigned mask, T value) { \
    unsigned rest = __ballot_sync(mask, 1); /* not the lanes that have returned */               \
    T a = __shfl_sync(mask, value, std::countr_zero(rest));                                      \
    while ((rest &= rest - 1) != 0) {                                                            \
      const T b = __shfl_sync(mask, value, std::countr_zero(rest));                              \
      a = expression;                                                                            \
    }                                                                                            \
    return a;                                                                                    \
  }
SIMT_REDUCE(__reduce_add_sync, a + b)
SIMT_REDUCE(__reduce_min_sync, b < a ? b : a)
SIMT_REDUCE(__reduce_max_sync, a < b ? b : a)
SIMT_REDUCE(__reduce_and_sync, a& b)
SIMT_REDUCE(__reduce_or_sync, a | b)
SIMT_REDUCE(__reduce_xor_sync, a ^ b)
#undef SIMT_REDUCE
template <class T>
SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes compare values of 4 or 8 bytes");
  return unsigned(simt::device::together(mask, simt::device::match_any, std::bit_cast<simt::device::WordOf<T>>(value)));
}
SIMT_INLINE unsigned __activemask() { return simt::device::active_lanes(); }
SIMT_INLINE int __syncthreads_count(int predicate) { return simt::device::block_vote(predicate != 0); }
SIMT_INLINE int __syncthreads_or(int predicate) { return simt::device::block_vote(predicate != 0) != 0; }
SIMT_INLINE int __syncthreads_and(int predicate) { return simt::device::block_vote(predicate == 0) == 0; }

// --- Minimum and maximum ---------------------------------------------------------------------------------------------
// For arguments of two types, both integral or both not, in the common type, as CUDA's overloads do.
template <class T, class U>
requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U>&& std::is_integral_v<T> ==
         std::is_integral_v<U>) constexpr std::common_type_t<T, U> min(T a, U b) {
  using Both = std::common_type_t<T, U>;
  return Both(b) < Both(a) ? Both(b) : Both(a);
}
template <class T, class U>
requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U>&& std::is_integral_v<T> ==
         std::is_integral_v<U>) constexpr std::common_type_t<T, U> max(T a, U b) {
  using Both = std::common_type_t<T, U>;
  return Both(a) < Both(b) ? Both(b) : Both(a);
}

// --- Functions -------------------------------------------------------------------------------------------------------
SIMT_INLINE float rsqrtf(float x) { return 1 / sqrtf(x); }
SIMT_INLINE double rsqrt(double x) { return 1 / sqrt(x); }
SIMT_INLINE float __fdividef(float x, float y) { return x / y; }

// Macros, because the C library declares internal functions with these names, which it does not define.
#define __expf(x) expf(x)
#define __exp10f(x) powf(10, x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, sine, cosine) ((void)(*(sine) = sinf(x), *(cosine) = cosf(x)))
#define sincosf(x, sine, cosine) __sincosf(x, sine, cosine)

#define CUDART_INF_F HUGE_VALF
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.14159265f

// --- Conversions -----------------------------------------------------------------------------------------------------
SIMT_INLINE int __float_as_int(float x) { return std::bit_cast<int>(x); }
SIMT_INLINE unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
SIMT_INLINE float __int_as_float(int x) { return std::bit_cast<float>(x); }
SIMT_INLINE float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
SIMT_INLINE int __float2int_rn(float x) { return int(rintf(x)); }
SIMT_INLINE int __float2int_rz(float x) { return int(x); }
SIMT_INLINE float __int2float_rn(int x) { return float(x); }

// --- Integers and their bits -----------------------------------------------------------------------------------------
SIMT_INLINE int __popc(unsigned x) { return std::popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return std::popcount(x); }
SIMT_INLINE int __clz(int x) { return std::countl_zero(unsigned(x)); }
SIMT_INLINE int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(unsigned(x)) + 1; }
SIMT_INLINE unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}
/// Four of the eight bytes of x and y, selected by the hexadecimal digits of `select`.
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned select) {
  const std::uint64_t both = std::uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(both >> (select >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
  return result;
}
SIMT_INLINE int __mulhi(int x, int y) { return int((long long)(x)*y >> 32); }
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)(x)*y >> 32); }

// --- Atomic functions ------------------------------------------------------------------------------------------------
// Each announces its access and then performs it. The value is converted to the type of the updated element, as CUDA's
// overloads do: atomicAdd(&counter, 1) takes an unsigned counter. A pair of halves is updated in one operation.

namespace simt::device {

template <class T>
concept Integer = std::is_integral_v<T> && sizeof(T) >= 4;
template <class T>
concept Number = Integer<T> || std::is_floating_point_v<T>;
template <class T>
concept Summand = Number<T> || requires {
  typename T::simt_value;
} || requires(T pair) {
  typename decltype(pair.x)::simt_value;
};

/// Updates through an integer of the same size: the host's atomic operations only take integers.
template <class T, class Update>
SIMT_INLINE T atomic_update_value(T* address, Update update, bool exchanges = false) {
  using Word = WordOf<T>;
  atomic_access(address, sizeof(T), exchanges);
  return std::bit_cast<T>(atomic_update(reinterpret_cast<Word*>(address), [update](Word old) {
    return std::bit_cast<Word>(update(std::bit_cast<T>(old)));
  }));
}

}  // namespace simt::device

#define SIMT_ATOMIC_OF(Kind, name, expression, ...)                          \
  template <simt::device::Kind T>                                            \
  SIMT_INLINE T name(T* address, std::type_identity_t<T> value) {            \
    return simt::device::atomic_update_value(                                \
        address, [value](T old) -> T { return expression; }, ##__VA_ARGS__); \
  }
// The scope of an operation does not change its cost in the model.
#define SIMT_ATOMIC(Kind, name, ...)              \
  SIMT_ATOMIC_OF(Kind, name, __VA_ARGS__)         \
  SIMT_ATOMIC_OF(Kind, name##_block, __VA_ARGS__) \
  SIMT_ATOMIC_OF(Kind, name##_system, __VA_ARGS__)
SIMT_ATOMIC(Summand, atomicAdd, old + value)
SIMT_ATOMIC(Integer, atomicSub, old - value)
SIMT_ATOMIC(Number, atomicExch, ((void)old, value), true)
SIMT_ATOMIC(Integer, atomicMin, value < old ? value : old)
SIMT_ATOMIC(Integer, atomicMax, value > old ? value : old)
SIMT_ATOMIC(Integer, atomicAnd, old& value)
SIMT_ATOMIC(Integer, atomicOr, old | value)
SIMT_ATOMIC(Integer, atomicXor, old ^ value)
SIMT_ATOMIC(Integer, atomicInc, old >= value ? 0 : old + 1)
SIMT_ATOMIC(Integer, atomicDec, old == 0 || old > value ? value : old - 1)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_OF
template <simt::device::Integer T>
SIMT_INLINE T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return simt::device::atomic_update_value(address, [=](T old) -> T { return old == expected ? value : old; });
}

// --- Loads and stores with a cache operator (the model has no caches), and the copies of cuda_pipeline.h -------------
template <class T>
SIMT_INLINE T __ldg(const T* address) {
  return *address;
}
template <class T>
SIMT_INLINE void __stcg(T* address, std::type_identity_t<T> value) {
  *address = value;
}
#define __ldca __ldg
#define __ldcg __ldg
#define __ldcs __ldg
#define __stcs __stcg

#define __pipeline_memcpy_async simt::device::async_copy
SIMT_INLINE void __pipeline_commit() { simt::device::commit_async_copies(); }
SIMT_INLINE void __pipeline_wait_prior(int pending) { simt::device::wait_for_async_copies(pending); }

// --- The runtime: a launch throws its errors, and returns when the grid has run -------------------------------------
using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
constexpr cudaError_t cudaSuccess = 0;
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
/// Does nothing: on the model, a block gets the shared memory that its launch requests.
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

enum SimtCopyKind { cudaMemcpyHostToDevice = 1 };
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               SimtCopyKind = cudaMemcpyHostToDevice) {
  std::memcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes);
  return cudaSuccess;
}
