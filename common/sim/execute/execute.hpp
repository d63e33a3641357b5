// execute/: running the threads of a grid.
//
// In: a kernel and its grid (run() in launch.cpp), what its threads touch (hooks/), and the device functions they call:
// barriers, shuffles, asynchronous copies. Out: the Counts of a traced launch, or an Error that says what is wrong.
//
// How: each thread is a fiber, a *lane* with a stack of its own (schedule.cpp). One host thread, a *worker*, runs the
// lanes of a block one after the other, warp by warp, each until it waits, and decides when a wait is over. A lane that
// keeps loading the same few elements *polls*. TMA copies land when no lane can go on. When no lane of a block can, the
// worker runs other blocks, as many as the GPU would hold at once; when nothing can go on at all, the error lists which
// threads wait where, and what is missing (findings.cpp). touch.cpp checks that each access lies in an array (memory.cpp)
// and is ordered with those of other threads (order/). Once the lanes of a warp have run up to the same wait, cost/ turns
// their logs into costs, which launch.cpp collects. Dependencies go from here to the other rooms, never back.
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

/// Who makes a mistake, and at which instruction.
struct Culprit {
  std::reference_wrapper<const Block> block;
  std::reference_wrapper<const Lane> lane;
  Address pc;
};

constexpr int max_threads = 1024;  ///< of a block

// --- Shared memory ---------------------------------------------------------------------------------------------------
/// Bytes of a lane's stack, where findings read debug information. An odd number of pages keeps the tops of the stacks
/// from sharing a few entries of the host's TLB.
constexpr std::size_t stack_bytes = 65 * 4096;

/// The memory of one block, until its cluster has ended: stacks for as many lanes as a block may have, and shared
/// memory.
struct Arena {
  std::byte *stacks = nullptr, *memory = nullptr;
  std::size_t bytes = 0;                ///< of the latter
  std::atomic<std::uint32_t> block{0};  ///< whose it is now, by Block::serial; 0: nobody's
};

/// What lies where in an arena, in steps of `grain` bytes: the same in all blocks of a launch.
struct SharedLayout {
  static constexpr std::size_t grain = 16;  ///< no two variables share one

  std::size_t bytes = 0;                       ///< of an arena
  const std::uint16_t* variable_at = nullptr;  ///< 1 + index of the variable, or 0
  const std::uint32_t* room_at = nullptr;      ///< bytes from there to the variable's end, or 0
  const std::uint32_t* offset_of = nullptr;    ///< by SharedVariable::number
};

/// A __shared__ variable: where it lies in an arena, and where its cells begin.
struct PlacedVariable : hooks::SharedVariable {
  std::size_t offset = 0, first_byte = 0;  ///< in an arena, and among the bytes of all variables
  std::atomic<bool> counts{false};         ///< as static shared memory: it is the kernel's own, or has been touched
  bool is_dynamic = false;                 ///< all of the launch's dynamic shared memory
};

// --- Lanes -----------------------------------------------------------------------------------------------------------
enum class LaneState : std::uint8_t { ready, waiting, polling, done };

/// A setmaxnreg: whether to more registers, to how many a thread, and which thread came to it first, where.
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
  unsigned mask = 0;                      ///< a collective operation: who takes part,
  device::Collective function = nullptr;  ///< what they do,
  device::Slot* slot = nullptr;           ///< and this lane's part
  Address mbarrier = 0;                   ///< an mbarrier: where it lies,
  bool over = false;                      ///< and whether that was over when the wait ended
  RegisterChange registers{};             ///< registers: what its warp asks for
};

/// A cp.async in flight: it lands when its thread waits for it, at the latest moment that the rules allow.
struct PendingCopy {
  void* to;
  const void* from;
  std::size_t bytes;
  order::Epoch group;
};

/// A box of a matrix in global memory, and where it lies in shared memory. Contiguous bytes are one as well.
struct Box {
  TensorMap map;
  std::int64_t x = 0, y = 0;
  Address shared = 0;
};
/// A bulk copy in flight to shared memory: it lands when nothing else can go on.
struct BulkLoad {
  Box box;
  Culprit by;  ///< which thread started it
  Address mbarrier = 0;
  std::uint64_t phase = 0;  ///< that of the mbarrier when the copy was started
};
/// A bulk copy out of shared memory: it is made when its thread waits for its group.
struct BulkStore {
  Box box;
  order::Epoch group = 0;
  Address pc = 0;
};

/// A store to where another lane of the warp stored by the same instruction: no race if it proves to be the same value.
struct SameValue {
  Address address = 0;
  std::array<std::byte, 16> before{};
  std::size_t bytes = 0;
  std::function<void()> report;
};

