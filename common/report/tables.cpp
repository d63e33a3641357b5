// All tables of a chapter's program.
#include <fmt/format.h>

#include <algorithm>

#include "common/bench/counters.hpp"
#include "common/bench/metrics.hpp"
#include "common/check/traced.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

std::string range_of(const Record& run, const std::string& field, int decimals) {
  return shown(&run, field + "_low", decimals) + "-" + shown(&run, field + "_high", decimals);
}

Table table_of_sites(const CountedKernel& k) {
  Table table{
      fmt::format("sites-{}", k.kernel.name),
      fmt::format("The model's counts of kernel {} at {}, by access site", k.kernel.name, extents(k.problem)),
      {"site", "array", "op", "bytes/lane", "requests", "sectors/req", "lines/req", "tag passes/req", "wavefronts/req"},
      {}};
  for (const simt::Site& s : k.counts.sites) {
    const double requests = double(s.requests);
    const bool global = s.space == simt::Space::global, bulk = simt::is_bulk(s.op);
    const auto per_request = [&](std::uint64_t number, bool applies = true) {
      return applies ? format_number(double(number) / requests) : "-";
    };
    table.rows.push_back(
        {label_of(s), s.array, simt::name_of(s.op), bulk ? per_request(s.bytes()) : std::to_string(s.width),
         format_number(requests), per_request(s.sectors, global), per_request(s.lines, global && !bulk),
         per_request(s.tag_passes, global && !bulk),
         (s.at_least ? "at least " : "") + per_request(global ? s.l1_wavefronts : s.wavefronts, !bulk)});
  }
  return table;
}

// Each kernel's ceilings, for its source and as nvcc compiled it, next to the measured throughput: for the chapter's
// counted problem at the size that was profiled, for any other problem at that problem.
Table table_of_ceilings(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const Case counted = kernels.front().problem;
  const int size = size_of_profile(records);
  const bool asked_for = !same_problem(counted, this_chapter().counted);  // by options: then at that problem
  const bool timed = !asked_for || same_problem(counted, Case{size, size, size});
  const Rates rates = reference_rates();
  const std::vector<std::string> resources{"FFMA issue", "issue slots", "register banks", "L1",
                                           "banks",      "L2 bytes",    "DRAM bytes"};
  Table table{
      "ceilings",
      fmt::format("Ceilings in TFLOP/s at {}, from the model's counts and the rates of an {} ({} SMs, {:.2f} GHz; "
                  "L2 and DRAM as chapter 00 measured them); rows 'as compiled' take banks, issue slots and register "
                  "banks from hardware counters and machine code, the rest from the source",
                  extents(asked_for ? counted : Case{size, size, size}), rates.gpu, rates.sms, rates.clock_hz * 1e-9),
      {"kernel"},
      {}};
  if (records.size() == 1) table.caption += "; measured on an " + text_at(records.front(), "gpu");
  table.header.insert(table.header.end(), resources.begin(), resources.end());
  table.header.insert(table.header.end(), {"tightest", "of"});
  for (const Record& record : records)
    table.header.push_back(records.size() == 1 ? "measured" : "measured, " + text_at(record, "gpu"));
  const auto add = [&](const CountedKernel& k, const std::string& label, const std::optional<Work>& work) {
    if (!work) return;
    const auto found = ceilings(*work, rates);
    std::vector<std::string>& row = table.rows.emplace_back(1, label);
    for (const auto& resource : resources) {
      const auto it = std::ranges::find(found, resource, &Ceiling::resource);
      row.push_back(it == found.end() ? "-" : format_number(it->tflops));
    }
    row.insert(row.end(), {format_number(found.front().tflops), found.front().resource});
    for (const Record& record : records)
      row.push_back(shown(timed ? find_run(record, k.kernel.name, size) : nullptr, "tflops"));
  };
  for (const CountedKernel& k : kernels) {
    const Case at = asked_for ? counted : cube(k.kernel, size);
    add(k, k.kernel.name, work_at(at, k));
    add(k, k.kernel.name + ", as compiled", work_as_compiled_at(at, k, records));
  }
  return table;
}

