// Access sites by the names that the source gives them: `//@ store-As` at the end of a line. In: counts of the model, a tag.
// Out: the site, and what its sampled access does to the banks.
#pragma once

#include <string>
#include <string_view>

#include "common/model/model.hpp"

namespace tile {

/// Whether the source tags the site's line `//@ tag`.
bool has_tag(const simt::Site& site, std::string_view tag);
/// The tag of the site's line, or "line 12" for one without.
std::string label_of(const simt::Site& site);

/// The access site that the source tags `//@ tag`; throws std::out_of_range unless exactly one carries it.
const simt::Site& site(const simt::Counts& counts, std::string_view tag);
/// What bank_conflict says of the sampled access of that site of shared memory, with kernel and line in front: "sgemm<...>,
/// chapter12.cu:131, store-As: bank 0 has 2 words ..."; "" where no two lanes that are served together meet in a bank.
std::string bank_conflict(const simt::Counts& counts, std::string_view tag);

}  // namespace tile
