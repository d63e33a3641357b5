#include "common/bench/run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tile {
namespace {

// Adds the summary of one side's times, with `side` as a prefix of the names.
void add_times(Record& summary, const std::string& side, const Record& run, const std::vector<double>& samples) {
  const auto [median, low, high] = spread_of(samples);
  summary.update({{side + "median_ms", median}, {side + "low_ms", low}, {side + "high_ms", high}});
  summary[side + "tflops"] = tflops_of(run.at("M"), run.at("N"), run.at("K"), median);
}

// Adds the ratios of the other side's times to the kernel's, pair by pair.
void add_ratios(Record& summary, const std::string& side, const std::vector<double>& ms, std::vector<double> other_ms) {
  if (ms.empty() || ms.size() != other_ms.size()) throw RecordError("the samples do not form pairs");
  std::ranges::transform(other_ms, ms, other_ms.begin(), std::divides());
  const auto [median, low, high] = spread_of(other_ms);
  summary.update({{side + "ratio", median}, {side + "ratio_low", low}, {side + "ratio_high", high}});
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double q) { return samples[std::size_t(q * double(samples.size() - 1) + 0.5)]; };
  const std::size_t n = samples.size();
  return {(samples[(n - 1) / 2] + samples[n / 2]) / 2, at(0.1), at(0.9)};
}

double tflops_of(double M, double N, double K, double ms) { return 2 * M * N * K * 1e-9 / ms; }

double to_nanosecond(double ms) { return std::round(ms * 1e6) / 1e6; }

std::vector<std::size_t> order_of_iteration(std::size_t sides, std::size_t iteration) {
  std::vector<std::size_t> order(sides);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < iteration; ++i) std::next_permutation(order.begin(), order.end());
  return order;
}

std::string stronger_of(const Record& run) {
  const bool lt = run.contains("lt_median_ms") && run.at("lt_median_ms") < run.at("cublas_median_ms");
  return lt ? "cuBLASLt" : "cublasGemmEx";
}

Record summary_of(const Record& run) {
  const std::vector<double> ms = run.at("samples_ms");
  Record summary{{"repetitions", ms.size()}};
  add_ratios(summary, "", ms, run.at("cublas_samples_ms"));  // first, because it rejects empty samples
  add_times(summary, "", run, ms);
  add_times(summary, "cublas_", run, run.at("cublas_samples_ms"));
  if (!run.contains("lt_search")) return summary;
  if (run.contains("lt_samples_ms")) {
    add_ratios(summary, "lt_", ms, run.at("lt_samples_ms"));
    add_times(summary, "lt_", run, run.at("lt_samples_ms"));
  }
  const std::string stronger = stronger_of(summary) == "cuBLASLt" ? "lt_" : "cublas_";
  summary["stronger_tflops"] = summary.at(stronger + "tflops");
  add_ratios(summary, "stronger_", ms, run.at(stronger + "samples_ms"));
  return summary;
}

}  // namespace tile
