// What a thread loads for its multiply-adds, and in which pieces.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {

// One step of dotIdx of a thread of each kernel: the values that it loads into registers, and the results that each serves.
void draw_reuse(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out) {
  const double wide = 96, high = 28, column = 300, top = 56;
  std::size_t most = 0;
  struct Step {
    Kernel kernel;
    std::vector<long> rows, cols;
    std::size_t results;
  };
  std::vector<Step> steps;
  for (const std::string& written : kernels) {
    Step step{kernel_of(emit, written), {}, {}, 0};
    const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(step.kernel.emitted, step.kernel.name);
    const ThreadTrace t = read_thread(step.kernel.emitted, step.kernel.name, 0);
    for (const long e : t.read.at("As"))
      if (e % BK == 0) step.rows.push_back(e / BK);
    for (const long e : t.read.at("Bs"))
      if (e / BN == 0) step.cols.push_back(e);
    step.results = t.results.size();
    if (step.cols.size() != 1 || step.results != step.rows.size())
      throw std::runtime_error(fmt::format("{}: not one column of results", step.kernel.title()));
    most = std::max(most, step.rows.size());
    steps.push_back(step);
  }
  Drawing d(column * double(steps.size()), top + double(most) * high + 46);
  double x = 10;
  for (const Step& step : steps) {
    d.panel(x - 10, column, top + double(step.rows.size()) * high + 34);
    d.text(x, 16, step.kernel.title(), "start", 13);
    d.rect(x + wide + 22, 28, wide, high - 6, "var(--accent)");
    d.text(x + wide + 22 + wide / 2, 43, fmt::format("Bs: column {}", step.cols.front()), "middle", 12, "var(--paper)");
    const double rail = x + 2 * wide + 34;
    d.line(x + 2 * wide + 22, 39, rail, 39, "var(--accent)");
    d.line(rail, 39, rail, top + (double(step.rows.size()) - 0.5) * high, "var(--accent)");
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
      const double y = top + double(i) * high, middle = y + high / 2;
      d.rect(x, y + 3, wide, high - 6, "var(--accent)");
      d.text(x + wide / 2, middle + 4, fmt::format("As: row {}", step.rows[i]), "middle", 12, "var(--paper)");
      d.arrow(x + wide + 2, middle, x + wide + 20, middle, "var(--accent)");
      d.rect(x + wide + 22, y + 3, wide, high - 6, "var(--third)", "none", 0.5);
      d.text(x + wide + 22 + wide / 2, middle + 4, fmt::format("acc: row {}", step.rows[i]), "middle", 12);
      d.arrow(rail, middle, x + 2 * wide + 24, middle, "var(--accent)");
    }
    d.text(x, top + double(step.rows.size()) * high + 20,
           plural(step.rows.size() + 1, "load") + ", " + plural(step.results, "multiply-add"), "start", 13);
    x += column;
  }
  d.save(out);
}

// The words of As and Bs that a thread reads in a round, as the source loads them and as the machine code does.
void draw_compiled(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out) {
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(emitted, kernel);
  const ThreadTrace t = read_thread(emitted, kernel, 0);
  const auto &As = t.read.at("As"), &Bs = t.read.at("Bs");
  const auto wide = fact(emitted, kernel + ".sass_loop.LDS.128"), single = fact(emitted, kernel + ".sass_loop.LDS"),
             ffma = fact(emitted, kernel + ".sass_loop.FFMA");
  constexpr std::size_t words = 4;  // of a LDS.128
  if (wide &&
      (As.size() != words * std::size_t(*wide) || !single || Bs.size() != std::size_t(*single) || BK % words != 0))
    throw std::runtime_error(fmt::format("{}: {} and {} words are not read by {} LDS.128 and {} LDS", kernel, As.size(),
                                         Bs.size(), *wide, single.value_or(0)));
  const double cell = 22, left = 76, top = 50, gap = 20, panel = left + BK * cell + 14 + cell + gap;
  const long first_row = *As.begin() / BK, rows = *As.rbegin() / BK - first_row + 1;
  const double height = top + double(std::max(rows, long(BK))) * cell + 34;
  Drawing d(2 * panel, height);
  for (const bool compiled : {false, true}) {
    const double x = left + (compiled ? panel : 0), xB = x + BK * cell + 14;
    d.panel(x - left, panel, height);
    d.text(x, 18, compiled ? "as compiled" : "as written", "start", 13);
    d.text(x, top - 9, "As", "start", 12);
    d.text(xB, top - 9, "Bs", "start", 12);
    for (const long e : As) {
      const auto in_row = std::size_t(e % BK);
      if (compiled && wide && in_row % words != 0) continue;
      const double w = (compiled && wide ? double(words) : 1) * cell;
      d.rect(x + double(in_row) * cell + 1, top + double(e / BK - first_row) * cell + 1, w - 2, cell - 2,
             "var(--accent)", "none", 0.85);
    }
    for (const long e : Bs)
      d.rect(xB + 1, top + double(e / BN) * cell + 1, cell - 2, cell - 2, "var(--second)", "none", 0.85);
    const double below = top + double(std::max(rows, long(BK))) * cell + 20;
    if (!compiled)
      d.text(x, below, fmt::format("{} + {} loads", As.size(), Bs.size()), "start", 13);
    else if (wide)
      d.text(x, below, fmt::format("{} LDS.128 + {} LDS for {} FFMA", *wide, *single, ffma.value_or(0)), "start", 13);
    else
      d.text(x, below, "not yet measured", "start", 13);
    for (long row = 0; row < rows; ++row)
      d.text(x - 8, top + (double(row) + 0.7) * cell, fmt::format("row {}", first_row + row), "end", 12);
  }
  d.save(out);
}

}  // namespace tile::figures
