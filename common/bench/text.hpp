// Text: numbers as people read them, whole files, and tables in CSV. In: numbers, a path. Out: text, rows; what cannot be read is
// named with file and line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tile {

/// 1234567.0 -> "1,234,567"; three significant digits for small fractions; see Facts::predicted for `decimals`.
std::string format_number(double value, int decimals = -1);

/// 0.015625 -> "K/64", 1.125 -> "9K/8", 0 -> "-": a count for each unit of K as a multiple of K.
std::string multiple_of_K(double per_k);

/// The parts of a text between separators, without the spaces before each.
std::vector<std::string> split(const std::string& text, char separator);

/// The content of a file. Throws RecordError, naming the file.
std::string read_whole(const std::filesystem::path& file);

/// Writes `text` to `file`, replacing what was there, whole or not at all. Throws RecordError when it could not.
void write_whole(const std::filesystem::path& file, const std::string& text);

/// A row of a CSV file. Fields are asked for by the name of their column; each throws RecordError, naming file and line, where there
/// is no such column, or no such number in it.
struct Row {
  std::string where;
  std::map<std::string, std::string> fields;

  bool has(const std::string& column) const { return fields.contains(column) && !fields.at(column).empty(); }
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  /// Numbers separated by spaces.
  std::vector<double> numbers(const std::string& column) const;
};

/// The rows of a table whose first line names the columns; `name` is that of its file. Fields may be quoted. Throws RecordError for
/// a row with more or fewer fields.
std::vector<Row> rows_of(const std::string& csv, const std::string& name);
/// A line of a table. Throws RecordError for a field with quotes or ends of lines.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace tile
