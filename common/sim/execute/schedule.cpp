// The scheduler: lanes as fibers, the warps of a block, the blocks of a worker, and when the waits of lanes end.
#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {

constinit thread_local Worker* running = nullptr;

// --- Lanes -----------------------------------------------------------------------------------------------------------
namespace context = boost::context::detail;

void switch_to(Worker& worker, Block& block) {
  worker.block = &block;
  worker.shared_begin = block.shared_begin();
}

namespace {

void lane_main(context::transfer_t from) {
  Worker& worker = *static_cast<Worker*>(from.data);
  worker.scheduler = from.fctx;
  hooks::lane_hooks = {};
  worker.launch->kernel->call([] { hooks::lane_hooks = running->lane->lane_hooks; });
  hooks::lane_hooks = {};
  settle(worker);
  deliver_copies(*worker.lane, order::last_epoch);  // those for which the lane has not waited
  worker.lane->state = LaneState::done;
  leave_cluster(worker);
  context::jump_fcontext(worker.scheduler, nullptr);
}

}  // namespace

void run_lane(Worker& worker, Block& block, Lane& lane) {
  switch_to(worker, block);
  worker.lane = &lane;
  if (lane.log.capacity() == 0 && !worker.empty_logs.empty()) {
    lane.log = std::move(worker.empty_logs.back());
    worker.empty_logs.pop_back();
  }
  hooks::lane_hooks = lane.lane_hooks;
  lane.context = context::jump_fcontext(lane.context, &worker).fctx;
  hooks::lane_hooks = {};
}

void suspend(Worker& worker, LaneState state) {
  const hooks::LaneHooks lane = std::exchange(hooks::lane_hooks, {});
  worker.lane->state = state;
  worker.scheduler = context::jump_fcontext(worker.scheduler, nullptr).fctx;
  hooks::lane_hooks = lane;
}

void wait_for(const Wait& wait) {
  const hooks::ScopedIgnore ignore;
  Lane& lane = *running->lane;
  if (lane.unsettled) settle(*running);
  lane.wait = wait;
  // A lane's looks before a wait are unrelated to those after it.
  lane.retries = lane.looks_elsewhere = 0;
  lane.look_count = 0;
  count_wait(*running, wait.pc);
  suspend(*running, LaneState::waiting);
}

// Ends a lane that causes a fault on the host. Any other fault ends the program when the instruction is retried.
void end_faulting_lane(int signal, siginfo_t*, void* context) {
  if (hooks::lane_hooks.listener == nullptr) return void(std::signal(signal, SIG_DFL));
  const hooks::ScopedIgnore ignore;
#ifdef __x86_64__
  const auto pc = Address(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]) + 1;
#else  // aarch64, where a division by 0 does not fault
  const auto pc = Address(static_cast<const ucontext_t*>(context)->uc_mcontext.pc) + 1;
#endif
  if (signal == SIGFPE) fail(*running, "undefined", pc, "divides an integer by 0, or the smallest one by -1");
  fail(*running, "unsupported", pc,
       fmt::format("has local variables of more than {} KB, or accesses unmapped memory", stack_bytes / 1024));
}

void abandon_block(Worker& worker) {
  worker.block->abandoned = true;
  worker.lane->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
  std::abort();  // an abandoned lane is never resumed
}

