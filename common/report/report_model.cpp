// A chapter on the SIMT model: counts its kernels and puts predicted, counted and measured side by side.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "common/measure/ceilings.hpp"
#include "common/measure/ranks.hpp"
#include "common/measure/record.hpp"
#include "common/report/check_records.hpp"
#include "common/report/counters.hpp"
#include "common/report/explain_tuning.hpp"
#include "common/report/options.hpp"
#include "common/report/table.hpp"
#include "common/report/tuning.hpp"

namespace tile {
namespace {

constexpr double largest_model_problem = 3e9;  // multiply-adds; about a minute on two cores

std::vector<std::string> source_lines() {
  std::ifstream in(chapter_source());
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", chapter_source().string()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Source line -> tag, from the `//@ tag` at its end.
const std::map<int, std::string>& tags() {
  static const std::map<int, std::string> found = [] {
    std::map<int, std::string> result;
    int number = 0;
    for (const std::string& line : source_lines()) {
      ++number;
      if (const auto at = line.find("//@ "); at != std::string::npos) result[number] = line.substr(at + 4);
    }
    return result;
  }();
  return found;
}

std::string tag_of(const simt::Site& site) {
  const auto it = tags().find(site.line);
  return it == tags().end() ? fmt::format("line {}", site.line) : it->second;
}

struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  double untraced_seconds = 0;
};

// How long the model takes to run a kernel without counting.
double untraced_seconds(const Kernel& kernel, const Case& problem) {
  const Operands operands(problem);
  const auto start = std::chrono::steady_clock::now();
  kernel.launch(operands.gemm());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void require_countable(const Case& c) {
  if (double(c.M) * c.N * c.K > largest_model_problem)
    throw UsageError(
        fmt::format("{} x {} x {} is too large for the SIMT model; at most {:.0g} multiply-adds, such as "
                    "--size 1024 (counts per request do not change with the size)",
                    c.M, c.N, c.K, largest_model_problem));
}

std::string extents(const Case& c) { return fmt::format("{} x {} x {}", c.M, c.N, c.K); }
std::string extents(const Record& run) {
  return fmt::format("{} x {} x {}", run["M"].get<int>(), run["N"].get<int>(), run["K"].get<int>());
}

// --- Rates ---------------------------------------------------------------------------------------------------
/// What chapter 00 recorded on the reference GPU; without a record the specification stands in, and no bandwidths.
Rates reference_rates() {
  Rates rates{h200.name, h200.sms, h200.clock_ghz * 1e9, 0, 0};
  for (const auto& entry : std::filesystem::directory_iterator(chapter_directory().parent_path())) {
    if (entry.path().filename().string().rfind("00-", 0) != 0) continue;
    const auto records = load_records(entry.path());
    if (records.empty()) continue;
    const Record& record = records.front();
    rates.gpu = record["gpu"];
    rates.sms = record["sms"];
    rates.clock_hz = record["clock_hz"];
    rates.l2_bytes_per_second = record["rates"].value("l2_read_gbs", 0.0) * 1e9;
    rates.dram_bytes_per_second = record["rates"].value("dram_copy_gbs", 0.0) * 1e9;
  }
  return rates;
}

// --- Tables --------------------------------------------------------------------------------------------------
Table table_of_sites(const CountedKernel& k) {
  Table table{
      fmt::format("sites-{}", k.kernel.name),
      fmt::format("Counted: {} at {}, per access site", k.kernel.name, extents(k.problem)),
      {"site", "array", "op", "bytes/lane", "requests", "sectors/req", "lines/req", "tag passes/req", "wavefronts/req"},
      {}};
  for (const simt::Site& s : k.counts.sites) {
    const double requests = double(s.requests);
    const bool global = s.space == simt::Space::global;
    table.rows.push_back({tag_of(s), s.array, simt::name_of(s.op), std::to_string(s.width), format_number(requests),
                          global ? format_number(double(s.sectors) / requests) : "-",
                          global ? format_number(double(s.lines) / requests) : "-",
                          global ? format_number(double(s.tag_passes) / requests) : "-",
                          format_number(double(global ? s.l1_wavefronts : s.wavefronts) / requests)});
  }
  return table;
}

bool same_problem(const Case& a, const Case& b) {
  const auto all = [](const Case& c) { return std::tuple(c.M, c.N, c.K, c.alpha, c.beta, c.pad, c.offset); };
  return all(a) == all(b);
}

// The work of what nvcc made of a kernel, by the reference GPU's record.
std::optional<Work> as_compiled(const CountedKernel& k, const Work& written, const Case& at,
                                const std::vector<Record>& records) {
  const Record* entry = records.empty() ? nullptr : find_kernel(records.front(), k.kernel.name);
  if (entry == nullptr || !same_problem(k.problem, this_chapter().counted)) return {};
  return work_as_compiled(written, *entry, records.front(), double(tally(k.counts, counters()[0])), k.problem, at);
}

// The size at which the record knows most; without a profile the largest one.
int size_of_profile(const std::vector<Record>& records) {
  const int largest = this_chapter().sizes.back();
  return records.empty() ? largest : records.front().value("profiled_size", largest);
}

Table table_of_ceilings(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records, int size) {
  const Rates rates = reference_rates();
  Table table{"ceilings", "", {"kernel"}, {}};
  const Case at{size, size, size};
  const std::vector<std::string> resources{"FFMA issue", "issue slots", "register banks", "L1",
                                           "banks",      "L2 bytes",    "DRAM bytes"};
  for (const auto& resource : resources) table.header.push_back(resource);
  table.header.push_back("tightest");
  for (const Record& record : records)
    table.header.push_back(fmt::format("measured, {}", record["gpu"].get<std::string>()));
  const auto add = [&](const CountedKernel& k, const std::string& label, const Work& work) {
    const auto found = ceilings(work, rates);
    std::vector<std::string> row{label};
    for (const auto& resource : resources) {
      const auto it = std::find_if(found.begin(), found.end(), [&](auto& c) { return c.resource == resource; });
      row.push_back(it == found.end() ? "-" : format_number(it->tflops));
    }
    row.push_back(fmt::format("{} ({})", format_number(found.front().tflops), found.front().resource));
    for (const Record& record : records) {
      const Record* run = find_run(record, k.kernel.name, size);
      row.push_back(run == nullptr ? "not yet measured" : format_number((*run)["tflops"].get<double>()));
    }
    table.rows.push_back(row);
  };
  for (const CountedKernel& k : kernels) {
    const Work written = work_of(k.counts, k.problem, at);
    add(k, k.kernel.name, written);
    if (const auto compiled = as_compiled(k, written, at, records)) add(k, k.kernel.name + ", as compiled", *compiled);
  }
  table.caption = fmt::format(
      "Ceilings at {} in TFLOP/s, from the counts and the rates of an {} ({} SMs, {:.2f} GHz); "
      "L2 and DRAM rates as chapter 00 measured them; as compiled: banks, issue slots and register banks from its "
      "counters "
      "and its machine code, the rest as in the source",
      extents(at), rates.gpu, rates.sms, rates.clock_hz * 1e-9);
  return table;
}

// What the GPU did during a run: the range of its SM clock, and why it was throttled if it was.
std::string clocks_during(const Record& run) {
  if (!run.contains("clocks") || run["clocks"]["samples"] == 0) return "not yet measured";
  const Record& clocks = run["clocks"];
  std::string text = fmt::format("{:.0f}-{:.0f}", clocks["sm_mhz"][0].get<double>(), clocks["sm_mhz"][2].get<double>());
  for (const auto& reason : clocks["throttled"]) text += ", " + reason.get<std::string>();
  return text;
}
// The median of its power.
std::string power_during(const Record& run) {
  if (!run.contains("clocks") || run["clocks"]["samples"] == 0) return "not yet measured";
  return format_number(run["clocks"]["power_w"][1].get<double>(), 0);
}

// One table for all records; with more than one, the first column says which GPU. The last `fresh` records were made by
// this very run.
Table table_of_runs(const std::vector<Kernel>& kernels, const std::vector<Record>& records, std::size_t fresh) {
  Table table{"measured",
              "",
              {"kernel", "M x N x K", "ms", "10-90% ms", "TFLOP/s", "cuBLAS", "x cuBLAS", "10-90%", "SM MHz", "W"},
              {}};
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
        if (records.size() > 1) row.insert(row.begin(), record["gpu"].get<std::string>() + (now ? ", now" : ""));
        table.rows.push_back(row);
      }
    }
  }
  if (records.empty()) table.caption = "Measured: not yet, on any GPU";
  return table;
}

