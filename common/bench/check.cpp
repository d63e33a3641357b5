#include "common/bench/check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "common/bench/consistency.hpp"
#include "common/bench/counters.hpp"
#include "common/bench/merge.hpp"
#include "common/bench/problem.hpp"

namespace tile {
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

/// What a record says of the tuned kernel that the tuning of the same GPU says of its choice, too.
Lines other_than_tuned(const Record& entry, const std::filesystem::path& tuning_file) {
  const std::string name = entry.at("name");
  if (!std::filesystem::exists(tuning_file)) return {name + ": there is no tuning of this GPU"};
  const Record tuning = load_tuning(tuning_file);
  const Record* chosen = find_timed(tuning, tuning.at("chosen"));
  if (chosen == nullptr) return {name + ": the tuning has not timed what it chose"};
  Lines lines;
  for (const char* key : {"block_threads", "registers", "static_shared", "dynamic_shared", "blocks_per_sm"})
    if (entry.at(key) != chosen->at(key))
      lines.push_back(fmt::format("{}: {} is {}, the tuning's choice has {}", name, key, entry.at(key).dump(),
                                  chosen->at(key).dump()));
  if (without_build(entry.at("function")) != without_build(chosen->at("function")))
    lines.push_back(fmt::format("{}: function is {}, the tuning's choice is {}", name,
                                entry.at("function").get<std::string>(), chosen->at("function").get<std::string>()));
  return lines;
}

/// The problems at which a record has a kernel timed, in order; the types are the kernel's.
std::vector<std::string> timed_at(const Record& entry) {
  std::vector<std::string> timed;
  for (const Record& run : entry.at("runs")) timed.push_back(key_of(problem_of(run).of({})));
  return timed;
}

/// Each run is against what the chapter asks for.
Lines other_than_baseline(const Record& entry, Baseline baseline) {
  for (const Record& run : entry.at("runs"))
    if (run.contains("lt_search") != (baseline == Baseline::stronger))
      return {fmt::format("{}: at {} cuBLASLt was {}searched, the program says otherwise",
                          entry.at("name").get<std::string>(), key_of(problem_of(run)),
                          run.contains("lt_search") ? "" : "not ")};
  return {};
}

/// The kernels, sizes and rates of a record are the chapter's.
Lines other_than_chapter(const Record& record, const Program& program) {
  Lines lines;
  std::set<std::string> registered;
  for (const Program::Kernel& kernel : program.kernels) {
    registered.insert(kernel.name);
    const Record* entry = find_kernel(record, kernel.name);
    if (entry == nullptr) {
      lines.push_back(fmt::format("{}: the record does not have it", kernel.name));
      continue;
    }
    add(lines, kernel.tuned ? other_than_tuned(*entry, record_file(program.directory(), "tuned", record.at("gpu")))
                            : other_than_registered(kernel, *entry));
    add(lines, other_than_baseline(*entry, program.baseline));
    const std::vector<std::string> timed = timed_at(*entry);
    if (timed != program.problems)
      lines.push_back(fmt::format("{}: timed at {}, the program says {}", kernel.name, fmt::join(timed, ", "),
                                  fmt::join(program.problems, ", ")));
    for (const int architecture : program.compiled_for)
      if (!entry->value("registers_for", Record::object()).contains(std::to_string(architecture)))
        lines.push_back(fmt::format("{}: its registers for {} are missing", kernel.name, architecture));
  }
  for (const Record& entry : record.at("kernels"))
    if (registered.count(entry.at("name")) == 0)
      lines.push_back(fmt::format("{}: this chapter has no such kernel", entry.at("name").get<std::string>()));
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
    if (!kernel.counted) throw RecordError(fmt::format("{}: the program does not say what it counts", kernel.name));
    add(lines, unexplained(kernel.counted->tallies, *entry, differences));
    if (entry->at("static_shared") != kernel.counted->static_shared)
      lines.push_back(fmt::format("{}: static_shared is {}, the model has {}", kernel.name,
                                  entry->at("static_shared").dump(), kernel.counted->static_shared));
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
  for (const Program::Candidate& candidate : program.candidates) {
    const Record* timed = find_timed(tuning, candidate.name);
    if (timed == nullptr && candidate.pruned.empty())
      lines.push_back(fmt::format("{}: the tuning has not timed it", candidate.name));
    if (timed != nullptr && timed->at("pruned") != candidate.pruned)
      lines.push_back(fmt::format("{}: pruned is {}, the program says \"{}\"", candidate.name,
                                  timed->at("pruned").dump(), candidate.pruned));
  }
  return lines;
}

/// Whether a record's file has the right name.
Lines misplaced(const std::string& file_stem, const Record& record) {
  const std::string gpu = record.at("gpu");
  if (file_stem != slug(gpu)) return {fmt::format("gpu is {}, whose file is {}.json", gpu, slug(gpu))};
  return {};
}

}  // namespace

std::vector<std::string> wrong_with_record(const std::string& file_stem, const Record& record, const Program& program,
                                           const std::function<Program()>& count) {
  Lines lines = misplaced(file_stem, record);
  add(lines, contradictions(record));
  add(lines, other_than_chapter(record, program));
  if (record.at("gpu") == reference_gpu) add(lines, unequal_counters(record, count()));
  return lines;
}

std::vector<std::string> wrong_with_sweep(const std::string& file_stem, const Record& sweep, const Program& program) {
  Lines lines = misplaced(file_stem, sweep);
  add(lines, contradictions_of_sweep(sweep));
  const Record& entry = sweep.at("kernels").at(0);
  if (entry.at("name") != program.sweep.kernel)
    lines.push_back(fmt::format("the sweep: its kernel is {}, the program says {}", entry.at("name").get<std::string>(),
                                program.sweep.kernel.empty() ? "none" : program.sweep.kernel));
  add(lines, other_than_baseline(entry, Baseline::stronger));
  if (const auto timed = timed_at(entry); timed != program.sweep.problems)
    lines.push_back(fmt::format("the sweep: timed at {}, the program says {}", fmt::join(timed, ", "),
                                fmt::join(program.sweep.problems, ", ")));
  return lines;
}

std::vector<std::string> wrong_with_tuning(const std::string& file_stem, const Record& tuning, const Program& program) {
  Lines lines = misplaced(file_stem, tuning);
  add(lines, contradictions_of_tuning(tuning));
  add(lines, other_than_candidates(tuning, program));
  return lines;
}

}  // namespace tile