/// A load or update of a value that another lane may write: what was seen, and how far the lane had come before it.
struct Look {
  Address address = 0, pc = 0;
  std::size_t size = 0;  ///< 0: not known what was seen
  std::array<std::byte, 16> seen{};
  bool strong = false;      ///< it is atomic or volatile; else the loop may just read the same element often
  std::uint16_t turns = 0;  ///< of loops, and the basic blocks of the last of them
  std::vector<std::uint32_t> blocks_of_turn;
  std::size_t logged = 0;  ///< accesses in the lane's log
};

/// What a lane starts anew in each block. What each access needs comes first, in one line of the host's cache.
struct LaneProgress {
  Address last_pc = 0, last_address = 0;  ///< of its last load or update,
  std::uint32_t retries = 0;              ///< and how often that, or the last few looks, were made before
  std::uint32_t idle_turns = 0;           ///< of a long loop, since its last access
  bool changed_nothing = false;           ///< the last one was volatile or atomic, and wrote no new value
  std::uint8_t look_count = 0;
  bool unsettled = false;  ///< there is something to check once the current access has been made:
  Address learn_from = 0;  ///< an element read through volatile or updated atomically, whose writer may have released,
  Address wrote = 0;       ///< an element that it wrote by such an access, which others may poll,
  std::vector<SameValue> same_values;  ///< and stores that may be of the same value

  std::vector<PendingCopy> copies;
  std::vector<BulkStore> bulk_stores;
  std::uint64_t tried_at = 0;  ///< Block::events when it last tried an mbarrier whose phase was not over
  std::uint64_t cluster_arrivals = 0, cluster_waits = 0;  ///< barriers of the cluster at which it arrived, and waited
  std::size_t register_changes = 0;                       ///< how often it came to a setmaxnreg
  // Polling (polls.cpp).
  std::vector<Look> looks;            ///< the last ones, of which no two are the same: the first `look_count` of these
  std::size_t polled = 0;             ///< while it polls: for the last so many of them it waits to change
  std::uint32_t patience = 0;         ///< so often it retries before it sleeps
  bool only_looks = false;            ///< it pauses once it has looked again
  std::uint32_t looks_elsewhere = 0;  ///< other looks since the last retry or wait
  // What a lane without end makes too many of (polls.cpp).
  std::uint64_t waits = 0;   ///< for others, other than for a value in memory,
  std::uint64_t yields = 0;  ///< how often it let others run though it was not seen to wait,
};

/// A thread of the grid. What each access needs comes first, in a line of the host's cache.
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
/// Whether a lane waits at the collective operation that a wait is for.
inline bool takes_part(const Lane& lane, const Wait& in) {
  return waits_for(lane, Wait::For::collective) && lane.wait.mask == in.mask && lane.wait.function == in.function;
}

// --- Blocks and what runs them ---------------------------------------------------------------------------------------
struct NamedBarrier {
  int arrived = 0, expected = 0;  ///< threads
  int first = 0;                  ///< the thread that came first
  Address first_pc = 0;           ///< and where; 0: nobody has arrived
  order::Arrivals arrivals{};     ///< in a traced run, what those tell the others that arrived without waiting
};

/// An mbarrier: what its eight bytes stand for.
struct Mbarrier {
  std::uint32_t number = 0;   ///< among those of the block
  std::uint32_t count = 0;    ///< arrivals that a phase takes
  std::uint32_t missing = 0;  ///< arrivals that the current phase lacks
  std::int64_t bytes = 0;     ///< expected and not yet copied; negative: more were copied
  std::uint64_t phase = 0;    ///< its number, from 0 on
  order::Epoch epoch = 1;     ///< phases since it was initialised, and one
  order::Stamp initialised = 0;
  Address init_pc = 0;
  order::News arrived, over;  ///< what those know who arrived in this phase; what those learn who find one over
};

/// What was released, by the element that was written then.
using Released = std::unordered_map<Address, order::KnownPointer>;

/// Blocks that run at the same time and reach into each other's shared memory. A launch without clusters has one each.
struct Cluster {
  std::vector<Block*> blocks;  ///< by rank
  std::uint64_t barriers = 0;  ///< that are over
  int threads = 0;             ///< that have not returned,
  int arrived = 0;             ///< and those of them that have arrived at the next barrier
  order::News over;            ///< what those learn who wait for the last one
  Released released;           ///< in the shared memory of its blocks
};

/// The last access of a thread of another block to the shared memory of a block.
struct Visit {
  Culprit by;
  order::Stamp stamp = 0;
  Op op{};
};

