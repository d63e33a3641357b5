// execute/: running the threads of a grid.
//
// What comes in: a kernel and its grid (run() in launch.cpp), what its threads touch (announce/), and the calls of device
// functions: barriers, shuffles, asynchronous copies. What goes out: for a traced launch its Counts (collect.cpp), and in any
// case an Error that says what the kernel did wrong.
//
// How: each thread is a fiber (fibers.cpp), a *lane* with a stack of its own. One host thread, a *worker*, runs the lanes of a
// block in turn, warp by warp, each until it waits. What a lane waits for is a state of its own (Wait), and waits.cpp decides
// when it is over: a barrier of the block, a named one, a phase of an mbarrier, a collective operation of a warp, or a value in
// memory that some other lane will write (the lane keeps loading the same element: it *polls*). Copies in bulk arrive when no
// lane can go on. Blocks start in the order of their numbers (blocks.cpp). When no lane of a block can go on, the worker runs
// others, and starts as many as the GPU would hold at once; their shared memory is swapped then, since `__shared__` is the host
// thread's own (thread_local). When nothing can go on at all, the error lists who waits where for what, and what is missing.
//
// Each access is looked at in touch.cpp: in which array it falls (arrays.cpp) and whether it may be made, which
// wrong_access.cpp says if not; order/ says whether another thread's access is unordered with it; and once the lanes of a warp
// have run up to the same wait, account/ turns their logs into costs. Dependencies go from here to the other rooms, never back.
#pragma once

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

#include "common/cuda/asynchronous.hpp"
#include "common/model/account/tally.hpp"
#include "common/model/announce/announce.hpp"
#include "common/model/announce/memory.hpp"
#include "common/model/model.hpp"
#include "common/model/order/cells.hpp"

namespace simt::execute {

using announce::Address;
using announce::Place;
using announce::Region;
using announce::SharedVariable;

struct Launch;
struct Worker;

// --- Lanes ---------------------------------------------------------------------------------------------------------
constexpr int max_threads = 1024;  ///< of a block

enum class LaneState : std::uint8_t { ready, waiting, polling, done };

/// What a lane waits for.
struct Wait {
  enum class For : std::uint8_t { block_barrier, named_barrier, collective, mbarrier } what{};
  Address pc = 0;  ///< return address of the call that waits
  // a named barrier: its number, and how many threads it takes
  int barrier = 0, expected = 0;
  // a collective operation: who takes part, what they do, and this lane's part
  unsigned mask = 0;
  device::Collective function = nullptr;
  device::Slot* slot = nullptr;
  // an mbarrier: where it lies, the parity of the phase, and whether that was over when the wait ended
  Address mbarrier = 0;
  std::uint32_t parity = 0;
  bool over = false;
};

/// An asynchronous copy on its way: it arrives when its thread waits for it, at the latest moment that the rules allow.
struct PendingCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  order::Epoch group = 0;
};

/// A box of a matrix in global memory, and where it lies in shared memory. Bytes in a row are one as well.
struct Box {
  TensorMap map;
  std::int64_t x = 0, y = 0;
  Address shared = 0;
};
/// A copy in bulk on its way to shared memory: it arrives when nothing else can go on.
struct BulkLoad {
  Box box;
  Address mbarrier = 0;
  std::uint64_t phase = 0;  ///< that of the mbarrier when the copy was started
  int thread = 0;
  Address pc = 0;
};
/// A copy in bulk out of shared memory: it is made when its thread waits for its group.
struct BulkStore {
  Box box;
  order::Epoch group = 0;
  Address pc = 0;
};

/// A store where another lane of the warp stored by the same instruction: no race if the value is the same, which is known
/// once the store has been made.
struct SameValue {
  Address address = 0;
  std::array<std::byte, 16> before{};
  std::size_t bytes = 0;
  std::function<void()> report;
};

