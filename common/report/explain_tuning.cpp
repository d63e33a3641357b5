#include "common/report/explain_tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "common/report/ranks.hpp"

namespace tile {
namespace {

/// Terms whose weighted sum may be the time of a configuration.
struct Explanation {
  std::string key;
  std::vector<std::string> names;  ///< of its terms
  std::vector<double> (*terms)(const Observed&);
};

double copy(const Costs& c) { return c.load + c.store; }
std::vector<double> by_turns(const Timed& t) { return {t.costs.multiply, copy(t.costs), 1 / t.warps}; }

const Explanation explanations[] = {
    {"ceiling", {"ceiling"}, [](const Observed& o) { return std::vector{o.ceiling}; }},
    {"ceiling_and_warps",
     {"ceiling", "1/warps"},
     [](const Observed& o) {
       return std::vector{o.ceiling, 1 / o.timed.warps};
     }},
    {"overlap",
     {"larger of multiply and copy", "1/warps"},
     [](const Observed& o) {
       return std::vector{std::max(o.timed.costs.multiply, copy(o.timed.costs)), 1 / o.timed.warps};
     }},
    {"turns", {"multiply", "copy", "1/warps"}, [](const Observed& o) { return by_turns(o.timed); }},
    {"apart",
     {"multiply", "load", "store", "1/warps"},
     [](const Observed& o) {
       return std::vector{o.timed.costs.multiply, o.timed.costs.load, o.timed.costs.store, 1 / o.timed.warps};
     }},
    {"turns_and_sizes",
     {"multiply", "copy", "1/warps", "1/BM", "1/BN"},
     [](const Observed& o) {
       std::vector<double> terms = by_turns(o.timed);
       terms.insert(terms.end(), {1 / o.BM, 1 / o.BN});
       return terms;
     }},
    {"registers",
     {"multiply", "copy", "registers"},
     [](const Observed& o) {
       return std::vector{o.timed.costs.multiply, copy(o.timed.costs), o.timed.registers};
     }},
    {"sizes",
     {"1", "ceiling", "1/BM", "1/BN", "BK", "1/warps"},
     [](const Observed& o) { return std::vector{1.0, o.ceiling, 1 / o.BM, 1 / o.BN, o.BK, 1 / o.timed.warps}; }},
};

/// An explanation, fitted; each time is predicted from the others.
struct Explained {
  const Explanation* explanation;
  Fit fit;
  double rank_correlation, error;
};

std::vector<double> cycles_of(const std::vector<Timed>& timed) {
  std::vector<double> cycles;
  for (const Timed& t : timed) cycles.push_back(t.cycles);
  return cycles;
}

std::vector<Timed> timed_of(const std::vector<Observed>& left) {
  std::vector<Timed> timed;
  for (const Observed& o : left) timed.push_back(o.timed);
  return timed;
}

/// How the kernel's parts would add up if they take turns.
Fit fit_by_turns(const std::vector<Timed>& timed) {
  std::vector<std::vector<double>> terms;
  for (const Timed& t : timed) terms.push_back(by_turns(t));
  return least_squares(terms, cycles_of(timed));
}

std::vector<double> times_by(const Fit& fit, const std::vector<Timed>& timed) {
  std::vector<double> predicted;
  for (const Timed& t : timed) predicted.push_back(predicted_by(fit.weights, by_turns(t)));
  return predicted;
}

std::vector<Explained> explain(const std::vector<Observed>& left) {
  std::vector<Explained> found;
  if (left.empty()) return found;
  const std::vector<double> cycles = cycles_of(timed_of(left));
  for (const Explanation& e : explanations) {
    std::vector<std::vector<double>> terms;
    for (const Observed& o : left) terms.push_back(e.terms(o));
    const Fit fit = least_squares(terms, cycles);
    found.push_back({&e, fit, rank_correlation(fit.left_out, cycles), relative_error(fit.left_out, cycles)});
  }
  return found;
}

/// Facts of one fit by turns, and what it predicts for `timed`.
void add_fit_facts(Facts& facts, const std::string& key, const std::vector<double>& predicted,
                   const std::vector<Timed>& timed) {
  facts.measured(key + "count", double(timed.size()), 0);
  facts.measured(key + "rank_correlation", rank_correlation(predicted, cycles_of(timed)), 2);
  facts.measured(key + "error_percent", 100 * relative_error(predicted, cycles_of(timed)), 1);
}

void add_weight_facts(Facts& facts, const std::string& key, const std::vector<double>& weights) {
  facts.measured(key + "multiply", weights[0], 2);
  facts.measured(key + "copy", weights[1], 2);
  facts.measured(key + "warps", weights[2], 2);
}

// "1.1 · multiply + 0.75 · copy − 0.18 · 1/BM".
std::string sum_of(const std::vector<double>& weights, const std::vector<std::string>& names) {
  std::string sum;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i > 0) sum += weights[i] < 0 ? " − " : " + ";
    sum += fmt::format("{:.2g}", i > 0 ? std::abs(weights[i]) : weights[i]);
    if (names[i] != "1") sum += " · " + names[i];
  }
  return sum;
}

}  // namespace

