// `tile count`: counts the kernels of files and says what follows.
#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "common/bench/ceilings.hpp"
#include "common/check/repository.hpp"
#include "common/count/counting.hpp"
#include "common/sim/rewrite/files.hpp"

namespace tile::counting {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> files;
  std::string compiler;
  bool json = false, verbose = false;
  int registers = 0;
};

std::string quoted(const std::string& word) { return "'" + std::regex_replace(word, std::regex("'"), R"('\'')") + "'"; }

// Prints a run. What is wrong goes to stderr, line by line; of lines that name no place in a source it is said whose they are.
void show(const Run& run, const Rates& rates, int registers) {
  static const std::regex place(R"(\w:\d+|^\.\.\.)");
  if (!run.title.empty()) fmt::print("\n== {}\n", run.title);
  for (const simt::Counts& counts : run.kernels) {
    const double flops = run.flops / double(run.kernels.size());
    print(counts, verdict_of(counts, rates, flops, registers), rates, flops);
  }
  std::string whose;
  if (!run.error.empty() && !run.title.empty()) {
    fmt::print("  failed: {}; stderr has the findings\n", run.error.substr(0, run.error.find(": ")));
    whose = fmt::format("{}, \"{}\": ", fs::path(run.file).filename().string(), run.title);
  }
  std::fflush(stdout);
  std::istringstream lines(run.error);
  for (std::string line; std::getline(lines, line);)
    fmt::print(stderr, "count: {}{}\n", std::regex_search(line, place) ? "" : whose, line);
}

// Why a file is not compiled at all; "" if it is.
std::string unreadable(const std::string& file) {
  if (!std::ifstream(file)) return fmt::format("cannot read {}: {}", file, std::strerror(errno));
  if (!std::regex_search(file, std::regex(R"(\.(cuh?|cpp|cc|cxx|hpp|h)$)")))
    return fmt::format("{} is no CUDA source by its name: name a .cu file", file);
  return "";
}

// Compiles a file to `program` and runs what it describes; `tell` hears of each run, and of what is wrong with the whole file.
void count(const Options& options, const std::string& file, const std::string& program,
           const std::function<void(Run)>& tell) {
  const auto reject = [&](const std::string& why) { tell({.file = file, .title = "", .error = why, .kernels = {}}); };
  if (const std::string why = unreadable(file); !why.empty()) return reject(why);
  const std::string none = fmt::format("{}: the file describes no run: add a TILE_COUNT (see the README)", file);
  const std::string said = program + "-said", counted = program + "-counted";
  if (std::system(fmt::format("LC_ALL=C exec {} {} {} count >{} 2>&1", quoted(options.compiler), quoted(file),
                              quoted(program), quoted(said))
                      .c_str()) != 0) {
    const std::string errors = files::read_text(said);
    if (options.verbose) fmt::print(stderr, "{}", errors);
    const bool describes = files::read_text(file).find("TILE_COUNT") != std::string::npos;
    return reject(errors_in_lines(errors, file) + (describes ? "" : none));
  }
  fs::remove(counted);
  std::fflush(stdout);
  const int status = std::system(fmt::format("exec {} {}", quoted(program), quoted(counted)).c_str());
  std::size_t told = 0;
  std::ifstream runs(counted);
  for (std::string line; std::getline(runs, line); ++told) {
    Run run = Json::parse(line);
    run.file = file;
    tell(run);
  }
  if (WIFSIGNALED(status))
    reject(fmt::format("{}: run {} ended with a signal ({}), and with it the rest of the file", file, told + 1,
                       strsignal(WTERMSIG(status))));
  else if (told == 0)
    reject(none);
}

int run(const Options& options) {
  const Rates rates = recorded_rates(in_repository("chapters"));
  std::string directory = (fs::temp_directory_path() / "tile-count-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("cannot make a directory " + directory);
  const std::unique_ptr<const std::string, void (*)(const std::string*)> removed(
      &directory, [](const std::string* name) { fs::remove_all(*name); });
  std::vector<Run> runs;
  for (const std::string& file : options.files)
    count(options, file, directory + "/program", [&](const Run& run) {
      runs.push_back(run);
      if (!options.json) show(run, rates, options.registers);
    });
  if (options.json) {
    fmt::print("{}\n", document(runs, rates, options.registers).dump(1));
  } else if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return !r.kernels.empty(); })) {
    if (runs.size() > 1) print_side_by_side(runs, rates, options.registers);
    print_legend();
  }
  return std::any_of(runs.begin(), runs.end(), [](const Run& r) { return !r.error.empty(); }) ? 1 : 0;
}

}  // namespace
}  // namespace tile::counting

int main(int argc, char** argv) {
  CLI::App app{
      "Counts what the kernels of files would cost on a GPU, line by line. Each file describes its launches in\n"
      "TILE_COUNTs; the README has a template.",
      "./tile count"};
  tile::counting::Options options;
  app.add_option("FILE.cu", options.files, "several are compared side by side")->required();
  app.add_flag("--json", options.json, "print one JSON document; common/count/fields.tsv says what is in it");
  app.add_option("--registers", options.registers, "registers of a thread, as nvcc -Xptxas -v tells them")
      ->check(CLI::Range(1, 255));
  app.add_flag("--verbose", options.verbose, "where a file does not compile, show all that the compiler says");
  app.add_option("--compiler", options.compiler, "the model-cc to compile with")->required()->group("");
  try {
    app.parse(argc, argv);
    return tile::counting::run(options);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "count: {}; ./tile count --help lists the options\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "count: {}\n", e.what());
    return 1;
  }
}
