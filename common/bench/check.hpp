// Whether a chapter's records are of its program, and the hardware's counters equal the model's counts. In: a record, and what the
// program says of itself. Out: a line for each thing that is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/bench/program.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// What is wrong with a record. Of the reference GPU's the hardware counters must equal the model's counts, but for the rows in the
/// chapter's differences.json; only then is the program asked to `count`. Throws RecordError.
std::vector<std::string> wrong_with_record(const Record& record, RecordKind kind, const Program& program,
                                           const std::function<Program()>& count);

}  // namespace tile