// --- Collective operations of a warp ---------------------------------------------------------------------------------
namespace {

// Sets the masks of lanes that wait at __activemask: the lanes at the same call. Returns whether there are any.
bool name_the_active(std::span<Lane> warp) {
  std::map<Address, unsigned> here;
  const auto asks = [](const Lane& lane) {
    return waits_for(lane, Wait::For::collective) && lane.wait.function == device::active_mask && lane.wait.mask == 0;
  };
  for (const Lane& lane : warp)
    if (asks(lane)) here[lane.wait.pc] |= 1u << lane.linear % 32;
  for (Lane& lane : warp)
    if (asks(lane)) lane.wait.mask = here[lane.wait.pc];
  return !here.empty();
}

// Ends the waits of lanes at a complete collective operation: as in PTX, it is complete when all lanes of its mask that
// have not returned have arrived. Returns whether there were any.
bool end_collectives(Worker& worker, std::span<Lane> warp) {
  Block& block = *worker.block;
  const auto refuse = [&](const Lane& lane, const std::string& what) {
    report(worker, "warp operation", {block, lane, lane.wait.pc}, 0, [&] { return what; });
    block.abandoned = true;
    return false;
  };
  bool ended = false;
  for (std::size_t l = 0; l < warp.size(); ++l) {
    if (!waits_for(warp[l], Wait::For::collective) || warp[l].wait.mask == 0) continue;
    const Wait wait = warp[l].wait;
    if ((wait.mask >> l & 1u) == 0)
      return refuse(warp[l], fmt::format("takes part for lanes {:#010x} without being one of them", wait.mask));
    std::vector<int> threads;
    std::array<device::Slot*, 32> slots{};
    unsigned present = 0;
    for (Lane& lane : warp) {
      if ((wait.mask >> lane.linear % 32 & 1u) == 0 || lane.state == LaneState::done) continue;
      present |= 1u << lane.linear % 32;
      threads.push_back(lane.linear);
      slots[std::size_t(lane.linear) % 32] = lane.wait.slot;
    }
    if (!std::ranges::all_of(threads, [&](int t) { return takes_part(block.lanes[std::size_t(t)], wait); })) continue;
    wait.function(present, slots.data());
    for (const int t : threads) {
      Lane& lane = block.lanes[std::size_t(t)];
      if (const int missing = lane.wait.slot->missing_lane; missing >= 0)
        return refuse(lane, fmt::format("takes a value from lane {}, which {}: the mask is {:#010x}", missing,
                                        missing > 31 || (wait.mask >> missing & 1u) == 0 ? "does not take part"
                                        : std::size_t(missing) < warp.size()             ? "has returned"
                                                                                         : "the block does not have",
                                        wait.mask));
      lane.state = LaneState::ready;
      if (wait.mask == 0xffffffffu) lane.turns.reset();
    }
    if (worker.traced && wait.function == device::sync) block.order.barrier_of(threads);
    ended = true;
  }
  // __activemask is known when no lane of the warp can do anything else.
  return ended || (name_the_active(warp) && end_collectives(worker, warp));
}

// --- Barriers of a block ---------------------------------------------------------------------------------------------

// Ends a barrier of the block if all lanes wait at it.
bool end_block_barrier(Worker& worker) {
  Block& block = *worker.block;
  const Address pc = block.lanes.front().wait.pc;
  for (const Lane& lane : block.lanes)
    if (!waits_for(lane, Wait::For::block_barrier)) return false;
  block.votes = 0;
  for (const Lane& lane : block.lanes) {
    if (lane.wait.pc != pc && !on_one_line(pc, lane.wait.pc)) return false;
    block.votes += lane.wait.number;
  }
  block.barriers[0] = {};
  ++block.interval;
  ++block.events;
  ++worker.barriers;
  if (worker.traced) block.order.block_barrier();
  std::ranges::for_each(block.lanes, resume);
  return true;
}

bool end_named_barriers(Worker& worker) {
  Block& block = *worker.block;
  std::map<int, std::vector<int>> waiting;  // by barrier
  for (const Lane& lane : block.lanes)
    if (waits_for(lane, Wait::For::named_barrier)) waiting[lane.wait.number].push_back(lane.linear);
  bool ended = false;
  for (const auto& [number, threads] : waiting) {
    NamedBarrier& barrier = block.barriers[std::size_t(number)];
    if (barrier.arrived < barrier.expected) continue;
    if (worker.traced) block.order.barrier_of(threads, barrier.arrivals);
    barrier = {};
    ++block.events;
    for (const int thread : threads) resume(block.lanes[std::size_t(thread)]);
    ended = true;
  }
  return ended;
}

// --- Warps -----------------------------------------------------------------------------------------------------------

// Whether the lanes' logs can be combined because all lanes wait at one collective operation. Lanes that have returned
// must have made no access since the last one, or be in its mask: otherwise the others may still make the same ones.
bool are_at_one_collective(std::span<const Lane> warp) {
  const auto at_one = [](const Lane& lane) { return waits_for(lane, Wait::For::collective); };
  const auto first = std::ranges::find_if(warp, at_one);
  return first != warp.end() && std::ranges::all_of(warp, [&](const Lane& lane) {
           const bool in_mask = (first->wait.mask >> lane.linear % 32 & 1u) != 0;
           return lane.state == LaneState::done
                      ? in_mask || lane.log.empty()
                      : at_one(lane) && lane.wait.pc == first->wait.pc && lane.wait.mask == first->wait.mask;
         });
}

// The same when no lane can proceed: so it is unless some lanes wait for what the rest of their warp may bypass: a
// value, a collective operation, or an mbarrier, for which each lane waits by itself.
bool logs_are_complete(std::span<const Lane> warp) {
  const Lane* at_mbarrier = nullptr;
  for (const Lane& lane : warp) {
    if (lane.state == LaneState::polling || waits_for(lane, Wait::For::collective)) return false;
    if (waits_for(lane, Wait::For::mbarrier)) at_mbarrier = &lane;
  }
  return at_mbarrier == nullptr || std::ranges::all_of(warp, [&](const Lane& lane) {
           const Wait &mine = lane.wait, &others = at_mbarrier->wait;
           return lane.state == LaneState::done || (waits_for(lane, Wait::For::mbarrier) && mine.pc == others.pc &&
                                                    mine.mbarrier == others.mbarrier && mine.number == others.number);
         });
}

// Runs a warp until no lane of it is ready, or one yields to other blocks; ends collective operations on the way.
void run_warp(Worker& worker, std::span<Lane> warp) {
  Block& block = *worker.block;
  for (bool again = true; again;) {
    for (Lane& lane : warp)
      while (lane.state == LaneState::ready && !block.abandoned && !worker.yielded) {
        run_lane(worker, block, lane);
        if (worker.changed == 0) continue;
        let_pollers_look(worker);
        worker.yielded = worker.launch->schedule == Schedule::make_way;
      }
    if (block.abandoned || worker.yielded) return;
    if (worker.traced && are_at_one_collective(warp)) count_warp(worker, warp);
    again = end_collectives(worker, warp);
    again = (!block.abandoned && end_mbarrier_waits(worker, warp)) || again;
  }
  if (worker.traced && !block.abandoned && logs_are_complete(warp)) count_warp(worker, warp);
}

// --- Blocks ----------------------------------------------------------------------------------------------------------

// Ends the waits of the running block whose conditions hold. Returns whether there were any.
bool end_waits(Worker& worker) {
  if (worker.block->abandoned) return false;
  bool ended = false;
  for (const auto end : {end_block_barrier, end_named_barriers, end_cluster_waits, end_register_waits})
    ended = end(worker) || ended;
  return end_mbarrier_waits(worker, worker.block->lanes) || ended;
}

void start_block(Worker& worker, uint3 index, const std::shared_ptr<Cluster>& cluster) {
  const Launch& launch = *worker.launch;
  const dim3 b = launch.counts.block, g = launch.counts.grid;
  if (worker.idle.empty()) {
    worker.idle.push_back(std::make_unique<Block>());
    worker.idle.back()->lanes.resize(b.x * b.y * b.z);
  }
  worker.resident.push_back(std::move(worker.idle.back()));
  worker.idle.pop_back();
  Block& block = *worker.resident.back();
  const int threads = int(block.lanes.size());
  static_cast<BlockProgress&>(block) = {};
  block.index = index;
  block.serial = std::uint32_t((std::uint64_t(index.z) * g.y + index.y) * g.x + index.x + 1);
  block.cluster = cluster;
  block.rank = std::uint32_t(cluster->blocks.size());
  cluster->blocks.push_back(&block);
  cluster->threads += threads;
  if (block.arena == nullptr) block.arena = take_arena(launch.arena_bytes);
  block.arena->block = block.serial;
  if (worker.traced) std::fill_n(block.arena->memory, launch.arena_bytes, std::byte(0xff));  // alike in every run
  switch_to(worker, block);
  block.order.start(block.serial, threads);
  if (worker.traced)
    block.shared.start(launch.variable_bytes >> block.granule_bits, threads,
                       launch.cluster_blocks > 1 ? block.serial : 0);
  for (int i = 0; i < threads; ++i) {
    Lane& lane = block.lanes[std::size_t(i)];
    static_cast<LaneProgress&>(lane) = {};
    lane.linear = i;
    lane.thread = index_in(b, std::uint64_t(i));
    resume(lane);
    lane.log.clear();
    std::byte* const low = block.arena->stacks + std::size_t(i) * stack_bytes;
    // Lanes start at different offsets: otherwise the hot ends of all stacks would share a few cache sets.
    std::byte* const top = low + stack_bytes - std::size_t(i % 64) * 128;
    lane.lane_hooks = {reinterpret_cast<Address>(low), stack_bytes, worker.traced ? &lane.turns : nullptr, &worker};
    lane.context = context::make_fcontext(top, std::size_t(top - low), lane_main);
  }
}

// Starts all blocks of a cluster.
void start_cluster(Worker& worker, std::uint64_t number) {
  const dim3 size = worker.launch->counts.cluster, grid = worker.launch->counts.grid;
  const dim3 clusters(grid.x / size.x, grid.y / size.y, grid.z / size.z);
  const uint3 c = index_in(clusters, number);
  const auto cluster = std::make_shared<Cluster>();
  for (std::uint32_t rank = 0; rank < worker.launch->cluster_blocks; ++rank) {
    const uint3 in = index_in(size, rank);
    start_block(worker, {c.x * size.x + in.x, c.y * size.y + in.y, c.z * size.z + in.z}, cluster);
  }
}

// The i-th of `count` blocks or warps to run: in descending order in Schedule::make_way.
std::size_t in_order(const Worker& worker, std::size_t i, std::size_t count) {
  return worker.launch->schedule == Schedule::make_way ? count - 1 - i : i;
}

// Runs the block until all of its lanes have returned (true), all wait for other blocks, or one yields to them.
bool advance(Worker& worker, std::uint32_t retries) {
  Block& block = *worker.block;
  block.has_news = worker.yielded = false;
  wake(worker, retries);
  for (bool progress = true, made_way = false; progress && !block.abandoned;) {
    progress = false;
    for (std::size_t i = 0, warps = warps_of(block); i < warps && !block.abandoned; ++i) {
      const std::span<Lane> lanes = lanes_of(block, in_order(worker, i, warps));
      if (!has_lane_in(lanes, LaneState::ready)) continue;
      run_warp(worker, lanes);
      progress = true;
      made_way = std::exchange(worker.yielded, false) || made_way;
    }
    if (made_way && !block.abandoned) {
      block.has_news = worker.yielded = true;
      ++worker.yields;
      return false;
    }
    progress = end_waits(worker) || progress;
    progress = progress || wake(worker, 0) || let_bulk_loads_arrive(worker) || give_up_mbarrier_waits(worker);
  }
  if (block.abandoned) return true;
  if (!std::ranges::all_of(block.lanes, [](const Lane& lane) { return lane.state == LaneState::done; })) return false;
  require_no_bulk_copies(worker);
  require_no_late_visits(worker);
  require_equal_register_changes(worker);
  return true;
}

// Whether the running block waits, and no other block of its cluster can proceed either.
bool stands_still(const Worker& worker) {
  return std::ranges::all_of(worker.block->cluster->blocks, [](const Block* block) {
    return block->ended || (!block->has_news && !has_lane_in(block->lanes, LaneState::polling) &&
                            !has_lane_in(block->lanes, LaneState::ready));
  });
}

// A number that changes whenever a lane of the block does anything but poll.
std::uint64_t work_of(const Block& block) {
  std::uint64_t work = 0;
  for (const Lane& lane : block.lanes)
    work = work * 31 + lane.last_pc + lane.last_address + lane.yields + std::uint64_t(lane.state == LaneState::done);
  return work;
}

// In Schedule::make_way this many blocks are started before any runs, so that block 0 is not the first; more if all wait.
constexpr std::size_t enough_interleaved = 16;

// Starts the next cluster if there is one and it would fit on the GPU.
bool start_next(Worker& worker) {
  Launch& launch = *worker.launch;
  if (!launch.stop && (launch.resident += launch.cluster_blocks) <= launch.most_resident)
    if (const std::uint64_t number = launch.next_cluster++; number < launch.cluster_count) {
      start_cluster(worker, number);
      return true;
    }
  launch.resident -= launch.cluster_blocks;
  return false;
}

// Ends the running block; its memory is kept until the other blocks of its cluster have ended, too.
void finish(Worker& worker) {
  Launch& launch = *worker.launch;
  const auto cluster = worker.block->cluster;
  worker.block->ended = true;
  if (worker.block->abandoned) launch.stop = true;
  if (!std::ranges::all_of(cluster->blocks, &Block::ended)) return;
  worker.block = nullptr;
  for (auto& resident : worker.resident)
    if (resident->cluster == cluster) {
      resident->cluster = nullptr;
      resident->arena->block = 0;
      worker.idle.push_back(std::move(resident));
    }
  std::erase(worker.resident, nullptr);
  launch.resident -= launch.cluster_blocks;
}

// Runs every resident block of the worker as far as it can. Returns whether there was any progress.
bool advance_all(Worker& worker, std::uint32_t retries = 0) {
  bool progress = false;
  const std::size_t count = worker.resident.size();
  for (std::size_t i = 0; i < count && !worker.launch->stop; ++i) {
    Block& block = *worker.resident[in_order(worker, i, count)];
    if (!may_go_on(block, retries > 0)) continue;
    switch_to(worker, block);
    const std::uint64_t before = work_of(block);
    if (advance(worker, retries)) {
      finish(worker);
      return true;
    }
    progress = progress || worker.yielded || work_of(block) != before;
    if (stands_still(worker)) explain_standstill(worker);
  }
  return progress;
}

}  // namespace

