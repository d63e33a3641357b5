// The rates of the reference GPU, as chapter 00 recorded them. In: the directory of the chapters. Out: rates.
#pragma once

#include <filesystem>

#include "common/bench/ceilings.hpp"

namespace tile {

/// What chapter 00 recorded; without a record the specification stands in, and no bandwidths.
Rates recorded_rates(const std::filesystem::path& chapters);

}  // namespace tile
