#include "common/check/source.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <stdexcept>

namespace tile {
namespace {

// By line number.
std::map<int, std::string> find_tags() {
  std::map<int, std::string> found;
  int number = 0;
  for (const std::string& line : source_lines()) {
    ++number;
    if (const auto at = line.find("//@ "); at != std::string::npos) found[number] = line.substr(at + 4);
  }
  return found;
}

}  // namespace

std::vector<std::string> source_lines() {
  std::ifstream in(this_chapter_file());
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", this_chapter_file()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string tag_of_line(int line) {
  static const std::map<int, std::string> tags = find_tags();
  const auto it = tags.find(line);
  return it == tags.end() ? "" : it->second;
}

}  // namespace tile
