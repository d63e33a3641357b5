// Where the cycles go from one instruction of a warp to its next: a bar for each kernel, cut by what the warp waits for.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "common/records/metrics.hpp"
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
  double opacity;
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
  // The largest have names, the others go together.
  const std::vector<Ink> inks{{"var(--accent)", 1},  {"var(--third)", 1},    {"var(--second)", 1},
                              {"var(--fourth)", 1},  {"var(--accent)", 0.4}, {"var(--second)", 0.4},
                              {"var(--third)", 0.4}, {"var(--muted)", 0.5}};
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.most() > b.most(); });
  reasons.resize(inks.size() - 1);
  Reason others{"everything else", latency};
  for (std::size_t k = 0; k < bars.size(); ++k)
    for (const Reason& reason : reasons) others.cycles[k] -= reason.cycles[k];
  reasons.push_back(others);

  const double longest = *std::max_element(latency.begin(), latency.end());
  const double left = 104, wide = 440, high = 26, gap = 10, legend = 20;
  const double below = 10 + double(bars.size()) * (high + gap) + 12;
  Drawing d(left + wide + 70, below + legend * double(reasons.size() + 1) / 2 + 8);
  for (std::size_t k = 0; k < bars.size(); ++k) {
    const double y = 10 + double(k) * (high + gap);
    d.text(left - 8, y + 17, bars[k].title(), "end", 13);
    double x = left;
    for (std::size_t r = 0; r < reasons.size() && longest > 0; ++r) {
      const double w = wide * std::max(0.0, reasons[r].cycles[k]) / longest;
      d.rect(x, y, w, high, inks[r].colour, "none", inks[r].opacity);
      x += w;
    }
    d.text(x + 6, y + 17, longest > 0 ? fmt::format("{:.2f}", latency[k]) : "not yet measured", "start", 13);
  }
  for (std::size_t r = 0; r < reasons.size(); ++r) {
    const double x = 10 + (r % 2 == 0 ? 0 : 300), y = below + double(r / 2) * legend;
    d.rect(x, y, 12, 12, inks[r].colour, "none", inks[r].opacity);
    d.text(x + 18, y + 11, reasons[r].name, "start", 12);
  }
  d.save(out);
}

}  // namespace tile::figures
