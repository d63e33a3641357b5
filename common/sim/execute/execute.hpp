// execute/: running the threads of a grid.
//
// In: a kernel and its grid (run() in launch.cpp), the accesses of its threads (hooks/), and the device functions they
// call: barriers, shuffles, asynchronous copies. Out: the Counts of a traced launch, or an Error that says what is wrong.
//
// How: each thread is a fiber, a *lane* with a stack of its own (schedule.cpp). One host thread, a *worker*, runs the
// lanes of a block one after the other, warp by warp, each until it waits, and decides when a wait is over. A lane that
// keeps loading the same few elements *polls*. TMA copies land when no lane can proceed. When no lane of a block can, the
// worker runs other blocks, as many as the GPU would hold at once; when nothing can proceed at all, the error lists which
// threads wait where, and what is missing (findings.cpp). touch.cpp checks that each access lies in an array (memory.cpp)
// and is ordered with those of other threads (order/). Once the lanes of a warp have run up to the same wait, cost/ turns
// their logs into costs, which launch.cpp collects. execute/ depends on the other folders, never the reverse.
#pragma once

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/cuda/tensor_map.hpp"
#include "common/sim/cost/tally.hpp"
#include "common/sim/hooks/hooks.hpp"
#include "common/sim/model.hpp"
#include "common/sim/order/order.hpp"

