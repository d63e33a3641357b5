// What was measured on a GPU: one JSON file per chapter and GPU, chapters/NN-name/measured/<gpu>.json.
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

/// The fingerprint of a chapter's program up to its first test: 16 hex digits over its text without comments, white
/// space and the function `predict`, which is arithmetic for the prose and runs on no GPU. A record belongs to a program when their fingerprints agree.
std::string fingerprint(const std::filesystem::path& source);

/// Reads and validates one record. Throws RecordError.
Record load_record(const std::filesystem::path& file);
/// Writes a record whole or not at all. Throws RecordError.
void save_record(const std::filesystem::path& file, const Record& record);

/// All records of a chapter directory, the reference GPU (nvidia-h200) first, then by name. Throws RecordError.
std::vector<Record> load_records(const std::filesystem::path& chapter_directory);

/// "NVIDIA H200" -> "nvidia-h200".
std::string slug(const std::string& gpu_name);

/// The run of `kernel` at M = N = K = size, or nullptr.
const Record* find_run(const Record& record, const std::string& kernel, int size);
/// The entry of `kernel` (registers, counters, ...), or nullptr.
const Record* find_kernel(const Record& record, const std::string& kernel);

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel of the record, the
/// counters of its last launch, under the key `group`; launches of other kernels go under "other_kernels". Throws RecordError.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

/// Counts instructions by opcode in the output of `cuobjdump -sass` for each kernel of the record: of the whole function
/// under "sass", and of its main loop, the smallest loop that holds at least half of its FFMA, under "sass_loop". "all"
/// counts every instruction, "reuse" the operands flagged .reuse.
void add_sass(Record& record, const std::filesystem::path& sass);

}  // namespace tile
