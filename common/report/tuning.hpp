// The tuner's choice. In: a chapter's candidates, and what `--tune` measured of them: one JSON file per chapter and GPU,
// chapters/NN-name/tuned/<gpu>.json. Out: the candidate that "tuned" stands for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#include "common/report/statistics.hpp"

namespace tile {

/// Where the tuning of a GPU is kept.
std::filesystem::path tuning_file(const std::string& gpu_name);

/// All tunings of the chapter, the reference GPU's first, then by file name. Throws RecordError.
std::vector<Record> load_tunings();

/// The candidate that the first usable one of `tunings` chose, or, when none is, the one with the highest bound that is
/// not pruned. `passed_over` receives a line for each tuning before that which is of other code, or chose a
/// configuration that is not among the candidates.
const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        const Record& fingerprint, std::vector<std::string>& passed_over);

}  // namespace tile