// --- ncu -----------------------------------------------------------------------------------------------------
/// What Nsight Compute says of a run large enough to fill the GPU (`--profile`): why warps wait, what hits.
struct ProfileMetric {
  const char *label, *key, *metric;
  double divisor = 1;
};
const ProfileMetric profile_metrics[] = {
    {"instructions issued per scheduler and cycle", "issue_active", "smsp__issue_active.avg.per_cycle_active"},
    {"cycles between two instructions of a warp", "latency", "smsp__average_warp_latency_per_inst_issued.ratio"},
    {"L1 lines looked up per cycle", "lines_per_cycle", "l1tex__t_set_accesses.avg.per_cycle_active"},
    {"L1 tag passes per cycle", "tag_passes_per_cycle", "l1tex__t_output_wavefronts.avg.per_cycle_active"},
    {"shared and global wavefronts per cycle", "wavefronts_per_cycle",
     "l1tex__data_pipe_lsu_wavefronts.avg.per_cycle_active"},
    {"global load sectors that hit L1, percent", "l1_hit", "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"},
    {"sectors that SMs asked of L2", "l2_asked", "lrc__request_sectors_op_read_coalescable.sum"},
    {"of them merged with another request", "l2_coalesced",
     "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum"},
    {"sectors read from L2's slices", "l2_sectors", "lts__t_sectors_op_read.sum"},
    {"bytes read from DRAM", "dram_bytes", "dram__bytes_read.sum"},
    {"warp-wide instructions", "instructions", "smsp__inst_executed.sum"},
    {"of them FFMA (thread-wide / 32)", "ffma", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 32},
    {"warps resident per scheduler", "warps", "smsp__warps_active.avg.per_cycle_active"},
};

/// Where the cycles between two instructions of a warp go: on average so many warps wait for this when another one is issued.
/// The names are Nsight Compute's; together they are all its reasons.
struct Stall {
  const char *label, *name;
  std::string metric() const {
    return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", name);
  }
};
const Stall stalls[] = {
    {"issued", "selected"},
    {"ready, but another warp was chosen", "not_selected"},
    {"result of an arithmetic instruction (a fixed number of cycles)", "wait"},
    {"data of L1, L2 or DRAM", "long_scoreboard"},
    {"data of shared memory", "short_scoreboard"},
    {"place in the queue of global memory", "lg_throttle"},
    {"place in the queue of shared memory", "mio_throttle"},
    {"barrier", "barrier"},
    {"dispatch", "dispatch_stall"},
    {"arithmetic pipe", "math_pipe_throttle"},
    {"instruction cache", "no_instruction"},
    {"constant cache", "imc_miss"},
    {"branch", "branch_resolving"},
    {"stores, before the warp ends", "drain"},
    {"memory barrier", "membar"},
    {"texture queue", "tex_throttle"},
    {"tensor core", "gmma"},
    {"sleep", "sleeping"},
    {"other", "misc"},
};
constexpr double small_stall = 0.02;  // of a warp's latency: what no kernel of a table exceeds is shown as one sum

// The last column of a row of the counters: what measured is to counted, and why.
std::string verdict_on(const Difference* difference, double counted, const Measured& measured) {
  if (measured == counted) return "equal";
  return fmt::format("{}: {}", ratio_text(measured, counted),
                     difference == nullptr ? "nobody has explained this" : difference->why);
}

// Nsight Compute was asked about the chapter's counted problem; counts of another are not compared.
Table table_of_counters(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const Case& problem = kernels.front().problem;
  const bool comparable = same_problem(problem, this_chapter().counted);
  Table table{"counters",
              fmt::format("The model's counts against Nsight Compute's hardware counters, {}", extents(problem)),
              {"kernel", "what", "counted", "measured", ""},
              {}};
  if (!comparable)
    table.caption += fmt::format("; the counters are of another problem, {}", extents(this_chapter().counted));
  const auto differences = load_differences(chapter_directory());
  for (const CountedKernel& k : kernels) {
    const Record* entry = records.empty() || !comparable ? nullptr : find_kernel(records.front(), k.kernel.name);
    for (const Counter& counter : counters()) {
      const double counted = double(tally(k.counts, counter));
      const auto found = entry != nullptr && entry->contains("counters") ? measured(*entry, counter) : std::nullopt;
      if (counted == 0 && found.value_or(Measured{0, 0}) == 0) continue;
      table.rows.push_back(
          {k.kernel.name, counter.label, format_number(counted),
           found        ? text_of(*found)
           : comparable ? "not yet measured"
                        : "-",
           found ? verdict_on(find_difference(differences, k.kernel.name, counter), counted, *found) : ""});
    }
  }
  return table;
}

