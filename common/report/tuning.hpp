// What a tuner measured: one JSON file per chapter and GPU, chapters/NN-name/tuned/<gpu>.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/measure/record.hpp"
#include "common/report/chapter.hpp"

namespace tile {

/// Where the tuning of a GPU is kept.
std::filesystem::path tuning_file(const std::string& gpu_name);

/// All tunings of the chapter, the reference GPU's first, then by file name. Throws RecordError.
std::vector<Record> load_tunings();

/// The tuning of a GPU, or nothing if there is none; of the reference GPU by default. Throws RecordError when the file
/// cannot be read.
std::optional<Record> load_tuning(const std::string& gpu_name = "NVIDIA H200");

/// Spearman's rank correlation of two equally long lists: 1 when they rank their elements alike, -1 when oppositely.
/// Equal values share the mean of their ranks. (C. Spearman, "The proof and measurement of association between two
/// things", 1904.)
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tile
