// execute/: running the threads of a grid.
//
// What comes in: a kernel and its grid (run() in launch.cpp), what its threads touch (announce/), and the calls of device
// functions: barriers, shuffles, asynchronous copies. What goes out: for a traced launch its Counts (collect.cpp), and in any
// case an Error that says what the kernel did wrong.
//
// How: each thread is a fiber (fibers.cpp), a *lane* with a stack of its own. One host thread, a *worker*, runs the lanes of a
// block in turn, warp by warp, each until it waits. What a lane waits for is a state of its own (Wait), and waits.cpp decides
// when it is over: a barrier of the block, a named one, a phase of an mbarrier, a collective operation of a warp, registers, or a value in
// memory that some other lane will write (the lane keeps loading the same element, or the same few: it *polls*). Copies in bulk arrive when no
// lane can go on. Blocks start in the order of their numbers (blocks.cpp), or only some of them run, if the trace asks for that
// (choose_blocks in launch.cpp). When no lane of a block can go on, the worker runs others, and starts as many as the GPU would
// hold at once; each has its shared memory in an arena of its own (arenas.cpp). When nothing can go on at all, the error lists who
// waits where for what, and what is missing.
//
// Each access is looked at in touch.cpp: in which array it falls (arrays.cpp) and whether it may be made, which
// wrong_access.cpp says if not; order/ says whether another thread's access is unordered with it; and once the lanes of a warp
// have run up to the same wait, account/ turns their logs into costs. Dependencies go from here to the other rooms, never back.
#pragma once

#include "common/sim/execute/state.hpp"

