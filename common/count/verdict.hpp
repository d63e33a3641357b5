// What follows from the counts of one launch. In: counts, the rates of a GPU. Out: the least time that each of its resources takes,
// which binds, how many blocks fit, and which line costs most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/sim/model.hpp"
#include "common/bench/ceilings.hpp"
#include "common/bench/gpu.hpp"

namespace tile::counting {

/// A resource, and the least cycles that a launch keeps it busy.
struct Bound {
  std::string resource;
  double cycles;
};

struct Verdict {
  int sms = 0;                 ///< that have a block
  std::vector<Bound> bounds;   ///< the longest first
  std::vector<double> shares;  ///< of each site, in what its SMs' L1 and shared memory are kept busy; -1: not known
  std::optional<std::size_t> hottest;  ///< the first of the sites with the largest share
  std::vector<std::size_t> as_hot;     ///< the others, if it is a tie
  Occupancy occupancy{};               ///< by_registers only means something when registers are known
  int registers = 0;                   ///< of a thread; 0: not known
};

/// Cycles that an access site keeps L1 or shared memory of its SM busy, -1 where no rule is known: copies in bulk, atomic
/// operations in shared memory, and reads of constant memory.
double cycles_of(const simt::Site& site);

/// `flops` of the launch and `registers` of a thread are 0 where they are not known.
Verdict verdict_of(const simt::Counts& counts, const Rates& rates, double flops, int registers);

/// The longest of the bounds; 0 cycles of nothing for a launch that touches no memory and says nothing of its arithmetic.
Bound tightest(const Verdict& verdict);

/// How many of the bounds, the first of them, bind: more than one where they are a tie, as far as the figures that are printed tell.
std::size_t ties(const Verdict& verdict);

/// "L1", or "L1 and banks, a tie"; "-" where nothing binds.
std::string what_binds(const Verdict& verdict);

}  // namespace tile::counting
