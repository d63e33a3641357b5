#include "common/count/compiler_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "common/check/repository.hpp"
#include "common/count/known_words.hpp"

namespace tile::counting {
namespace {

struct Error {
  std::string file, message;
  int line = 0;
  bool in_header = false;  // of this repository: its place is where that was come from
  // Of a launch that does not fit its kernel: the types of the arguments that it hands over, and of those that the kernel takes.
  std::string handed_over, taken;
};

bool is_of_the_reader(const std::string& path) {
  const std::string root = in_repository("").string(), file = std::filesystem::path(path).lexically_normal().string();
  return !file.starts_with("/usr/include/") && !file.starts_with("/usr/lib/") && !file.starts_with(root + "common/") &&
         !file.starts_with("common/");
}

// "invalid conversion [-fpermissive]": without the option that would let it pass.
std::string without_flag(const std::string& message) {
  const std::size_t flag = message.rfind(" [-");
  return flag == std::string::npos || !message.ends_with(']') ? message : message.substr(0, flag);
}

// The errors of the output, each at the place in the reader's file from which it was come to.
std::vector<Error> errors_of(const std::string& said) {
  static const std::regex error(R"(^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$)");
  static const std::regex required(R"(^(.+?):(\d+):(?:\d+:)?\s+required (?:from|by) .*$)");
  static const std::regex included(R"(^(?:In file included from|\s+from) (.+?):(\d+)[:,].*$)");
  static const std::regex expanded(R"(^(.+?):(\d+):(?:\d+:)? note: in expansion of macro .*$)");
  static const std::regex bound(
      R"(^.*: In instantiation of .*\[with Arguments = \{(.*)\}; Parameters = \{(.*)\}\].*$)");
  std::istringstream lines(said);
  std::vector<Error> found;
  std::optional<Error> came_from;
  std::string handed_over, taken;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, bound)) {
      handed_over = match[1];
      taken = match[2];
    } else if (std::regex_match(line, match, error)) {
      found.push_back({match[1], without_flag(match[3]), std::stoi(match[2]), false, std::exchange(handed_over, ""),
                       std::exchange(taken, "")});
      found.back().in_header = !is_of_the_reader(found.back().file);
      if (found.back().in_header && came_from) {
        found.back().file = came_from->file;
        found.back().line = came_from->line;
      }
      came_from.reset();
    } else if (std::regex_match(line, match, expanded) && is_of_the_reader(match[1]) && !found.empty() &&
               found.back().in_header) {
      found.back().file = match[1];
      found.back().line = std::stoi(match[2]);
    } else if ((std::regex_match(line, match, required) || std::regex_match(line, match, included)) &&
               is_of_the_reader(match[1])) {
      came_from = Error{match[1], {}, std::stoi(match[2]), {}, {}, {}};
    }
  }
  return found;
}

// "'cudaMalloc' was not declared in this scope": the word.
std::string unknown_word(const std::string& message) {
  static const std::regex unknown(
      "(?:‘|'|\")?(?:::)?([A-Za-z_][A-Za-z0-9_]*)(?:::[A-Za-z_0-9:]*)?(?:’|'|\")? "
      "(?:was not declared|has not been declared|does not name a type|is not a member|is not a class).*");
  static const std::regex undeclared(".*(?:undeclared identifier|unknown type name) '([A-Za-z_][A-Za-z0-9_]*)'.*");
  std::smatch match;
  if (std::regex_match(message, match, unknown) || std::regex_match(message, match, undeclared)) return match[1];
  return "";
}

// What a source says whether or not it compiles.
struct Source {
  int line_of_main = 0;  // outside of any #if; 0: there is none
  bool describes_runs = false;
  std::vector<Error> words;  // of CUDA's libraries, as the compiler would complain of them where it comes to them
};

// A line without what stands in strings and comments; `in_comment`: whether it begins in one, and then whether the next does.
std::string program_text(const std::string& line, bool& in_comment) {
  std::string text;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_comment) {
      if (line.compare(i, 2, "*/") == 0) in_comment = false, ++i;
    } else if (quote != 0) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = 0;
    } else if (line.compare(i, 2, "//") == 0) {
      break;
    } else if (line.compare(i, 2, "/*") == 0) {
      in_comment = true, ++i;
    } else {
      if (line[i] == '"' || line[i] == '\'') quote = line[i];
      text += line[i];
    }
  }
  return text;
}

