// A part of the book looked back on: one kernel of each chapter, what the counts allow it, what it reached, and what that added.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "common/report/facts.hpp"
#include "common/report/table.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

namespace fs = std::filesystem;
constexpr const char* pending = "not yet measured";

/// The facts of a chapter that have a value, and its kernels in their order.
struct Emitted {
  std::map<std::string, double> values;
  std::map<std::string, std::string> texts;
  std::vector<std::string> kernels;

  std::optional<double> value(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::optional<double>() : found->second;
  }
};

Emitted read_emitted(const fs::path& directory) {
  Emitted emitted;
  for (const auto& fields : read_tsv(directory / "facts.tsv")) {
    if (!fields.at(2).empty()) emitted.values[fields[0]] = std::stod(fields[2]);
    emitted.texts[fields[0]] = fields.at(4);
  }
  for (const auto& fields : read_tsv(directory / "kernels.tsv")) emitted.kernels.push_back(fields.at(0));
  return emitted;
}

/// One chapter of the ladder.
struct Rung {
  std::string number, title, kernel;  ///< no kernel: not yet measured
  double tflops = 0, gain = 0;        ///< gain: over the best rung before it
  std::optional<double> ceiling, compiled, ratio, stronger_ratio;
  std::string resource, compiled_resource;
};

// Whether the spread of a kernel's ratio to cuBLAS, the stronger one if there are two, overlaps with another's.
bool tied(const Emitted& emitted, const std::string& kernel, const std::string& other) {
  for (const char* ratio : {"stronger_ratio", "ratio"}) {
    const auto value = [&](const std::string& of, const char* end) {
      return emitted.value(of + ".4096." + ratio + end);
    };
    const auto low = value(kernel, "_low"), high = value(kernel, "_high");
    const auto other_low = value(other, "_low"), other_high = value(other, "_high");
    if (low && high && other_low && other_high) return *low <= *other_high && *other_low <= *high;
  }
  return false;
}

// The kernel that stands for a chapter, or "". `own` is what the chapter calls its own, or "".
std::string chosen_kernel(const Emitted& emitted, const std::string& own) {
  std::string fastest;
  double most = 0;
  for (const std::string& kernel : emitted.kernels)
    if (const double tflops = emitted.value(kernel + ".4096.tflops").value_or(0); tflops > most)
      most = tflops, fastest = kernel;
  return !own.empty() && tied(emitted, own, fastest) ? own : fastest;
}

Rung rung_of(const std::string& number, const std::string& title, const std::string& own, const Emitted& emitted,
             double best_before) {
  Rung rung{number, title, chosen_kernel(emitted, own), 0, 0, {}, {}, {}, {}, "", ""};
  if (rung.kernel.empty()) return rung;
  const std::string at = rung.kernel + ".4096.";
  rung.tflops = *emitted.value(at + "tflops");
  rung.gain = best_before > 0 ? rung.tflops / best_before : 0;
  rung.ceiling = emitted.value(at + "ceiling.tightest");
  rung.compiled = emitted.value(at + "compiled.tightest");
  rung.ratio = emitted.value(at + "ratio");
  rung.stronger_ratio = emitted.value(at + "stronger_ratio");
  if (rung.ceiling) rung.resource = emitted.texts.at(at + "ceiling.resource");
  if (rung.compiled) rung.compiled_resource = emitted.texts.at(at + "compiled.resource");
  return rung;
}

// What stands behind a name in the front matter of a chapter, or "".
std::string front_matter(const fs::path& text, const std::string& name) {
  std::ifstream lines(text);
  if (!lines) throw std::runtime_error(fmt::format("cannot read {}", text.string()));
  std::string line;
  std::getline(lines, line);  // "---"
  while (std::getline(lines, line) && line != "---")
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  return "";
}

std::string title_of(const fs::path& text) {
  const std::string title = front_matter(text, "title");
  if (title.empty()) throw std::runtime_error(fmt::format("{} has no title", text.string()));
  return title;
}

