#include "common/check/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <thread>

#include "common/check/operands.hpp"

namespace tile {

std::unique_ptr<BoundKernel> Launchable::prepare(const Product& product) const {
  if (kernel_.prepare != nullptr) return kernel_.prepare(product);
  return std::make_unique<BoundLauncher<Gemm>>(kernel_.launch, gemm_of(product));
}

void require_rows_of(const Product& product, const Types& types) {
  const Problem& p = product.problem;
  if (p.types == types && p.A == Layout::rows && p.B == Layout::rows) return;
  throw std::invalid_argument(fmt::format("{}: this kernel takes only {}, {} and {}, row-major", key_of(p),
                                          name_of(types.A), name_of(types.B), name_of(types.C)));
}

Gemm gemm_of(const Product& product) {
  require_rows_of(product, {});
  const auto& [p, alpha, A, B, beta, C] = product;
  const auto *const a = static_cast<const float*>(A), *const b = static_cast<const float*>(B);
  return {p.M, p.N, p.K, alpha, a, p.lda, b, p.ldb, beta, static_cast<float*>(C), p.ldc};
}

Product product_of(const Gemm& g) { return {{g.M, g.N, g.K, g.lda, g.ldb, g.ldc}, g.alpha, g.A, g.B, g.beta, g.C}; }

Verdict compare(const Operands& operands) {
  const Problem& g = operands.product().problem;
  const std::vector<float> result = operands.download_C();
  const double alpha = operands.problem.alpha, beta = operands.problem.beta;
  const double u = 0x1p-24, n = g.K + 2, gamma = n * u / (1 - n * u);
  std::vector<Verdict> rows(std::size_t(g.M));
  const auto check_row = [&](std::size_t row) {
    const std::size_t N = std::size_t(g.N), K = std::size_t(g.K);
    std::vector<double> reference(N), magnitude(N);
    for (std::size_t k = 0; k < K; ++k) {
      const double a = alpha * operands.A[row * K + k];
      const float* b = &operands.B[k * N];
      for (std::size_t col = 0; col < N; ++col) {
        reference[col] += a * b[col];
        magnitude[col] += std::abs(a * b[col]);
      }
    }
    for (std::size_t col = 0; col < N; ++col) {
      const std::size_t at = row * N + col;
      if (beta != 0) {
        reference[col] += beta * operands.C[at];
        magnitude[col] += std::abs(beta * operands.C[at]);
      }
      double bound = gamma * magnitude[col];
      if (operands.problem.fill == Fill::integers) {
        bound = 0;
        reference[col] = rounded_to(g.types.C, float(reference[col]));
      } else {
        bound += half_unit_of(g.types.C) * (std::abs(reference[col]) + bound);
      }
      const double error = std::abs(double(result[at]) - reference[col]);
      if (!(error <= bound) && rows[row].ok())  // so NaN is wrong
        rows[row].message = fmt::format("C[{}][{}] is {}, the reference {} (bound {:.3g})", row, col, result[at],
                                        reference[col], bound);
      rows[row].worst_error =
          std::max(rows[row].worst_error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
  };
  std::vector<std::jthread> pool;
  const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  for (std::size_t t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (std::size_t row = t; row < rows.size(); row += threads) check_row(row);
    });
  pool.clear();  // waits for all

  Verdict total;
  for (const Verdict& row : rows) {
    total.worst_error = std::max(total.worst_error, row.worst_error);
    if (total.ok()) total.message = row.message;
  }
  if (total.ok()) total.message = operands.overwritten();
  return total;
}

Verdict check(const Launchable& kernel, const Case& c) {
  const BoundCase bound(kernel, c);
  bound.kernel->run();
  machine::synchronize();
  return compare(bound.operands);
}

std::string describe(const Case& c) {
  return fmt::format("{} x {} x {}, alpha {}, beta {}, lda {}, ldb {}, ldc {}, offsets {}, {}, {}", c.M, c.N, c.K,
                     c.alpha, c.beta, c.lda(), c.ldb(), c.ldc(), c.offset + c.offsets.A, c.offset + c.offsets.B,
                     c.offset + c.offsets.C);
}

std::string first_failure(const Launchable& kernel, const std::vector<Case>& cases) {
  for (const Case& c : cases)
    if (const Verdict verdict = check(kernel, c); !verdict.ok())
      return fmt::format("{}: {}", describe(c), verdict.message);
  return "";
}

std::vector<Case> scaled_cases(const Case& shape) {
  std::vector<Case> cases;
  for (const auto& [alpha, beta] : std::vector<std::array<float, 2>>{{2, 3}, {-1, 1}, {0, 2}, {1, -0.5f}}) {
    cases.push_back(shape);
    cases.back().alpha = alpha;
    cases.back().beta = beta;
  }
  return cases;
}

std::vector<Case> one_residue_extent(const Tile& tile) {
  std::vector<Case> cases;
  const Case whole{tile.BM, tile.BN, 2 * tile.BK, 1, 0, 0, Fill::integers};
  for (int Case::*const extent : {&Case::M, &Case::N, &Case::K})
    for (const int change : {-1, 1}) {
      Case c = whole;
      c.*extent += change;
      if (c.*extent < 1) continue;
      if (change > 0) c.beta = 2, c.pad = 5;  // C is also read, and rows are padded
      cases.push_back(c);
    }
  return cases;
}

std::vector<Case> whole_tiles(const Tile& tile, const Types& types) {
  const int A = elements_of_16_bytes(types.A), B = elements_of_16_bytes(types.B), C = elements_of_16_bytes(types.C),
            all = std::max({A, B, C});
  return {
      {tile.BM, tile.BN, tile.BK, 1, 0, 0, Fill::integers},
      {2 * tile.BM, tile.BN, 2 * tile.BK, 1, 0, all, Fill::integers},
      {tile.BM, 3 * tile.BN, 3 * tile.BK, -2, 3, 2 * all, Fill::integers, 1, 0, {A, 2 * B, 3 * C}, {2 * A, B, 3 * C}}};
}

std::vector<Case> misaligned_cases(const Tile& tile, const Types& types) {
  std::vector<Case> cases;
  const auto add = [&](PerMatrix Case::*const what, int PerMatrix::*const matrix, Element element) {
    for (int elements = 1; elements < elements_of_16_bytes(element); elements += elements == 4 ? 3 : 1) {
      cases.push_back({tile.BM, tile.BN, tile.BK, 1, 2, 0, Fill::integers});
      cases.back().*what.*matrix = elements;
    }
  };
  for (PerMatrix Case::*const what : {&Case::pads, &Case::offsets}) {
    add(what, &PerMatrix::A, types.A);
    add(what, &PerMatrix::B, types.B);
    add(what, &PerMatrix::C, types.C);
  }
  return cases;
}

}  // namespace tile
