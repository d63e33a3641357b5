#include "common/report/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/bench/gpu.hpp"
#include "common/bench/metrics.hpp"
#include "common/report/counted.hpp"

namespace tile {
namespace {

/// A row of the first table: `metric` over `divisor`; facts call it `key`. The profiler rounds averages per cycle to two
/// decimals, and more than `decimals` are not shown.
struct ProfileMetric {
  const char *label, *key, *metric;
  int decimals = -1;
  double divisor = 1;
};
const ProfileMetric profile_metrics[] = {
    {"instructions issued per scheduler and cycle", "issue_active", metric("issue_active"), 2},
    {"cycles between two instructions of a warp", "latency", metric("latency")},
    {"L1 lines looked up per cycle", "lines_per_cycle", metric("lines_per_cycle"), 2},
    {"L1 tag passes per cycle", "tag_passes_per_cycle", metric("tag_passes_per_cycle"), 2},
    {"shared and global wavefronts per cycle", "wavefronts_per_cycle", metric("wavefronts_per_cycle"), 2},
    {"global load sectors that hit L1, percent", "l1_hit", metric("l1_hit")},
    {"sectors that SMs asked of L2", "l2_asked", metric("l2_asked")},
    {"of them merged with another request", "l2_coalesced", metric("l2_coalesced")},
    {"sectors read from L2's slices", "l2_sectors", metric("l2_sectors")},
    {"bytes read from DRAM", "dram_bytes", metric("dram_read")},
    {"warp-wide instructions", "instructions", metric("instructions")},
    {"of them FFMA (thread-wide / 32)", "ffma", metric("ffma"), -1, 32},
    {"warps resident per scheduler", "warps", metric("warps")},
};

constexpr double small_stall = 0.02;  // of a warp's latency: what no kernel of a table exceeds is shown as one sum

/// What a record's profile says of a kernel, or nothing.
std::optional<double> profiled(const std::vector<Record>& records, const std::string& kernel,
                               const std::string& metric) {
  const Record* entry = records.empty() ? nullptr : find_kernel(records.front(), kernel);
  if (entry == nullptr || !entry->contains("profile") || !entry->at("profile").contains(metric)) return {};
  return entry->at("profile")[metric].get<double>();
}

// " at 4096 x 4096 x 4096", or nothing where no record knows.
std::string at_profiled_size(const std::vector<Record>& records) {
  if (records.empty() || !records.front().contains("profiled_size")) return "";
  const int size = records.front().at("profiled_size");
  return " at " + extents(Case{size, size, size});
}

}  // namespace

Table table_of_profile(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{"profile", "What Nsight Compute saw in one launch" + at_profiled_size(records), {"what"}, {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  for (const ProfileMetric& metric : profile_metrics) {
    std::vector<std::string> row{metric.label};
    for (const CountedKernel& k : kernels) {
      const auto value = profiled(records, k.kernel.name, metric.metric);
      row.push_back(value ? format_number(*value / metric.divisor, metric.decimals) : "not yet measured");
    }
    table.rows.push_back(row);
  }
  return table;
}

Table table_of_stalls(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{
      "stalls",
      "Where the cycles between two instructions of a warp go: what the warp waits for (Nsight Compute, one launch" +
          at_profiled_size(records) + ")",
      {"waiting for"},
      {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  const auto value = [&](const CountedKernel& k, const Stall& stall) {
    return profiled(records, k.kernel.name, stall.name).value_or(0);
  };
  const auto latency = [&](const CountedKernel& k) {
    double sum = 0;
    for (const Stall& stall : stalls) sum += value(k, stall);
    return sum;
  };
  std::vector<const Stall*> shown;
  for (const Stall& stall : stalls)
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const CountedKernel& k) { return value(k, stall) > small_stall * latency(k); }))
      shown.push_back(&stall);
  std::stable_sort(shown.begin(), shown.end(), [&](const Stall* a, const Stall* b) {
    return value(kernels.front(), *a) > value(kernels.front(), *b);
  });
  const auto add = [&](const std::string& label, auto&& cell) {
    std::vector<std::string> row{label};
    for (const CountedKernel& k : kernels) {
      const bool known = profiled(records, k.kernel.name, stalls[0].name).has_value();
      row.push_back(known ? format_number(cell(k), 2) : "not yet measured");
    }
    table.rows.push_back(row);
  };
  for (const Stall* stall : shown) add(stall->label, [&](const CountedKernel& k) { return value(k, *stall); });
  add("all other reasons", [&](const CountedKernel& k) {
    double rest = latency(k);
    for (const Stall* stall : shown) rest -= value(k, *stall);
    return std::max(0.0, rest);
  });
  add("sum of these rows, as recorded", latency);
  return table;
}

void add_profile_facts(Facts& facts, const std::string& name, const Record* profile, int sms) {
  const auto value = [&](const char* metric) -> std::optional<double> {
    if (profile == nullptr || !profile->contains(metric)) return {};
    return profile->at(metric).get<double>();
  };
  const auto give = [&](const std::string& key, std::optional<double> number, int decimals = -1) {
    if (number)
      facts.measured(name + ".profile." + key, *number, decimals);
    else
      facts.not_yet_measured(name + ".profile." + key);
  };
  for (const ProfileMetric& metric : profile_metrics) {
    const auto number = value(metric.metric);
    give(metric.key, number ? std::optional(*number / metric.divisor) : std::nullopt, metric.decimals);
  }
  for (const Stall& stall : stalls) give(stall.name, value(stall.name), 2);  // as many as the profiler gives
  const auto all = value(metric("instructions")), ffma = value(metric("ffma"));
  // per scheduler and cycle; the profiler rounds its average to two digits, and the sum over all schedulers likewise
  auto issued = value(metric("issue_active"));
  if (const auto all_schedulers = value(metric("all_issue_active")))
    issued = *all_schedulers / (GpuSpec::schedulers * sms);
  const bool known = all && ffma && issued && *all > 0;
  give("ffma_percent", known ? std::optional(100 * *ffma / 32 / *all) : std::nullopt, 1);
  give("cycles_per_ffma", known && *ffma > 0 ? std::optional(*all / (*ffma / 32) / *issued) : std::nullopt, 3);
  give("issued_percent", issued ? std::optional(100 * *issued) : std::nullopt, 0);
  give("idle_percent", issued ? std::optional(100 - 100 * *issued) : std::nullopt, 0);
  give("ffma_pipe_percent", known ? std::optional(100 * *issued * *ffma / 32 / *all) : std::nullopt, 1);
}

}  // namespace tile
