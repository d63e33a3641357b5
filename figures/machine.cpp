// What an SM consists of; and the levels of the machine with the rates that chapter 00 measured, and what a multiply-add asks of them.
#include <fmt/format.h>

#include <stdexcept>

#include "common/bench/gpu.hpp"
#include "common/bench/numbers.hpp"
#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {

// The picture of the machine: its numbers are those of the arithmetic. Of an SM's quarters, which are alike, one is drawn in full.
void draw_sm(const std::filesystem::path& out) {
  const GpuSpec& gpu = h200;
  constexpr int quarters = GpuSpec::schedulers, banks = GpuSpec::banks, warps_of_row = 8, lanes_of_row = 16;
  const double font = telephone_label, left = 1, width = telephone_width - 2, inner = left + 10,
               inner_width = width - 20, middle = left + width / 2;
  const double top = 62, quarter_height = 318, like = 46, gap = 8,
               quarter = inner_width - (quarters - 1) * (like + gap);
  const double memory = top + quarter_height + 22, memory_height = 146, sm_bottom = memory + memory_height + 10;
  const auto kilobytes = [](double bytes) { return format_number(bytes / 1024, 0) + " KB"; };
  Drawing d(telephone_width, sm_bottom + 132);
  d.rect(left, 4, width, sm_bottom - 4, "none", "var(--ink)");
  d.text(inner, 25, fmt::format("one SM of {}: four quarters that are alike", gpu.sms), "start", font);
  d.text(inner, 48,
         fmt::format("room for {} warps ({} threads) of up to {} blocks", gpu.max_warps(),
                     format_number(gpu.max_threads), gpu.max_blocks),
         "start", font, "var(--muted)");
  const int warps = gpu.max_warps() / quarters, lanes = gpu.fma_lanes / quarters, picked = warps - 4;
  for (int q = 0; q < quarters; ++q) {
    const bool in_full = q == 0;
    const double x = in_full ? inner : inner + quarter + gap + (q - 1) * (like + gap), wide = in_full ? quarter : like;
    const double mid = x + wide / 2, part = x + 8, part_width = wide - 16;
    const auto label = [&](double y, const std::string& words, const char* fill = "var(--ink)") {
      if (in_full) d.text(mid, top + y, words, "middle", font, fill);
    };
    d.rect(x, top, wide, quarter_height, "var(--rule)", "var(--rule)", 0.3);
    label(21, fmt::format("{} resident warps", warps));
    const double slot = part_width / warps_of_row;
    for (int w = 0; w < warps; ++w)
      d.rect(part + w % warps_of_row * slot + 1, top + 30 + w / warps_of_row * 19, slot - 2, 16, "var(--third)", "none",
             in_full && w == picked ? 1 : 0.4);
    if (in_full) {
      const double at = part + (picked % warps_of_row + 0.5) * slot;
      d.line(at, top + 30 + 19 + 16, at, top + 82);
    }
    d.rect(part, top + 82, part_width, 48, "var(--second)");
    label(102, "scheduler", "var(--paper)");
    label(122, "1 issue slot a cycle", "var(--paper)");
    label(155, fmt::format("{} registers", format_number(gpu.registers / quarters)));
    for (int bank = 0; bank < 2; ++bank)
      d.rect(part + bank * part_width / 2 + 1, top + 164, part_width / 2 - 2, 34, "var(--fourth)", "none", 0.45);
    for (int bank = 0; bank < 2 && in_full; ++bank)
      d.text(part + (bank + 0.5) * part_width / 2, top + 186, bank == 0 ? "even" : "odd", "middle", font);
    label(222, fmt::format("{} FP32 lanes", lanes));
    const double lane = part_width / lanes_of_row;
    for (int l = 0; l < lanes; ++l)
      d.rect(part + l % lanes_of_row * lane + 0.4, top + 231 + l / lanes_of_row * 17, lane - 0.8, 15, "var(--accent)");
    label(285, "load/store and other units", "var(--muted)");
    d.line(mid, top + quarter_height, mid, memory);
  }
  d.rect(inner, memory, inner_width, memory_height, "none", "var(--axis)");
  d.text(inner + 8, memory + 22, fmt::format("L1 and shared memory, one array of {};", kilobytes(gpu.l1_bytes)),
         "start", font);
  d.text(inner + 8, memory + 43, fmt::format("at most {} of it shared", kilobytes(gpu.shared_bytes)), "start", font);
  const double bank = (inner_width - 16) / banks, cells = memory + 54;
  for (int b = 0; b < banks; ++b) {
    d.rect(inner + 8 + b * bank + 0.5, cells, bank - 1, 34, "var(--accent)", "none", 0.35);
    if (b % 8 == 0 || b == banks - 1)
      d.text(inner + 8 + (b + 0.5) * bank, cells + 52, std::to_string(b), "middle", font, "var(--muted)");
  }
  d.text(inner + 8, cells + 78,
         fmt::format("{} banks, {} bytes each: {} bytes a wavefront", banks, GpuSpec::bank_bytes,
                     banks * GpuSpec::bank_bytes),
         "start", font, "var(--muted)");
  const double l2 = sm_bottom + 20, dram = l2 + 64;
  d.line(middle, sm_bottom, middle, l2);
  d.rect(left, l2, width, 44, "var(--third)", "var(--rule)", 0.35);
  d.text(middle, l2 + 27, fmt::format("L2: one for all {} SMs", gpu.sms), "middle", font);
  d.line(middle, l2 + 44, middle, dram);
  d.rect(left, dram, width, 44, "var(--rule)", "var(--rule)", 0.6);
  d.text(middle, dram + 27,
         fmt::format("DRAM, where matrices live: {} GB/s, as specified", format_number(gpu.dram_gbs)), "middle", font);
  d.save(out);
}

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
  const double left = 2, width = 204, high = 52, pipe = 56, full = 150, note = left + width + 12,
               font = telephone_label;
  Drawing d(telephone_width, 20 + double(levels.size() + 1) * high + double(levels.size()) * pipe);
  const auto number = [](double value, const char* unit) {
    return value > 0 ? format_number(value, 1) + unit : std::string("not yet measured");
  };
  double y = 10;
  const auto box = [&](const std::string& name, const std::string& size, const char* fill) {
    d.rect(left, y, width, high, fill, "var(--rule)", 0.35);
    d.text(left + width / 2, y + 21, name, "middle", font);
    d.text(left + width / 2, y + 42, size, "middle", font);
    y += high;
  };
  box(fmt::format("{} FP32 lanes", format_number(gpu.sms * gpu.fma_lanes, 0)),
      fmt::format("{} in each of {} SMs", gpu.fma_lanes, gpu.sms), "var(--accent)");
  d.text(note, y - high + 12, fmt::format("{} of multiply-adds", number(tflops, " TFLOP/s")), "start", font);
  d.text(note, y - high + 32, fmt::format("without reuse {} bytes each:", bytes_of_fma), "start", font, "var(--muted)");
  d.text(note, y - high + 51, fmt::format("{} asked for", number(asked, " TB/s")), "start", font, "var(--muted)");
  for (const Level& level : levels) {
    const double wide = full * level.tbs / levels.front().tbs;
    if (level.tbs > 0) d.rect(left + (width - wide) / 2, y + 3, wide, pipe - 6, "var(--second)", "none", 0.8);
    d.text(note, y + 26, number(level.tbs, " TB/s"), "start", font);
    if (level.tbs > 0)
      d.text(note, y + 46, fmt::format("{:.1f} percent of what is asked for", 100 * level.tbs / asked), "start", font,
             "var(--muted)");
    y += pipe;
    box(level.name, level.size, "var(--third)");
  }
  d.save(out);
}

}  // namespace tile::figures
