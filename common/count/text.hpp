// The counts of a run as people read them, at most 100 columns wide. In: runs and verdicts. Out: tables and sentences.
#pragma once

#include <string>

#include "common/count/run.hpp"
#include "common/count/verdict.hpp"

namespace tile::counting {

/// "transpose.cu:14": the place of an access site.
std::string place_of(const simt::Site& site);

/// A table of a launch's access sites, and what follows from it: bounds, occupancy, the hottest line.
void print(const simt::Counts& counts, const Verdict& verdict, const Rates& rates, double flops);

/// What the columns mean, and what is not counted.
void print_legend();

}  // namespace tile::counting
