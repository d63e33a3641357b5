#include "common/bench/text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/bench/record.hpp"

namespace tile {

std::string format_number(double value, int decimals) {
  const double magnitude = std::abs(value);
  if (decimals < 0)
    decimals = value == std::floor(value) || magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", magnitude, decimals);
  const auto point = std::min(text.find('.'), text.size());
  for (int at = int(point) - 3; at > 0; at -= 3) text.insert(std::size_t(at), 1, ',');
  return value < 0 ? '-' + text : text;
}

std::string multiple_of_K(double per_k) {
  if (per_k == 0) return "-";
  for (int denominator = 1; denominator <= 4096; ++denominator) {
    const double numerator = std::round(per_k * denominator);
    if (numerator == 0 || std::abs(per_k * denominator - numerator) > 1e-9) continue;
    return fmt::format("{}K{}", numerator == 1 ? "" : format_number(numerator),
                       denominator == 1 ? "" : fmt::format("/{}", denominator));
  }
  return fmt::format("{:.4f}K", per_k);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in >> std::ws, part, separator);) parts.push_back(part);
  return parts;
}

std::size_t columns() {
  const char* const wanted = std::getenv("COLUMNS");
  winsize size{};
  if (wanted == nullptr && ioctl(fileno(stdout), TIOCGWINSZ, &size) != 0) return 0;
  return std::size_t(std::max(80, wanted == nullptr ? int(size.ws_col) : std::atoi(wanted)));
}

std::string wrapped(const std::string& begin, const std::string& text) {
  const std::size_t most = std::min(columns() - 1, std::size_t(99)) + 1;
  std::string lines = begin, line = begin;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool first = line.size() == begin.size(), fits = first || line.size() + 1 + word.size() <= most;
    const std::string between = first ? "" : fits ? " " : "\n" + std::string(begin.size(), ' ');
    lines += between + word;
    line = fits ? line + between + word : begin + word;
  }
  return lines;
}

std::string read_whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw RecordError(fmt::format("cannot read {}: check that it exists and is readable", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_whole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path part = file.string() + ".part";
  const bool written = bool(std::ofstream(part, std::ios::binary) << text << std::flush);
  std::error_code error;
  if (written) std::filesystem::rename(part, file, error);
  if (written && !error) return;
  std::filesystem::remove(part, error);
  throw RecordError(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
}

const std::string& Row::text(const std::string& column) const {
  const auto found = fields.find(column);
  if (found == fields.end()) throw RecordError(fmt::format("{}: there is no column {}", where, column));
  return found->second;
}

double Row::number(const std::string& column) const {
  const std::vector<double> all = numbers(column);
  if (all.size() != 1) throw RecordError(fmt::format("{}: {} is not one number", where, column));
  return all.front();
}

std::vector<double> Row::numbers(const std::string& column) const {
  const std::string& field = text(column);
  std::vector<double> all;
  for (const std::string& digits : split(field, ' ')) {
    const char* const end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, all.emplace_back()).ptr != end)
      throw RecordError(fmt::format("{}: {} is '{}', which is not a number", where, column, field));
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
    const boost::tokenizer<boost::escaped_list_separator<char>> tokens(line);
    const std::vector<std::string> fields(tokens.begin(), tokens.end());
    if (++number == 1) {
      columns = fields;
      continue;
    }
    Row& row = rows.emplace_back(Row{fmt::format("{}, line {}", name, number), {}});
    if (fields.size() != columns.size())
      throw RecordError(fmt::format("{}: {} fields for {} columns", row.where, fields.size(), columns.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) row.fields[columns[i]] = fields[i];
  }
  return rows;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (field.find_first_of("\"\r\n") != std::string::npos)
      throw RecordError(fmt::format("a record cannot hold {}: a field must not contain quotes or newlines", field));
    line += (field.find(',') == std::string::npos ? field : '"' + field + '"') + ',';
  }
  line.back() = '\n';
  return line;
}

}  // namespace tile
