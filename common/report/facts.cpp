#include "common/report/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/check/repository.hpp"

namespace tile {
namespace {

// Parts of a word, as underscores separate them; those of one letter are units only after something: power_w.
const std::map<std::string, std::string> units{{"tflops", "TFLOP/s"},
                                               {"ceiling", "TFLOP/s"},
                                               {"gflops", "GFLOP/s"},
                                               {"gflop", "GFLOP"},
                                               {"gbs", "GB/s"},
                                               {"bytes", "B"},
                                               {"kb", "KB"},
                                               {"mb", "MB"},
                                               {"gb", "GB"},
                                               {"seconds", "s"},
                                               {"ms", "ms"},
                                               {"us", "us"},
                                               {"cycles", "cycles"},
                                               {"ghz", "GHz"},
                                               {"mhz", "MHz"},
                                               {"percent", "%"},
                                               {"w", "W"},
                                               {"c", "°C"}};
// What a ceiling can follow from, in keys: `ceiling.l2`, `compiled.l2`.
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

void Facts::add(const std::string& key, const char* kind, double value, int decimals, Place place) {
  facts_.push_back({key, kind, format_number(value, decimals), value, unit_of(key), place.file, place.line});
}

void Facts::measured_in_unit(const std::string& key, double value, const std::string& unit, Place place) {
  facts_.push_back({key, "measured", format_number(value), value, unit, place.file, place.line});
}

void Facts::measured_in(const std::string& file) {
  const std::filesystem::path path = in_repository(file);
  std::ifstream lines(path);
  if (!lines)
    throw std::runtime_error(fmt::format("cannot read {}: it holds measurements of this chapter", path.string()));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto comma = std::min(line.find(','), line.size() - 1);
    const char *const first = line.data() + comma + 1, *const last = line.data() + line.size();
    double value = 0;
    if (const auto [end, error] = std::from_chars(first, last, value); end == last && error == std::errc()) {
      measured(line.substr(0, comma), value, -1, {path.c_str(), number});
      continue;
    }
    throw std::runtime_error(fmt::format("{}, line {}: not a key, a comma and a number", path.string(), number));
  }
}

void Facts::predicted_loads(const std::string& kernel, double global, double shared, int global_width, int shared_width,
                            Place place) {
  text(kernel + ".loads.global", "predicted", multiple_of_K(global / global_width), place);
  text(kernel + ".loads.shared", "predicted", multiple_of_K(shared / shared_width), place);
}

void Facts::text(const std::string& key, const std::string& kind, const std::string& text, Place place) {
  facts_.push_back({key, kind, text, std::nan(""), "", place.file, place.line});
}

void Facts::write(std::ostream& out) const {
  for (const Fact& fact : facts_)
    out << fmt::format("{}\t{}\t{}\t{}\t{}\n", fact.key, fact.kind,
                       std::isnan(fact.value) ? "" : fmt::format("{}", fact.value), fact.unit, fact.text);
}

void Facts::write_places(std::ostream& out) const {
  for (const Fact& fact : facts_)
    out << fmt::format("{}\t{}\t{}\n", fact.key, below_repository(fact.file).generic_string(), fact.line);
}

double Facts::value(const std::string& key) const {
  for (const Fact& fact : facts_)
    if (fact.key == key) return fact.value;
  throw std::out_of_range("no fact has the key " + key);
}

}  // namespace tile
