// The SIMT model: executes a kernel on the CPU, thread by thread, and counts what its memory accesses would cost.
//
// A kernel compiled with -fsanitize=thread calls a hook before every load and store; common/sim implements the hooks in place of
// libtsan. The book's appendix (book/appendix-simt-model.md) explains how that works, and what the model does not know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/cuda/words/vocabulary.hpp"
#include "common/sim/cost/requests.hpp"

namespace simt {

/// What a kernel did wrong: a race, a deadlock, an access that is out of bounds, misaligned or to uninitialised memory, a
/// warp operation that a lane of its mask does not reach, a misused mbarrier or TMA copy, a missing proxy fence; also what
/// the model does not support or no GPU would launch. what() has one line per finding, with kernel, file:line, block,
/// thread and address; after eight, a line says how many more there are.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const char* name_of(Op op);
const char* name_of(Space space);
/// "1 thread", "2 threads".
std::string counted(std::uint64_t number, const char* what);

/// The cost of one access site of the source (one operation on one array, on one line).
struct Site : SiteCost {
  std::string file;  ///< as the compiler recorded it
  int line = 0;
  Op op{};
  Space space{};
  std::string array;          ///< name of the buffer or of the __shared__ array
  std::size_t row_bytes = 0;  ///< of the innermost row of a multidimensional __shared__ array; else 0
  int width = 0;              ///< bytes a thread moves per access: 1, 2, 4, 8 or 16
  /// Whether asynchronous copies make the accesses: their loads and stores are two sites, but one instruction.
  bool by_copy = false;
  /// Size of the declared element type of an array in global memory; 0 if unknown.
  std::size_t element_bytes = 0;
  std::uint64_t bytes() const { return accesses * std::uint64_t(width); }
};

/// One warp-wide access, kept as an example: the first one at a site by warp 0 of the sampled block.
struct Sample {
  std::size_t site = 0;                        ///< index into Counts::sites
  std::array<std::int64_t, 32> byte_offset{};  ///< from the start of the matrix or array; -1: an inactive lane
};

/// An element (by byte offset) that the sampled block touched between two barriers.
struct Touch {
  int interval = 0;
  int thread = 0;  ///< linear index within the block
  Op op{};
  std::string array;
  std::int64_t byte_offset = 0;
  int width = 4;  ///< bytes
};

struct Counts {
  std::string kernel;
  const void* function = nullptr;  ///< the instantiated __global__ function that was launched
  dim3 grid, block;
  dim3 cluster;  ///< 1 x 1 x 1: none
  std::size_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  std::uint64_t barriers = 0;  ///< __syncthreads per block, summed over blocks
  /// The number of cp.async.wait_group, over all threads, by how many of the thread's groups may stay pending.
  std::vector<std::uint64_t> waits_for_copies{};
  std::uint64_t block_sectors = 0;        ///< distinct global sectors loaded, per block, summed over blocks
  std::uint64_t block_store_sectors = 0;  ///< the same for stores
  std::uint64_t grid_sectors = 0;         ///< distinct global sectors of the whole grid
  std::uint64_t most_updates = 0;  ///< atomic updates of one sector; lanes of a request with one address count once
  std::vector<Site> sites{};       ///< ordered by file, line, op, array
  std::vector<Sample> samples{};
  std::vector<Touch> touches{};
};

struct Trace {
  dim3 sample_block{0, 0, 0};  ///< clamped to the grid
  bool report_races = true;
  bool keep_touches = false;  ///< fills Counts::touches for the sampled block (large)
};

/// Runs `work` with counts and checks on; returns one Counts per kernel launched, in order. Throws Error.
std::vector<Counts> trace(const std::function<void()>& work, const Trace& options = {});
/// The launches that `work` would make, in order, without running them: kernel, function, grid, block and bytes of shared memory;
/// the rest of each Counts stays 0. Throws Error if a launch would fail.
std::vector<Counts> launches(const std::function<void()>& work);

/// Number of host threads that run a grid's blocks: the machine's cores, or SIMT_THREADS from the environment.
unsigned host_threads();

/// Throws Error with the first element of the declared matrix that the last traced launch did not write, if there is one.
void require_all_written(const void* memory);

}  // namespace simt