namespace simt::execute {

using hooks::Address;
using hooks::Place;
using hooks::Region;

struct Block;
struct Lane;
struct Launch;
struct Worker;

/// The thread that makes a mistake, and the instruction.
struct Culprit {
  std::reference_wrapper<const Block> block;
  std::reference_wrapper<const Lane> lane;
  Address pc;
};

constexpr int max_threads = 1024;  ///< of a block

// --- Shared memory ---------------------------------------------------------------------------------------------------
/// Bytes of a lane's stack, which must also suffice to read debug information for a finding. An odd number of pages keeps
/// the tops of the stacks from sharing a few entries of the host's TLB.
constexpr std::size_t stack_bytes = 65 * 4096;

/// The memory of one block, until its cluster has ended: stacks for the most lanes of a block, and shared memory.
struct Arena {
  std::byte *stacks = nullptr, *memory = nullptr;
  std::size_t bytes = 0;                ///< of shared memory
  std::atomic<std::uint32_t> block{0};  ///< the Block::serial of its current block; 0: none
};

/// The layout of variables in an arena, in steps of `grain` bytes: the same in all blocks of a launch.
struct SharedLayout {
  static constexpr std::size_t grain = 16;  ///< no two variables share a grain
  struct Grain {
    std::uint32_t room = 0;      ///< bytes to the end of the variable
    std::uint16_t variable = 0;  ///< 1 + its index, or 0
  };
  std::size_t bytes = 0;  ///< of an arena
  const Grain* grains = nullptr;
  const std::uint32_t* offset_of = nullptr;  ///< by SharedVariable::number
};

/// A __shared__ variable with its offset in an arena, and the start of its cells.
struct PlacedVariable : hooks::SharedVariable {
  std::size_t offset = 0, first_byte = 0;  ///< in an arena; among the bytes of all variables
  std::atomic<bool> counts{false};         ///< as static shared memory: declared in the kernel, or touched
  bool is_dynamic = false;                 ///< it is the launch's dynamic shared memory
};

// --- Lanes -----------------------------------------------------------------------------------------------------------
enum class LaneState : std::uint8_t { ready, waiting, polling, done };

/// A setmaxnreg: whether it raises, registers per thread afterwards, and which thread came to it first, where.
struct RegisterChange {
  bool more = false;
  int registers = 0, thread = 0;
  Address pc = 0;
};

/// What a lane waits for.
struct Wait {
  enum class For { block_barrier, named_barrier, collective, mbarrier, cluster_barrier, registers } what{};
  Address pc = 0;                         ///< return address of the call that waits
  int number = 0;                         ///< of a named barrier; the parity of an mbarrier's phase; a vote
  unsigned mask = 0;                      ///< a collective operation: the lanes that take part,
  device::Collective function = nullptr;  ///< the operation,
  device::Slot* slot = nullptr;           ///< and this lane's slot
  Address mbarrier = 0;                   ///< an mbarrier: its address,
  bool over = false;                      ///< and whether the phase was over when the wait ended
  RegisterChange registers{};             ///< registers: the change that its warp requests
};

/// A cp.async in flight: it lands when its thread waits for it, the latest moment that the rules allow.
struct PendingCopy {
  void* to;
  const void* from;
  std::size_t bytes, zeros;  ///< to read, and to set to 0 after them
  order::Epoch group;
};

/// A box of a matrix in global memory, and its address in shared memory.
struct Box {
  TensorMap map;
  std::int64_t x = 0, y = 0;
  Address shared = 0;
};
/// A bulk copy in flight to shared memory: it lands when nothing else can proceed.
struct BulkLoad {
  Box box;
  Culprit by;  ///< the thread that started it
  Address mbarrier = 0;
  std::uint64_t phase = 0;  ///< the mbarrier's phase when the copy was started
};
/// A bulk copy out of shared memory: it is performed when its thread waits for its group.
struct BulkStore {
  Box box;
  order::Epoch group = 0;
  Address pc = 0;
};

/// A store to an address to which another lane stored by the same instruction: no race if the values prove to be equal.
struct SameValue {
  Address address = 0;
  std::array<std::byte, 16> before{};
  std::size_t bytes = 0;
  std::function<void()> report;
};

/// A load or update of a value that another lane may write: the value seen, and the lane's state before it.
struct Look {
  Address address = 0, pc = 0;
  std::size_t size = 0;  ///< 0: the value seen is not known
  std::array<std::byte, 16> seen{};
  std::uint16_t turns =
      0;  ///< loop iterations, and for an atomic or volatile look the basic blocks of the last of them
  std::vector<std::uint32_t> blocks_of_turn;
  std::size_t logged = 0;  ///< accesses in the lane's log
};

/// The state of a lane that is reset for each block. Fields used by each access come first, in one host cache line.
struct LaneProgress {
  Address last_pc = 0, last_address = 0;  ///< of its last load or update
  std::uint32_t retries = 0;              ///< how often that, or the last few looks, have been repeated
  std::uint32_t idle_turns = 0;           ///< iterations of a long loop since its last access
  bool changed_nothing = false;           ///< the last access was volatile or atomic, and wrote no new value
  std::uint8_t look_count = 0;
  bool unsettled = false;  ///< there is something to check after the current access:
  Address learn_from = 0;  ///< an element read through volatile or updated atomically, whose writer may have released,
  Address wrote = 0;       ///< an element written by such an access, which others may poll,
  std::vector<SameValue> same_values;  ///< and stores that may be of the same value

