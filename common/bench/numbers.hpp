// Numbers as people read them, everywhere the same. In: a number. Out: its text.
#pragma once

#include <string>

namespace tile {

/// 1234567.0 -> "1,234,567"; three significant digits for small fractions; see Facts::predicted for `decimals`.
std::string format_number(double value, int decimals = -1);

/// 0.015625 -> "K/64", 1.125 -> "9K/8", 0 -> "-": a count for each unit of K as a multiple of K.
std::string multiple_of_K(double per_k);

}  // namespace tile
