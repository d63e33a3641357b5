// Compares the model's counts with hardware counters, with the differences that a chapter explains.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/sim/model.hpp"

namespace tile {

/// A counter of Nsight Compute that the model also counts.
struct Counter {
  const char* label;
  const char* key;  ///< in records, facts and differences
  simt::Space space;
  simt::Op op;
  std::uint64_t simt::Site::*tally;
  bool every_op = false;  ///< loads, stores and atomics together
  /// Only for kernels with asynchronous copies: the stores of the copies. Other counters of stores leave these out, as the
  /// hardware's do; with every_op, they are included.
  bool of_copies = false;
};
const std::vector<Counter>& counters();

/// Whether the counter applies to the kernel.
bool applies_to(const simt::Counts& counts, const Counter& counter);

/// The model's count for a counter.
std::uint64_t tally(const simt::Counts& counts, const Counter& counter);

/// The range that Nsight Compute counted over several launches of a kernel.
struct Measured {
  double low, high;
  bool operator==(double value) const { return low == value && high == value; }
};
/// The counter in a record's entry `kernel`, which has counters; nothing if this one is missing.
std::optional<Measured> measured(const Record& kernel, const Counter& counter);
/// "20,480", or "20,724 to 21,020" if launches differed.
std::string text_of(const Measured& measured);
/// "1.0000", or "1.0119 to 1.0264": measured over counted.
std::string ratio_text(const Measured& measured, double counted);

/// A row in which count and counter differ, and why: an entry of a chapter's differences.json. The ratio measured / counted,
/// rounded to four decimals as in the table, lies between `from` and `to` for every launch.
struct Difference {
  std::string kernel, counter;
  double from, to;
  std::string why;
};

/// The differences of a chapter; none if it has no differences.json. Throws RecordError for an invalid file.
std::vector<Difference> load_differences(const std::filesystem::path& chapter_directory);

/// The entry for a row, or nullptr.
const Difference* find_difference(const std::vector<Difference>& differences, const std::string& kernel,
                                  const Counter& counter);

/// What is wrong with the counters of a kernel, `entry` in a record, one line each: a row that differs without an entry in
/// `differences` or lies outside its range, and a row that has an entry although it is equal.
std::vector<std::string> unexplained(const simt::Counts& counts, const Record& entry,
                                     const std::vector<Difference>& differences);

}  // namespace tile
