// All facts of a chapter's program: predicted, counted and measured, in the order of the sections below. Numbers taken
// from a record are rows of a table of Field; those that need arithmetic follow the table.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "common/bench/counters.hpp"
#include "common/bench/gpu.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/check/repository.hpp"
#include "common/check/traced.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();  // propagates through arithmetic

int sms_of(const Record* record) { return record == nullptr ? 0 : record->at("sms").get<int>(); }

// ---- Counts of the model

void add_site_facts(Facts& facts, const std::string& key, const simt::Site& s) {
  const double requests = double(s.requests);
  const auto per_request = [&](const char* name, std::uint64_t number) {
    facts.counted(key + name, double(number) / requests);
  };
  facts.counted(key + "requests", requests);
  if (s.space == simt::Space::global) {
    facts.counted(key + "sectors", double(s.sectors));
    per_request("sectors_per_request", s.sectors);
    per_request("lines_per_request", s.lines);
    per_request("l1_wavefronts_per_request", s.l1_wavefronts);
    facts.counted(key + "used_percent", 100.0 * double(s.bytes()) / (32.0 * double(s.sectors)));
  } else {
    facts.counted(key + "wavefronts", double(s.wavefronts));
    per_request("wavefronts_per_request", s.wavefronts);
  }
}

// Elements of A and B that one multiply-add loads from one space.
double loads_per_result(const CountedKernel& k, simt::Space space, double fmas) {
  double loads = 0;
  for (const simt::Site& s : k.counts.sites)
    if (s.space == space && s.op == simt::Op::load && s.array != "C") loads += double(s.accesses);
  return loads / (32 * fmas);
}

void add_counted_facts(Facts& facts, const CountedKernel& k) {
  const std::string name = k.kernel.name + ".";
  const double fmas = double(k.problem.M) * k.problem.N * k.problem.K / 32;  // warp-wide
  for (const simt::Site& s : k.counts.sites)
    if (const std::string tag = tag_of(s); !tag.empty()) add_site_facts(facts, name + tag + ".", s);
  for (const Counter& counter : counters()) facts.counted(name + counter.key, double(tally(k.counts, counter)));
  const Work own = work_of(k.counts, k.problem);
  facts.counted(name + "lines_per_fma", own.lines / fmas);
  facts.counted(name + "l1_cycles_per_fma", own.l1_cycles / fmas);
  facts.counted(name + "wavefronts_per_fma", own.wavefronts / fmas);
  facts.counted(name + "global_loads_per_fma", double(tally(k.counts, counters()[0])) / fmas);
  facts.counted(name + "shared_loads_per_fma", double(tally(k.counts, counters()[4])) / fmas);
  const double shared_loads = loads_per_result(k, simt::Space::shared, fmas);
  facts.text(name + "loads_per_result.global", "counted",
             multiple_of_K(loads_per_result(k, simt::Space::global, fmas)));
  facts.text(name + "loads_per_result.shared", "counted", multiple_of_K(shared_loads));
  if (shared_loads > 0) facts.counted(name + "fmas_per_shared_load", 1 / shared_loads);
  facts.counted(name + "barriers", double(k.counts.barriers));
  facts.counted(name + "shared_bytes", double(k.counts.static_shared_bytes + k.counts.dynamic_shared_bytes));
}

// Facts `<prefix><resource>` of each ceiling ("register banks" -> "register"), and of the tightest.
void add_ceilings(Facts& facts, const std::string& prefix, const std::string& kind, const std::vector<Ceiling>& found) {
  const auto give = [&](const std::string& key, double tflops) {
    if (kind == "counted")
      facts.counted(prefix + key, tflops);
    else
      facts.measured(prefix + key, tflops);
  };
  for (const Ceiling& c : found) {
    std::string resource = c.resource.substr(0, c.resource.find(' '));
    for (char& ch : resource) ch = char(std::tolower(static_cast<unsigned char>(ch)));
    give(resource, c.tflops);
  }
  give("tightest", found.front().tflops);
  facts.text(prefix + "resource", kind, found.front().resource);
}

