#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/report/chapter.hpp"
#include "common/report/measured_field.hpp"
#include "common/report/sweep.hpp"

namespace tile {
namespace {

constexpr int smallest_that_counts = 1024;

bool is_cube(const Case& c) { return c.M == c.N && c.N == c.K; }

// The problems of the sweep in the order of its table and its plot: cubes first, from the smallest to the largest.
std::vector<Case> cubes_first() {
  std::vector<Case> problems = this_chapter().sweep.problems;
  const auto others = std::stable_partition(problems.begin(), problems.end(), is_cube);
  std::sort(problems.begin(), others, [](const Case& a, const Case& b) { return a.M < b.M; });
  return problems;
}

// The run of a problem, or null.
const Record* run_of(const Record* sweep, const Case& c) {
  return sweep == nullptr ? nullptr : find_run(*sweep, this_chapter().sweep.kernel.name, c.problem());
}

void add_problem_facts(Facts& facts, const std::string& name, const Record* run) {
  const auto give = [&](const char* key, const char* field, int decimals = -1) {
    add_measured_field(facts, name + key, run, field, decimals);
  };
  give("ms", "median_ms");
  give("tflops", "tflops");
  give("cublas_tflops", "cublas_tflops");
  give("lt_tflops", "lt_tflops");
  give("stronger_tflops", "stronger_tflops");
  give("ratio", "stronger_ratio", 3);
  give("ratio_low", "stronger_ratio_low", 3);
  give("ratio_high", "stronger_ratio_high", 3);
  give("repetitions", "repetitions", 0);
  if (const auto places = run == nullptr ? std::nullopt : stronger_by_place(*run))
    facts.measured(name + "apart_low", places->apart.low, 3);
  else
    facts.not_yet_measured(name + "apart_low");
  if (run != nullptr && run->contains("clocks") && run->at("clocks")["samples"] != 0)
    facts.measured(name + "lowest_mhz", run->at("clocks")["sm_mhz"][0].get<double>(), 0);
  else
    facts.not_yet_measured(name + "lowest_mhz");
  facts.text(name + "choice", "measured", run == nullptr ? "not yet measured" : run->at("choice").get<std::string>());
}

enum Outcome { won, tie, lost };
constexpr const char* words_of_outcomes[] = {"won", "tie", "lost"};

// Nothing is decided where the middle 80 percent of the pairs fall on both sides of one.
Outcome outcome_of(const Record& run) {
  if (run.at("stronger_ratio_low").get<double>() > 1) return won;
  return run.at("stronger_ratio_high").get<double>() < 1 ? lost : tie;
}

// The range of some problems' ratios, or that it is not yet measured.
void add_range(Facts& facts, const std::string& name, const std::vector<double>& ratios) {
  if (ratios.empty()) {
    facts.not_yet_measured(name + "lowest_ratio");
    facts.not_yet_measured(name + "highest_ratio");
    return;
  }
  const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
  facts.measured(name + "lowest_ratio", *lowest, 3);
  facts.measured(name + "highest_ratio", *highest, 3);
}

}  // namespace

Table table_of_sweep(const std::vector<Record>& sweeps) {
  Table table{"sweep",
              "Sweep: not yet measured, on any GPU",
              {"M x N x K", "x stronger", "10-90%", "choice", "ms", "TFLOP/s", "cuBLAS", "cuBLASLt", "repetitions"},
              {}};
  if (sweeps.empty()) return table;
  const Record& sweep = sweeps.front();
  table.caption = fmt::format(
      "Sweep of {} on an {}, {}, driver {}, CUDA {}. x stronger: the median ratio to the stronger cuBLAS; 10-90%: from "
      "the 10th percentile "
      "to the 90th. A single number is the extent of a cube; the columns of cuBLAS are TFLOP/s",
      this_chapter().sweep.kernel.name, sweep["gpu"].get<std::string>(), sweep["date"].get<std::string>(),
      sweep["driver"].get<std::string>(), sweep["cuda"].get<std::string>());
  for (const Case& c : cubes_first()) {
    const Record* run = run_of(&sweep, c);
    if (run == nullptr) continue;
    const auto number = [&](const char* key, int decimals = -1) {
      return run->contains(key) ? format_number(run->at(key).get<double>(), decimals) : "-";
    };
    // What the reader came for stands first: a telephone shows no more than that.
    table.rows.push_back({key_of(c.problem()), number("stronger_ratio", 3),
                          number("stronger_ratio_low", 3) + "-" + number("stronger_ratio_high", 3), run->at("choice"),
                          number("median_ms", 3), number("tflops"), number("cublas_tflops"), number("lt_tflops"),
                          number("repetitions", 0)});
  }
  return table;
}

Table table_of_verdicts(const std::vector<Record>& sweeps) {
  Table table{"verdicts",
              "Sweep: not yet measured, on any GPU",
              {"", "problems", "M x N x K, and the median ratio to the stronger cuBLAS"},
              {}};
  if (sweeps.empty()) return table;
  table.caption =
      "Problems that are lost or won, that is, with the 10th to the 90th percentile of the ratio on one side of 1, "
      "and ties between; in each row from the smallest ratio to the largest";
  using Judged = std::pair<double, std::string>;  // ratio, problem
  std::vector<Judged> judged[std::size(words_of_outcomes)];
  for (const Case& c : this_chapter().sweep.problems)
    if (const Record* run = run_of(&sweeps.front(), c))
      judged[outcome_of(*run)].emplace_back(run->at("stronger_ratio").get<double>(), key_of(c.problem()));
  for (const Outcome outcome : {lost, tie, won}) {
    std::vector<Judged>& of_outcome = judged[outcome];
    std::stable_sort(of_outcome.begin(), of_outcome.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::string problems;
    for (const auto& [ratio, problem] : of_outcome)
      problems += fmt::format("{}{} ({})", problems.empty() ? "" : ", ", problem, format_number(ratio, 2));
    table.rows.push_back({words_of_outcomes[outcome], fmt::format("{}", of_outcome.size()), problems});
  }
  return table;
}

void add_sweep_facts(Facts& facts, const Record* sweep) {
  std::vector<double> all, cubes;
  int of_outcome[std::size(words_of_outcomes)] = {}, won_apart = 0;
  for (const Case& c : this_chapter().sweep.problems) {
    const Record* run = run_of(sweep, c);
    add_problem_facts(facts, fmt::format("sweep.{}.", key_of(c.problem())), run);
    if (run == nullptr) continue;
    all.push_back(run->at("stronger_ratio"));
    ++of_outcome[outcome_of(*run)];
    if (const auto places = stronger_by_place(*run)) won_apart += places->apart.low > 1;
    if (is_cube(c) && c.M >= smallest_that_counts) cubes.push_back(all.back());
  }
  add_range(facts, "sweep.", all);
  add_range(facts, "sweep.cubes.", cubes);
  if (sweep == nullptr) {
    for (const char* key : {"problems", "won", "won_apart", "tie", "lost", "seconds"})
      facts.not_yet_measured(fmt::format("sweep.{}", key));
    return;
  }
  facts.measured("sweep.problems", double(all.size()), 0);
  for (const Outcome outcome : {won, tie, lost})
    facts.measured(fmt::format("sweep.{}", words_of_outcomes[outcome]), of_outcome[outcome], 0);
  facts.measured("sweep.won_apart", won_apart, 0);
  facts.measured("sweep.seconds", sweep->at("sweep").at("seconds"), 0);
}

void write_sweep(std::ostream& out, const Record* sweep) {
  for (const Case& c : cubes_first()) {
    const Record* run = run_of(sweep, c);
    const auto value = [&](const char* key) { return run == nullptr ? 0.0 : run->at(key).get<double>(); };
    out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", key_of(c.problem()), c.M, c.N, c.K,
                       value("stronger_ratio"), value("stronger_ratio_low"), value("stronger_ratio_high"),
                       value("tflops"), value("stronger_tflops"));
  }
}

}  // namespace tile
