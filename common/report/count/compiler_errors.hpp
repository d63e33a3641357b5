// What the compiler said of a reader's file, in one line: where, what, and what to do instead. In: the compiler's output. Out: a line.
#pragma once

#include <filesystem>
#include <string>

namespace tile::counting {

/// The first error, placed in the reader's own file where the compiler found it in a header of this repository. A word that
/// the model does not have, and a mistake that is often made, comes with advice; anything else as the compiler says it.
std::string in_one_line(const std::string& said, const std::filesystem::path& source);

/// What to write instead of a word of CUDA that the model does not have, or "".
std::string instead_of(const std::string& word);

}  // namespace tile::counting
