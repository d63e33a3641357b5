// The source of the chapter that this program is made of, as its tests and tables refer to it. In: the path that TILE_CHAPTER
// notes. Out: its lines, and the tags at their ends.
#pragma once

#include <string>
#include <vector>

namespace tile {

/// The path of the chapter's source. Defined once per program, by TILE_CHAPTER.
const char* this_chapter_file();

/// Its lines, the first one at index 0. Throws std::runtime_error when it cannot be read.
std::vector<std::string> source_lines();

/// What follows `//@ ` at the end of a line (the first is 1), or "".
std::string tag_of_line(int line);

}  // namespace tile
