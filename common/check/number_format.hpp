// Binary floating-point formats, bit by bit: a reference for conversions, and what pages say of a format. In: a format, bits or a
// number. Out: the other of the two.
#pragma once

#include <cmath>
#include <cstdint>

namespace tile {

/// A sign, so many bits of exponent, and so many of mantissa behind the one that is not stored: as IEEE 754 lays out its binary
/// formats, with subnormals, infinities and NaNs.
struct NumberFormat {
  const char* name;
  int exponent_bits, mantissa_bits;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  /// Of a number, its exponent is what is stored less this.
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int largest_exponent() const { return bias(); }
  constexpr int smallest_exponent() const { return 1 - bias(); }

  double largest() const { return std::ldexp(2 - std::ldexp(1, -mantissa_bits), largest_exponent()); }
  double smallest_normal() const { return std::ldexp(1, smallest_exponent()); }
  double smallest_subnormal() const { return std::ldexp(1, smallest_exponent() - mantissa_bits); }
  /// From 1 to the next number.
  double step_at_one() const { return std::ldexp(1, -mantissa_bits); }
  /// The most that rounding to nearest changes a normal number by, relatively.
  double unit_roundoff() const { return std::ldexp(1, -mantissa_bits - 1); }
};

inline constexpr NumberFormat bf16_format{"BF16", 8, 7}, fp16_format{"FP16", 5, 10}, tf32_format{"TF32", 8, 10},
    fp32_format{"FP32", 8, 23};

/// The number that these bits stand for.
double decoded(const NumberFormat& format, std::uint32_t bits);

/// The bits of the number nearest to `value`, of two that are as near the one with an even last bit; from the middle between the
/// largest number and the next that would be, infinity. NaN has all bits set but the sign, as GPUs convert it.
std::uint32_t encoded(const NumberFormat& format, double value);

}  // namespace tile
