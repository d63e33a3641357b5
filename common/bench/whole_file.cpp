#include "common/bench/whole_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "common/bench/record.hpp"

namespace tile {
namespace {

std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

}  // namespace

std::string read_whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw RecordError(fmt::format("cannot read {}: check that it exists and is readable", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_whole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  const bool written = out && (std::filesystem::rename(part, file, error), !error);
  if (!written) std::filesystem::remove(part, error);
  return written;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in >> std::ws, part, separator);) parts.push_back(part);
  return parts;
}

const std::string& Row::text(const std::string& column) const {
  const auto found = fields_.find(column);
  if (found == fields_.end()) throw RecordError(fmt::format("{}: there is no column {}", where_, column));
  return found->second;
}

double Row::number(const std::string& column) const {
  const std::vector<double> all = numbers(column);
  if (all.size() != 1) throw RecordError(fmt::format("{}: {} is not one number", where_, column));
  return all.front();
}

std::vector<double> Row::numbers(const std::string& column) const {
  const std::string& field = text(column);
  std::vector<double> all;
  for (const std::string& digits : split(field, ' ')) {
    const char* const end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, all.emplace_back()).ptr != end)
      throw RecordError(fmt::format("{}: {} is '{}', which is not a number", where_, column, field));
  }
  return all;
}

std::vector<Row> rows_of(const std::string& csv, const std::string& name) {
  std::istringstream lines(csv);
  std::vector<std::string> columns;
  std::vector<Row> rows;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();  // an editor may have put it there
    const std::vector<std::string> fields = split_csv(line);
    if (++number == 1) {
      columns = fields;
      continue;
    }
    const std::string where = fmt::format("{}, line {}", name, number);
    if (fields.size() != columns.size())
      throw RecordError(fmt::format("{}: {} fields for {} columns", where, fields.size(), columns.size()));
    std::map<std::string, std::string> by_column;
    for (std::size_t i = 0; i < fields.size(); ++i) by_column[columns[i]] = fields[i];
    rows.emplace_back(where, std::move(by_column));
  }
  return rows;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (field.find_first_of("\"\r\n") != std::string::npos)
      throw RecordError(fmt::format("a record cannot hold {}: a field has no quotes and no ends of lines", field));
    line += (field.find(',') == std::string::npos ? field : '"' + field + '"') + ',';
  }
  line.back() = '\n';
  return line;
}

}  // namespace tile
