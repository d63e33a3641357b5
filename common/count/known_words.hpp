// Words and headers of CUDA that the model does not have. In: a name, as a source has it. Out: what to write instead.
#pragma once

#include <string>

namespace tile::counting {

/// What to write instead of a word of CUDA that the model does not have, or "".
std::string instead_of(const std::string& word);
/// The same of a header, by how it is included.
std::string instead_of_header(const std::string& name);

}  // namespace tile::counting