Source look_at(const std::filesystem::path& source) {
  static const std::regex main_defined(R"(^\s*(?:int|auto|void)\s+main\s*\(.*$)");
  static const std::regex condition(R"(^\s*#\s*if.*$)"), end_of_condition(R"(^\s*#\s*endif.*$)");
  static const std::regex included(R"(^\s*#\s*include.*$)"), defined(R"(^\s*#\s*define\s+(\w+).*$)");
  static const std::regex of_libraries(
      R"(\b(?:cuda(?:Malloc|HostAlloc|Free|Memcpy(?!ToSymbol|FromSymbol)|Memset|Event|)"
      R"(Launch|Occupancy)|cublas|curand)\w*)");
  Source found;
  std::ifstream in(source);
  std::set<std::string> own;
  int number = 0, conditions = 0;
  bool in_comment = false;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = program_text(line, in_comment);
    if (std::regex_match(line, condition)) ++conditions;
    if (std::regex_match(line, end_of_condition)) --conditions;
    found.describes_runs = found.describes_runs || line.find("TILE_COUNT") != std::string::npos;
    if (conditions > 0 || std::regex_match(line, included)) continue;
    if (std::smatch name; std::regex_match(line, name, defined)) own.insert(name[1]);
    if (found.line_of_main == 0 && std::regex_match(line, main_defined)) found.line_of_main = number;
    for (std::sregex_iterator word(line.begin(), line.end(), of_libraries), end; word != end; ++word)
      if (!own.contains(word->str()))
        found.words.push_back({source.string(), fmt::format("'{}' was not declared", word->str()), number, {}, {}, {}});
  }
  return found;
}

// What the assembler says of inline PTX, at its place; "" if it says nothing.
std::string assembler_in_one_line(const std::string& said) {
  static const std::regex error(R"((?:^|\n)([^\n]+?):(\d+): Error: )");
  std::smatch match;
  if (!std::regex_search(said, match, error)) return "";
  return fmt::format(
      "{}:{}: inline PTX is not part of the model: write the CUDA function that does it, or the one of "
      "common/cuda/ptx.hpp",
      std::filesystem::path(match[1].str()).filename().string(), match[2].str());
}

// What a file lacks that does not include count.hpp: nvcc knows the first by itself, the second stands where a <<<...>>> stood.
bool lacks_the_vocabulary(const Error& error) {
  const std::string word = unknown_word(error.message);
  return word == "__global__" || word == "tile";
}

// "2: float*, int", of a list of types.
std::string numbered(const std::string& types) {
  int depth = 0;
  auto count = std::size_t(!types.empty());
  for (const char c : types) {
    depth += c == '<' || c == '(' || c == '{' || c == '[';
    depth -= c == '>' || c == ')' || c == '}' || c == ']';
    count += depth == 0 && c == ',';
  }
  return types.empty() ? "0" : fmt::format("{}: {}", count, types);
}

const std::regex missing_header("(.*): No such file or directory|'(.*)' file not found");

// What to do about an error; "" where the compiler's own words must do.
std::string advice_on(const Error& error) {
  const std::string word = unknown_word(error.message);
  if (lacks_the_vocabulary(error))
    return "__global__ and <<<>>> are not known here: write #include \"common/count/count.hpp\" as the first line";
  if (const std::string instead = word.empty() ? "" : instead_of(word); !instead.empty())
    return fmt::format("{} is not part of the model: {}", word, instead);
  if (std::smatch header; std::regex_match(error.message, header, missing_header)) {
    const std::string called = header[1].str() + header[2].str();
    if (const std::string instead = instead_of_header(called); !instead.empty())
      return fmt::format("{} is not part of the model: {}", called, instead);
  }
  const std::string ours = "static assertion failed: ";
  if (error.message.starts_with(ours)) {
    const std::string launch = error.handed_over.empty() && error.taken.empty()
                                   ? ""
                                   : fmt::format(" (it hands over {}; the kernel takes {})",
                                                 numbered(error.handed_over), numbered(error.taken));
    return error.message.substr(ours.size()) + launch;
  }
  static const std::regex variable_extent("size of array .* is not an integral constant-expression");
  if (std::regex_match(error.message, variable_extent))
    return "the size of a __shared__ array is not a constant: write a constant, or extern __shared__ float s[], with "
           "its "
           "bytes as the third argument between <<< and >>>";
  static const std::regex unnamed(".*no match(?:es|ing).* function.*(?:to type|for call to)[^a-z]*(?:void|launch).*");
  if (std::regex_match(error.message, unnamed))
    return "which kernel is meant, its name does not tell: name its template arguments, kernel<float>";
  return "";
}

std::string place_of(const Error& error) { return std::filesystem::path(error.file).filename().string(); }

// "value", of an unknown type in `Type value = 1;`: what is not known either because of it. "" if it declares nothing.
std::string declared_by(const Error& error, const std::string& type) {
  std::ifstream in(error.file);
  std::string line;
  for (int number = 0; number < error.line && std::getline(in, line);) ++number;
  const std::regex declaration("\\b" + type + "\\b[\\s*&]*([A-Za-z_][A-Za-z0-9_]*)");
  std::smatch match;
  return std::regex_search(line, match, declaration) ? match[1].str() : "";
}

