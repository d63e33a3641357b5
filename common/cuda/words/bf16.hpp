// bfloat16, the upper half of a float, and pairs of it: the words of cuda_bf16.h that kernels use. Arithmetic goes through float and
// is rounded to nearest once.
#pragma once

#include <bit>
#include <cstdint>

namespace simt {

/// To the nearest, of two that are as near the one with an even last bit; any NaN to 0x7fff. As the GPU's cvt.rn.bf16.f32 does: all
/// 2^32 floats were compared.
SIMT_INLINE std::uint16_t bf16_of(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return std::uint16_t((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}

}  // namespace simt

struct __nv_bfloat16 {
  std::uint16_t bits;

  // constexpr: a __device__ array of it has its values before the program runs.
  constexpr __nv_bfloat16() : bits(0) {}
  SIMT_INLINE __nv_bfloat16(float value) : bits(simt::bf16_of(value)) {}
  SIMT_INLINE __nv_bfloat16(double value) : bits(simt::bf16_of(float(value))) {}
  SIMT_INLINE __nv_bfloat16(int value) : bits(simt::bf16_of(float(value))) {}
  SIMT_INLINE operator float() const {
    return std::bit_cast<float>(std::uint32_t(bits) << 16);
  }
};
using nv_bfloat16 = __nv_bfloat16;
/// Two of them in a word, x in its lower half.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 value;
  value.bits = bits;
  return value;
}
SIMT_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
SIMT_INLINE __nv_bfloat16 __float2bfloat16(float value) { return value; }
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
SIMT_INLINE float __bfloat162float(__nv_bfloat16 value) { return value; }
SIMT_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
SIMT_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
SIMT_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float value) { return {value, value}; }
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
SIMT_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 value) { return {value.x, value.y}; }
SIMT_INLINE float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {float(value.x), float(value.y)};
}
SIMT_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) { return value.x; }
SIMT_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) { return value.y; }
SIMT_INLINE float __low2float(__nv_bfloat162 value) { return value.x; }
SIMT_INLINE float __high2float(__nv_bfloat162 value) { return value.y; }

SIMT_NARROW_ARITHMETIC(__nv_bfloat16, __nv_bfloat162)
