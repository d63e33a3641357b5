// A table, and the files that the book takes up.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tile {

/// A table once, for the terminal and for the book.
struct Table {
  std::string name;     ///< how the prose asks for it
  std::string caption;  ///< one line
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  /// Prints with columns aligned: text to the left, numbers to the right.
  void print() const;
  /// Writes caption, header and rows as tab-separated lines.
  void write(const std::filesystem::path& file) const;
};

/// Opens a file that the book needs; throws std::runtime_error when it cannot.
std::ofstream open_for_writing(const std::filesystem::path& file);

}  // namespace tile
