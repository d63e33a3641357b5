// Where the cycles go from one instruction of a warp to its next: a bar for each kernel, cut by what the warp waits for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "common/bench/metrics.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

struct Reason {
  std::string name;
  std::vector<double> cycles;  ///< of each kernel
  double most() const { return *std::max_element(cycles.begin(), cycles.end()); }
};

struct Ink {
  const char* colour;
  bool pale;
};

}  // namespace

void draw_stalls(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out) {
  std::vector<Kernel> bars;
  for (const std::string& written : kernels) bars.push_back(kernel_of(emit, written));
  std::vector<Reason> reasons;
  std::vector<double> latency;
  for (const Kernel& k : bars) latency.push_back(fact(k.emitted, k.name + ".profile.latency").value_or(0));
  for (const auto& [label, key] : stalls) {
    const std::string name = label;
    Reason reason{name.substr(0, name.find(" (")), {}};
    for (const Kernel& k : bars)
      reason.cycles.push_back(fact(k.emitted, fmt::format("{}.profile.{}", k.name, key)).value_or(0));
    reasons.push_back(reason);
  }
  // What is no wait comes first. Of the others the longest have names, the rest go together. Full and pale by turns.
  constexpr std::size_t no_waits = 2;
  constexpr Ink inks[] = {{"var(--third)", false},  {"var(--accent)", true},  {"var(--second)", false},
                          {"var(--fourth)", true},  {"var(--accent)", false}, {"var(--third)", true},
                          {"var(--fourth)", false}, {"var(--muted)", true}};
  std::stable_sort(reasons.begin() + no_waits, reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.most() > b.most(); });
  reasons.resize(std::size(inks) - 1);
  Reason others{"everything else", latency};
  for (std::size_t k = 0; k < bars.size(); ++k)
    for (const Reason& reason : reasons) others.cycles[k] -= reason.cycles[k];
  reasons.push_back(others);

  const double longest = *std::max_element(latency.begin(), latency.end());
  const double left = 4, wide = 400, high = 28, row = 60, axis = double(bars.size()) * row + 8, below = axis + 62,
               legend = 24, font = telephone_label;
  Drawing d(telephone_width, below + legend * double(reasons.size()));
  for (std::size_t k = 0; k < bars.size(); ++k) {
    const double y = 22 + double(k) * row;
    d.text(left, y - 6, bars[k].title(), "start", font);
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
  d.text(left, axis + 41, "cycles from one instruction of a warp to its next", "start", font, "var(--muted)");
  for (std::size_t r = 0; r < reasons.size(); ++r) {
    const double y = below + double(r) * legend;
    d.segment(left, y, 15, 15, inks[r].colour, inks[r].pale);
    d.text(left + 24, y + 13, reasons[r].name, "start", font);
  }
  d.save(out);
}

}  // namespace tile::figures
