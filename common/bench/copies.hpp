// How many copies of a problem a rotation takes. In: bytes of the L2 and of one copy. Out: a number.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tile {

/// Copies of which a round is three times as large as the L2, so that a call finds nothing there that it uses: four at least, and
/// for the smallest problems 256 at most. An even number: a pair of calls takes two, and both sides see the same ones.
constexpr std::size_t copies_past_l2(std::size_t l2_bytes, std::size_t bytes_of_copy) {
  const std::size_t to_fill = (3 * l2_bytes + bytes_of_copy - 1) / bytes_of_copy;
  return std::clamp<std::size_t>((to_fill + 1) / 2 * 2, 4, 256);
}

}  // namespace tile
