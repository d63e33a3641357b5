// What a warp's 32 addresses cost, as pure functions. Global memory: sectors_of and lines_of, the passes through L1's tag stage
// (tag_passes) and through its banks (global_wavefronts). Shared memory: shared_wavefronts. There is a bank conflict if bank_passes
// is above 1, that is, if lanes access different words of one bank at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace simt {

/// One warp-wide access: `size` bytes per lane, at address[l] for every lane l whose bit is set in `active`.
struct WarpAccess {
  std::array<std::uint64_t, 32> address{};
  unsigned active = 0;
  int size = 4;
};

/// The distinct aligned blocks of 2^shift bytes that the access touches: 32-byte sectors with shift 5, 128-byte cache lines with
/// shift 7. A lane's bytes span at most two of them.
struct Blocks {
  std::array<std::uint64_t, 64> block{};
  int count = 0;
};
constexpr Blocks blocks_of(const WarpAccess& access, int shift) {
  Blocks found;
  auto& [block, count] = found;
  bool sorted = true;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(access.active >> lane & 1u)) continue;
    const std::uint64_t first = access.address[lane] >> shift;
    const std::uint64_t last = (access.address[lane] + access.size - 1) >> shift;
    for (std::uint64_t b = first; b <= last; ++b) {
      if (count > 0 && b == block[count - 1]) continue;
      sorted = sorted && (count == 0 || b > block[count - 1]);
      block[count++] = b;
    }
  }
  if (sorted) return found;
  std::sort(block.begin(), block.begin() + count);
  count = int(std::unique(block.begin(), block.begin() + count) - block.begin());
  return found;
}

constexpr int distinct_blocks(const WarpAccess& access, int shift) { return blocks_of(access, shift).count; }
/// 32-byte sectors, and 128-byte lines, that an access touches.
constexpr int sectors_of(const WarpAccess& access) { return distinct_blocks(access, 5); }
constexpr int lines_of(const WarpAccess& access) { return distinct_blocks(access, 7); }

namespace rules {

// The maximum over the 32 banks of the number of distinct 4-byte words that lanes [first, first + lanes) access.
constexpr int bank_passes(const WarpAccess& access, int first, int lanes) {
  constexpr std::uint64_t none = ~0ull;
  std::array<std::uint64_t, 32> only;  // the single word seen in a bank so far
  only.fill(none);
  std::array<std::uint64_t, 128> extra;  // words of banks with more than one
  int extras = 0, passes = 0;
  bool ascending = true;
  const int words_per_lane = std::max(1, access.size / 4);
  for (int lane = first; lane < first + lanes; ++lane) {
    if (!(access.active >> lane & 1u)) continue;
    for (int i = 0; i < words_per_lane; ++i) {
      const std::uint64_t word = access.address[lane] / 4 + i;
      auto& slot = only[word % 32];
      if (slot == word) continue;
      if (slot == none) {
        slot = word;
      } else {
        ascending = ascending && (extras == 0 || word > extra[extras - 1]);
        extra[extras++] = word;
      }
      passes = std::max(passes, 1);
    }
  }
  if (extras == 0) return passes;
  if (!ascending) {
    std::sort(extra.begin(), extra.begin() + extras);
    extras = int(std::unique(extra.begin(), extra.begin() + extras) - extra.begin());
  }
  std::array<int, 32> in_bank{};
  for (int i = 0; i < extras; ++i) passes = std::max(passes, 1 + ++in_bank[extra[i] % 32]);
  return passes;
}

constexpr bool pairs_agree(const WarpAccess& access, int distance) {
  for (int lane = 0; lane < 32; ++lane) {
    const int other = lane ^ distance;
    const bool both = (access.active >> lane & 1u) && (access.active >> other & 1u);
    if (both && access.address[lane] != access.address[other]) return false;
  }
  return true;
}

// The sum of the passes of all groups of `lanes` lanes. A group of a load takes one pass even if no lane is active.
constexpr int passes_of_groups(const WarpAccess& access, int lanes, bool is_load) {
  int passes = 0;
  for (int first = 0; first < 32; first += lanes)
    passes += std::max(bank_passes(access, first, lanes), is_load ? 1 : 0);
  return passes;
}

}  // namespace rules

