#include "common/bench/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "common/bench/run.hpp"
#include "common/bench/text.hpp"

namespace tile {
namespace {

std::string stall_metric(const Stall& stall) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", stall.name);
}

// The key of a metric that ncu reports; "" if it is not recorded.
std::string key_of_metric(std::string_view name) {
  for (const Metric& m : metrics)
    if (m.name == name) return std::string(m.key);
  for (const Stall& stall : stalls)
    if (stall_metric(stall) == name) return stall.name;
  return "";
}

// The entry of a function in a record: among its kernels, or among the other kernels.
Record& entry_of(Record& record, const std::string& function) {
  for (Record& kernel : record.at("kernels"))
    if (kernel.at("function") == function) return kernel;
  return record["other_kernels"][function];
}

}  // namespace

std::string metrics_of(Metric::Run run, std::string_view known) {
  std::vector<std::string> names;
  for (const Metric& m : metrics)
    if (m.run == run && known.find(m.needs) != std::string_view::npos) names.push_back(m.name);
  if (run == Metric::profile)
    for (const Stall& stall : stalls) names.push_back(stall_metric(stall));
  return fmt::format("{}", fmt::join(names, ","));
}

void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group) {
  std::istringstream lines(read_whole(ncu_csv));
  std::string table;  // without other output of ncu and of the program
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('"')) table += line + '\n';
  std::map<Record*, std::map<std::string, std::vector<double>>> launches;  // the values of each kernel's metrics
  for (const Row& row : rows_of(table, ncu_csv.string())) {
    if (row.text("ID").empty()) continue;  // the units
    auto& values = launches[&entry_of(record, row.text("Kernel Name"))];
    for (auto [name, digits] : row.fields) {
      const std::string key = key_of_metric(name);
      if (key.empty() || digits.empty()) continue;
      std::erase(digits, ',');
      values[key].push_back(Row{ncu_csv.string(), {{name, digits}}}.number(name));
    }
  }
  if (launches.empty())
    throw RecordError(fmt::format("{} holds no counters: run ncu with --csv --page raw", ncu_csv.string()));
  for (const auto& [kernel, metrics] : launches) {
    (*kernel)[group] = Record::object();
    kernel->erase(group + "_range");
    for (const auto& [name, values] : metrics) {
      (*kernel)[group][name] = spread_of(values).median;
      const auto [low, high] = std::ranges::minmax(values);
      if (low < high) (*kernel)[group + "_range"][name] = {low, high};
    }
  }
}

}  // namespace tile
