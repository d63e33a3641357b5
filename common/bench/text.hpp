// Text: numbers for readers, whole files, and CSV tables. In: numbers, a path. Out: text, rows; errors name file and line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tile {

/// 1234567.0 -> "1,234,567"; three significant digits for small fractions; see Facts::predicted for `decimals`.
std::string format_number(double value, int decimals = -1);

/// 0.015625 -> "K/64", 1.125 -> "9K/8", 0 -> "-": a count per unit of K, as a multiple of K.
std::string multiple_of_K(double per_k);

/// The parts of a text between separators, without leading spaces.
std::vector<std::string> split(const std::string& text, char separator);

/// The width of the terminal, or of COLUMNS, but at least 80; 0 where stdout is neither.
std::size_t columns();
/// Text in lines of at most 100 columns, each after the same indent, the first after `begin`.
std::string wrapped(const std::string& begin, const std::string& text);

/// The content of a file. Throws RecordError with the file's name.
std::string read_whole(const std::filesystem::path& file);

/// Replaces the content of `file` by `text`, atomically. Throws RecordError if it cannot be written.
void write_whole(const std::filesystem::path& file, const std::string& text);

/// A row of a CSV file. Fields are accessed by the name of their column; accessors throw RecordError, with file and line, if there is
/// no such column, or its field is not such a number.
struct Row {
  std::string where;
  std::map<std::string, std::string> fields;

  bool has(const std::string& column) const { return fields.contains(column) && !fields.at(column).empty(); }
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  /// Numbers separated by spaces.
  std::vector<double> numbers(const std::string& column) const;
};

/// The rows of a table whose first line names the columns; `name` is the file's. Fields may be quoted. Throws RecordError for a row
/// with more or fewer fields than columns.
std::vector<Row> rows_of(const std::string& csv, const std::string& name);
/// A line of a table. Throws RecordError for a field with quotes or newlines.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace tile
