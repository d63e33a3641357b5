// Races of threads that all update one element, as in *out += x.
#pragma once

#include <string>

namespace tile::counting {

/// The findings of a run of `file`, one a line: of races between threads that execute one line, which updates an element, the first
/// says what to write instead.
std::string with_updates_explained(const std::string& findings, const std::string& file);

}  // namespace tile::counting
