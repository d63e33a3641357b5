// The description of a product: shape, layouts, element types, leading dimensions. It is the key of records, figures
// and tunings. In: extents. Out: a problem, and its name.
#pragma once

#include <cstddef>
#include <string>

namespace tile {

/// The element types. Arithmetic is in FP32 or better.
enum class Element { f32, bf16, f16 };

constexpr std::size_t size_of(Element element) { return element == Element::f32 ? 4 : 2; }
/// How many elements a 16-byte access has.
constexpr int elements_of_16_bytes(Element element) { return int(16 / size_of(element)); }
/// "f32", "bf16", "f16".
const char* name_of(Element element);

/// `value` rounded to that type, to nearest even.
float rounded_to(Element element, float value);

/// The relative error added by rounding an FP32 result to that type: half a unit in the last place. 0 for FP32, which
/// needs no further rounding.
constexpr double half_unit_of(Element element) {
  return element == Element::f32 ? 0 : element == Element::bf16 ? 0x1p-8 : 0x1p-11;
}

struct Types {
  Element A = Element::f32, B = Element::f32, C = Element::f32;
  bool operator==(const Types&) const = default;
};

/// How a matrix is stored: row-major, or column-major (as the transpose of a row-major one).
enum class Layout { rows, columns };

/// C (M x N, row-major) = alpha * A (M x K) * B (K x N) + beta * C. Leading dimensions count elements.
struct Problem {
  int M, N, K;
  int lda, ldb, ldc;
  Layout A = Layout::rows, B = Layout::rows;
  Types types{};

  /// FP32, row-major, without padding.
  static constexpr Problem plain(int M, int N, int K) { return {M, N, K, K, N, N}; }
  /// The same with A, B and C packed: no padding.
  constexpr Problem packed() const {
    Problem p = *this;
    p.lda = A == Layout::rows ? K : M;
    p.ldb = B == Layout::rows ? N : K;
    p.ldc = N;
    return p;
  }
  /// The same with other types.
  constexpr Problem of(const Types& other) const {
    Problem p = *this;
    p.types = other;
    return p;
  }
  bool operator==(const Problem&) const = default;
};

/// "4096", "4224x4608x4096"; then whatever differs from Problem::plain: "4096.bf16,bf16,f32", "4096.At",
/// "4096.ld4104,4096,4096".
std::string key_of(const Problem& problem);

}  // namespace tile
