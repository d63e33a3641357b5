#include "common/report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tile {
namespace {

// Display width of UTF-8 text without combining characters.
std::size_t width_of(const std::string& text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool numeric(const std::string& text) {
  return text.empty() || text == "-" || text == "not yet measured" ||
         std::isdigit(static_cast<unsigned char>(text[0])) || (text[0] == '-' && text.size() > 1);
}

}  // namespace

void Table::print() const {
  fmt::print("\n{}\n", caption);
  std::vector<std::size_t> widths(header.size());
  std::vector<bool> right(header.size(), true);
  for (std::size_t i = 0; i < header.size(); ++i) {
    widths[i] = width_of(header[i]);
    for (const auto& row : rows) {
      widths[i] = std::max(widths[i], width_of(row[i]));
      right[i] = right[i] && numeric(row[i]);
    }
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      text += " " + (right[i] ? space + row[i] : row[i] + space) + " ";
    }
    fmt::print("{}\n", text.erase(text.find_last_not_of(' ') + 1));
  };
  line(header);
  for (const auto& row : rows) line(row);
}

void Table::write(const std::filesystem::path& file) const {
  auto out = open_for_writing(file);
  out << caption << '\n' << fmt::format("{}\n", fmt::join(header, "\t"));
  for (const auto& row : rows) out << fmt::format("{}\n", fmt::join(row, "\t"));
}

std::ofstream open_for_writing(const std::filesystem::path& file) {
  std::ofstream out(file);
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
  return out;
}

}  // namespace tile
