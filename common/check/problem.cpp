#include "common/check/problem.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace tile {

const char* name_of(Element element) {
  return element == Element::f32 ? "f32" : element == Element::bf16 ? "bf16" : "f16";
}

float rounded_to(Element element, float value) {
  if (element == Element::f16) return float(static_cast<_Float16>(value));
  if (element == Element::f32 || !std::isfinite(value)) return value;
  const auto word = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((word + 0x7fffu + ((word >> 16) & 1u)) & 0xffff0000u);
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