// Facts `<kernel>.<size>.ceiling.*`, `.compiled.*` and `.intensity.*`, for a size that the kernel's tiles divide.
void add_ceiling_facts(Facts& facts, const CountedKernel& k, int size, const std::vector<Record>& records,
                       const Rates& rates) {
  const Case at = cube(k.kernel, size);
  const auto work = work_at(at, k);
  if (!work) return;
  const std::string prefix = fmt::format("{}.{}.", k.kernel.name, size);
  if (const auto compiled = work_as_compiled_at(at, k, records)) {
    add_ceilings(facts, prefix + "compiled.", "measured", ceilings(*compiled, rates));
  } else {
    for (const char* key : {"ffma", "issue", "register", "l1", "banks", "l2", "dram", "tightest", "resource"})
      facts.not_yet_measured(prefix + "compiled." + key);
  }
  facts.counted(prefix + "intensity.sm", work->flops / work->requested_bytes);
  facts.counted(prefix + "intensity.l2", work->flops / work->l2_bytes);
  facts.counted(prefix + "intensity.dram", work->flops / work->dram_bytes);
  add_ceilings(facts, prefix + "ceiling.", "counted", ceilings(*work, rates));
}

// ---- Measurements: the GPU itself, rates, and for each kernel counters, profile, machine code and times

void add_gpu_facts(Facts& facts, const Record* record) {
  for (const char* field : {"gpu", "date", "driver", "cuda"})
    facts.text(field, "measured", record == nullptr ? pending : text_at(*record, field));
}

void add_rate_facts(Facts& facts, const Record* record) {
  std::string unit;
  for (const Chapter::Rate& rate : this_chapter().rates) {
    const std::string key = "rates." + rate.name;
    if (!rate.label.starts_with("the same")) unit = unit_of_label(rate.label);
    if (const auto value = number_at(record, "/rates/" + rate.name); !value)
      facts.not_yet_measured(key);
    else if (Fact& fact = facts.measured(key, *value); !unit.empty())
      fact.unit = unit;
  }
}

// `entry` is the kernel's entry in a record, or null.
void add_counter_facts(Facts& facts, const std::string& kernel, const Record* entry) {
  for (const Counter& counter : counters())
    add_measured(facts, fmt::format("{}.ncu.{}", kernel, counter.key),
                 number_at(entry, std::string("/counters/") + counter.key), 0);
  const Counter& stores = *std::ranges::find(counters(), std::string("shared_store_wavefronts"), &Counter::key);
  const auto range = part_of(entry, "counters") != nullptr ? measured(*entry, stores) : std::nullopt;
  add_measured(facts, kernel + ".ncu.shared_store_wavefronts.low", range ? range->low : unknown, 0);
  add_measured(facts, kernel + ".ncu.shared_store_wavefronts.high", range ? range->high : unknown, 0);
}

/// From a record: the instructions of a kernel or its main loop, by opcode, and its profile, if any.
struct MachineCode {
  const Record* tally;
  const Record* profile;

  double operator()(const std::string& opcode) const { return tally->value(opcode, 0); }
  double if_known(const std::string& key) const { return tally->value(key, unknown); }
  double beginning_with(const std::string& begin) const {
    int sum = 0;
    for (const auto& [opcode, number] : tally->items())
      if (opcode.starts_with(begin)) sum += number.get<int>();
    return sum;
  }
  double profiled(const char* name) const { return profile == nullptr ? unknown : profile->value(name, unknown); }
  // The cycles of a warp for an iteration of the loop if its instructions take as long as the kernel's average. A
  // quotient of sums over all schedulers, because the profiler rounds averages to two digits.
  double iteration_cycles() const {
    return profiled(metric("all_warps")) / profiled(metric("all_issue_active")) * (*this)("all");
  }
};
struct MachineCodeFact {
  const char* key;
  int decimals;
  double (*value)(const MachineCode&);
};
const MachineCodeFact of_main_loop[] = {
    {"ffma_per_lds", -1, [](auto& n) { return n("FFMA") / (n("LDS") + n("LDS.64") + n("LDS.128")); }},
    {"reads_per_ffma", 2, [](auto& n) { return (n("ffma_reads_even") + n("ffma_reads_odd")) / n("FFMA"); }},
    {"busier_bank_per_ffma", 3,
     [](auto& n) { return std::max(n("ffma_reads_even"), n("ffma_reads_odd")) / n("FFMA"); }},
    {"bank_cycles_per_instruction", 3, [](auto& n) { return n("bank_cycles") / n("all"); }},
    {"issue_cycles", 0, [](auto& n) { return n.if_known("issue_cycles"); }},
    {"instructions_per_ffma", 3, [](auto& n) { return n("all") / n("FFMA"); }},
    {"issue_cycles_per_ffma", 3, [](auto& n) { return n.if_known("issue_cycles") / n("FFMA"); }},
    {"copies", 0, [](auto& n) { return n("MOV") + n("IMAD.MOV.U32"); }},
    {"local", 0, [](auto& n) { return n.beginning_with("LDL") + n.beginning_with("STL"); }},
    {"async_copies", 0, [](auto& n) { return n.beginning_with("LDGSTS"); }},
    {"never_executed", 0, [](auto& n) { return n.beginning_with("@!"); }},
    {"turn_cycles", 0, [](auto& n) { return n.iteration_cycles(); }}};