/// What a block starts with nothing of.
struct BlockProgress {
  uint3 index{};
  std::uint32_t serial = 0;  ///< 1-based linear index
  std::shared_ptr<Cluster> cluster;
  std::uint32_t rank = 0;                 ///< within it
  bool ended = false;                     ///< but others of the cluster have not
  bool abandoned = false;                 ///< a lane has made a mistake that it cannot go on from
  std::uint32_t interval = 0;             ///< __syncthreads passed
  std::map<std::uint64_t, Visit> visits;  ///< by actor and block
  int votes = 0;                          ///< threads that came to the last of these with a predicate that holds
  std::array<NamedBarrier, 16> barriers;
  order::Arrivals cluster_arrivals;                           ///< in a traced run, at the barrier of its cluster
  std::map<Address, Mbarrier> mbarriers;                      ///< by address
  Released released;                                          ///< by who fenced for the block alone
  std::vector<std::vector<RegisterChange>> register_changes;  ///< by group of four warps; empty before the first,
  std::vector<int> registers;                                 ///< and what a thread of each warp then has
  std::vector<BulkLoad> bulk_loads;                           ///< in flight, in the order in which they were started
  std::uint64_t events = 1;      ///< arrivals, bytes, ends of barriers: what a lane may wait for
  std::uint64_t gave_up_at = 0;  ///< of these, when its lanes last gave up waiting for mbarriers,
  int gave_up = 0;               ///< and how often they have since
  bool has_news = true;          ///< it has just begun, or another of its cluster has done what it may wait for
};
struct Block : BlockProgress {
  std::vector<Lane> lanes;
  order::BlockOrder order;
  order::SharedCells shared;
  int granule_bits = 2;  ///< of an address, within a shared cell
  Arena* arena = nullptr;

  Address shared_begin() const { return reinterpret_cast<Address>(arena->memory); }
  std::size_t granule() const { return std::size_t(1) << granule_bits; }  ///< bytes a shared cell stands for
};

/// Tells repetitions of a mistake apart: its kind and the places in the program that take part.
using MistakeKey = std::tuple<std::string_view, Address, Address>;

/// The index that has so many others before it, x first.
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
  std::vector<std::unique_ptr<Block>> resident, idle;  // that have begun, and that are there to be used again
  order::Stamp copying = 0;                            // of a copy whose accesses are looked at
  // Polls (polls.cpp): how many lanes sleep until an element changes; the one that a lane has just written; whether that
  // lane has stopped for others to run, and how often one has; how often all have retried since one got anywhere.
  std::unordered_map<Address, int> polled;
  Address changed = 0;
  bool yielded = false;
  int yields = 0, futile_wakes = 0;
  std::set<MistakeKey> seen;  // that this worker has reported
  // memory as this worker's lanes see it
  Address shared_begin = 0;  // that of the running block, and
  SharedLayout shared;       // what lies where in it
  mutable Region* last_region = nullptr;
  // counts
  cost::Tally tally;
  std::vector<Touch> touches;
  std::vector<cost::Log> empty_logs;  // of lanes whose logs were counted: the next to run use the same memory
  std::set<std::uint32_t> copies_at;  // instructions that start asynchronous copies
  std::uint64_t barriers = 0;
  std::vector<std::uint64_t> waits_for_copies;  // by how many groups they left in flight

  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void access_struct(Address address, std::size_t size, Op op, Address pc, hooks::Alignment alignment) override;
  void many_turns(Address pc) override;
  void refuse(Address pc, const std::string& what) override;
  void refuse_index(Address pc, std::intptr_t index, const char* array_type) override;
};

/// In which order the blocks of a launch run: where they communicate, in one host thread, each until it waits, the first
/// ones first; and traced, a second time, the last ones first, and each makes way after a write that others may wait for.
enum class Schedule { parallel, run_on, make_way };

struct Launch {
  const BoundKernel* kernel = nullptr;
  Schedule schedule = Schedule::parallel;
  // Threads wait for values in memory, or release what they did to others who read such values: also to other clusters.
  std::atomic<bool> signals{false}, communicates{false};
  std::atomic<bool> begins_anew{false};  // for an access is smaller than what is kept of its array
  Counts counts;  // of the kernel, its grid and its shared memory; the rest once a traced launch has ended
  bool traced = false;
  Trace options;
  std::vector<PlacedVariable> variables;   // that the kernel may touch, ordered by offset; dynamic ones last
  std::vector<std::uint16_t> variable_at;  // what SharedLayout points to
  std::vector<std::uint32_t> room_at, offset_of;
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
  std::set<std::string> told;  // findings without who and where
};

