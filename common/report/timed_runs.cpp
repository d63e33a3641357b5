#include "common/report/timed_runs.hpp"

#include <fmt/format.h>

#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/report/counted.hpp"
#include "common/report/measured_field.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// What the GPU did during a run: the range of its SM clock, and why it was throttled if it was.
std::string clocks_during(const Record& run) {
  if (!run.contains("clocks") || run["clocks"]["samples"] == 0) return "not yet measured";
  const Record& clocks = run["clocks"];
  const std::string lowest = fmt::format("{:.0f}", clocks["sm_mhz"][0].get<double>()),
                    highest = fmt::format("{:.0f}", clocks["sm_mhz"][2].get<double>());
  std::string text = lowest == highest ? lowest : lowest + "-" + highest;
  for (const auto& reason : clocks["throttled"]) text += ", " + reason.get<std::string>();
  return text;
}

// The median of its power.
std::string power_during(const Record& run) {
  if (!run.contains("clocks") || run["clocks"]["samples"] == 0) return "not yet measured";
  return format_number(run["clocks"]["power_w"][1].get<double>(), 0);
}

// One run of a record, or null.
void add_facts_of_run(Facts& facts, const std::string& name, const Record* run) {
  const auto give = [&](const char* key, const char* field, int decimals = -1, double factor = 1) {
    add_measured_field(facts, name + key, run, field, decimals, factor);
  };
  give("ms", "median_ms");
  give("ms_low", "low_ms");  // the 10th percentile, and the 90th
  give("ms_high", "high_ms");
  give("tflops", "tflops");
  give("gflops", "tflops", 0, 1000);
  give("cublas_tflops", "cublas_tflops", 1);
  give("ratio", "ratio", 3);
  give("ratio_low", "ratio_low", 3);
  give("ratio_high", "ratio_high", 3);
  give("percent_of_cublas", "ratio", 1, 100);
  if (this_chapter().baseline == Baseline::stronger) {
    const Record* search = run != nullptr && run->contains("lt_search") ? &run->at("lt_search") : nullptr;
    add_measured_field(facts, name + "lt_asked", search, "asked", 0);
    add_measured_field(facts, name + "lt_suggested", search, "suggested", 0);
    give("lt_tflops", "lt_tflops", 1);
    give("stronger_tflops", "stronger_tflops", 1);
    give("stronger_ratio", "stronger_ratio", 3);
    give("stronger_ratio_low", "stronger_ratio_low", 3);
    give("stronger_ratio_high", "stronger_ratio_high", 3);
    if (const auto places = run == nullptr ? std::nullopt : stronger_by_place(*run)) {
      facts.measured(name + "stronger_behind", places->behind, 3);
      facts.measured(name + "first_ratio", places->first_ratio, 3);
    } else {
      facts.not_yet_measured(name + "stronger_behind");
      facts.not_yet_measured(name + "first_ratio");
    }
  }
  const bool sampled = run != nullptr && run->contains("clocks") && (*run)["clocks"]["samples"] != 0;
  const auto during = [&](const std::string& key, const char* field, std::size_t which) {
    if (sampled)
      facts.measured(name + key, (*run)["clocks"][field][which].get<double>(), 0);
    else
      facts.not_yet_measured(name + key);
  };
  during("lowest_mhz", "sm_mhz", 0);
  during("mhz", "sm_mhz", 1);
  during("highest_mhz", "sm_mhz", 2);
  during("power_w", "power_w", 1);
  during("highest_power_w", "power_w", 2);
}

}  // namespace

Table table_of_runs(const std::vector<Kernel>& kernels, const std::vector<Record>& records, std::size_t fresh) {
  Table table{"measured",
              "",
              {"kernel", "M x N x K", "ms", "10-90% ms", "TFLOP/s", "cuBLAS", "x cuBLAS", "10-90% of x", "SM MHz", "W"},
              {}};
  const bool stronger = this_chapter().baseline == Baseline::stronger;
  if (stronger) table.header.insert(table.header.begin() + 8, {"cuBLASLt", "x stronger", "10-90% of x"});
  if (records.size() > 1) table.header.insert(table.header.begin(), "GPU");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const bool now = i + fresh >= records.size();
    table.caption += fmt::format("{}{} on an {}, {}, driver {}, CUDA {}", i == 0 ? "" : "; ",
                                 now      ? "Measured just now"
                                 : i == 0 ? "Measured (recorded)"
                                          : "recorded",
                                 record["gpu"].get<std::string>(), record["date"].get<std::string>(),
                                 record["driver"].get<std::string>(), record["cuda"].get<std::string>());
    for (const Kernel& kernel : kernels) {
      const Record* entry = find_kernel(record, kernel.name);
      if (entry == nullptr) continue;
      for (const auto& run : entry->at("runs")) {
        const auto number = [&](const char* key, int decimals) {
          return format_number(run[key].get<double>(), decimals);
        };
        std::vector<std::string> row{kernel.name,
                                     extents(run),
                                     number("median_ms", 3),
                                     number("low_ms", 3) + "-" + number("high_ms", 3),
                                     number("tflops", -1),
                                     number("cublas_tflops", 1),
                                     number("ratio", 3),
                                     number("ratio_low", 3) + "-" + number("ratio_high", 3),
                                     clocks_during(run),
                                     power_during(run)};
        if (stronger)
          row.insert(row.begin() + 8,
                     {run.contains("lt_tflops") ? number("lt_tflops", 1) : "-", number("stronger_ratio", 3),
                      number("stronger_ratio_low", 3) + "-" + number("stronger_ratio_high", 3)});
        if (records.size() > 1) row.insert(row.begin(), record["gpu"].get<std::string>() + (now ? ", now" : ""));
        table.rows.push_back(row);
      }
    }
  }
  if (records.empty())
    table.caption = "Measured: not yet, on any GPU";
  else
    table.caption +=
        ". cuBLAS in TFLOP/s; 10-90%: from the 10th percentile to the 90th; SM MHz and W are of a problem, for all its "
        "kernels together, which take turns";
  return table;
}

void add_run_facts(Facts& facts, const std::string& kernel, const Record* record) {
  for (const Case& c : timed_problems()) {
    const Record* run = record == nullptr ? nullptr : find_run(*record, kernel, c.problem());
    add_facts_of_run(facts, fmt::format("{}.{}.", kernel, key_of(c.problem())), run);
  }
}

}  // namespace tile
