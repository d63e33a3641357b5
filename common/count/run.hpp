// count/: what `tile count` makes of a reader's kernels. In: their files. Out: counts, what follows from them, and advice.
//
// model-cc compiles a file to a program whose main() (count_main.cpp) runs each TILE_COUNT and writes a line of JSON for each.
// tile-count (tile_count.cpp) starts both, reads the lines (here), says what follows (verdict.hpp, advice.hpp) and prints it
// (text.hpp, compare.hpp, json.hpp); what the compiler refuses is put into one line (compiler_errors.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/sim/model.hpp"

namespace tile::counting {

using Json = nlohmann::json;

/// What one TILE_COUNT described, and what the model counted of it.
struct Run {
  std::string file, title;
  std::string error;                  ///< what ended it, one finding a line; "": nothing
  double flops = 0;                   ///< that it says it does (tile::flops); 0: it does not say
  std::vector<simt::Counts> kernels;  ///< one for each launch, in order; of a run that failed, those before
};

/// Of counts all but addresses, names of functions and touches. `sample` of a site is null where the sampled warp was not there.
Json to_json(const simt::Counts& counts);
simt::Counts counts_of(const Json& json);

/// A run as one line of JSON without its file, and back.
Json to_json(const Run& run);
Run run_of(const Json& json);

}  // namespace tile::counting