std::vector<Observed> observed(const std::vector<CandidateCeiling>& left, const std::vector<Timed>& timed) {
  std::vector<Observed> found;
  for (const Timed& t : timed)
    for (const auto& [candidate, ceiling] : left) {
      if (candidate->kernel.name != t.costs.name) continue;
      const Tile& tile = candidate->kernel.tile;
      found.push_back({t, t.cycles * t.tflops / ceiling, double(tile.BM), double(tile.BN), double(tile.BK)});
    }
  return found;
}

std::size_t timed_until_fastest(const std::vector<Timed>& left, std::size_t first) {
  std::vector<Timed> sample;
  for (std::size_t i = first; i < left.size(); i += 5) sample.push_back(left[i]);
  const auto predicted = times_by(fit_by_turns(sample), left);
  const auto cycles = cycles_of(left);
  const auto fastest = std::size_t(std::min_element(cycles.begin(), cycles.end()) - cycles.begin());
  std::size_t timed = sample.size();
  if (fastest % 5 == first) return timed;
  for (std::size_t i = 0; i < left.size(); ++i) timed += i % 5 != first && predicted[i] <= predicted[fastest];
  return timed;
}

Table table_of_fits(const std::vector<Observed>& left) {
  Table table{"fits", "", {"sum", "rank correlation", "error, %"}, {}};
  table.caption = fmt::format("Sums fitted to the times of {} configurations; each time is predicted from the others",
                              left.empty() ? "no" : std::to_string(left.size()));
  for (const Explained& e : explain(left)) {
    table.rows.push_back({sum_of(e.fit.weights, e.explanation->names), format_number(e.rank_correlation, 2),
                          format_number(100 * e.error, 1)});
  }
  if (left.empty())
    for (const Explanation& e : explanations)
      table.rows.push_back(
          {fmt::format("{}", fmt::join(e.names, " + ")), "not yet measured", "not yet measured"});
  return table;
}

