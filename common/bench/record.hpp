// bench/: how long kernels take on a GPU, and the records of it. In: launchers and problems, what the profiler and
// the disassembler print, a program's description of itself. Out: times of kernels and of cuBLAS in pairs
// (timing.hpp), records (here), ceilings that follow from counts (ceilings.hpp), and what is wrong with a record
// (programs.hpp). The program of this room is tile-record.
//
// A record is a directory, chapters/NN-name/measured/<gpu>/:
//   environment.json     GPU, driver, toolkit, date, clocks before and after, what an SM holds, digests of machine code
//   kernels.csv          registers, shared memory, blocks per SM
//   runs.csv             of each kernel and problem: its times in order, and clock and power meanwhile
//   cublas.csv           cuBLAS's times, each paired with one of that kernel
//   cublaslt.csv         the same of the fastest algorithm that cuBLASLt suggested
//   cublaslt-search.csv  of each problem how many algorithms cuBLASLt was asked for and suggested
//   metrics.csv          what the profiler and the disassembler say of a kernel; the chapter's rates are of no kernel
// A sweep has the same files with sweep- before their names, a tuning tuned-environment.json and tuned.csv. Medians,
// ratios and throughputs are not stored: they follow from the samples (summary_of) whenever a record is read.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/check/problem.hpp"

namespace tile {

/// A record that cannot be used; what() says which file, what is wrong, and what to do.
struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A record in memory: the environment, "rates" and "kernels". A kernel has the fields of kernels.csv,
/// "runs", and an object for each set of metrics; so does "other_kernels", by function. A tuning has "candidates" and
/// "chosen".
using Record = nlohmann::json;

enum class RecordKind { measured, tuned, sweep };

/// Reads one record, and sums up its runs. Throws RecordError.
Record load_record(const std::filesystem::path& directory, RecordKind kind = RecordKind::measured);
/// Writes a record into a directory, file by file. Throws RecordError.
void save_record(const std::filesystem::path& directory, const Record& record);
/// Whether the directory holds a record of that kind.
bool holds_record(const std::filesystem::path& directory, RecordKind kind);

/// The GPU whose records the book is written from.
inline constexpr const char* reference_gpu = "NVIDIA H200";

/// Where a chapter keeps what was found on a GPU: on an "NVIDIA H200", in measured/nvidia-h200.
std::filesystem::path record_directory(const std::filesystem::path& chapter_directory, const std::string& gpu_name);

/// The directories with a record of that kind, the reference GPU's first, then by name.
std::vector<std::filesystem::path> record_directories(const std::filesystem::path& chapter_directory,
                                                      RecordKind kind = RecordKind::measured);

/// All records of a chapter, in that order. Throws RecordError.
std::vector<Record> load_records(const std::filesystem::path& chapter_directory,
                                 RecordKind kind = RecordKind::measured);

/// A problem as a run has it: "M", "N", "K", its name as "problem", and its "types" where they are not FP32.
Record to_json(const Problem& problem);
/// The problem with this name (see key_of), which is that of a run's "problem". Throws RecordError for what names none.
Problem problem_named(const std::string& key);

/// The run of `kernel` on that problem, or nullptr. Its types are the kernel's: they are not compared.
const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem);
/// The same at M = N = K = size, row by row, without padding.
const Record* find_run(const Record& record, const std::string& kernel, int size);
/// The entry of `kernel` (registers, counters, ...), or nullptr.
const Record* find_kernel(const Record& record, const std::string& kernel);
/// What a tuning says of a configuration, or nullptr.
const Record* find_timed(const Record& tuning, const std::string& name);

}  // namespace tile
