#include "common/report/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "common/report/options.hpp"

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

}  // namespace

const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        std::vector<std::string>& passed_over) {
  for (const Record& tuning : tunings) {
    const std::string gpu = tuning["gpu"], chosen = tuning["chosen"];
    for (const Candidate& candidate : candidates)
      if (candidate.kernel.name == chosen) return candidate;
    passed_over.push_back(fmt::format("the tuning of {} chose {}, which this program does not have", gpu, chosen));
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.pruned.empty() != b.pruned.empty() ? !a.pruned.empty() : a.bound < b.bound;
  };
  return *std::max_element(candidates.begin(), candidates.end(), better);
}

const Candidate& tuned_choice(const std::vector<Candidate>& candidates) {
  std::vector<std::string> gpus{reference_gpu};
  if (machine::kind() == "gpu" && machine::unavailable().empty()) gpus.insert(gpus.begin(), machine::description());
  std::vector<Record> tunings;
  for (const std::string& gpu : gpus)
    if (const auto directory = record_directory(chapter_directory(), gpu); holds_record(directory, RecordKind::tuned))
      tunings.push_back(load_record(directory, RecordKind::tuned));
  std::vector<std::string> passed_over;
  const Candidate& choice = choose(candidates, tunings, passed_over);
  static std::set<std::string> said;
  for (const std::string& line : passed_over)
    if (said.insert(line).second) fmt::print(stderr, "chapter{:02}: {}\n", this_chapter().number, line);
  return choice;
}

void launch_tuned_kernel(const Gemm& g) {
  static const Launcher chosen = tuned_choice(this_chapter().candidates).kernel.launch;
  chosen(g);
}

Kernel tuned_kernel() { return {"tuned", launch_tuned_kernel, nullptr, 0, {}}; }

Kernel resolved(const Kernel& kernel) {
  if (kernel.address != nullptr || this_chapter().candidates.empty()) return kernel;
  Kernel chosen = tuned_choice(this_chapter().candidates).kernel;
  chosen.name = kernel.name;
  return chosen;
}

std::vector<Kernel> resolved_kernels() {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : this_chapter().kernels) kernels.push_back(resolved(kernel));
  return kernels;
}

std::vector<Timed> timed_with_costs(const Record& tuning, const std::vector<Costs>& costs) {
  const double size = tuning.at("size"), fmas = size * size * size / 32;
  const double cycles_per_ms = tuning.at("clock_hz").get<double>() * tuning.at("sms").get<double>() * 1e-3;
  std::vector<Timed> found;
  for (const Costs& c : costs) {
    const Record* timed = find_timed(tuning, c.name);
    if (timed == nullptr || timed->at("spill_bytes") != 0) continue;
    found.push_back({c, timed->at("blocks_per_sm").get<double>() * timed->at("block_threads").get<double>() / 32,
                     timed->at("registers"), timed->at("median_ms").get<double>() * cycles_per_ms / fmas,
                     timed->at("tflops"), timed->at("pruned")});
  }
  return found;
}

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

double relative_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) sum += std::pow(predicted[i] / measured[i] - 1, 2);
  return std::sqrt(sum / double(predicted.size()));
}

}  // namespace tile
