// Which elements the sampled block of a kernel touched, for figures. In: kernels counted with Trace::keep_touches. Out: files, whose
// columns emitted.tsv lists.
#pragma once

#include <filesystem>
#include <vector>

#include "common/report/counted.hpp"

namespace tile {

/// Writes kernels.tsv: the sizes of every kernel's block and tile, and the leading dimensions of the counted problem.
void emit_kernels(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);

/// Writes samples.tsv: the addresses of the sampled warp at each site, lane by lane.
void emit_samples(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);

/// Writes touches.tsv, the elements of A, B and C that the block touched between barriers; owners.tsv, which of its threads wrote
/// which element of C; and thread.tsv, what one thread touched.
void emit_touches(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);

/// Writes intervals.tsv: what the block touched between two barriers, how often, and the first element.
void emit_intervals(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);

}  // namespace tile
