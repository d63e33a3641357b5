// A chapter on the SIMT model: counts its kernels and puts predicted, counted and measured side by side. In: the options, the
// chapter, its records and tunings. Out: tables on stdout, or what the book needs in a directory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/whole_file.hpp"
#include "common/check/operands.hpp"
#include "common/check/repository.hpp"
#include "common/cuda/machine.hpp"
#include "common/report/against_ceilings.hpp"
#include "common/report/against_counters.hpp"
#include "common/report/counted.hpp"
#include "common/report/describe.hpp"
#include "common/report/explain_tuning.hpp"
#include "common/report/measured_facts.hpp"
#include "common/report/options.hpp"
#include "common/report/output_file.hpp"
#include "common/report/per_site.hpp"
#include "common/report/profile.hpp"
#include "common/report/rates.hpp"
#include "common/report/sweep.hpp"
#include "common/report/timed_runs.hpp"
#include "common/report/touched_elements.hpp"
#include "common/report/tuned_ranking.hpp"
#include "common/report/tuning.hpp"

namespace tile {
namespace {

/// What there is to say of the chapter's candidates; all empty where it has none.
struct Tuning {
  std::vector<Record> tunings;
  std::vector<Ranked> ranking;  ///< points into the first of `tunings`, the reference GPU's
  std::vector<Timed> timed;     ///< with costs; empty unless all of `ranking` were timed
  std::vector<Observed> left;   ///< the timed ones of `ranking`