/// A thread of the grid. What each access needs comes first, in two lines of the host's cache.
struct alignas(64) Lane {
  announce::Attention attention{};
  account::Log log;
  int linear = 0;
  LaneState state = LaneState::done;
  // A lane that makes the same access again and again waits for a value.
  Address last_pc = 0, last_address = 0;
  std::uint32_t repeats = 0;
  // What is to be looked at once the access that is being made has been made.
  bool unsettled = false;  ///< whether there is any of it
  Address learn_from =
      0;  ///< an element that was updated atomically or read through volatile: who wrote it may have released
  std::vector<SameValue> same_values;
  boost::context::detail::fcontext_t context = nullptr;
  uint3 thread{};
  Wait wait{};
  std::vector<PendingCopy> copies;
  std::vector<BulkStore> bulk_stores;
  std::uint64_t tried_at = 0;  ///< Block::happenings when it last tried an mbarrier in vain
  announce::Turns turns{};
};

// --- Blocks and what runs them -----------------------------------------------------------------------------------------
struct NamedBarrier {
  std::vector<int> arrived;  ///< threads that are there without waiting (arrive), besides those that wait
  int expected = 0;
};

/// An mbarrier: what its eight bytes stand for.
struct Mbarrier {
  std::uint32_t number = 0;   ///< among those of the block
  bool live = false;          ///< initialised, and not invalidated since
  std::uint32_t count = 0;    ///< arrivals that a phase takes
  std::uint32_t missing = 0;  ///< arrivals that the current phase lacks
  std::int64_t bytes = 0;     ///< that were announced for it and have not come; negative: more have come
  std::uint64_t phase = 0;    ///< its number, from 0 on
  order::Epoch epoch = 1;     ///< phases since the block began, which no initialisation sets back
  order::Stamp initialised = 0;
  Address init_pc = 0;
  order::KnownPointer arrived, over;  ///< what those know who arrived in this phase; what those learn who find one over
};

struct Block {
  uint3 index{};
  std::uint32_t serial = 0;    ///< 1-based linear index
  std::uint32_t interval = 0;  ///< __syncthreads passed
  bool abandoned = false;
  std::vector<Lane> lanes;
  std::byte* stacks = nullptr;
  order::BlockOrder order;
  order::SharedCells shared;
  int granule_bits = 2;  ///< of an address, within a shared cell
  /// How many threads came to a barrier of the block with a predicate that holds. Of the last barrier some may yet ask while
  /// others vote at the next, hence two.
  struct Votes {
    std::uint32_t interval = ~0u;
    int count = 0;
  };
  std::array<Votes, 2> votes;
  std::array<NamedBarrier, 16> barriers;
  std::map<Address, Mbarrier> mbarriers;  ///< by address
  std::vector<BulkLoad> bulk_loads;       ///< on their way, in the order in which they were started
  std::uint64_t happenings = 1;           ///< arrivals, bytes, ends of barriers: what a lane may wait for
  std::uint64_t gave_up_at = 0;           ///< of these, when its lanes last gave up waiting for mbarriers,
  int gave_up = 0;                        ///< and how often they have since
  std::vector<std::byte> saved_shared;    ///< contents of its __shared__ variables while another block runs

  std::size_t granule() const { return std::size_t(1) << granule_bits; }  ///< bytes a shared cell stands for
};

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
  warp_operation,
  mbarrier,
  bulk_copy,
  proxy_fence,
  deadlock
};
/// Tells repetitions of a mistake apart: its kind and the places in the program that take part.
using MistakeKey = std::tuple<Mistake, Address, Address>;