void run_blocks(Worker& worker) {
  running = &worker;
  // After a lane has overflowed its stack, the signal handler needs another one.
  const auto signal_stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  const stack_t alternate{.ss_sp = signal_stack.get(), .ss_flags = 0, .ss_size = stack_bytes};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = end_faulting_lane;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGFPE, SIGSEGV}) sigaction(signal, &action, nullptr);
  Launch& launch = *worker.launch;
  worker.shared = {launch.arena_bytes, launch.grains.data(), launch.offset_of.data()};
  while (!launch.stop) {
    const bool fills = launch.schedule == Schedule::make_way && worker.resident.size() < enough_interleaved;
    // A lane that waits for another block may proceed after that block has run.
    if ((fills && start_next(worker)) || advance_all(worker) || (!launch.stop && start_next(worker))) {
      worker.futile_wakes = 0;
      continue;
    }
    if (worker.resident.empty() && launch.next_cluster >= launch.cluster_count) break;
    if (const std::uint32_t retries = next_retries(worker); retries == 0) {
      switch_to(worker, *worker.resident.front());
      explain_standstill(worker);
    } else if (advance_all(worker, retries)) {
      worker.futile_wakes = 0;
    }
  }
  for (auto* blocks : {&worker.resident, &worker.idle})
    for (const auto& block : *blocks) give_arena(block->arena);
  worker.block = nullptr;
  running = nullptr;
}

}  // namespace simt::execute
