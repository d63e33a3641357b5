#include "common/bench/run.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tile {
namespace {

// What one side's times come to; `side` begins their names.
void add_times(Record& summary, const std::string& side, const Record& run, const std::vector<double>& samples) {
  const Spread ms = spread_of(samples);
  summary[side + "median_ms"] = ms.median;
  summary[side + "low_ms"] = ms.low;
  summary[side + "high_ms"] = ms.high;
  summary[side + "tflops"] = tflops_of(run.at("M"), run.at("N"), run.at("K"), ms.median);
}

// The other side's times over the kernel's, pair by pair.
void add_ratios(Record& summary, const std::string& side, const std::vector<double>& ms,
                const std::vector<double>& other_ms) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ms.size(), other_ms.size()); ++i) ratios.push_back(other_ms[i] / ms[i]);
  if (ratios.empty() || ms.size() != other_ms.size()) throw RecordError("samples do not come in pairs");
  const Spread ratio = spread_of(ratios);
  summary[side + "ratio"] = ratio.median;
  summary[side + "ratio_low"] = ratio.low;
  summary[side + "ratio_high"] = ratio.high;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double q) { return samples[std::size_t(q * double(samples.size() - 1) + 0.5)]; };
  const std::size_t n = samples.size();
  return {(samples[(n - 1) / 2] + samples[n / 2]) / 2, at(0.1), at(0.9)};
}

bool settled(const std::vector<double>& samples) {
  constexpr std::size_t fewest = 20;
  constexpr double tolerance = 0.0025;
  if (samples.size() < fewest) return false;
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const double quartiles = sorted[3 * n / 4] - sorted[n / 4];
  return quartiles / 2 / std::sqrt(double(n)) < tolerance * sorted[n / 2];
}

double tflops_of(double M, double N, double K, double ms) { return 2 * M * N * K * 1e-9 / ms; }

double to_nanosecond(double ms) { return std::round(ms * 1e6) / 1e6; }

std::vector<std::size_t> order_of_round(std::size_t sides, std::size_t round) {
  std::vector<std::size_t> order(sides);
  std::iota(order.begin(), order.end(), 0);
  std::size_t orders = 1;
  for (std::size_t side = 2; side <= sides; ++side) orders *= side;
  for (std::size_t i = 0; i < round % orders; ++i) std::next_permutation(order.begin(), order.end());
  return order;
}

std::optional<ByPlace> by_place(const Record& run, std::size_t other) {
  const std::size_t sides = run.contains("lt_samples_ms") ? 3 : 2, orders = sides == 3 ? 6 : 2;
  const std::vector<double> ms = run.at("samples_ms"),
                            other_ms = run.at(other == 2 ? "lt_samples_ms" : "cublas_samples_ms");
  if (ms.size() < orders) return std::nullopt;
  std::vector<double> kernel_first, first, behind, apart;
  for (std::size_t round = 0; round < ms.size(); ++round) {
    const std::vector<std::size_t> order = order_of_round(sides, round);
    const auto place = std::size_t(std::find(order.begin(), order.end(), other) - order.begin());
    if (order[0] == 0) kernel_first.push_back(ms[round]);
    if (place == 0) first.push_back(other_ms.at(round));
    if (place > 0 && order[place - 1] == 0)
      behind.push_back(other_ms.at(round));
    else
      apart.push_back(other_ms.at(round) / ms[round]);
  }
  const double begins = spread_of(first).median;
  return ByPlace{spread_of(behind).median / begins, begins / spread_of(kernel_first).median, spread_of(apart)};
}

std::optional<ByPlace> stronger_by_place(const Record& run) {
  return by_place(run, stronger_of(run) == "cuBLASLt" ? 2 : 1);
}

std::string stronger_of(const Record& run) {
  const bool lt = run.contains("lt_median_ms") && run.at("lt_median_ms") < run.at("cublas_median_ms");
  return lt ? "cuBLASLt" : "cublasGemmEx";
}

Record summary_of(const Record& run) {
  const std::vector<double> ms = run.at("samples_ms");
  Record summary{{"repetitions", ms.size()}};
  add_ratios(summary, "", ms, run.at("cublas_samples_ms"));  // first: it refuses what is empty
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
