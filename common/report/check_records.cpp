#include "common/report/check_records.hpp"

#include <fmt/format.h>

#include <set>

#include "common/records/consistency.hpp"
#include "common/report/counters.hpp"
#include "common/report/options.hpp"
#include "common/report/tuning.hpp"

namespace tile {
namespace {

using Lines = std::vector<std::string>;

void add(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

/// What a record says of a kernel that this program says, too.
Lines other_than_registered(const Kernel& kernel, const Record& entry) {
  Lines lines;
  const auto same = [&](const char* key, int own) {
    if (const int recorded = entry.value(key, -1); recorded != own)
      lines.push_back(fmt::format("{}: {} is {}, the program says {}", kernel.name, key, recorded, own));
  };
  same("block_threads", kernel.block_threads);
  same("dynamic_shared", int(kernel.dynamic_shared));
  return lines;
}

/// What a record says of the tuned kernel that the tuning of the same GPU says of its choice, too.
Lines other_than_tuned(const Record& entry, const std::string& gpu) {
  const std::string name = entry.at("name");
  if (!std::filesystem::exists(tuning_file(gpu))) return {name + ": there is no tuning of this GPU"};
  const Record tuning = load_tuning(tuning_file(gpu));
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

std::string extents(int M, int N, int K) {
  return M == N && N == K ? std::to_string(M) : fmt::format("{} x {} x {}", M, N, K);
}

/// The kernels, sizes and rates of a record are the chapter's.
Lines other_than_chapter(const Record& record) {
  Lines lines;
  std::set<std::string> registered;
  for (const Kernel& kernel : this_chapter().kernels) {
    registered.insert(kernel.name);
    const Record* entry = find_kernel(record, kernel.name);
    if (entry == nullptr) {
      lines.push_back(fmt::format("{}: the record does not have it", kernel.name));
      continue;
    }
    const bool tuned = kernel.address == nullptr;
    add(lines, tuned ? other_than_tuned(*entry, record.at("gpu")) : other_than_registered(kernel, *entry));
    std::vector<std::string> timed, registered_problems;
    for (const Record& run : entry->at("runs")) timed.push_back(extents(run.at("M"), run.at("N"), run.at("K")));
    for (const Case& c : timed_problems()) registered_problems.push_back(extents(c.M, c.N, c.K));
    if (timed != registered_problems)
      lines.push_back(fmt::format("{}: timed at {}, the program says {}", kernel.name, fmt::join(timed, ", "),
                                  fmt::join(registered_problems, ", ")));
    for (const int architecture : this_chapter().compiled_for)
      if (!entry->value("registers_for", Record::object()).contains(std::to_string(architecture)))
        lines.push_back(fmt::format("{}: its registers for {} are missing", kernel.name, architecture));
  }
  for (const Record& entry : record.at("kernels"))
    if (registered.count(entry.at("name")) == 0)
      lines.push_back(fmt::format("{}: this chapter has no such kernel", entry.at("name").get<std::string>()));
  for (const Chapter::Rate& rate : this_chapter().rates)
    if (!record.at("rates").contains(rate.name)) lines.push_back(fmt::format("the rate {} is missing", rate.name));
  return lines;
}

/// The rows of the book's table of counters: equal, or named in differences.json.
Lines unequal_counters(const Record& record) {
  Lines lines;
  const auto differences = load_differences(chapter_directory());
  for (const Kernel& kernel : this_chapter().kernels) {
    const Record* entry = find_kernel(record, kernel.name);
    if (entry == nullptr || !entry->contains("counters")) continue;
    const simt::Counts counts = count(kernel.launch, this_chapter().counted);
    add(lines, unexplained(counts, *entry, differences));
    if (entry->at("static_shared") != counts.static_shared_bytes)
      lines.push_back(fmt::format("{}: static_shared is {}, the model has {}", kernel.name,
                                  entry->at("static_shared").dump(), counts.static_shared_bytes));
  }
  for (const Difference& difference : differences)
    if (find_kernel(record, difference.kernel) == nullptr)
      lines.push_back(
          fmt::format("{}: differences.json names it, but the record has no such kernel", difference.kernel));
  return lines;
}

/// Each candidate that is worth timing is timed.
Lines other_than_candidates(const Record& tuning) {
  Lines lines;
  for (const Candidate& candidate : this_chapter().candidates) {
    const Record* timed = find_timed(tuning, candidate.kernel.name);
    if (timed == nullptr && candidate.pruned.empty())
      lines.push_back(fmt::format("{}: the tuning has not timed it", candidate.kernel.name));
    if (timed != nullptr && timed->at("pruned") != candidate.pruned)
      lines.push_back(fmt::format("{}: pruned is {}, the program says \"{}\"", candidate.kernel.name,
                                  timed->at("pruned").dump(), candidate.pruned));
  }
  return lines;
}

/// The check of one file: of other code, or everything else that is wrong.
template <class Check>
Lines wrong_with(const std::filesystem::path& file, const Record& record, const Record& own, Check check) {
  const std::string gpu = record.at("gpu");
  if (const std::string changed = changed_parts(record.at("fingerprint"), own); !changed.empty())
    return {fmt::format("of other code ({} changed): run ./tile bench on an {}", changed, gpu)};
  Lines lines;
  if (file.stem() != slug(gpu)) lines.push_back(fmt::format("gpu is {}, whose file is {}.json", gpu, slug(gpu)));
  check(lines);
  return lines;
}

// A file as one would name it here.
std::string shown(const std::filesystem::path& file) {
  const std::string near = std::filesystem::proximate(file).string();
  return near.starts_with("..") ? file.string() : near;
}

int report(const std::filesystem::path& file, const Lines& wrong) {
  for (const std::string& line : wrong)
    fmt::print(stderr, "chapter{:02}: {}: {}\n", this_chapter().number, shown(file), line);
  return int(wrong.size());
}

void tell_of_other_nvcc(const std::filesystem::path& file, const Record& record) {
  if (const std::string nvcc = TILE_NVCC_VERSION; !nvcc.empty() && record.at("cuda") != nvcc)
    fmt::print("chapter{:02}: {} was made with nvcc {}, this program with {}: the machine code may differ\n",
               this_chapter().number, shown(file), record.at("cuda").get<std::string>(), nvcc);
}

}  // namespace

int check_records() {
  const Record own = fingerprint(chapter_source());
  int wrong = 0;
  for (const auto& file : record_files(chapter_directory(), "measured")) {
    const Record record = load_record(file);
    tell_of_other_nvcc(file, record);
    wrong += report(file, wrong_with(file, record, own, [&](Lines& lines) {
                      add(lines, contradictions(record));
                      add(lines, other_than_chapter(record));
                      if (record.at("gpu") == reference_gpu) add(lines, unequal_counters(record));
                    }));
  }
  for (const auto& file : record_files(chapter_directory(), "tuned")) {
    const Record tuning = load_tuning(file);
    tell_of_other_nvcc(file, tuning);
    wrong += report(file, wrong_with(file, tuning, own, [&](Lines& lines) {
                      add(lines, contradictions_of_tuning(tuning));
                      add(lines, other_than_candidates(tuning));
                    }));
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace tile