/// One host thread running blocks of a launch.
struct Worker final : announce::Listener {
  Launch* launch = nullptr;
  bool traced = false;  // as the launch says
  boost::context::detail::fcontext_t scheduler = nullptr;
  Block* block = nullptr;  // the one that is running
  Lane* lane = nullptr;
  std::vector<std::unique_ptr<Block>> resident, idle;  // that have begun, and that are there to be used again
  order::By copying{};                                 // whose accesses are looked at, if not the lane's own
  bool is_idle = false;                                // none of those that have begun can go on
  std::set<MistakeKey> seen;                           // what this worker has met; Launch::seen is all workers'
  bool dynamic_shared_named = false;
  // memory as this worker's lanes see it
  Address tls_begin = 0;
  std::size_t tls_size = 0;
  std::vector<std::uint16_t> variable_at;  // 16 bytes of the TLS block -> 1 + index of the shared variable in them
  std::vector<std::uint32_t> room_at;  // 16 bytes of it -> bytes from there to that variable's end, 0 until it is used
  Region* last_region = nullptr;
  // counts
  account::Tally tally;
  std::vector<Touch> touches;
  std::vector<account::Log> empty_logs;  // of lanes whose logs were counted: the next to run use the same memory
  std::set<std::uint32_t> copies_at;     // instructions that start asynchronous copies
  std::uint64_t barriers = 0;
  std::vector<std::uint64_t> waits_for_copies;  // by how many groups they left under way

  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void refuse(Address pc, const std::string& what) override;
  void refuse_index(Address pc, std::intptr_t index, const char* array_type) override;
};

/// A __shared__ variable and where its cells begin. One that is not the kernel's own is placed when a lane touches it.
struct PlacedVariable : SharedVariable {
  static constexpr std::size_t nowhere = ~std::size_t(0);
  std::atomic<std::size_t> first_byte{nowhere};  ///< among the bytes of all variables
  bool is_dynamic = false;                       ///< all of the launch's dynamic shared memory

  bool placed() const { return first_byte.load(std::memory_order_relaxed) != nowhere; }
};

struct Launch {
  const BoundKernel* kernel = nullptr;
  std::string name;
  dim3 grid, block;
  std::size_t dynamic_shared = 0, static_shared = 0;
  bool traced = false;
  Trace options;
  std::vector<PlacedVariable> variables;       // that the kernel may touch, ordered by offset
  std::atomic<std::size_t> shared_bytes{0};    // of those that are placed
  std::vector<Region*> arrays;                 // global arrays, ordered by address
  std::vector<std::vector<std::byte>> before;  // their contents when a traced launch began
  std::uint64_t block_count = 0;
  std::size_t most_resident = 1;  // blocks that the GPU would hold at once
  std::atomic<std::uint64_t> next_block{0}, resident{0};
  std::atomic<int> live_workers{0}, idle_workers{0};
  std::atomic<bool> stop{false};
  // What was known and done by those who wrote an element atomically or through volatile after a fence.
  std::mutex released_mutex;
  std::unordered_map<Address, order::KnownPointer> released;
  std::mutex mutex;
  std::vector<std::string> findings;
  std::set<MistakeKey> seen;  // each is told once
};

/// The worker whose lane calls a device function. Also set while the model itself works, unlike announce::attention.
extern constinit thread_local Worker* running;

// --- Findings (findings.cpp) -------------------------------------------------------------------------------------------
/// Adds a finding to the launch unless another worker has: message() is called under the launch's lock.
void add_finding(Launch& launch, const MistakeKey& key, const std::function<std::string()>& message);
/// Tells of a mistake once for each key. A race comes back millions of times, so only the first time is message() called: it
/// reads debug information.
template <class Message>
void report(Worker& worker, Mistake mistake, Address pc, Address other_pc, Message&& message) {
  const MistakeKey key{mistake, pc, other_pc};
  if (worker.seen.insert(key).second) add_finding(*worker.launch, key, message);
}
/// "kernel k, chapter03.cu:57, block (0,0,0), thread (3,1,0)" for a lane of the running block.
std::string where(const Worker& worker, const Lane& lane, Address return_address);
std::string where(const Worker& worker, Address return_address);
std::string thread_name(const Worker& worker, std::uint64_t linear);
/// "thread (3,1,0)", or the copy that made an access.
std::string actor_name(const Worker& worker, order::Stamp by);
const char* verb_of(Op op);
std::string format_address(Address address);
/// "chapter03.cu:57"
std::string line_of(Address return_address);

