// execute/: running the threads of a grid.
//
// In: a kernel and its grid (run() in launch.cpp), what its threads touch (hooks/), and the calls of device functions: barriers,
// shuffles, asynchronous copies. Out: for a traced launch its Counts, and in any case an Error that says what the kernel did wrong.
//
// How: each thread is a fiber, a *lane* with a stack of its own (schedule.cpp). One host thread, a *worker*, runs the lanes of a block in
// turn, warp by warp, each until it waits, and decides when a wait is over. A lane that keeps loading the same element, or the
// same few, waits for a value that another lane will write: it *polls*. Bulk copies land when no lane can go on. Blocks start in the
// order of their numbers. When no lane of a block can go on, the worker runs others, and starts as many as the GPU would
// hold at once. When nothing can go on at all, the error lists who waits where for what, and what is missing (standstill.cpp).
//
// Each access is looked at in touch.cpp: in which array it falls (memory.cpp) and whether it may be made, which findings.cpp says if
// not; order/ says whether another thread's access is unordered with it; and once the lanes of a warp have run up to the same wait,
// cost/ turns their logs into costs (launch.cpp collects them). Dependencies go from here to the other rooms, never back.
#pragma once

#include "common/sim/execute/state.hpp"

namespace simt::execute {

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

// --- Findings (findings.cpp) -------------------------------------------------------------------------------------------
/// Who makes a mistake, and at which instruction.
struct Culprit {
  const Block& block;
  const Lane& lane;
  Address pc;
};
inline Culprit culprit(const Worker& w, Address pc) { return {*w.block, *w.lane, pc}; }
/// Adds "KIND: kernel k, chapter03.cu:57, block (0,0,0), thread (3,1,0) WHAT" to the launch's findings unless it is there.
void add_finding(Launch& launch, const MistakeKey& key, const Culprit& by, const std::function<std::string()>& what);
/// Reports a mistake once for each kind and places. A race comes back millions of times, so what() is only called the first time.
template <class What>
void report(Worker& worker, const char* kind, const Culprit& by, Address other_pc, What&& what) {
  const MistakeKey key{kind, by.pc, other_pc};
  if (worker.seen.insert(key).second) add_finding(*worker.launch, key, by, what);
}
/// Reports a mistake of the running lane, which it cannot go on from.
[[noreturn]] void fail(Worker& worker, const char* kind, Address pc, const std::string& what);
/// Leaves the running lane for good: its block cannot go on.
[[noreturn]] void abandon_block(Worker& worker);

std::string thread_name(const Worker& worker, std::uint64_t linear);  ///< "(3,1,0)"
std::string thread_name(const Lane& lane);
std::string of_block(const Block& block);  ///< " of block (1,0,0)"
std::string format_address(Address address);
std::string line_of(Address return_address);  ///< "chapter03.cu:57"
bool on_one_line(Address a, Address b);
const char* verb_of(Op op);

/// Where an access falls: in an array of elements.
struct Target {
  const std::string* array;
  std::size_t element;  // bytes
  Address begin;
  const Block* of = nullptr;            // if not the running one: whose shared memory it is
  const hooks::Shape* shape = nullptr;  // of a __shared__ array, if that is known
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
std::string element_name(const Target& target, const Region* region, Address address);
/// The same for an address of shared memory in steps of `element` bytes; "" outside every __shared__ array.
std::string shared_name(const Worker& worker, Address address, std::size_t element);
void report_race(Worker& worker, Touched t, const Target& target, const Region* region, const order::Conflict& other);
[[noreturn]] void report_out_of_bounds(Worker& worker, std::size_t size, Touched t);

// --- Memory (memory.cpp) ---------------------------------------------------------------------------------------------------
constexpr std::size_t largest_shared = 227 * 1024;  ///< bytes a block can have, since compute capability 9.0

/// Stacks for as many lanes as a block may have.
std::byte* take_stacks();
void give_stacks(std::byte* stacks);
constexpr std::size_t stack_bytes = 65 * 4096;  ///< an odd number of pages: see take_stacks
/// Memory for the shared memory of a block. What one block leaves there the next one finds.
Arena* take_arena(std::size_t bytes);
void give_arena(Arena* arena);
/// The arena of any block, of those that have begun or ended, that an address lies in; or nullptr.
const Arena* arena_at(Address address);

/// Finds the __shared__ variables that the kernel may touch, and lays them out.
void place_shared_memory(Launch& launch);
/// What is looked up for each access, of a launch whose variables are placed.
void describe_layout(Launch& launch);
/// Bytes of the __shared__ variables that count, each at a multiple of its own alignment, as nvcc lays them out.
std::size_t static_bytes(const Launch& launch);
/// Throws Error when a traced launch changed an element that no hook reported to be written.
void require_announced_stores(const Launch& launch);
/// The array that holds an address of a running launch.
cost::Array array_of(const Worker& worker, Address address);

/// Whether an address lies in the running block's shared memory.
inline bool is_shared(const Worker& w, Address address) { return address - w.shared_begin < w.shared.bytes; }
/// The __shared__ variable that holds `size` bytes at an address of the shared memory that begins at another, or nullptr.
[[gnu::always_inline]] inline PlacedVariable* variable_of(const Worker& w, Address address, std::size_t size,
                                                          Address shared_begin) {
  const std::size_t offset = address - shared_begin;
  const std::uint16_t index = w.shared.variable_at[offset / SharedLayout::grain];
  if (index == 0) return nullptr;
  PlacedVariable& variable = w.launch->variables[index - 1];
  return offset + size <= variable.offset + variable.size ? &variable : nullptr;
}

// --- Accesses (touch.cpp) ----------------------------------------------------------------------------------------------------
/// Whether so many bytes lie in one __shared__ array or allocation; the latter ends the running lane unless they do.
bool in_bounds(const Worker& worker, Address address, std::size_t size);
void require_in_bounds(Worker& worker, Address address, std::size_t size, Op op, Address pc);
/// The allocation or __device__ variable that holds so many bytes, or nullptr.
Region* region_of(const Worker& worker, Address address, std::size_t size);
/// An access of a TMA copy, or to an mbarrier, to `size` bytes that are in bounds: whether it is ordered with what threads do.
void touch_in_bulk(Worker& worker, Address address, std::size_t size, Op op, Address pc, order::Stamp copy = 0);
/// Lets the copies of groups before `group` land.
void deliver_copies(Lane& lane, order::Epoch group);
/// Of a traced run: a number that no longer is the same once the running lane has touched memory.
inline std::size_t done_so_far(const Worker& w) { return w.lane->log.size() + (w.counted_warps << 32); }

// --- Lanes and blocks (schedule.cpp) -----------------------------------------------------------------------------------------
/// From the running lane to the scheduler, until the wait is over.
void wait_for(const Wait& wait);
/// From the running lane back to the scheduler, until the lane is resumed.
void suspend(Worker& worker, LaneState state);
/// What a worker's thread does: runs blocks of the launch until there is none left.
void run_blocks(Worker& worker);

// --- Polls, lanes without end, and the watchdog (polls.cpp) ------------------------------------------------------------------
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
/// What a worker does first, and last: from then on the others need not wait for it.
void begin_work(Worker& worker);
void end_work(Worker& worker);
/// The usual bounds, times SIMT_PATIENCE from the environment.
Bounds bounds_of_launch();
/// Ends the running lane if its log may not grow: it would take all memory.
void require_bounded_log(Worker& worker, Address pc);
/// Counts an access of a lane that the watchdog has found, and ends the lane if there are too many.
void count_watched_access(Worker& worker, Address pc);
/// Ends the running lane, which has waited too often.
[[noreturn]] void leave_endless_waits(Worker& worker, Address pc);
/// Waits until no worker of an untraced launch works any more, and lets the turns be counted of lanes that run for long.
void watch_until_done(Launch& launch, std::vector<Worker>& workers);

// --- Waits for mbarriers, of clusters, for registers ------------------------------------------------------------------------
/// These end waits of the running block whose conditions hold. They return whether there were any.
bool end_mbarrier_waits(Worker& worker, std::span<Lane> lanes);
bool end_cluster_waits(Worker& worker);
bool end_register_waits(Worker& worker);
/// Lets lanes that wait for mbarriers give up, as try_wait may, if that has not been in vain often.
bool give_up_mbarrier_waits(Worker& worker);
/// Lets a waiting lane go on.
inline void resume(Lane& lane) {
  lane.state = LaneState::ready;
  lane.turns.reset();
}
/// Reports why no lane of the running block can go on (standstill.cpp), and what a lane lacks.
void explain_standstill(Worker& worker);
std::string described_mbarrier_wait(const Worker& worker, const Lane& lane);
std::string described_register_wait(const Block& block, const Lane& lane);

/// "mbarrier full[1]" (mbarriers.cpp)
std::string name_of_mbarrier(const Worker& worker, Address mbarrier);
/// The mbarrier of a block that the running lane is about to use for what `verb` says; else the lane does not go on.
Mbarrier& mbarrier_at(Worker& worker, Block& owner, Address mbarrier, Address pc, const char* verb);
/// Ends the running lane if an access to shared memory is to an mbarrier, which is for its own instructions.
void refuse_mbarrier(Worker& worker, const Block& owner, std::size_t size, Touched t);
/// Notes that the bytes of a copy have landed for its mbarrier.
void complete_bytes(Worker& worker, const BulkLoad& load);
/// Lets bulk copies land for which a lane waits (bulk.cpp). Returns whether there were any.
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
void require_no_bulk_copies(Worker& worker);  ///< bulk copies that nobody has waited for,
void require_no_late_visits(Worker& worker);  ///< who may touch its shared memory after it has ended,
/// and warps that did not change their registers as others of the same four did.
void require_equal_register_changes(Worker& worker);

// --- Counts (launch.cpp) -----------------------------------------------------------------------------------------------------
/// Turns the logs of a warp's lanes into costs and clears them.
void count_warp(Worker& worker, std::span<Lane> warp);

}  // namespace simt::execute
