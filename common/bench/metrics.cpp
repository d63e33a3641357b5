#include "common/bench/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tile {
namespace {

std::string stall_metric(const Stall& stall) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", stall.name);
}

}  // namespace

std::string_view key_of_metric(std::string_view name) {
  for (const Metric& m : metrics)
    if (m.name == name) return m.key;
  for (const Stall& stall : stalls)
    if (stall_metric(stall) == name) return stall.name;
  return "";
}

bool is_recorded_tally(std::string_view name) {
  const auto begins = [&](std::string_view part) { return name.starts_with(part); };
  return std::ranges::count(tallied, name) > 0 || name == "issue_cycles" || name == "MOV" || name == "IMAD.MOV.U32" ||
         name.ends_with("_first") || name.ends_with("_last") || begins("LDL") || begins("STL") || begins("LDGSTS") ||
         begins("@!");
}

std::string metrics_of(Metric::Run run, std::string_view known) {
  std::vector<std::string> names;
  for (const Metric& m : metrics)
    if ((m.run == run || m.run == Metric::both) && known.find(m.needs) != std::string_view::npos)
      names.push_back(m.name);
  if (run == Metric::profile)
    for (const Stall& stall : stalls) names.push_back(stall_metric(stall));
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace tile
