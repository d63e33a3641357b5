// How two lists of numbers go together.
#pragma once

#include <vector>

namespace tile {

/// Spearman's rank correlation of two equally long lists: 1 when they rank their elements alike, -1 when oppositely.
/// Equal values share the mean of their ranks. (C. Spearman, "The proof and measurement of association between two
/// things", 1904.)
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// The slope of the straight line through the points (x, y) that least squares gives.
double slope_of(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace tile
