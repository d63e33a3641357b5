// bfloat16 for the SIMT model: the words of the toolkit's cuda_bf16.h that kernels of this book use. vocabulary.hpp includes it; nvcc
// never sees it.
#pragma once

#include <bit>
#include <cstdint>

/// The upper half of a float, as storage: two bytes, which an access moves as a whole.
struct __nv_bfloat16 {
  std::uint16_t bits;
};
/// Two of them in a word, x in its lower half.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }
SIMT_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }

/// To the nearest, of two that are as near the one with an even last bit; any NaN to 0x7fff. As the GPU's cvt.rn.bf16.f32 does: all
/// 2^32 floats were compared.
SIMT_INLINE __nv_bfloat16 __float2bfloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {std::uint16_t((word + 0x7fffu + (word >> 16 & 1u)) >> 16)};
}
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16(x), __float2bfloat16(y)};
}
SIMT_INLINE float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t(value.bits) << 16);
}
