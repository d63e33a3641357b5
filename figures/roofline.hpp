// The data of a roofline plot: points, and places for their names that no roof goes through.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile::figures {

/// What flops per second may be bought with: the peak, and bytes from three levels of memory. TFLOP/s and TB/s.
struct Roofs {
  double peak, sm, l2, dram;
};

/// As chapter 00 recorded them, or by the specification where it has not run yet.
Roofs roofs_of(const Record& rates);

struct RooflinePoint {
  std::string name;   ///< or none: the plot shows another point of the same kernel
  std::string level;  ///< whose bytes are counted: "sm" or "dram"
  double x, y;        ///< flops per byte, TFLOP/s
};

/// Where a multiply-add that loads both of its operands stands under the roofs, and where cuBLAS does.
std::vector<RooflinePoint> points_without_kernels(const std::filesystem::path& emitted, const std::string& size,
                                                  const Roofs& roofs);

/// For gnuplot: name, level, x, y, and the x at which its name ends (left) or begins (right); the roofs in OUT.rates.
void write_roofline(const std::vector<RooflinePoint>& points, const Roofs& roofs, const std::filesystem::path& out);

}  // namespace tile::figures