std::vector<Rung> ladder_of(const fs::path& chapters, const fs::path& emit, const std::string& last) {
  std::map<std::string, fs::path> texts;  // by number
  for (const auto& entry : fs::directory_iterator(chapters)) {
    const std::string number = entry.path().filename().string().substr(0, 2);
    if (number > "00" && number <= last) texts[number] = entry.path() / fmt::format("chapter{}.md", number);
  }
  std::vector<Rung> ladder;
  double best = 0;
  for (const auto& [number, text] : texts) {
    ladder.push_back(rung_of(number, title_of(text), front_matter(text, "kernel"), read_emitted(emit / number), best));
    best = std::max(best, ladder.back().tflops);
  }
  return ladder;
}

Table table_of(const std::vector<Rung>& ladder) {
  Table table{"ladder",
              "One kernel of each chapter at M = N = K = 4096: the ceilings that follow from its counts and from its "
              "machine code, what it reached, and that over the best of the rows above; TFLOP/s",
              {"chapter", "title", "kernel", "ceiling, as written", "of", "ceiling, as compiled", "of", "measured",
               "x the best before", "x cuBLAS"},
              {}};
  // A column is for more than one rung.
  const bool stronger =
      std::count_if(ladder.begin(), ladder.end(), [](const Rung& r) { return r.stronger_ratio.has_value(); }) > 1;
  if (stronger) table.header.push_back("x the stronger cuBLAS");
  const auto number = [](const std::optional<double>& value, int decimals = -1) {
    return value ? format_number(*value, decimals) : std::string("-");
  };
  const auto of = [&](const std::optional<double>& ceiling, const std::string& resource) {
    return ceiling ? resource : std::string("-");
  };
  for (const Rung& rung : ladder) {
    std::vector<std::string> row{rung.number,
                                 rung.title,
                                 rung.kernel,
                                 number(rung.ceiling),
                                 of(rung.ceiling, rung.resource),
                                 number(rung.compiled),
                                 of(rung.compiled, rung.compiled_resource),
                                 number(rung.tflops),
                                 rung.gain > 0 ? number(rung.gain, 2) : "-",
                                 number(rung.ratio, 3)};
    if (rung.kernel.empty()) row = {rung.number, rung.title, "-", "-", "-", "-", "-", pending, pending, pending};
    if (stronger) row.push_back(rung.kernel.empty() ? pending : number(rung.stronger_ratio, 3));
    table.rows.push_back(row);
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
    const auto known = [&](double value) { return value > 0 ? value : std::optional<double>(); };
    const auto share = [&](const std::optional<double>& ceiling) {
      return ceiling ? 100 * rung.tflops / *ceiling : std::optional<double>();
    };
    give("tflops", known(rung.tflops), -1);
    if (&rung != &ladder.front()) give("gain", known(rung.gain), 2);
    give("percent_as_written", share(rung.ceiling), 0);
    give("percent_as_compiled", share(rung.compiled), 0);
    give("ratio", rung.ratio, 3);
  }
  return facts;
}

// A line for each rung: label, measured, ceiling as written, as compiled; 0 for what is not known.
std::string plot_of(const std::vector<Rung>& ladder) {
  std::string text;
  for (const Rung& rung : ladder)
    text += fmt::format("\"{} {}\"\t{}\t{}\t{}\n", rung.number, rung.kernel.empty() ? pending : rung.kernel,
                        rung.tflops, rung.ceiling.value_or(0), rung.compiled.value_or(0));
  return text;
}

// The highest rate that cuBLAS was measured at beside a kernel of the ladder.
double cublas_of(const std::vector<Rung>& ladder) {
  double highest = 0;
  for (const Rung& rung : ladder)
    if (rung.ratio) highest = std::max(highest, rung.tflops / *rung.ratio);
  return highest;
}

}  // namespace

void gather_part(const fs::path& chapters, const fs::path& emit, const std::string& last, const fs::path& plot,
                 const fs::path& page) {
  const std::vector<Rung> ladder = ladder_of(chapters, emit, last);
  const Facts facts = facts_of(ladder);
  std::ostringstream values, places;
  facts.write(values);
  facts.write_places(places);
  fs::create_directories(page);
  table_of(ladder).write(page / "table-ladder.tsv");
  write_text(page / "facts.tsv", values.str());
  write_text(page / "places.tsv", places.str());
  write_text(plot, plot_of(ladder));
  write_text(plot.string() + ".cublas", fmt::format("cublas={}\n", cublas_of(ladder)));
}

}  // namespace tile::figures
