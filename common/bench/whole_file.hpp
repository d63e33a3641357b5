// Files as a whole: read, and written such that they are there whole or not at all. In: a path. Out: text.
#pragma once

#include <filesystem>
#include <string>

namespace tile {

/// The content of a file. Throws RecordError, naming the file.
std::string read_whole(const std::filesystem::path& file);

/// Writes `text` to `file`, in place of what was there, whole or not at all: also when SIGHUP, SIGINT or SIGTERM ends the
/// program meanwhile. False when it could not. One thread at a time.
bool write_whole(const std::filesystem::path& file, const std::string& text);

}  // namespace tile
