// Lanes as fibers: how one is entered and left.
#include <cstdlib>
#include <utility>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {

constinit thread_local Worker* running = nullptr;

namespace {

namespace context = boost::context::detail;

// What the running lane looked at before it waits has nothing to do with what it looks at afterwards.
void begin_wait(Lane& lane, Address pc) {
  lane.repeats = 0;
  lane.look_count = 0;
  lane.looks_elsewhere = 0;
  if (++lane.waits > running->launch->bounds.waits) [[unlikely]]
    leave_endless_waits(*running, pc);
}

void lane_main(context::transfer_t from) {
  Worker& worker = *static_cast<Worker*>(from.data);
  worker.scheduler = from.fctx;
  hooks::lane_hooks = {};
  worker.launch->kernel->call([] { hooks::lane_hooks = running->lane->lane_hooks; });
  hooks::lane_hooks = {};
  settle(worker);
  deliver_copies(*worker.lane, order::last_epoch);  // nobody waited for them
  worker.lane->state = LaneState::done;
  leave_cluster(worker);
  context::jump_fcontext(worker.scheduler, nullptr);
}

}  // namespace

void prepare_fiber(Worker& worker, std::byte* stacks, Lane& lane) {
  std::byte* low = stacks + std::size_t(lane.linear) * stack_bytes;
  // Different lanes start at different offsets, or the hot ends of all stacks would share a few cache sets.
  std::byte* top = low + stack_bytes - std::size_t(lane.linear % 64) * 128;
  lane.lane_hooks = {reinterpret_cast<Address>(low), stack_bytes, worker.traced ? &lane.turns : nullptr, &worker};
  lane.context = context::make_fcontext(top, std::size_t(top - low), lane_main);
}

void suspend(Worker& worker, LaneState state) {
  const hooks::LaneHooks lane = std::exchange(hooks::lane_hooks, {});
  worker.lane->state = state;
  worker.scheduler = context::jump_fcontext(worker.scheduler, nullptr).fctx;
  hooks::lane_hooks = lane;
}

void run_lane(Worker& worker, Lane& lane) {
  worker.lane = &lane;
  worker.looks_closely = worker.traced || lane.watched;
  worker.slices.store(worker.slices.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (lane.log.capacity() == 0 && !worker.empty_logs.empty()) {
    lane.log = std::move(worker.empty_logs.back());
    worker.empty_logs.pop_back();
  }
  hooks::lane_hooks = lane.lane_hooks;
  lane.context = context::jump_fcontext(lane.context, &worker).fctx;
  hooks::lane_hooks = {};
}

void wait_for(const Wait& wait) {
  const hooks::ScopedIgnore ignore;
  settle(*running);
  running->lane->wait = wait;
  begin_wait(*running->lane, wait.pc);
  suspend(*running, LaneState::waiting);
}

void wait_for_block(Address pc) {
  const hooks::ScopedIgnore ignore;
  Lane& lane = *running->lane;
  if (lane.unsettled) settle(*running);
  lane.wait.what = Wait::For::block_barrier;
  lane.wait.pc = pc;
  begin_wait(lane, pc);
  suspend(*running, LaneState::waiting);
}

void abandon_block(Worker& worker) {
  worker.block->abandoned = true;
  worker.lane->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
  std::abort();  // an abandoned lane is never resumed
}

}  // namespace simt::execute
