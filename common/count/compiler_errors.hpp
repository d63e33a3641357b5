// What the compiler said of a reader's file, in few lines: where, what, and what to do instead. In: the compiler's output. Out: lines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tile::counting {

/// A line for each fault: what to do about words that the model does not have, mistakes that are often made, and main(); for the
/// rest what the compiler says. In the order of the source, with all places where it has the fault. A place is in the
/// reader's own file, also where the compiler found the error in a header of this repository. What may come of other faults is
/// left out, and its number told.
std::vector<std::string> faults_of(const std::string& said, const std::filesystem::path& source);

/// A header that the compiler misses and about which there is advice, as it is included, or "": what stands behind it was not read.
std::string header_not_in_the_model(const std::string& said);

}  // namespace tile::counting
