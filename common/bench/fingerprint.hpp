// What a GPU program is made of, in a few digits, so that a record can be told to be of other code. In: a chapter's source. Out: JSON.
#pragma once

#include <filesystem>
#include <string>

#include "common/bench/record.hpp"

namespace tile {

/// What a GPU program is made of, as an object: 16 hex digits for the chapter's program up to its first test (TEST_CASE or
/// TILE_GEMM_TESTS), and for each header of common/cuda that it includes, directly or not; and under "flags" how nvcc compiles it.
/// Comments, white space and the function `predict`, which is arithmetic for the prose and runs on no GPU, do not count, and neither
/// do vocabulary.hpp and asynchronous.hpp, which nvcc never sees. A record belongs to a program when their fingerprints are equal. `root` is where
/// included names start, the top of this repository unless given. Throws RecordError for a file that cannot be read.
Record fingerprint(const std::filesystem::path& source);
Record fingerprint(const std::filesystem::path& source, const std::filesystem::path& root);

/// Which parts of two fingerprints differ: "chapter04.cu, flags", or "" when they are equal.
std::string changed_parts(const Record& recorded, const Record& own);

}  // namespace tile
