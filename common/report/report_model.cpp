// A chapter on the SIMT model: counts its kernels and puts predicted, counted and measured side by side. In: the options, the
// chapter, its records. Out: tables on stdout, or what the book needs in a directory.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "common/bench/gpu.hpp"
#include "common/bench/text.hpp"
#include "common/check/operands.hpp"
#include "common/check/traced.hpp"
#include "common/cuda/machine.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// With so many tiles along K a kernel's loop has begun, whatever it prefetches.
constexpr int tiles_of_pipelines = 4;

// The kernels alone, without counting.
double run_untraced(const Kernel& kernel, const Case& problem, int repeat = 1) {
  const BoundCase bound(kernel, problem);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; ++i) bound.kernel->run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<CountedKernel> count_kernels(const std::vector<Kernel>& kernels, const Case& problem, bool emitting) {
  simt::Trace trace;
  trace.keep_touches = emitting;
  trace.sample_block = {1, 1, 0};
  const bool ceilings_elsewhere = emitting || same_problem(problem, this_chapter().counted);
  std::vector<CountedKernel> counted;
  for (const Kernel& kernel : kernels) {
    if (!emitting) std::fflush(stdout);
    CountedKernel& k = counted.emplace_back(CountedKernel{kernel, problem, count(kernel, problem, trace)});
    const int shallow = std::max({1, problem.K / 4, tiles_of_pipelines * kernel.tile.BK});
    if (ceilings_elsewhere && shallow < problem.K) k.shallow = count_at_depth(kernel, problem, shallow);
    if (!emitting) k.untraced_seconds = run_untraced(kernel, problem);
  }
  return counted;
}

// Writes above.tsv: the kernels that were measured above a ceiling, of their source or of what nvcc made of it, and which.
void emit_above(const Findings& found, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "above.tsv");
  if (found.records.empty() || this_chapter().sizes.empty()) return;
  const int size = size_of_profile(found.records);
  const Rates rates = reference_rates();
  for (const CountedKernel& k : found.kernels) {
    const auto measured = number_at(find_run(found.records.front(), k.kernel.name, size), "/tflops");
    const auto compare = [&](const std::optional<Work>& work, const char* what) {
      if (!measured || !work) return;
      if (const Ceiling tightest = ceilings(*work, rates).front(); *measured > tightest.tflops)
        out << fmt::format("{0}\t{0}{1} was measured at {2} TFLOP/s, above its ceiling of {3} ({4})\n", k.kernel.name,
                           what, format_number(*measured), format_number(tightest.tflops), tightest.resource);
    };
    const Case at = cube(k.kernel, size);
    compare(work_at(at, k), "");
    compare(work_as_compiled_at(at, k, found.records), ", as compiled,");
  }
}

// The names that formulas on the chapter's page may use: its constants, and what is published of GPUs.
void emit_constants(const std::filesystem::path& directory) {
  auto constants = this_chapter().constants;
  if (constants.empty()) return;
  for (const auto& [name, gpu] : {std::pair{"h200", h200}, std::pair{"a6000", rtx_a6000}})
    for (const auto& [what, value] :
         std::initializer_list<std::pair<const char*, double>>{{"sms", gpu.sms},
                                                               {"clock_ghz", gpu.clock_ghz},
                                                               {"peak_tflops", gpu.peak_tflops()},
                                                               {"dram_gbs", gpu.dram_gbs},
                                                               {"registers", gpu.registers},
                                                               {"max_threads", gpu.max_threads},
                                                               {"shared_bytes", gpu.shared_bytes},
                                                               {"reserved_shared", gpu.reserved_shared}})
      constants.emplace_back(fmt::format("{}.{}", name, what), value);
  auto file = open_for_writing(directory / "constants.tsv");
  for (const auto& [name, value] : constants) file << fmt::format("{}\t{}\n", name, value);
}

void emit(const Findings& found, const Report& report, const std::filesystem::path& directory) {
  const auto write = [&](const std::string& name, auto&& writer) {
    auto file = open_for_writing(directory / name);
    writer(file);
  };
  for (const auto& [name, text] : report.files) open_for_writing(directory / name) << text;
  write("facts.tsv", [&](auto& out) { report.facts.write(out); });
  write("places.tsv", [&](auto& out) { report.facts.write_places(out); });
  write("description.json", [&](auto& out) { out << describe_program(found.kernels).dump(2) << '\n'; });
  emit_constants(directory);
  emit_traces(found.kernels, directory);
  emit_above(found, directory);
  for (const Table& table : report.tables) table.write(directory / ("table-" + table.name + ".tsv"));
}

// How fast the model was, one line for each kernel.
void print_model_speed(const std::vector<CountedKernel>& kernels) {
  if (!kernels.empty()) fmt::print("\n");
  for (const CountedKernel& k : kernels) {
    double accesses = 0;
    for (const auto& s : k.counts.sites) accesses += double(s.accesses);
    fmt::print(
        "model: {:12} {:>14} accesses  traced {:6.2f} s ({:.1f} million/s)  untraced {:6.2f} s  {} host threads\n",
        k.kernel.name, format_number(accesses), k.counts.seconds, accesses / k.counts.seconds * 1e-6,
        k.untraced_seconds, simt::host_threads());
  }
}

// What tile-record has to know of this program, with counts if `what` is "counts".
void describe(const std::string& what) {
  const Chapter& chapter = this_chapter();
  std::vector<CountedKernel> counted;
  if (what == "counts")
    for (const Kernel& kernel : chapter.kernels)
      counted.push_back({kernel, chapter.counted, count(kernel, chapter.counted)});
  fmt::print("{}\n", describe_program(counted).dump(2));
}

// Counts, then prints or emits.
void count_and_report(const Options& options) {
  const Chapter& chapter = this_chapter();
  const bool emitting = !options.emit.empty();
  const Case problem = options.problem.value_or(chapter.counted);
  if (const Extension& own = chapter.extension; own.choice != nullptr && options.kernel == own.dispatcher.name)
    fmt::print("{} chooses: {}\n", options.kernel,
               own.choice({problem.problem(), problem.alpha, nullptr, nullptr, problem.beta, nullptr}));
  const std::vector<Kernel> chosen = chosen_kernels(options);
  require_countable(problem);
  if (options.once) {
    for (const Kernel& kernel : chosen) run_untraced(kernel, problem, options.repeat);
    return;
  }
  if (!emitting && options.record.empty()) fmt::print("on: {}\n", machine::description());
  if (emitting) std::filesystem::create_directories(options.emit);
  Findings found{.problem = problem, .records = load_records(chapter_directory())};
  found.kernels = count_kernels(chosen, problem, emitting);
  if (!options.record.empty()) {
    found.records.push_back(Record::parse(read_whole(options.record)));
    found.fresh = 1;
  }
  Report report{.tables = tables_of(found, chosen)};
  if (emitting) report.facts = facts_of(found);
  if (chapter.extension.report) chapter.extension.report(report);
  if (emitting) return emit(found, report, options.emit);
  for (const Table& table : report.tables) table.print();
  if (options.lines) print_lines(found.kernels);
  print_model_speed(found.kernels);
}

}  // namespace

int run_chapter(const Options& options) {
  if (options.bench) throw std::runtime_error("--bench times kernels and needs a GPU");
  if (options.flag) throw std::runtime_error(options.flag->name + " times kernels and needs a GPU");
  if (options.warm) throw std::runtime_error("--warm is about times and needs a GPU: the model has no L2");
  if (!options.describe.empty())
    describe(options.describe);
  else
    count_and_report(options);
  return 0;
}

}  // namespace tile
