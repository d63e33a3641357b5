// A part of the book looked back on: one kernel of each chapter, what the counts allow it, what it reached, and what that added.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "common/report/facts.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

namespace fs = std::filesystem;
const std::string pending = "not yet measured";

std::optional<double> known(double value) { return value > 0 ? value : std::optional<double>(); }

/// One chapter of the ladder.
struct Rung {
  std::string number, title, kernel;  ///< no kernel: not yet measured
  EmittedFacts facts;
  double tflops = 0, gain = 0;  ///< gain: over the best rung before it

  std::optional<double> value(const std::string& key) const { return facts.value(kernel + ".4096." + key); }
  std::string text(const std::string& key) const { return facts.text(kernel + ".4096." + key); }
};

// Whether the spread of a kernel's ratio to cuBLAS, the stronger one if there are two, overlaps with another's.
bool tied(const EmittedFacts& facts, const std::string& kernel, const std::string& other) {
  for (const char* ratio : {"stronger_ratio", "ratio"}) {
    const auto end = [&](const std::string& of, const char* which) {
      return facts.value(of + ".4096." + ratio + which);
    };
    const auto low = end(kernel, "_low"), high = end(kernel, "_high");
    const auto other_low = end(other, "_low"), other_high = end(other, "_high");
    if (low && high && other_low && other_high) return *low <= *other_high && *other_low <= *high;
  }
  return false;
}

// The value of a name in the front matter of a chapter, or "".
std::string front_matter(const fs::path& text, const std::string& name) {
  std::ifstream lines(text);
  std::string line;
  std::getline(lines, line);  // "---"
  while (std::getline(lines, line) && line != "---")
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  return "";
}

Rung rung_of(const std::string& number, const fs::path& text, const fs::path& emitted, double best_before) {
  Rung rung{number, front_matter(text, "title"), "", EmittedFacts(emitted)};
  for (const std::string& kernel : kernels_of(emitted))
    if (const double tflops = rung.facts.value(kernel + ".4096.tflops").value_or(0); tflops > rung.tflops)
      rung.tflops = tflops, rung.kernel = kernel;
  if (const std::string own = front_matter(text, "kernel"); !own.empty() && tied(rung.facts, own, rung.kernel)) {
    rung.kernel = own;
    rung.tflops = *rung.value("tflops");
  }
  if (best_before > 0) rung.gain = rung.tflops / best_before;
  return rung;
}

std::vector<Rung> ladder_of(const fs::path& chapters, const fs::path& emit, const std::string& last) {
  std::vector<Rung> ladder;
  double best = 0;
  for (const auto& [number, directory] : chapters_in(chapters, last)) {
    if (number == "00") continue;
    ladder.push_back(rung_of(number, directory / fmt::format("chapter{}.md", number), emit / number, best));
    best = std::max(best, ladder.back().tflops);
  }
  return ladder;
}

Table table_of(const std::vector<Rung>& ladder) {
  Table table{
      "ladder",
      "One kernel of each chapter at M = N = K = 4096, in TFLOP/s: its ceilings by its counts and by its machine "
      "code, what it reached, and how much faster that is than the best row above",
      {"chapter", "title", "kernel", "ceiling, as written", "of", "ceiling, as compiled", "of", "measured",
       "x best so far", "x cuBLAS"},
      {}};
  // A column is for more than one rung.
  const bool stronger =
      std::ranges::count_if(ladder, [](auto& r) { return r.value("stronger_ratio").has_value(); }) > 1;
  if (stronger) table.header.push_back("x the stronger cuBLAS");
  for (const Rung& rung : ladder) {
    const bool timed = !rung.kernel.empty();
    const auto number = [](std::optional<double> value, int decimals = -1) {
      return value ? format_number(*value, decimals) : std::string("-");
    };
    const auto measured = [&](std::optional<double> value, int decimals) {
      return timed ? number(value, decimals) : pending;
    };
    auto& row = table.rows.emplace_back();
    row = {rung.number,
           rung.title,
           timed ? rung.kernel : "-",
           number(rung.value("ceiling.tightest")),
           rung.text("ceiling.resource"),
           number(rung.value("compiled.tightest")),
           rung.text("compiled.resource"),
           measured(rung.tflops, -1),
           measured(known(rung.gain), 2),
           measured(rung.value("ratio"), 3)};
    if (stronger) row.push_back(measured(rung.value("stronger_ratio"), 3));
  }
  return table;
}

Facts facts_of(const std::vector<Rung>& ladder) {
  Facts facts;
  for (const Rung& rung : ladder) {
    const std::string name = "ladder." + rung.number + ".";
    facts.text(name + "kernel", "measured", rung.kernel.empty() ? pending : rung.kernel);
    const auto give = [&](const char* key, const std::optional<double>& value, int decimals) {
      if (value)
        facts.measured(name + key, *value, decimals);
      else
        facts.not_yet_measured(name + key);
    };
    const auto share = [&](const char* ceiling) {
      const auto of = rung.value(ceiling);
      return of ? 100 * rung.tflops / *of : std::optional<double>();
    };
    give("tflops", known(rung.tflops), -1);
    if (&rung != &ladder.front()) give("gain", known(rung.gain), 2);
    give("percent_as_written", share("ceiling.tightest"), 0);
    give("percent_as_compiled", share("compiled.tightest"), 0);
    give("ratio", rung.value("ratio"), 3);
  }
  return facts;
}

// A line for each rung: label, measured, ceiling as written, as compiled; 0 for what is not known.
std::string plot_of(const std::vector<Rung>& ladder) {
  std::string text;
  for (const Rung& rung : ladder)
    text +=
        fmt::format("\"{} {}\"\t{}\t{}\t{}\n", rung.number, rung.kernel.empty() ? pending : rung.kernel, rung.tflops,
                    rung.value("ceiling.tightest").value_or(0), rung.value("compiled.tightest").value_or(0));
  return text;
}

// The highest rate that cuBLAS was measured at beside a kernel of the ladder.
double cublas_of(const std::vector<Rung>& ladder) {
  double highest = 0;
  for (const Rung& rung : ladder)
    if (const auto ratio = rung.value("ratio")) highest = std::max(highest, rung.tflops / *ratio);
  return highest;
}

}  // namespace

void gather_part(const fs::path& chapters, const fs::path& emit, const std::string& last, const fs::path& plot,
                 const fs::path& page) {
  const std::vector<Rung> ladder = ladder_of(chapters, emit, last);
  fs::create_directories(page);
  table_of(ladder).write(page / "table-ladder.tsv");
  facts_of(ladder).write(page);
  write_text(plot, plot_of(ladder));
  write_text(plot.string() + ".cublas", fmt::format("cublas={}\n", cublas_of(ladder)));
}

}  // namespace tile::figures
