#include "common/report/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

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

void Facts::add(const std::string& key, const char* kind, double value, int decimals) {
  facts_.push_back({key, kind, format_number(value, decimals), value});
}

void Facts::text(const std::string& key, const std::string& kind, const std::string& text) {
  facts_.push_back({key, kind, text, std::nan("")});
}

double Facts::value(const std::string& key) const {
  for (const Fact& fact : facts_)
    if (fact.key == key) return fact.value;
  throw std::out_of_range("no fact has the key " + key);
}

}  // namespace tile