/// What a record's profile says of a kernel, or nothing.
std::optional<double> profiled(const std::vector<Record>& records, const std::string& kernel,
                               const std::string& metric) {
  const Record* entry = records.empty() ? nullptr : find_kernel(records.front(), kernel);
  if (entry == nullptr || !entry->contains("profile") || !entry->at("profile").contains(metric)) return {};
  return entry->at("profile")[metric].get<double>();
}

Table table_of_profile(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{"profile", "Nsight Compute, a run that fills the GPU", {"what"}, {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  for (const ProfileMetric& metric : profile_metrics) {
    std::vector<std::string> row{metric.label};
    for (const CountedKernel& k : kernels) {
      const auto value = profiled(records, k.kernel.name, metric.metric);
      row.push_back(value ? format_number(*value / metric.divisor) : "not yet measured");
    }
    table.rows.push_back(row);
  }
  return table;
}

/// Where a warp's time goes, the largest reason of the first kernel first.
Table table_of_stalls(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  Table table{
      "stalls",
      "Where the cycles between two instructions of a warp go (Nsight Compute, the same run): what the warp waits for",
      {"waiting for"},
      {}};
  for (const CountedKernel& k : kernels) table.header.push_back(k.kernel.name);
  const auto value = [&](const CountedKernel& k, const Stall& stall) {
    return profiled(records, k.kernel.name, stall.metric()).value_or(0);
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
      const bool known = profiled(records, k.kernel.name, stalls[0].metric()).has_value();
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
  add("together", latency);
  return table;
}

// --- Facts ---------------------------------------------------------------------------------------------------
void add_counted_facts(Facts& facts, const CountedKernel& k) {
  const std::string name = k.kernel.name + ".";
  const double fmas = double(k.problem.M) * k.problem.N * k.problem.K / 32;  // warp-wide
  for (const simt::Site& s : k.counts.sites) {
    const auto tag = tags().find(s.line);
    if (tag == tags().end()) continue;
    const std::string key = name + tag->second + ".";
    const double requests = double(s.requests);
    facts.counted(key + "requests", requests);
    facts.counted(key + "requests_per_fma", requests / fmas);
    facts.counted(key + "bytes", double(s.bytes()));
    if (s.space == simt::Space::global) {
      facts.counted(key + "sectors", double(s.sectors));
      facts.counted(key + "sectors_per_request", double(s.sectors) / requests);
      facts.counted(key + "lines_per_request", double(s.lines) / requests);
      facts.counted(key + "tag_passes_per_request", double(s.tag_passes) / requests);
      facts.counted(key + "l1_wavefronts_per_request", double(s.l1_wavefronts) / requests);
      facts.counted(key + "used_percent", 100.0 * double(s.bytes()) / (32.0 * double(s.sectors)));
    } else {
      facts.counted(key + "wavefronts", double(s.wavefronts));
      facts.counted(key + "wavefronts_per_request", double(s.wavefronts) / requests);
    }
  }
  for (const Counter& counter : counters()) facts.counted(name + counter.key, double(tally(k.counts, counter)));
  const Work own = work_of(k.counts, k.problem, k.problem);
  facts.counted(name + "lines_per_fma", own.lines / fmas);
  facts.counted(name + "l1_cycles_per_fma", own.l1_cycles / fmas);
  facts.counted(name + "wavefronts_per_fma", own.wavefronts / fmas);
  facts.counted(name + "global_loads_per_fma", double(tally(k.counts, counters()[0])) / fmas);
  facts.counted(name + "shared_loads_per_fma", double(tally(k.counts, counters()[4])) / fmas);
  const auto loads_per_result = [&](simt::Space space) {
    double loads = 0;
    for (const simt::Site& s : k.counts.sites)
      if (s.space == space && s.op == simt::Op::load && s.array != "C") loads += double(s.accesses);
    return loads / (32 * fmas);
  };
  const double shared_loads = loads_per_result(simt::Space::shared);
  facts.text(name + "loads_per_result.global", "counted", multiple_of_K(loads_per_result(simt::Space::global)));
  facts.text(name + "loads_per_result.shared", "counted", multiple_of_K(shared_loads));
  if (shared_loads > 0) facts.counted(name + "fmas_per_shared_load", 1 / shared_loads);
  facts.counted(name + "barriers", double(k.counts.barriers));
  facts.counted(name + "shared_bytes", double(k.counts.static_shared_bytes + k.counts.dynamic_shared_bytes));
}

// "register banks" -> "register", as keys call it.
std::string key_of(const Ceiling& ceiling) {
  std::string resource = ceiling.resource.substr(0, ceiling.resource.find(' '));
  std::transform(resource.begin(), resource.end(), resource.begin(), [](unsigned char ch) { return std::tolower(ch); });
  return resource;
}

// Ceilings of what nvcc made of a kernel, as far as the record has what they follow from.
void add_compiled_ceiling_facts(Facts& facts, const std::string& prefix, const std::optional<Work>& compiled,
                                const Rates& rates) {
  const std::string name = prefix + "compiled.";
  for (const char* key : {"ffma", "issue", "register", "l1", "banks", "l2", "dram", "tightest"})
    if (!compiled) facts.not_yet_measured(name + key);
  if (!compiled) {
    facts.not_yet_measured(name + "resource");
    return;
  }
  const auto found = ceilings(*compiled, rates);
  for (const Ceiling& c : found) facts.measured(name + key_of(c), c.tflops);
  facts.measured(name + "tightest", found.front().tflops);
  facts.text(name + "resource", "measured", found.front().resource);
}

void add_ceiling_facts(Facts& facts, const CountedKernel& k, int size, const std::vector<Record>& records,
                       const Rates& rates) {
  const Work work = work_of(k.counts, k.problem, {size, size, size});
  const auto found = ceilings(work, rates);
  const std::string prefix = fmt::format("{}.{}.", k.kernel.name, size), name = prefix + "ceiling.";
  add_compiled_ceiling_facts(facts, prefix, as_compiled(k, work, {size, size, size}, records), rates);
  facts.counted(prefix + "intensity.sm", work.flops / work.requested_bytes);
  facts.counted(prefix + "intensity.l2", work.flops / work.l2_bytes);
  facts.counted(prefix + "intensity.dram", work.flops / work.dram_bytes);
  for (const Ceiling& c : found) facts.counted(name + key_of(c), c.tflops);
  facts.counted(name + "tightest", found.front().tflops);
  facts.text(name + "resource", "counted", found.front().resource);
}

// What a record calls the profile of a run whose leading dimensions exceed the width by `pad`.
std::string profile_with_pad(int pad) { return fmt::format("profile+{}", pad); }

// What a profiled run says of a kernel; `profile` is null when it has not been profiled.
void add_profile_facts(Facts& facts, const std::string& name, const Record* profile) {
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
    give(metric.key, number ? std::optional(*number / metric.divisor) : std::nullopt);
  }
  for (const Stall& stall : stalls) give(stall.name, value(stall.metric().c_str()), 2);  // as many as the profiler gives
  const auto all = value("smsp__inst_executed.sum"),
             ffma = value("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  const auto issued = value("smsp__issue_active.avg.per_cycle_active");
  const bool known = all && ffma && issued && *all > 0;
  give("ffma_percent", known ? std::optional(100 * *ffma / 32 / *all) : std::nullopt, 1);
  give("issued_percent", issued ? std::optional(100 * *issued) : std::nullopt, 0);
  give("idle_percent", issued ? std::optional(100 - 100 * *issued) : std::nullopt, 0);
  give("ffma_pipe_percent", known ? std::optional(100 * *issued * *ffma / 32 / *all) : std::nullopt, 1);
}

// What the machine code of a kernel, an entry of a record or null, consists of.
void add_machine_code_facts(Facts& facts, const std::string& name, const Record* entry) {
  for (const std::string group : {"sass", "sass_loop"}) {
    const Record* tally = entry != nullptr && entry->contains(group) ? &entry->at(group) : nullptr;
    const auto count = [&](const char* key) { return double(tally->value(key, 0)); };
    const auto give = [&](const std::string& key, auto&& value, int decimals) {
      const std::string full = fmt::format("{}.{}.{}", name, group, key);
      const double number = tally == nullptr ? std::nan("") : value();
      if (std::isfinite(number))
        facts.measured(full, number, decimals);
      else
        facts.not_yet_measured(full);
    };
    for (const char* opcode :
         {"all", "reuse", "ffma_reads_even", "ffma_reads_odd", "bank_cycles", "FFMA", "LDS", "LDS.64", "LDS.128",
          "LDG.E", "LDG.E.64", "LDG.E.128", "STS", "STS.64", "STS.128", "BAR.SYNC.DEFER_BLOCKING"})
      give(
          opcode, [&] { return count(opcode); }, 0);
    give(
        "ffma_per_lds", [&] { return count("FFMA") / (count("LDS") + count("LDS.64") + count("LDS.128")); }, -1);
    give(
        "reads_per_ffma", [&] { return (count("ffma_reads_even") + count("ffma_reads_odd")) / count("FFMA"); }, 2);
    give(
        "busier_bank_per_ffma",
        [&] { return std::max(count("ffma_reads_even"), count("ffma_reads_odd")) / count("FFMA"); }, 3);
    give(
        "bank_cycles_per_instruction", [&] { return count("bank_cycles") / count("all"); }, 3);
    give(
        "copies", [&] { return count("MOV") + count("IMAD.MOV.U32"); }, 0);
    const auto local = [&] {
      int sum = 0;
      for (const auto& [opcode, number] : tally->items())
        if (opcode.starts_with("LDL") || opcode.starts_with("STL")) sum += number.get<int>();
      return double(sum);
    };
    give("local", local, 0);
    if (group == "sass") continue;
    // Older records do not say where instructions stand among the FFMA.
    for (const std::string place : {"ldg_first", "ldg_last", "sts_first", "sts_last", "bar_first", "bar_last"}) {
      const auto ffma_before = [&] { return tally->contains(place) ? count(place.c_str()) : std::nan(""); };
      give(place, ffma_before, 0);
      give(
          place + "_percent", [&] { return 100 * ffma_before() / count("FFMA"); }, 0);
    }
  }
}

void add_measured_facts(Facts& facts, const Record* record) {
  const auto give = [&](const std::string& key, const Record* entry, const char* field, int decimals = -1,
                        double factor = 1) {
    if (entry != nullptr && entry->contains(field))
      facts.measured(key, entry->at(field).get<double>() * factor, decimals);
    else
      facts.not_yet_measured(key);
  };
  for (const char* field : {"gpu", "date", "driver", "cuda"}) {
    if (record == nullptr)
      facts.not_yet_measured(field);
    else
      facts.text(field, "measured", (*record)[field].get<std::string>());
  }
  for (const char* when : {"before", "after"})
    for (const char* field : {"sm_mhz", "power_w", "temperature_c"}) {
      const std::string group = fmt::format("clocks_{}", when);
      give(fmt::format("{}.{}", group, field),
           record != nullptr && record->contains(group) ? &(*record)[group] : nullptr, field, 0);
    }
  for (const Chapter::Rate& rate : this_chapter().rates)
    give("rates." + rate.name, record == nullptr ? nullptr : &(*record)["rates"], rate.name.c_str());
  for (const Chapter::Profiled& profiled : this_chapter().profiled) {
    const Record* entry = nullptr;
    std::string function = "not yet measured";
    if (record != nullptr && record->contains("other_kernels"))
      for (const auto& [name, kernel] : record->at("other_kernels").items())
        if (name.find(profiled.part_of_name) != std::string::npos && kernel.contains("counters")) {
          entry = &kernel["counters"];
          function = name;
        }
    facts.text(profiled.key + ".function", "measured", function);
    const Record* const other_kernel = entry == nullptr ? nullptr : &record->at("other_kernels").at(function);
    const Record* const profile =
        other_kernel != nullptr && other_kernel->contains("profile") ? &other_kernel->at("profile") : nullptr;
    add_profile_facts(facts, profiled.key, profile);
    add_machine_code_facts(facts, profiled.key, other_kernel);
    give(profiled.key + ".registers", entry, "launch__registers_per_thread", 0);
    give(profiled.key + ".sm_sectors", entry, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 0);
    give(profiled.key + ".l2_sectors", entry, "lts__t_sectors_op_read.sum", 0);
    give(profiled.key + ".profile.l2_sectors_written", profile, "lts__t_sectors_op_write.sum", 0);
    give(profiled.key + ".profile.l2_data_sectors", profile, "lts__d_sectors.sum", 0);
    give(profiled.key + ".profile.l2_filled_sectors", profile, "lts__d_sectors_fill_device.sum", 0);
    give(profiled.key + ".profile.dram_read_mb", profile, "dram__bytes_read.sum", -1, 1e-6);
    give(profiled.key + ".profile.dram_written_mb", profile, "dram__bytes_write.sum", -1, 1e-6);
  }
  for (const Kernel& kernel : this_chapter().kernels) {
    const Record* entry = record == nullptr ? nullptr : find_kernel(*record, kernel.name);
    for (const char* field : {"registers", "spill_bytes", "static_shared", "blocks_per_sm"})
      give(kernel.name + "." + field, entry, field, 0);
    for (const Counter& counter : counters())
      give(fmt::format("{}.ncu.{}", kernel.name, counter.key),
           entry != nullptr && entry->contains("counters") ? &entry->at("counters") : nullptr, counter.metric, 0);
    for (const Counter& counter : counters()) {
      const std::string key = fmt::format("{}.ncu.{}.", kernel.name, counter.key);
      const auto found = entry != nullptr && entry->contains("counters") ? measured(*entry, counter) : std::nullopt;
      if (found) {
        facts.measured(key + "low", found->low, 0);
        facts.measured(key + "high", found->high, 0);
      } else {
        facts.not_yet_measured(key + "low");
        facts.not_yet_measured(key + "high");
      }
    }
    const auto group = [&](const std::string& name) {
      return entry != nullptr && entry->contains(name) ? &entry->at(name) : nullptr;
    };
    add_profile_facts(facts, kernel.name, group("profile"));
    for (const int pad : this_chapter().profiled_pads)
      add_profile_facts(facts, fmt::format("{}+{}", kernel.name, pad), group(profile_with_pad(pad)));
    add_machine_code_facts(facts, kernel.name, entry);
    for (const int architecture : this_chapter().compiled_for) {
      const std::string number = std::to_string(architecture);
      const bool known =
          entry != nullptr && entry->contains("registers_for") && entry->at("registers_for").contains(number);
      give(fmt::format("{}.registers_for.{}", kernel.name, number), known ? &entry->at("registers_for") : nullptr,
           number.c_str(), 0);
    }
    for (const Case& c : timed_problems()) {
      const Record* run = record == nullptr ? nullptr : find_run(*record, kernel.name, c.M, c.N, c.K);
      const std::string problem =
          c.M == c.N && c.N == c.K ? std::to_string(c.M) : fmt::format("{}x{}x{}", c.M, c.N, c.K);
      const std::string name = fmt::format("{}.{}.", kernel.name, problem);
      give(name + "ms", run, "median_ms");
      give(name + "tflops", run, "tflops");
      give(name + "gflops", run, "tflops", 0, 1000);
      give(name + "cublas_tflops", run, "cublas_tflops", 1);
      give(name + "ratio", run, "ratio", 3);
      give(name + "ratio_low", run, "ratio_low", 3);
      give(name + "ratio_high", run, "ratio_high", 3);
      give(name + "percent_of_cublas", run, "ratio", 1, 100);
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
  }
}

constexpr int sampled_thread = 197;  // the one that figures of a single thread follow

// --- Emission for the book ---------------------------------------------------------------------------------------
std::ofstream open_for_writing(const std::filesystem::path& file) {
  std::ofstream out(file);
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
  return out;
}

// "4 sectors" or "1 wavefront": what one warp-wide access costs.
std::string per_request(const simt::Site& s) {
  const bool global = s.space == simt::Space::global;
  const double cost = double(global ? s.sectors : s.wavefronts) / double(s.requests);
  return fmt::format("{} {}{}", format_number(cost), global ? "sector" : "wavefront", cost == 1 ? "" : "s");
}

// Beside a source line: what one warp-wide execution of it costs.
void emit_lines(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "lines.tsv");
  for (const CountedKernel& k : kernels)
    for (const simt::Site& s : k.counts.sites) {
      const double requests = double(s.requests);
      out << k.kernel.name << '\t' << s.line << '\t' << per_request(s) << '\t' << format_number(requests) << '\n';
    }
}

void emit_traces(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto samples = open_for_writing(directory / "samples.tsv");
  auto touches = open_for_writing(directory / "touches.tsv");
  auto threads = open_for_writing(directory / fmt::format("thread-{}.tsv", sampled_thread));
  auto owners = open_for_writing(directory / "owners.tsv");  // which thread of the block wrote which element of C
  for (const CountedKernel& k : kernels) {
    const std::map<std::string, int> ld{{"A", k.problem.lda()}, {"B", k.problem.ldb()}, {"C", k.problem.ldc()}};
    for (const simt::Sample& sample : k.counts.samples) {
      const simt::Site& s = k.counts.sites[sample.site];
      for (int lane = 0; lane < 32; ++lane) {
        if (sample.byte_offset[lane] < 0) continue;
        samples << k.kernel.name << '\t' << tag_of(s) << '\t' << simt::name_of(s.space) << '\t' << s.array << '\t'
                << s.width << '\t' << lane << '\t' << sample.byte_offset[lane] / 4 << '\t' << simt::name_of(s.op)
                << '\n';
      }
    }
    std::set<std::string> seen;
    for (const simt::Touch& t : k.counts.touches) {
      for (std::int64_t element = t.byte_offset / 4; element < (t.byte_offset + t.width) / 4; ++element) {
        if (t.thread == sampled_thread)
          threads << fmt::format("{}\t{}\t{}\t{}\t{}\n", k.kernel.name, t.interval, simt::name_of(t.op), t.array,
                                 element);
        if (ld.count(t.array) == 0) continue;
        if (t.array == "C" && t.op == simt::Op::store)
          owners << fmt::format("{}\t{}\t{}\t{}\n", k.kernel.name, t.thread, element / ld.at("C"),
                                element % ld.at("C"));
        const std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\n", k.kernel.name, t.interval, t.array,
                                             element / ld.at(t.array), element % ld.at(t.array));
        if (seen.insert(line).second) touches << line;
      }
    }
  }
}

// What the sampled block touched between two barriers: how often, and the first element.
void emit_intervals(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "intervals.tsv");
  for (const CountedKernel& k : kernels) {
    struct Touched {
      int accesses = 0;
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
    };
    std::map<std::tuple<int, std::string, std::string>, Touched> touched;
    for (const simt::Touch& t : k.counts.touches) {
      Touched& all = touched[{t.interval, simt::name_of(t.op), t.array}];
      ++all.accesses;
      all.first = std::min(all.first, t.byte_offset / 4);
    }
    for (const auto& [key, all] : touched) {
      const auto& [interval, op, array] = key;
      out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", k.kernel.name, interval, op, array, all.accesses, all.first);
    }
  }
}

// The kernels that were measured above a ceiling, of their source or of what nvcc made of it, and which.
void emit_above(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records,
                const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "above.tsv");
  if (records.empty() || this_chapter().sizes.empty()) return;
  const int size = size_of_profile(records);
  const Case at{size, size, size};
  const Rates rates = reference_rates();
  for (const CountedKernel& k : kernels) {
    const Record* run = find_run(records.front(), k.kernel.name, size);
    if (run == nullptr) continue;
    const double measured = run->at("tflops");
    const auto compare = [&](const Work& work, const char* what) {
      if (const Ceiling tightest = ceilings(work, rates).front(); measured > tightest.tflops)
        out << fmt::format("{0}\t{0}{1} was measured at {2} TFLOP/s, above its ceiling of {3} ({4})\n", k.kernel.name,
                           what, format_number(measured), format_number(tightest.tflops), tightest.resource);
    };
    const Work written = work_of(k.counts, k.problem, at);
    compare(written, "");
    if (const auto compiled = as_compiled(k, written, at, records)) compare(*compiled, ", as compiled,");
  }
}

