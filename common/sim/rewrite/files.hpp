// Small things that the tools of the tests share: whole files.
#pragma once

#include <filesystem>
#include <string>

namespace files {

/// The content of a file. Throws std::runtime_error naming the file.
std::string read_text(const std::filesystem::path& file);

/// Replaces the content of a file. Throws std::runtime_error naming the file.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace files
