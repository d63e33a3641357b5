// Freivalds' check: whether a product is right, by products with one vector. In: a problem and its result in a GPU's memory. Out:
// how far it lies from right. GPU programs only.
#pragma once

#include <cstdint>

#include "common/check/gemm.hpp"

namespace tile {

/// Freivalds' check in float64 on the GPU: with a random vector x of -1 and 1, C x must equal
/// alpha A (B x) + beta C0 x. `before` is C before the run (N elements a row) and may be null when beta is 0.
/// Returns the largest deviation of a row in units of the tolerance: exactly 0 is expected of integer inputs; for
/// random ones the tolerance is 8 u sqrt(K) |a_i| |B|_F, eight times the root-mean-square rounding error of a row
/// under independent roundings; where C has two bytes, eight times that of its own rounding is added. NaN gives infinity. (R. Freivalds, "Probabilistic machines can use less running
/// time", 1977.)
double freivalds(const Product& product, const float* before, std::uint64_t seed);

}  // namespace tile
