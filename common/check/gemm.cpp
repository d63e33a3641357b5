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
  if (prepare_ != nullptr) return prepare_(product);
  struct Launched : BoundKernel {  // there is nothing to own
    Launched(Launcher launcher, const Gemm& gemm) : launcher(launcher), gemm(gemm) {}
    void run() override { launcher(gemm); }
    Launcher launcher;
    Gemm gemm;
  };
  return std::make_unique<Launched>(launch_, gemm_of(product));
}

void require_rows_of(const Product& product, const Types& types) {
  const Problem& p = product.problem;
  if (p.types == types && p.A == Layout::rows && p.B == Layout::rows) return;
  throw std::invalid_argument(fmt::format("{} is not {}, {} and {}, row by row, and this kernel takes nothing else",
                                          key_of(p), name_of(types.A), name_of(types.B), name_of(types.C)));
}

Gemm gemm_of(const Product& product) {
  const Problem& p = product.problem;
  if (p.types != Types{} || p.A != Layout::rows || p.B != Layout::rows)
    throw std::invalid_argument(
        fmt::format("{} is not FP32, row by row, and this kernel takes nothing else", key_of(p)));
  return {p.M,
          p.N,
          p.K,
          product.alpha,
          static_cast<const float*>(product.A),
          p.lda,
          static_cast<const float*>(product.B),
          p.ldb,
          product.beta,
          static_cast<float*>(product.C),
          p.ldc};
}

Product product_of(const Gemm& g) { return {{g.M, g.N, g.K, g.lda, g.ldb, g.ldc}, g.alpha, g.A, g.B, g.beta, g.C}; }

Verdict compare(const Operands& operands, const Case& c, const std::vector<float>& result) {
  const Product& product = operands.product();
  const Problem& g = product.problem;
  const Element type = g.types.C;
  const double alpha = product.alpha, beta = product.beta;
  const double u = 0x1p-24, n = g.K + 2, gamma = n * u / (1 - n * u);
  std::vector<Verdict> rows(g.M);
  const auto check_row = [&](int row) {
    std::vector<double> reference(g.N, 0.0), magnitude(g.N, 0.0);
    for (int k = 0; k < g.K; ++k) {
      const double a = alpha * operands.A[std::size_t(row) * g.K + k];
      const float* b = &operands.B[std::size_t(k) * g.N];
      for (int col = 0; col < g.N; ++col) {
        reference[col] += a * b[col];
        magnitude[col] += std::abs(a * b[col]);
      }
    }
    Verdict& verdict = rows[row];
    verdict.ok = true;
    for (int col = 0; col < g.N; ++col) {
      const std::size_t at = std::size_t(row) * g.N + col;
      if (beta != 0) {
        reference[col] += beta * operands.C[at];
        magnitude[col] += std::abs(beta * operands.C[at]);
      }
      double bound = gamma * magnitude[col];
      if (c.fill == Fill::integers) {
        bound = 0;
        reference[col] = rounded_to(type, float(reference[col]));
      } else {
        bound += half_unit_of(type) * (std::abs(reference[col]) + bound);
      }
      double error = std::abs(double(result[at]) - reference[col]);
      const bool good = error <= bound;  // false for NaN
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      verdict.worst_error = std::max(verdict.worst_error, error);
      if (bound > 0) verdict.worst_ratio = std::max(verdict.worst_ratio, error / bound);
      if (!good && verdict.ok) {
        verdict.ok = false;
        verdict.message = fmt::format("C[{}][{}] is {}, the reference {} (bound {:.3g})", row, col, result[at],
                                      reference[col], bound);
      }
    }
  };
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (int row = int(t); row < g.M; row += int(threads)) check_row(row);
    });
  for (auto& thread : pool) thread.join();

  Verdict total;
  total.ok = true;
  for (const Verdict& row : rows) {
    total.worst_error = std::max(total.worst_error, row.worst_error);
    total.worst_ratio = std::max(total.worst_ratio, row.worst_ratio);
    if (total.ok && !row.ok) total.ok = false, total.message = row.message;
  }
  return total;
}

Verdict check(const Launchable& kernel, const Case& c) {
  const BoundCase bound(kernel, c);
  const Operands& operands = bound.operands;
  bound.kernel->run();
  machine::synchronize();
  Verdict verdict = compare(operands, bound.problem, operands.download_C());
  if (const std::string damage = operands.overwritten(); verdict.ok && !damage.empty()) {
    verdict.ok = false;
    verdict.message = damage;
  }
  return verdict;
}

Case at_depth(Case c, int K) {
  const int fewer = c.K - K;
  c.K = K;
  if (c.layout_A == Layout::rows) c.pads.A += fewer;
  if (c.layout_B == Layout::columns) c.pads.B += fewer;
  return c;
}

std::string describe(const Case& c) {
  return fmt::format("{} x {} x {}, alpha {}, beta {}, lda {}, ldb {}, ldc {}, offsets {}, {}, {}", c.M, c.N, c.K,
                     c.alpha, c.beta, c.lda(), c.ldb(), c.ldc(), c.offset + c.offsets.A, c.offset + c.offsets.B,
                     c.offset + c.offsets.C);
}

std::string first_failure(const Launchable& kernel, const std::vector<Case>& cases) {
  for (const Case& c : cases)
    if (const Verdict verdict = check(kernel, c); !verdict.ok)
      return fmt::format("{}: {}", describe(c), verdict.message);
  return "";
}

std::vector<Case> ragged_cases() {
  std::vector<Case> cases;
  for (const auto& [M, N, K] :
       std::vector<std::array<int, 3>>{{1, 1, 1}, {32, 32, 32}, {33, 65, 17}, {96, 40, 129}, {5, 200, 3}, {130, 2, 64}})
    cases.push_back({M, N, K, 1, 0, 0, Fill::integers});
  return cases;
}

std::vector<Case> padded_cases() {
  std::vector<Case> cases;
  for (const int pad : {1, 7, 32}) cases.push_back({45, 34, 67, 1, 2, pad, Fill::integers, 1, 0, {0, 3, 5}});
  return cases;
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

std::vector<Case> one_ragged_extent(const Tile& tile) {
  std::vector<Case> cases;
  const Case whole{tile.BM, tile.BN, 2 * tile.BK, 1, 0, 0, Fill::integers};
  for (int Case::*const extent : {&Case::M, &Case::N, &Case::K})
    for (const int change : {-1, 1}) {
      Case c = whole;
      c.*extent += change;
      if (change > 0) c.beta = 2, c.pad = 5;  // C is read as well, and rows end before the next begin
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
