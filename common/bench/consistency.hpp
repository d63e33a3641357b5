// Whether the numbers of a record can all be true at once.
#pragma once

#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// What in the record of a chapter contradicts something else in it, one line each: the kernel, and two values that do not
/// go together. Empty when all agree. Of every run: the summary is that of its samples. Of every kernel: its registers
/// are those that the profiler saw, the blocks per SM follow from registers, threads and shared memory (gpu.hpp),
/// the main loop is part of the machine code, and the profile's numbers fit one another and the size it was taken at.
std::vector<std::string> contradictions(const Record& record);

/// The same for the record of a tuning: of every candidate its blocks per SM and its throughput, and that the chosen one
/// is the fastest.
std::vector<std::string> contradictions_of_tuning(const Record& tuning);

/// The same for the record of a sweep, which may repeat less often: of its one kernel and of each problem.
std::vector<std::string> contradictions_of_sweep(const Record& sweep);

}  // namespace tile
