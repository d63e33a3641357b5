// What there is while a grid runs: its launch, the host threads that run it (workers), the clusters and blocks that have begun, and their
// threads (lanes). Plain data, except that a worker hears of accesses; what is done with it is declared in execute.hpp.
#pragma once

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <condition_variable>
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

#include "common/cuda/asynchronous.hpp"
#include "common/sim/cost/tally.hpp"
#include "common/sim/hooks/hooks.hpp"
#include "common/sim/model.hpp"
#include "common/sim/order/cells.hpp"

namespace simt::execute {

using hooks::Address;
using hooks::Place;
using hooks::Region;

struct Block;
struct Launch;
struct Worker;

constexpr int max_threads = 1024;  ///< of a block

// --- Shared memory -------------------------------------------------------------------------------------------------------
/// Where the shared memory of one block lies: in an arena that no other block of a cluster which has not ended has.
struct Arena {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
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

// --- Lanes -----------------------------------------------------------------------------------------------------------------
enum class LaneState : std::uint8_t { ready, waiting, polling, done };

/// A setmaxnreg: to how many registers a thread, whether to more, which thread came to it first, and where in the program.
struct RegisterChange {
  bool more = false;
  int registers = 0, thread = 0;
  Address pc = 0;
};

/// What a lane waits for.
struct Wait {
  enum class For : std::uint8_t {
    block_barrier,
    named_barrier,
    collective,
    mbarrier,
    cluster_barrier,
    registers
  } what{};
  Address pc = 0;                         ///< return address of the call that waits
  int number = 0;                         ///< of a named barrier; of an mbarrier the parity of the phase
  unsigned mask = 0;                      ///< a collective operation: who takes part,
  device::Collective function = nullptr;  ///< what they do,
  device::Slot* slot = nullptr;           ///< and this lane's part
  Address mbarrier = 0;                   ///< an mbarrier: where it lies,
  bool over = false;                      ///< and whether that was over when the wait ended
  bool at_once = false;                   ///< a cluster's barrier: the thread did nothing since it arrived
  RegisterChange registers{};             ///< registers: what its warp asks for
};

/// An asynchronous copy in flight: it lands when its thread waits for it, at the latest moment that the rules allow.
struct PendingCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  order::Epoch group = 0;
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
  const Block* by = nullptr;  ///< the block that started it
  Address mbarrier = 0;
  std::uint64_t phase = 0;  ///< that of the mbarrier when the copy was started
  int thread = 0;
  Address pc = 0;
};
/// A bulk copy out of shared memory: it is made when its thread waits for its group.
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

/// The last shuffle, vote or reduction in which a lane took part, with which others of its warp, and when by its own count.
struct Exchange {
  unsigned mask = 0;
  bool is_shuffle = false;
  Address pc = 0;
  order::Epoch epoch = 0;
};

/// What a lane saw where it loaded or updated a value, and how far it had come when it first looked there.
struct Look {
  Address address = 0, pc = 0;
  std::size_t size = 0;
  std::array<std::byte, 16> seen{};
  std::uint16_t turns = 0;  ///< of loops before the first of such accesses, and the basic blocks of the last of them
  std::vector<std::uint32_t> blocks_of_turn;
  std::size_t logged = 0;  ///< accesses in the lane's log before it
};
/// The look that a lane repeats while it waits for another value.
struct Awaited : Look {
  bool strong = false;         ///< it is atomic or volatile; else the loop may just read the same element often
  std::uint32_t patience = 0;  ///< so often does the lane go on all the same
};

/// What a lane starts with nothing of, in each block anew.
struct LaneProgress {
  std::vector<PendingCopy> copies;
  std::vector<BulkStore> bulk_stores;
  std::uint64_t tried_at = 0;  ///< Block::happenings when it last tried an mbarrier in vain
  Awaited awaited;
  std::uint64_t cluster_arrivals = 0, cluster_waits = 0;    ///< barriers of the cluster at which it arrived, and waited
  std::size_t done_at_arrival = 0, done_at_idle_turns = 0;  ///< of its accesses, see done_so_far
  std::uint32_t idle_turns = 0;                             ///< of a long loop, since its last access
  std::size_t register_changes = 0;                         ///< how often it came to a setmaxnreg
  Exchange exchanged;                                       ///< of a traced run
  // A lane that repeats a round of several looks waits for a value, too (polls.cpp).
  std::vector<Look> looks;            ///< the last futile ones, of which no two are the same: `look_count` of them
  std::vector<Look> round;            ///< while it polls so: those for which it does
  std::uint32_t rounds = 0;           ///< that were futile,
  std::uint32_t looks_elsewhere = 0;  ///< and looks since the last such round or wait
  // What a lane without end makes too many of (polls.cpp).
  std::uint64_t waits = 0;             ///< for others, other than for a value in memory,
  std::uint64_t yields = 0;            ///< how often it let others run though it was not seen to wait,
  std::uint64_t watched_accesses = 0;  ///< and what it did since the watchdog found it,
  bool watched = false;                ///< if it has
};

/// A thread of the grid. What each access needs comes first, in two lines of the host's cache.
struct alignas(64) LaneAccesses {
  hooks::LaneHooks lane_hooks{};
  cost::Log log;
  int linear = 0;
  LaneState state = LaneState::done;
};
struct LastAccess {
  Address last_pc = 0, last_address = 0;  ///< of its last load or update, and how often that was made before
  std::uint32_t repeats = 0;
  bool futile = false;  ///< the last one was volatile or atomic, and changed nothing
  std::uint8_t look_count = 0;
  bool unsettled = false;  ///< there is something to be looked at once the current access has been made:
  Address learn_from = 0;  ///< an element read through volatile or updated atomically, whose writer may have released,
  std::vector<SameValue> same_values;  ///< and stores that may be of the same value
};
struct Lane : LaneAccesses, LastAccess, LaneProgress {
  boost::context::detail::fcontext_t context = nullptr;
  uint3 thread{};
  Wait wait{};
  hooks::Turns turns{};
};

inline bool waits_for(const Lane& lane, Wait::For what) {
  return lane.state == LaneState::waiting && lane.wait.what == what;
}

// --- Blocks and what runs them -----------------------------------------------------------------------------------------
struct NamedBarrier {
  std::size_t arrived = 0;   ///< threads that arrived without waiting,
  order::Arrivals arrivals;  ///< and, in a traced run, what they tell those that wait
  int expected = 0;
  int first = 0;         ///< the thread that came first
  Address first_pc = 0;  ///< and where; 0: nobody has arrived
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

/// Blocks that run at the same time and reach into each other's shared memory. A block that was launched without is one by itself.
struct Cluster {
  std::vector<Block*> blocks;  ///< by rank
  std::uint64_t barriers = 0;  ///< that are over
  int threads = 0;             ///< that have not returned,
  int arrived = 0;             ///< and those of them that have arrived at the next barrier
  order::News over;            ///< what those learn who wait for the last one
  Released released;           ///< in the shared memory of its blocks
};

/// The last access of another block's thread to the shared memory of a block.
struct Visit {
  const Block* block = nullptr;  ///< whose thread it was
  order::Stamp by = 0;
  Address pc = 0;
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
  /// How many threads came to a barrier of the block with a predicate that holds. Of the last barrier some may yet ask while
  /// others vote at the next, hence two.
  struct Votes {
    std::uint32_t interval = ~0u;
    int count = 0;
  };
  std::array<Votes, 2> votes;
  std::array<NamedBarrier, 16> barriers;
  order::Arrivals cluster_arrivals;                           ///< in a traced run, at the barrier of its cluster
  std::map<Address, Mbarrier> mbarriers;                      ///< by address
  Released released;                                          ///< by who fenced for the block alone
  std::vector<std::vector<RegisterChange>> register_changes;  ///< by group of four warps; empty before the first,
  std::vector<int> registers;                                 ///< and what a thread of each warp then has
  std::vector<BulkLoad> bulk_loads;                           ///< in flight, in the order in which they were started
  std::uint64_t happenings = 1;  ///< arrivals, bytes, ends of barriers: what a lane may wait for
  std::uint64_t gave_up_at = 0;  ///< of these, when its lanes last gave up waiting for mbarriers,
  int gave_up = 0;               ///< and how often they have since
  bool has_news = true;          ///< it has just begun, or another of its cluster has done what it may wait for
};
struct Block : BlockProgress {
  std::vector<Lane> lanes;
  std::byte* stacks = nullptr;
  order::BlockOrder order;
  order::SharedCells shared;
  int granule_bits = 2;  ///< of an address, within a shared cell
  Arena* arena = nullptr;

