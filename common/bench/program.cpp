#include "common/bench/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "common/bench/counters.hpp"
#include "common/bench/merge.hpp"

namespace tile {
namespace {

using Lines = std::vector<std::string>;

// The problems at which a kernel was timed are the program's, in order; the types are the kernel's.
void check_problems(Lines& lines, const Record& entry, const Lines& problems) {
  Lines timed;
  for (const Record& run : entry.at("runs")) timed.push_back(key_of(problem_named(run.at("problem")).of({})));
  if (timed != problems)
    lines.push_back(fmt::format("{}: timed at {}, the program says {}", entry.at("name").get<std::string>(),
                                fmt::join(timed, ", "), fmt::join(problems, ", ")));
}

// The kernel that was timed is the one that the tuner chose.
void check_tuned(Lines& lines, const Record& entry, const std::filesystem::path& directory) {
  const std::string name = entry.at("name"), timed = entry.at("function");
  if (!holds_record(directory, RecordKind::tuned)) return lines.push_back(name + ": there is no tuning of this GPU");
  const Record tuning = load_record(directory, RecordKind::tuned);
  const std::string chosen = tuning.at("chosen");
  if (without_build(timed) != without_build(find_timed(tuning, chosen)->at("function")))
    lines.push_back(fmt::format("{}: timed is {}, the tuning chose {}", name, timed, chosen));
}

// The kernels and problems of a record are the chapter's.
void check_kernels(Lines& lines, const Record& record, const Record& program) {
  for (const Record& kernel : program.at("kernels")) {
    const std::string name = kernel.at("name");
    const Record* entry = find_kernel(record, name);
    if (entry == nullptr) {
      lines.push_back(name + ": the record does not have it");
      continue;
    }
    if (kernel.value("tuned", false))
      check_tuned(lines, *entry, record_directory(directory_of(program), record.at("gpu")));
    else
      for (const char* key : {"block_threads", "dynamic_shared"})
        if (const int own = kernel.at(key), recorded = entry->value(key, -1); recorded != own)
          lines.push_back(fmt::format("{}: {} is {}, the program says {}", name, key, recorded, own));
    check_problems(lines, *entry, program.at("problems"));
  }
  for (const Record& entry : record.at("kernels"))
    if (const std::string name = entry.at("name"); find_kernel(program, name) == nullptr)
      lines.push_back(name + ": this chapter has no such kernel");
}

// The rows of the book's table of counters are equal, or named in differences.json.
void check_counters(Lines& lines, const Record& record, const Record& counted) {
  const auto differences = load_differences(directory_of(counted));
  for (const Record& kernel : counted.at("kernels"))
    if (const Record* entry = find_kernel(record, kernel.at("name")); entry != nullptr && entry->contains("counters"))
      std::ranges::move(unexplained(kernel.at("tallies"), *entry, differences), std::back_inserter(lines));
}

}  // namespace

std::filesystem::path directory_of(const Record& program) {
  return std::filesystem::path(program.at("source").get<std::string>()).parent_path();
}

std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Record& program,
                                           const std::function<Record()>& count) {
  Lines lines;
  if (kind == RecordKind::tuned) {
    for (const Record& candidate : program.value("candidates", Record::array()))
      if (const std::string name = candidate.at("name");
          candidate.at("pruned") == "" && find_timed(record, name) == nullptr)
        lines.push_back(name + ": the tuning has not timed it");
  } else if (kind == RecordKind::sweep) {
    const std::string kernel = program.at("sweep").at("kernel");
    if (const Record* entry = find_kernel(record, kernel))
      check_problems(lines, *entry, program.at("sweep").at("problems"));
    else
      lines.push_back("the sweep is not of " + kernel);
  } else {
    check_kernels(lines, record, program);
    if (record.at("gpu") == reference_gpu) check_counters(lines, record, count());
  }
  return lines;
}

}  // namespace tile
