#include "common/check/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>

namespace tile {
namespace {

constexpr std::size_t guard = 1024;  // elements before and after a matrix
constexpr float poison = std::numeric_limits<float>::quiet_NaN();

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Row-major rows x cols with leading dimension ld; padding is poison.
std::vector<float> make_matrix(int rows, int cols, int ld, Fill fill, std::uint64_t seed) {
  std::vector<float> matrix(std::size_t(rows) * ld, poison);
  const std::vector<float> values = make_values(std::size_t(rows) * cols, fill, seed);
  for (int row = 0; row < rows; ++row)
    std::copy_n(values.begin() + std::ptrdiff_t(row) * cols, cols, matrix.begin() + std::ptrdiff_t(row) * ld);
  return matrix;
}

}  // namespace

std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed) {
  std::mt19937_64 bits(seed);  // its sequence is fixed by the standard; distributions are not, so none is used
  std::vector<float> values(count);
  for (float& value : values) {
    const std::uint64_t word = bits();
    value = fill == Fill::integers ? float(int((word >> 32) % 7) - 3) : float(std::int32_t(word >> 32)) * 0x1p-31f;
  }
  return values;
}

void require_valid(const Gemm& g) {
  if (g.M < 1 || g.N < 1 || g.K < 1)
    throw std::invalid_argument(fmt::format("M, N and K must be at least 1, not {} x {} x {}", g.M, g.N, g.K));
  if (g.lda < g.K || g.ldb < g.N || g.ldc < g.N)
    throw std::invalid_argument(
        fmt::format("leading dimensions must cover the rows: lda {} >= K {}, ldb {} >= N {}, "
                    "ldc {} >= N {}",
                    g.lda, g.K, g.ldb, g.N, g.ldc, g.N));
}

Operands::Operands(const Case& c) : case_(c), first_(guard + std::size_t(c.offset)) {
  gemm_ = {c.M, c.N, c.K, c.alpha, nullptr, c.K + c.pad, nullptr, c.N + c.pad, c.beta, nullptr, c.N + c.pad};
  require_valid(gemm_);
  A = make_matrix(c.M, c.K, gemm_.lda, c.fill, c.seed);
  B = make_matrix(c.K, c.N, gemm_.ldb, c.fill, c.seed + 1);
  C = make_matrix(c.M, c.N, gemm_.ldc, c.fill, c.seed + 2);
  if (c.beta == 0.0f) std::fill(C.begin(), C.end(), poison);

  const auto place = [&](int slot, const std::vector<float>& host, const char* name, int rows, int cols, int ld) {
    std::vector<float> banded(host.size() + 2 * guard + std::size_t(c.offset), poison);
    std::copy(host.begin(), host.end(), banded.begin() + std::ptrdiff_t(first_));
    device_[slot] = machine::allocate(banded.size() * sizeof(float), sizeof(float), name);
    machine::copy_to_device(device_[slot], banded.data(), banded.size() * sizeof(float));
    machine::declare_matrix(device_[slot], first_, rows, cols, ld);
    return static_cast<float*>(device_[slot]) + first_;
  };
  gemm_.A = place(0, A, "A", c.M, c.K, gemm_.lda);
  gemm_.B = place(1, B, "B", c.K, c.N, gemm_.ldb);
  gemm_.C = place(2, C, "C", c.M, c.N, gemm_.ldc);
}

Operands::~Operands() {
  for (void* memory : device_)
    if (memory != nullptr) machine::release(memory);
}

void Operands::reset_C() { machine::copy_to_device(gemm_.C, C.data(), C.size() * sizeof(float)); }

std::vector<float> Operands::download_C() const {
  std::vector<float> result(C.size());
  machine::copy_to_host(result.data(), gemm_.C, result.size() * sizeof(float));
  return result;
}

std::string Operands::overwritten() const {
  std::vector<float> banded(C.size() + 2 * guard + std::size_t(case_.offset));
  machine::copy_to_host(banded.data(), device_[2], banded.size() * sizeof(float));
  for (std::size_t i = 0; i < banded.size(); ++i) {
    if (same_bits(banded[i], poison)) continue;
    if (i < first_) return fmt::format("wrote {} elements before C", first_ - i);
    const std::size_t at = i - first_;
    if (at >= C.size()) return fmt::format("wrote {} elements after C", at - C.size() + 1);
    const int row = int(at / gemm_.ldc), col = int(at % gemm_.ldc);
    if (col >= gemm_.N) return fmt::format("wrote C's padding at row {}, column {}", row, col);
  }
  return "";
}

Verdict compare(const Operands& operands, const Case& c, const std::vector<float>& result) {
  const Gemm& g = operands.gemm();
  const double u = 0x1p-24, n = g.K + 2, gamma = n * u / (1 - n * u);
  std::vector<Verdict> rows(g.M);
  const auto check_row = [&](int row) {
    std::vector<double> reference(g.N, 0.0), magnitude(g.N, 0.0);
    for (int k = 0; k < g.K; ++k) {
      const double a = double(g.alpha) * operands.A[std::size_t(row) * g.lda + k];
      const float* b = &operands.B[std::size_t(k) * g.ldb];
      for (int col = 0; col < g.N; ++col) {
        reference[col] += a * b[col];
        magnitude[col] += std::abs(a * b[col]);
      }
    }
    Verdict& verdict = rows[row];
    verdict.ok = true;
    for (int col = 0; col < g.N; ++col) {
      const std::size_t at = std::size_t(row) * g.ldc + col;
      if (g.beta != 0.0f) {
        reference[col] += double(g.beta) * operands.C[at];
        magnitude[col] += std::abs(double(g.beta) * operands.C[at]);
      }
      const double bound = c.fill == Fill::integers ? 0.0 : gamma * magnitude[col];
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
    if (total.ok && !row.ok) {
      total.ok = false;
      total.message = row.message;
    }
  }
  return total;
}

Verdict check(Launcher launcher, const Case& c) {
  Operands operands(c);
  launcher(operands.gemm());
  machine::synchronize();
  Verdict verdict = compare(operands, c, operands.download_C());
  if (const std::string damage = operands.overwritten(); verdict.ok && !damage.empty()) {
    verdict.ok = false;
    verdict.message = damage;
  }
  return verdict;
}

std::string first_failure(Launcher launcher, const std::vector<Case>& cases) {
  for (const Case& c : cases)
    if (const Verdict verdict = check(launcher, c); !verdict.ok)
      return fmt::format("{} x {} x {}, alpha {}, beta {}, pad {}, offset {}: {}", c.M, c.N, c.K, c.alpha, c.beta,
                         c.pad, c.offset, verdict.message);
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
  for (const int pad : {1, 7, 32}) cases.push_back({45, 34, 67, 1, 0, pad, Fill::integers});
  return cases;
}

std::vector<Case> misaligned_cases() {
  std::vector<Case> cases;
  for (const auto& [pad, offset] : std::vector<std::array<int, 2>>{{1, 0}, {2, 0}, {0, 1}, {4, 2}, {4, 3}})
    cases.push_back({128, 256, 32, 1, 0, pad, Fill::integers, 1, offset});
  return cases;
}

std::vector<Case> scaled_cases() {
  std::vector<Case> cases;
  for (const auto& [alpha, beta] : std::vector<std::array<float, 2>>{{2, 3}, {-1, 1}, {0, 2}, {1, -0.5f}})
    cases.push_back({40, 50, 60, alpha, beta, 3, Fill::integers});
  return cases;
}

}  // namespace tile
