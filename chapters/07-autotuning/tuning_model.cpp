// The tuner on the model: ranks its candidates by their ceilings and reports their times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chapters/07-autotuning/tuning.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// The covariance, multiplied by the number of values.
double covariance(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - mean) * y[i];
  return sum;
}

// The rank of each value, from 0; equal values share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto less =
        std::ranges::count_if(values, [&](double other) { return other < value; });
    ranks.push_back(double(less) + double(std::ranges::count(values, value) - 1) / 2);
  }
  return ranks;
}

// Spearman's rank correlation of two lists of equal length: 1 if they rank their elements in the same order, -1 if in the opposite one.
// (C. Spearman, "The proof and measurement of association between two things", 1904.)
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  return covariance(x, y) / std::sqrt(covariance(x, x) * covariance(y, y));
}

// Ranks every candidate that is worth timing, the highest ceiling first. `tuning` may be null.
std::vector<Ranked> rank_by_ceilings(const std::vector<Candidate>& candidates,
                                     const Record* tuning) {
  const Rates rates = reference_rates();
  const Case small{256, 256, 64}, large{4096, 4096, 4096};
  std::vector<Ranked> ranking;
  for (const Candidate& candidate : candidates) {
    if (!candidate.pruned.empty()) continue;
    const CountedWork shallow = count_at_depth(candidate.kernel, small, 32),
                      deep = count_at_depth(candidate.kernel, small, small.K);
    ranking.push_back(
        {&candidate, ceilings(work_at(large, shallow, deep), rates).front(),
         tuning == nullptr ? nullptr : find_timed(*tuning, candidate.kernel.name)});
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](auto& a, auto& b) { return a.tightest.tflops > b.tightest.tflops; });
  return ranking;
}

// The fastest first.
std::vector<Ranked> by_measurement(std::vector<Ranked> ranking) {
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](auto& a, auto& b) { return a.tflops() > b.tflops(); });
  return ranking;
}

bool all_timed(const std::vector<Ranked>& ranking) {
  return std::all_of(ranking.begin(), ranking.end(),
                     [](auto& r) { return r.timed != nullptr; });
}

