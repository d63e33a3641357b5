// The numbers of a chapter that its prose can refer to, and its tables.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/bench/text.hpp"

namespace tile {

/// The unit of a number, from its key: "shared.4096.tflops" -> "TFLOP/s", "clocks_before.power_w" -> "W",
/// "hide.dram.bytes_per_cycle" -> "B/cycle", "shared.4096.ceiling.banks" -> "TFLOP/s". If several words imply a unit,
/// the last one counts; "" if none does: the number is a count or a ratio.
std::string unit_of(const std::string& key);
/// The unit that a label begins with: "ms at 4096 with lda = 4097" -> "ms", "cycles a request: load4.by3" -> "cycles".
std::string unit_of_label(const std::string& label);

/// The text of tables and facts for a number that has not been measured.
inline const std::string pending = "not yet measured";

/// The source location of a call: always the default value of a last parameter.
struct Place {
  const char* file;
  int line;
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

struct Fact {
  std::string key, kind, text;
  double value;  ///< NaN for a text
  std::string unit;
  std::string file;  ///< what computes it, or takes it from a record
  int line;
};

/// Numbers that the prose can refer to. A number has a key, a kind, a value, a unit and a text.
class Facts {
 public:
  /// `decimals` < 0 picks three significant digits, or none for whole numbers.
  void predicted(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    add(key, "predicted", value, decimals, place);
  }
  void counted(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    add(key, "counted", value, decimals, place);
  }
  /// Returns the fact, so that a unit can be set that the key does not imply.
  Fact& measured(const std::string& key, double value, int decimals = -1, Place place = Place::here()) {
    return add(key, "measured", value, decimals, place);
  }
  /// The predicted row of the table "loads": per unit of K, elements of A and B that one result loads from global
  /// memory, and values that it loads from shared memory; one load returns `*_width` of them.
  void predicted_loads(const std::string& kernel, double global, double shared, int global_width = 1,
                       int shared_width = 1, Place place = Place::here());
  void text(const std::string& key, const std::string& kind, const std::string& text, Place place = Place::here());
  /// A number that has not been measured; the book shows it as such.
  void not_yet_measured(const std::string& key, Place place = Place::here()) { text(key, "measured", pending, place); }
  const std::vector<Fact>& all() const { return facts_; }
  /// Writes facts.tsv and places.tsv, see emitted.tsv: plots and claims take a number's value, pages its text.
  void write(const std::filesystem::path& directory) const;
  /// The fact's value; throws std::out_of_range for an unknown key.
  double value(const std::string& key) const;

 private:
  Fact& add(const std::string& key, const char* kind, double value, int decimals, Place place);
  std::vector<Fact> facts_;
};

/// A table, for both the terminal and the book.
struct Table {
  std::string name;     ///< by which the prose refers to it
  std::string caption;  ///< one line
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  /// Prints aligned columns, text to the left, numbers to the right, in lines of at most `most` characters (0: any).
  void print(std::size_t most = 0) const;
  /// Writes caption, header and rows as tab-separated lines.
  void write(const std::filesystem::path& file) const;
};

/// Opens a file that the book needs; throws std::runtime_error if that fails.
std::ofstream open_for_writing(const std::filesystem::path& file);

}  // namespace tile
