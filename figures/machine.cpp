// The levels of the machine with the rates that chapter 00 measured, and what a multiply-add asks of them.
#include <fmt/format.h>

#include <stdexcept>

#include "common/predict/gpu.hpp"
#include "common/records/numbers.hpp"
#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {

// A pipe is as wide as the rate of the level below it. Beside it: which share of the multiply-adds it feeds if none reuses anything.
void draw_rates(const std::filesystem::path& emitted, const std::filesystem::path& out) {
  const GpuSpec& gpu = h200;
  const auto rate = [&](const char* key) { return fact(emitted, key).value_or(0); };
  const double tflops = rate("rates.ffma_tflops"), bytes_of_fma = 8, asked = tflops / 2 * bytes_of_fma;  // TB/s
  struct Level {
    std::string name, size;
    double tbs;
  };
  const std::vector<Level> levels{
      {"L1 and shared memory", fmt::format("{} KB in each of {} SMs", gpu.l1_bytes / 1024, gpu.sms),
       rate("rates.shared_read_gbs") * 1e-3},
      {"L2", "one for all SMs", rate("rates.l2_read_gbs") * 1e-3},
      {"DRAM", "where the matrices live", rate("rates.dram_copy_gbs") * 1e-3}};
  const double left = 10, width = 250, high = 46, pipe = 54, full = 170, note = left + width + 16;
  Drawing d(660, 24 + double(levels.size() + 1) * high + double(levels.size()) * pipe + 12);
  const auto number = [](double value, const char* unit) {
    return value > 0 ? format_number(value, 1) + unit : std::string("not yet measured");
  };
  double y = 12;
  const auto box = [&](const std::string& name, const std::string& size, const char* fill) {
    d.rect(left, y, width, high, fill, "var(--rule)", 0.35);
    d.text(left + width / 2, y + 20, name, "middle", 14);
    d.text(left + width / 2, y + 37, size, "middle", 12);
    y += high;
  };
  box(fmt::format("{} FP32 lanes", format_number(gpu.sms * gpu.fma_lanes, 0)),
      fmt::format("{} in each of {} SMs", gpu.fma_lanes, gpu.sms), "var(--accent)");
  d.text(note, y - high + 20, fmt::format("{} of multiply-adds", number(tflops, " TFLOP/s")), "start", 13);
  d.text(note, y - high + 37,
         fmt::format("without reuse {} bytes each: {} asked for", bytes_of_fma, number(asked, " TB/s")), "start", 12,
         "var(--muted)");
  for (const Level& level : levels) {
    const double wide = full * level.tbs / levels.front().tbs;
    if (level.tbs > 0) d.rect(left + (width - wide) / 2, y + 3, wide, pipe - 6, "var(--second)", "none", 0.8);
    d.text(note, y + 24, number(level.tbs, " TB/s"), "start", 13);
    if (level.tbs > 0)
      d.text(note, y + 41, fmt::format("{:.1f} percent of what is asked for", 100 * level.tbs / asked), "start", 12,
             "var(--muted)");
    y += pipe;
    box(level.name, level.size, "var(--third)");
  }
  d.save(out);
}

}  // namespace tile::figures
