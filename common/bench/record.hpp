// records/: what was measured on a GPU, one JSON file per chapter and GPU, chapters/NN-name/measured/<gpu>.json. In: times, and what
// the profiler and the disassembler print (merge.hpp). Out: records that fit their program (machine_code.hpp), themselves
// (consistency.hpp) and the model's counts (check.hpp). The program of this room is tile-record.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tile {

/// A record file that cannot be used; what() says which file, what is wrong, and what to do.
struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Record = nlohmann::json;

/// Reads and validates one record. Throws RecordError.
Record load_record(const std::filesystem::path& file);
/// The same for the record of a tuning, chapters/NN-name/tuned/<gpu>.json.
Record load_tuning(const std::filesystem::path& file);
/// The same for the record of a sweep, chapters/NN-name/sweep/<gpu>.json.
Record load_sweep(const std::filesystem::path& file);
/// Writes a record whole or not at all, arrays of numbers on one line each. Throws RecordError.
void save_record(const std::filesystem::path& file, const Record& record);

/// "NVIDIA H200" -> "nvidia-h200".
std::string slug(const std::string& gpu_name);

/// The GPU whose records the book is written from.
inline constexpr const char* reference_gpu = "NVIDIA H200";

/// Where a chapter keeps what was found on a GPU; `kind` is "measured", "tuned" or "sweep".
std::filesystem::path record_file(const std::filesystem::path& chapter_directory, const std::string& kind,
                                  const std::string& gpu_name);

/// The files of that kind that there are, the reference GPU's first, then by name.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& chapter_directory,
                                                const std::string& kind);

/// All records of a chapter directory, in the order of `record_files`. Throws RecordError.
std::vector<Record> load_records(const std::filesystem::path& chapter_directory);

/// The run of `kernel` at M = N = K = size in FP32, row by row, without padding, or nullptr.
const Record* find_run(const Record& record, const std::string& kernel, int size);
/// The same at these extents. (Of any problem: problem.hpp.)
const Record* find_run(const Record& record, const std::string& kernel, int M, int N, int K);
/// The entry of `kernel` (registers, counters, ...), or nullptr.
const Record* find_kernel(const Record& record, const std::string& kernel);
/// What a tuning says of a configuration, or nullptr.
const Record* find_timed(const Record& tuning, const std::string& name);

}  // namespace tile
