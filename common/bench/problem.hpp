// A problem as a run of a record names it: M, N, K, and what is not as in FP32, row by row, without padding. In and out: JSON.
#pragma once

#include "common/check/problem.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// {"M", "N", "K"} and, where they differ from Problem::plain, "lda", "ldb", "ldc", "layouts": ["rows", "columns"] of A and B,
/// "types": ["bf16", "bf16", "f32"] of A, B and C.
Record to_json(const Problem& problem);

/// The problem that a run, or any other object with these names, is of. Throws RecordError for types and layouts that there are not,
/// nlohmann::json::exception for what is missing.
Problem problem_of(const Record& run);

/// The run of `kernel` on that problem, or nullptr. Its types are the kernel's: they are not compared.
const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem);

}  // namespace tile
