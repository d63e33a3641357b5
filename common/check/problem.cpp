#include "common/check/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace tile {
namespace {

float rounded_to_bf16(float value) {
  if (!std::isfinite(value)) return value;
  const auto word = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((word + 0x7fffu + ((word >> 16) & 1u)) & 0xffff0000u);
}

}  // namespace

const char* name_of(Element element) {
  return element == Element::f32 ? "f32" : element == Element::bf16 ? "bf16" : "f16";
}

float rounded_to(Element element, float value) {
  if (element == Element::bf16) return rounded_to_bf16(value);
  return element == Element::f16 ? float(static_cast<_Float16>(value)) : value;
}

double decoded(const NumberFormat& format, std::uint32_t bits) {
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = int(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const double sign = bits >> (format.bits() - 1) & 1u ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  // A subnormal lacks the bit that is not stored, and has the smallest exponent.
  const double significand = double(mantissa) + (exponent > 0 ? std::ldexp(1, format.mantissa_bits) : 0);
  return sign * std::ldexp(significand, std::max(exponent, 1) - format.bias() - format.mantissa_bits);
}

std::uint32_t encoded(const NumberFormat& format, double value) {
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
  const double field = std::ldexp(exponent - format.smallest_exponent(), format.mantissa_bits) + units;
  return sign | (field < double(infinity) ? std::uint32_t(field) : infinity);
}

std::string key_of(const Problem& p) {
  std::string key = p.M == p.N && p.N == p.K ? std::to_string(p.M) : fmt::format("{}x{}x{}", p.M, p.N, p.K);
  if (p.types != Types{}) key += fmt::format(".{},{},{}", name_of(p.types.A), name_of(p.types.B), name_of(p.types.C));
  if (p.A == Layout::columns) key += ".At";
  if (p.B == Layout::columns) key += ".Bt";
  if (p != p.packed()) key += fmt::format(".ld{},{},{}", p.lda, p.ldb, p.ldc);
  return key;
}

}  // namespace tile
