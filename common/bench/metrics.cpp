#include "common/bench/metrics.hpp"

#include <fmt/format.h>

#include <vector>

namespace tile {
namespace {

constexpr std::string_view stall_begins = "smsp__average_warps_issue_stalled_", stall_ends = "_per_issue_active.ratio";

}  // namespace

std::string stall_metric(std::string_view reason) { return fmt::format("{}{}{}", stall_begins, reason, stall_ends); }

bool is_stall_metric(std::string_view metric) { return metric.starts_with(stall_begins); }

std::string metrics_of(Metric::Run run, std::string_view known) {
  std::vector<std::string> names;
  for (const Metric& m : metrics)
    if ((m.run == run || m.run == Metric::both) && known.find(m.needs) != std::string_view::npos)
      names.push_back(m.name);
  if (run == Metric::profile)
    for (const Stall& stall : stalls) names.push_back(stall_metric(stall.name));
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace tile
