// Statistics of the interleaved times of a kernel and of cuBLAS. In: samples. Out: medians, spreads, ratios.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// Median, 10th and 90th percentile of repeated measurements.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(std::vector<double> samples);

/// How often a problem is timed: 100 times, or 20 if it has more than 2 * 4096^3 operations.
constexpr int repetitions_of(double M, double N, double K) { return M * N * K <= 4096.0 * 4096 * 4096 ? 100 : 20; }

/// TFLOP/s of a product of these extents that takes `ms` milliseconds.
double tflops_of(double M, double N, double K, double ms);

/// Milliseconds rounded to a nanosecond: CUDA events resolve no more.
double to_nanosecond(double ms);

/// The summary of a run, from its extents and its interleaved pairs "samples_ms" and "cublas_samples_ms": repetitions, medians,
/// spreads, throughputs, and the spread of the paired ratio (cuBLAS's time over the kernel's). If cuBLASLt was searched
/// ("lt_search"), the same for "lt_samples_ms", and the spread of the ratio to the cuBLAS with the lower median.
/// Throws RecordError if the samples do not form pairs, nlohmann::json::exception if something is missing.
Record summary_of(const Record& run);

/// How many copies of a problem to rotate through: together three times as large as the L2, so that a call finds none of
/// its operands there; an even number from 4 to 256.
constexpr std::size_t copies_past_l2(std::size_t l2_bytes, std::size_t bytes_of_copy) {
  const std::size_t to_fill = (3 * l2_bytes + bytes_of_copy - 1) / bytes_of_copy;
  return std::clamp<std::size_t>((to_fill + 1) / 2 * 2, 4, 256);
}

/// The order in which the sides of a comparison are timed in an iteration: 0 is the kernel, 1 cuBLAS and, if there are three,
/// 2 cuBLASLt. Iterations cycle through all permutations, starting with the ascending one.
std::vector<std::size_t> order_of_iteration(std::size_t sides, std::size_t iteration);

/// Which of the two is the stronger one in a summarised run.
std::string stronger_of(const Record& run);

}  // namespace tile
