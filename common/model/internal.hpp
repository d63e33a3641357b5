// What the parts of the model share: lanes, warps' logs, memory regions, shadow cells.
#pragma once

#include <array>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/model/model.hpp"

namespace simt::internal {

using Address = std::uintptr_t;

// --- Names (symbols.cpp) ---------------------------------------------------------------------------------------
struct Place {
  std::string file;
  int line = 0;
};
/// A __shared__ array: a thread-local variable of a kernel, as an offset into the program's TLS block.
struct SharedVariable {
  std::string name;
  std::size_t offset = 0, size = 0;
};
/// The source line a call instruction returns to; inlined helpers of common/ are charged to their caller.
Place place_of(Address return_address);
std::string function_name(const void* function);
/// The __shared__ arrays that a kernel declares, ordered by offset.
std::vector<SharedVariable> shared_variables(const void* kernel);
/// The calling thread's copy of the program's thread-local variables.
std::pair<Address, std::size_t> tls_block();
/// The variable of the program that holds the address, or "" for memory that is not the program's own image.
std::string variable_at(Address address);

// --- Shadow memory (memory.cpp) ----------------------------------------------------------------------------------
/// Who last read and wrote an element, each packed into 64 bits: block, barrier interval, thread, warp interval.
struct Cell {
  std::atomic<std::uint64_t> writer{0}, reader{0};
  std::atomic<std::uint32_t> writer_pc{0}, reader_pc{0};
  /// Where several threads read: one that is not `reader`, so that a race of `reader` itself can name it.
  std::atomic<std::uint64_t> other_reader{0};  // block, thread, pc
};

/// An allocation of global memory.
struct Region {
  std::string name;
  Address begin = 0, end = 0;
  std::size_t element = 4;
  std::size_t first = 0, rows = 0, cols = 0, ld = 0;  // declared matrix; rows == 0: all of it
  std::unique_ptr<Cell[]> cells;                      // one per element, made by the first traced launch
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> storage;
};
struct Regions {
  std::mutex mutex;
  std::map<Address, Region> by_begin;
};
Regions& regions();

// --- Lanes -------------------------------------------------------------------------------------------------------
enum class LaneState : std::uint8_t { ready, barrier, warp_op, done };

constexpr std::uint16_t unknown_turns = 0xffff;  // after a turn of more blocks than Lane::blocks holds

struct LogEntry {
  Address address;
  std::uint32_t pc;  // offset of the return address in the image
  std::uint8_t size;
  Op op;
  std::uint16_t turns;  // Lane::turns at this access, or unknown_turns
};

struct Lane {
  boost::context::detail::fcontext_t context = nullptr;
  uint3 thread{};
  int linear = 0;
  LaneState state = LaneState::done;
  // at a warp operation
  device::WarpOp warp_op{};
  unsigned mask = 0;
  int operand = 0, width = 32;
  std::uint64_t value = 0;
  Address waiting_at = 0;  // return address of the barrier or warp operation
  std::uint32_t warp_interval = 0;
  // How often the lane has gone round a loop since the last barrier: entered a basic block again that it had been in
  // since the turn before. The blocks of this turn:
  std::uint16_t turns = 0;
  std::uint16_t block_count = 0;
  std::array<std::uint32_t, 256> blocks{};
  Address stack_low = 0, stack_high = 0;
  std::vector<LogEntry> log;
};

struct SiteKey {
  std::uint32_t pc;
  Op op;
  Space space;
  std::uint8_t size;
  std::uint16_t array;
  bool operator==(const SiteKey&) const = default;
};
struct SiteKeyHash {
  std::size_t operator()(const SiteKey& k) const {
    return (std::uint64_t(k.pc) << 24 ^ std::uint64_t(k.array) << 8 ^ unsigned(k.size) << 4 ^ unsigned(k.op)) *
               0x9e3779b97f4a7c15ull >>
           13;
  }
};
struct SiteTally {
  std::uint64_t requests = 0, accesses = 0, sectors = 0, lines = 0, tag_passes = 0, l1_wavefronts = 0, l1_cycles = 0,
                wavefronts = 0;
  bool sampled = false, estimated = false;
};

struct LaunchState;

/// What can be wrong with a kernel.
enum class Mistake : std::uint8_t {
  race,
  uninitialised,
  bounds,
  outside_matrix,
  misaligned,
  element,
  unsupported,
  barrier,
  warp_operation
};
/// Tells repetitions of a mistake apart: its kind and the places in the program that take part.
using MistakeKey = std::tuple<Mistake, Address, Address>;

/// One host thread running blocks of a launch.
struct Worker {
  LaunchState* launch = nullptr;
  bool traced = false;  // as the launch says
  boost::context::detail::fcontext_t scheduler = nullptr;
  Lane* current = nullptr;
  std::vector<Lane> lanes;
  uint3 block{};
  std::uint32_t block_serial = 0;  // 1-based linear block index
  std::uint32_t interval = 0;      // __syncthreads passed by the block
  bool abandoned = false;
  std::set<MistakeKey> seen;  // what this worker has met; LaunchState::seen is all workers'
  bool dynamic_shared_named = false;
  // memory as this worker's lanes see it
  Address tls_begin = 0;
  std::size_t tls_size = 0;
  std::vector<std::uint16_t> variable_at;  // TLS byte offset -> 1 + index of a shared variable
  std::vector<Cell> shared_cells;          // one per shared_granule bytes of the TLS block
  std::size_t shared_granule = 4;
  Region* last_region = nullptr;
  // counts
  std::unordered_map<SiteKey, SiteTally, SiteKeyHash> tallies;
  std::vector<std::pair<SiteKey, Sample>> samples;
  std::vector<Touch> touches;
  std::map<const Region*, std::vector<std::uint32_t>> loaded_by, stored_by;  // sector -> serial of last block
  std::uint64_t block_sectors = 0, block_store_sectors = 0, barriers = 0;
};

struct LaunchState {
  const BoundKernel* kernel = nullptr;
  std::string name;
  dim3 grid, block;
  std::size_t dynamic_shared = 0, static_shared = 0;
  bool traced = false;
  Trace options;
  std::vector<SharedVariable> variables;
  std::vector<Region*> arrays;                 // global arrays, ordered by address; SiteKey::array indexes it
  std::vector<std::vector<std::byte>> before;  // their contents when a traced launch began
  std::uint64_t block_count = 0;
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::vector<std::string> findings;
  std::set<MistakeKey> seen;  // each is told once
};

/// The worker whose lane is running on this host thread, or nullptr in host code.
extern thread_local Worker* active;

/// Adds a finding to the launch unless another worker has: message() is called under the launch's lock.
void add_finding(LaunchState& launch, const MistakeKey& key, const std::function<std::string()>& message);
/// Tells of a mistake once for each key. A race comes back millions of times, so only the first time is message() called: it
/// reads debug information.
template <class Message>
void report(Worker& worker, Mistake mistake, Address pc, Address other_pc, Message&& message) {
  const MistakeKey key{mistake, pc, other_pc};
  if (worker.seen.insert(key).second) add_finding(*worker.launch, key, message);
}
/// "kernel k, chapter03.cu:57, block (0,0,0), thread (3,1,0)" for the running lane.
std::string where(const Worker& worker, Address return_address);
/// Leaves the running lane for good: its block cannot go on.
[[noreturn]] void abandon_block(Worker& worker);

void prepare_memory(Worker& worker);
/// Turns the logs of a warp's lanes into counts and clears them (counts.cpp).
void count_warp(Worker& worker, int first_lane, int lane_count);

/// Where the program's image begins; return addresses are kept as 32-bit offsets from here.
inline Address image_base = 0;
std::string format_address(Address address);

}  // namespace simt::internal
