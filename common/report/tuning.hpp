// What a tuner measured, chapters/NN-name/measured/<gpu>/tuned.csv: which candidate it chose, and what explains its times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// The candidate that the first usable one of `tunings` chose, or, when none is, the one with the highest bound that is
/// not pruned. `passed_over` receives a line for each tuning before that which chose a configuration that is not among the
/// candidates.
const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        std::vector<std::string>& passed_over);

/// A configuration that was timed, and what may explain its time.
struct Timed {
  Costs costs;
  double warps;      ///< resident on an SM
  double registers;  ///< of a thread
  double cycles;     ///< measured, in the unit of the costs: cycles of an SM for each warp-wide FMA
  double tflops;     ///< measured
  std::string pruned;
};

/// What a tuning timed and `costs` describe, without what spills registers: their traffic is not in the costs.
std::vector<Timed> timed_with_costs(const Record& tuning, const std::vector<Costs>& costs);

/// values = weights * terms, as nearly as least squares can.
struct Fit {
  std::vector<double> weights;   ///< one for each term
  std::vector<double> left_out;  ///< what the other observations predict for each
};

/// Fits by least squares; `terms` are those of each observation. Throws std::invalid_argument unless there are more
/// observations than terms, and for terms of which one follows from the others.
Fit least_squares(const std::vector<std::vector<double>>& terms, const std::vector<double>& values);

/// What weights predict for an observation with these terms.
double predicted_by(const std::vector<double>& weights, const std::vector<double>& terms);

/// The root of the mean square of predicted / measured - 1.
double relative_error(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace tile