void print_lines(const std::vector<CountedKernel>& kernels) {
  const auto lines = source_lines();
  for (const CountedKernel& k : kernels) {
    std::map<int, std::string> notes;
    for (const simt::Site& s : k.counts.sites)
      notes[s.line] +=
          fmt::format("{}{} {} {}: {} requests, {} {}", notes[s.line].empty() ? "" : "; ", simt::name_of(s.op),
                      simt::name_of(s.space), s.array, format_number(double(s.requests)),
                      format_number(double(s.space == simt::Space::global ? s.sectors : s.wavefronts)),
                      s.space == simt::Space::global ? "sectors" : "wavefronts");
    fmt::print("\nCounted: {} at {}, per source line of {}\n", k.kernel.name, extents(k.problem),
               chapter_source().filename().string());
    for (const auto& [line, note] : notes)
      fmt::print("{:5} | {}\n      |   {}\n", line, lines.at(std::size_t(line - 1)), note);
  }
}

// --- Tuning --------------------------------------------------------------------------------------------------
/// A candidate, what the model says of it, and what was measured.
struct Ranked {
  const Candidate* candidate = nullptr;
  Ceiling tightest;               ///< of the counts, on the reference GPU
  const Record* timed = nullptr;  ///< of the reference GPU, or null
  double tflops() const { return timed == nullptr ? 0 : timed->at("tflops").get<double>(); }
};

