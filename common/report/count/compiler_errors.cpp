#include "common/report/count/compiler_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "common/check/repository.hpp"

namespace tile::counting {
namespace {

struct Advice {
  const char* beginning;  // of words
  const char* instead;
};
// The first that fits counts.
const Advice words[] = {
    {"cudaMallocHost", "keep host data in a std::vector"},
    {"cudaHostAlloc", "keep host data in a std::vector"},
    {"cudaMalloc", "write auto a = tile::array<float>(\"a\", n), and hand a.device() to the kernel"},
    {"cudaFree", "leave it out: a tile::array frees itself"},
    {"cudaMemcpy", "fill an array with a.set(values) and read it with a.host()"},
    {"cudaMemset", "fill an array with a.set(std::vector<float>(n))"},
    {"cudaEvent", "leave it out: the model counts and has no clock"},
    {"cudaStream", "leave it out: launches run one after the other"},
    {"cudaDeviceSynchronize", "leave it out: a launch returns when its grid has run"},
    {"cudaGetLastError", "leave it out: a launch throws what is wrong with it"},
    {"cudaPeekAtLastError", "leave it out: a launch throws what is wrong with it"},
    {"cudaError", "leave it out: a launch throws what is wrong with it"},
    {"cudaSuccess", "leave it out: a launch throws what is wrong with it"},
    {"cudaGetErrorString", "leave it out: a launch throws what is wrong with it"},
    {"cudaFunc", "leave it out: tile::launch asks for the shared memory that it is told"},
    {"cudaLaunchKernel", "write tile::launch(kernel, grid, block, shared bytes, arguments...)"},
    {"cudaLaunchCooperativeKernel", "count the kernel without its grid-wide barriers"},
    {"cudaTexture", "the model has no textures: load from an array"},
    {"cudaSurface", "the model has no surfaces: use an array"},
    {"cudaOccupancy", "leave it out: the count says how many blocks fit"},
    {"cuda", "leave it out: only kernels and their launches are counted"},
    {"cublas", "leave it out: only kernels of the file itself are counted"},
    {"curand", "fill arrays on the host: a.set(values)"},
    {"cub", "leave it out: only kernels of the file itself are counted"},
    {"thrust", "leave it out: only kernels of the file itself are counted"},
    {"clock", "leave it out: the model counts and has no clock"},
    {"globaltimer", "leave it out: the model counts and has no clock"},
    {"nvcuda", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"wmma", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"mma", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"tex1D", "the model has no textures: load from an array"},
    {"tex2D", "the model has no textures: load from an array"},
    {"tex3D", "the model has no textures: load from an array"},
    {"surf", "the model has no surfaces: use an array"},
    {"__shfl", "write __shfl_sync(mask, ...), __shfl_down_sync(mask, ...) and so on, as CUDA has since Volta"},
    {"__ballot", "write __ballot_sync(mask, predicate), as CUDA has since Volta"},
    {"__any", "write __any_sync(mask, predicate), as CUDA has since Volta"},
    {"__all", "write __all_sync(mask, predicate), as CUDA has since Volta"},
    {"__nv_fp8", "the model has no 8-bit floats yet: count with unsigned char"},
};

// Of headers that are not there, by how they are included.
const Advice headers[] = {
    {"mma.h", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"cuda_fp8", "the model has no 8-bit floats yet: count with unsigned char"},
    {"cub/", "leave it out: only kernels of the file itself are counted"},
    {"thrust/", "leave it out: only kernels of the file itself are counted"},
    {"cutlass/", "leave it out: only kernels of the file itself are counted"},
    {"cute/", "leave it out: only kernels of the file itself are counted"},
    {"torch/", "leave it out: only kernels of the file itself are counted"},
    {"ATen/", "leave it out: only kernels of the file itself are counted"},
    {"c10/", "leave it out: only kernels of the file itself are counted"},
    {"helper_cuda", "leave it out: a launch throws what is wrong with it"},
    {"cooperative_groups/memcpy_async", "write __pipeline_memcpy_async() and its kin, of <cuda_pipeline.h>"},
    {"cuda/pipeline", "write __pipeline_memcpy_async() and its kin, of <cuda_pipeline.h>"},
    {"cuda/", "leave it out: the model has no libcu++; atomicAdd() and its kin, and <cooperative_groups.h>, are there"},
};

struct Error {
  std::string file, message;
  int line = 0;
};

bool is_of_the_reader(const std::string& path) {
  const std::string root = in_repository("").string(), file = std::filesystem::path(path).lexically_normal().string();
  return !file.starts_with("/usr/") && !file.starts_with(root + "common/") && !file.starts_with("common/");
}

// The errors of the output, each at the place in the reader's file from which it was come to.
std::vector<Error> errors_of(const std::string& said) {
  static const std::regex error(R"(^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$)");
  static const std::regex required(R"(^(.+?):(\d+):(?:\d+:)?\s+required (?:from|by) .*$)");
  static const std::regex included(R"(^(?:In file included from|\s+from) (.+?):(\d+)[:,].*$)");
  std::istringstream lines(said);
  std::vector<Error> found;
  std::optional<Error> came_from;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, error)) {
      found.push_back({match[1], match[3], std::stoi(match[2])});
      if (!is_of_the_reader(found.back().file) && came_from) {
        found.back().file = came_from->file;
        found.back().line = came_from->line;
      }
      came_from.reset();
    } else if ((std::regex_match(line, match, required) || std::regex_match(line, match, included)) &&
               is_of_the_reader(match[1])) {
      came_from = Error{match[1], "", std::stoi(match[2])};
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
      R"(\b(?:cuda(?:Malloc|HostAlloc|Free|Memcpy(?!ToSymbol|FromSymbol)|Memset|Event|Stream|DeviceSynchronize|)"
      R"(GetLastError|PeekAtLastError|Error|Success|GetErrorString|Func|Launch|Occupancy)|cublas|curand)\w*)");
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
        found.words.push_back({source.string(), fmt::format("'{}' was not declared", word->str()), number});
  }
  return found;
}

}  // namespace