  std::vector<PendingCopy> copies;
  std::vector<BulkStore> bulk_stores;
  std::uint64_t tried_at = 0;  ///< Block::events when it last tried an mbarrier whose phase was not over
  std::uint64_t cluster_arrivals = 0, cluster_waits = 0;  ///< cluster barriers at which it has arrived, and waited
  std::size_t register_changes = 0;                       ///< how many setmaxnreg it has reached
  // Polling (polls.cpp).
  std::vector<Look> looks;            ///< the last distinct ones: the first `look_count` elements
  std::size_t polled = 0;             ///< while it polls: it waits for one of the last `polled` looks to change
  std::uint32_t patience = 0;         ///< how often it retries before it sleeps
  bool only_looks = false;            ///< it suspends after it has looked again
  std::uint32_t looks_elsewhere = 0;  ///< other looks since the last retry or wait
  // Limits for endless lanes (polls.cpp).
  std::uint64_t waits = 0;   ///< waits for other threads, except for a value in memory
  std::uint64_t yields = 0;  ///< how often it let others run without being seen to wait
};

/// A thread of the grid. Fields used by each access come first, in one host cache line.
struct alignas(64) LaneAccesses {
  hooks::LaneHooks lane_hooks{};
  cost::Log log;
  int linear = 0;
  LaneState state = LaneState::done;
};
struct Lane : LaneAccesses, LaneProgress {
  boost::context::detail::fcontext_t context = nullptr;
  uint3 thread{};
  Wait wait{};
  hooks::Turns turns{};
};

inline bool waits_for(const Lane& lane, Wait::For what) {
  return lane.state == LaneState::waiting && lane.wait.what == what;
}
/// Whether a lane waits at the collective operation of the wait `in`.
inline bool takes_part(const Lane& lane, const Wait& in) {
  return waits_for(lane, Wait::For::collective) && lane.wait.mask == in.mask && lane.wait.function == in.function;
}

// --- Blocks and what runs them ---------------------------------------------------------------------------------------
struct NamedBarrier {
  int arrived = 0, expected = 0;  ///< threads
  int first = 0;                  ///< the thread that arrived first
  Address first_pc = 0;           ///< and where; 0: no thread has arrived
  order::Arrivals arrivals{};     ///< in a traced run, the threads that arrived without waiting
};

/// The state of an mbarrier.
struct Mbarrier {
  std::uint32_t number = 0;   ///< among those of the block
  std::uint32_t count = 0;    ///< arrivals that a phase needs
  std::uint32_t missing = 0;  ///< arrivals that are missing in the current phase
  std::int64_t bytes = 0;     ///< expected and not yet copied; negative: more than expected were copied
  std::uint64_t phase = 0;    ///< its number, from 0 on
  order::Epoch epoch = 1;     ///< phases since it was initialised, plus one
  order::Stamp initialised = 0;
  Address init_pc = 0;
  order::News arrived, over;  ///< released by the arrivals of this phase; acquired by a wait that finds a phase over
};

/// What was released, by the element whose write released it.
using Released = std::unordered_map<Address, order::KnownPointer>;

/// Blocks that run at the same time and access each other's shared memory. Without clusters, each block has its own.
struct Cluster {
  std::vector<Block*> blocks;  ///< by rank
  std::uint64_t barriers = 0;  ///< completed cluster barriers
  int threads = 0;             ///< threads that have not returned,
  int arrived = 0;             ///< and those of them that have arrived at the next barrier
  order::News over;            ///< what a thread acquires that waits for the last barrier
  Released released;           ///< releases in the shared memory of its blocks
};

/// The last access of another block's thread to the shared memory of a block.
struct Visit {
  Culprit by;
  order::Stamp stamp = 0;
  Op op{};
};

/// The state of a block that is reset when it starts.
struct BlockProgress {
  uint3 index{};
  std::uint32_t serial = 0;  ///< 1-based linear index
  std::shared_ptr<Cluster> cluster;
  std::uint32_t rank = 0;                 ///< within it
  bool ended = false;                     ///< while others of the cluster may still run
  bool abandoned = false;                 ///< a lane has made a mistake after which it cannot continue
  std::uint32_t interval = 0;             ///< number of __syncthreads passed
  std::map<std::uint64_t, Visit> visits;  ///< by actor and block
  int votes = 0;                          ///< threads that passed a true predicate to the last __syncthreads_count
  std::array<NamedBarrier, 16> barriers;
  order::Arrivals cluster_arrivals;                           ///< in a traced run, at the cluster barrier
  std::map<Address, Mbarrier> mbarriers;                      ///< by address
  Released released;                                          ///< by threads that fenced for the block alone
  std::vector<std::vector<RegisterChange>> register_changes;  ///< by warpgroup; empty before the first,
  std::vector<int> registers;                                 ///< and the registers per thread of each warp then
  std::vector<BulkLoad> bulk_loads;                           ///< in flight, in the order in which they were started
  std::uint64_t events = 1;      ///< arrivals, bytes, completed barriers: what a lane may wait for
  std::uint64_t gave_up_at = 0;  ///< the value of `events` when its lanes last gave up waiting for mbarriers,
  int gave_up = 0;               ///< and how often they have given up since
  bool has_news = true;          ///< it has just started, or another block of its cluster may have ended a wait
};
struct Block : BlockProgress {
  std::vector<Lane> lanes;
  order::BlockOrder order;
  order::SharedCells shared;
  int granule_bits = 2;  ///< bits of an address within a shared cell
  Arena* arena = nullptr;