  Address shared_begin() const { return reinterpret_cast<Address>(arena->memory); }
  std::size_t granule() const { return std::size_t(1) << granule_bits; }  ///< bytes a shared cell stands for
};

/// Tells repetitions of a mistake apart: its kind and the places in the program that take part.
using MistakeKey = std::tuple<std::string_view, Address, Address>;

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
  bool traced = false;         // as the launch says
  bool looks_closely = false;  // at each access of the running lane: it is traced, or the watchdog has found it
  boost::context::detail::fcontext_t scheduler = nullptr;
  Block* block = nullptr;  // the one that is running
  Lane* lane = nullptr;
  std::vector<std::unique_ptr<Block>> resident, idle;  // that have begun, and that are there to be used again
  order::Stamp copying = 0;                            // of a copy whose accesses are looked at
  std::uint64_t round = 0;                             // Launch::round when its lanes last went on all the same
  std::set<MistakeKey> seen;                           // by this worker; Launch::seen is all workers'
  bool dynamic_shared_named = false;
  // memory as this worker's lanes see it
  Address shared_begin = 0;  // that of the running block, and
  SharedLayout shared;       // what lies where in it
  mutable Region* last_region = nullptr;
  // The watchdog over an untraced run (polls.cpp).
  hooks::LaneHooks* thread_hooks = nullptr;  // of its host thread, while that works; under Launch::idle_mutex
  std::atomic<std::uint64_t> slices{0};      // how often it has let a lane run
  hooks::Turns watched_turns{};              // of the lane that is running since the watchdog found it
  // counts
  cost::Tally tally;
  std::vector<Touch> touches;
  std::vector<cost::Log> empty_logs;  // of lanes whose logs were counted: the next to run use the same memory
  std::set<std::uint32_t> copies_at;  // instructions that start asynchronous copies
  std::uint64_t counted_warps = 0;    // how often logs were turned into costs
  std::uint64_t barriers = 0;
  std::vector<std::uint64_t> waits_for_copies;  // by how many groups they left in flight

  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void access_struct(Address address, std::size_t size, Op op, Address pc, hooks::Alignment alignment) override;
  void many_turns(Address pc) override;
  void refuse(Address pc, const std::string& what) override;
  void refuse_index(Address pc, std::intptr_t index, const char* array_type) override;
};

/// What a lane may do before it is taken to go on without end.
struct Bounds {
  std::uint64_t patience = 1;          ///< as SIMT_PATIENCE says: all others are multiplied by it
  std::uint64_t logged_accesses = 0;   ///< in a traced run, from one wait to the next
  std::uint64_t watched_accesses = 0;  ///< in an untraced one
  std::uint64_t waits = 0, yields = 0;
};

struct Launch {
  const BoundKernel* kernel = nullptr;
  std::string name;
  dim3 grid, block, cluster;
  std::size_t dynamic_shared = 0, static_shared = 0;
  bool traced = false;
  Bounds bounds;
  Trace options;
  std::vector<PlacedVariable> variables;   // that the kernel may touch, ordered by offset; dynamic ones last
  std::vector<std::uint16_t> variable_at;  // what SharedLayout points to
  std::vector<std::uint32_t> room_at, offset_of;
  std::size_t arena_bytes = 0;
  std::size_t variable_bytes = 0;              // of all of them
  std::vector<Region*> arrays;                 // global arrays, ordered by address
  std::vector<std::vector<std::byte>> before;  // their contents when a traced launch began
  std::uint64_t block_count = 0, cluster_count = 0;
  std::size_t cluster_blocks = 1;
  std::size_t most_resident = 1;  // blocks that the GPU would hold at once
  std::atomic<std::uint64_t> next_cluster{0}, resident{0};
  std::atomic<bool> stop{false};
  // Workers that have blocks or may get some, those of them that can do nothing, and how often all of them have then gone on all
  // the same: altogether, and in vain since one got anywhere (polls.cpp).
  std::mutex idle_mutex;
  std::vector<Worker*> live_workers;
  std::size_t idle_workers = 0;
  std::atomic<std::uint64_t> round{0};
  std::atomic<int> futile_rounds{0};
  std::mutex released_mutex;
  Released released;  // in global memory
  std::condition_variable workers_done;
  std::mutex mutex;
  std::vector<std::string> findings;
  std::set<MistakeKey> seen;   // each is told once
  std::set<std::string> told;  // findings without who and where
};

}  // namespace simt::execute
