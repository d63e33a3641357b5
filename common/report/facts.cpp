#include "common/report/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/bench/text.hpp"
#include "common/check/repository.hpp"

namespace tile {
namespace {

// Units by parts of a word, separated by underscores; single letters are units only after another part: power_w.
const std::map<std::string, std::string> units = [] {
  std::istringstream pairs(
      "tflops TFLOP/s ceiling TFLOP/s gflops GFLOP/s gflop GFLOP gbs GB/s bytes B kb KB mb MB gb GB seconds s ms ms us "
      "us "
      "cycles cycles ghz GHz mhz MHz percent % w W c °C");
  std::map<std::string, std::string> units;
  for (std::string part, unit; pairs >> part >> unit;) units[part] = unit;
  return units;
}();
// The resources of ceilings in keys: `ceiling.l2`, `compiled.l2`.
const std::set<std::string> resources{"ffma", "issue", "register", "l1", "banks", "l2", "dram", "tightest"};

std::string unit_of_word(const std::string& word) {
  const std::vector<std::string> parts = split(word, '_');
  if (std::ranges::find(parts, "times") != parts.end()) return "";  // a product
  const auto per = std::ranges::find(parts, "per");
  for (auto part = std::make_reverse_iterator(per); part != parts.rend(); ++part)
    if (const auto unit = units.find(*part); unit != units.end() && (part->size() > 1 || parts.size() > 1))
      return per == parts.end() ? unit->second
                                : fmt::format("{}/{}", unit->second, fmt::join(per + 1, parts.end(), " "));
  return "";
}

// Display width of UTF-8 text without combining characters.
std::size_t width_of(const std::string& text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool numeric(const std::string& text) {
  return text.empty() || text == "-" || text == pending || std::isdigit(static_cast<unsigned char>(text[0])) ||
         (text[0] == '-' && text.size() > 1);
}

}  // namespace

std::string unit_of(const std::string& key) {
  const std::vector<std::string> words = split(key, '.');
  if (words.size() > 1) {
    const std::string& group = words[words.size() - 2];
    if ((group == "ceiling" || group == "compiled") && resources.contains(words.back())) return "TFLOP/s";
    if (group == "intensity") return "FLOP/B";
  }
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    if (const std::string unit = unit_of_word(*word); !unit.empty()) return unit;
  return "";
}

std::string unit_of_label(const std::string& label) {
  const std::string first = label.substr(0, label.find(' '));
  if (first == "microseconds") return "us";
  return first == "ms" || first == "cycles" ? first : "";
}

Fact& Facts::add(const std::string& key, const char* kind, double value, int decimals, Place place) {
  return facts_.emplace_back(
      Fact{key, kind, format_number(value, decimals), value, unit_of(key), place.file, place.line});
}

void Facts::predicted_loads(const std::string& kernel, double global, double shared, int global_width, int shared_width,
                            Place place) {
  text(kernel + ".loads.global", "predicted", multiple_of_K(global / global_width), place);
  text(kernel + ".loads.shared", "predicted", multiple_of_K(shared / shared_width), place);
}

void Facts::text(const std::string& key, const std::string& kind, const std::string& text, Place place) {
  facts_.push_back({key, kind, text, std::nan(""), "", place.file, place.line});
}

void Facts::write(const std::filesystem::path& directory) const {
  auto facts = open_for_writing(directory / "facts.tsv"), places = open_for_writing(directory / "places.tsv");
  for (const Fact& fact : facts_) {
    facts << fmt::format("{}\t{}\t{}\t{}\t{}\n", fact.key, fact.kind,
                         std::isnan(fact.value) ? "" : fmt::format("{}", fact.value), fact.unit, fact.text);
    places << fmt::format("{}\t{}\t{}\n", fact.key, below_repository(fact.file).generic_string(), fact.line);
  }
}

double Facts::value(const std::string& key) const {
  for (const Fact& fact : facts_)
    if (fact.key == key) return fact.value;
  throw std::out_of_range("no fact has the key " + key);
}

void Table::print(std::size_t most) const {
  fmt::print("\n{}\n", most == 0 ? caption : wrapped("", caption));
  std::vector<std::size_t> widths(header.size());
  std::vector<bool> right(header.size(), true);
  for (std::size_t i = 0; i < header.size(); ++i) {
    widths[i] = width_of(header[i]);
    for (const auto& row : rows) {
      widths[i] = std::max(widths[i], width_of(row[i]));
      right[i] = right[i] && numeric(row[i]);
    }
  }
  // Columns that do not fit are printed as a further table, which repeats the first column.
  std::size_t begin = 1, end = 1;
  do {
    for (std::size_t width = widths[0] + 2; end < header.size(); ++end)
      if (width += widths[end] + 2; most > 0 && width > most && end > begin) break;
    const auto line = [&](const std::vector<std::string>& row) {
      std::string text = " ";
      for (std::size_t i = 0; i < end; i = i == 0 ? begin : i + 1) {
        const std::string space(widths[i] - width_of(row[i]), ' ');
        text += " " + (right[i] ? space + row[i] : row[i] + space) + " ";
      }
      fmt::print("{}\n", text.erase(text.find_last_not_of(' ') + 1));
    };
    line(header);
    for (const auto& row : rows)
      if (begin == 1 || std::ranges::any_of(row.begin() + std::ptrdiff_t(begin), row.begin() + std::ptrdiff_t(end),
                                            [](const std::string& cell) { return !cell.empty(); }))
        line(row);
    begin = end;
  } while (begin < header.size());
}

void Table::write(const std::filesystem::path& file) const {
  auto out = open_for_writing(file);
  out << caption << '\n' << fmt::format("{}\n", fmt::join(header, "\t"));
  for (const auto& row : rows) out << fmt::format("{}\n", fmt::join(row, "\t"));
}

std::ofstream open_for_writing(const std::filesystem::path& file) {
  std::ofstream out(file);
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
  return out;
}

}  // namespace tile
