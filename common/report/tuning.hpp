// What a tuner measured: one JSON file per chapter and GPU, chapters/NN-name/tuned/<gpu>.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/measure/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// Where the tuning of a GPU is kept.
std::filesystem::path tuning_file(const std::string& gpu_name);

/// All tunings of the chapter, the reference GPU's first, then by file name. Throws RecordError.
std::vector<Record> load_tunings();

/// One tuning. Throws RecordError.
Record load_tuning(const std::filesystem::path& file);

/// What a tuning says of a configuration, or nullptr.
const Record* find_timed(const Record& tuning, const std::string& name);

/// The candidate that the first usable one of `tunings` chose, or, when none is, the one with the highest bound that is
/// not pruned. `passed_over` receives a line for each tuning before that which is of other code, or chose a
/// configuration that is not among the candidates.
const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        const Record& fingerprint, std::vector<std::string>& passed_over);

/// Spearman's rank correlation of two equally long lists: 1 when they rank their elements alike, -1 when oppositely.
/// Equal values share the mean of their ranks. (C. Spearman, "The proof and measurement of association between two
/// things", 1904.)
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tile