/// Counts every candidate that is worth timing; the highest ceiling first.
std::vector<Ranked> rank_by_ceilings(const Record* tuning) {
  const Rates rates = reference_rates();
  const Case small{256, 256, 32}, large{4096, 4096, 4096};
  std::vector<Ranked> ranking;
  for (const Candidate& candidate : this_chapter().candidates) {
    if (!candidate.pruned.empty()) continue;
    Ranked r{&candidate, ceilings(work_of(count(candidate.kernel.launch, small), small, large), rates).front(),
             nullptr};
    if (tuning != nullptr) r.timed = find_timed(*tuning, candidate.kernel.name);
    ranking.push_back(r);
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](auto& a, auto& b) { return a.tightest.tflops > b.tightest.tflops; });
  return ranking;
}

std::vector<Ranked> by_measurement(std::vector<Ranked> ranking) {
  std::stable_sort(ranking.begin(), ranking.end(), [](auto& a, auto& b) { return a.tflops() > b.tflops(); });
  return ranking;
}

/// The ends of the landscape: the fastest, and the slowest, with the rank that the ceilings gave them.
Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings) {
  const Record* const tuning = tunings.empty() ? nullptr : &tunings.front();
  constexpr std::size_t best = 12, worst = 4;
  Table table{"tuning",
              "",
              {"configuration", "threads", "registers, predicted", "warps/SM, predicted", "ceiling", "by",
               "rank by ceiling", "TFLOP/s", "registers", "blocks/SM"},
              {}};
  table.caption =
      fmt::format("{} configurations left after pruning; {}", ranking.size(),
                  tuning == nullptr ? "not yet timed, so by ceiling"
                                    : fmt::format("timed at {} on an {}, {}: the fastest and the slowest",
                                                  (*tuning)["size"].get<int>(), (*tuning)["gpu"].get<std::string>(),
                                                  (*tuning)["date"].get<std::string>()));
  const auto ordered = by_measurement(ranking);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (i >= best && i + worst < ordered.size()) continue;
    const Ranked& r = ordered[i];
    const auto place =
        std::find_if(ranking.begin(), ranking.end(), [&](auto& x) { return x.candidate == r.candidate; });
    const auto given = [&](const char* key) {
      return r.timed == nullptr ? std::string("not yet measured") : format_number(r.timed->at(key).get<double>());
    };
    table.rows.push_back({r.candidate->kernel.name, std::to_string(r.candidate->kernel.block_threads),
                          std::to_string(r.candidate->registers), std::to_string(r.candidate->warps),
                          format_number(r.tightest.tflops), r.tightest.resource,
                          std::to_string(place - ranking.begin() + 1), given("tflops"), given("registers"),
                          given("blocks_per_sm")});
    for (std::size_t other = 1; other < tunings.size(); ++other) {
      const Record* timed = find_timed(tunings[other], r.candidate->kernel.name);
      table.rows.back().push_back(timed == nullptr ? "not yet measured"
                                                   : format_number(timed->at("tflops").get<double>()));
    }
  }
  for (std::size_t other = 1; other < tunings.size(); ++other)
    table.header.push_back(fmt::format("TFLOP/s, {}", tunings[other]["gpu"].get<std::string>()));
  return table;
}

