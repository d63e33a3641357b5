// The tiles of several kernels at one scale: block, warps, and what the lanes of one warp compute.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

struct Extent {
  long row = 1L << 40, col = 1L << 40, bottom = 0, right = 0;
  void add(const Elements& elements) {
    for (const auto& [r, c] : elements) {
      row = std::min(row, r), col = std::min(col, c);
      bottom = std::max(bottom, r + 1), right = std::max(right, c + 1);
    }
  }
  long rows() const { return bottom - row; }
  long cols() const { return right - col; }
};

}  // namespace

void draw_nested(const std::filesystem::path& emit, int thread, const Kernels& kernels,
                 const std::filesystem::path& out) {
  const double per_element = 1.55, gap = 24, left = 6, top = 24;
  struct Panel {
    Kernel kernel;
    std::map<int, Elements> threads, warps;
    Extent block, warp;
  };
  std::vector<Panel> panels;
  double width = 0, height = 0;
  for (const std::string& written : kernels) {
    Panel p{kernel_of(emit, written), {}, {}, {}, {}};
    p.threads = read_owners(p.kernel.emitted, p.kernel.name);
    for (const auto& [owner, elements] : p.threads) {
      p.warps[owner / 32].insert(elements.begin(), elements.end());
      p.block.add(elements);
      if (owner / 32 == thread / 32) p.warp.add(elements);
    }
    if (p.threads.count(thread) == 0)
      throw std::runtime_error(fmt::format("{} has no thread {}", p.kernel.title(), thread));
    width += double(p.block.cols()) * per_element + gap;
    height = std::max(height, double(p.block.rows()) * per_element);
    panels.push_back(std::move(p));
  }
  Drawing d(width, top + height + 62);
  double x = left;
  for (const Panel& p : panels) {
    const double wide = double(p.block.cols()) * per_element + gap, below = top + double(p.block.rows()) * per_element;
    d.panel(x - left, wide, below + 62);
    const auto box = [&](const Rectangle& r, const char* fill, const char* stroke, double opacity) {
      d.rect(x + double(r.col - p.block.col) * per_element, top + double(r.row - p.block.row) * per_element,
             double(r.cols) * per_element, double(r.rows) * per_element, fill, stroke, opacity);
    };
    d.text(x, top - 8, p.kernel.title(), "start", 13);
    for (const auto& [warp, elements] : p.warps)
      for (const Rectangle& r : rectangles(elements))
        box(r, warp == thread / 32 ? "var(--third)" : "none", "var(--muted)", 0.4);
    for (const Rectangle& r : rectangles(p.threads.at(thread))) box(r, "var(--accent)", "none", 1);
    box({p.block.row, p.block.col, p.block.rows(), p.block.cols()}, "none", "var(--ink)", 1);
    const auto& own = p.threads.at(thread);
    const auto pieces = rectangles(own);
    d.text(x, below + 18,
           fmt::format("block {} x {}, {}", p.block.rows(), p.block.cols(), plural(p.warps.size(), "warp")), "start",
           12);
    d.text(x, below + 35, fmt::format("warp {} x {}", p.warp.rows(), p.warp.cols()), "start", 12);
    d.text(x, below + 52,
           fmt::format("thread {}: {} of {} x {}", thread, plural(pieces.size(), "piece"), pieces.front().rows,
                       pieces.front().cols),
           "start", 12);
    x += wide;
  }
  d.save(out);
}

}  // namespace tile::figures
