// What contradicts what in a record: a list of lines that checks add to. In: values and what they must be. Out: a line for each that
// is not.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// Collects contradictions; every check names two values, or a value and the range it must lie in.
class Findings {
 public:
  explicit Findings(std::vector<std::string>& lines) : lines_(lines) {}

  /// What the next checks are about, such as "block1d at 4096 x 4096 x 4096".
  void about(const std::string& subject) { subject_ = subject; }
  void add(const std::string& what) { lines_.push_back(subject_ + ": " + what); }

  void equal(const std::string& name, double value, const std::string& other, double expected) {
    if (!(std::abs(value - expected) <= 1e-9 * std::abs(expected)))
      add(fmt::format("{} is {}, but {} {}", name, value, other, expected));
  }
  void within(const std::string& name, double value, double low, double high, const std::string& why) {
    if (!(low <= value && value <= high))
      add(fmt::format("{} is {}, not from {} to {} ({})", name, value, low, high, why));
  }
  void unique(const std::string& name) {
    if (!names_.insert(name).second) add(fmt::format("there are two called {}", name));
  }
  /// Runs `checks`; whatever they miss in the record is a finding, too.
  template <class Checks>
  void all_of(Checks checks) {
    try {
      checks();
    } catch (const nlohmann::json::exception& e) {
      add(fmt::format("something is missing or of the wrong type ({})", e.what()));
    } catch (const RecordError& e) {
      add(e.what());
    }
  }

 private:
  std::vector<std::string>& lines_;
  std::string subject_;
  std::set<std::string> names_;
};

}  // namespace tile
