// A part of the book looked back on: one kernel of each chapter, what the counts allow it, what it reached, and what that added.
// In: the chapters' titles, and what their programs emitted. Out: a table and facts for the part's last page, and the data of its plot.
#pragma once

#include <filesystem>
#include <string>

namespace tile {

/// Writes the data of the plot, `plot` and `plot`.cublas, and table-ladder.tsv and facts.tsv (see common/report/emitted.tsv) into the
/// directory `page`, as if a program had emitted them. A chapter from 01 to `last` is there with the fastest of its kernels at 4096, or
/// with the `kernel` of its front matter if the spreads of the two overlap; one that no GPU has timed yet is there without.
void gather_part(const std::filesystem::path& chapters, const std::filesystem::path& emit, const std::string& last,
                 const std::filesystem::path& plot, const std::filesystem::path& page);

}  // namespace tile
