// From the interleaved times of a kernel and of cuBLAS to what follows from them. In: samples. Out: medians, spreads, ratios.
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

/// Whether the median of these samples is known well enough: half the distance between its quartiles over the square
/// root of their number, the size of the median's own spread, is less than a quarter of a percent of it. Never with
/// fewer than 20.
bool settled(std::vector<double> samples);

/// TFLOP/s of a product of these extents that takes so many milliseconds.
double tflops_of(double M, double N, double K, double ms);

/// Milliseconds without digits that no event of CUDA resolves.
double to_nanosecond(double ms);

/// What follows from a run's extents and its "samples_ms" and "cublas_samples_ms", interleaved pairs: repetitions, medians,
/// spreads, throughputs, and the spread of the paired ratio (cuBLAS's time over the kernel's). Where cuBLASLt was searched
/// ("lt_search"), the same of "lt_samples_ms", and the spread of the ratio to the one with the lower median.
/// Throws RecordError when the samples do not come in pairs, nlohmann::json::exception when something is missing.
Record summary_of(const Record& run);

/// How many copies of a problem to rotate through: together three times as large as the L2, so that a call finds nothing
/// there that it uses; an even number from 4 to 256.
constexpr std::size_t copies_past_l2(std::size_t l2_bytes, std::size_t bytes_of_copy) {
  const std::size_t to_fill = (3 * l2_bytes + bytes_of_copy - 1) / bytes_of_copy;
  return std::clamp<std::size_t>((to_fill + 1) / 2 * 2, 4, 256);
}

/// In which order the sides of a comparison are timed in an iteration, 0 the kernel, 1 cuBLAS and, where there are three,
/// 2 cuBLASLt: all permutations one after the other, beginning with that of the numbers.
std::vector<std::size_t> order_of_iteration(std::size_t sides, std::size_t iteration);

/// What a run's samples say of a baseline by what ran right before it in its iteration.
struct ByPlace {
  double after_kernel = 0;  ///< its median time right after the kernel, over that where it begins an iteration
  double first_ratio = 0;   ///< its median time where it begins an iteration, over the kernel's where that begins one
  Spread apart;  ///< of the paired ratio, over the iterations in which it does not run right after the kernel

  /// Whether it takes over one percent longer right after the kernel, so that the ratio of all pairs flatters this.
  bool flatters() const { return after_kernel > 1.01; }
};
/// Of "cuBLASLt" or "cublasGemmEx"; nothing where the run has fewer iterations than orders.
std::optional<ByPlace> by_place(const Record& run, const std::string& baseline);

/// Which of the two is the stronger one in a run that has been summed up.
std::string stronger_of(const Record& run);

}  // namespace tile
