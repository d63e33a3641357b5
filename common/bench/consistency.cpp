#include "common/bench/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/bench/gpu.hpp"
#include "common/bench/findings.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/run.hpp"
#include "common/bench/run_consistency.hpp"

namespace tile {
namespace {

constexpr int fewest_repetitions = 20, fewest_of_a_sweep = 5;

/// The GPU of a record, as far as occupancy needs it.
GpuSpec gpu_of(const Record& record) {
  const Record& sm = record.at("sm");
  return {"",
          record.at("sms"),
          h200.fma_lanes,
          record.at("clock_hz").get<double>() * 1e-9,
          0,
          sm.at("registers"),
          sm.at("shared_bytes"),
          sm.at("reserved_shared"),
          sm.at("threads"),
          sm.at("blocks"),
          0};
}

// A rate is positive. Where several rounds gave one, NAME, its record may have NAME.low and NAME.high too: these enclose it, and
// of a difference the lowest may lie below zero.
void check_rates(Findings& findings, const Record& rates) {
  for (const auto& [name, value] : rates.items()) {
    const std::string of = name.substr(0, name.rfind('.')), end = name.substr(of.size());
    if (end == ".low" && rates.contains(of))
      findings.within("rate " + name, value, -1e9, rates.at(of), "of " + of + " the lowest");
    else if (end == ".high" && rates.contains(of))
      findings.within("rate " + name, value, rates.at(of), 1e9, "of " + of + " the highest");
    else
      findings.within("rate " + name, value, 1e-9, 1e9, "a rate is positive");
  }
}

void check_gpu(Findings& findings, const Record& record) {
  const GpuSpec gpu = gpu_of(record);
  if (record.at("gpu") == reference_gpu) {
    findings.equal("sms", gpu.sms, "an H200 has", h200.sms);
    findings.equal("clock_hz", gpu.clock_ghz, "an H200 has", h200.clock_ghz);
    findings.equal("sm.registers", gpu.registers, "an H200 has", h200.registers);
    findings.equal("sm.shared_bytes", gpu.shared_bytes, "an H200 has", h200.shared_bytes);
    findings.equal("sm.reserved_shared", gpu.reserved_shared, "an H200 has", h200.reserved_shared);
    findings.equal("sm.threads", gpu.max_threads, "an H200 has", h200.max_threads);
    findings.equal("sm.blocks", gpu.max_blocks, "an H200 has", h200.max_blocks);
  }
  for (const char* when : {"clocks_before", "clocks_after"}) {
    if (!record.contains(when)) continue;  // a tuning has none
    const Record& clocks = record.at(when);
    findings.within(fmt::format("{}.sm_mhz", when), clocks.at("sm_mhz"), 0, gpu.clock_ghz * 1e3, "clock_hz");
    findings.within(fmt::format("{}.temperature_c", when), clocks.at("temperature_c"), 0, 120,
                    "a GPU shuts down above");
  }
  check_rates(findings, record.at("rates"));
}

void check_launch(Findings& findings, const Record& kernel, const GpuSpec& gpu) {
  const int threads = kernel.at("block_threads"), registers = kernel.at("registers");
  const int shared = kernel.at("static_shared").get<int>() + kernel.at("dynamic_shared").get<int>();
  findings.within("block_threads", threads, 1, 1024, "a block's threads");
  findings.within("registers", registers, 1, 255, "a thread's registers");
  findings.within("spill_bytes", kernel.at("spill_bytes"), 0, 512 * 1024, "a thread's local memory");
  if (threads < 1) return;
  findings.equal(
      "blocks_per_sm", kernel.at("blocks_per_sm"),
      fmt::format("{} registers, {} threads and {} bytes of shared memory allow", registers, threads, shared),
      occupancy(gpu, threads, registers, shared).blocks);
}

void check_registers(Findings& findings, const Record& kernel) {
  for (const char* group : {"counters", "profile"})
    if (kernel.contains(group))
      findings.equal("registers", kernel.at("registers"), fmt::format("{} of its {} is", metric("registers"), group),
                     kernel.at(group).at(metric("registers")));
}

// Besides counts of opcodes, a tally of machine code has these.
bool is_tally_of_operands(const std::string& name) {
  return name == "reuse" || name == "bank_cycles" || name == "issue_cycles" || name.starts_with("ffma_reads_");
}

// ... and that of a loop, unless the record is older, where instructions of a kind stand.
constexpr std::array kinds_with_places{"ldg", "copy", "sts", "bar"};
bool is_place(const std::string& name) {
  return std::any_of(kinds_with_places.begin(), kinds_with_places.end(),
                     [&](const std::string& kind) { return name == kind + "_first" || name == kind + "_last"; });
}

void check_places(Findings& findings, const Record& loop) {
  for (const std::string kind : kinds_with_places) {
    const std::string first = kind + "_first", last = kind + "_last";
    if (loop.contains(first) != loop.contains(last))
      findings.add(fmt::format("sass_loop has only one of {} and {}", first, last));
    else if (loop.contains(first)) {
      findings.within("sass_loop." + first, loop.at(first), 0, loop.at(last), "the last does not stand before it");
      findings.within("sass_loop." + last, loop.at(last), 0, loop.value("FFMA", 0.0),
                      "it stands among the loop's FFMA");
    }
  }
}

void check_machine_code(Findings& findings, const Record& kernel) {
  if (!kernel.contains("sass")) return;
  const Record &whole = kernel.at("sass"), &loop = kernel.at("sass_loop");
  for (const char* group : {"sass", "sass_loop"}) {
    double sum = 0;
    for (const auto& [opcode, count] : kernel.at(group).items())
      if (!is_tally_of_operands(opcode) && !is_place(opcode) && opcode != "all") sum += count.get<double>();
    findings.equal(fmt::format("{}.all", group), kernel.at(group).at("all"), "the opcodes add up to", sum);
    findings.within(fmt::format("{}.reuse", group), kernel.at(group).at("reuse"), 0, 3 * sum,
                    "an instruction has at most three operands to reuse");
    const Record& tally = kernel.at(group);
    findings.within(fmt::format("{}: the registers that FFMA read", group),
                    tally.at("ffma_reads_even").get<double>() + tally.at("ffma_reads_odd").get<double>(), 0,
                    3 * tally.value("FFMA", 0.0), "an FFMA has three operands");
    findings.within(fmt::format("{}.bank_cycles", group), tally.at("bank_cycles").get<double>(), sum, 3 * sum,
                    "an instruction takes one to three cycles of a bank");
    if (tally.contains("issue_cycles"))  // older records do not have it
      findings.within(fmt::format("{}.issue_cycles", group), tally.at("issue_cycles").get<double>(), sum, 3 * sum,
                      "an instruction is issued in one to three cycles");
  }
  double local = 0;
  for (const auto& [opcode, count] : whole.items())
    if (opcode.starts_with("LDL") || opcode.starts_with("STL")) local += count.get<double>();
  if (const double spills = kernel.at("spill_bytes"); (spills > 0) != (local > 0))
    findings.add(fmt::format("spill_bytes is {}, but the instructions on local memory are {}", spills, local));
  check_places(findings, loop);
  for (const auto& [opcode, count] : loop.items())
    if (!is_place(opcode))
      findings.within("sass_loop." + opcode, count, 0, whole.value(opcode, 0.0), "the whole function has no more");
  findings.within("sass_loop.FFMA", loop.value("FFMA", 0.0), whole.value("FFMA", 0.0) / 3, whole.value("FFMA", 0.0),
                  "the main loop is the one with at least a third of them");
}

// The averages that ncu gives have two decimals.
constexpr double rounding = 0.005;

void check_profile(Findings& findings, const Record& kernel, const GpuSpec& gpu, const Record& record) {
  if (!kernel.contains("profile")) return;
  const Record& profile = kernel.at("profile");
  const auto value = [&](const std::string& metric) { return profile.at(metric).get<double>(); };

  // Every product of the sum is one FFMA of one thread; tiles that overhang the matrix may add a few.
  const double size = record.at("profiled_size"), products = size * size * size;
  const std::string ffma = metric("ffma"), all = metric("instructions");
  findings.within(ffma, value(ffma), products, 1.125 * products, fmt::format("MNK at {}", size));
  findings.within(all, value(all), value(ffma) / 32, 1e18, "a warp-wide instruction has at most 32 FFMA");

  for (const auto& [metric, average] : profile.items()) {
    const std::string average_of_units = ".avg.per_cycle_active";
    if (!metric.ends_with(average_of_units)) continue;
    const std::string name = metric.substr(0, metric.size() - average_of_units.size());
    const double units = gpu.sms * (name.starts_with("smsp") ? 4 : 1), sum = value(name + ".sum.per_cycle_active");
    findings.within(metric, average, value(name + ".min.per_cycle_active"), value(name + ".max.per_cycle_active"),
                    "its minimum and maximum");
    const double error = rounding + rounding / units;  // of the average, and of the sum
    findings.within(metric, average, sum / units - error, sum / units + error,
                    fmt::format("its sum {} over {} units", sum, units));
  }

  const double issued = value(metric("issue_active"));
  const double warps = value(metric("warps"));
  const double resident =
      kernel.at("blocks_per_sm").get<double>() * ((kernel.at("block_threads").get<int>() + 31) / 32);
  findings.within(metric("issue_active"), issued, 0, 1, "a scheduler issues one a cycle");
  // ncu reads the two counters of an average in passes of their own, which differ by less than a percent.
  findings.within(metric("warps"), warps, 0, 1.01 * resident / 4 + rounding, "blocks_per_sm allow");
  double waiting = 0;
  for (const auto& [metric, ratio] : profile.items())
    if (is_stall_metric(metric)) {
      findings.within(metric, ratio, 0, 1e3, "an average of warps");
      waiting += ratio.get<double>();
    }
  findings.within("the sum of the waiting warps", waiting, 0,
                  1.01 * (warps + rounding) / std::max(issued - rounding, rounding),
                  "warps active per instruction issued");
  const std::string latency = metric("latency");
  if (profile.contains(latency))
    findings.within("the sum of the waiting warps", waiting, 0.98 * value(latency) - 0.1, 1.02 * value(latency) + 0.1,
                    "the reasons for waiting make up a warp's latency");
  const std::string hits = metric("l1_hit");
  findings.within(hits, value(hits), 0, 100, "a percentage");
  // Instructions over (schedulers x issue rate x time) is the clock, which boost cannot exceed.
  const double nanoseconds = value(metric("duration"));
  if (const Record* run = find_run(record, kernel.at("name"), int(size)))
    findings.within(metric("duration"), nanoseconds, 0.8e6 * run->at("median_ms").get<double>(),
                    1.2e6 * run->at("median_ms").get<double>(), "a fifth less or more than median_ms");
  const double fastest = gpu.clock_ghz * 1e9 * 4 * gpu.sms * (issued + rounding) * nanoseconds * 1e-9;
  findings.within(all, value(all), 0, fastest, "more cannot be issued in gpu__time_duration.sum at that rate");
}

void check_runs(Findings& findings, const Record& kernel, const GpuSpec& gpu, int fewest) {
  for (const Record& run : kernel.at("runs")) {
    findings.about(fmt::format("{} at {} x {} x {}", kernel.at("name").get<std::string>(), run.value("M", 0),
                               run.value("N", 0), run.value("K", 0)));
    findings.all_of([&] { check_run(findings, run, fewest); });
    findings.all_of([&] { findings.within("tflops", run.at("tflops"), 0, gpu.peak_tflops(), "the peak"); });
  }
}

void check_kernel(Findings& findings, const Record& kernel, const GpuSpec& gpu, const Record& record) {
  const std::string name = kernel.at("name");
  findings.about(name);
  findings.unique(name);
  findings.all_of([&] { check_launch(findings, kernel, gpu); });
  findings.all_of([&] { check_registers(findings, kernel); });
  findings.all_of([&] { check_machine_code(findings, kernel); });
  findings.all_of([&] { check_profile(findings, kernel, gpu, record); });
  check_runs(findings, kernel, gpu, fewest_repetitions);
}

}  // namespace

std::vector<std::string> contradictions(const Record& record) {
  std::vector<std::string> lines;
  Findings findings(lines);
  findings.about("the GPU");
  findings.all_of([&] {
    check_gpu(findings, record);
    const GpuSpec gpu = gpu_of(record);
    for (const Record& kernel : record.at("kernels")) check_kernel(findings, kernel, gpu, record);
  });
  const Record others = record.value("other_kernels", Record::object());
  for (const auto& [name, kernel] : others.items()) {
    findings.about(name);
    findings.all_of([&] {
      if (kernel.contains("counters") && kernel.contains("profile"))
        findings.equal(fmt::format("{} of its counters", metric("registers")),
                       kernel.at("counters").at(metric("registers")), "of its profile it is",
                       kernel.at("profile").at(metric("registers")));
    });
  }
  for (const char* group : {"counters", "sass"}) {  // a profile may be of some kernels: it takes long
    const auto& kernels = record.at("kernels");
    const auto with = std::count_if(kernels.begin(), kernels.end(), [&](auto& k) { return k.contains(group); });
    findings.about("the kernels");
    findings.equal(fmt::format("number of those with {}", group), double(with), "either none has them, or",
                   with == 0 ? 0 : double(kernels.size()));
  }
  return lines;
}

std::vector<std::string> contradictions_of_tuning(const Record& tuning) {
  std::vector<std::string> lines;
  Findings findings(lines);
  findings.about("the tuning");
  findings.all_of([&] {
    check_gpu(findings, tuning);
    const GpuSpec gpu = gpu_of(tuning);
    const double size = tuning.at("size");
    const Record* fastest = nullptr;
    for (const Record& candidate : tuning.at("candidates")) {
      findings.about(candidate.at("name"));
      findings.unique(candidate.at("name"));
      findings.all_of([&] { check_launch(findings, candidate, gpu); });
      findings.equal("tflops", candidate.at("tflops"), "2MNK / median_ms is",
                     tflops_of(size, size, size, candidate.at("median_ms")));
      findings.within("tflops", candidate.at("tflops"), 0, gpu.peak_tflops(), "the peak");
      if (fastest == nullptr || candidate.at("tflops") > fastest->at("tflops")) fastest = &candidate;
    }
    findings.about("the tuning");
    if (fastest != nullptr && fastest->at("name") != tuning.at("chosen"))
      findings.add(fmt::format("chosen is {}, but the fastest is {}", tuning.at("chosen").get<std::string>(),
                               fastest->at("name").get<std::string>()));
  });
  return lines;
}

std::vector<std::string> contradictions_of_sweep(const Record& sweep) {
  std::vector<std::string> lines;
  Findings findings(lines);
  findings.about("the sweep");
  findings.all_of([&] {
    check_gpu(findings, sweep);
    const GpuSpec gpu = gpu_of(sweep);
    findings.equal("number of kernels", double(sweep.at("kernels").size()), "a sweep has", 1);
    const Record& kernel = sweep.at("kernels").at(0);
    findings.about(kernel.at("name"));
    if (kernel.contains("function")) findings.all_of([&] { check_launch(findings, kernel, gpu); });
    for (const Record& run : kernel.at("runs"))
      findings.unique(fmt::format("{} x {} x {}", run.value("M", 0), run.value("N", 0), run.value("K", 0)));
    check_runs(findings, kernel, gpu, fewest_of_a_sweep);
  });
  return lines;
}

}  // namespace tile
