// count/: `tile count`, for a user's own kernels. In: their files. Out: counts, bounds, and advice.
//
// model-cc compiles a file to a program whose main() (count_main.cpp) writes a line of JSON, a Run, for each TILE_COUNT.
// tile_count.cpp prints them; verdict.cpp derives bounds and advice; compiler_errors.cpp shortens messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/bench/gpu.hpp"
#include "common/sim/model.hpp"

inline void to_json(nlohmann::json& json, const dim3& d) { json = {d.x, d.y, d.z}; }
inline void from_json(const nlohmann::json& json, dim3& d) { d = {json.at(0), json.at(1), json.at(2)}; }

namespace simt {

inline void to_json(nlohmann::json& json, Op op) { json = name_of(op); }
inline void to_json(nlohmann::json& json, Space space) { json = name_of(space); }
template <class Named, class = std::enable_if_t<std::is_enum_v<Named>>>
void from_json(const nlohmann::json& json, Named& value) {
  for (value = Named(); name_of(value) != json;) value = Named(int(value) + 1);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Site, file, line, op, space, array, row_bytes, width, requests, accesses, sectors,
                                   lines, tag_passes, l1_wavefronts, l1_cycles, wavefronts, estimated, at_least,
                                   by_copy, element_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sample, site, byte_offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counts, kernel, grid, block, static_shared_bytes, dynamic_shared_bytes, barriers,
                                   block_sectors, block_store_sectors, grid_sectors, most_updates, sites, samples)

}  // namespace simt

namespace tile::counting {

using Json = nlohmann::json;

/// One TILE_COUNT, and the model's counts of its launches.
struct Run {
  std::string file, title;            ///< no title: the file could not be counted, and `error` says why
  std::string error;                  ///< what ended it, one finding per line; "": nothing
  double flops = 0;                   ///< as stated by tile::flops; 0: not stated
  std::vector<simt::Counts> kernels;  ///< one for each launch, in order; of a failed run, those before the failure
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, file, title, error, flops, kernels)

/// A resource, and the least cycles that a launch keeps it busy.
struct Bound {
  std::string resource;
  double cycles;
};

struct Verdict {
  double flops = 0;            ///< of the launch; 0: not known
  int sms = 0;                 ///< number of SMs that have a block
  std::vector<Bound> bounds;   ///< the longest first
  std::size_t binding = 0;     ///< how many of the first bounds bind: more than one if they print as the same number
  std::string binds;           ///< the resource of the first bound, or FFMA issue if that also binds
  std::vector<double> shares;  ///< each site's share in that resource's use (use_of); -1: it does not use it
  std::vector<std::size_t> hottest;  ///< the sites with the largest share
  std::string advice;                ///< for the first of them
  Occupancy occupancy{};             ///< by_registers only means something if registers are known
  int registers = 0;                 ///< of a thread; 0: not known

  double cycles() const { return bounds.empty() ? 0 : bounds.front().cycles; }  ///< lower bound for the launch
};

/// Wavefronts of a site through the 32 banks; 0 if no rule is known (bulk copies, another block's shared memory).
double bank_wavefronts(const simt::Site& site);

/// The verdict on one of the run's launches; `registers` per thread are 0 if unknown.
Verdict verdict_of(const Run& run, const simt::Counts& counts, const Rates& rates, int registers);

/// A line for each error of `source`: what to write instead of a name or header of CUDA that the model does not have, or
/// the compiler's message. Each gives the user's own line, also if the compiler found the error in a header of this
/// repository. Undeclared names may be consequences of a name that the model does not have: if there is one, they are
/// only counted. `said` is the compiler's output, in English.
std::string errors_in_lines(const std::string& said, const std::string& source);

}  // namespace tile::counting
