// A chapter on the SIMT model: counts its kernels and shows predictions, counts and measurements side by side. In: the
// options, the chapter, its records. Out: tables on stdout, or the files for the book in a directory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

#include "common/bench/counters.hpp"
#include "common/bench/gpu.hpp"
#include "common/bench/text.hpp"
#include "common/check/operands.hpp"
#include "common/check/traced.hpp"
#include "common/cuda/machine.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// With so many k-tiles a kernel's mainloop is past its prologue, however far it prefetches.
constexpr int k_tiles_past_prologue = 4;

constexpr double most_multiply_adds = 3e9;  // about a minute on two cores

bool whole_tiles_fit(const Kernel& kernel, const Case& c) {
  const Tile& tile = kernel.tile;
  if (tile.BM == 0) return false;  // it launches other kernels, each with its own tiles
  return c.M % tile.BM == 0 && c.N % tile.BN == 0 && c.K % tile.BK == 0;
}

std::vector<CountedKernel> count_kernels(const std::vector<Kernel>& kernels, const Case& problem, bool emitting) {
  simt::Trace trace;
  trace.keep_touches = emitting;
  trace.sample_block = {1, 1, 0};
  const bool ceilings_elsewhere = emitting || same_problem(problem, this_chapter().counted);
  std::vector<CountedKernel> counted;
  for (const Kernel& kernel : kernels) {
    CountedKernel& k = counted.emplace_back(CountedKernel{kernel, problem, count(kernel, problem, trace)});
    const int shallow = std::max({1, problem.K / 4, k_tiles_past_prologue * kernel.tile.BK});
    if (ceilings_elsewhere && shallow < problem.K) k.shallow = count_at_depth(kernel, problem, shallow);
  }
  return counted;
}

// Writes above.tsv: the kernels that were measured above a ceiling, of their source or of their machine code.
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

// Writes the names that formulas on the chapter's page may use: its constants, and published figures of GPUs.
void emit_constants(const std::filesystem::path& directory) {
  const auto& constants = this_chapter().constants;
  if (constants.empty()) return;
  auto out = open_for_writing(directory / "constants.tsv");
  for (const auto& [name, value] : constants) out << fmt::format("{}\t{}\n", name, value);
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
      out << fmt::format("{}.{}\t{}\n", name, what, value);
}

// What the fastest kernel reaches and what limits it, and how to go on.
void print_summary(const Findings& found) {
  const Chapter& chapter = this_chapter();
  if (chapter.sizes.empty() || found.records.empty() || !same_problem(found.problem, chapter.counted)) return;
  const Record& record = found.records.front();
  const int size = size_of_profile(found.records);
  const auto reached = [&](const CountedKernel& k) {
    return number_at(find_run(record, k.kernel.name, size), "/tflops").value_or(0);
  };
  const CountedKernel& best = *std::ranges::max_element(found.kernels, {}, reached);
  const auto work = work_as_compiled_at(cube(best.kernel, size), best, found.records);
  if (reached(best) == 0 || !work) return;
  const Ceiling tightest = ceilings(*work, reference_rates()).front();
  const bool stronger = chapter.baseline == Baseline::stronger;
  const std::string ratio = shown(find_run(record, best.kernel.name, size), stronger ? "stronger_ratio" : "ratio", 3);
  fmt::print("\n{}\n",
             wrapped("", fmt::format("{}: {} TFLOP/s at {} on an {} ({}), {} of {}cuBLAS. Tightest ceiling as "
                                     "compiled: {}, {} TFLOP/s.",
                                     best.kernel.name, format_number(reached(best)), size, text_at(record, "gpu"),
                                     text_at(record, "date"), ratio, stronger ? "the stronger " : "", tightest.resource,
                                     format_number(tightest.tflops))));
  fmt::print("Next: ./tile test chapter{0:02}; ./tile run {0:02} --lines; on a GPU, --size 4096.\n", chapter.number);
}

void emit(const Findings& found, const Report& report, const std::filesystem::path& directory) {
  for (const auto& [name, text] : report.files) open_for_writing(directory / name) << text;
  for (const Table& table : report.tables) table.write(directory / ("table-" + table.name + ".tsv"));
  report.facts.write(directory);
  open_for_writing(directory / "description.json") << describe_program(found).dump(2) << '\n';
  emit_constants(directory);
  emit_traces(found.kernels, directory);
  emit_above(found, directory);
}

}  // namespace

void require_countable(const Case& c) {
  if (double(c.M) * c.N * c.K > most_multiply_adds)
    throw UsageError(
        fmt::format("{} is too large for the SIMT model, which runs at most {:.0g} multiply-adds: leave --size out for "
                    "{}, or take --size 1024 (counts per request do not change with the size)",
                    extents(c), most_multiply_adds, extents(this_chapter().counted)));
}

CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K) {
  Case c = problem.of(kernel.types);
  c.K = K;
  if (c.layout_A == Layout::rows) c.pads.A += problem.K - K;  // to keep the strides
  if (c.layout_B == Layout::columns) c.pads.B += problem.K - K;
  return {c, work_of(count(kernel, c), c)};
}

const Record* entry_of(const std::string& kernel, const std::vector<Record>& records) {
  return records.empty() ? nullptr : find_kernel(records.front(), kernel);
}

std::optional<Work> work_at(const Case& to, const CountedKernel& k) {
  const Case counted = k.problem.of(k.kernel.types);
  const CountedWork own{counted, work_of(k.counts, counted)};
  if (to.M == counted.M && to.N == counted.N && to.K == counted.K) return own.work;
  if (!k.shallow || !whole_tiles_fit(k.kernel, counted) || !whole_tiles_fit(k.kernel, to)) return {};
  return work_at(to, *k.shallow, own);
}

std::optional<Work> work_as_compiled_at(const Case& to, const CountedKernel& k, const std::vector<Record>& records) {
  const auto written = work_at(to, k);
  const Record* entry = entry_of(k.kernel.name, records);
  if (!written || entry == nullptr || !same_problem(k.problem, this_chapter().counted)) return {};
  return work_as_compiled(*written, *entry, records.front(), double(tally(k.counts, counters()[0])),
                          work_of(k.counts, k.problem), to);
}

int size_of_profile(const std::vector<Record>& records) {
  const int largest = this_chapter().sizes.back();
  return records.empty() ? largest : records.front().value("profiled_size", largest);
}

std::string extents(const Case& c) { return fmt::format("{} x {} x {}", c.M, c.N, c.K); }

Case cube(const Kernel& kernel, int size) { return Case{size, size, size}.of(kernel.types); }

bool same_problem(const Case& a, const Case& b) {
  const auto rest = [](const Case& c) { return std::tuple(c.alpha, c.beta, c.offset); };
  return a.problem() == b.problem() && rest(a) == rest(b);
}

Record describe_program(const Findings& found) {
  const Chapter& chapter = this_chapter();
  Record lines = Record::array();
  const auto differences = load_differences(chapter_directory());
  for (const CountedKernel& k : found.kernels)
    if (const Record* entry = entry_of(k.kernel.name, found.records); part_of(entry, "counters") != nullptr)
      for (const std::string& line : unexplained(k.counts, *entry, differences)) lines.push_back(line);
  return {{"chapter", chapter.number},
          {"directory", chapter_directory().string()},
          {"nvcc", TILE_NVCC_VERSION},
          {"kernels", chapter.kernels.size()},
          {"profiled_pads", chapter.profiled_pads},
          {"step", chapter.extension.step},
          {"unexplained", lines}};
}

int run_chapter(const Options& options) {
  const Chapter& chapter = this_chapter();
  if (!options.describe.empty()) {
    Findings found{.problem = chapter.counted};
    if (options.describe == "counts") {
      found.records = load_records(chapter_directory());
      found.kernels = count_kernels(chapter.kernels, chapter.counted, false);
    }
    fmt::print("{}\n", describe_program(found).dump(2));
    return 0;
  }
  const bool emitting = !options.emit.empty();
  const Case problem = options.problem.value_or(chapter.counted);
  if (const Extension& own = chapter.extension; own.choice != nullptr && options.kernel == own.dispatcher.name)
    fmt::print("{} chooses: {}\n", options.kernel,
               own.choice({problem.problem(), problem.alpha, nullptr, nullptr, problem.beta, nullptr}));
  const std::vector<Kernel> chosen = chosen_kernels(options);
  require_countable(problem);
  if (!emitting && options.record.empty()) fmt::print("on: {}\n", machine::description());
  std::fflush(stdout);  // counting takes a while
  if (emitting) std::filesystem::create_directories(options.emit);
  Findings found{.problem = problem, .records = load_records(chapter_directory())};
  found.kernels = count_kernels(chosen, problem, emitting);
  if (!options.record.empty()) {
    found.records.push_back(Record::parse(read_whole(options.record)));
    found.last_is_new = true;
  }
  Report report{.tables = tables_of(found, chosen)};
  if (emitting) report.facts = facts_of(found);
  if (chapter.extension.report) chapter.extension.report(report);
  if (emitting) {
    emit(found, report, options.emit);
    return 0;
  }
  print_summary(found);
  for (const Table& table : report.tables) table.print(columns());
  if (options.lines) print_lines(found.kernels);
  return 0;
}

}  // namespace tile
