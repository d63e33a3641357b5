// A file that the program writes for the book. In: its path. Out: a stream, or an error that says what to do.
#pragma once

#include <filesystem>
#include <fstream>

namespace tile {

/// Throws std::runtime_error when the file cannot be opened.
std::ofstream open_for_writing(const std::filesystem::path& file);

}  // namespace tile
