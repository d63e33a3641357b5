// Bars of a chapter's facts: the rates of the machine's levels, and what a warp waits for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/bench/gpu.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/text.hpp"
#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {

// A pipe is as wide as the rate of the level below it. Beside it: which share of the multiply-adds it feeds if none reuses anything.
void draw_rates(const Path& emitted, const Path& out) {
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

namespace {

struct Reason {
  std::string name;
  std::vector<double> cycles;  ///< of each kernel
  double most() const { return *std::max_element(cycles.begin(), cycles.end()); }
};

}  // namespace

void draw_stalls(const Path& emit, const Path& out, const Kernels& kernels) {
  const auto cycles_of = [&](const std::string& key) {  // of each kernel
    std::vector<double> cycles;
    for (const std::string& kernel : kernels)
      cycles.push_back(fact(emit / kernel.substr(0, 2), kernel.substr(3) + ".profile." + key).value_or(0));
    return cycles;
  };
  const std::vector<double> latency = cycles_of("latency");
  std::vector<Reason> reasons;
  for (const auto& [name, key] : stalls)
    reasons.push_back({std::string(name).substr(0, std::string(name).find(" (")), cycles_of(key)});
  // The two reasons that are not stalls come first; of the others the largest are named, the rest summed. Full and pale alternate.
  constexpr std::size_t no_waits = 2;
  constexpr struct {
    const char* colour;
    bool pale;
  } inks[] = {{"var(--third)", false},  {"var(--accent)", true}, {"var(--second)", false}, {"var(--fourth)", true},
              {"var(--accent)", false}, {"var(--third)", true},  {"var(--fourth)", false}, {"var(--muted)", true}};
  std::stable_sort(reasons.begin() + no_waits, reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.most() > b.most(); });
  reasons.resize(std::size(inks) - 1);
  Reason others{"everything else", latency};
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (const Reason& reason : reasons) others.cycles[k] -= reason.cycles[k];
  reasons.push_back(others);

  const double longest = *std::max_element(latency.begin(), latency.end());
  const double left = 4, wide = 400, high = 28, row = 60, axis = double(kernels.size()) * row + 8, below = axis + 62,
               legend = 24, font = telephone_label;
  Drawing d(telephone_width, below + legend * double(reasons.size()));
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::string name = kernels[k].substr(3);
    const double y = 22 + double(k) * row;
    d.text(left, y - 6, name == "cublas" ? "cuBLAS" : kernels[k].substr(0, 2) + " " + name, "start", font);
    double x = left;
    for (std::size_t r = 0; r < reasons.size() && longest > 0; ++r) {
      const double cycles = std::max(0.0, reasons[r].cycles[k]), w = wide * cycles / longest;
      d.segment(x, y, w > 4 ? w - 1.5 : w, high, inks[r].colour, inks[r].pale);  // the page between them separates them
      if (w > 36)
        d.text(x + w / 2, y + 20, fmt::format("{:.2f}", cycles), "middle", font,
               inks[r].pale ? "var(--ink)" : "var(--paper)");
      x += w;
    }
    d.text(x + 6, y + 20, longest > 0 ? fmt::format("{:.2f}", latency[k]) : "not yet measured", "start", font);
  }
  d.line(left, axis, left + wide, axis, "var(--axis)");
  for (int cycle = 0; cycle <= longest; ++cycle) {
    const double x = left + (longest > 0 ? cycle * wide / longest : 0);
    d.line(x, axis, x, axis + 5, "var(--axis)");
    d.text(x, axis + 21, std::to_string(cycle), cycle == 0 ? "start" : "middle", font, "var(--muted)");
  }
  d.text(left, axis + 41, "cycles between two issued instructions of a warp", "start", font, "var(--muted)");
  for (std::size_t r = 0; r < reasons.size(); ++r) {
    const double y = below + double(r) * legend;
    d.segment(left, y, 15, 15, inks[r].colour, inks[r].pale);
    d.text(left + 24, y + 13, reasons[r].name, "start", font);
  }
  d.save(out);
}

}  // namespace tile::figures
