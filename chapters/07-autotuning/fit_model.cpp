#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "chapters/07-autotuning/fit.hpp"

namespace tile {
namespace {

using Matrix = std::vector<std::vector<double>>;

// The inverse of a symmetric matrix with ones on its diagonal, by elimination; ones, so that a small pivot means that a column
// follows from those before it.
Matrix inverse(Matrix m) {
  const std::size_t n = m.size();
  for (std::size_t i = 0; i < n; ++i) {
    m[i].resize(2 * n);
    m[i][n + i] = 1;
  }
  for (std::size_t column = 0; column < n; ++column) {
    if (m[column][column] < 1e-9)
      throw std::invalid_argument("a term of the fit follows from the others");
    const double pivot = m[column][column];
    for (double& x : m[column]) x /= pivot;
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = m[row][column];
      for (std::size_t i = 0; i < 2 * n; ++i) m[row][i] -= factor * m[column][i];
    }
  }
  for (auto& row : m) row.erase(row.begin(), row.begin() + std::ptrdiff_t(n));
  return m;
}

}  // namespace

Fit least_squares(const std::vector<std::vector<double>>& terms,
                  const std::vector<double>& values) {
  if (terms.empty() || terms.size() <= terms.front().size())
    throw std::invalid_argument("a fit needs more observations than terms");
  const std::size_t n = terms.front().size();
  // Terms of very different size would lose digits in their products: each is divided by the root of its sum of squares.
  std::vector<double> scale(n);
  for (const auto& row : terms)
    for (std::size_t i = 0; i < n; ++i) scale[i] += row[i] * row[i];
  for (double& s : scale) {
    if (s == 0) throw std::invalid_argument("a term of the fit is 0 throughout");
    s = std::sqrt(s);
  }
  Matrix products(n, std::vector<double>(n));
  std::vector<double> by_values(n);
  for (std::size_t row = 0; row < terms.size(); ++row)
    for (std::size_t i = 0; i < n; ++i) {
      const double x = terms[row][i] / scale[i];
      by_values[i] += x * values[row];
      for (std::size_t j = 0; j < n; ++j) products[i][j] += x * terms[row][j] / scale[j];
    }
  const Matrix inverted = inverse(products);
  Fit fit{std::vector<double>(n), {}};
  for (std::size_t i = 0; i < n; ++i)
    fit.weights[i] = predicted_by(inverted[i], by_values) / scale[i];
  for (std::size_t row = 0; row < terms.size(); ++row) {
    // How far an observation pulls the fit to itself, its leverage, says what the fit without it would have predicted.
    double leverage = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        leverage += terms[row][i] / scale[i] * inverted[i][j] * terms[row][j] / scale[j];
    const double residual = values[row] - predicted_by(fit.weights, terms[row]);
    fit.left_out.push_back(values[row] - residual / (1 - leverage));
  }
  return fit;
}

double predicted_by(const std::vector<double>& weights, const std::vector<double>& terms) {
  return std::inner_product(weights.begin(), weights.end(), terms.begin(), 0.0);
}

double relative_error(const std::vector<double>& predicted,
                      const std::vector<double>& measured) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    sum += std::pow(predicted[i] / measured[i] - 1, 2);
  return std::sqrt(sum / double(predicted.size()));
}

}  // namespace tile

TEST_CASE("least squares finds the weights of a sum, whatever the size of its terms" *
          doctest::test_suite("model")) {
  std::vector<std::vector<double>> terms;
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) {
    terms.push_back({1, 1e-6 * (i * 7 % 9), 1e6 * (i * i % 5)});
    values.push_back(0.5 + 3 * terms.back()[1] + 2e-6 * terms.back()[2]);
  }
  const std::vector<double> weights = tile::least_squares(terms, values).weights;
  REQUIRE(weights.size() == 3);
  CHECK(weights[0] == doctest::Approx(0.5));
  CHECK(weights[1] == doctest::Approx(3));
  CHECK(weights[2] == doctest::Approx(2e-6));
  CHECK(tile::predicted_by(weights, terms[8]) == doctest::Approx(values[8]));
  CHECK_THROWS_AS(tile::least_squares({{1, 2}, {3, 4}}, {1, 2}),
                  std::invalid_argument);  // not determined
  CHECK_THROWS_AS(tile::least_squares({{1, 2}, {2, 4}, {3, 6}}, {1, 2, 3}),
                  std::invalid_argument);
}

TEST_CASE("what the others predict for an observation is a fit without it" *
          doctest::test_suite("model")) {
  const std::vector<std::vector<double>> terms{
      {1, 0.1}, {1, 0.4}, {1, 0.3}, {1, 0.8}, {1, 0.6}};
  const std::vector<double> values{1.0, 2.5, 1.1, 3.0,
                                   9.0};  // the last is far from a line through the others
  const tile::Fit all = tile::least_squares(terms, values);
  for (std::size_t out = 0; out < terms.size(); ++out) {
    auto other_terms = terms;
    auto other_values = values;
    other_terms.erase(other_terms.begin() + std::ptrdiff_t(out));
    other_values.erase(other_values.begin() + std::ptrdiff_t(out));
    const auto weights = tile::least_squares(other_terms, other_values).weights;
    CHECK(all.left_out[out] == doctest::Approx(tile::predicted_by(weights, terms[out])));
  }
}