namespace {

template <std::size_t n>
std::string advice_on(const Advice (&known)[n], const std::string& word) {
  for (const Advice& a : known)
    if (word.starts_with(a.beginning)) return a.instead;
  return "";
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

}  // namespace

std::string instead_of(const std::string& word) { return advice_on(words, word); }

namespace {

const std::regex missing_header("(.*): No such file or directory|'(.*)' file not found");

// What to do about an error; "" where the compiler's own words must do.
std::string advice_on(const Error& error) {
  const std::string word = unknown_word(error.message);
  // nvcc knows the first by itself; the second stands where a <<<...>>> stood
  if (word == "__global__" || word == "tile")
    return "what kernels are written with is not there: write #include \"common/report/count.hpp\" at the top, and "
           "describe a launch in a TILE_COUNT (./tile count --help)";
  if (const std::string instead = word.empty() ? "" : instead_of(word); !instead.empty())
    return fmt::format("{} is not part of the model: {}", word, instead);
  if (std::smatch header; std::regex_match(error.message, header, missing_header)) {
    const std::string called = header[1].str() + header[2].str();
    if (const std::string instead = advice_on(headers, called); !instead.empty())
      return fmt::format("{} is not part of the model: {}", called, instead);
  }
  const std::string ours = "static assertion failed: ";
  if (error.message.starts_with(ours)) return error.message.substr(ours.size());
  static const std::regex unnamed(".*no match(?:es|ing).* function.*(?:to type|for call to)[^a-z]*(?:void|launch).*");
  if (std::regex_match(error.message, unnamed))
    return "which kernel is meant, its name does not tell: name its template arguments, kernel<float>";
  return "";
}

std::string place_of(const Error& error) { return std::filesystem::path(error.file).filename().string(); }

// What is known to be wrong, a line for each advice, with all lines of the source that it is for; in the order of the first of these.
// Of what else than unknown words the compiler says of one line, the first counts: the rest may come of it.
std::vector<std::string> advised(const std::vector<Error>& errors) {
  std::map<std::pair<std::string, std::string>, std::set<int>> lines_of;  // of a file and an advice
  std::set<std::pair<std::string, int>> places;
  for (const Error& error : errors) {
    const std::string advice = advice_on(error);
    const bool is_first = places.insert({error.file, error.line}).second;
    if (!advice.empty() && (is_first || !unknown_word(error.message).empty()))
      lines_of[{place_of(error), advice}].insert(error.line);
  }
  std::multimap<std::pair<std::string, int>, std::string> in_order;
  for (const auto& [fault, lines] : lines_of)
    in_order.insert(
        {{fault.first, *lines.begin()}, fmt::format("{}:{}: {}", fault.first, fmt::join(lines, ", "), fault.second)});
  std::vector<std::string> texts;
  for (const auto& [place, text] : in_order) texts.push_back(text);
  return texts;
}

// The one fault of a source in which nothing is known to be wrong: the first, for those behind it may come of it.
std::string first_fault(const std::string& said, const std::vector<Error>& errors, const std::string& name) {
  if (!errors.empty()) return fmt::format("{}:{}: {}", place_of(errors[0]), errors[0].line, errors[0].message);
  if (const std::string ptx = assembler_in_one_line(said); !ptx.empty()) return ptx;
  static const std::regex undefined("undefined reference to `([^']*)'");
  if (std::smatch match; std::regex_search(said, match, undefined))
    return fmt::format("{}: {} is declared and not defined: put its definition into the file", name, match[1].str());
  return fmt::format("{}: the compiler refuses it without a word that count understands; --verbose shows all", name);
}

}  // namespace

std::vector<std::string> faults_of(const std::string& said, const std::filesystem::path& source) {
  const std::string name = source.filename().string();
  const std::vector<Error> errors = errors_of(said);
  const Source looked_at = look_at(source);
  const bool main_is_linked = said.find("multiple definition of `main'") != std::string::npos;
  std::vector<Error> known = errors;
  known.insert(known.end(), looked_at.words.begin(), looked_at.words.end());
  std::vector<std::string> faults = advised(known);
  if (advised(errors).empty() && !main_is_linked) faults.insert(faults.begin(), first_fault(said, errors, name));
  if (main_is_linked || looked_at.line_of_main > 0)
    faults.push_back(fmt::format("{}:{}: main() is not run: describe each launch in a TILE_COUNT, and leave main() out",
                                 name, looked_at.line_of_main));
  else if (!looked_at.describes_runs)
    faults.push_back(fmt::format("{}: the file describes no run: add a TILE_COUNT (see the README)", name));
  return faults;
}

std::string header_not_in_the_model(const std::string& said) {
  for (const Error& error : errors_of(said)) {
    std::smatch header;
    if (!std::regex_match(error.message, header, missing_header)) continue;
    const std::string called = header[1].str() + header[2].str();
    if (!advice_on(headers, called).empty()) return called;
  }
  return "";
}

}  // namespace tile::counting