namespace simt::execute {

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
std::string where(const Worker& worker, const Block& block, const Lane& lane, Address return_address);
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
/// The same for a barrier of the block, of which nothing but the place is to be known: there are many.
void wait_for_block(Address pc);
/// From the running lane back to the scheduler, until the lane is resumed.
void suspend(Worker& worker, LaneState state);
/// Leaves the running lane for good: its block cannot go on.
[[noreturn]] void abandon_block(Worker& worker);

// --- Arenas (arenas.cpp) -------------------------------------------------------------------------------------------------
/// Memory for the shared memory of a block, and what is done with it when no block needs it. What one block leaves there the next
/// one finds.
Arena* take_arena(std::size_t bytes);
void give_arena(Arena* arena);
/// The arena of any block, of those that have begun or ended, that an address lies in; or nullptr.
const Arena* arena_at(Address address);

// --- Blocks (blocks.cpp) -------------------------------------------------------------------------------------------------
/// What a worker's thread does: runs blocks of the launch until there is none left.
void run_blocks(Worker& worker);

/// Of a traced run: a number that no longer is the same once the running lane has touched memory.
inline std::size_t done_so_far(const Worker& w) { return w.lane->log.size() + (w.counted_warps << 32); }

// --- The watch (watch.cpp) -----------------------------------------------------------------------------------------------
/// Waits until no worker of an untraced launch works any more, and lets the turns be counted of lanes that run for long.
void watch_until_done(Launch& launch, std::vector<Worker>& workers);
/// What a worker of an untraced launch does first and last.
void begin_watched_work(Worker& worker);
void end_watched_work(Worker& worker);

// --- Lanes without end (endless.cpp) -------------------------------------------------------------------------------------
/// The usual bounds, times SIMT_PATIENCE from the environment.
Bounds bounds_of_launch();
/// Ends the running lane if its log may not grow: it would take all memory.
void require_bounded_log(Worker& worker, Address pc);
/// Counts an access of a lane that the watch has found, and ends the lane if there are too many.
void count_watched_access(Worker& worker, Address pc);
/// A lane that looks so often, at what changes or with other accesses in between, lets others run.
constexpr std::uint32_t looks_of_a_yield = 1 << 16;
/// Lets others run, as the running lane makes looks without end and is not seen to wait; ends it if that comes too often.
void yield_to_others(Worker& worker, Address pc);
/// Ends the running lane, which has waited too often.
[[noreturn]] void leave_endless_waits(Worker& worker, Address pc);

// --- Polls (polls.cpp) ---------------------------------------------------------------------------------------------------
/// Notes that the running lane is about to load, or to update, and lets others run if it did nothing else for long.
enum class Polling : std::uint8_t { plainly, strongly, atomically };
void notice_polling(Worker& worker, Address address, std::size_t size, Address pc, Polling how);
/// Lets others run, if the running lane is not to go on all the same.
void let_others_run(Worker& worker, Address pc);
/// What a lane that polls does: which elements it loads, and what it finds there.
std::string described_poll(const Worker& worker, const Lane& lane);
/// Which of the lanes that poll go on: those whose value has changed; besides, those of which it is not known what they poll, or
/// whether they do; all of them, for so many turns; or nobody, ever.
struct Wake {
  enum class Who : std::uint8_t { changed, vague, all, nobody } who{};
  std::uint32_t patience = 0;
};
/// Whether a block has something to do, if such lanes go on.
bool may_go_on(const Block& block, Wake::Who who);
/// Lets such lanes of the running block go on. Returns whether there are any.
bool wake(Worker& worker, const Wake& who);
/// Waits until a lane of the worker may go on, since none can now. Says who.
Wake wait_for_change(Worker& worker);
/// What a worker does last: the others need not wait for it.
void end_work(Worker& worker);

// --- Waits (waits.cpp) ---------------------------------------------------------------------------------------------------
/// Runs a warp until no lane of it is ready: collective operations within it are resolved on the way.
void run_warp(Worker& worker, int first_lane, int lane_count);
/// Ends the waits whose conditions hold. Returns whether there were any.
bool end_waits(Worker& worker);
/// The running lane comes to a barrier with a number, which it says is for so many threads: as those must have said who are
/// there. Whether it waits is for the caller to say.
NamedBarrier& come_to_barrier(Worker& worker, int number, int threads, Address pc);
// --- Standstill (standstill.cpp) -------------------------------------------------------------------------------------------
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
/// The mbarrier of a block that the running lane is about to use for what `verb` says; else the lane does not go on.
Mbarrier& mbarrier_at(Worker& worker, Block& owner, Address mbarrier, Address pc, const char* verb);
/// Ends the running lane if an access to shared memory is to an mbarrier, which is for its own instructions.
void refuse_mbarrier(Worker& worker, const Block& owner, Address address, std::size_t size, Op op, Address pc,
                     const order::By& by);
/// Notes that the bytes of a copy have come for its mbarrier.
void complete_bytes(Worker& worker, const BulkLoad& load);

// --- Copies in bulk (bulk.cpp) -------------------------------------------------------------------------------------------
/// Lets copies arrive for which a lane waits. Returns whether there were any.
bool let_bulk_loads_arrive(Worker& worker);
/// Reports copies of the running block that nobody has waited for, when all its lanes have returned.
void require_no_bulk_copies(Worker& worker);

// --- Clusters (clusters.cpp) -----------------------------------------------------------------------------------------------
/// The block of the running one's cluster whose shared memory an address lies in, or nullptr.
Block* owner_of(const Worker& worker, Address address);
/// Where a block has what lies at an address of another's shared memory.
inline Address same_place(const Block& in, const Block& of, Address address) {
  return address - of.shared_begin() + in.shared_begin();
}
/// Ends the waits of the running block's lanes for their cluster's barrier. Returns whether there were any.
bool end_cluster_waits(Worker& worker);
/// Notes that a lane has returned, for whom others of the cluster need not wait.
void leave_cluster(Worker& worker);
/// Notes an access to the shared memory of another block, which must have begun and not have ended.
void note_visit(Worker& worker, Block& owner, Op op, Address pc);
/// Reports who may touch the running block's shared memory after it has ended.
void require_no_late_visits(Worker& worker);
/// " of block (1,0,0)"
std::string of_block(const Block& block);

// --- Registers (registers.cpp) ---------------------------------------------------------------------------------------------
/// Lets warps of the running block change their registers, where there are enough. Returns whether any did.
bool end_register_waits(Worker& worker);
/// What a lane lacks whose warp wants registers.
std::string described_register_wait(const Worker& worker, const Lane& lane);
/// Reports warps of the running block that did not change theirs as others of the same four did, when all its lanes have returned.
void require_changed_alike(Worker& worker);

// --- Counts (collect.cpp) --------------------------------------------------------------------------------------------------
/// Turns the logs of a warp's lanes into costs and clears them.
void count_warp(Worker& worker, int first_lane, int lane_count);
/// Bytes of the __shared__ variables that are placed, each at a multiple of its own alignment, as nvcc lays them out.
std::size_t static_bytes(const Launch& launch);
/// Adds each number to the one in its place.
void add_each(const std::vector<std::uint64_t>& more, std::vector<std::uint64_t>& sums);
Counts description_of(const Launch& launch);
Counts collect(Launch& launch, std::vector<Worker>& workers);

}  // namespace simt::execute
