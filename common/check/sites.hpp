// Access sites by the names that the source gives them: `//@ store-As` at the end of a line. In: counts of the model, a tag.
// Out: the site, and what its sampled access does to the banks.
#pragma once

#include <string>
#include <string_view>

#include "common/sim/model.hpp"

namespace tile {

/// The tag that the source gives the site, or "". A line with an asynchronous copy has two sites and two tags, `//@ load-A
/// store-As`: that of what it loads and that of what it stores.
std::string tag_of(const simt::Site& site);
/// Whether that is the site's tag.
bool has_tag(const simt::Site& site, std::string_view tag);
/// The site's tag, or "line 12" for one without.
std::string label_of(const simt::Site& site);

/// The access site that the source tags `//@ tag`; throws std::out_of_range unless exactly one carries it.
const simt::Site& site(const simt::Counts& counts, std::string_view tag);
/// What bank_conflict says of the sampled access of that site of shared memory, with kernel and line in front: "sgemm<...>,
/// chapter12.cu:131, store-As: bank 0 has 2 words ..."; "" where no two lanes that are served together meet in a bank.
std::string bank_conflict(const simt::Counts& counts, std::string_view tag);

}  // namespace tile
