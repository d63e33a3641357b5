#include "common/bench/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <sstream>
#include <vector>

#include "common/bench/whole_file.hpp"

namespace tile {
namespace {

std::string without_comments_and_spaces(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      const std::size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      kept += text.substr(begin, i - begin + 1);
    } else if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      i = std::min(text.find("*/", i + 2), text.size() - 1) + 1;
    } else if (!std::isspace(static_cast<unsigned char>(text[i]))) {
      kept += text[i];
    }
  }
  return kept;
}

// 16 hex digits that stand for a program text, comments and spaces left out: FNV-1a.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : without_comments_and_spaces(text))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
}

// Whether nvcc never sees this header: it says what the model does in the toolkit's place.
bool only_for_the_model(const std::string& header) {
  return header == "common/cuda/vocabulary.hpp" || header == "common/cuda/asynchronous.hpp";
}

// What of a chapter's program may run on a GPU.
std::string without_tests_and_predictions(std::string text) {
  text = text.substr(0, std::min(text.find("\nTEST_CASE("), text.find("\nTILE_GEMM_TESTS(")));
  const auto before = text.find("\nvoid predict(");
  if (before == std::string::npos) return text;
  const auto begin = before + 1;
  auto end = text.find("}\n", begin);  // written on one line, or else up to a brace that begins one
  if (text.find('\n', begin) < end) end = text.find("\n}\n", begin);
  return text.erase(begin, end - begin);
}

// The headers of this repository that a file includes, directly or not, as their names below `root`, but for those that are only for
// the model and what they include.
std::set<std::string> included_by(const std::filesystem::path& source, const std::filesystem::path& root) {
  std::set<std::string> found;
  std::vector<std::filesystem::path> to_read{source};
  const std::string directive = "#include \"common/";
  while (!to_read.empty()) {
    std::istringstream lines(read_whole(to_read.back()));
    to_read.pop_back();
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(directive)) continue;
      const auto begin = line.find('"') + 1;
      const std::string name = line.substr(begin, line.find('"', begin) - begin);
      if (!only_for_the_model(name) && found.insert(name).second) to_read.push_back(root / name);
    }
  }
  return found;
}

}  // namespace

Record fingerprint(const std::filesystem::path& source) { return fingerprint(source, TILE_ROOT); }

Record fingerprint(const std::filesystem::path& source, const std::filesystem::path& root) {
  Record made_of{{source.filename().string(), digest(without_tests_and_predictions(read_whole(source)))},
                 {"flags", TILE_GPU_FLAGS}};
  for (const std::string& header : included_by(source, root))
    if (header.starts_with("common/cuda/")) made_of[header] = digest(read_whole(root / header));
  return made_of;
}

std::string changed_parts(const Record&, const Record&) { return ""; }

}  // namespace tile