  Address shared_begin() const { return reinterpret_cast<Address>(arena->memory); }
  std::size_t granule() const { return std::size_t(1) << granule_bits; }  ///< bytes of a shared cell
};

/// Identifies a mistake, so that repetitions are dropped: its kind, and the instructions involved.
using MistakeKey = std::tuple<std::string_view, Address, Address>;

/// The index with the given linear number, x first.
inline uint3 index_in(dim3 extents, std::uint64_t linear) {
  return {unsigned(linear % extents.x), unsigned(linear / extents.x % extents.y),
          unsigned(linear / (std::uint64_t(extents.x) * extents.y))};
}
inline std::size_t warps_of(const Block& block) { return (block.lanes.size() + 31) / 32; }
template <class SomeBlock>  // const or not
auto lanes_of(SomeBlock& block, std::size_t warp) {
  return std::span(block.lanes).subspan(32 * warp, std::min<std::size_t>(32, block.lanes.size() - 32 * warp));
}
inline bool has_lane_in(std::span<const Lane> lanes, LaneState state) {
  return std::ranges::any_of(lanes, [&](const Lane& lane) { return lane.state == state; });
}

/// One host thread running blocks of a launch.
struct Worker final : hooks::Listener {
  Launch* launch = nullptr;
  bool traced = false;  // as the launch says
  boost::context::detail::fcontext_t scheduler = nullptr;
  Block* block = nullptr;  // the one that is running
  Lane* lane = nullptr;
  std::vector<std::unique_ptr<Block>> resident, idle;  // blocks that have started, and blocks kept for reuse
  order::Stamp copying = 0;                            // of the copy whose accesses are being checked
  // Polls (polls.cpp): how many lanes sleep until an element changes; the element that a lane has just written; whether
  // that lane has yielded, and how often lanes have; how often all have retried since the last progress.
  std::unordered_map<Address, int> polled;
  Address changed = 0;
  bool yielded = false;
  int yields = 0, futile_wakes = 0;
  std::set<MistakeKey> seen;  // that this worker has reported
  // memory as this worker's lanes see it
  Address shared_begin = 0;  // shared memory of the running block, and
  SharedLayout shared;       // its layout
  mutable Region* last_region = nullptr;
  // counts
  cost::Tally tally;
  std::vector<Touch> touches;
  std::vector<cost::Log> empty_logs;  // logs that have been counted, whose memory is reused
  std::set<std::uint32_t> copies_at;  // instructions: asynchronous copies
  std::uint64_t barriers = 0;
  std::vector<std::uint64_t> waits_for_copies;  // by how many groups they left in flight

  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void access_struct(Address address, std::size_t size, Op op, Address pc, hooks::Alignment alignment) override;
  void many_turns(Address pc) override;
  void refuse(Address pc, const std::string& what) override;
  void refuse_index(Address pc, std::intptr_t index, const char* array_type) override;
};

/// The order in which blocks run. If they communicate, one host thread runs each until it waits, in ascending order; a
/// traced launch runs again in descending order, and blocks yield after each write that others may wait for.
enum class Schedule { parallel, run_on, make_way };

struct Launch {
  const BoundKernel* kernel = nullptr;
  Schedule schedule = Schedule::parallel;
  // Whether threads wait for values in memory, or release to threads that read them; the same, between clusters.
  std::atomic<bool> signals{false}, communicates{false};
  std::atomic<bool> begins_anew{false};  // restarts, because an access is smaller than its array's cells
  Counts counts;  // at first only kernel, grid and shared memory; the rest once a traced launch has ended
  bool traced = false;
  Trace options;
  std::vector<PlacedVariable> variables;    // that the kernel may touch, ordered by offset; dynamic ones last
  std::vector<SharedLayout::Grain> grains;  // the tables of SharedLayout
  std::vector<std::uint32_t> offset_of;
  std::size_t arena_bytes = 0;
  std::size_t variable_bytes = 0;  // of all of them
  std::vector<Region*> arrays;     // global arrays, ordered by address
  std::uint64_t block_count = 0, cluster_count = 0;
  std::size_t cluster_blocks = 1;
  std::size_t most_resident = 1;  // blocks that the GPU would hold at once
  std::atomic<std::uint64_t> next_cluster{0}, resident{0};
  std::atomic<bool> stop{false};
  Released released;  // in global memory
  std::mutex mutex;
  std::vector<std::string> findings;
  std::set<MistakeKey> seen;   // that some worker has reported
  std::set<std::string> told;  // reported findings, without thread and address
};

/// The worker whose lane calls a device function. Also set while the model itself runs, unlike hooks::lane_hooks.
extern constinit thread_local Worker* running;

/// Does the pending checks of the running lane's last access, after that access (touch.cpp).
void settle(Worker& worker);

/// The context of a device function that a kernel has called. The hooks are off while it lives.
struct Call {
  [[gnu::always_inline]] explicit Call(const void* return_address) : pc(reinterpret_cast<Address>(return_address)) {
    if (lane.unsettled) settle(w);
  }
  hooks::ScopedIgnore ignore;
  Address pc;
  Worker& w = *running;
  Lane& lane = *w.lane;
  Block& block = *w.block;
  order::BlockOrder& order = block.order;
};

// --- Findings (findings.cpp) -----------------------------------------------------------------------------------------
inline Culprit culprit(const Worker& w, Address pc) { return {*w.block, *w.lane, pc}; }
/// Adds "KIND: kernel k, chapter03.cu:57, block (0,0,0), thread (3,1,0) WHAT" to the launch's findings, once.
void add_finding(Launch& launch, const MistakeKey& key, const Culprit& by, const std::function<std::string()>& what);
/// Reports a mistake once for each kind and pair of instructions. A race recurs millions of times: what() is called once.
template <class What>
void report(Worker& worker, const char* kind, const Culprit& by, Address other_pc, What&& what) {
  const MistakeKey key{kind, by.pc, other_pc};
  if (worker.seen.insert(key).second) add_finding(*worker.launch, key, by, what);
}
/// Reports a mistake of the running lane after which it cannot continue.
[[noreturn]] void fail(Worker& worker, const char* kind, Address pc, const std::string& what);
/// Leaves the running lane for good: its block cannot continue.
[[noreturn]] void abandon_block(Worker& worker);

std::string coordinates(uint3 index);                               ///< "(3,1,0)"
std::string thread_name(const Worker& worker, std::size_t linear);  ///< the same, of a thread of any block
std::string of_block(const Block& block);                           ///< " of block (1,0,0)"
std::string line_of(Address return_address);                        ///< "chapter03.cu:57"
bool on_one_line(Address a, Address b);
const char* verb_of(Op op);

/// The array that an access touches, and the size of its elements.
struct Target {
  const std::string* array;
  std::size_t element;  // bytes
  Address begin;
  const Block* of = nullptr;            // the block whose shared memory it is, if not the running one
  const hooks::Shape* shape = nullptr;  // of a __shared__ array, if known
  const Region* region = nullptr;       // of an array in global memory
};
/// An access to one address, small enough to be passed in registers.
struct Touched {
  Address address;
  std::uint32_t at;  // the instruction, as an offset into the program
  Op op;
  bool by_copy : 1 = false;    // not by the thread itself, but by Worker::copying
  bool strong : 1 = false;     // atomic, or volatile where that counts as atomic: two such accesses do not race
  bool may_poll : 1 = false;   // a load through volatile of a block's own shared memory
  bool exchanges : 1 = false;  // atomic, and its new value does not depend on the old one

