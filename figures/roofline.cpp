#include "roofline.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/bench/gpu.hpp"
#include "drawing.hpp"
#include "traces.hpp"

namespace tile::figures {

Roofs roofs_of(const Record& rates) {
  const GpuSpec& gpu = h200;
  const double cycles = gpu.sms * gpu.clock_ghz;
  return {rates.value("ffma_tflops", gpu.peak_tflops()), rates.value("shared_read_gbs", cycles * 128) * 1e-3,
          rates.value("l2_read_gbs", cycles * 64) * 1e-3, rates.value("dram_copy_gbs", gpu.dram_gbs) * 1e-3};
}

std::vector<RooflinePoint> points_without_kernels(const std::filesystem::path& emitted, const std::string& size,
                                                  const Roofs& roofs) {
  const double no_reuse = 2.0 / 8;  // flops over bytes of two operands
  std::vector<RooflinePoint> points{{"no reuse", "sm", no_reuse, no_reuse * roofs.sm},
                                    {"no reuse", "dram", no_reuse, no_reuse * roofs.dram}};
  const auto reached = fact(emitted, "rates.cublas_fp32_" + size), intensity = fact(emitted, "h200.intensity");
  if (reached && intensity) points.push_back({"cuBLAS", "dram", *intensity, *reached});
  return points;
}

namespace {

/// Where a name begins or ends, and whether it stands to the left of its point.
struct Place {
  double x;
  bool left;
};

// Beside its point, to the right or else to the left, or as far to the left as it must so that no roof goes through it.
Place place_of(const RooflinePoint& p, const Roofs& roofs) {
  // A letter's width and half its height, as factors: the axes are logarithmic, and a decade is so many pixels.
  const double letter = std::pow(10, 7.0 / 71), high = 1.2;
  const double left_edge = 0.02, right_edge = 2000;  // of the plot, as in roofline.gp
  const double wide = std::pow(letter, double(p.name.size()));
  const auto free = [&](double from, double to) {
    if (from < left_edge || to > right_edge) return false;
    for (const double roof : {roofs.sm, roofs.l2, roofs.dram})
      if (const double at = p.y / roof; at * high > from && at / high < to) return false;
    return true;
  };
  for (const double gap : {1.3, 1.4, 1.6, 2.0})
    for (const bool left : {false, true})
      if (const double x = left ? p.x / gap : p.x * gap; free(left ? x / wide : x, left ? x : x * wide))
        return {x, left};
  return {p.x, false};
}

}  // namespace

void write_roofline(const std::vector<RooflinePoint>& points, const Roofs& roofs, const std::filesystem::path& out) {
  std::string text;
  for (const RooflinePoint& p : points) {
    const Place place = place_of(p, roofs);
    text += fmt::format("\"{}\"\t{}\t{}\t{:.4f}\t{:.4f}\t{}\n", p.name, p.level, p.x, p.y, place.x,
                        place.left ? "left" : "right");
  }
  write_text(out, text);
  write_text(out.string() + ".rates",
             fmt::format("peak={}\nsm_tbs={}\nl2_tbs={}\ndram_tbs={}\n", roofs.peak, roofs.sm, roofs.l2, roofs.dram));
}

}  // namespace tile::figures