void add_tuning_facts(Facts& facts, const std::vector<Ranked>& ranking, const Record* tuning) {
  facts.counted("tuning.count", double(ranking.size()));
  facts.text("tuning.model_choice", "counted", ranking.front().candidate->kernel.name);
  facts.counted("tuning.model_choice.ceiling", ranking.front().tightest.tflops);
  facts.counted("tuning.model_top10.lowest_ceiling",
                ranking[std::min<std::size_t>(10, ranking.size()) - 1].tightest.tflops);
  const std::vector<std::string> keys{"best.tflops",
                                      "model_choice.tflops",
                                      "model_choice.rank",
                                      "rank_correlation",
                                      "within5",
                                      "within10",
                                      "best.model_rank",
                                      "pruned.best.tflops",
                                      "pruned.by_bound.best.tflops",
                                      "pruned.timed",
                                      "model_top10.best.tflops",
                                      "model_top10.worst.tflops",
                                      "register_error",
                                      "median.tflops",
                                      "worst.tflops"};
  if (tuning == nullptr || std::any_of(ranking.begin(), ranking.end(), [](auto& r) { return r.timed == nullptr; })) {
    for (const std::string& key : keys) facts.not_yet_measured("tuning." + key);
    for (const char* key : {"best", "pruned.best", "pruned.best.reason"})
      facts.not_yet_measured(std::string("tuning.") + key);
    for (const Ranked& r : ranking)
      for (const char* what : {".tflops", ".registers", ".blocks"}) {
        std::string key = "tuning.at." + r.candidate->kernel.name + what;
        std::replace(key.begin(), key.end(), ' ', '_');
        facts.not_yet_measured(key);
      }
    return;
  }
  const auto ordered = by_measurement(ranking);
  std::vector<double> ceiling, measured;
  double register_error = 0;
  for (const Ranked& r : ranking) {
    ceiling.push_back(r.tightest.tflops);
    measured.push_back(r.tflops());
    register_error =
        std::max(register_error, std::abs(r.timed->at("registers").get<double>() - r.candidate->registers));
  }
  const auto rank_in = [](const std::vector<Ranked>& list, const Candidate* candidate) {
    return double(std::find_if(list.begin(), list.end(), [&](auto& r) { return r.candidate == candidate; }) -
                  list.begin() + 1);
  };
  const double best = ordered.front().tflops();
  const auto within = [&](double share) {
    return double(std::count_if(measured.begin(), measured.end(), [&](double t) { return t >= (1 - share) * best; }));
  };
  facts.text("tuning.best", "measured", ordered.front().candidate->kernel.name);
  facts.measured("tuning.best.tflops", best, 1);
  facts.measured("tuning.best.model_rank", rank_in(ranking, ordered.front().candidate), 0);
  facts.measured("tuning.model_choice.tflops", ranking.front().tflops(), 1);
  facts.measured("tuning.model_choice.rank", rank_in(ordered, ranking.front().candidate), 0);
  facts.measured("tuning.rank_correlation", rank_correlation(ceiling, measured), 2);
  facts.measured("tuning.within5", within(0.05), 0);
  facts.measured("tuning.within10", within(0.10), 0);
  facts.measured("tuning.median.tflops", ordered[ordered.size() / 2].tflops(), 1);
  facts.measured("tuning.worst.tflops", ordered.back().tflops(), 1);
  facts.measured("tuning.register_error", register_error, 0);
  const std::vector<Ranked> top(ranking.begin(), ranking.begin() + std::min<std::ptrdiff_t>(10, std::ssize(ranking)));
  facts.measured("tuning.model_top10.best.tflops", by_measurement(top).front().tflops(), 1);
  facts.measured("tuning.model_top10.worst.tflops", by_measurement(top).back().tflops(), 1);
  for (const Ranked& r : ranking) {
    std::string key = "tuning.at." + r.candidate->kernel.name;
    std::replace(key.begin(), key.end(), ' ', '_');
    facts.measured(key + ".tflops", r.tflops(), 1);
    facts.measured(key + ".registers", r.timed->at("registers").get<double>(), 0);
    facts.measured(key + ".blocks", r.timed->at("blocks_per_sm").get<double>(), 0);
  }
  double pruned = 0, by_bound = 0, timed = 0;
  std::string name = "none timed", reason = "none timed";
  for (const Record& t : tuning->at("candidates")) {
    if (t["pruned"].get<std::string>().empty()) continue;
    ++timed;
    if (t["tflops"] > pruned) pruned = t["tflops"], name = t["name"], reason = t["pruned"];
    if (t["pruned"] == "bound") by_bound = std::max(by_bound, t["tflops"].get<double>());
  }
  facts.measured("tuning.pruned.timed", timed, 0);
  facts.measured("tuning.pruned.best.tflops", pruned, 1);
  facts.measured("tuning.pruned.by_bound.best.tflops", by_bound, 1);
  facts.text("tuning.pruned.best", "measured", name);
  facts.text("tuning.pruned.best.reason", "measured", reason);
}

