#include "common/records/run.hpp"

#include <algorithm>
#include <cmath>

namespace tile {

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

Record summary_of(const Record& run) {
  const double M = run.at("M"), N = run.at("N"), K = run.at("K");
  const std::vector<double> ms = run.at("samples_ms"), cublas_ms = run.at("cublas_samples_ms");
  std::vector<double> ratio;
  for (std::size_t i = 0; i < std::min(ms.size(), cublas_ms.size()); ++i) ratio.push_back(cublas_ms[i] / ms[i]);
  if (ratio.empty() || ms.size() != cublas_ms.size()) throw RecordError("samples do not come in pairs");
  const Spread own = spread_of(ms), other = spread_of(cublas_ms), paired = spread_of(ratio);
  return {{"repetitions", ms.size()},
          {"median_ms", own.median},
          {"low_ms", own.low},
          {"high_ms", own.high},
          {"tflops", tflops_of(M, N, K, own.median)},
          {"cublas_median_ms", other.median},
          {"cublas_low_ms", other.low},
          {"cublas_high_ms", other.high},
          {"cublas_tflops", tflops_of(M, N, K, other.median)},
          {"ratio", paired.median},
          {"ratio_low", paired.low},
          {"ratio_high", paired.high}};
}

}  // namespace tile
