#include "common/count/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "common/bench/numbers.hpp"
#include "common/count/verdict.hpp"
#include "common/report/table.hpp"

namespace tile::counting {
namespace {

constexpr std::size_t runs_a_table = 6;

// What a run sums up to. A run that failed sums up to nothing, whatever it launched before.
struct Sums {
  std::size_t launches = 0;
  double requests = 0, global = 0, sectors = 0, wavefronts = 0, bytes = 0, cycles = 0;
  std::map<std::string, double> by_resource;
  std::string binds = "-";
};

Sums sums_of(const Run& run, const Rates& rates, int registers) {
  Sums sums;
  if (!run.error.empty()) return sums;
  sums.launches = run.kernels.size();
  for (const simt::Counts& counts : run.kernels) {
    for (const simt::Site& s : counts.sites) {
      const bool global = s.space == simt::Space::global;
      sums.requests += double(s.requests);
      sums.global += global ? double(s.requests) : 0;
      sums.sectors += double(s.sectors);
      sums.wavefronts += global ? double(s.l1_wavefronts) : std::max(0.0, cycles_of(s));
      sums.bytes += double(s.bytes());
    }
    const double flops = run.flops / double(run.kernels.size());
    const Verdict verdict = verdict_of(counts, rates, flops, registers);
    for (const Bound& b : verdict.bounds) sums.by_resource[b.resource] += b.cycles;
    sums.cycles += tightest(verdict).cycles;
    const std::string binds = what_binds(verdict);
    sums.binds = sums.binds == "-" || sums.binds == binds ? binds : "one resource in one launch, another in another";
  }
  return sums;
}

struct Row {
  std::string name;
  std::function<double(const Sums&)> value;
};

std::vector<Row> rows() {
  std::vector<Row> rows{{"requests", [](const Sums& s) { return s.requests; }},
                        {"of them global", [](const Sums& s) { return s.global; }},
                        {"bytes asked for", [](const Sums& s) { return s.bytes; }},
                        {"sectors", [](const Sums& s) { return s.sectors; }},
                        {"wavefronts", [](const Sums& s) { return s.wavefronts; }}};
  for (const char* resource : {"FFMA issue", "issue slots", "L1", "banks", "L2 bytes", "DRAM bytes"})
    rows.push_back({fmt::format("{}, cycles", resource), [resource](const Sums& s) {
                      const auto found = s.by_resource.find(resource);
                      return found == s.by_resource.end() ? 0 : found->second;
                    }});
  rows.push_back({"at least, cycles", [](const Sums& s) { return s.cycles; }});
  return rows;
}

void print_table(const std::vector<Sums>& sums, std::size_t first, std::size_t last, bool quotient) {
  Table table{"", "Side by side", {""}, {}};
  for (std::size_t i = first; i < last; ++i) table.header.push_back(fmt::format("({})", i + 1));
  if (quotient) table.header.push_back("(2) / (1)");
  for (const Row& row : rows()) {
    if (std::all_of(sums.begin(), sums.end(), [&](const Sums& s) { return row.value(s) == 0; })) continue;
    std::vector<std::string> cells{row.name};
    for (std::size_t i = first; i < last; ++i)
      cells.push_back(sums[i].launches > 0 ? format_number(row.value(sums[i])) : table.rows.empty() ? "failed" : "-");
    if (quotient)
      cells.push_back(row.value(sums[0]) == 0 ? "-" : format_number(row.value(sums[1]) / row.value(sums[0])));
    table.rows.push_back(cells);
  }
  table.print();
}

}  // namespace

void print_side_by_side(const std::vector<Run>& runs, const Rates& rates, int registers) {
  std::vector<Sums> sums;
  for (const Run& run : runs) sums.push_back(sums_of(run, rates, registers));
  const bool something = std::any_of(sums.begin(), sums.end(), [](const Sums& s) { return s.launches > 0; });
  for (std::size_t first = 0; something && first < runs.size(); first += runs_a_table)
    print_table(sums, first, std::min(first + runs_a_table, runs.size()),
                runs.size() == 2 && sums[0].launches > 0 && sums[1].launches > 0);
  for (std::size_t i = 0; i < runs.size(); ++i)
    fmt::print("  ({}) {}: {}{}\n", i + 1, runs[i].file.substr(runs[i].file.rfind('/') + 1), runs[i].title,
               runs[i].error.empty()   ? fmt::format("; what binds: {}", sums[i].binds)
               : runs[i].title.empty() ? "failed"
                                       : " (failed)");
}

}  // namespace tile::counting