// The prefix of the facts about one configuration; a key has no spaces.
std::string key_of(const Ranked& r) {
  std::string key = "tuning.at." + r.candidate->kernel.name;
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

// Stands in for the two functions after this one while there are no times.
void add_missing_tuning_facts(Facts& facts, const std::vector<Ranked>& ranking) {
  for (const char* key :
       {"best.tflops", "model_choice.tflops", "model_choice.rank", "rank_correlation",
        "within5", "within10", "best.model_rank", "pruned.best.tflops",
        "pruned.by_bound.best.tflops", "pruned.timed", "model_top10.best.tflops",
        "model_top10.worst.tflops", "register_error", "median.tflops", "worst.tflops", "best",
        "pruned.best", "pruned.best.reason"})
    facts.not_yet_measured(std::string("tuning.") + key);
  for (const Ranked& r : ranking)
    for (const char* what : {".tflops", ".registers", ".blocks"})
      facts.not_yet_measured(key_of(r) + what);
}

// How the ranking by ceilings compares with the times.
void add_ranking_facts(Facts& facts, const std::vector<Ranked>& ranking) {
  const auto ordered = by_measurement(ranking);
  std::vector<double> ceiling, measured;
  double register_error = 0;
  for (const Ranked& r : ranking) {
    ceiling.push_back(r.tightest.tflops);
    measured.push_back(r.tflops());
    register_error = std::max(register_error, std::abs(r.timed->at("registers").get<double>() -
                                                       r.candidate->registers));
  }
  const auto rank_in = [](const std::vector<Ranked>& list, const Candidate* candidate) {
    return double(std::find_if(list.begin(), list.end(),
                               [&](auto& r) { return r.candidate == candidate; }) -
                  list.begin() + 1);
  };
  const double best = ordered.front().tflops();
  const auto within = [&](double share) {
    return double(std::count_if(measured.begin(), measured.end(),
                                [&](double t) { return t >= (1 - share) * best; }));
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
  const auto top = by_measurement(
      {ranking.begin(), ranking.begin() + std::min<std::ptrdiff_t>(10, std::ssize(ranking))});
  facts.measured("tuning.model_top10.best.tflops", top.front().tflops(), 1);
  facts.measured("tuning.model_top10.worst.tflops", top.back().tflops(), 1);
  for (const Ranked& r : ranking)
    add_fields(facts, key_of(r) + ".", r.timed,
               {{"tflops", "/tflops", 1},
                {"registers", "/registers", 0},
                {"blocks", "/blocks_per_sm", 0}});
}

// Facts about the pruned candidates that were timed.
void add_pruned_facts(Facts& facts, const Record& tuning) {
  double pruned = 0, by_bound = 0, timed = 0;
  std::string name = "none timed", reason = "none timed";
  for (const Record& t : tuning.at("candidates")) {
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

// Facts `tuning.*`. Those that need times are "not yet measured" unless all candidates were timed.
void add_tuning_facts(Facts& facts, const std::vector<Ranked>& ranking,
                      const std::vector<Record>& tunings) {
  facts.counted("tuning.count", double(ranking.size()));
  facts.text("tuning.model_choice", "counted", ranking.front().candidate->kernel.name);
  facts.counted("tuning.model_choice.ceiling", ranking.front().tightest.tflops);
  facts.counted("tuning.model_top10.lowest_ceiling",
                ranking[std::min<std::size_t>(10, ranking.size()) - 1].tightest.tflops);
  if (tunings.empty() || !all_timed(ranking)) {
    add_missing_tuning_facts(facts, ranking);
  } else {
    add_ranking_facts(facts, ranking);
    add_pruned_facts(facts, tunings.front());
  }
}

// The text of landscape.tsv.
std::string plot_of_landscape(const std::vector<Ranked>& ranking) {
  std::string text;
  for (const Ranked& r : by_measurement(ranking)) {
    text += r.candidate->kernel.name;
    for (const auto& [key, value] : r.candidate->parameters)
      text += fmt::format("\t{}", value);
    text += fmt::format("\t{:.3f}\t{:.3f}\t{}\n", r.tightest.tflops, r.tflops(),
                        int(number_at(r.timed, "/blocks_per_sm").value_or(0)) *
                            r.candidate->kernel.block_threads / 32);
  }
  return text;
}

}  // namespace

Extension extension_of(const std::vector<Candidate>& candidates) {
  const auto report = [candidates](Report& report) {
    const auto tunings = load_records(chapter_directory(), RecordKind::tuned);
    const auto ranking = rank_by_ceilings(candidates, first_of(tunings));
    add_tuning_facts(report.facts, ranking, tunings);
    report.tables.push_back(table_of_tuning(ranking, tunings));
    report.files = {{"landscape.tsv", plot_of_landscape(ranking)}};
  };
  return {
      .flags =
          {{"--tune",
            "time the candidates on a GPU and record the fastest; continues where it stopped",
            {}},
           {"--tune-pruned", "the same, and time the pruned candidates as well", {}}},
      .report = report,
      .step = "tune"};
}

Table table_of_tuning(const std::vector<Ranked>& ranking, const std::vector<Record>& tunings) {
  const Record* const tuning = first_of(tunings);
  constexpr std::size_t best = 8, worst = 4;
  Table table{"tuning",
              "",
              {"configuration", "threads", "registers, predicted", "warps/SM, predicted",
               "ceiling", "by", "rank by ceiling", "TFLOP/s", "registers", "blocks/SM"},
              {}};
  for (std::size_t other = 1; other < tunings.size(); ++other)
    table.header.push_back("TFLOP/s, " + text_at(tunings[other], "gpu"));
  table.caption = fmt::format(
      "{} configurations left after pruning; {}", ranking.size(),
      tuning == nullptr ? "not yet timed, so by ceiling"
                        : fmt::format("timed at {} on an {}, {}: the fastest and the slowest",
                                      tuning->at("size").get<int>(), text_at(*tuning, "gpu"),
                                      text_at(*tuning, "date")));
  const auto ordered = by_measurement(ranking);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (i >= best && i + worst < ordered.size()) {
      if (i > best) continue;
      table.rows.emplace_back(table.header.size());
      table.rows.back().front() = fmt::format("({} others)", ordered.size() - best - worst);
      continue;
    }
    const Ranked& r = ordered[i];
    const Candidate& c = *r.candidate;
    const auto rank = std::find_if(ranking.begin(), ranking.end(),
                                   [&](auto& x) { return x.candidate == &c; });
    table.rows.push_back({c.kernel.name, std::to_string(c.kernel.block_threads),
                          std::to_string(c.registers), std::to_string(c.warps),
                          format_number(r.tightest.tflops), r.tightest.resource,
                          std::to_string(rank - ranking.begin() + 1), shown(r.timed, "tflops"),
                          shown(r.timed, "registers"), shown(r.timed, "blocks_per_sm")});
    for (std::size_t other = 1; other < tunings.size(); ++other)
      table.rows.back().push_back(shown(find_timed(tunings[other], c.kernel.name), "tflops"));
  }
  return table;
}

}  // namespace tile

TEST_CASE("a table of the fastest and the slowest says how many lie between" *
          doctest::test_suite("model")) {
  tile::Candidate candidate{};
  candidate.kernel.name = "c";
  const std::vector<tile::Ranked> ranking(20, {&candidate, {}, nullptr});
  const tile::Table table = tile::table_of_tuning(ranking, {});
  CHECK(table.rows.size() == 13);
  CHECK(table.rows.at(8).front() == "(8 others)");
  CHECK(table.rows.at(8).size() == table.header.size());
  CHECK(tile::table_of_tuning({12, ranking.front()}, {}).rows.size() == 12);
}

TEST_CASE("a tuning whose choice is not among the candidates is skipped" *
          doctest::test_suite("model")) {
  const auto candidate = [](const char* name, double bound, const char* pruned) {
    return tile::Candidate{{name, nullptr, nullptr, 32, {}}, {}, 1, 1, bound, pruned};
  };
  const std::vector<tile::Candidate> candidates{candidate("chosen", 1, ""),
                                                candidate("bound", 2, ""),
                                                candidate("pruned", 3, "registers")};
  const tile::Record fits{{"gpu", "A"}, {"chosen", "chosen"}};
  tile::Record gone = fits;
  gone["chosen"] = "elsewhere";
  CHECK(tile::choose(candidates, {fits}).kernel.name == "chosen");
  CHECK(tile::choose(candidates, {gone, fits}).kernel.name == "chosen");
  CHECK(tile::choose(candidates, {gone}).kernel.name == "bound");
  CHECK(tile::choose(candidates, {}).kernel.name == "bound");
}