  Address pc() const { return hooks::image_base() + at; }
};
/// "As[7]", or "C[1][3]" if the region is a matrix or the array has two dimensions.
std::string element_name(const Target& target, Address address);
inline Target target_of(const Region& r) { return {&r.name, r.element, r.begin, nullptr, nullptr, &r}; }
/// The same for an address of shared memory in steps of `element` bytes; "" outside every __shared__ array.
std::string shared_name(const Worker& worker, Address address, std::size_t element);
void report_race(Worker& worker, Touched t, const Target& target, const order::Conflict& other);
[[noreturn]] void report_out_of_bounds(Worker& worker, std::size_t size, Touched t);

// --- Memory (memory.cpp) ---------------------------------------------------------------------------------------------
constexpr std::size_t largest_shared = 227 * 1024;  ///< bytes a block can have, since compute capability 9.0

/// Memory for a block. It keeps the contents that the previous block left.
Arena* take_arena(std::size_t shared_bytes);
void give_arena(Arena* arena);
/// The arena that contains an address, of any block, running or ended; or nullptr.
const Arena* arena_at(Address address);

/// Finds the __shared__ variables that the kernel may touch, and lays them out.
void place_shared_memory(Launch& launch);
/// Fills the tables that each access looks up, for a launch whose variables are placed.
void describe_layout(Launch& launch);
/// Bytes of the __shared__ variables that count, each aligned as nvcc lays them out.
std::size_t static_bytes(const Launch& launch);
/// The array that holds an address of a running launch.
cost::Array array_of(const Worker& worker, Address address);

/// Whether an address lies in the running block's shared memory.
inline bool is_shared(const Worker& w, Address address) { return address - w.shared_begin < w.shared.bytes; }
/// The __shared__ variable that holds `size` bytes at an address, in shared memory from `begin` on; or nullptr.
[[gnu::always_inline]] inline PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size,
                                                          Address shared_begin) {
  const std::size_t offset = address - shared_begin;
  const auto [room, variable] = w.shared.grains[offset / SharedLayout::grain];
  return variable != 0 && offset % SharedLayout::grain + size <= room ? &w.launch->variables[variable - 1] : nullptr;
}

