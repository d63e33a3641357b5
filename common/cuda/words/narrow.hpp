// 16-bit floating-point types and pairs of them: the parts of cuda_fp16.h and cuda_bf16.h that kernels use.
// __half is IEEE binary16, __nv_bfloat16 the upper half of a float. Arithmetic is done in float and rounded to
// nearest once, as on the GPU; comparisons and selections are exact.
#pragma once

#include <bit>
#include <cstdint>

namespace simt {

// Inlined: g++ does not announce the store of a value returned by a call. The compiler's _Float16 rounds to nearest even.
SIMT_INLINE std::uint16_t half_of(float value) { return std::bit_cast<std::uint16_t>(_Float16(value)); }
SIMT_INLINE float float_of_half(std::uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }

/// Rounds to nearest even; any NaN becomes 0x7fff. Measured: it agrees with cvt.rn.bf16.f32 on all 2^32 floats.
SIMT_INLINE std::uint16_t bf16_of(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return std::uint16_t((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}
SIMT_INLINE float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

}  // namespace simt

// Comparisons are those of floats.
#define SIMT_NARROW_OPERATOR(T, T2, sign, one, two)                                 \
  SIMT_INLINE T operator sign(T a, T b) { return T(float(a) sign float(b)); }       \
  SIMT_INLINE T2 operator sign(T2 a, T2 b) { return {a.x sign b.x, a.y sign b.y}; } \
  SIMT_INLINE T one(T a, T b) { return a sign b; }                                  \
  SIMT_INLINE T2 two(T2 a, T2 b) { return a sign b; }
#define SIMT_NARROW_FUNCTION(T, T2, one, two, f)    \
  SIMT_INLINE T one(T a) { return T(f(float(a))); } \
  SIMT_INLINE T2 two(T2 a) { return {one(a.x), one(a.y)}; }
#define SIMT_NARROW_FUNCTION2(T, T2, one, two, f)                  \
  SIMT_INLINE T one(T a, T b) { return T(f(float(a), float(b))); } \
  SIMT_INLINE T2 two(T2 a, T2 b) { return {one(a.x, b.x), one(a.y, b.y)}; }

#define SIMT_NARROW_ARITHMETIC(T, T2)                                                                         \
  SIMT_NARROW_OPERATOR(T, T2, +, __hadd, __hadd2)                                                             \
  SIMT_NARROW_OPERATOR(T, T2, -, __hsub, __hsub2)                                                             \
  SIMT_NARROW_OPERATOR(T, T2, *, __hmul, __hmul2)                                                             \
  SIMT_NARROW_OPERATOR(T, T2, /, __hdiv, __h2div)                                                             \
  SIMT_NARROW_FUNCTION(T, T2, operator-, operator-, -)                                                        \
  SIMT_NARROW_FUNCTION(T, T2, __hneg, __hneg2, -)                                                             \
  SIMT_NARROW_FUNCTION(T, T2, __habs, __habs2, fabsf)                                                         \
  SIMT_NARROW_FUNCTION(T, T2, hexp, h2exp, expf)                                                              \
  SIMT_NARROW_FUNCTION(T, T2, hsqrt, h2sqrt, sqrtf)                                                           \
  SIMT_NARROW_FUNCTION(T, T2, hrsqrt, h2rsqrt, rsqrtf)                                                        \
  SIMT_NARROW_FUNCTION2(T, T2, __hmax, __hmax2, fmaxf)                                                        \
  SIMT_NARROW_FUNCTION2(T, T2, __hmin, __hmin2, fminf)                                                        \
  /* The product is exact in a double, and the sum nearly so: it is rounded to float and then to the type. */ \
  SIMT_INLINE T __hfma(T a, T b, T c) { return T(float(double(float(a)) * float(b) + float(c))); }            \
  SIMT_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }

// Defines a type T, `name` in the names of functions, and its pair T2, `pair` there; `of` and `to` convert its bits.
// The default constructor is constexpr, so that a __device__ array of T is initialised before the program runs.
#define SIMT_NARROW_TYPE(T, T2, name, pair, of, to)                                           \
  struct T {                                                                                  \
    using simt_value = T;                                                                     \
    std::uint16_t bits;                                                                       \
    constexpr T() : bits(0) {}                                                                \
    SIMT_INLINE T(float value) : bits(simt::of(value)) {}                                     \
    SIMT_INLINE T(double value) : bits(simt::of(float(value))) {}                             \
    SIMT_INLINE T(int value) : bits(simt::of(float(value))) {}                                \
    SIMT_INLINE operator float() const { return simt::to(bits); }                             \
  };                                                                                          \
  struct alignas(4) T2 {                                                                      \
    T x, y;                                                                                   \
  };                                                                                          \
  SIMT_INLINE T __float2##name(float value) { return value; }                                 \
  SIMT_INLINE T __float2##name##_rn(float value) { return value; }                            \
  SIMT_INLINE float __##name##2float(T value) { return value; }                               \
  SIMT_INLINE T __ushort_as_##name(unsigned short bits) {                                     \
    T value;                                                                                  \
    value.bits = bits;                                                                        \
    return value;                                                                             \
  }                                                                                           \
  SIMT_INLINE unsigned short __##name##_as_ushort(T value) { return value.bits; }             \
  SIMT_INLINE T2 make_##pair(T x, T y) { return {x, y}; }                                     \
  SIMT_INLINE T2 __halves2##pair(T x, T y) { return {x, y}; }                                 \
  SIMT_INLINE T2 __##name##2##pair(T value) { return {value, value}; }                        \
  SIMT_INLINE T2 __float2##pair##_rn(float value) { return {value, value}; }                  \
  SIMT_INLINE T2 __floats2##pair##_rn(float x, float y) { return {x, y}; }                    \
  SIMT_INLINE T2 __float22##pair##_rn(float2 value) { return {value.x, value.y}; }            \
  SIMT_INLINE float2 __##pair##2float2(T2 value) { return {float(value.x), float(value.y)}; } \
  SIMT_INLINE T __low2##name(T2 value) { return value.x; }                                    \
  SIMT_INLINE T __high2##name(T2 value) { return value.y; }                                   \
  SIMT_INLINE float __low2float(T2 value) { return value.x; }                                 \
  SIMT_INLINE float __high2float(T2 value) { return value.y; }                                \
  SIMT_NARROW_ARITHMETIC(T, T2)
SIMT_NARROW_TYPE(__half, __half2, half, half2, half_of, float_of_half)
SIMT_NARROW_TYPE(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, bf16_of, float_of_bf16)
SIMT_INLINE __half __int2half_rn(int value) { return value; }
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
