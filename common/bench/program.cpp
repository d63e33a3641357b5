#include "common/bench/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/bench/counters.hpp"
#include "common/bench/merge.hpp"

namespace tile {
namespace {

using Lines = std::vector<std::string>;

void add(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

/// The kernel that the tuner chose is the one that was timed.
Lines other_than_tuned(const Record& entry, const std::filesystem::path& directory) {
  const std::string name = entry.at("name");
  if (!holds_record(directory, RecordKind::tuned)) return {name + ": there is no tuning of this GPU"};
  const Record tuning = load_record(directory, RecordKind::tuned);
  const std::string chosen = tuning.at("chosen"), timed = entry.at("function");
  if (without_build(timed) == without_build(find_timed(tuning, chosen)->at("function"))) return {};
  return {fmt::format("{}: timed is {}, the tuning chose {}", name, timed, chosen)};
}

/// The problems at which a record has a kernel timed, in order; the types are the kernel's.
Lines other_than_asked(const Record& entry, const Lines& problems) {
  Lines timed;
  for (const Record& run : entry.at("runs")) timed.push_back(key_of(problem_of(run).of({})));
  if (timed == problems) return {};
  return {fmt::format("{}: timed at {}, the program says {}", entry.at("name").get<std::string>(),
                      fmt::join(timed, ", "), fmt::join(problems, ", "))};
}

/// The kernels, problems and rates of a record are the chapter's.
Lines other_than_chapter(const Record& record, const Record& program) {
  Lines lines;
  for (const Record& kernel : program.at("kernels")) {
    const std::string name = kernel.at("name");
    const Record* entry = find_kernel(record, name);
    if (entry == nullptr) {
      lines.push_back(name + ": the record does not have it");
      continue;
    }
    if (kernel.value("tuned", false))
      add(lines, other_than_tuned(*entry, record_directory(directory_of(program), record.at("gpu"))));
    else
      for (const char* key : {"block_threads", "dynamic_shared"})
        if (const int own = kernel.at(key), recorded = entry->value(key, -1); recorded != own)
          lines.push_back(fmt::format("{}: {} is {}, the program says {}", name, key, recorded, own));
    add(lines, other_than_asked(*entry, program.at("problems")));
    for (const int architecture : program.at("compiled_for"))
      if (!entry->value("registers_for", Record::object()).contains(std::to_string(architecture)))
        lines.push_back(fmt::format("{}: its registers for {} are missing", name, architecture));
  }
  for (const Record& entry : record.at("kernels"))
    if (const std::string name = entry.at("name"); find_kernel(program, name) == nullptr)
      lines.push_back(name + ": this chapter has no such kernel");
  for (const std::string rate : program.at("rates"))
    if (!record.at("rates").contains(rate)) lines.push_back(fmt::format("the rate {} is missing", rate));
  return lines;
}

/// The rows of the book's table of counters: equal, or named in differences.json.
Lines unequal_counters(const Record& record, const Record& counted) {
  Lines lines;
  const auto differences = load_differences(directory_of(counted));
  for (const Record& kernel : counted.at("kernels")) {
    const Record* entry = find_kernel(record, kernel.at("name"));
    if (entry == nullptr || !entry->contains("counters")) continue;
    if (!kernel.contains("tallies"))
      throw RecordError(kernel.at("name").get<std::string>() + ": the program does not say what it counts");
    add(lines, unexplained(kernel.at("tallies"), *entry, differences));
  }
  return lines;
}

/// Each candidate that is worth timing is timed.
Lines other_than_candidates(const Record& tuning, const Record& program) {
  Lines lines;
  for (const Record& candidate : program.value("candidates", Record::array()))
    if (const std::string name = candidate.at("name");
        candidate.at("pruned") == "" && find_timed(tuning, name) == nullptr)
      lines.push_back(name + ": the tuning has not timed it");
  return lines;
}

/// A sweep is of the chapter's kernel for it, at its problems.
Lines other_than_swept(const Record& record, const Record& program) {
  const Record sweep = program.value("sweep", Record{{"kernel", ""}, {"problems", Lines()}});
  const std::string kernel = sweep.at("kernel");
  const Record* entry = find_kernel(record, kernel);
  if (entry == nullptr) return {"the sweep is not of " + kernel};
  return other_than_asked(*entry, sweep.at("problems"));
}

}  // namespace

std::filesystem::path directory_of(const Record& program) {
  return std::filesystem::path(program.at("source").get<std::string>()).parent_path();
}

std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Record& program,
                                           const std::function<Record()>& count) {
  if (kind == RecordKind::tuned) return other_than_candidates(record, program);
  if (kind == RecordKind::sweep) return other_than_swept(record, program);
  Lines lines = other_than_chapter(record, program);
  if (record.at("gpu") == reference_gpu) add(lines, unequal_counters(record, count()));
  return lines;
}

}  // namespace tile
