#include "common/report/count/compiler_errors.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

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

// The first error of the output, at the place in the reader's file from which it was come to.
std::optional<Error> first_error(const std::string& said) {
  static const std::regex error(R"(^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$)");
  static const std::regex required(R"(^(.+?):(\d+):(?:\d+:)?\s+required (?:from|by) .*$)");
  static const std::regex included(R"(^(?:In file included from|\s+from) (.+?):(\d+)[:,].*$)");
  std::istringstream lines(said);
  std::optional<Error> came_from;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, error)) {
      Error found{match[1], match[3], std::stoi(match[2])};
      if (!is_of_the_reader(found.file) && came_from) {
        found.file = came_from->file;
        found.line = came_from->line;
      }
      return found;
    }
    if ((std::regex_match(line, match, required) || std::regex_match(line, match, included)) &&
        is_of_the_reader(match[1]))
      came_from = Error{match[1], "", std::stoi(match[2])};
  }
  return {};
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

// The line of the source that defines main(), or 0.
int line_of_main(const std::filesystem::path& source) {
  static const std::regex definition(R"(^\s*(?:int|auto|void)\s+main\s*\(.*$)");
  std::ifstream in(source);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (std::regex_match(line, definition)) return number;
  }
  return 0;
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

std::string in_one_line(const std::string& said, const std::filesystem::path& source) {
  const std::string name = source.filename().string();
  if (said.find("multiple definition of `main'") != std::string::npos)
    return fmt::format("{}:{}: main() is not run: describe each launch in a TILE_COUNT, and leave main() out", name,
                       line_of_main(source));
  const auto error = first_error(said);
  if (!error) {
    if (const std::string ptx = assembler_in_one_line(said); !ptx.empty()) return ptx;
    static const std::regex undefined("undefined reference to `([^']*)'");
    std::smatch match;
    if (std::regex_search(said, match, undefined))
      return fmt::format("{}: {} is declared and not defined: put its definition into the file", name, match[1].str());
    return fmt::format("{}: the compiler refuses it without a word that count understands; --verbose shows all", name);
  }
  const std::string place = fmt::format("{}:{}", std::filesystem::path(error->file).filename().string(), error->line);
  const std::string word = unknown_word(error->message);
  // nvcc knows the first by itself; the second stands where a <<<...>>> stood
  if (word == "__global__" || word == "tile")
    return fmt::format(
        "{}: what kernels are written with is not there: write #include \"common/report/count.hpp\" at the top, and "
        "describe a launch in a TILE_COUNT (./tile count --help)",
        place);
  if (const std::string instead = word.empty() ? "" : instead_of(word); !instead.empty())
    return fmt::format("{}: {} is not part of the model: {}", place, word, instead);
  static const std::regex missing("(.*): No such file or directory|'(.*)' file not found");
  if (std::smatch header; std::regex_match(error->message, header, missing)) {
    const std::string called = header[1].str() + header[2].str();
    if (const std::string instead = advice_on(headers, called); !instead.empty())
      return fmt::format("{}: {} is not part of the model: {}", place, called, instead);
  }
  const std::string ours = "static assertion failed: ";
  if (error->message.starts_with(ours)) return fmt::format("{}: {}", place, error->message.substr(ours.size()));
  static const std::regex unnamed(".*no match(?:es|ing).* function.*(?:to type|for call to)[^a-z]*(?:void|launch).*");
  if (std::regex_match(error->message, unnamed))
    return fmt::format("{}: which kernel is meant, its name does not tell: name its template arguments, kernel<float>",
                       place);
  return fmt::format("{}: {}", place, error->message);
}

}  // namespace tile::counting