// --- Accesses (touch.cpp) --------------------------------------------------------------------------------------------
/// Whether `size` bytes lie in one __shared__ array or allocation. If they do not, require_in_bounds ends the lane.
bool in_bounds(const Worker& worker, Address address, std::size_t size);
void require_in_bounds(Worker& worker, Address address, std::size_t size, Op op, Address pc);
/// The allocation or __device__ variable that holds `size` bytes at an address, or nullptr.
Region* region_of(const Worker& worker, Address address, std::size_t size);
/// Checks that an access in bounds, by a TMA copy or to an mbarrier, is ordered with those of the threads.
void touch_in_bulk(Worker& worker, Address address, std::size_t size, Op op, Address pc, order::Stamp copy = 0);
/// Lets the copies of groups before `group` land.
void deliver_copies(Lane& lane, order::Epoch group);

// --- Lanes and blocks (schedule.cpp) ---------------------------------------------------------------------------------
/// From the running lane to the scheduler, until the wait is over.
void wait_for(const Wait& wait);
/// From the running lane back to the scheduler, until the lane is resumed.
void suspend(Worker& worker, LaneState state);
void switch_to(Worker& worker, Block& block);
/// Runs a lane of a block of the worker until it waits.
void run_lane(Worker& worker, Block& block, Lane& lane);
/// The main function of a worker's thread: runs blocks of the launch until none is left.
void run_blocks(Worker& worker);

