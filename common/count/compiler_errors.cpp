#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "common/bench/text.hpp"
#include "common/check/repository.hpp"
#include "common/count/counting.hpp"

namespace tile::counting {
namespace {

struct Error {
  std::string file, message;
  int line = 0;
};

bool is_of_the_reader(const std::string& path) {
  const std::string root = in_repository("").string(), file = std::filesystem::path(path).lexically_normal().string();
  return !file.starts_with("/usr/") && !file.starts_with(root + "common/") && !file.starts_with("common/");
}

// The errors in the compiler's output, each at the line of the user's file that caused it: an error in a header comes
// after the lines "required from" or "In file included from", and before "in expansion of macro".
std::vector<Error> errors_of(const std::string& said) {
  static const std::regex at(R"(^(In file included from |\s+from )?(.+?):(\d+)[:,](?:\d+[:,])?\s*(.*)$)");
  static const std::regex error_begin("^(fatal )?error: (static assertion failed: )?"), flag(" \\[-\\S*\\]$");
  std::istringstream lines(said);
  std::vector<Error> found;
  Error came_from;
  bool in_header = false;  // whether the last error was found in a header
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, at)) continue;
    const Error here{match[2], match[4], std::stoi(match[3])};
    const bool of_the_reader = is_of_the_reader(here.file);
    if (std::regex_search(here.message, error_begin)) {
      in_header = !of_the_reader;
      found.push_back(in_header ? came_from : here);
      found.back().message = std::regex_replace(std::regex_replace(here.message, error_begin, ""), flag, "");
      if (here.message.find("unresolved overloaded function") != std::string::npos)
        found.back().message =
            "a launch must name the template arguments of its kernel: kernel<float><<<grid, block>>>(...)";
      came_from = {};
    } else if (of_the_reader && (here.message.starts_with("required from") || match[1].matched)) {
      came_from = here;
    } else if (of_the_reader && in_header && here.message.starts_with("note: in expansion of macro")) {
      found.back() = {here.file, found.back().message, here.line};
    }
  }
  std::erase_if(found, [](const Error& error) { return error.line == 0; });
  return found;
}

// The name or header that is unknown according to an error; "" for any other error.
std::string unknown_word(const std::string& message) {
  static const std::regex unknown(
      R"('(?:::)?(\w+)[\w:]*' (?:was not declared|has not been declared|does not name a type|is not a (?:member|class)).*)"
      R"(|(.*): No such file or directory)");
  std::smatch match;
  return std::regex_match(message, match, unknown) ? match[1].str() + match[2].str() : "";
}

// What to write instead of a name or header of CUDA; "" if unknown.
std::string instead_of(const std::string& word) {
  if (word == "__global__" || word == "tile")
    return "__global__ and <<<>>> are unknown here: write #include \"common/count/count.hpp\" as the first line";
  std::istringstream lines(read_whole(in_repository("common/count/instead.tsv")));
  for (std::string line; std::getline(lines, line);)
    if (const auto tab = line.find('\t'); std::regex_search(word, std::regex("^(?:" + line.substr(0, tab) + ")")))
      return fmt::format("{} is not part of the model: {}", word, line.substr(tab + 1));
  return "";
}

// The error of the linker or the assembler for a file in which the compiler finds no error.
std::string after_compiling(const std::string& said, const std::string& name) {
  static const std::regex assembler(R"((?:^|\n)[^\n]+?:(\d+): Error: )"), undefined("undefined reference to `([^']*)'");
  std::smatch match;
  if (std::regex_search(said, match, assembler))
    return fmt::format(
        "{}:{}: inline PTX is not part of the model: write a CUDA function, or one of common/cuda/ptx.hpp", name,
        match[1].str());
  if (said.find("multiple definition of `main'") != std::string::npos)
    return name + R"(: main() is not run: describe each launch in a TILE_COUNT("a title") { ... }, and leave it out)";
  if (std::regex_search(said, match, undefined))
    return fmt::format("{}: {} is declared but not defined: put its definition into the file", name, match[1].str());
  return fmt::format("{}: the compiler rejects it; --verbose shows its message", name);
}

}  // namespace

std::string errors_in_lines(const std::string& said, const std::string& source) {
  const std::string name = std::filesystem::path(source).filename();
  const std::vector<Error> errors = errors_of(said);
  if (errors.empty()) return after_compiling(said, name);
  const auto advice_on = [](const Error& error) { return instead_of(unknown_word(error.message)); };
  const bool advised = std::any_of(errors.begin(), errors.end(), [&](auto& e) { return !advice_on(e).empty(); });
  std::string lines;
  std::set<std::string> told, places;  // to show each text, and each line, once
  std::size_t left_out = 0;
  for (const Error& error : errors) {
    const std::string instead = advice_on(error), text = instead.empty() ? error.message : instead;
    const std::string place = fmt::format("{}:{}", std::filesystem::path(error.file).filename().string(), error.line);
    const bool first = places.insert(place).second;
    const bool tells = !instead.empty() || (first && !advised);
    if (tells && told.insert(text).second)
      lines += fmt::format("{}: {}\n", place, text);
    else
      ++left_out;
  }
  if (left_out > 0)
    lines += fmt::format("{}: and {} of the compiler, which may be consequences; --verbose shows all\n", name,
                         simt::counted(left_out, "more error"));
  return lines;
}

}  // namespace tile::counting