/// How many lanes shared memory serves together: all 32 for 4-byte accesses, half a warp for 8-byte and a quarter for 16-byte
/// ones; twice as many for a load with addr(l) == addr(l^1) for every lane, or addr(l) == addr(l^2) for every lane, where an
/// inactive lane agrees with every other. Measured, see shared_wavefronts.
constexpr int lanes_together(const WarpAccess& access, bool is_load) {
  const int group = access.size == 16 ? 8 : access.size == 8 ? 16 : 32;
  const bool merges = is_load && (rules::pairs_agree(access, 1) || rules::pairs_agree(access, 2));
  return group < 32 && merges ? 2 * group : group;
}

/// Number of passes ("wavefronts") through the 32 four-byte banks of shared memory: for each group of lanes that is served
/// together, the maximum over banks of the number of distinct words; summed over the groups. Measured on an NVIDIA H200 with Nsight
/// Compute: common/sim/data/h200-shared-memory-wavefronts.csv, and for one and two bytes h200-narrow-accesses.csv. Which groups
/// merge, and what inactive lanes cost, was timed in chapter 09 for loads; an inactive group of a store is assumed to cost nothing.
constexpr int shared_wavefronts(const WarpAccess& access, bool is_load) {
  return rules::passes_of_groups(access, lanes_together(access, is_load), is_load);
}

/// The bank of L1's tags, 0 to 3, that looks up a 128-byte line: `line` counts lines from the start of an allocation.
///
/// Two parities of the line number's bits, measured on an NVIDIA H200 with Nsight Compute: the lowest bits by fitting
/// common/sim/data/h200-l1-global-accesses.csv, 8 to 27 (the first 32 GiB of an allocation) one by one: h200-l1-tag-bank-bits.csv.
/// The hardware hashes addresses, so the actual bank also depends on the line at which the allocation begins.
constexpr int tag_bank(std::uint64_t line) {
  return std::popcount(line & 0x5ef7ab5u) % 2 * 2 + std::popcount(line & 0xebad5dau) % 2;
}

/// Number of passes through L1's tag stage of a warp-wide access to global memory of any width: each distinct 128-byte line is
/// looked up once, and a pass takes up to four lines, one from each tag bank. Addresses count from the start of the allocation.
/// Measured, see tag_bank.
constexpr int tag_passes(const WarpAccess& access) {
  const Blocks lines = blocks_of(access, 7);
  std::array<int, 4> in_bank{};
  for (int i = 0; i < lines.count; ++i) ++in_bank[tag_bank(lines.block[i])];
  return *std::max_element(in_bank.begin(), in_bank.end());
}

/// Distinct addresses of a read of constant memory, which is split into as many requests (CUDA Programming Guide; not measured).
constexpr int constant_requests(const WarpAccess& access) {
  return distinct_blocks({access.address, access.active, 1}, 0);
}

/// Number of passes through L1's data banks, the same 32 that serve shared memory, of a load from global memory that hits
/// L1: like shared_wavefronts, but groups of lanes never merge. For a store it may be a lower bound, see
/// exact_for_store. Measured, see tag_bank and shared_wavefronts.
constexpr int global_wavefronts(const WarpAccess& access, bool is_load = true) {
  return rules::passes_of_groups(access, lanes_together(access, false), is_load);
}

/// Atomic operations on global memory: the least time that L2 needs per lane that updates a sector, in ns, and the most sectors
/// that it updates per ns in all. Those on shared memory take at least the wavefronts of a store. These are lower bounds: neither
/// the operation nor whether nvcc combines lanes is known here. Measured on an NVIDIA H100: h100-atomics.csv.
constexpr double atomic_ns_of_sector = 0.73, atomic_sectors_per_ns = 93;

/// Whether global_wavefronts is exact for a store rather than a lower bound: so it is if the store needs at most seven tag
/// passes (two for elements of one or two bytes; three were not tried). The rule for other stores is not known. Measured on an
/// NVIDIA H200 and an H100: h200-l1-global-accesses.csv, h200-narrow-accesses.csv and h100-stores.csv.
constexpr bool exact_for_store(const WarpAccess& access) { return tag_passes(access) <= (access.size < 4 ? 2 : 7); }

}  // namespace simt