/// The worker whose lane calls a device function. Also set while the model itself works, unlike hooks::lane_hooks.
extern constinit thread_local Worker* running;

/// What follows from the running lane's last access, once it has been made (touch.cpp).
void settle(Worker& worker);

/// What a device function has at hand that a kernel calls. Nobody listens while it runs.
struct Call {
  explicit Call(const void* return_address) : pc(reinterpret_cast<Address>(return_address)) {
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
/// Reports a mistake once for each kind and places. A race comes back millions of times, so what() is only called the
/// first time.
template <class What>
void report(Worker& worker, const char* kind, const Culprit& by, Address other_pc, What&& what) {
  const MistakeKey key{kind, by.pc, other_pc};
  if (worker.seen.insert(key).second) add_finding(*worker.launch, key, by, what);
}
/// Reports a mistake of the running lane, which it cannot go on from.
[[noreturn]] void fail(Worker& worker, const char* kind, Address pc, const std::string& what);
/// Leaves the running lane for good: its block cannot go on.
[[noreturn]] void abandon_block(Worker& worker);

std::string coordinates(uint3 index);                               ///< "(3,1,0)"
std::string thread_name(const Worker& worker, std::size_t linear);  ///< the same, of a thread of any block
std::string of_block(const Block& block);                           ///< " of block (1,0,0)"
std::string line_of(Address return_address);                        ///< "chapter03.cu:57"
bool on_one_line(Address a, Address b);
const char* verb_of(Op op);

/// Where an access falls: in an array of elements.
struct Target {
  const std::string* array;
  std::size_t element;  // bytes
  Address begin;
  const Block* of = nullptr;            // if not the running one: whose shared memory it is
  const hooks::Shape* shape = nullptr;  // of a __shared__ array, if that is known
  const Region* region = nullptr;       // of an array in global memory
};
/// An access to one address. Small enough to be passed in registers.
struct Touched {
  Address address;
  std::uint32_t at;  // the instruction, as an offset into the program
  Op op;
  bool by_copy = false;   // not by the thread itself, but by Worker::copying
  bool strong = false;    // atomic, or volatile as far as that counts: such accesses of several threads are no race
  bool may_poll = false;  // a load through volatile of a block's own shared memory

  Address pc() const { return hooks::image_base() + at; }
};
/// "As[7]", or "C[1][3]" where the region is a matrix or the array has two dimensions.
std::string element_name(const Target& target, Address address);
inline Target target_of(const Region& r) { return {&r.name, r.element, r.begin, nullptr, nullptr, &r}; }
/// The same for an address of shared memory in steps of `element` bytes; "" outside every __shared__ array.
std::string shared_name(const Worker& worker, Address address, std::size_t element);
void report_race(Worker& worker, Touched t, const Target& target, const order::Conflict& other);
[[noreturn]] void report_out_of_bounds(Worker& worker, std::size_t size, Touched t);

// --- Memory (memory.cpp) ---------------------------------------------------------------------------------------------
constexpr std::size_t largest_shared = 227 * 1024;  ///< bytes a block can have, since compute capability 9.0

/// Memory for a block. What one block leaves there the next one finds.
Arena* take_arena(std::size_t shared_bytes);
void give_arena(Arena* arena);
/// The arena of any block, of those that have begun or ended, that an address lies in; or nullptr.
const Arena* arena_at(Address address);

/// Finds the __shared__ variables that the kernel may touch, and lays them out.
void place_shared_memory(Launch& launch);
/// What is looked up for each access, of a launch whose variables are placed.
void describe_layout(Launch& launch);
/// Bytes of the __shared__ variables that count, each at a multiple of its own alignment, as nvcc lays them out.
std::size_t static_bytes(const Launch& launch);
/// The array that holds an address of a running launch.
cost::Array array_of(const Worker& worker, Address address);

/// Whether an address lies in the running block's shared memory.
inline bool is_shared(const Worker& w, Address address) { return address - w.shared_begin < w.shared.bytes; }
/// The __shared__ variable that holds `size` bytes at an address, in shared memory that begins at another; or nullptr.
[[gnu::always_inline]] inline PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size,
                                                          Address shared_begin) {
  const std::size_t offset = address - shared_begin;
  const std::uint16_t index = w.shared.variable_at[offset / SharedLayout::grain];
  if (index == 0) return nullptr;
  PlacedVariable& variable = w.launch->variables[index - 1];
  return offset + size <= variable.offset + variable.size ? &variable : nullptr;
}

// --- Accesses (touch.cpp) --------------------------------------------------------------------------------------------
/// Whether so many bytes lie in one __shared__ array or allocation. Unless they do, require_in_bounds ends the lane.
bool in_bounds(const Worker& worker, Address address, std::size_t size);
void require_in_bounds(Worker& worker, Address address, std::size_t size, Op op, Address pc);
/// The allocation or __device__ variable that holds so many bytes, or nullptr.
Region* region_of(const Worker& worker, Address address, std::size_t size);
/// Checks that an access in bounds, by a TMA copy or to an mbarrier, is ordered with those of threads.
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
/// What a worker's thread does: runs blocks of the launch until there is none left.
void run_blocks(Worker& worker);

// --- Polls, and lanes without end (polls.cpp) ------------------------------------------------------------------------
/// Notes that the running lane is about to load or update, and puts it to sleep if it polls.
void notice_polling(Worker& worker, Address address, std::size_t size, Op op, Address pc, bool is_volatile);
/// Puts the running lane to sleep, unless it has patience left, until one of the last `polled` values it saw changes
/// (0: until any time).
void sleep_while_polling(Worker& worker, Address pc, std::size_t polled);
/// What a lane that polls does: which elements it loads, and what it finds there.
std::string described_poll(const Worker& worker, const Lane& lane);
/// Whether a block has something to do: if a value that it polls has changed, or if all that poll retry.
bool may_go_on(const Block& block, bool all);
/// Lets such lanes of the running block go on; all, for `retries` times at least, unless it is 0. Returns whether there
/// are any.
bool wake(Worker& worker, std::uint32_t retries);
/// Lets the lanes that poll what the running lane has just changed look at it, before anything else changes it.
void let_pollers_look(Worker& worker);
/// How often all that poll are to retry, since no lane of the worker can go on; 0 if that has been futile too often.
std::uint32_t next_retries(Worker& worker);
/// Notes that what threads find depends on who is first: those of a cluster, or also of others. In the latter case a
/// launch in parallel stops, to run again in order.
void note_signals(Worker& worker, bool in_cluster);
/// These end the running lane if it has made too many accesses since its last wait, or waits.
void require_bounded_log(Worker& worker, Address pc);
void count_wait(Worker& worker, Address pc);

// --- Waits for mbarriers, of clusters, for registers -----------------------------------------------------------------
/// These end waits of the running block whose conditions hold. They return whether there were any.
bool end_mbarrier_waits(Worker& worker, std::span<Lane> lanes);
bool end_cluster_waits(Worker& worker);
bool end_register_waits(Worker& worker);
/// Lets lanes that wait for mbarriers give up, as try_wait may, if they have not often done so since the last event.
bool give_up_mbarrier_waits(Worker& worker);
/// Lets a waiting lane go on.
inline void resume(Lane& lane) {
  lane.state = LaneState::ready;
  lane.turns.reset();
}
/// Reports why no lane of the running block can go on (findings.cpp), and what a lane lacks.
void explain_standstill(Worker& worker);
std::string described_mbarrier_wait(const Worker& worker, const Lane& lane);
std::string described_register_wait(const Block& block, const Lane& lane);

/// "mbarrier full[1]" (tma.cpp)
std::string name_of_mbarrier(const Worker& worker, Address mbarrier);
/// Ends the running lane if an access to shared memory is to an mbarrier, which is for its own instructions.
void refuse_mbarrier(Worker& worker, const Block& owner, std::size_t size, Touched t);
/// Lets TMA copies land for which a lane waits. Returns whether there were any.
bool let_bulk_loads_arrive(Worker& worker);

/// The block of the running one's cluster whose shared memory an address lies in, or nullptr (clusters.cpp).
Block* owner_of(const Worker& worker, Address address);
/// Where a block has what lies at an address of another's shared memory.
inline Address same_place(const Block& in, const Block& of, Address address) {
  return address - of.shared_begin() + in.shared_begin();
}
/// Notes that a lane has returned, for whom others of the cluster need not wait.
void leave_cluster(Worker& worker);
/// Notes an access to the shared memory of another block, which must have begun and not have ended.
void note_visit(Worker& worker, Block& owner, Op op, Address pc);

// When all lanes of the running block have returned, these report
void require_no_bulk_copies(Worker& worker);          ///< TMA copies that nobody has waited for,
void require_no_late_visits(Worker& worker);          ///< accesses that may come after its shared memory has ended,
void require_equal_register_changes(Worker& worker);  ///< and setmaxnregs that not all warps of a group execute.

// --- Counts (launch.cpp) ---------------------------------------------------------------------------------------------
/// Turns the logs of a warp's lanes into costs and clears them.
void count_warp(Worker& worker, std::span<Lane> warp);

}  // namespace simt::execute
