#include "common/report/tuned_ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/report/counted.hpp"
#include "common/report/output_file.hpp"
#include "common/report/ranks.hpp"
#include "common/report/rates.hpp"
#include "common/report/tuning.hpp"

namespace tile {
namespace {

std::vector<Ranked> by_measurement(std::vector<Ranked> ranking) {
  std::stable_sort(ranking.begin(), ranking.end(), [](auto& a, auto& b) { return a.tflops() > b.tflops(); });
  return ranking;
}

// What facts about one configuration start with; a key has no spaces.
std::string key_of(const Ranked& r) {
  std::string key = "tuning.at." + r.candidate->kernel.name;
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

// The facts that the three functions after this one give, before there are times.
void add_missing_facts(Facts& facts, const std::vector<Ranked>& ranking) {
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
  for (const std::string& key : keys) facts.not_yet_measured("tuning." + key);
  for (const char* key : {"best", "pruned.best", "pruned.best.reason"})
    facts.not_yet_measured(std::string("tuning.") + key);
  for (const Ranked& r : ranking)
    for (const char* what : {".tflops", ".registers", ".blocks"}) facts.not_yet_measured(key_of(r) + what);
}

// How the ranking by ceilings does against the times.
void add_ranking_facts(Facts& facts, const std::vector<Ranked>& ranking) {
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
}

// Each configuration by its name.
void add_configuration_facts(Facts& facts, const std::vector<Ranked>& ranking) {
  for (const Ranked& r : ranking) {
    const std::string key = key_of(r);
    facts.measured(key + ".tflops", r.tflops(), 1);
    facts.measured(key + ".registers", r.timed->at("registers").get<double>(), 0);
    facts.measured(key + ".blocks", r.timed->at("blocks_per_sm").get<double>(), 0);
  }
}

// What was timed although it had been pruned.
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

}  // namespace

std::vector<Ranked> rank_by_ceilings(const Record* tuning) {
  const Rates rates = reference_rates();
  const Case small{256, 256, 64}, large{4096, 4096, 4096};
  std::vector<Ranked> ranking;
  for (const Candidate& candidate : this_chapter().candidates) {
    if (!candidate.pruned.empty()) continue;
    const CountedWork shallow = count_at_depth(candidate.kernel, small, 32),
                      deep = count_at_depth(candidate.kernel, small, small.K);
    Ranked r{&candidate, ceilings(work_at(large, shallow, deep), rates).front(), nullptr};
    if (tuning != nullptr) r.timed = find_timed(*tuning, candidate.kernel.name);
    ranking.push_back(r);
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](auto& a, auto& b) { return a.tightest.tflops > b.tightest.tflops; });
  return ranking;
}

bool all_timed(const std::vector<Ranked>& ranking) {
  return std::all_of(ranking.begin(), ranking.end(), [](auto& r) { return r.timed != nullptr; });
}

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
    if (i >= best && i + worst < ordered.size()) {
      if (i > best) continue;
      std::vector<std::string> row(table.header.size() + (tunings.size() > 1 ? tunings.size() - 1 : 0));
      row.front() = fmt::format("({} others)", ordered.size() - best - worst);
      table.rows.push_back(row);
      continue;
    }
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
  if (tuning == nullptr || !all_timed(ranking)) {
    add_missing_facts(facts, ranking);
    return;
  }
  add_ranking_facts(facts, ranking);
  add_configuration_facts(facts, ranking);
  add_pruned_facts(facts, *tuning);
}

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

}  // namespace tile