  const Record* reference() const { return tunings.empty() ? nullptr : &tunings.front(); }
};

Tuning find_tuning() {
  Tuning found;
  found.tunings = load_records(chapter_directory(), RecordKind::tuned);
  const Record* const reference = found.reference();
  found.ranking = rank_by_ceilings(reference);
  std::vector<CandidateCeiling> ceilings_left;
  for (const Ranked& r : found.ranking) ceilings_left.push_back({r.candidate, r.tightest.tflops});
  if (reference != nullptr && all_timed(found.ranking))
    found.timed = timed_with_costs(*reference, this_chapter().costs);
  found.left = observed(ceilings_left, found.timed);
  return found;
}

/// Everything that tables and facts are made of.
struct Findings {
  Case problem;
  std::vector<CountedKernel> kernels;
  std::vector<Record> records;
  std::size_t fresh;  ///< so many records, the last ones, were made by this very run
  Tuning tuning;
  std::vector<Record> sweeps;
};

// With so many tiles along K a kernel's loop has begun, whatever it loads ahead.
constexpr int tiles_of_pipelines = 4;

std::vector<CountedKernel> count_kernels(const std::vector<Kernel>& kernels, const Case& problem, bool emitting) {
  simt::Trace trace;
  trace.keep_touches = emitting;
  trace.sample_block = {1, 1, 0};
  const bool ceilings_elsewhere = emitting || same_problem(problem, this_chapter().counted);
  std::vector<CountedKernel> counted;
  for (const Kernel& kernel : kernels) {
    if (!emitting) std::fflush(stdout);
    counted.push_back(count_kernel(kernel, problem, trace));
    CountedKernel& k = counted.back();
    const int shallow = std::max({1, problem.K / 4, tiles_of_pipelines * resolved(kernel).tile.BK});
    if (ceilings_elsewhere && shallow < problem.K) k.shallow = count_at_depth(kernel, problem, shallow);
    if (!emitting) k.untraced_seconds = untraced_seconds(kernel, problem);
  }
  return counted;
}

std::vector<Table> tables_of(const Findings& found, const std::vector<Kernel>& chosen) {
  const Chapter& chapter = this_chapter();
  const auto& [problem, kernels, records, fresh, tuning, sweeps] = found;
  std::vector<Table> tables;
  if (!tuning.ranking.empty()) tables.push_back(table_of_tuning(tuning.ranking, tuning.tunings));
  if (!chapter.costs.empty()) tables.push_back(table_of_fits(tuning.left));
  for (const CountedKernel& k : kernels) tables.push_back(table_of_sites(k));
  if (!kernels.empty()) {
    if (!chapter.sizes.empty()) tables.push_back(table_of_ceilings(kernels, records));
    tables.push_back(table_of_counters(kernels, records));
    tables.push_back(table_of_profile(kernels, records));
    tables.push_back(table_of_stalls(kernels, records));
  }
  if (!chapter.rates.empty()) tables.push_back(table_of_rates(records));
  if (!chapter.kernels.empty()) tables.push_back(table_of_runs(chosen, records, fresh));
  if (!chapter.sweep.problems.empty()) {
    tables.push_back(table_of_sweep(sweeps));
    tables.push_back(table_of_verdicts(sweeps));
  }
  return tables;
}

// Files of key,value: what a chapter's programs gave on a GPU besides its records, each with a head that says how.
std::vector<std::string> measurements_beside_records() {
  std::vector<std::string> files;
  const auto directory = chapter_directory() / "measured";
  if (!std::filesystem::is_directory(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".csv") files.push_back(below_repository(entry.path()).string());
  std::sort(files.begin(), files.end());
  return files;
}

Facts facts_of(const Findings& found) {
  const Chapter& chapter = this_chapter();
  const auto& [problem, kernels, records, fresh, tuning, sweeps] = found;
  Facts facts;
  if (chapter.predict != nullptr) chapter.predict(facts);
  for (const auto& file : measurements_beside_records()) facts.measured_in(file);
  const Rates rates = reference_rates();
  for (const CountedKernel& k : kernels) {
    add_counted_facts(facts, k);
    for (const int size : chapter.sizes) add_ceiling_facts(facts, k, size, records, rates);
  }
  facts.counted("problem", problem.M);
  add_measured_facts(facts, records.empty() ? nullptr : &records.front());
  if (!tuning.ranking.empty()) add_tuning_facts(facts, tuning.ranking, tuning.reference());
  if (!chapter.costs.empty()) add_explanation_facts(facts, tuning.left, tuning.timed);
  if (!chapter.sweep.problems.empty()) add_sweep_facts(facts, sweeps.empty() ? nullptr : &sweeps.front());
  return facts;
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

void emit(const Findings& found, const std::vector<Table>& tables, const std::filesystem::path& directory) {
  const Facts facts = facts_of(found);
  const auto& [problem, kernels, records, fresh, tuning, sweeps] = found;
  if (!tuning.ranking.empty()) emit_landscape(tuning.ranking, directory);
  if (!this_chapter().costs.empty()) {
    auto fit_file = open_for_writing(directory / "fit.tsv");
    write_predictions(fit_file, tuning.left, tuning.timed);
  }
  if (!this_chapter().sweep.problems.empty()) {
    auto sweep_file = open_for_writing(directory / "sweep.tsv");
    write_sweep(sweep_file, sweeps.empty() ? nullptr : &sweeps.front());
  }
  auto facts_file = open_for_writing(directory / "facts.tsv");
  facts.write(facts_file);
  auto places_file = open_for_writing(directory / "places.tsv");
  facts.write_places(places_file);
  emit_constants(directory);
  emit_kernels(kernels, directory);
  emit_lines(kernels, directory);
  emit_samples(kernels, directory);
  emit_touches(kernels, directory);
  emit_intervals(kernels, directory);
  emit_above(kernels, records, directory);
  for (const Table& table : tables) table.write(directory / ("table-" + table.name + ".tsv"));
  open_for_writing(directory / "description.json") << to_json(describe_program(kernels)).dump(2) << '\n';
}

// What tile-record has to know of this program, with counts if `what` is "counts".
void describe(const std::string& what) {
  const Chapter& chapter = this_chapter();
  std::vector<CountedKernel> counted;
  if (what == "counts")
    for (const Kernel& kernel : chapter.kernels) counted.push_back(count_kernel(kernel, chapter.counted, {}));
  fmt::print("{}\n", to_json(describe_program(counted)).dump(2));
}

// The kernels alone, without counting.
void run_untraced(const std::vector<Kernel>& kernels, const Case& problem, int repeat) {
  for (const Kernel& kernel : kernels) {
    const Ready ready(kernel, problem);
    for (int i = 0; i < repeat; ++i) ready.kernel->run();
  }
}

// Counts, then prints or emits.
void report(const Options& options) {
  const Chapter& chapter = this_chapter();
  const bool emitting = !options.emit.empty();
  const Case problem = options.problem.value_or(chapter.counted);
  if (options.kernel == chapter.sweep.kernel.name && !options.kernel.empty())
    fmt::print("{} chooses: {}\n", options.kernel,
               chapter.sweep.choice({problem.problem(), problem.alpha, nullptr, nullptr, problem.beta, nullptr}));
  const std::vector<Kernel> chosen = chosen_kernels(options);
  require_countable(problem);
  if (options.once) return run_untraced(chosen, problem, options.repeat);

  if (!emitting && options.record.empty()) fmt::print("on: {}\n", machine::description());
  if (emitting) std::filesystem::create_directories(options.emit);
  std::vector<Record> records = load_records(chapter_directory());  // before it takes time: they may be damaged
  Findings found{problem, count_kernels(chosen, problem, emitting), std::move(records), 0, {}, {}};
  if (!options.record.empty()) {
    found.records.push_back(Record::parse(read_whole(options.record)));
    found.fresh = 1;
  }
  found.tuning = find_tuning();
  found.sweeps = load_records(chapter_directory(), RecordKind::sweep);
  const std::vector<Table> tables = tables_of(found, chosen);
  if (emitting) return emit(found, tables, options.emit);
  for (const Table& table : tables) table.print();
  if (options.lines) print_lines(found.kernels);
  print_model_speed(found.kernels);
}

}  // namespace

int run_chapter(const Options& options) {
  if (options.bench) throw std::runtime_error("--bench times kernels and needs a GPU");
  if (options.sweep) throw std::runtime_error("--sweep times a kernel and needs a GPU");
  if (options.warm) throw std::runtime_error("--warm is about times and needs a GPU: the model has no L2");
  if (options.tune || options.tune_pruned)
    throw std::runtime_error("--tune times kernels and needs a GPU; without options the program ranks by ceilings");
  if (!options.describe.empty())
    describe(options.describe);
  else
    report(options);
  return 0;
}

}  // namespace tile
