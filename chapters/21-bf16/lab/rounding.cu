// Tile by Tile, chapter 21, a lab: what does rounding cost?
//
// Question: how much of a GEMM's error comes from rounding its inputs to BF16, and how much
// from adding in FP32? Idea: on the CPU, take dot products of the inputs in float64, of the
// rounded inputs in float64, and of the rounded inputs in FP32: each pair differs in one kind
// of rounding.
//
// Build, run, verify:   ./tile run 21-rounding      ctest --preset model -R chapter21.rounding
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chapters/21-bf16/number_format.hpp"
#include "common/report/chapter.hpp"

namespace {

// What a format holds, and how it stores pi.
void predict_format(tile::Facts& facts, const std::string& key,
                    const tile::NumberFormat& format) {
  const auto text = [&](const char* name, const char* form, double value) {
    char digits[64];
    std::snprintf(digits, sizeof digits, form, value);
    facts.text(key + "." + name, "predicted", digits);
  };
  facts.predicted(key + ".exponent_bits", format.exponent_bits);
  facts.predicted(key + ".mantissa_bits", format.mantissa_bits);
  text("largest", "%.5g", format.largest());
  text("smallest_normal", "%.3g", format.smallest_normal());
  text("unit_roundoff", "%.3g", format.unit_roundoff());
  const std::uint32_t pi = tile::encoded(format, 3.14159265358979323846);
  std::string bits;
  for (int bit = format.bits() - 1; bit >= 0; --bit) {
    bits += char('0' + (pi >> bit & 1u));
    if (bit == format.bits() - 1 || bit == format.mantissa_bits) bits += ' ';
  }
  facts.text(key + ".pi", "predicted", bits);
}

// Errors of 256 dot products of K elements, in millionths. Inputs: both sums in float64, of
// rounded inputs and of the inputs themselves. Sums: products of rounded inputs, added in FP32
// and in float64. Each relative to the sum of |a||b|, as a maximum, and the first also relative
// to the results, as root mean square. The bound of the sums is that of Higham (2002), ch. 3.
void predict_errors(tile::Facts& facts, const std::string& key, int K, bool positive) {
  constexpr int results = 256;
  const auto values = [&](std::uint64_t seed) {
    auto all = tile::make_values(std::size_t(K) * results, tile::Fill::random, seed);
    if (positive)
      for (float& value : all) value = std::abs(value);
    return all;
  };
  const std::vector<float> A = values(1), B = values(3);
  double inputs = 0, sums = 0, squares = 0, squared_errors = 0;
  for (std::size_t first = 0; first < A.size(); first += std::size_t(K)) {
    double exact = 0, of_rounded = 0, magnitude = 0;
    float sum = 0;
    for (std::size_t k = first; k < first + std::size_t(K); ++k) {
      const float a = tile::rounded_to(tile::Element::bf16, A[k]),
                  b = tile::rounded_to(tile::Element::bf16, B[k]);
      exact += double(A[k]) * B[k];
      magnitude += std::abs(double(A[k]) * B[k]);
      of_rounded += double(a) * b;
      sum += a * b;
    }
    inputs = std::max(inputs, std::abs(of_rounded - exact) / magnitude);
    sums = std::max(sums, std::abs(sum - of_rounded) / magnitude);
    squares += exact * exact;
    squared_errors += (of_rounded - exact) * (of_rounded - exact);
  }
  const double u = tile::bf16_format.unit_roundoff(), v = tile::fp32_format.unit_roundoff();
  facts.predicted(key + ".inputs", 1e6 * inputs, 0);
  facts.predicted(key + ".inputs_bound", 1e6 * (2 * u + u * u), 0);
  facts.predicted(key + ".inputs_of_result", 1e6 * std::sqrt(squared_errors / squares), 0);
  facts.predicted(key + ".sums", 1e6 * sums, 3);
  facts.predicted(key + ".sums_bound", 1e6 * (K - 1) * v / (1 - (K - 1) * v), 1);
}

void predict(tile::Facts& facts) {
  predict_format(facts, "format.bf16", tile::bf16_format);
  predict_format(facts, "format.fp16", tile::fp16_format);
  predict_format(facts, "format.tf32", tile::tf32_format);
  predict_format(facts, "format.fp32", tile::fp32_format);
  // Products of two BF16 significands, those between 1 and 2, that FP32 must round.
  int products = 0, rounded = 0;
  for (int a = 128; a < 256; ++a)
    for (int b = 128; b < 256; ++b, ++products)
      rounded += double(a / 128.0f * (b / 128.0f)) != a / 128.0 * (b / 128.0);
  facts.predicted("exact.products", products);
  facts.predicted("exact.rounded", rounded);
  for (const int K : {16, 256, 4096, 16384})
    predict_errors(facts, "error.K" + std::to_string(K), K, false);
  predict_errors(facts, "error.positive", 16384, true);
}

}  // namespace

TILE_CHAPTER(.number = 21, .title = "What does rounding cost?", .kernels = {},
             .counted = {1, 1, 1}, .sizes = {}, .predict = predict,
             .extension = {.step = "untimed"})

TEST_CASE("errors of inputs and of sums are within their bounds, and no product is rounded") {
  tile::Facts facts;
  predict(facts);
  CHECK(facts.value("exact.rounded") == 0);
  for (const std::string key : {"error.K16", "error.K16384", "error.positive"}) {
    INFO(key);
    for (const std::string of : {".inputs", ".sums"}) {
      CHECK(facts.value(key + of) > 0);
      CHECK(facts.value(key + of) <= facts.value(key + of + "_bound"));
    }
  }
}
