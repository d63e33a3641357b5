// What this program says of itself (`--describe`), for tile-record. In: the chapter. Out: a description.
#pragma once

#include "common/records/program.hpp"

namespace tile {

/// Throws what counting throws, if `counted` asks for that.
Program describe_program(bool counted);

}  // namespace tile