/// For plots: parameters, ceiling, measurement and resident warps of every candidate that is left, the fastest first.
void emit_landscape(const std::vector<Ranked>& ranking, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "landscape.tsv");
  for (const Ranked& r : by_measurement(ranking)) {
    out << r.candidate->kernel.name;
    for (const auto& [key, value] : r.candidate->parameters) out << '\t' << value;
    const int blocks = r.timed == nullptr ? 0 : r.timed->at("blocks_per_sm").get<int>();
    out << fmt::format("\t{:.3f}\t{:.3f}\t{}\n", r.tightest.tflops, r.tflops(),
                       blocks * r.candidate->kernel.block_threads / 32);
  }
}

void merge(const Options& options) {
  const auto into = [](const std::vector<std::filesystem::path>& files, auto&& add) {
    if (files.empty()) return;
    Record record = load_record(files[0]);
    add(record, files[1]);
    save_record(files[0], record);
  };
  into(options.add_counters, [](Record& r, const auto& file) { add_counters(r, file, "counters"); });
  into(options.add_profile, [&](Record& r, const auto& file) {
    const bool padded = options.problem && options.problem->pad != 0;
    add_counters(r, file, padded ? profile_with_pad(options.problem->pad) : "profile");
    if (options.problem) r["profiled_size"] = options.problem->M;
  });
  into(options.add_sass, [](Record& r, const auto& file) { add_sass(r, file); });
  if (!options.add_registers.empty()) {
    Record record = load_record(options.add_registers[0]);
    add_registers(record, options.add_registers[1], options.add_registers[2]);
    save_record(options.add_registers[0], record);
  }
}

// Puts a finished record where the chapter keeps those of its GPU.
void keep(const std::filesystem::path& finished) {
  const Record record = load_record(finished);
  const auto file = record_file(chapter_directory(), "measured", record["gpu"]);
  save_record(file, record);
  fmt::print("wrote {}\n", std::filesystem::proximate(file).string());
}

}  // namespace

bool has_tag(const simt::Site& site, std::string_view tag) {
  const auto it = tags().find(site.line);
  return it != tags().end() && it->second == tag;
}

const simt::Site& site(const simt::Counts& counts, std::string_view tag) {
  const simt::Site* found = nullptr;
  for (const simt::Site& s : counts.sites) {
    if (!has_tag(s, tag)) continue;
    if (found != nullptr) throw std::out_of_range(fmt::format("more than one access site is tagged {}", tag));
    found = &s;
  }
  if (found == nullptr) throw std::out_of_range(fmt::format("no access site is tagged {}", tag));
  return *found;
}