// --- Polls, and endless lanes (polls.cpp) ----------------------------------------------------------------------------
/// Notes that the running lane is about to load or update, and puts it to sleep if it polls.
void notice_polling(Worker& worker, Address address, std::size_t size, Op op, Address pc, bool is_volatile);
/// Puts the running lane to sleep, unless it has patience left, until one of the last `polled` values it saw changes
/// (0: for an unspecified time).
void sleep_while_polling(Worker& worker, Address pc, std::size_t polled);
/// A description of a polling lane: which elements it loads, and the values it finds there.
std::string described_poll(const Worker& worker, const Lane& lane);
/// Whether a block can proceed: a value that it polls has changed, or all polling lanes are to retry.
bool may_go_on(const Block& block, bool all);
/// Wakes such lanes of the running block (if `retries` > 0 all that poll, for so many). Returns whether there are any.
bool wake(Worker& worker, std::uint32_t retries);
/// Lets the lanes that poll the element that the running lane has just changed look at it before it changes again.
void let_pollers_look(Worker& worker);
/// How often all polling lanes are to retry when no lane of the worker can proceed; 0 after too many futile attempts.
std::uint32_t next_retries(Worker& worker);
/// Notes that results depend on the order of threads, in one cluster or across clusters. In the latter case a parallel
/// launch stops, and runs again in order.
void note_signals(Worker& worker, bool in_cluster);
/// These end the running lane if it has made too many accesses since its last wait, or too many waits.
void require_bounded_log(Worker& worker, Address pc);
void count_wait(Worker& worker, Address pc);

// --- Waits for mbarriers, cluster barriers and registers -------------------------------------------------------------
/// These end waits of the running block whose conditions hold. They return whether there were any.
bool end_mbarrier_waits(Worker& worker, std::span<Lane> lanes);
bool end_cluster_waits(Worker& worker);
bool end_register_waits(Worker& worker);
/// Lets lanes that wait for mbarriers give up, as try_wait may, unless they did so too often since the last event.
bool give_up_mbarrier_waits(Worker& worker);
/// Ends the wait of a lane.
inline void resume(Lane& lane) {
  lane.state = LaneState::ready;
  lane.turns.reset();
}
/// Reports why no lane of the running block can proceed (findings.cpp), and what a lane lacks.
void explain_standstill(Worker& worker);
std::string described_mbarrier_wait(const Worker& worker, const Lane& lane);
std::string described_register_wait(const Block& block, const Lane& lane);

/// "mbarrier full[1]" (tma.cpp)
std::string name_of_mbarrier(const Worker& worker, Address mbarrier);
/// Ends the running lane if it accesses an mbarrier as ordinary shared memory.
void refuse_mbarrier(Worker& worker, const Block& owner, std::size_t size, Touched t);
/// Lets TMA copies land for which lanes wait. Returns whether there were any.
bool let_bulk_loads_arrive(Worker& worker);

/// The block of the running block's cluster whose shared memory contains an address, or nullptr (clusters.cpp).
Block* owner_of(const Worker& worker, Address address);
/// The address in a block's shared memory that corresponds to an address in another block's.
inline Address same_place(const Block& in, const Block& of, Address address) {
  return address - of.shared_begin() + in.shared_begin();
}
/// Notes that a lane has returned, so that others of the cluster need not wait for it.
void leave_cluster(Worker& worker);
/// Notes an access to the shared memory of another block, which must have started and not have ended.
void note_visit(Worker& worker, Block& owner, Op op, Address pc);

// When all lanes of the running block have returned, these report
void require_no_bulk_copies(Worker& worker);          ///< TMA copies for which no thread has waited,
void require_no_late_visits(Worker& worker);          ///< accesses that may come after the block has ended,
void require_equal_register_changes(Worker& worker);  ///< and setmaxnregs that not all warps of a warpgroup execute.

// --- Counts (launch.cpp) ---------------------------------------------------------------------------------------------
/// Turns the logs of a warp's lanes into costs and clears them.
void count_warp(Worker& worker, std::span<Lane> warp);

}  // namespace simt::execute