// Facts `<name>.sass.*` of the whole function and `<name>.sass_loop.*` of its main loop; `entry` may be null.
void add_machine_code_facts(Facts& facts, const std::string& name, const Record* entry) {
  for (const std::string group : {"sass", "sass_loop"}) {
    const MachineCode code{part_of(entry, group), part_of(entry, "profile")};
    const auto give = [&](const std::string& key, int decimals, auto&& value) {
      add_measured(facts, fmt::format("{}.{}.{}", name, group, key), code.tally == nullptr ? unknown : value(code),
                   decimals);
    };
    for (const std::string& opcode : tallied) give(opcode, 0, [&](auto& n) { return n(opcode); });
    if (group == "sass") continue;
    for (const MachineCodeFact& fact : of_main_loop) give(fact.key, fact.decimals, fact.value);
    for (const std::string instruction :  // how many FFMA precede it
         {"ldg_first", "ldg_last", "sts_first", "sts_last", "bar_first", "bar_last"}) {
      give(instruction, 0, [&](auto& n) { return n.if_known(instruction); });
      give(instruction + "_percent", 0, [&](auto& n) { return 100 * n.if_known(instruction) / n("FFMA"); });
    }
  }
}

const std::vector<Field> of_run{{"ms", "/median_ms"},
                                {"ms_low", "/low_ms"},  // the 10th percentile, and the 90th
                                {"ms_high", "/high_ms"},
                                {"tflops", "/tflops"},
                                {"cublas_tflops", "/cublas_tflops", 1},
                                {"ratio", "/ratio", 3},
                                {"ratio_low", "/ratio_low", 3},
                                {"ratio_high", "/ratio_high", 3},
                                {"percent_of_cublas", "/ratio", 1, 100}};
const std::vector<Field> of_stronger_baseline{{"lt_asked", "/lt_search/asked", 0},
                                              {"lt_suggested", "/lt_search/suggested", 0},
                                              {"lt_tflops", "/lt_tflops", 1},
                                              {"stronger_tflops", "/stronger_tflops", 1},
                                              {"stronger_ratio", "/stronger_ratio", 3},
                                              {"stronger_ratio_low", "/stronger_ratio_low", 3},
                                              {"stronger_ratio_high", "/stronger_ratio_high", 3}};
const std::vector<Field> of_clocks{
    {"lowest_mhz", "/clocks/sm_mhz/0", 0}, {"mhz", "/clocks/sm_mhz/1", 0}, {"highest_power_w", "/clocks/power_w/2", 0}};

// Facts `<kernel>.<problem>.*` for each problem that the chapter times.
void add_run_facts(Facts& facts, const std::string& kernel, const Record* record) {
  for (const Case& c : timed_problems()) {
    const Record* run = record == nullptr ? nullptr : find_run(*record, kernel, c.problem());
    const std::string name = fmt::format("{}.{}.", kernel, key_of(c.problem()));
    add_fields(facts, name, run, of_run);
    // the least that must be moved: A and B are read once, and C is written
    const Types types = std::ranges::find(this_chapter().kernels, kernel, &Kernel::name)->types;
    const double bytes = double(c.M) * c.K * double(size_of(types.A)) + double(c.K) * c.N * double(size_of(types.B)) +
                         double(c.M) * c.N * double(size_of(types.C));
    const auto ms = number_at(run, "/median_ms");
    add_measured(facts, name + "gbs", ms ? bytes * 1e-6 / *ms : unknown);
    add_measured(facts, name + "us", ms ? 1e3 * *ms : unknown, 1);
    if (this_chapter().baseline == Baseline::stronger) add_fields(facts, name, run, of_stronger_baseline);
    add_fields(facts, name, run, of_clocks);
  }
}

// Facts about a kernel of the chapter: machine code, counters, profile and times.
void add_kernel_facts(Facts& facts, const std::string& kernel, const Record* record) {
  const Record* const entry = record == nullptr ? nullptr : find_kernel(*record, kernel);
  add_fields(
      facts, kernel + ".", entry,
      {{"registers", "/registers", 0}, {"spill_bytes", "/spill_bytes", 0}, {"blocks_per_sm", "/blocks_per_sm", 0}});
  add_counter_facts(facts, kernel, entry);
  add_profile_facts(facts, kernel, part_of(entry, "profile"), sms_of(record));
  for (const int pad : this_chapter().profiled_pads)
    add_profile_facts(facts, fmt::format("{}+{}", kernel, pad), part_of(entry, fmt::format("profile+{}", pad)),
                      sms_of(record));
  add_machine_code_facts(facts, kernel, entry);
  add_run_facts(facts, kernel, record);
}

