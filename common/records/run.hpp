// From the times of a kernel and of cuBLAS, measured in turn, to what a record says of them.
#pragma once

#include <string>
#include <vector>

#include "common/records/record.hpp"

namespace tile {

/// Median, 10th and 90th percentile of repeated measurements.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(std::vector<double> samples);

/// Whether the median of these samples is known well enough: half the distance between its quartiles over the square root
/// of their number, the size of the median's own spread, is less than a quarter of a percent of it. Never with fewer than 20.
bool settled(const std::vector<double>& samples);

/// TFLOP/s of a product of these extents that takes so many milliseconds.
double tflops_of(double M, double N, double K, double ms);

/// Milliseconds without digits that no event of CUDA resolves.
double to_nanosecond(double ms);

/// What follows from a run's extents M, N, K and its "samples_ms" and "cublas_samples_ms", pairs of times measured one after
/// the other: repetitions, medians, spreads, throughputs, and the spread of the paired ratio (cuBLAS's time over the
/// kernel's). Where cuBLASLt was searched as well ("lt_search"), the same of "lt_samples_ms", unless it suggested nothing, and the
/// spread of the paired ratio to the stronger of the two, the one with the lower median. Written by whoever measures, computed
/// again by whoever checks. Throws RecordError when the samples do not come in pairs, nlohmann::json::exception when something
/// is missing.
Record summary_of(const Record& run);

/// Which of the two is the stronger one in a run that has been summed up: "cuBLASLt" or "cublasGemmEx".
std::string stronger_of(const Record& run);

}  // namespace tile
