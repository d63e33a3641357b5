// Lanes as fibers: their stacks, and how one is entered and left.
#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "common/sim/execute/execute.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {

constinit thread_local Worker* running = nullptr;

namespace {

namespace context = boost::context::detail;

// A finding reads debug information on the stack of its lane. An odd number of pages: at a distance of a power of two, the
// tops of all stacks would share a few entries of the host's address translation.
constexpr std::size_t stack_bytes = 65 * 4096;

/// Stacks for the 1024 lanes of a block, reused from launch to launch.
class StackPool {
 public:
  std::byte* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      void* memory = mmap(nullptr, stack_bytes * max_threads, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc();
      return static_cast<std::byte*>(memory);
    }
    std::byte* memory = free_.back();
    free_.pop_back();
    return memory;
  }
  void give(std::byte* memory) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(memory);
  }

 private:
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};
StackPool stack_pool;

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
  announce::attention = {};
  worker.launch->kernel->call([] { announce::attention = running->lane->attention; });
  announce::attention = {};
  settle(worker);
  deliver_copies(*worker.lane, order::last_epoch);  // nobody waited for them
  worker.lane->state = LaneState::done;
  leave_cluster(worker);
  context::jump_fcontext(worker.scheduler, nullptr);
}

}  // namespace

std::byte* take_stacks() { return stack_pool.take(); }
void give_stacks(std::byte* stacks) { stack_pool.give(stacks); }

void prepare_fiber(Worker& worker, std::byte* stacks, Lane& lane) {
  std::byte* low = stacks + std::size_t(lane.linear) * stack_bytes;
  // Different lanes start at different offsets, or the hot ends of all stacks would share a few cache sets.
  std::byte* top = low + stack_bytes - std::size_t(lane.linear % 64) * 128;
  lane.attention = {reinterpret_cast<Address>(low), stack_bytes, worker.traced ? &lane.turns : nullptr, &worker};
  lane.context = context::make_fcontext(top, std::size_t(top - low), lane_main);
}

void suspend(Worker& worker, LaneState state) {
  const announce::Attention lane = std::exchange(announce::attention, {});
  worker.lane->state = state;
  worker.scheduler = context::jump_fcontext(worker.scheduler, nullptr).fctx;
  announce::attention = lane;
}

void run_lane(Worker& worker, Lane& lane) {
  worker.lane = &lane;
  worker.slices.store(worker.slices.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (lane.log.capacity() == 0 && !worker.empty_logs.empty()) {
    lane.log = std::move(worker.empty_logs.back());
    worker.empty_logs.pop_back();
  }
  announce::attention = lane.attention;
  lane.context = context::jump_fcontext(lane.context, &worker).fctx;
  announce::attention = {};
}

void wait_for(const Wait& wait) {
  const announce::Unheard unheard;
  settle(*running);
  running->lane->wait = wait;
  begin_wait(*running->lane, wait.pc);
  suspend(*running, LaneState::waiting);
}

void wait_for_block(Address pc) {
  const announce::Unheard unheard;
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