void add_explanation_facts(Facts& facts, const std::vector<Observed>& left, const std::vector<Timed>& everything) {
  const std::string fit = "tuning.fit.";
  for (const Explained& e : explain(left)) {
    facts.measured(fit + e.explanation->key + ".rank_correlation", e.rank_correlation, 2);
    facts.measured(fit + e.explanation->key + ".error_percent", 100 * e.error, 1);
  }
  const std::vector<std::string> results{"count", "rank_correlation", "error_percent"};
  const std::vector<std::string> weights{"multiply", "copy", "warps"};
  const auto pending = [&](const std::string& group, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) facts.not_yet_measured(fit + group + key);
  };
  if (left.empty()) {
    for (const Explanation& e : explanations) pending(e.key + ".", {"rank_correlation", "error_percent"});
    pending("apart.", {"load", "store"});
    pending("turns_and_sizes.", {"copy", "per_BM", "per_BN"});
    pending("left.", results);
    pending("left.", weights);
    pending("sum.", {"rank_correlation"});
    pending("", {"registers_against_warps", "sample.fewest", "sample.most", "sample.count"});
  } else {
    const std::vector<Timed> timed = timed_of(left);
    const std::vector<Explained> all = explain(left);
    const auto weight = [&](const std::string& key, std::size_t term) {
      return std::find_if(all.begin(), all.end(), [&](auto& e) { return e.explanation->key == key; })
          ->fit.weights[term];
    };
    facts.measured(fit + "apart.load", weight("apart", 1), 2);
    facts.measured(fit + "apart.store", weight("apart", 2), 2);
    facts.measured(fit + "turns_and_sizes.copy", weight("turns_and_sizes", 1), 2);
    facts.measured(fit + "turns_and_sizes.per_BM", weight("turns_and_sizes", 3), 2);
    facts.measured(fit + "turns_and_sizes.per_BN", weight("turns_and_sizes", 4), 2);
    const Fit turns = fit_by_turns(timed);
    add_weight_facts(facts, fit + "left.", turns.weights);
    add_fit_facts(facts, fit + "left.", turns.left_out, timed);
    std::vector<double> sums, few_warps, registers;
    for (const Timed& t : timed) {
      sums.push_back(t.costs.multiply + copy(t.costs));
      few_warps.push_back(1 / t.warps);
      registers.push_back(t.registers);
    }
    facts.measured(fit + "sum.rank_correlation", rank_correlation(sums, cycles_of(timed)), 2);
    facts.measured(fit + "registers_against_warps", rank_correlation(registers, few_warps), 2);
    std::size_t fewest = timed.size(), most = 0;
    for (std::size_t first = 0; first < 5; ++first) {
      fewest = std::min(fewest, timed_until_fastest(timed, first));
      most = std::max(most, timed_until_fastest(timed, first));
    }
    facts.measured(fit + "sample.count", double((timed.size() + 4) / 5), 0);
    facts.measured(fit + "sample.fewest", double(fewest), 0);
    facts.measured(fit + "sample.most", double(most), 0);
  }
  // What was pruned is timed only on demand, and then tests what the others say.
  std::vector<Timed> by_bound;
  for (const Timed& t : everything)
    if (t.pruned == "bound") by_bound.push_back(t);
  if (left.empty() || by_bound.empty()) {
    for (const char* group : {"pruned.", "all."}) pending(group, results);
    pending("all.", weights);
    return;
  }
  add_fit_facts(facts, fit + "pruned.", times_by(fit_by_turns(timed_of(left)), by_bound), by_bound);
  const Fit all = fit_by_turns(everything);
  add_weight_facts(facts, fit + "all.", all.weights);
  add_fit_facts(facts, fit + "all.", all.left_out, everything);
}

void write_predictions(std::ostream& out, const std::vector<Observed>& left, const std::vector<Timed>& everything) {
  if (left.empty()) {
    out << "not yet measured\t0\t0\t0\n";
    return;
  }
  const Fit turns = fit_by_turns(timed_of(left));
  const auto write = [&](const Timed& t, double predicted) {
    out << fmt::format("{}\t{:.3f}\t{:.3f}\t{}\n", t.costs.name, t.tflops * t.cycles / predicted, t.tflops,
                       t.pruned.empty() ? 0 : 1);
  };
  for (std::size_t i = 0; i < left.size(); ++i) write(left[i].timed, turns.left_out[i]);
  for (const Timed& t : everything)
    if (!t.pruned.empty()) write(t, predicted_by(turns.weights, by_turns(t)));
}

}  // namespace tile
