#include "common/report/against_counters.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "common/bench/counters.hpp"
#include "common/report/measured_field.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// The last columns of a row of the counters: what measured is to counted, and why.
std::pair<std::string, std::string> verdict_on(const Difference* difference, double counted, const Measured& measured) {
  if (measured == counted) return {"equal", ""};
  return {ratio_text(measured, counted), difference == nullptr ? "nobody has explained this" : difference->why};
}

}  // namespace

Table table_of_counters(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const Case& problem = kernels.front().problem;
  const bool comparable = same_problem(problem, this_chapter().counted);
  Table table{"counters",
              fmt::format("The model's counts against Nsight Compute's hardware counters, {}", extents(problem)),
              {"kernel", "what", "counted", "measured", "measured / counted", "why"},
              {}};
  if (!comparable)
    table.caption += extents(problem) == extents(this_chapter().counted)
                         ? "; the counters are of other leading dimensions, alpha or beta"
                         : fmt::format("; the counters are of another problem, {}", extents(this_chapter().counted));
  const auto differences = load_differences(chapter_directory());
  for (const CountedKernel& k : kernels) {
    const Record* entry = records.empty() || !comparable ? nullptr : find_kernel(records.front(), k.kernel.name);
    for (const Counter& counter : counters()) {
      if (!applies_to(k.counts, counter)) continue;
      const double counted = double(tally(k.counts, counter));
      const auto found = entry != nullptr && entry->contains("counters") ? measured(*entry, counter) : std::nullopt;
      if (counted == 0 && found.value_or(Measured{0, 0}) == 0) continue;
      const auto [ratio, why] = found
                                    ? verdict_on(find_difference(differences, k.kernel.name, counter), counted, *found)
                                    : std::pair<std::string, std::string>();
      table.rows.push_back(
          {k.kernel.name, counter.label,
           format_number(counted),
           found        ? text_of(*found)
           : comparable ? "not yet measured"
                        : "-",
           ratio, why});
    }
  }
  return table;
}

void add_counter_facts(Facts& facts, const std::string& kernel, const Record* entry) {
  const bool counted = entry != nullptr && entry->contains("counters");
  for (const Counter& counter : counters())
    add_measured_field(facts, fmt::format("{}.ncu.{}", kernel, counter.key), counted ? &entry->at("counters") : nullptr,
                       counter.key, 0);
  for (const Counter& counter : counters()) {
    const std::string key = fmt::format("{}.ncu.{}.", kernel, counter.key);
    const auto found = counted ? measured(*entry, counter) : std::nullopt;
    if (found) {
      facts.measured(key + "low", found->low, 0);
      facts.measured(key + "high", found->high, 0);
    } else {
      facts.not_yet_measured(key + "low");
      facts.not_yet_measured(key + "high");
    }
  }
}

}  // namespace tile
