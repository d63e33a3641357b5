// Formats of floating-point numbers, bit by bit. In: a format, and bits or a number. Out: the number, or its bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tile {

/// A sign, so many bits of exponent, and so many of mantissa after the implicit one: as IEEE 754 lays out its binary
/// formats, with subnormals, infinities and NaNs.
struct NumberFormat {
  const char* name;
  int exponent_bits, mantissa_bits;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  /// Of a number, its exponent is what is stored less this.
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int largest_exponent() const { return bias(); }
  constexpr int smallest_exponent() const { return 1 - bias(); }

  double largest() const {
    return std::ldexp(2 - std::ldexp(1, -mantissa_bits), largest_exponent());
  }
  double smallest_normal() const { return std::ldexp(1, smallest_exponent()); }
  double smallest_subnormal() const {
    return std::ldexp(1, smallest_exponent() - mantissa_bits);
  }
  /// From 1 to the next number.
  double step_at_one() const { return std::ldexp(1, -mantissa_bits); }
  /// The most that rounding to nearest changes a normal number by, relatively.
  double unit_roundoff() const { return std::ldexp(1, -mantissa_bits - 1); }
};

inline constexpr NumberFormat bf16_format{"BF16", 8, 7}, fp16_format{"FP16", 5, 10},
    tf32_format{"TF32", 8, 10}, fp32_format{"FP32", 8, 23};

/// The number that these bits stand for.
inline double decoded(const NumberFormat& format, std::uint32_t bits) {
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = int(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const double sign = bits >> (format.bits() - 1) & 1u ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  // A subnormal lacks the bit that is not stored, and has the smallest exponent.
  const double significand =
      double(mantissa) + (exponent > 0 ? std::ldexp(1, format.mantissa_bits) : 0);
  return sign *
         std::ldexp(significand, std::max(exponent, 1) - format.bias() - format.mantissa_bits);
}

/// The bits of the number nearest to `value`, of two that are as near the one with an even last bit; from the middle between the
/// largest number and the next that would be, infinity. NaN has all bits set but the sign, as GPUs convert it.
inline std::uint32_t encoded(const NumberFormat& format, double value) {
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) return infinity | ((1u << format.mantissa_bits) - 1);
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.bits() - 1) : 0;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  const int exponent = std::max(std::ilogb(magnitude), format.smallest_exponent());
  // In units of the last place, to the nearest whole number and of two to the even one: the default rounding of std::nearbyint.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // The bit that is not stored adds one to the exponent's field, and so does a mantissa that rounds up to the next power of two.
  const double field =
      std::ldexp(exponent - format.smallest_exponent(), format.mantissa_bits) + units;
  return sign | (field < double(infinity) ? std::uint32_t(field) : infinity);
}

}  // namespace tile
