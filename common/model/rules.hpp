// The rules that turn a warp's 32 addresses into cost.
#pragma once

#include <array>
#include <cstdint>

namespace simt {

/// One warp-wide access: `size` bytes a lane, at address[l] for every lane l whose bit is set in `active`.
struct WarpAccess {
  std::array<std::uint64_t, 32> address{};
  unsigned active = 0;
  int size = 4;
};

/// Number of distinct aligned blocks of 2^shift bytes that the access touches: 32-byte sectors with shift 5,
/// 128-byte cache lines with shift 7.
int distinct_blocks(const WarpAccess& access, int shift);

/// Number of passes ("wavefronts") through the 32 four-byte banks of shared memory.
///
/// 4-byte accesses: the maximum over banks of the number of distinct words. 8-byte accesses go as two half-warps,
/// 16-byte accesses as four quarter-warps, summed; a load merges two neighbouring groups when for every lane
/// addr(l) == addr(l^1), or for every lane addr(l) == addr(l^2). Measured on an NVIDIA H200 with Nsight Compute,
/// see ctest/data/h200-shared-memory-wavefronts.csv.
int shared_wavefronts(const WarpAccess& access, bool is_load);

}  // namespace simt
