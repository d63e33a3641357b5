// Whether two lists of numbers agree.
#pragma once

#include <vector>

namespace tile {

/// Spearman's rank correlation of two equally long lists: 1 when they rank their elements alike, -1 when oppositely.
/// Equal values share the mean of their ranks. (C. Spearman, "The proof and measurement of association between two
/// things", 1904.)
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tile
