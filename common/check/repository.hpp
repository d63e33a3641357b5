// Locates the files that a program reads: its own source, and others. In: paths below the repository's root. Out:
// paths that can be opened.
#pragma once

#include <filesystem>

namespace tile {

/// The path of the chapter's source. Defined once per program, by TILE_CHAPTER.
const char* this_chapter_file();

/// A file by its path below the repository's root, wherever the program was compiled, so that copies of a chapter
/// (break-it experiments, mutants) find the repository's data.
std::filesystem::path in_repository(const std::filesystem::path& file);

/// The path, below the repository's root, of a file named as by __FILE__; unchanged if the file is not below the root.
std::filesystem::path below_repository(const std::filesystem::path& file);

}  // namespace tile
