// The tuner on the model: ranks its candidates, and explains their times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chapters/07-autotuning/fit.hpp"
#include "chapters/07-autotuning/tuning.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

double copy(const Timed& t) { return t.costs.load + t.costs.store; }

const std::map<std::string, double (*)(const Timed&)> terms{
    {"1", [](const Timed&) { return 1.0; }},
    {"ceiling", [](const Timed& t) { return t.ceiling; }},
    {"multiply", [](const Timed& t) { return t.costs.multiply; }},
    {"copy", copy},
    {"larger of multiply and copy",
     [](const Timed& t) { return std::max(t.costs.multiply, copy(t)); }},
    {"load", [](const Timed& t) { return t.costs.load; }},
    {"store", [](const Timed& t) { return t.costs.store; }},
    {"1/warps", [](const Timed& t) { return 1 / t.warps; }},
    {"registers", [](const Timed& t) { return t.registers; }},
    {"1/BM", [](const Timed& t) { return 1.0 / t.tile.BM; }},
    {"1/BN", [](const Timed& t) { return 1.0 / t.tile.BN; }},
    {"BK", [](const Timed& t) { return double(t.tile.BK); }}};

/// Terms whose weighted sum may be the time of a configuration.
struct Sum {
  std::string key;
  std::vector<std::string> terms;
};
const Sum serial_sum{
    "turns", {"multiply", "copy", "1/warps"}};  // the kernel's parts, one after the other
const Sum sums[] = {{"ceiling", {"ceiling"}},
                    {"ceiling_and_warps", {"ceiling", "1/warps"}},
                    {"overlap", {"larger of multiply and copy", "1/warps"}},
                    serial_sum,
                    {"apart", {"multiply", "load", "store", "1/warps"}},
                    {"turns_and_sizes", {"multiply", "copy", "1/warps", "1/BM", "1/BN"}},
                    {"registers", {"multiply", "copy", "registers"}},
                    {"sizes", {"1", "ceiling", "1/BM", "1/BN", "BK", "1/warps"}}};

std::vector<double> each(const std::vector<Timed>& timed, double (*value)(const Timed&)) {
  std::vector<double> values;
  for (const Timed& t : timed) values.push_back(value(t));
  return values;
}
std::vector<double> cycles_of(const std::vector<Timed>& timed) {
  return each(timed, [](const Timed& t) { return t.cycles; });
}

std::vector<double> terms_of(const Sum& sum, const Timed& t) {
  std::vector<double> values;
  for (const std::string& name : sum.terms) values.push_back(terms.at(name)(t));
  return values;
}

Fit fitted(const Sum& sum, const std::vector<Timed>& timed) {
  std::vector<std::vector<double>> rows;
  for (const Timed& t : timed) rows.push_back(terms_of(sum, t));
  return least_squares(rows, cycles_of(timed));
}

double predicted_time(const Fit& serial, const Timed& t) {
  return predicted_by(serial.weights, terms_of(serial_sum, t));
}

template <class Condition>
std::vector<Timed> those(const std::vector<Timed>& timed, Condition condition) {
  std::vector<Timed> found;
  std::copy_if(timed.begin(), timed.end(), std::back_inserter(found), condition);
  return found;
}
std::vector<Timed> not_pruned(const std::vector<Timed>& timed) {
  return those(timed, [](const Timed& t) { return t.ceiling > 0; });
}

// "1.1 · multiply + 0.75 · copy − 0.18 · 1/BM".
std::string text_of(const Fit& fit, const Sum& sum) {
  std::string text;
  for (std::size_t i = 0; i < fit.weights.size(); ++i) {
    const double weight = fit.weights[i];
    if (i > 0) text += weight < 0 ? " − " : " + ";
    text += fmt::format("{:.2g}", i > 0 ? std::abs(weight) : weight);
    if (sum.terms[i] != "1") text += " · " + sum.terms[i];
  }
  return text;
}

