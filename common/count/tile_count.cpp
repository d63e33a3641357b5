// `tile count`: counts the kernels of files and says what follows.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "common/check/repository.hpp"
#include "common/bench/ceilings.hpp"
#include "common/count/compare.hpp"
#include "common/count/compiler_errors.hpp"
#include "common/count/json.hpp"
#include "common/count/text.hpp"
#include "common/count/updates.hpp"

namespace tile::counting {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string compiler;
  bool json = false, verbose = false;
  int registers = 0;
};

/// A directory for what is made on the way, gone with this.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tile-count-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(fmt::format("cannot make a directory in {}", name));
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Runs a program. What it writes to `descriptor` is handed on line by line. Returns how it ended, as waitpid says.
int run_program(const std::vector<std::string>& command, int descriptor, const std::function<void(std::string)>& line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::strerror(errno));
  if (child == 0) {
    // Without O_CLOEXEC, even where the numbers are the same already.
    if (ends[1] == descriptor ? fcntl(descriptor, F_SETFD, 0) < 0 : dup2(ends[1], descriptor) < 0) _exit(126);
    if (descriptor == STDERR_FILENO) dup2(descriptor, STDOUT_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(fdopen(ends[0], "r"), std::fclose);
  std::string text;
  for (int c; (c = std::fgetc(in.get())) != EOF;) {
    if (c != '\n') {
      text += char(c);
      continue;
    }
    line(std::move(text));
    text.clear();
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What was found so far, told as it is found unless all is to be told in one document. What is wrong goes to stderr; stdout says of
// which run something is.
class Report {
 public:
  Report(const Options& options, const Rates& rates) : options_(options), rates_(rates) {}

  void add(const Run& run) {
    runs_.push_back(run);
    compared_.push_back(run);
    if (options_.json) return;
    fmt::print("\n== {}\n", run.title);
    for (const simt::Counts& counts : run.kernels) {
      const double flops = run.flops / double(run.kernels.size());
      print(counts, verdict_of(counts, rates_, flops, options_.registers), rates_, flops);
    }
    if (run.error.empty()) return;
    fmt::print("  failed: {}; stderr has the findings\n", kinds_of(run.error));
    say_lines(run.error, fmt::format("{}, \"{}\": ", std::filesystem::path(run.file).filename().string(), run.title));
  }
  void add(const Failure& failure) {
    if (failures_.empty() || failures_.back().file != failure.file) {
      Run none;
      none.file = failure.file;
      none.error = failure.message;
      compared_.push_back(none);
    }
    failures_.push_back(failure);
    if (!options_.json) say_lines(failure.message);
  }
  // Returns the exit code.
  int finish() const {
    const bool failed = std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return !r.error.empty(); });
    if (options_.json) {
      fmt::print("{}\n", document(runs_, failures_, rates_, options_.registers).dump(1));
    } else {
      const auto with_table =
          std::count_if(runs_.begin(), runs_.end(), [](const Run& r) { return !r.kernels.empty(); });
      if (with_table > 0 && compared_.size() > 1) print_side_by_side(compared_, rates_, options_.registers);
      if (with_table > 0) print_legend();
    }
    return failed || !failures_.empty() ? 1 : 0;
  }

 private:
  // What the findings of a run begin with: "race, uninitialised".
  static std::string kinds_of(const std::string& findings) {
    std::set<std::string> kinds;
    std::istringstream lines(findings);
    for (std::string line; std::getline(lines, line);)
      if (const auto colon = line.find(": "); colon < 30) kinds.insert(line.substr(0, colon));
    return kinds.empty() ? "it did not end" : fmt::format("{}", fmt::join(kinds, ", "));
  }
  // `of_what` comes before lines that name no line of a source.
  static void say_lines(const std::string& what, const std::string& of_what = "") {
    static const std::regex place(R"(\w:\d+)");
    std::fflush(stdout);
    std::istringstream lines(what);
    for (std::string line; std::getline(lines, line);)
      fmt::print(stderr, "count: {}{}\n", line.starts_with("...") || std::regex_search(line, place) ? "" : of_what,
                 line);
  }

  const Options& options_;
  const Rates rates_;
  std::vector<Run> runs_, compared_;  // the latter with a run for each file that has none
  std::vector<Failure> failures_;
};

// Makes an empty header where the compiler finds it, so that it says what is wrong behind it as well. Returns whether it could.
bool stand_in_for(const std::string& header, const std::filesystem::path& directory) {
  if (header.empty() || header.starts_with("/") || header.find("..") != std::string::npos) return false;
  const std::filesystem::path file = directory / header;
  if (std::filesystem::exists(file)) return false;
  std::filesystem::create_directories(file.parent_path());
  return bool(std::ofstream(file));
}

// Compiles a file. Returns whether it could be.
bool compile(const Options& options, const std::string& file, const Scratch& scratch, Report& report) {
  std::string said, before;
  const auto hear = [&](const std::string& line) { said += line + "\n"; };
  const std::filesystem::path stand_ins = scratch / "headers";
  std::filesystem::remove_all(stand_ins);
  setenv("CPLUS_INCLUDE_PATH", stand_ins.c_str(), 1);
  const std::vector<std::string> command{options.compiler, file, (scratch / "program").string(), "count"};
  while (run_program(command, STDERR_FILENO, hear) != 0 && stand_in_for(header_not_in_the_model(said), stand_ins))
    before += std::exchange(said, "");
  said = before + said;
  if (said.empty()) return true;
  if (options.verbose) fmt::print(stderr, "{}", said);
  for (const std::string& fault : faults_of(said, file)) report.add(Failure{file, fault});
  return false;
}

// Runs what a file was compiled to.
void count(const std::string& file, const std::filesystem::path& program, Report& report) {
  constexpr int descriptor = 9;
  std::size_t told = 0;
  const auto hear = [&](const std::string& line) {
    Run run = run_of(Json::parse(line));
    run.file = file;
    run.error = with_updates_explained(run.error, file);
    report.add(run);
    ++told;
  };
  const int status = run_program({program.string(), std::to_string(descriptor)}, descriptor, hear);
  if (WIFSIGNALED(status))
    report.add(Failure{file, fmt::format("{}: run {} ended with a signal ({}), and with it the rest of the file", file,
                                         told + 1, strsignal(WTERMSIG(status)))});
  else if (told == 0)
    report.add(Failure{file, fmt::format("{}: the file describes no run: add a TILE_COUNT (see the README)", file)});
}

// Why a file is not compiled at all; "" if it is.
std::string unreadable(const std::string& file) {
  if (std::filesystem::is_directory(file))
    return fmt::format("{} is a directory: name the .cu files in it that are to be counted", file);
  if (file.empty()) return "a file without a name: name a .cu file";
  if (!std::ifstream(file)) return fmt::format("cannot read {}: {}", file, std::strerror(errno));
  static const std::set<std::string> of_programs{".cu", ".cuh", ".cpp", ".cc", ".cxx", ".hpp", ".h"};
  if (of_programs.contains(std::filesystem::path(file).extension().string()))
    return std::filesystem::is_empty(file) ? fmt::format("{} is empty: the README has a template", file) : "";
  return fmt::format("{} is no CUDA source by its name: name a .cu file", file);
}

int run(const Options& options) {
  Report report(options, recorded_rates(in_repository("chapters")));
  const Scratch scratch;
  for (const std::string& file : options.files) {
    if (const std::string why = unreadable(file); !why.empty()) {
      report.add(Failure{file, why});
      continue;
    }
    if (compile(options, file, scratch, report)) count(file, scratch / "program", report);
  }
  return report.finish();
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
  } catch (const CLI::RequiredError&) {
    fmt::print(
        stderr,
        "count: which file? For example: ./tile count my_kernel.cu; the README has a template, --help the options\n");
    return 2;
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "count: {}; ./tile count --help lists the options\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "count: {}\n", e.what());
    return 1;
  }
}
