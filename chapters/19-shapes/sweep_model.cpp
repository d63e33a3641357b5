// The sweep on the model: from its record to tables, facts and the data of a plot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "chapters/19-shapes/sweep.hpp"
#include "common/bench/run.hpp"
#include "common/bench/text.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr int smallest_that_counts = 1024;

bool is_cube(const Case& c) { return c.M == c.N && c.N == c.K; }

// The problems of the sweep in the order of its table and its plot: cubes first, from the smallest to the largest.
std::vector<Case> cubes_first(const Sweep& sweep) {
  std::vector<Case> problems = sweep.problems;
  const auto others = std::stable_partition(problems.begin(), problems.end(), is_cube);
  std::sort(problems.begin(), others, [](const Case& a, const Case& b) { return a.M < b.M; });
  return problems;
}

// The run of a problem, or null.
const Record* run_of(const Sweep& sweep, const Record* record, const Case& c) {
  return record == nullptr ? nullptr : find_run(*record, sweep.kernel.name, c.problem());
}

const std::vector<Field> of_problem{{"ms", "/median_ms"},
                                    {"tflops", "/tflops"},
                                    {"cublas_tflops", "/cublas_tflops"},
                                    {"lt_tflops", "/lt_tflops"},
                                    {"stronger_tflops", "/stronger_tflops"},
                                    {"ratio", "/stronger_ratio", 3},
                                    {"ratio_low", "/stronger_ratio_low", 3},
                                    {"ratio_high", "/stronger_ratio_high", 3},
                                    {"repetitions", "/repetitions", 0}};

enum Outcome { won, tie, lost };
constexpr const char* words_of_outcomes[] = {"won", "tie", "lost"};

// Nothing is decided where the middle 80 percent of the pairs fall on both sides of one.
Outcome outcome_of(const Record& run) {
  if (run.at("stronger_ratio_low").get<double>() > 1) return won;
  return run.at("stronger_ratio_high").get<double>() < 1 ? lost : tie;
}

// The range of some problems' ratios.
void add_range(Facts& facts, const std::string& name, const std::vector<double>& ratios) {
  const bool any = !ratios.empty();
  add_measured(facts, name + "lowest_ratio",
               any ? std::optional(std::ranges::min(ratios)) : std::nullopt, 3);
  add_measured(facts, name + "highest_ratio",
               any ? std::optional(std::ranges::max(ratios)) : std::nullopt, 3);
}

}  // namespace

Table table_of_sweep(const Sweep& sweep, const Record* record) {
  Table table{"sweep",
              "Sweep: not yet measured, on any GPU",
              {"M x N x K", "x stronger", "10-90%", "choice", "ms", "TFLOP/s", "cuBLAS",
               "cuBLASLt", "repetitions"},
              {}};
  if (record == nullptr) return table;
  table.caption = fmt::format(
      "Sweep of {} on an {}, {}, driver {}, CUDA {}. x stronger: the median ratio to the stronger cuBLAS; 10-90%: from "
      "the 10th percentile "
      "to the 90th. A single number is the extent of a cube; the columns of cuBLAS are TFLOP/s",
      sweep.kernel.name, text_at(*record, "gpu"), text_at(*record, "date"),
      text_at(*record, "driver"), text_at(*record, "cuda"));
  for (const Case& c : cubes_first(sweep)) {
    const Record* run = run_of(sweep, record, c);
    if (run == nullptr) continue;
    const auto number = [&](const std::string& field, int decimals = -1) {
      const auto value = number_at(run, "/" + field);
      return value ? format_number(*value, decimals) : "-";
    };
    // What the reader came for stands first: a telephone shows no more than that.
    table.rows.push_back(
        {key_of(c.problem()), number("stronger_ratio", 3),
         number("stronger_ratio_low", 3) + "-" + number("stronger_ratio_high", 3),
         run->at("choice"), number("median_ms", 3), number("tflops"), number("cublas_tflops"),
         number("lt_tflops"), number("repetitions", 0)});
  }
  return table;
}

Table table_of_verdicts(const Sweep& sweep, const Record* record) {
  Table table{"verdicts",
              "Sweep: not yet measured, on any GPU",
              {"", "problems", "M x N x K, and the median ratio to the stronger cuBLAS"},
              {}};
  if (record == nullptr) return table;
  table.caption =
      "Problems that are lost or won, that is, with the 10th to the 90th percentile of the ratio on one side of 1, "
      "and ties between; in each row from the smallest ratio to the largest";
  using Judged = std::pair<double, std::string>;  // ratio, problem
  std::vector<Judged> judged[std::size(words_of_outcomes)];
  for (const Case& c : sweep.problems)
    if (const Record* run = run_of(sweep, record, c))
      judged[outcome_of(*run)].emplace_back(run->at("stronger_ratio").get<double>(),
                                            key_of(c.problem()));
  for (const Outcome outcome : {lost, tie, won}) {
    std::vector<Judged>& of_outcome = judged[outcome];
    std::stable_sort(of_outcome.begin(), of_outcome.end(),
                     [](auto& a, auto& b) { return a.first < b.first; });
    std::string problems;
    for (const auto& [ratio, problem] : of_outcome)
      problems += fmt::format("{}{} ({})", problems.empty() ? "" : ", ", problem,
                              format_number(ratio, 2));
    table.rows.push_back(
        {words_of_outcomes[outcome], std::to_string(of_outcome.size()), problems});
  }
  return table;
}

