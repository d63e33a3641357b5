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

/// What a GPU program is made of, as an object: 16 hex digits for the chapter's program up to its first test, and for each
/// header of common/cuda that it includes, directly or not; and under "flags" how nvcc compiles it. Comments, white space and
/// the function `predict`, which is arithmetic for the prose and runs on no GPU, do not count, and neither does
/// vocabulary.hpp, which nvcc never sees. A record belongs to a program when their fingerprints are equal. `root` is where
/// included names start, the top of this repository unless given. Throws RecordError for a file that cannot be read.
Record fingerprint(const std::filesystem::path& source);
Record fingerprint(const std::filesystem::path& source, const std::filesystem::path& root);

/// Which parts of two fingerprints differ: "chapter04.cu, flags", or "" when they are equal.
std::string changed_parts(const Record& recorded, const Record& own);

/// Reads and validates one record. Throws RecordError.
Record load_record(const std::filesystem::path& file);
/// Writes a record whole or not at all, arrays of numbers on one line each. Throws RecordError.
void save_record(const std::filesystem::path& file, const Record& record);

/// "NVIDIA H200" -> "nvidia-h200".
std::string slug(const std::string& gpu_name);

/// The GPU whose records the book is written from.
inline constexpr const char* reference_gpu = "NVIDIA H200";

/// Where a chapter keeps what was found on a GPU; `kind` is "measured" or "tuned".
std::filesystem::path record_file(const std::filesystem::path& chapter_directory, const std::string& kind,
                                  const std::string& gpu_name);

/// The files of that kind that there are, the reference GPU's first, then by name.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& chapter_directory,
                                                const std::string& kind);

/// All records of a chapter directory, in the order of `record_files`. Throws RecordError.
std::vector<Record> load_records(const std::filesystem::path& chapter_directory);

/// The run of `kernel` at M = N = K = size, or nullptr.
const Record* find_run(const Record& record, const std::string& kernel, int size);
/// The run of `kernel` at these extents, or nullptr.
const Record* find_run(const Record& record, const std::string& kernel, int M, int N, int K);
/// The entry of `kernel` (registers, counters, ...), or nullptr.
const Record* find_kernel(const Record& record, const std::string& kernel);

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel of the record, the
/// counters of its last launch, under the key `group`, and [lowest, highest] of those that differed between launches under
/// `group` + "_range"; launches of other kernels go under "other_kernels". Throws RecordError.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

/// Reads how many registers each kernel of the record has when compiled for another architecture, from the output of
/// `cuobjdump -res-usage` for that: under "registers_for" and the architecture's number. Kernels are told by their mangled
/// names, but for the digits by which nvcc tells the anonymous namespaces of two compilations apart. Throws RecordError when one is missing.
void add_registers(Record& record, const std::filesystem::path& usage, const std::string& architecture);

/// A mangled name without those digits.
std::string without_build(const std::string& function);

/// Tallies (machine_code.hpp) of the output of `cuobjdump -sass` for each kernel of the record, "other_kernels" included: of
/// the whole function under "sass", and of its main loop, with the places in it, under "sass_loop".
void add_sass(Record& record, const std::filesystem::path& sass);

}  // namespace tile