std::string bank_conflict(const simt::Counts& counts, std::string_view tag) {
  const simt::Site& where = site(counts, tag);
  const auto index = std::size_t(&where - counts.sites.data());
  const auto sample = std::find_if(counts.samples.begin(), counts.samples.end(),
                                   [&](const simt::Sample& s) { return s.site == index; });
  if (sample == counts.samples.end()) throw std::out_of_range(fmt::format("{}: no access was sampled", tag));
  simt::WarpAccess access{.size = where.width};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (sample->byte_offset[lane] < 0) continue;
    access.active |= 1u << lane;
    access.address[lane] = std::uint64_t(sample->byte_offset[lane]);
  }
  const std::string conflict = bank_conflict(access, where.op == simt::Op::load);
  if (conflict.empty()) return "";
  return fmt::format("{}, {}:{}, {}: {}", counts.kernel, where.file.substr(where.file.rfind('/') + 1), where.line, tag,
                     conflict);
}

double freivalds_deviation(Launcher, const Case&) {
  throw std::logic_error("freivalds_deviation runs on a GPU; on the model use check()");
}

int run_chapter(const Options& options) {
  const Chapter& chapter = this_chapter();
  if (options.bench) throw std::runtime_error("--bench times kernels and needs a GPU");
  if (options.tune || options.tune_pruned)
    throw std::runtime_error("--tune times kernels and needs a GPU; without options the program ranks by ceilings");
  if (options.check_records) return check_records();
  if (options.merges()) {
    merge(options);
    return 0;
  }
  if (!options.keep.empty()) {
    keep(options.keep);
    return 0;
  }

  const bool emitting = !options.emit.empty();
  const Case problem = options.problem.value_or(chapter.counted);
  std::vector<CountedKernel> kernels;
  if (!chapter.kernels.empty()) require_countable(problem);
  const auto chosen = chosen_kernels(options);
  if (options.once) {
    Operands operands(problem);
    for (const Kernel& kernel : chosen)
      for (int i = 0; i < options.repeat; ++i) kernel.launch(operands.gemm());
    return 0;
  }
  if (!emitting && options.record.empty()) fmt::print("on: {}\n", machine::description());
  simt::Trace trace;
  trace.keep_touches = emitting;
  trace.sample_block = {1, 1, 0};
  for (const Kernel& kernel : chosen) {
    if (!emitting) std::fflush(stdout);
    kernels.push_back({kernel, problem, count(kernel.launch, problem, trace)});
    if (!emitting) kernels.back().untraced_seconds = untraced_seconds(kernel, problem);
  }

  std::vector<Record> records = load_records(chapter_directory());
  const std::size_t recorded = records.size();
  if (!options.record.empty()) records.push_back(load_record(options.record));

  const std::vector<Record> tunings = load_tunings();
  const Record* const tuned = tunings.empty() ? nullptr : &tunings.front();
  const std::vector<Ranked> ranking = rank_by_ceilings(tuned);
  std::vector<CandidateCeiling> ceilings_left;
  for (const Ranked& r : ranking) ceilings_left.push_back({r.candidate, r.tightest.tflops});
  std::vector<Timed> timed;
  if (std::all_of(ranking.begin(), ranking.end(), [](auto& r) { return r.timed != nullptr; }) && tuned != nullptr)
    timed = timed_with_costs(*tuned, chapter.costs);
  const std::vector<Observed> left = observed(ceilings_left, timed);

  std::vector<Table> tables;
  if (!ranking.empty()) tables.push_back(table_of_tuning(ranking, tunings));
  if (!chapter.costs.empty()) tables.push_back(table_of_fits(left));
  for (const CountedKernel& k : kernels) tables.push_back(table_of_sites(k));
  if (!kernels.empty()) {
    if (!chapter.sizes.empty()) tables.push_back(table_of_ceilings(kernels, records, size_of_profile(records)));
    tables.push_back(table_of_counters(kernels, records));
    tables.push_back(table_of_profile(kernels, records));
    tables.push_back(table_of_stalls(kernels, records));
  }
  if (!chapter.rates.empty()) {
    Table rates{"rates", "Rates of the GPU", {"rate"}, {}};
    for (const Record& record : records)
      rates.header.push_back(record["gpu"].get<std::string>() + ", " + record["date"].get<std::string>());
    for (const Chapter::Rate& rate : chapter.rates) {
      std::vector<std::string> row{rate.label};
      for (const Record& record : records)
        row.push_back(record["rates"].contains(rate.name) ? format_number(record["rates"][rate.name].get<double>())
                                                          : "not yet measured");
      rates.rows.push_back(row);
    }
    tables.push_back(rates);
  }
  if (!chapter.kernels.empty()) tables.push_back(table_of_runs(chosen, records, records.size() - recorded));

  if (!emitting) {
    for (const Table& table : tables) table.print();
    if (options.lines) print_lines(kernels);
    for (const CountedKernel& k : kernels) {
      double accesses = 0;
      for (const auto& s : k.counts.sites) accesses += double(s.accesses);
      fmt::print(
          "{}model: {:10} {:>14} accesses  traced {:6.2f} s ({:.0f} million/s)  untraced {:6.2f} s  {} host threads\n",
          &k == &kernels.front() ? "\n" : "", k.kernel.name, format_number(accesses), k.counts.seconds,
          accesses / k.counts.seconds * 1e-6, k.untraced_seconds, simt::host_threads());
    }
    return 0;
  }

  Facts facts;
  if (chapter.predict != nullptr) chapter.predict(facts);
  const Rates rates = reference_rates();
  for (const CountedKernel& k : kernels) {
    add_counted_facts(facts, k);
    for (const int size : chapter.sizes) add_ceiling_facts(facts, k, size, records, rates);
  }
  facts.counted("problem", problem.M);
  add_measured_facts(facts, records.empty() ? nullptr : &records.front());
  if (!ranking.empty()) add_tuning_facts(facts, ranking, tuned);
  if (!chapter.costs.empty()) add_explanation_facts(facts, left, timed);
  std::filesystem::create_directories(options.emit);
  if (!ranking.empty()) emit_landscape(ranking, options.emit);
  if (!chapter.costs.empty()) {
    auto fit_file = open_for_writing(options.emit / "fit.tsv");
    write_predictions(fit_file, left, timed);
  }
  auto facts_file = open_for_writing(options.emit / "facts.tsv");
  facts.write(facts_file);
  emit_lines(kernels, options.emit);
  emit_traces(kernels, options.emit);
  emit_intervals(kernels, options.emit);
  emit_above(kernels, records, options.emit);
  for (const Table& table : tables) table.write(options.emit / ("table-" + table.name + ".tsv"));
  return 0;
}

}  // namespace tile