// Of what the compiler says of one line of the reader's the first counts, and each unknown word: the rest may come of it. So may
// what an unknown type declares, and all that is not known in a file without the vocabulary. Returns how many errors of the reader's
// lines were taken out.
std::size_t drop_what_follows(std::vector<Error>& errors) {
  const bool without_vocabulary = std::any_of(errors.begin(), errors.end(), lacks_the_vocabulary);
  std::set<std::pair<std::string, int>> places;
  std::set<std::string> declared;
  std::size_t dropped = 0;
  std::erase_if(errors, [&](const Error& error) {
    if (!is_of_the_reader(error.file)) return true;
    const std::string word = unknown_word(error.message);
    const bool is_first = places.insert({error.file, error.line}).second;
    const bool follows = without_vocabulary || (!word.empty() && declared.contains(word)) ? advice_on(error).empty()
                                                                                          : !is_first && word.empty();
    if (!word.empty()) declared.insert(declared_by(error, word));
    dropped += follows && !error.in_header;
    return follows;
  });
  return dropped;
}

// What is wrong with a source.
struct Fault {
  std::string file;
  int line = 0;
  std::string text;
};

// A line for each text, with all lines of a source of which it is said; in the order of the first of these.
std::vector<std::string> in_the_order_of_the_source(const std::vector<Fault>& faults) {
  std::map<std::pair<std::string, std::string>, std::set<int>> lines_of;  // of a file and a text
  for (const Fault& fault : faults) lines_of[{fault.file, fault.text}].insert(fault.line);
  std::multimap<std::pair<std::string, int>, std::string> in_order;
  for (const auto& [said, lines] : lines_of)
    in_order.insert(
        {{said.first, *lines.begin()}, fmt::format("{}:{}: {}", said.first, fmt::join(lines, ", "), said.second)});
  std::vector<std::string> texts;
  for (const auto& [place, text] : in_order) texts.push_back(text);
  return texts;
}

// The fault of a source in which the compiler finds no error.
std::string of_the_linker_or_assembler(const std::string& said, const std::string& name) {
  if (const std::string ptx = assembler_in_one_line(said); !ptx.empty()) return ptx;
  static const std::regex undefined("undefined reference to `([^']*)'");
  if (std::smatch match; std::regex_search(said, match, undefined))
    return fmt::format("{}: {} is declared and not defined: put its definition into the file", name, match[1].str());
  return fmt::format("{}: the compiler refuses it without a word that count understands; --verbose shows all", name);
}

}  // namespace

std::vector<std::string> faults_of(const std::string& said, const std::filesystem::path& source) {
  constexpr std::size_t most = 12;
  const std::string name = source.filename().string();
  std::vector<Error> errors = errors_of(said);
  const Source looked_at = look_at(source);
  const bool main_is_linked = said.find("multiple definition of `main'") != std::string::npos;
  const bool is_compiled = errors.empty();
  std::size_t left_out = drop_what_follows(errors);
  errors.insert(errors.end(), looked_at.words.begin(), looked_at.words.end());
  std::vector<Fault> found;
  for (const Error& error : errors) {
    const std::string advice = advice_on(error);
    found.push_back({place_of(error), error.line, advice.empty() ? error.message : advice});
  }
  if (main_is_linked || looked_at.line_of_main > 0)
    found.push_back(
        {name, looked_at.line_of_main,
         "main() is not run: describe each launch in a TILE_COUNT(\"a title\") { ... }, and leave main() out"});
  std::vector<std::string> faults = in_the_order_of_the_source(found);
  if (faults.size() > most) {
    left_out += faults.size() - most;
    faults.resize(most);
  }
  if (is_compiled && !main_is_linked) faults.insert(faults.begin(), of_the_linker_or_assembler(said, name));
  if (left_out > 0)
    faults.push_back(
        fmt::format("{}: and {} more error{} of the compiler, which may come of these; --verbose shows all", name,
                    left_out, left_out == 1 ? "" : "s"));
  if (!main_is_linked && looked_at.line_of_main == 0 && !looked_at.describes_runs)
    faults.push_back(fmt::format("{}: the file describes no run: add a TILE_COUNT (see the README)", name));
  return faults;
}

std::string header_not_in_the_model(const std::string& said) {
  for (const Error& error : errors_of(said)) {
    std::smatch header;
    if (!std::regex_match(error.message, header, missing_header)) continue;
    const std::string called = header[1].str() + header[2].str();
    if (!instead_of_header(called).empty()) return called;
  }
  return "";
}

}  // namespace tile::counting
