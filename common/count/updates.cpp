#include "common/count/updates.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace tile::counting {
namespace {

// A line of a file, from 1 on; "" behind the last.
std::string line_of(const std::string& file, int number) {
  std::ifstream in(file);
  std::string line;
  for (int at = 0; at < number; ++at)
    if (!std::getline(in, line)) return "";
  return line;
}

// The atomic function that does what a line does to an element that it updates, or "".
std::string atomic_for(const std::string& line) {
  static const std::regex element(R"((\]|\*\s*\w+)\s*\)?\s*(\+=|\+\+|-=|--|&=|\|=|\^=))"),
      before(R"((\+\+|--)\s*\(?(\*|\w+\[))");
  std::smatch found;
  std::string sign;
  if (std::regex_search(line, found, element))
    sign = found[2];
  else if (std::regex_search(line, found, before))
    sign = found[1];
  else
    return "";
  switch (sign[0]) {
    case '&':
      return "atomicAnd";
    case '|':
      return "atomicOr";
    case '^':
      return "atomicXor";
    default:
      return "atomicAdd";
  }
}

// How many elements of an array a line names.
std::ptrdiff_t elements_named(const std::string& line, const std::string& array) {
  const std::regex element("\\b" + array + "\\s*\\[|\\*" + array + "\\b");
  return std::distance(std::sregex_iterator(line.begin(), line.end(), element), std::sregex_iterator());
}

}  // namespace

std::string with_updates_explained(const std::string& findings, const std::string& file) {
  // The place of the second access is that of the first one.
  static const std::regex race(
      R"(^race: .*?, (([^, :]+):(\d+)), block .*? (?:reads|writes|updates) (\w+).* at \1 with )");
  const std::string name = std::filesystem::path(file).filename().string();
  std::istringstream lines(findings);
  std::string explained;
  std::set<std::string> places;
  for (std::string line; std::getline(lines, line);) {
    if (!explained.empty()) explained += '\n';
    explained += line;
    std::smatch found;
    if (!std::regex_search(line, found, race) || found[2] != name || !places.insert(found[1]).second) continue;
    const std::string source = line_of(file, std::stoi(found[3]));
    if (elements_named(source, found[4]) != 1) continue;  // another is read as well: what lacks may be a barrier
    if (const std::string atomic = atomic_for(source); !atomic.empty())
      explained += "; where many threads update one element, each does so by " + atomic;
  }
  return explained;
}

}  // namespace tile::counting
