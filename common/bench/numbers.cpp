#include "common/bench/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tile {

std::string format_number(double value, int decimals) {
  if (decimals < 0) {
    const double magnitude = std::abs(value);
    if (value == std::floor(value) || magnitude >= 1000)
      decimals = 0;
    else
      decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3;
  }
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const auto point = std::min(text.find('.'), text.size());
  for (int at = int(point) - 3; at > 0; at -= 3) text.insert(std::size_t(at), 1, ',');
  if (value < 0) text.insert(text.begin(), '-');
  return text;
}

std::string multiple_of_K(double per_k) {
  if (per_k == 0) return "-";
  for (int denominator = 1; denominator <= 4096; ++denominator) {
    const double numerator = per_k * denominator;
    if (std::abs(numerator - std::round(numerator)) > 1e-9 || std::round(numerator) == 0) continue;
    return fmt::format("{}K{}", numerator < 1.5 ? "" : format_number(std::round(numerator)),
                       denominator == 1 ? "" : fmt::format("/{}", denominator));
  }
  return fmt::format("{:.4f}K", per_k);
}

}  // namespace tile
