// The numbers of a chapter, as prose and tables show them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "common/bench/text.hpp"

namespace tile {

/// The unit of a number, from its key: "shared.4096.tflops" -> "TFLOP/s", "clocks_before.power_w" -> "W",
/// "hide.dram.bytes_per_cycle" -> "B/cycle", "shared.4096.ceiling.banks" -> "TFLOP/s". Of several words that tell a unit the last one
/// counts. "" without any: the number is what its words say, a count or a ratio.
std::string unit_of(const std::string& key);
/// The unit that a label begins with: "ms at 4096 with lda = 4097" -> "ms", "cycles a request: load4.by3" -> "cycles".
std::string unit_of_label(const std::string& label);

/// Where in the sources a call stands: the default of a last parameter, and nobody gives another.
struct Place {
  const char* file;
  int line;
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

/// Numbers that the prose can name. A number has a key, a kind, a value, a unit and a text.
class Facts {
 public:
  struct Fact {
    std::string key, kind, text;
    double value;
    std::string unit;
    std::string file;  ///< what computes it, or takes it from a record
    int line;
  };
  /// `decimals` < 0 picks three significant digits, or none for whole numbers.
  void predicted(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    add(key, "predicted", value, decimals, place);
  }
  void counted(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    add(key, "counted", value, decimals, place);
  }
  void measured(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    add(key, "measured", value, decimals, place);
  }
  /// A number whose key does not tell its unit.
  void measured_in_unit(const std::string& key, double value, const std::string& unit, Place place = Place::here());
  /// Numbers measured by hand: `file`, below the repository's root, has lines of key,value, and comments that begin with #.
  /// Throws std::runtime_error, naming file and line, for what cannot be read.
  void measured_in(const std::string& file);
  /// The predicted row of the table "loads": elements of A and B that one result loads from global memory, and values it
  /// loads from shared memory, for each unit of K; `*_width` of them come with one load.
  void predicted_loads(const std::string& kernel, double global, double shared, int global_width = 1,
                       int shared_width = 1, Place place = Place::here());
  void text(const std::string& key, const std::string& kind, const std::string& text, Place place = Place::here());
  /// A number that a GPU has yet to give; the book shows it as such.
  void not_yet_measured(const std::string& key, Place place = Place::here()) {
    text(key, "measured", "not yet measured", place);
  }
  const std::vector<Fact>& all() const { return facts_; }
  /// Writes facts.tsv, see emitted.tsv: a value in full and without commas, which is what plots and claims take, and the text that
  /// is made of it.
  void write(std::ostream& out) const;
  /// Writes places.tsv: of each fact the file below the repository's root, and the line.
  void write_places(std::ostream& out) const;
  /// The fact's value; throws std::out_of_range for an unknown key.
  double value(const std::string& key) const;

 private:
  void add(const std::string& key, const char* kind, double value, int decimals, Place place);
  std::vector<Fact> facts_;
};

}  // namespace tile
