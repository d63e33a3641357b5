// What follows from counts without a run: for each resource that a kernel uses, the throughput at which that resource
// alone would be busy all the time. In: what the model counted of a kernel, what its record says of its machine code,
// and the rates that chapter 00 measured. Out: ceilings, sums and quotients of these.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/check/gemm.hpp"

namespace simt {
struct Counts;
}

namespace tile {

/// The rates of a GPU that ceilings are computed from. Bandwidths are what chapter 00 measured.
struct Rates {
  std::string gpu;
  int sms = 0;
  double clock_hz = 0;
  double l2_bytes_per_second = 0;    ///< 0: not measured
  double dram_bytes_per_second = 0;  ///< 0: not measured
};

/// What chapter 00 recorded of the reference GPU; without a record the specification stands in, and no bandwidths.
Rates recorded_rates(const std::filesystem::path& chapters);

/// One resource a kernel uses, how long it is busy at least, and the throughput at which it is busy all the time.
struct Ceiling {
  std::string resource;
  double seconds, tflops;
};

/// What a kernel asks of an SM and of the memory system in all: sums over its access sites.
struct Work {
  double flops = 0;            ///< 2MNK: one FMA counts two
  double requests = 0;         ///< warp-wide memory instructions
  double lines = 0;            ///< 128-byte lines looked up in L1, loads and stores
  double l1_cycles = 0;        ///< for each global request the larger of tag passes and wavefronts
  double wavefronts = 0;       ///< passes through shared memory
  double l1_wavefronts = 0;    ///< passes of global accesses' data through the same banks; of stores at least so many
  double requested_bytes = 0;  ///< bytes that threads asked of global and of shared memory
  double l2_bytes = 0;         ///< at least this much crosses from L2: what a block touches, once a block
  double dram_bytes = 0;       ///< at least this much crosses from DRAM: the three matrices, once
  double instructions = 0;     ///< warp-wide instructions of all kinds; 0: only those of the source are known
  double bank_reads = 0;       ///< warp-wide registers that FFMA read from the busier register bank; 0: not known
};

/// The work that was counted of a problem; and of any launch, as far as its access sites say.
Work work_of(const simt::Counts& counts, const Case& counted);
Work work_of(const simt::Counts& counts, Work others = {});

struct CountedWork {
  Case problem;
  Work work;
};
/// The work of a kernel at `to`, if each number is a * M * N + b * M * N * K: two counted problems of different K say
/// what a and b are. Exact when tiles divide all three and all blocks do the same; the tests of each chapter ask that of
/// its kernels. Throws std::invalid_argument for problems of one depth.
Work work_at(const Case& to, const CountedWork& one, const CountedWork& other);

/// The work of what nvcc made of a kernel whose source does `work` at `to`, and `counted` on the chapter's problem: the
/// instructions that the hardware counted at `to`, shared wavefronts scaled by what it counted on the chapter's problem, and
/// the register reads of the main loop's machine code. Global accesses are left out where nvcc has merged some, so that the
/// hardware counted other than `counted_load_requests`. Nothing where `kernel`, its entry in `record`, lacks any of these.
std::optional<Work> work_as_compiled(Work work, const nlohmann::json& kernel, const nlohmann::json& record,
                                     double counted_load_requests, const Work& counted, const Case& to);

/// Ceilings, tightest first. FFMA issue: one warp-wide FFMA a cycle on each of an SM's four schedulers. Issue slots: the
/// same with memory instructions, or all where they are known. Register banks: one register a cycle from each of a
/// scheduler's two banks. L1: for every global request its tag passes, or its wavefronts where those are more. Banks: one
/// wavefront a cycle and SM, of shared memory and L1 together. L2 and DRAM: bytes over the rate. Measured, see chapter 00.
std::vector<Ceiling> ceilings(const Work& work, const Rates& rates);

}  // namespace tile
