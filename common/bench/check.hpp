// Whether a chapter's records are of its program, true to themselves, and true to what the book says of them. In: a record, and
// what the program says of itself. Out: a line for each thing that is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/bench/program.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// What is wrong with a record in the file of that name. Of the reference GPU's record the hardware counters must equal the
/// model's counts, but for the rows in the chapter's differences.json; only then is the program asked to count. Throws RecordError.
std::vector<std::string> wrong_with_record(const std::string& file_stem, const Record& record, const Program& program,
                                           const std::function<Program()>& count);

/// The same for the record of a tuning.
std::vector<std::string> wrong_with_tuning(const std::string& file_stem, const Record& tuning, const Program& program);

/// The same for the record of a sweep.
std::vector<std::string> wrong_with_sweep(const std::string& file_stem, const Record& sweep, const Program& program);

}  // namespace tile
