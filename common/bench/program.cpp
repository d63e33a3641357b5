#include "common/bench/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/bench/counters.hpp"
#include "common/bench/merge.hpp"

namespace tile {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program::Kernel, name, tuned, block_threads, dynamic_shared, tallies, static_shared)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program::Candidate, name, pruned)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program::Sweep, kernel, problems)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Program, chapter, source, nvcc, kernels, problems, rates, profiled_pads,
                                   compiled_for, candidates, sweep)

namespace {

using Lines = std::vector<std::string>;

void add(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

/// What a record says of a kernel that its program says, too.
Lines other_than_registered(const Program::Kernel& kernel, const Record& entry) {
  Lines lines;
  const auto same = [&](const char* key, int own) {
    if (const int recorded = entry.value(key, -1); recorded != own)
      lines.push_back(fmt::format("{}: {} is {}, the program says {}", kernel.name, key, recorded, own));
  };
  same("block_threads", kernel.block_threads);
  same("dynamic_shared", kernel.dynamic_shared);
  return lines;
}

/// The kernel that the tuner chose is the one that was timed.
Lines other_than_tuned(const Record& entry, const std::filesystem::path& directory) {
  const std::string name = entry.at("name");
  if (!holds_record(directory, RecordKind::tuned)) return {name + ": there is no tuning of this GPU"};
  const Record tuning = load_record(directory, RecordKind::tuned);
  const std::string chosen = tuning.at("chosen");
  if (without_build(entry.at("function")) == without_build(find_timed(tuning, chosen)->at("function"))) return {};
  return {fmt::format("{}: timed is {}, the tuning chose {}", name, entry.at("function").get<std::string>(), chosen)};
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
Lines other_than_chapter(const Record& record, const Program& program) {
  Lines lines;
  for (const Program::Kernel& kernel : program.kernels) {
    const Record* entry = find_kernel(record, kernel.name);
    if (entry == nullptr) {
      lines.push_back(fmt::format("{}: the record does not have it", kernel.name));
      continue;
    }
    add(lines, kernel.tuned ? other_than_tuned(*entry, record_directory(program.directory(), record.at("gpu")))
                            : other_than_registered(kernel, *entry));
    add(lines, other_than_asked(*entry, program.problems));
    for (const int architecture : program.compiled_for)
      if (!entry->value("registers_for", Record::object()).contains(std::to_string(architecture)))
        lines.push_back(fmt::format("{}: its registers for {} are missing", kernel.name, architecture));
  }
  for (const Record& entry : record.at("kernels")) {
    const auto& own = program.kernels;
    if (std::none_of(own.begin(), own.end(), [&](auto& kernel) { return entry.at("name") == kernel.name; }))
      lines.push_back(fmt::format("{}: this chapter has no such kernel", entry.at("name").get<std::string>()));
  }
  for (const std::string& rate : program.rates)
    if (!record.at("rates").contains(rate)) lines.push_back(fmt::format("the rate {} is missing", rate));
  return lines;
}

/// The rows of the book's table of counters: equal, or named in differences.json.
Lines unequal_counters(const Record& record, const Program& counted) {
  Lines lines;
  const auto differences = load_differences(counted.directory());
  for (const Program::Kernel& kernel : counted.kernels) {
    const Record* entry = find_kernel(record, kernel.name);
    if (entry == nullptr || !entry->contains("counters")) continue;
    if (kernel.static_shared < 0)
      throw RecordError(fmt::format("{}: the program does not say what it counts", kernel.name));
    add(lines, unexplained(kernel.tallies, *entry, differences));
    if (entry->at("static_shared") != kernel.static_shared)
      lines.push_back(fmt::format("{}: static_shared is {}, the model has {}", kernel.name,
                                  entry->at("static_shared").dump(), kernel.static_shared));
  }
  for (const Difference& difference : differences)
    if (find_kernel(record, difference.kernel) == nullptr)
      lines.push_back(
          fmt::format("{}: differences.json names it, but the record has no such kernel", difference.kernel));
  return lines;
}

/// Each candidate that is worth timing is timed.
Lines other_than_candidates(const Record& tuning, const Program& program) {
  Lines lines;
  for (const Program::Candidate& candidate : program.candidates)
    if (candidate.pruned.empty() && find_timed(tuning, candidate.name) == nullptr)
      lines.push_back(fmt::format("{}: the tuning has not timed it", candidate.name));
  return lines;
}

/// A sweep is of the chapter's kernel for it, at its problems.
Lines other_than_swept(const Record& sweep, const Program& program) {
  const Record* entry = find_kernel(sweep, program.sweep.kernel);
  if (entry == nullptr) return {fmt::format("the sweep is not of {}", program.sweep.kernel)};
  return other_than_asked(*entry, program.sweep.problems);
}

}  // namespace

Record to_json(const Program& program) {
  Record json;
  to_json(json, program);
  return json;
}

Program program_of(const std::string& text) {
  try {
    return Record::parse(text).get<Program>();
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("what it says of itself is no description ({})", e.what()));
  }
}

std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Program& program,
                                           const std::function<Program()>& count) {
  const std::string gpu = record.at("gpu");
  if (kind == RecordKind::tuned) return other_than_candidates(record, program);
  if (kind == RecordKind::sweep) return other_than_swept(record, program);
  Lines lines = other_than_chapter(record, program);
  if (gpu == reference_gpu) add(lines, unequal_counters(record, count()));
  return lines;
}

}  // namespace tile