// A row for each counter that is not zero: counted, measured, and why they differ if they do. Nsight Compute profiled
// the chapter's counted problem; counts of another problem are not compared.
Table table_of_counters(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const Case& problem = kernels.front().problem;
  const bool comparable = same_problem(problem, this_chapter().counted);
  Table table{"counters",
              fmt::format("The model's counts and Nsight Compute's hardware counters at {}", extents(problem)),
              {"kernel", "counter", "counted", "measured", "measured / counted", "why"},
              {}};
  if (!comparable) table.caption += "; the counters were read at another problem: " + describe(this_chapter().counted);
  const auto differences = load_differences(chapter_directory());
  for (const CountedKernel& k : kernels) {
    const Record* entry = comparable ? entry_of(k.kernel.name, records) : nullptr;
    for (const Counter& counter : counters()) {
      if (!applies_to(k.counts, counter)) continue;
      const double counted = double(tally(k.counts, counter));
      const auto found = part_of(entry, "counters") != nullptr ? measured(*entry, counter) : std::nullopt;
      if (counted == 0 && found.value_or(Measured{0, 0}) == 0) continue;
      std::string of_hardware = comparable ? pending : "-", ratio, why;
      if (found) {
        of_hardware = text_of(*found);
        ratio = *found == counted ? "equal" : ratio_text(*found, counted);
        const Difference* difference = find_difference(differences, k.kernel.name, counter);
        if (ratio != "equal") why = difference == nullptr ? "unexplained" : difference->why;
      }
      table.rows.push_back({k.kernel.name, counter.label, format_number(counted), of_hardware, ratio, why});
    }
  }
  return table;
}

constexpr double small_stall = 0.02;  // of a warp's latency: smaller reasons in all kernels are shown as one sum

// "medians of ten launches at 4096 x 4096 x 4096". Records of one launch have no ranges, and some lack the size.
std::string profiled(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const bool repeated = std::ranges::any_of(
      kernels, [&](auto& k) { return part_of(entry_of(k.kernel.name, records), "profile_range") != nullptr; });
  const int size = records.empty() ? 0 : records.front().value("profiled_size", 0);
  return (repeated ? "medians of ten launches" : "one launch") +
         (size == 0 ? "" : " at " + extents(Case{size, size, size}));
}

