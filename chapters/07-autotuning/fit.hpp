// Sums of terms fitted to measured values.
#pragma once

#include <vector>

namespace tile {

/// values = weights * terms, as nearly as least squares can.
struct Fit {
  std::vector<double> weights;   ///< one for each term
  std::vector<double> left_out;  ///< what the other observations predict for each
};

/// Fits by least squares; `terms` are those of each observation. Throws std::invalid_argument unless there are more
/// observations than terms, and for terms of which one follows from the others.
Fit least_squares(const std::vector<std::vector<double>>& terms,
                  const std::vector<double>& values);

/// What weights predict for an observation with these terms.
double predicted_by(const std::vector<double>& weights, const std::vector<double>& terms);

/// The root of the mean square of predicted / measured - 1.
double relative_error(const std::vector<double>& predicted,
                      const std::vector<double>& measured);

}  // namespace tile
