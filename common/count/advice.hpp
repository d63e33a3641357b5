// One plain sentence about an access site: what its lanes do to the memory, and what to do instead. In: counts. Out: the sentence.
// Whatever it recommends it has tried: the rules of the model say that the changed addresses cost less.
#pragma once

#include <string>

#include "common/sim/model.hpp"

namespace tile::counting {

/// "32 wavefronts: all lanes want bank 0; pad the row by one word", from the sampled access of that site.
std::string advice(const simt::Counts& counts, std::size_t site);

}  // namespace tile::counting
