#include "common/bench/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/bench/machine_code.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/whole_file.hpp"

namespace tile {
namespace {

// Splits one line of CSV with quoted fields.
std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// Of ncu's many columns: the sums, rates and ratios, and the registers.
bool is_counter(const std::string& column) {
  const std::string_view name = column;
  return name.ends_with(".sum") || name.ends_with(".pct") || name.ends_with(".ratio") ||
         name.ends_with(".per_cycle_active") || name == metric("registers");
}

// The kernel of the record with this mangled name, or nullptr.
Record* kernel_named(Record& record, const std::string& mangled) {
  for (auto& kernel : record.at("kernels"))
    if (kernel.at("function") == mangled) return &kernel;
  return nullptr;
}

}  // namespace

std::string without_build(const std::string& function) {
  static const std::regex build("_GLOBAL__N__[0-9a-f]+_");
  return std::regex_replace(function, build, "_GLOBAL__N__");
}

void add_registers(Record& record, const std::filesystem::path& usage, const std::string& architecture) {
  std::map<std::string, int> registers;
  std::istringstream lines(read_whole(usage));
  const std::regex of_function(R"(Function\s+(\S+):)"), count(R"(REG:(\d+))");
  std::string function;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, of_function)) function = without_build(match[1]);
    if (std::regex_search(line, match, count)) registers[function] = std::stoi(match[1]);
  }
  for (auto& kernel : record.at("kernels")) {
    const auto found = registers.find(without_build(kernel.at("function")));
    if (found == registers.end())
      throw RecordError(fmt::format("{} says nothing of {}", usage.string(), kernel.at("function").get<std::string>()));
    kernel["registers_for"][architecture] = found->second;
  }
}

std::string profile_with_pad(int pad) { return pad == 0 ? "profile" : fmt::format("profile+{}", pad); }

void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group) {
  std::istringstream lines(read_whole(ncu_csv));
  std::vector<std::string> names, units;
  std::map<Record*, std::map<std::string, std::pair<double, double>>> ranges;  // over the launches of a kernel
  for (std::string line; std::getline(lines, line);) {
    if (names.empty()) {
      if (line.rfind("\"ID\"", 0) == 0) names = split_csv(line);
      continue;
    }
    if (units.empty()) {
      units = split_csv(line);
      continue;
    }
    const auto fields = split_csv(line);
    if (fields.size() != names.size()) continue;
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
    Record* kernel = kernel_named(record, row["Kernel Name"]);
    if (kernel == nullptr) kernel = &record["other_kernels"][row["Kernel Name"]];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_counter(names[i]) || fields[i].empty()) continue;
      std::string digits = fields[i];
      digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
      try {
        const double value = std::stod(digits);
        (*kernel)[group][names[i]] = value;
        auto& range = ranges[kernel].try_emplace(names[i], value, value).first->second;
        range = {std::min(range.first, value), std::max(range.second, value)};
      } catch (const std::exception&) {
        throw RecordError(
            fmt::format("{}: {} of {} is not a number: {}", ncu_csv.string(), names[i], row["Kernel Name"], fields[i]));
      }
    }
  }
  for (const auto& [kernel, by_name] : ranges)
    for (const auto& [name, range] : by_name)
      if (range.first < range.second) (*kernel)[group + "_range"][name] = {range.first, range.second};
  if (ranges.empty())
    throw RecordError(fmt::format("{} holds no counters: run ncu with --csv --page raw", ncu_csv.string()));
}

void add_sass(Record& record, const std::filesystem::path& sass) {
  const auto functions = functions_of(read_whole(sass));
  for (const auto& kernel : record.at("kernels"))
    if (functions.count(kernel.at("function")) == 0)
      throw RecordError(fmt::format("{} has no {}: run cuobjdump -sass on the program that was timed", sass.string(),
                                    kernel.at("function").get<std::string>()));
  for (const auto& [name, code] : functions) {
    Record* kernel = kernel_named(record, name);
    if (kernel == nullptr && record.contains("other_kernels") && record["other_kernels"].contains(name))
      kernel = &record["other_kernels"][name];
    if (kernel == nullptr) continue;
    (*kernel)["sass"] = tally_of(code);
    const Code loop = main_loop(code);
    (*kernel)["sass_loop"] = tally_of(loop);
    for (const auto& [place, ffma] : places_in(loop)) (*kernel)["sass_loop"][place] = ffma;
  }
}

}  // namespace tile