// Utilization, and traffic through the caches: a column for each kernel.
Table table_of_profile(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{"profile", "Nsight Compute's metrics, " + profiled(kernels, records), {"metric"}, {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  for (const ProfileMetric& m : profile_metrics) {
    table.rows.push_back({m.label});
    for (const CountedKernel& k : kernels)
      table.rows.back().push_back(
          shown(part_of(entry_of(k.kernel.name, records), "profile"), m.metric, m.decimals, pending, m.factor));
  }
  return table;
}

// Stall reasons, the largest one of the first kernel first.
Table table_of_stalls(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{"stalls",
              "Stall reasons: how many cycles a warp spends on each between two issued instructions (Nsight Compute, " +
                  profiled(kernels, records) + ")",
              {"stalled on"},
              {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  const auto value = [&](const CountedKernel& k, const Stall& stall) {
    return number_at(part_of(entry_of(k.kernel.name, records), "profile"), std::string("/") + stall.name);
  };
  const auto sum_of = [&](const CountedKernel& k, const auto& reasons) {
    double sum = 0;
    for (const Stall& stall : reasons) sum += value(k, stall).value_or(0);
    return sum;
  };
  std::vector<Stall> large, small;
  for (const Stall& stall : stalls) {
    const bool is_large = std::ranges::any_of(
        kernels, [&](auto& k) { return value(k, stall).value_or(0) > small_stall * sum_of(k, stalls); });
    (is_large ? large : small).push_back(stall);
  }
  std::ranges::stable_sort(large, std::greater{},
                           [&](auto& stall) { return value(kernels.front(), stall).value_or(0); });
  const auto add = [&](const std::string& label, auto&& cell) {
    table.rows.push_back({label});
    for (const CountedKernel& k : kernels)
      table.rows.back().push_back(value(k, stalls[0]) ? format_number(cell(k), 2) : pending);
  };
  for (const Stall& stall : large) add(stall.label, [&](auto& k) { return value(k, stall).value_or(0); });
  add("all other reasons", [&](auto& k) { return sum_of(k, small); });
  add("sum of all reasons", [&](auto& k) { return sum_of(k, stalls); });
  return table;
}

// The rates that this chapter measures, with a column for each record.
Table table_of_rates(const std::vector<Record>& records) {
  Table table{"rates", "Rates of the GPU", {"rate"}, {}};
  for (const Record& record : records) table.header.push_back(text_at(record, "gpu") + ", " + text_at(record, "date"));
  for (const Chapter::Rate& rate : this_chapter().rates) {
    table.rows.push_back({rate.label});
    for (const Record& record : records) table.rows.back().push_back(shown(part_of(&record, "rates"), rate.name));
  }
  return table;
}

// The range of the SM clock during a run, and the throttle reasons, if any.
std::string clocks_during(const Record& run) {
  if (!number_at(&run, "/clocks/sm_mhz/0")) return pending;
  const std::string lowest = shown(&run, "clocks/sm_mhz/0", 0), highest = shown(&run, "clocks/sm_mhz/2", 0);
  std::string text = lowest == highest ? lowest : lowest + "-" + highest;
  std::erase(text, ',');
  const std::string throttled = run["clocks"].value("throttled", "");
  return throttled.empty() ? text : text + ", " + throttled;
}

// One table for all records; if there are several, the first column names the GPU.
Table table_of_runs(const std::vector<Kernel>& kernels, const std::vector<Record>& records, bool last_is_new) {
  Table table{"measured",
              "",
              {"kernel", "size", "ms", "10-90% ms", "TFLOP/s", "cuBLAS", "x cuBLAS", "10-90% of x", "SM MHz", "W"},
              {}};
  const bool stronger = this_chapter().baseline == Baseline::stronger;
  if (stronger) table.header.insert(table.header.begin() + 8, {"cuBLASLt", "x stronger", "10-90% of x"});
  if (records.size() > 1) table.header.insert(table.header.begin(), "GPU");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const bool now = last_is_new && i + 1 == records.size();
    table.caption += fmt::format("{}{} on an {}, {}, driver {}, CUDA {}", i == 0 ? "" : "; ",
                                 now      ? "Measured just now"
                                 : i == 0 ? "Measured (recorded)"
                                          : "recorded",
                                 text_at(record, "gpu"), text_at(record, "date"), text_at(record, "driver"),
                                 text_at(record, "cuda"));
    for (const Kernel& kernel : kernels) {
      const Record* entry = find_kernel(record, kernel.name);
      if (entry == nullptr) continue;
      for (const Record& run : entry->at("runs")) {
        const Case c{run["M"].get<int>(), run["N"].get<int>(), run["K"].get<int>()};
        std::vector<std::string> row{kernel.name,
                                     c.M == c.N && c.N == c.K ? std::to_string(c.M) : extents(c),
                                     shown(&run, "median_ms", 3),
                                     shown(&run, "low_ms", 3) + "-" + shown(&run, "high_ms", 3),
                                     shown(&run, "tflops"),
                                     shown(&run, "cublas_tflops", 1),
                                     shown(&run, "ratio", 3),
                                     range_of(run, "ratio", 3),
                                     clocks_during(run),
                                     shown(&run, "clocks/power_w/1", 0)};
        if (stronger)
          row.insert(row.begin() + 8, {shown(&run, "lt_tflops", 1, "-"), shown(&run, "stronger_ratio", 3),
                                       range_of(run, "stronger_ratio", 3)});
        if (records.size() > 1) row.insert(row.begin(), text_at(record, "gpu") + (now ? ", now" : ""));
        table.rows.push_back(row);
      }
    }
  }
  table.caption = records.empty() ? "Not yet measured on any GPU"
                                  : table.caption +
                                        ". cuBLAS in TFLOP/s; 10-90%: from the 10th percentile to the 90th; SM MHz and "
                                        "W are over all kernels of a problem, whose calls are interleaved";
  return table;
}

}  // namespace

const std::vector<ProfileMetric> profile_metrics{
    {"instructions issued per scheduler and cycle", "issue_active", metric("issue_active"), 2},
    {"cycles between two issued instructions of a warp", "latency", metric("latency")},
    {"L1 lines looked up per cycle", "lines_per_cycle", metric("lines_per_cycle"), 2},
    {"L1 tag passes per cycle", "tag_passes_per_cycle", metric("tag_passes_per_cycle"), 2},
    {"shared and global wavefronts per cycle", "wavefronts_per_cycle", metric("wavefronts_per_cycle"), 2},
    {"global load sectors that hit L1, percent", "l1_hit", metric("l1_hit")},
    {"sectors requested from L2 by the SMs", "l2_asked", metric("l2_asked")},
    {"of these, merged with another request", "l2_coalesced", metric("l2_coalesced")},
    {"sectors read from L2 slices", "l2_sectors", metric("l2_sectors")},
    {"bytes read from DRAM", "dram_bytes", metric("dram_read")},
    {"warp-wide instructions", "instructions", metric("instructions")},
    {"of these, FFMA (thread-wide / 32)", "ffma", metric("ffma"), -1, 1.0 / 32},
    {"resident warps per scheduler", "warps", metric("warps")},
};

std::string text_at(const Record& record, const char* field) { return record.at(field).get<std::string>(); }

std::string shown(const Record* part, const std::string& field, int decimals, const std::string& otherwise,
                  double factor) {
  const auto number = number_at(part, "/" + field, factor);
  return number ? format_number(*number, decimals) : otherwise;
}

std::vector<Table> tables_of(const Findings& found, const std::vector<Kernel>& chosen) {
  const Chapter& chapter = this_chapter();
  const auto& kernels = found.kernels;
  std::vector<Table> tables;
  for (const CountedKernel& k : kernels) tables.push_back(table_of_sites(k));
  if (!kernels.empty()) {
    if (!chapter.sizes.empty()) tables.push_back(table_of_ceilings(kernels, found.records));
    for (const auto table_of : {table_of_counters, table_of_profile, table_of_stalls})
      tables.push_back(table_of(kernels, found.records));
  }
  if (!chapter.rates.empty()) tables.push_back(table_of_rates(found.records));
  if (!chapter.kernels.empty()) tables.push_back(table_of_runs(chosen, found.records, found.last_is_new));
  return tables;
}

}  // namespace tile
