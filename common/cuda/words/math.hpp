// Arithmetic that CUDA has and C++ has not, and words for what C++ calls otherwise. Where a GPU approximates (__expf and its kin),
// the model computes as well as the host can: results differ in their last digits, counts do not.
#pragma once

#include <math.h>  // before the macros below, whose names it declares
#include <stdlib.h>

#include <bit>
#include <cstdint>
#include <type_traits>

// --- Minimum and maximum ---------------------------------------------------------------------------------------------------
// Of two types, integral or not, as CUDA's overloads: the one that arithmetic would make of them.
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

// --- Functions -------------------------------------------------------------------------------------------------------------
SIMT_INLINE float rsqrtf(float x) { return 1 / sqrtf(x); }
SIMT_INLINE double rsqrt(double x) { return 1 / sqrt(x); }
SIMT_INLINE float __fdividef(float x, float y) { return x / y; }
SIMT_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

// The C library declares functions of these names for itself, and does not define them.
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

// Rounded to nearest, as the host rounds.
SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
SIMT_INLINE float __fadd_rn(float a, float b) { return a + b; }
SIMT_INLINE float __fsub_rn(float a, float b) { return a - b; }
SIMT_INLINE float __fmul_rn(float a, float b) { return a * b; }
SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
SIMT_INLINE float __frcp_rn(float a) { return 1 / a; }
SIMT_INLINE float __fsqrt_rn(float a) { return sqrtf(a); }
SIMT_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// --- Conversions -------------------------------------------------------------------------------------------------------------
SIMT_INLINE int __float_as_int(float x) { return std::bit_cast<int>(x); }
SIMT_INLINE unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
SIMT_INLINE float __int_as_float(int x) { return std::bit_cast<float>(x); }
SIMT_INLINE float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
SIMT_INLINE int __float2int_rn(float x) { return int(rintf(x)); }
SIMT_INLINE int __float2int_rz(float x) { return int(x); }
SIMT_INLINE int __float2int_rd(float x) { return int(floorf(x)); }
SIMT_INLINE unsigned __float2uint_rn(float x) { return unsigned(rintf(x)); }
SIMT_INLINE unsigned __float2uint_rz(float x) { return unsigned(x); }
SIMT_INLINE float __int2float_rn(int x) { return float(x); }
SIMT_INLINE float __uint2float_rn(unsigned x) { return float(x); }

// --- Integers and their bits -------------------------------------------------------------------------------------------------
SIMT_INLINE int __popc(unsigned x) { return std::popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return std::popcount(x); }
SIMT_INLINE int __clz(int x) { return std::countl_zero(unsigned(x)); }
SIMT_INLINE int __clzll(long long x) { return std::countl_zero((unsigned long long)(x)); }
SIMT_INLINE int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(unsigned(x)) + 1; }
SIMT_INLINE int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero((unsigned long long)(x)) + 1; }
SIMT_INLINE unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}
/// The bytes that four digits of `select` name, of the eight of x and y.
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned select) {
  const std::uint64_t both = std::uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(both >> (select >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
  return result;
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((std::uint64_t(high) << 32 | low) << (shift & 31u) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((std::uint64_t(high) << 32 | low) >> (shift & 31u));
}
SIMT_INLINE int __mulhi(int x, int y) { return int((long long)(x)*y >> 32); }
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)(x)*y >> 32); }
/// Four products of signed bytes, and c.
SIMT_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += int(std::int8_t(a >> i)) * int(std::int8_t(b >> i));
  return c;
}

#define CUDART_INF_F HUGE_VALF
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.14159265f
