// Units of numbers, from what their keys and labels say. In: a key or a label. Out: the unit as text, "" where none is told.
#pragma once

#include <string>

namespace tile {

/// "shared.4096.tflops" -> "TFLOP/s", "clocks_before.power_w" -> "W", "hide.dram.bytes_per_cycle" -> "B/cycle",
/// "shared.4096.ceiling.banks" -> "TFLOP/s". Of several words that tell a unit the last one counts. Without any, the number is what
/// its words say: a count, a ratio.
std::string unit_of(const std::string& key);

/// The unit that a label begins with: "ms at 4096 with lda = 4097" -> "ms", "cycles a request: load4.by3" -> "cycles".
std::string unit_of_label(const std::string& label);

}  // namespace tile