// Facts about a function that Chapter::profile runs in addition to the chapter's kernels.
void add_profiled_facts(Facts& facts, const Chapter::Profiled& profiled, const Record* record) {
  const Record* entry = nullptr;
  std::string function = pending;
  if (const Record* others = part_of(record, "other_kernels"))
    for (const auto& [name, kernel] : others->items())
      if (name.find(profiled.part_of_name) != std::string::npos && kernel.contains("counters")) {
        entry = &others->at(name);
        function = name;
      }
  facts.text(profiled.key + ".function", "measured", function);
  add_profile_facts(facts, profiled.key, part_of(entry, "profile"), sms_of(record));
  add_machine_code_facts(facts, profiled.key, entry);
  add_fields(facts, profiled.key + ".", entry,
             {{"registers", "/counters/registers", 0},
              {"profile.l2_sectors_written", "/profile/l2_sectors_written", 0},
              {"profile.dram_read_mb", "/profile/dram_read", -1, 1e-6},
              {"profile.dram_written_mb", "/profile/dram_written", -1, 1e-6}});
}

}  // namespace

std::optional<double> number_at(const Record* part, const std::string& pointer, double factor) {
  const Record::json_pointer path(pointer);
  if (part == nullptr || !part->contains(path)) return {};
  return part->at(path).get<double>() * factor;
}

const Record* part_of(const Record* part, const std::string& name) {
  return part != nullptr && part->contains(name) ? &part->at(name) : nullptr;
}

void add_measured(Facts& facts, const std::string& key, std::optional<double> value, int decimals, Place place) {
  if (value && std::isfinite(*value))
    facts.measured(key, *value, decimals, place);
  else
    facts.not_yet_measured(key, place);
}

void add_fields(Facts& facts, const std::string& prefix, const Record* part, const std::vector<Field>& fields,
                Place place) {
  for (const auto& [key, pointer, decimals, factor] : fields)
    add_measured(facts, prefix + key, number_at(part, pointer, factor), decimals, place);
}

void add_profile_facts(Facts& facts, const std::string& name, const Record* profile, int sms) {
  const auto give = [&](const std::string& key, std::optional<double> number, int decimals = -1) {
    add_measured(facts, name + ".profile." + key, number, decimals);
  };
  for (const ProfileMetric& m : profile_metrics)
    give(m.key, number_at(profile, std::string("/") + m.metric, m.factor), m.decimals);
  const auto value = [&](const std::string& metric) { return number_at(profile, "/" + metric).value_or(unknown); };
  for (const Stall& stall : stalls) give(stall.name, value(stall.name), 2);             // as many as the profiler gives
  const double all = value(metric("instructions")), ffma = value(metric("ffma")) / 32;  // warp-wide
  // Per scheduler and cycle. The profiler rounds its average to two digits, and the sum over all schedulers likewise.
  const double issued = value(metric("all_issue_active")) / (GpuSpec::schedulers * sms);
  give("ffma_percent", 100 * ffma / all, 1);
  give("cycles_per_ffma", all / ffma / issued, 3);
  give("issued_percent", 100 * issued, 0);
  give("idle_percent", 100 - 100 * issued, 0);
  give("ffma_pipe_percent", 100 * issued * ffma / all, 1);
}

Facts facts_of(const Findings& found) {
  const Chapter& chapter = this_chapter();
  const Record* const record = first_of(found.records);
  Facts facts;
  if (chapter.predict != nullptr) chapter.predict(facts);
  const Rates rates = reference_rates();
  for (const CountedKernel& k : found.kernels) {
    add_counted_facts(facts, k);
    for (const int size : chapter.sizes) add_ceiling_facts(facts, k, size, found.records, rates);
  }
  facts.counted("problem", found.problem.M);
  add_gpu_facts(facts, record);
  add_rate_facts(facts, record);
  for (const Chapter::Profiled& profiled : chapter.profiled) add_profiled_facts(facts, profiled, record);
  for (const Kernel& kernel : chapter.kernels) add_kernel_facts(facts, kernel.name, record);
  return facts;
}

}  // namespace tile
