// The search of chapter 07: how the space shrinks, and what registers do to the warps that fit.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "common/bench/gpu.hpp"
#include "common/bench/record.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {

// Each bar is what is left of the one above it.
void draw_funnel(const std::filesystem::path& emitted, const std::filesystem::path& out) {
  const auto number = [&](const std::string& key) {
    const auto found = fact(emitted, "space." + key);
    if (!found) throw std::runtime_error(fmt::format("no fact space.{} in {}", key, emitted.string()));
    return long(*found);
  };
  struct Bar {
    long left;
    std::string rule;
  };
  const long all = number("all"), valid = number("valid"), by_registers = number("by_registers"),
             by_occupancy = number("by_occupancy"), by_bound = number("by_bound");
  const std::vector<Bar> bars{
      {all, "combinations"},
      {valid, fmt::format("are valid: {} break a constraint", all - valid)},
      {valid - by_registers, fmt::format("have registers enough: {} would spill", by_registers)},
      {valid - by_registers - by_occupancy, fmt::format("have warps enough: {} have not", by_occupancy)},
      {number("left"), fmt::format("may be fast: the bound drops {}", by_bound)},
      {1, "is chosen, by measuring those"}};
  if (bars[4].left != bars[3].left - by_bound) throw std::runtime_error("the pruned do not add up");
  const double full = 116, high = 28, gap = 10, middle = full / 2 + 2, note = full + 56, font = telephone_label;
  Drawing d(telephone_width, double(bars.size()) * (high + gap) + 8);
  double y = 6;
  for (const Bar& bar : bars) {
    const double wide = std::max(2.0, full * double(bar.left) / double(all));
    d.rect(middle - wide / 2, y, wide, high, "var(--accent)", "none", 0.85);
    d.text(note - 10, y + 20, std::to_string(bar.left), "end", font);
    d.text(note, y + 20, bar.rule, "start", font);
    y += high + gap;
  }
  d.save(out);
}

// For each configuration that was timed: registers a thread, resident warps of an SM, TFLOP/s, and whether it spills. In OUT.edge the
// most registers with which as many warps fit as the best configuration has.
void gather_cliff(const std::filesystem::path& chapters, const std::filesystem::path& out) {
  std::string text;
  int best_registers = 0;
  double best = 0;
  for (const auto& entry : std::filesystem::directory_iterator(chapters)) {
    const auto directory = record_directory(entry.path(), reference_gpu);
    if (!holds_record(directory, RecordKind::tuned)) continue;
    const Record record = load_record(directory, RecordKind::tuned);
    for (const auto& c : record["candidates"]) {
      const int registers = c["registers"], warps = int(c["blocks_per_sm"]) * int(c["block_threads"]) / GpuSpec::warp;
      const double tflops = c["tflops"];
      text += fmt::format("{}\t{}\t{:.4f}\t{}\n", registers, warps, tflops, int(c["spill_bytes"]) > 0 ? 1 : 0);
      if (tflops > best) best = tflops, best_registers = registers;
    }
  }
  const auto warps_with = [](int registers) { return occupancy(h200, GpuSpec::warp, registers, 0).by_registers; };
  int edge = best_registers;
  while (best_registers > 0 && warps_with(edge + 1) == warps_with(best_registers)) ++edge;
  std::string fits;
  for (int registers = 30; registers <= 255; ++registers)
    fits += fmt::format("{}\t{}\n", registers, warps_with(registers));
  write_text(out, text.empty() ? "40\t0\t0\t0\n" : text);
  write_text(out.string() + ".fits", fits);
  write_text(out.string() + ".edge",
             fmt::format("edge={}\nwarps={}\nbehind={}\n", edge, warps_with(edge), warps_with(edge + 1)));
}

}  // namespace tile::figures
