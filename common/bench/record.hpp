// bench/: timing kernels on a GPU, and the records of it. In: launchers and problems, the output of the profiler and
// the disassembler. Out: times (timing.hpp), records (here), ceilings from counts (ceilings.hpp). Its program is tile-record.
//
// A record is a directory, chapters/NN-name/measured/<gpu>/:
//   environment.json     GPU, driver, toolkit, date, clocks before and after, digests of machine code;
//                        registers, shared memory and blocks per SM of each kernel, in the order of the chapter
//   runs.csv             for each kernel and problem: its times in order, and clock and power meanwhile
//   cublas.csv           cuBLAS's times, each paired with one of that kernel
//   cublaslt.csv         the same for the fastest algorithm that cuBLASLt suggested
//   metrics.csv          metrics of the profiler and the disassembler for each kernel; the chapter's rates have no kernel
// A sweep has the same files with the prefix sweep-, a tuning has tuned-environment.json and tuned.csv. Medians, ratios
// and throughputs are not stored: they are computed from the samples (summary_of) whenever a record is read.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/check/problem.hpp"

namespace tile {

/// Thrown for a record that cannot be used; what() says which file, what is wrong, and what to do.
struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A record in memory: the environment, "rates" and "kernels". A kernel has its fields of environment.json,
/// "runs", and an object for each set of metrics; so does "other_kernels". A tuning has "candidates" and "chosen".
using Record = nlohmann::json;

enum class RecordKind { measured, tuned, sweep };

/// Reads one record, and summarises its runs. Throws RecordError.
Record load_record(const std::filesystem::path& directory, RecordKind kind = RecordKind::measured);
/// Writes a record into a directory, file by file. Throws RecordError.
void save_record(const std::filesystem::path& directory, const Record& record);
/// Whether the directory holds a record of that kind.
bool holds_record(const std::filesystem::path& directory, RecordKind kind);

/// The GPU whose records the book is written from.
inline constexpr const char* reference_gpu = "NVIDIA H200";

/// The directory of a chapter's records for a GPU: for an "NVIDIA H200", measured/nvidia-h200.
std::filesystem::path record_directory(const std::filesystem::path& chapter_directory, const std::string& gpu_name);

/// The directories with a record of that kind, the reference GPU's first, then by name.
std::vector<std::filesystem::path> record_directories(const std::filesystem::path& chapter_directory,
                                                      RecordKind kind = RecordKind::measured);

/// All records of a chapter, in that order. Throws RecordError.
std::vector<Record> load_records(const std::filesystem::path& chapter_directory,
                                 RecordKind kind = RecordKind::measured);

/// A problem in a run's form: "M", "N", "K", its name as "problem", and its "types" if they are not FP32.
Record to_json(const Problem& problem);
/// The problem with this name (see key_of), as in a run's "problem". Throws RecordError for an invalid name.
Problem problem_named(const std::string& key);

/// The run of `kernel` on that problem, or nullptr. Types are not compared: they are always the kernel's.
const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem);
/// The same for M = N = K = size, row-major, without padding.
const Record* find_run(const Record& record, const std::string& kernel, int size);
/// The entry of `kernel` (registers, counters, ...), or nullptr.
const Record* find_kernel(const Record& record, const std::string& kernel);
/// The entry of a configuration in a tuning, or nullptr.
const Record* find_timed(const Record& tuning, const std::string& name);

}  // namespace tile
