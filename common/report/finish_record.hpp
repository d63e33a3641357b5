// What turns a GPU program's raw record into a chapter's: the profiler's and the disassembler's output merged in, and the file put
// in its place. In: files that `tile bench` made. Out: the record, whole or not at all.
#pragma once

#include <filesystem>

#include "common/report/options.hpp"

namespace tile {

/// Merges what the options --add-... name into the records that they name. Throws RecordError.
void merge(const Options& options);

/// Puts a finished record where the chapter keeps those of its GPU. Throws RecordError.
void keep(const std::filesystem::path& finished);

}  // namespace tile
