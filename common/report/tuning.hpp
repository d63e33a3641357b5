// The tuner's choice. In: a chapter's candidates, and what `--tune` measured of them (chapters/NN-name/measured/<gpu>/tuned.csv).
// Out: the candidate that "tuned" stands for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#include "common/report/statistics.hpp"

namespace tile {

/// The candidate that the first usable one of `tunings` chose, or, when none is, the one with the highest bound that is
/// not pruned. `passed_over` receives a line for each tuning before that which chose a configuration that is not among the
/// candidates.
const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        std::vector<std::string>& passed_over);

}  // namespace tile
