// Ceilings: for each resource that a kernel uses, the throughput at which that resource would be busy all the time. In:
// the model's counts for a kernel, the machine code according to its record, and the rates that chapter 00 measured.
// Out: ceilings, which are sums and quotients of these.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"

namespace simt {
struct Counts;
}

namespace tile {

/// The rates of a GPU from which ceilings are computed. Bandwidths were measured by chapter 00.
struct Rates {
  std::string gpu;
  int sms = 0;
  double clock_hz = 0;
  double l2_bytes_per_second = 0;    ///< 0: not measured
  double dram_bytes_per_second = 0;  ///< 0: not measured
};

/// The rates that chapter 00 recorded for the reference GPU; without a record those of its specification, no bandwidths.
Rates reference_rates();

/// A resource, the least time that a kernel keeps it busy, and the throughput at which it would be busy all the time.
struct Ceiling {
  std::string resource;
  double seconds, tflops;
};

/// The total work of a kernel for the SMs and the memory system: sums over its access sites.
struct Work {
  double flops = 0;            ///< 2MNK: one FMA counts two
  double requests = 0;         ///< warp-wide memory instructions
  double lines = 0;            ///< 128-byte lines looked up in L1, loads and stores
  double l1_cycles = 0;        ///< the larger of tag passes and wavefronts, summed over global requests
  double wavefronts = 0;       ///< passes through shared memory
  double l1_wavefronts = 0;    ///< passes of global accesses' data through the same banks; for stores a lower bound
  double requested_bytes = 0;  ///< bytes that threads requested of global and shared memory
  double l2_bytes = 0;         ///< least traffic from L2: each block's footprint once
  double dram_bytes = 0;       ///< least traffic from DRAM: the three matrices once
  double instructions = 0;     ///< warp-wide instructions of all kinds; 0: only those of the source are known
  double bank_reads = 0;       ///< warp-wide register reads of FFMA from the busier register bank; 0: not known
};

/// The work counted for a problem; and for any launch, as far as its access sites determine it.
Work work_of(const simt::Counts& counts, const Case& counted);
Work work_of(const simt::Counts& counts, Work others = {});

struct CountedWork {
  Case problem;
  Work work;
};
/// The work of a kernel at `to`, if each number is a * M * N + b * M * N * K: two counted problems of different K determine
/// a and b. Exact if tiles divide all three and all blocks do the same work, which each chapter's tests check for its
/// kernels. Throws std::invalid_argument for problems of equal depth.
Work work_at(const Case& to, const CountedWork& one, const CountedWork& other);

/// The work of the machine code of a kernel whose source does `work` at `to`, and `counted` on the chapter's problem: the
/// instructions that the hardware counted at `to`, shared wavefronts scaled by its count on the chapter's problem, and the
/// register reads of the main loop's SASS. Global accesses are left out if nvcc has merged some, so that the hardware did
/// not count `counted_load_requests`. Nothing if `kernel`, its entry in `record`, lacks any of these.
std::optional<Work> work_as_compiled(Work work, const nlohmann::json& kernel, const nlohmann::json& record,
                                     double counted_load_requests, const Work& counted, const Case& to);

/// Ceilings, tightest first. FFMA issue: one warp-wide FFMA per cycle on each of an SM's four schedulers. Issue slots: the
/// same including memory instructions, or all instructions if known. Register banks: one register per cycle from each of a
/// scheduler's two banks. L1: for every global request the larger of its tag passes and wavefronts. Banks: one wavefront
/// per cycle and SM, of shared memory and L1 together. L2 and DRAM: bytes over the rate. Measured, see chapter 00.
std::vector<Ceiling> ceilings(const Work& work, const Rates& rates);

}  // namespace tile