// --- Fibers (fibers.cpp) -------------------------------------------------------------------------------------------------
/// Stacks for as many lanes as a block may have, and what is done with them when no block needs them.
std::byte* take_stacks();
void give_stacks(std::byte* stacks);
/// Lets a lane begin with the kernel, on its part of a block's stacks.
void prepare_fiber(Worker& worker, std::byte* stacks, Lane& lane);
/// Runs a lane until it waits or returns.
void run_lane(Worker& worker, Lane& lane);
/// From the running lane to the scheduler, until the wait is over.
void wait_for(const Wait& wait);
/// From the running lane back to the scheduler, until the lane is resumed.
void suspend(Worker& worker, LaneState state);
/// Leaves the running lane for good: its block cannot go on.
[[noreturn]] void abandon_block(Worker& worker);

// --- Blocks (blocks.cpp) -------------------------------------------------------------------------------------------------
/// What a worker's thread does: runs blocks of the launch until there is none left.
void run_blocks(Worker& worker);

// --- Waits (waits.cpp) ---------------------------------------------------------------------------------------------------
/// Runs a warp until no lane of it is ready: collective operations within it are resolved on the way.
void run_warp(Worker& worker, int first_lane, int lane_count);
/// Ends the waits whose conditions hold. Returns whether there were any.
bool end_waits(Worker& worker);
/// Reports why no lane of the running block can go on.
void explain_standstill(Worker& worker);

// --- mbarriers (mbarriers.cpp) -------------------------------------------------------------------------------------------
/// Ends the waits of a warp's lanes for phases that are over. Returns whether there were any.
bool end_mbarrier_waits(Worker& worker, int first_lane, int lane_count);
/// Lets lanes that wait for mbarriers give up, as try_wait may, if that has not been in vain often. Returns whether any did.
bool give_up_mbarrier_waits(Worker& worker);
/// What a lane that waits for an mbarrier lacks.
std::string described_mbarrier_wait(const Worker& worker, const Lane& lane);
/// "mbarrier full[1]"
std::string name_of_mbarrier(const Worker& worker, Address mbarrier);
std::string name_of_numbered_mbarrier(const Worker& worker, std::uint32_t number);
/// The mbarrier at an address, which the running lane is about to use for what `verb` says; else the lane does not go on.
Mbarrier& mbarrier_at(Worker& worker, Address mbarrier, Address pc, const char* verb);
/// Ends the running lane if an access to shared memory is to an mbarrier, which is for its own instructions.
void refuse_mbarrier(Worker& worker, Address address, std::size_t size, Op op, Address pc, const order::By& by);
/// Notes that the bytes of a copy have come for its mbarrier.
void complete_bytes(Worker& worker, const BulkLoad& load);

// --- Copies in bulk (bulk.cpp) -------------------------------------------------------------------------------------------
/// Lets copies arrive for which a lane waits. Returns whether there were any.
bool let_bulk_loads_arrive(Worker& worker);
/// Reports copies of the running block that nobody has waited for, when all its lanes have returned.
void require_no_bulk_copies(Worker& worker);

// --- Counts (collect.cpp) --------------------------------------------------------------------------------------------------
/// Turns the logs of a warp's lanes into costs and clears them.
void count_warp(Worker& worker, int first_lane, int lane_count);
/// Bytes of the __shared__ variables that are placed, each at a multiple of its own alignment, as nvcc lays them out.
std::size_t static_bytes(const Launch& launch);
Counts description_of(const Launch& launch);
Counts collect(Launch& launch, std::vector<Worker>& workers);

}  // namespace simt::execute
