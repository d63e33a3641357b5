// cost/: from addresses to costs.
//
// In: addresses, as plain numbers. common/sim/rules.hpp gives the cost of the 32 of one warp-wide access; this file finds the
// warp-wide accesses in the logs of 32 lanes, which ran one after the other; tally.hpp sums their costs by site. Out: numbers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "common/sim/rules.hpp"

namespace simt {

enum class Op : std::uint8_t { load, store, atomic, bulk_load, bulk_store };
/// distributed: the shared memory of another block of the cluster. constant: __constant__ variables.
enum class Space : std::uint8_t { global, shared, distributed, constant };

/// Whether an operation is a bulk copy, which one thread starts for the whole block: it does not pass L1's tags nor, as far as is
/// known, the banks in the way of a warp's access.
constexpr bool is_bulk(Op op) { return op == Op::bulk_load || op == Op::bulk_store; }

/// The cost of the accesses of one site, summed over requests.
struct SiteCost {
  std::uint64_t requests = 0;       ///< warp-wide instructions
  std::uint64_t accesses = 0;       ///< accesses of single threads (at most 32 per request)
  std::uint64_t sectors = 0;        ///< global: 32-byte sectors touched
  std::uint64_t lines = 0;          ///< global: 128-byte lines touched
  std::uint64_t tag_passes = 0;     ///< global: passes through L1's tag stage
  std::uint64_t wavefronts = 0;     ///< shared: passes through the 32 banks; constant: distinct addresses
  std::uint64_t l1_wavefronts = 0;  ///< global: passes through the same 32 banks if it hits L1
  std::uint64_t l1_cycles = 0;      ///< global: the larger of tag passes and wavefronts
  /// Lanes of a warp came here after different numbers of loop iterations. Which of their accesses the hardware would serve
  /// together is then a guess: the k-th of one lane with the k-th of another.
  bool estimated = false;
  bool at_least = false;  ///< global stores: l1_wavefronts and l1_cycles are lower bounds (exact_for_store)

  SiteCost& operator+=(const SiteCost& more) {
    for (const auto number :
         {&SiteCost::requests, &SiteCost::accesses, &SiteCost::sectors, &SiteCost::lines, &SiteCost::tag_passes,
          &SiteCost::wavefronts, &SiteCost::l1_wavefronts, &SiteCost::l1_cycles})
      this->*number += more.*number;
    estimated = estimated || more.estimated;
    at_least = at_least || more.at_least;
    return *this;
  }
};

}  // namespace simt

namespace simt::cost {

constexpr std::uint16_t unknown_turns = 0xffff;

/// One access of one lane.
struct LogEntry {
  std::uint64_t address;
  std::uint32_t pc;  ///< the instruction, as an offset into the program
  std::uint8_t size;
  Op op;
  /// How many loop iterations the lane has begun since the last barrier, or unknown_turns.
  std::uint16_t turns;
};
using Log = std::vector<LogEntry>;

/// Calls visit(entry, access, same_turn) for each warp-wide access of the logs; a null log stands for a missing lane. The k-th
/// execution of an instruction by one lane is grouped with the k-th by another: entry i of every log if all ran the same
/// instructions. `same_turn`: whether all came to it after equally many loop iterations; otherwise the grouping is a guess.
template <class Visit>
void for_each_request(const std::array<const Log*, 32>& logs, Visit visit) {
  unsigned participating = 0;
  std::size_t shortest = ~std::size_t(0), longest = 0;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (logs[lane] == nullptr || logs[lane]->empty()) continue;
    participating |= 1u << lane;
    shortest = std::min(shortest, logs[lane]->size());
    longest = std::max(longest, logs[lane]->size());
  }
  if (participating == 0) return;
  const auto leader = std::size_t(std::countr_zero(participating));
  std::size_t i = 0;
  for (; i < shortest; ++i) {
    const LogEntry& entry = (*logs[leader])[i];
    WarpAccess access{{}, participating, entry.size};
    bool convergent = true, same_turn = true;
    for (unsigned rest = participating; rest != 0; rest &= rest - 1) {
      const auto lane = std::size_t(std::countr_zero(rest));
      const LogEntry& own = (*logs[lane])[i];
      convergent = convergent && own.pc == entry.pc && own.op == entry.op && own.size == entry.size;
      same_turn = same_turn && own.turns == entry.turns && own.turns != unknown_turns;
      access.address[lane] = own.address;
    }
    if (!convergent) break;
    visit(entry, access, same_turn);
  }
  if (i == longest) return;
  // The lanes diverged: group what is left by (how often this lane ran it, instruction).
  struct Group {
    LogEntry entry{};
    WarpAccess access;
    bool same_turn = true;
  };
  std::map<std::tuple<std::size_t, std::uint32_t, Op, std::uint8_t>, Group> groups;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::map<std::tuple<std::uint32_t, Op, std::uint8_t>, std::size_t> times;
    for (std::size_t j = i; logs[lane] != nullptr && j < logs[lane]->size(); ++j) {
      const LogEntry& own = (*logs[lane])[j];
      const std::size_t k = times[{own.pc, own.op, own.size}]++;
      Group& group = groups[{k, own.pc, own.op, own.size}];
      group.same_turn =
          group.same_turn && own.turns != unknown_turns && (group.access.active == 0 || group.entry.turns == own.turns);
      group.entry = own;
      group.access.size = own.size;
      group.access.active |= 1u << lane;
      group.access.address[lane] = own.address;
    }
  }
  for (const auto& [key, group] : groups) visit(group.entry, group.access, group.same_turn);
}

}  // namespace simt::cost
