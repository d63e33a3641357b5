// The command line of every chapter program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// A usage error: one line, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::string on;      ///< "gpu", "model", or "" for the GPU if there is one
  std::string kernel;  ///< only this one
  std::optional<Case> problem;
  std::string test;  ///< run this test case
  bool all_tests = false;
  bool list_tests = false;
  bool lines = false;  ///< print counts line by line
  bool once = false;   ///< run every kernel `repeat` times, for a profiler
  int repeat = 1;
  bool warm = false;  ///< time with operands that may be in the L2
  bool bench = false;
  const Extension::Flag* flag = nullptr;  ///< the one of the chapter's own flags that was given
  std::string needs_gpu;                  ///< a given option that needs a GPU
  std::string describe;          ///< print a description: "program", or "counts" for one with the model's counts
  std::filesystem::path out;     ///< the directory for the record
  std::filesystem::path emit;    ///< write the files for the book into this directory
  std::filesystem::path record;  ///< also show this record (made by a GPU program for its report)
};

/// Kernels chosen by --kernel, or all; on the model also the dispatcher. Throws UsageError for an unknown name.
std::vector<Kernel> chosen_kernels(const Options& options);

/// The problems that ./tile bench times: the chapter's sizes, then its shapes.
std::vector<Case> timed_problems();

/// The report of the program on its own machine (report_model.cpp, report_gpu.cpp).
int run_chapter(const Options& options);

/// On a GPU, for a record: the current clocks, and a kernel's entry with its attributes from compiler and driver.
void note_clocks(Record& record, const char* when);
Record entry_of(const Kernel& kernel);

/// The program's source, and the directory with its records: chapters/NN-name, and for a lab/QUESTION.cu, lab/QUESTION.
inline std::filesystem::path chapter_source() { return this_chapter_file(); }
inline std::filesystem::path chapter_directory() {
  const std::filesystem::path source = chapter_source();
  return source.parent_path().filename() == "lab" ? source.parent_path() / source.stem() : source.parent_path();
}

/// The program compiled for the model beside this one ("chapter02-model"), or empty if there is none.
std::filesystem::path sibling_model_program();
/// Replaces this process by `program`, with these arguments. Throws std::runtime_error.
[[noreturn]] void become(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace tile
