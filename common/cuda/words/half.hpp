// IEEE binary16 and pairs of it: the words of cuda_fp16.h that kernels use. Arithmetic goes through float and is rounded to nearest
// once, as the GPU's is; comparisons and selections are exact.
#pragma once

#include <bit>
#include <cstdint>

namespace simt {

// Inlined: g++ announces no store of what a call returns as a whole.
SIMT_INLINE std::uint16_t half_of(float value) {  // to nearest, ties to even
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
  std::uint32_t bits = 0;
  if (magnitude > 0x7f800000u)
    bits = 0x7e00u | (magnitude >> 13 & 0x3ffu);  // not a number
  else if (magnitude >= 0x477ff000u)
    bits = 0x7c00u;                  // from 65520 on: infinity
  else if (magnitude < 0x38800000u)  // subnormal: the sum's last bit is worth as much as the result's
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  else
    bits = ((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10);
  return std::uint16_t(sign | bits);
}
SIMT_INLINE float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(float(fraction) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent == 31 ? 0xffu : exponent + 112u) << 23 | fraction << 13);
}

}  // namespace simt

struct __half {
  std::uint16_t bits;

  // constexpr: a __device__ array of it has its values before the program runs.
  constexpr __half() : bits(0) {}
  SIMT_INLINE __half(float value) : bits(simt::half_of(value)) {}
  SIMT_INLINE __half(double value) : bits(simt::half_of(float(value))) {}
  SIMT_INLINE __half(int value) : bits(simt::half_of(float(value))) {}
  SIMT_INLINE operator float() const { return simt::float_of_half(bits); }
};
using half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;

SIMT_INLINE __half __float2half(float value) { return value; }
SIMT_INLINE __half __float2half_rn(float value) { return value; }
SIMT_INLINE float __half2float(__half value) { return value; }
SIMT_INLINE __half __int2half_rn(int value) { return value; }
SIMT_INLINE __half __ushort_as_half(unsigned short bits) {
  __half value;
  value.bits = bits;
  return value;
}
SIMT_INLINE unsigned short __half_as_ushort(__half value) { return value.bits; }
SIMT_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
SIMT_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
SIMT_INLINE __half2 __half2half2(__half value) { return {value, value}; }
SIMT_INLINE __half2 __float2half2_rn(float value) { return {value, value}; }
SIMT_INLINE __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
SIMT_INLINE __half2 __float22half2_rn(float2 value) { return {value.x, value.y}; }
SIMT_INLINE float2 __half22float2(__half2 value) { return {float(value.x), float(value.y)}; }
SIMT_INLINE __half __low2half(__half2 value) { return value.x; }
SIMT_INLINE __half __high2half(__half2 value) { return value.y; }
SIMT_INLINE float __low2float(__half2 value) { return value.x; }
SIMT_INLINE float __high2float(__half2 value) { return value.y; }

SIMT_NARROW_ARITHMETIC(__half, __half2)
