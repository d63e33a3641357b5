#include "common/check/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>

namespace tile {
namespace {

constexpr std::size_t guard = 1024;  // elements before and after a matrix, and of a row's padding at most

// What lies around A, B and C are signalling NaNs: arithmetic with one changes its bits, a copy takes it elsewhere. C
// before a run that must not read it holds a fourth.
constexpr std::uint32_t band_bits[3] = {0x7fa0000a, 0x7fa0000b, 0x7fa0000c};
constexpr std::uint32_t unread_bits = 0x7fa000dd;

std::vector<float> repeated(std::uint32_t bits, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) std::memcpy(&value, &bits, sizeof value);
  return values;
}

bool has_bits(float value, std::uint32_t bits) { return std::memcmp(&value, &bits, sizeof bits) == 0; }

std::size_t guarded_padding(int ld, int cols) { return std::min(std::size_t(ld - cols), guard); }

void upload(float* device, const std::vector<float>& values) {
  machine::copy_to_device(device, values.data(), values.size() * sizeof(float));
}

// Device memory for a rows x cols matrix of leading dimension ld that begins `first` elements after a boundary.
void* place(const std::vector<float>& host, const char* name, std::uint32_t bits, int rows, int cols, int ld,
            std::size_t first) {
  const std::size_t extent = std::size_t(rows) * ld;
  void* memory = machine::allocate((first + extent + guard) * sizeof(float), sizeof(float), name);
  float* matrix = static_cast<float*>(memory) + first;
  upload(matrix - first, repeated(bits, first));
  upload(matrix + extent, repeated(bits, guard));
  std::vector<float> padded = repeated(bits, cols + guarded_padding(ld, cols));
  for (int row = 0; row < rows; ++row) {
    std::copy_n(host.begin() + std::ptrdiff_t(row) * cols, cols, padded.begin());
    upload(matrix + std::size_t(row) * ld, padded);
  }
  machine::declare_matrix(memory, first, rows, cols, ld);
  return memory;
}

}  // namespace

std::vector<float> make_values(std::size_t count, Fill fill, std::uint64_t seed) {
  std::mt19937_64 bits(seed);  // its sequence is fixed by the standard; distributions are not, so none is used
  std::vector<float> values(count);
  if (fill == Fill::zeros) return values;
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

Operands::Operands(const Case& c) : first_of_C_(guard + std::size_t(c.offset + c.offsets.C)) {
  gemm_ = {c.M, c.N, c.K, c.alpha, nullptr, c.lda(), nullptr, c.ldb(), c.beta, nullptr, c.ldc()};
  require_valid(gemm_);
  A = make_values(std::size_t(c.M) * c.K, c.fill, c.seed);
  B = make_values(std::size_t(c.K) * c.N, c.fill, c.seed + 1);
  C = c.beta == 0.0f ? repeated(unread_bits, std::size_t(c.M) * c.N)
                     : make_values(std::size_t(c.M) * c.N, c.fill, c.seed + 2);
  const std::size_t first_of_A = guard + std::size_t(c.offset + c.offsets.A);
  const std::size_t first_of_B = guard + std::size_t(c.offset + c.offsets.B);
  try {
    device_[0] = place(A, "A", band_bits[0], c.M, c.K, c.lda(), first_of_A);
    device_[1] = place(B, "B", band_bits[1], c.K, c.N, c.ldb(), first_of_B);
    device_[2] = place(C, "C", band_bits[2], c.M, c.N, c.ldc(), first_of_C_);
  } catch (...) {
    release();
    throw;
  }
  gemm_.A = static_cast<float*>(device_[0]) + first_of_A;
  gemm_.B = static_cast<float*>(device_[1]) + first_of_B;
  gemm_.C = static_cast<float*>(device_[2]) + first_of_C_;
}

Operands::~Operands() { release(); }

void Operands::release() {
  for (void* memory : device_)
    if (memory != nullptr) machine::release(memory);
}

std::vector<float> Operands::download_C() const {
  std::vector<float> result(C.size());
  for (int row = 0; row < gemm_.M; ++row)
    machine::copy_to_host(result.data() + std::size_t(row) * gemm_.N, gemm_.C + std::size_t(row) * gemm_.ldc,
                          gemm_.N * sizeof(float));
  return result;
}

std::string Operands::overwritten() const {
  // The position of the first element of a band that has changed, or -1.
  const auto changed = [](const float* device, std::size_t count) {
    std::vector<float> band(count);
    machine::copy_to_host(band.data(), device, count * sizeof(float));
    const auto it = std::find_if(band.begin(), band.end(), [](float v) { return !has_bits(v, band_bits[2]); });
    return it == band.end() ? -1 : it - band.begin();
  };
  if (const auto at = changed(gemm_.C - first_of_C_, first_of_C_); at >= 0)
    return fmt::format("wrote {} elements before C", first_of_C_ - std::size_t(at));
  const std::size_t padding = guarded_padding(gemm_.ldc, gemm_.N);
  for (int row = 0; padding > 0 && row < gemm_.M; ++row)
    if (const auto at = changed(gemm_.C + std::size_t(row) * gemm_.ldc + gemm_.N, padding); at >= 0)
      return fmt::format("wrote C's padding at row {}, column {}", row, gemm_.N + at);
  if (const auto at = changed(gemm_.C + std::size_t(gemm_.M) * gemm_.ldc, guard); at >= 0)
    return fmt::format("wrote {} elements after C", at + 1);
  return "";
}

Verdict compare(const Operands& operands, const Case& c, const std::vector<float>& result) {
  const Gemm& g = operands.gemm();
  const double u = 0x1p-24, n = g.K + 2, gamma = n * u / (1 - n * u);
  std::vector<Verdict> rows(g.M);
  const auto check_row = [&](int row) {
    std::vector<double> reference(g.N, 0.0), magnitude(g.N, 0.0);
    for (int k = 0; k < g.K; ++k) {
      const double a = double(g.alpha) * operands.A[std::size_t(row) * g.K + k];
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

std::string describe(const Case& c) {
  return fmt::format("{} x {} x {}, alpha {}, beta {}, lda {}, ldb {}, ldc {}, offsets {}, {}, {}", c.M, c.N, c.K,
                     c.alpha, c.beta, c.lda(), c.ldb(), c.ldc(), c.offset + c.offsets.A, c.offset + c.offsets.B,
                     c.offset + c.offsets.C);
}

std::string first_failure(Launcher launcher, const std::vector<Case>& cases) {
  for (const Case& c : cases)
    if (const Verdict verdict = check(launcher, c); !verdict.ok)
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

std::vector<Case> whole_tiles(const Tile& tile) {
  return {{tile.BM, tile.BN, tile.BK, 1, 0, 0, Fill::integers},
          {2 * tile.BM, tile.BN, 2 * tile.BK, 1, 0, 4, Fill::integers},
          {tile.BM, 3 * tile.BN, 3 * tile.BK, -2, 3, 8, Fill::integers, 1, 0, {4, 8, 12}, {8, 4, 12}}};
}

std::vector<Case> misaligned_cases(const Tile& tile) {
  std::vector<Case> cases;
  for (PerMatrix Case::*const what : {&Case::pads, &Case::offsets})
    for (int PerMatrix::*const matrix : {&PerMatrix::A, &PerMatrix::B, &PerMatrix::C})
      for (const int elements : {1, 2, 3}) {
        cases.push_back({tile.BM, tile.BN, tile.BK, 1, 2, 0, Fill::integers});
        cases.back().*what.*matrix = elements;
      }
  return cases;
}

}  // namespace tile
