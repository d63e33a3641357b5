#include "common/report/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

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
    if (m[column][column] < 1e-9) throw std::invalid_argument("a term of the fit follows from the others");
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

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) rank[order[i]] = double(first + last - 1) / 2;
    first = last;
  }
  return rank;
}

}  // namespace

Fit least_squares(const std::vector<std::vector<double>>& terms, const std::vector<double>& values) {
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
  for (std::size_t i = 0; i < n; ++i) fit.weights[i] = predicted_by(inverted[i], by_values) / scale[i];
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

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = double(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

double relative_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) sum += std::pow(predicted[i] / measured[i] - 1, 2);
  return std::sqrt(sum / double(predicted.size()));
}

}  // namespace tile
