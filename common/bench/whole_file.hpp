// Files as a whole: text, and tables in CSV. In: a path. Out: text, or rows; what cannot be read is named with file and line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tile {

/// The content of a file. Throws RecordError, naming the file.
std::string read_whole(const std::filesystem::path& file);

/// Writes `text` to `file`, replacing what was there, whole or not at all. False when it could not.
bool write_whole(const std::filesystem::path& file, const std::string& text);

/// The parts of a text between separators, without the spaces before each.
std::vector<std::string> split(const std::string& text, char separator);

/// A row of a CSV file. Fields are asked for by the name of their column; each throws RecordError, naming file and line, where there
/// is no such column, or no such number in it.
class Row {
 public:
  Row(std::string where, std::map<std::string, std::string> fields)
      : where_(std::move(where)), fields_(std::move(fields)) {}

  const std::map<std::string, std::string>& fields() const { return fields_; }
  bool has(const std::string& column) const { return fields_.contains(column) && !fields_.at(column).empty(); }
  const std::string& text(const std::string& column) const;
  double number(const std::string& column) const;
  /// Numbers separated by spaces.
  std::vector<double> numbers(const std::string& column) const;

 private:
  std::string where_;
  std::map<std::string, std::string> fields_;
};

/// The rows of a table whose first line names the columns; `name` is that of its file. Fields may be quoted. Throws RecordError for
/// a row with more or fewer fields.
std::vector<Row> rows_of(const std::string& csv, const std::string& name);
/// A line of a table. Throws RecordError for a field with quotes or ends of lines.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace tile
