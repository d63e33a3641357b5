#include "common/report/units.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace tile {
namespace {

// Parts of a word, as underscores separate them.
const std::map<std::string, std::string> units{
    {"tflops", "TFLOP/s"}, {"ceiling", "TFLOP/s"}, {"gflops", "GFLOP/s"}, {"gflop", "GFLOP"},
    {"gbs", "GB/s"},       {"bytes", "B"},         {"kb", "KB"},          {"mb", "MB"},
    {"gb", "GB"},          {"seconds", "s"},       {"ms", "ms"},          {"us", "us"},
    {"cycles", "cycles"},  {"ghz", "GHz"},         {"mhz", "MHz"},        {"percent", "%"}};
// These are units only behind something: power_w.
const std::map<std::string, std::string> units_behind{{"w", "W"}, {"c", "°C"}};
// What a ceiling can follow from; by these names it stands behind "ceiling" or "compiled".
const std::vector<std::string> resources{"ffma", "issue", "register", "l1", "banks", "l2", "dram", "tightest"};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string unit_of_word(const std::string& word) {
  const std::vector<std::string> parts = split(word, '_');
  if (is_one_of("times", parts)) return "";  // a product
  const auto per = std::find(parts.begin(), parts.end(), "per");
  for (auto part = std::make_reverse_iterator(per); part != parts.rend(); ++part) {
    auto unit = units.find(*part);
    if (unit == units.end()) {
      unit = units_behind.find(*part);
      if (unit == units_behind.end() || parts.size() == 1) continue;
    }
    if (per == parts.end()) return unit->second;
    std::string below;
    for (auto word_below = per + 1; word_below != parts.end(); ++word_below)
      below += (below.empty() ? "" : " ") + *word_below;
    return unit->second + "/" + below;
  }
  return "";
}

}  // namespace

std::string unit_of(const std::string& key) {
  const std::vector<std::string> words = split(key, '.');
  if (words.size() > 1) {
    const std::string& group = words[words.size() - 2];
    if ((group == "ceiling" || group == "compiled") && is_one_of(words.back(), resources)) return "TFLOP/s";
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

}  // namespace tile