void add_sweep_facts(Facts& facts, const Sweep& sweep, const Record* record) {
  std::vector<double> all, cubes;
  int of_outcome[std::size(words_of_outcomes)] = {};
  for (const Case& c : sweep.problems) {
    const Record* run = run_of(sweep, record, c);
    const std::string name = fmt::format("sweep.{}.", key_of(c.problem()));
    add_fields(facts, name, run, of_problem);
    add_measured(facts, name + "lowest_mhz", number_at(run, "/clocks/sm_mhz/0"), 0);
    facts.text(name + "choice", "measured",
               run == nullptr ? "not yet measured" : run->at("choice").get<std::string>());
    if (run == nullptr) continue;
    all.push_back(run->at("stronger_ratio"));
    ++of_outcome[outcome_of(*run)];
    if (is_cube(c) && c.M >= smallest_that_counts) cubes.push_back(all.back());
  }
  add_range(facts, "sweep.", all);
  add_range(facts, "sweep.cubes.", cubes);
  const auto give = [&](const std::string& key, double number) {
    add_measured(facts, "sweep." + key,
                 record == nullptr ? std::nullopt : std::optional(number), 0);
  };
  give("problems", double(all.size()));
  for (const Outcome outcome : {won, tie, lost})
    give(words_of_outcomes[outcome], of_outcome[outcome]);
  give("seconds", number_at(record, "/sweep/seconds").value_or(0));
}

void add_ways_facts(Facts& facts, const Sweep& sweep, const std::string& csv) {
  struct Timed {
    double chosen = 0, fastest = HUGE_VAL;
    int ways = 0;
  };
  std::map<std::string, Timed> timed;
  for (const Row& row : rows_of(csv, "ways.csv")) {
    const auto extent = [&](const char* column) { return int(row.number(column)); };
    const Case c{extent("M"), extent("N"), extent("K")};
    Timed& problem = timed[key_of(c.problem())];
    const double us = row.number("us");
    add_measured(facts, fmt::format("ways.{}.{}", key_of(c.problem()), row.text("way")), us,
                 1);
    problem.fastest = std::min(problem.fastest, us), ++problem.ways;
    if (row.text("way") == sweep.choice(Product{c.problem(), 1, nullptr, nullptr, 0, nullptr}))
      problem.chosen = us;
  }
  std::vector<double> regrets;
  for (const auto& [name, problem] : timed)
    if (problem.ways > 1 && problem.chosen > 0)
      regrets.push_back(problem.chosen / problem.fastest);
  const auto give = [&](const char* key, auto number, int decimals) {
    add_measured(facts, key, regrets.empty() ? std::nullopt : std::optional(double(number())),
                 decimals);
  };
  give(
      "ways.problems", [&] { return regrets.size(); }, 0);
  give(
      "ways.best", [&] { return std::ranges::count(regrets, 1.0); }, 0);
  give(
      "ways.mean_regret",
      [&] {
        return std::accumulate(regrets.begin(), regrets.end(), 0.0) / double(regrets.size());
      },
      3);
  give(
      "ways.greatest_regret", [&] { return std::ranges::max(regrets); }, 3);
}

std::string plot_of_sweep(const Sweep& sweep, const Record* record) {
  std::string text;
  for (const Case& c : cubes_first(sweep)) {
    const Record* run = run_of(sweep, record, c);
    const auto value = [&](const char* field) { return number_at(run, field).value_or(0); };
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", key_of(c.problem()), c.M, c.N,
                        c.K, value("/stronger_ratio"), value("/stronger_ratio_low"),
                        value("/stronger_ratio_high"), value("/tflops"),
                        value("/stronger_tflops"));
  }
  return text;
}

Extension extension_of(const Sweep& sweep) {
  const auto report = [sweep](Report& report) {
    const std::vector<Record> records = load_records(chapter_directory(), RecordKind::sweep);
    const Record* const record = first_of(records);
    add_sweep_facts(report.facts, sweep, record);
    const auto ways = chapter_directory() / "measured/nvidia-h200/ways.csv";
    if (std::filesystem::exists(ways)) add_ways_facts(report.facts, sweep, read_whole(ways));
    report.tables.push_back(table_of_sweep(sweep, record));
    report.tables.push_back(table_of_verdicts(sweep, record));
    report.files.emplace_back("sweep.tsv", plot_of_sweep(sweep, record));
  };
  return {.flags = {{"--sweep", "time " + sweep.kernel.name + " over many problems (GPU)", {}},
                    {"--ways",
                     "time each way that " + sweep.kernel.name + " chooses among (GPU)",
                     {}}},
          .report = report,
          .step = "sweep",
          .dispatcher = sweep.kernel,
          .choice = sweep.choice};
}

}  // namespace tile
