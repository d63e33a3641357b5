// What there is while a grid runs: its launch, the host threads that run it (workers), the clusters and blocks that have begun,
// whose threads lanes.hpp has. Plain data, except that a worker hears of accesses; what is done with it stands in execute.hpp.
#pragma once

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <condition_variable>
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
#include "common/sim/cost/tally.hpp"
#include "common/sim/hooks/announce.hpp"
#include "common/sim/hooks/memory.hpp"
#include "common/sim/execute/lanes.hpp"
#include "common/sim/execute/shared.hpp"
#include "common/sim/model.hpp"
#include "common/sim/order/cells.hpp"

namespace simt::execute {

using announce::Place;
using announce::Region;

// --- Blocks and what runs them -----------------------------------------------------------------------------------------
struct NamedBarrier {
  std::size_t arrived = 0;   ///< threads that were there without waiting (arrive), besides those that wait,
  order::Arrivals arrivals;  ///< and, in a traced run, what they tell these
  int expected = 0;
  int first = 0;         ///< the thread that came first
  Address first_pc = 0;  ///< and where; 0: nobody has come
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
  order::News arrived, over;  ///< what those know who arrived in this phase; what those learn who find one over
};

/// Blocks that run at the same time and reach into each other's shared memory. A block that was launched without is one by itself.
struct Cluster {
  std::vector<Block*> blocks;  ///< by rank
  std::uint64_t barriers = 0;  ///< that are over
  int threads = 0;             ///< that have not returned,
  int arrived = 0;             ///< and those of them that have come to the next barrier
  order::News over;            ///< what those learn who wait for the last one
  /// What was released in the shared memory of its blocks, by the element that was written then.
  std::unordered_map<Address, order::KnownPointer> released;
};

/// The last access of another block's thread to the shared memory of a block.
struct Visit {
  order::Stamp by = 0;
  Address pc = 0;
  Op op{};
};

struct Block {
  uint3 index{};
  std::shared_ptr<Cluster> cluster;
  std::uint32_t rank = 0;                 ///< within it
  bool ended = false;                     ///< but others of the cluster have not
  std::map<std::uint64_t, Visit> visits;  ///< by actor and block
  std::uint32_t serial = 0;               ///< 1-based linear index
  std::uint32_t interval = 0;             ///< __syncthreads passed
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
  std::vector<std::uint64_t> waits_for_copies;  ///< by how many groups they left under way
  std::array<NamedBarrier, 16> barriers;
  std::map<Address, Mbarrier> mbarriers;  ///< by address
  /// What was released by who fenced for the block alone, by the element that was written then.
  std::unordered_map<Address, order::KnownPointer> released;
  std::vector<std::vector<RegisterChange>> register_changes;  ///< that were made, by warp; empty before the first
  std::vector<BulkLoad> bulk_loads;                           ///< on their way, in the order in which they were started
  std::uint64_t happenings = 1;  ///< arrivals, bytes, ends of barriers: what a lane may wait for
  std::uint64_t gave_up_at = 0;  ///< of these, when its lanes last gave up waiting for mbarriers,
  int gave_up = 0;               ///< and how often they have since
  bool has_news = false;         ///< it has just begun, or another of its cluster has done what it may wait for
  Arena* arena = nullptr;

  Address shared_begin() const { return reinterpret_cast<Address>(arena->memory); }
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
  cluster,
  registers,
  trap,
  deadlock,
  endless
};
/// Tells repetitions of a mistake apart: its kind and the places in the program that take part.
using MistakeKey = std::tuple<Mistake, Address, Address>;

struct Worker;

/// Who hears of a lane that the watch has found (watch.cpp), in the place of its worker.
class CloseWatch final : public announce::Listener {
 public:
  explicit CloseWatch(Worker& worker) : worker_(worker) {}
  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void access_struct(Address address, std::size_t size, Op op, Address pc, announce::Alignment alignment) override;
  void many_turns(Address pc) override;
  void refuse(Address pc, const std::string& what) override;
  void refuse_index(Address pc, std::intptr_t index, const char* array_type) override;

 private:
  Worker& worker_;
};

/// One host thread running blocks of a launch.
struct Worker final : announce::Listener {
  Launch* launch = nullptr;
  bool traced = false;  // as the launch says
  boost::context::detail::fcontext_t scheduler = nullptr;
  Block* block = nullptr;  // the one that is running
  Lane* lane = nullptr;
  std::vector<std::unique_ptr<Block>> resident, idle;  // that have begun, and that are there to be used again
  order::By copying{};                                 // whose accesses are looked at, if not the lane's own
  std::uint64_t round = 0;                             // Launch::round when its lanes last went on all the same
  std::set<MistakeKey> seen;                           // what this worker has met; Launch::seen is all workers'
  bool dynamic_shared_named = false;
  // memory as this worker's lanes see it
  Address shared_begin = 0;  // that of the running block, and
  SharedLayout shared;       // what lies where behind it
  Region* last_region = nullptr;
  // The watch over an untraced run (watch.cpp).
  announce::Attention* attention = nullptr;  // of its host thread, while that works; under Launch::watch_mutex
  std::atomic<std::uint64_t> slices{0};      // how often it has let a lane run
  announce::Turns watched_turns{};           // of the lane that is running since the watch found it
  CloseWatch close_watch{*this};
  // counts
  account::Tally tally;
  std::vector<Touch> touches;
  std::vector<account::Log> empty_logs;  // of lanes whose logs were counted: the next to run use the same memory
  std::set<std::uint32_t> copies_at;     // instructions that start asynchronous copies
  std::map<std::uint32_t, std::size_t> structs_at;  // that move structs, and of how many bytes
  std::uint64_t counted_warps = 0;                  // how often logs were turned into costs
  std::uint64_t barriers = 0;
  std::vector<std::uint64_t> waits_for_copies;  // by how many groups they left under way

  void access(Address address, std::size_t size, Op op, Address pc, bool is_volatile) override;
  void access_struct(Address address, std::size_t size, Op op, Address pc, announce::Alignment alignment) override;
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
  std::atomic<std::size_t> shared_bytes{0};          // of those that are placed
  std::vector<Region*> arrays;                       // global arrays, ordered by address
  std::vector<std::vector<std::byte>> before;        // their contents when a traced launch began
  std::vector<std::uint64_t> only_blocks;            // numbers of those that run, if not all do
  std::uint64_t block_count = 0, cluster_count = 0;  // of the grid, and that run
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
  std::atomic<int> vain_rounds{0};
  // What was known and done by those who wrote an element of global memory atomically or through volatile after a fence.
  std::mutex released_mutex;
  std::unordered_map<Address, order::KnownPointer> released;
  std::mutex watch_mutex;
  std::condition_variable workers_done;
  std::size_t watched_workers = 0;
  std::mutex mutex;
  std::vector<std::string> findings;
  std::set<MistakeKey> seen;   // each is told once
  std::set<std::string> told;  // findings without who and where
};

}  // namespace simt::execute