// Counts every candidate that is worth timing; the highest ceiling first. `tuning` may be null.
std::vector<Ranked> rank_by_ceilings(const Tuner& tuner, const Record* tuning) {
  const Rates rates = reference_rates();
  const Case small{256, 256, 64}, large{4096, 4096, 4096};
  std::vector<Ranked> ranking;
  for (const Candidate& candidate : tuner.candidates) {
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

// As Landscape::timed.
std::vector<Timed> times_to_explain(const Tuner& tuner, const std::vector<Ranked>& ranking,
                                    const Record* tuning) {
  if (tuning == nullptr || !all_timed(ranking)) return {};
  const double size = tuning->at("size"), fmas = size * size * size / 32;
  const double cycles_per_ms =
      tuning->at("clock_hz").get<double>() * tuning->at("sms").get<double>() * 1e-3;
  std::vector<Timed> found;
  for (const Costs& costs : tuner.costs) {
    const Record* entry = find_timed(*tuning, costs.name);
    if (entry == nullptr || entry->at("spill_bytes") != 0) continue;
    Timed t{costs,
            entry->at("blocks_per_sm").get<double>() *
                entry->at("block_threads").get<double>() / 32,
            entry->at("registers"),
            entry->at("median_ms").get<double>() * cycles_per_ms / fmas,
            entry->at("tflops"),
            entry->at("pruned")};
    for (const Ranked& r : ranking)
      if (r.candidate->kernel.name == costs.name) {
        t.ceiling = t.cycles * t.tflops / r.tightest.tflops;
        t.tile = r.candidate->kernel.tile;
      }
    found.push_back(t);
  }
  return found;
}

// Several sums of terms, fitted: weights, and how well each time is predicted from the others.
Table table_of_fits(const std::vector<Timed>& timed) {
  const auto left = not_pruned(timed);
  const auto cycles = cycles_of(left);
  Table table{"fits", "", {"sum", "rank correlation", "error, %"}, {}};
  table.caption = fmt::format(
      "Sums fitted to the times of {} configurations; each time is predicted from the others",
      left.empty() ? "no" : std::to_string(left.size()));
  for (const Sum& sum : sums) {
    if (left.empty()) {
      table.rows.push_back({fmt::format("{}", fmt::join(sum.terms, " + ")), "not yet measured",
                            "not yet measured"});
      continue;
    }
    const Fit fit = fitted(sum, left);
    table.rows.push_back({text_of(fit, sum),
                          format_number(rank_correlation(fit.left_out, cycles), 2),
                          format_number(100 * relative_error(fit.left_out, cycles), 1)});
  }
  return table;
}

// The text of fit.tsv: what the serial sum predicts of each configuration that was timed, fitted to the others of those not pruned.
std::string plot_of_fit(const std::vector<Timed>& timed) {
  const auto left = not_pruned(timed);
  if (left.empty()) return "not yet measured\t0\t0\t0\n";
  const Fit serial = fitted(serial_sum, left);
  std::string text;
  const auto add = [&](const Timed& t, double predicted) {
    text += fmt::format("{}\t{:.3f}\t{:.3f}\t{}\n", t.costs.name,
                        t.tflops * t.cycles / predicted, t.tflops, t.ceiling > 0 ? 0 : 1);
  };
  for (std::size_t i = 0; i < left.size(); ++i) add(left[i], serial.left_out[i]);
  for (const Timed& t : timed)
    if (t.ceiling == 0) add(t, predicted_time(serial, t));
  return text;
}

// What facts about one configuration start with; a key has no spaces.
std::string key_of(const Ranked& r) {
  std::string key = "tuning.at." + r.candidate->kernel.name;
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

// The facts that the functions after this one give, before there are times.
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

std::size_t timed_until_fastest(const std::vector<Timed>& timed, std::size_t first) {
  std::vector<Timed> sample;
  for (std::size_t i = first; i < timed.size(); i += 5) sample.push_back(timed[i]);
  const Fit serial = fitted(serial_sum, sample);
  const auto fastest = std::min_element(timed.begin(), timed.end(),
                                        [](auto& a, auto& b) { return a.cycles < b.cycles; });
  std::size_t count = sample.size();
  if (std::size_t(fastest - timed.begin()) % 5 == first) return count;
  for (std::size_t i = 0; i < timed.size(); ++i)
    count +=
        i % 5 != first && predicted_time(serial, timed[i]) <= predicted_time(serial, *fastest);
  return count;
}

void add_fit_facts(Facts& facts, const std::vector<Timed>& timed) {
  const auto left = not_pruned(timed),
             by_bound = those(timed, [](const Timed&t) { return t.pruned == "bound"; });
  const auto cycles = cycles_of(left);
  const auto give = [&](const std::string& key, int decimals, bool known, auto&& value) {
    add_measured(facts, "tuning.fit." + key,
                 known ? std::optional(double(value())) : std::nullopt, decimals);
  };
  const auto give_quality = [&](const std::string& key, bool known,
                                const std::vector<double>& predicted,
                                const std::vector<double>& of) {
    give(key + "rank_correlation", 2, known, [&] { return rank_correlation(predicted, of); });
    give(key + "error_percent", 1, known, [&] { return 100 * relative_error(predicted, of); });
  };
  const bool known = !left.empty();
  std::map<std::string, Fit> fits;
  for (const Sum& sum : sums) {
    if (known) fits[sum.key] = fitted(sum, left);
    give_quality(sum.key + ".", known, fits[sum.key].left_out, cycles);
  }
  const auto give_weight = [&](const std::string& key, bool is_known, const Fit& fit,
                               std::size_t term) {
    give(key, 2, is_known, [&] { return fit.weights[term]; });
  };
  const auto give_weights = [&](const std::string& key, bool is_known, const Fit& serial) {
    give_weight(key + "multiply", is_known, serial, 0);
    give_weight(key + "copy", is_known, serial, 1);
    give_weight(key + "warps", is_known, serial, 2);
  };
  give_weight("apart.load", known, fits["apart"], 1);
  give_weight("apart.store", known, fits["apart"], 2);
  give_weight("turns_and_sizes.copy", known, fits["turns_and_sizes"], 1);
  give_weight("turns_and_sizes.per_BM", known, fits["turns_and_sizes"], 3);
  give_weight("turns_and_sizes.per_BN", known, fits["turns_and_sizes"], 4);
  const Fit& serial = fits["turns"];
  give_weights("left.", known, serial);
  give("left.count", 0, known, [&] { return left.size(); });
  give_quality("left.", known, serial.left_out, cycles);
  const auto correlation = [&](double (*a)(const Timed&), double (*b)(const Timed&)) {
    return rank_correlation(each(left, a), each(left, b));
  };
  give("sum.rank_correlation", 2, known, [&] {
    return correlation([](auto& t) { return t.costs.multiply + copy(t); },
                       [](auto& t) { return t.cycles; });
  });
  give("registers_against_warps", 2, known, [&] {
    return correlation([](auto& t) { return t.registers; },
                       [](auto& t) { return 1 / t.warps; });
  });
  std::vector<std::size_t> until;
  for (std::size_t first = 0; known && first < 5; ++first)
    until.push_back(timed_until_fastest(left, first));
  give("sample.count", 0, known, [&] { return (left.size() + 4) / 5; });
  give("sample.fewest", 0, known,
       [&] { return *std::min_element(until.begin(), until.end()); });
  give("sample.most", 0, known, [&] { return *std::max_element(until.begin(), until.end()); });
  // What was pruned is timed only on demand, and then tests what the others say.
  const bool tested = known && !by_bound.empty();
  std::vector<double> predicted;
  for (const Timed& t : by_bound)
    if (tested) predicted.push_back(predicted_time(serial, t));
  give("pruned.count", 0, tested, [&] { return by_bound.size(); });
  give_quality("pruned.", tested, predicted, cycles_of(by_bound));
  const Fit all = tested ? fitted(serial_sum, timed) : Fit{};
  give_weights("all.", tested, all);
  give("all.count", 0, tested, [&] { return timed.size(); });
  give_quality("all.", tested, all.left_out, cycles_of(timed));
}

namespace {

// Loads the chapter's tunings, and counts every candidate that is worth timing.
Landscape find_landscape(const Tuner& tuner) {
  Landscape found;
  found.tunings = load_records(chapter_directory(), RecordKind::tuned);
  found.ranking = rank_by_ceilings(tuner, first_of(found.tunings));
  found.timed = times_to_explain(tuner, found.ranking, first_of(found.tunings));
  return found;
}

// Facts `tuning.*`. What needs times is not yet measured unless all candidates were timed.
void add_tuning_facts(Facts& facts, const Landscape& landscape) {
  const auto& ranking = landscape.ranking;
  facts.counted("tuning.count", double(ranking.size()));
  facts.text("tuning.model_choice", "counted", ranking.front().candidate->kernel.name);
  facts.counted("tuning.model_choice.ceiling", ranking.front().tightest.tflops);
  facts.counted("tuning.model_top10.lowest_ceiling",
                ranking[std::min<std::size_t>(10, ranking.size()) - 1].tightest.tflops);
  if (landscape.tunings.empty() || !all_timed(ranking)) {
    add_missing_tuning_facts(facts, ranking);
  } else {
    add_ranking_facts(facts, ranking);
    add_pruned_facts(facts, landscape.tunings.front());
  }
  add_fit_facts(facts, landscape.timed);
}

// The text of landscape.tsv.
std::string plot_of_landscape(const Landscape& landscape) {
  std::string text;
  for (const Ranked& r : by_measurement(landscape.ranking)) {
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

Extension extension_of(const Tuner& tuner) {
  const auto report = [tuner](Report& report) {
    const Landscape landscape = find_landscape(tuner);
    add_tuning_facts(report.facts, landscape);
    report.tables.push_back(table_of_tuning(landscape.ranking, landscape.tunings));
    report.tables.push_back(table_of_fits(landscape.timed));
    report.files = {{"landscape.tsv", plot_of_landscape(landscape)},
                    {"fit.tsv", plot_of_fit(landscape.timed)}};
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
  constexpr std::size_t best = 12, worst = 4;
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
  CHECK(table.rows.size() == 17);
  CHECK(table.rows.at(12).front() == "(4 others)");
  CHECK(table.rows.at(12).size() == table.header.size());
  CHECK(tile::table_of_tuning({16, ranking.front()}, {}).rows.size() == 16);
}

TEST_CASE("a tuning is passed over whose choice is not there" * doctest::test_suite("model")) {
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

// Configurations whose times are 1.5 multiply + 0.5 copy + 2 / warps, to the last digit.
std::vector<tile::Timed> timed_by_turns(int count, const std::string& pruned) {
  std::vector<tile::Timed> timed;
  for (int i = 0; i < count; ++i) {
    const tile::Costs costs{std::to_string(i) + pruned, 0.25 + i * 7 % 11 * 0.01,
                            0.01 * (i * 5 % 13), 0.02 * (i % 4)};
    const double warps = 8 + 4 * (i * 3 % 5);
    const double cycles = 1.5 * costs.multiply + 0.5 * (costs.load + costs.store) + 2 / warps;
    const int tiles[]{32, 64, 128};
    timed.push_back(
        {costs,
         warps,
         255 - 4 * warps - i % 3,
         cycles,
         16 / cycles,
         pruned,
         pruned.empty() ? 16 / (50 + double(i * 3 % 7)) : 0,
         {tiles[i % 3], tiles[i / 3 % 3], tiles[i / 5 % 3], tile::Alignment::any}});
  }
  return timed;
}

TEST_CASE("a sample is timed, and then what it predicts to be as fast as the fastest" *
          doctest::test_suite("model")) {
  std::vector<tile::Timed> timed = timed_by_turns(40, "");
  const double as_predicted = timed[6].cycles;
  timed[6].cycles = 0.1;  // the fastest, which nobody could have predicted
  std::size_t in_sample = 0, as_fast = 0;
  for (std::size_t i = 0; i < timed.size(); ++i)
    (i % 5 == 2 ? in_sample : as_fast) += i % 5 == 2 || timed[i].cycles < as_predicted + 1e-9;
  CHECK(in_sample == 8);
  CHECK(as_fast > 5);
  CHECK(tile::timed_until_fastest(timed, 2) == in_sample + as_fast);
  CHECK(tile::timed_until_fastest(timed, 1) == 8);
}

TEST_CASE("the report finds how costs add up, and tests that on what was pruned" *
          doctest::test_suite("model")) {
  std::vector<tile::Timed> timed = timed_by_turns(40, "");
  for (const tile::Timed& pruned : timed_by_turns(15, "bound")) timed.push_back(pruned);
  tile::Facts facts;
  tile::add_fit_facts(facts, timed);
  CHECK(facts.value("tuning.fit.left.multiply") == doctest::Approx(1.5));
  CHECK(facts.value("tuning.fit.left.copy") == doctest::Approx(0.5));
  CHECK(facts.value("tuning.fit.left.warps") == doctest::Approx(2));
  CHECK(facts.value("tuning.fit.turns.rank_correlation") >
        0.999);  // ties do not stay ties to the last digit
  CHECK(facts.value("tuning.fit.ceiling.rank_correlation") < 0.9);
  CHECK(facts.value("tuning.fit.turns_and_sizes.per_BN") == doctest::Approx(0));
  CHECK(facts.value("tuning.fit.pruned.count") == 15);
  CHECK(facts.value("tuning.fit.pruned.error_percent") == doctest::Approx(0));
  CHECK(facts.value("tuning.fit.all.count") == 55);
  CHECK(facts.value("tuning.fit.sample.count") == 8);
  CHECK(facts.value("tuning.fit.sample.fewest") == 8);
  CHECK(facts.value("tuning.fit.sample.most") ==
        9);  // such a fit knows the fastest from a sample

  tile::Facts none;
  tile::add_fit_facts(none, {});
  REQUIRE(none.all().size() == facts.all().size());
  const auto has = [](const tile::Facts& f, const std::string& key) {
    return std::any_of(f.all().begin(), f.all().end(),
                       [&](auto& fact) { return fact.key == key; });
  };
  for (const auto& fact : facts.all()) CHECK_MESSAGE(has(none, fact.key), fact.key);
}
