// The model's counts against the hardware's counters, and the differences that a chapter explains.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/record.hpp"
#include "common/sim/model.hpp"

namespace tile {

/// A counter of Nsight Compute that the model counts as well.
struct Counter {
  const char* label;
  const char* key;  ///< as records, facts and differences call it
  simt::Space space;
  simt::Op op;
  std::uint64_t simt::Site::*tally;
  bool every_op = false;  ///< loads, stores and atomics together
  /// Of kernels with asynchronous copies alone: what these store. Other counters of stores leave it out, as the hardware's do;
  /// with every_op, it is counted together with all else.
  bool of_copies = false;
};
const std::vector<Counter>& counters();

/// Whether the counter says something of the kernel.
bool applies_to(const simt::Counts& counts, const Counter& counter);

/// What the model counted.
std::uint64_t tally(const simt::Counts& counts, const Counter& counter);

/// The same of all counters that say something of the kernel, by key.
using Tallies = std::map<std::string, std::uint64_t>;
Tallies tallies(const simt::Counts& counts);

/// What Nsight Compute counted over several launches of a kernel: the same each time, or not.
struct Measured {
  double low, high;
  bool operator==(double value) const { return low == value && high == value; }
};
/// `kernel` is an entry of a record that has counters; nothing when they lack this one.
std::optional<Measured> measured(const Record& kernel, const Counter& counter);
/// "20,480", or "20,724 to 21,020" when launches differed.
std::string text_of(const Measured& measured);
/// "1.0000", or "1.0119 to 1.0264": measured over counted.
std::string ratio_text(const Measured& measured, double counted);

/// A row in which count and counter differ, and why: one entry of a chapter's differences.json. Measured over counted lies
/// between `from` and `to` at every launch, as it stands in the table, with four decimals.
struct Difference {
  std::string kernel, counter;
  double from, to;
  std::string why;
};

/// The differences of a chapter; none when it has no differences.json. Throws RecordError for a damaged file.
std::vector<Difference> load_differences(const std::filesystem::path& chapter_directory);

/// The difference that is named for a row, or nullptr.
const Difference* find_difference(const std::vector<Difference>& differences, const std::string& kernel,
                                  const Counter& counter);

/// What is wrong with the counters of a kernel, `entry` in a record, one line each: a row that differs and is not named, or
/// lies outside what is named for it, and a row that is named although it is equal.
std::vector<std::string> unexplained(const Tallies& counts, const Record& entry,
                                     const std::vector<Difference>& differences);

}  // namespace tile
