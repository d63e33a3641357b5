// Runs a grid: one fiber a thread, one host thread for as many blocks as wait for each other.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "common/model/execute/execute.hpp"

namespace simt {

const char* name_of(Op op) {
  constexpr const char* names[] = {"load", "store", "atomic", "bulk load", "bulk store"};
  return names[std::size_t(op)];
}
const char* name_of(Space space) { return space == Space::global ? "global" : "shared"; }

unsigned host_threads() {
  const char* wanted = std::getenv("SIMT_THREADS");
  const int number = wanted == nullptr ? int(std::thread::hardware_concurrency()) : std::atoi(wanted);
  return unsigned(std::clamp(number, 1, 256));
}

namespace execute {

thread_local Worker* running = nullptr;

namespace {

namespace context = boost::context::detail;

const char* const unnamed_dynamic_shared = "dynamic shared memory";
constexpr std::size_t largest_shared = 227 * 1024;  // bytes a block can have, since compute capability 9.0
alignas(1024) thread_local std::byte dynamic_shared_memory[largest_shared];

// The trace that launches report to, while simt::trace runs.
struct Collector {
  Trace options;
  bool runs = true;  // else launches are only described
  std::vector<Counts> counts;
};
Collector* collector = nullptr;

// A finding reads debug information on the stack of its lane. An odd number of pages: at a distance of a power of two, the
// tops of all stacks would share a few entries of the host's address translation.
constexpr std::size_t stack_bytes = 65 * 4096;
constexpr int max_threads = 1024;
// The GPU that launches are imagined on: how many blocks it holds at once, by threads and shared memory alone.
constexpr std::size_t sms = 132, threads_of_sm = 2048, blocks_of_sm = 32, shared_of_sm = 228 * 1024;
// How often all blocks of a worker may poll in vain, while all other workers do the same, before they are taken to wait forever.
// A loop of fewer turns than this times repeats_of_a_poll that loads one element and does nothing else is not mistaken.
constexpr int most_idle_rounds = 1 << 10;

// --- Fibers --------------------------------------------------------------------------------------------------------------

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

void lane_main(context::transfer_t from) {
  Worker& worker = *static_cast<Worker*>(from.data);
  worker.scheduler = from.fctx;
  worker.launch->kernel->call();
  announce::attention = nullptr;
  settle(worker);
  deliver_copies(*worker.lane, order::last_epoch);  // nobody waited for them
  worker.lane->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
}

}  // namespace

void suspend(Worker& worker, LaneState state) {
  announce::Attention* const lane = std::exchange(announce::attention, nullptr);
  worker.lane->state = state;
  worker.scheduler = context::jump_fcontext(worker.scheduler, nullptr).fctx;
  announce::attention = lane;
}

void run_lane(Worker& worker, Lane& lane) {
  worker.lane = &lane;
  if (lane.log.capacity() == 0 && !worker.empty_logs.empty()) {
    lane.log = std::move(worker.empty_logs.back());
    worker.empty_logs.pop_back();
  }
  announce::attention = &lane.attention;
  lane.context = context::jump_fcontext(lane.context, &worker).fctx;
  announce::attention = nullptr;
}

void wait_for(const Wait& wait) {
  const announce::Unheard unheard;
  settle(*running);
  running->lane->wait = wait;
  running->lane->repeats = 0;
  suspend(*running, LaneState::waiting);
}

void abandon_block(Worker& worker) {
  worker.block->abandoned = true;
  worker.lane->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
  std::abort();  // an abandoned lane is never resumed
}

// --- Blocks --------------------------------------------------------------------------------------------------------------
namespace {

// Moves the contents of the __shared__ variables of the running block out of the way, or back.
void swap_shared(Worker& worker, Block& block, bool out) {
  if (out) block.saved_shared.resize(worker.launch->shared_bytes);
  for (const PlacedVariable& v : worker.launch->variables) {
    if (!v.placed() || v.first_byte + v.size > block.saved_shared.size()) continue;  // the block has not touched it
    auto* variable = reinterpret_cast<std::byte*>(worker.tls_begin + v.offset);
    std::byte* saved = block.saved_shared.data() + v.first_byte;
    std::memcpy(out ? saved : variable, out ? variable : saved, v.size);
  }
}

void switch_to(Worker& worker, Block& block) {
  if (worker.block == &block) return;
  if (worker.block != nullptr) swap_shared(worker, *worker.block, true);
  if (!block.saved_shared.empty()) swap_shared(worker, block, false);
  worker.block = &block;
}

void start_block(Worker& worker, std::uint64_t number) {
  const Launch& launch = *worker.launch;
  if (worker.idle.empty()) {
    worker.idle.push_back(std::make_unique<Block>());
    worker.idle.back()->lanes.resize(launch.block.x * launch.block.y * launch.block.z);
  }
  worker.resident.push_back(std::move(worker.idle.back()));
  worker.idle.pop_back();
  Block& block = *worker.resident.back();
  block.saved_shared.clear();
  switch_to(worker, block);
  block.index = {unsigned(number % launch.grid.x), unsigned(number / launch.grid.x % launch.grid.y),
                 unsigned(number / (std::uint64_t(launch.grid.x) * launch.grid.y))};
  block.serial = std::uint32_t(number + 1);
  block.interval = 0;
  block.barriers = {};
  block.mbarriers.clear();
  block.bulk_loads.clear();
  block.happenings = 1;
  block.gave_up_at = 0;
  if (block.stacks == nullptr) block.stacks = stack_pool.take();
  block.order.start(block.serial, int(block.lanes.size()));
  if (worker.traced) prepare_shared(worker, block);
  const dim3 b = launch.block;
  for (int i = 0; i < int(block.lanes.size()); ++i) {
    Lane& lane = block.lanes[std::size_t(i)];
    lane.linear = i;
    lane.thread = {unsigned(i) % b.x, unsigned(i) / b.x % b.y, unsigned(i) / (b.x * b.y)};
    lane.state = LaneState::ready;
    lane.turns.reset();
    lane.log.clear();
    lane.copies.clear();
    lane.bulk_stores.clear();
    lane.tried_at = 0;
    lane.last_pc = lane.last_address = 0;
    lane.repeats = 0;
    std::byte* low = block.stacks + std::size_t(i) * stack_bytes;
    // Different lanes start at different offsets, or the hot ends of all stacks would share a few cache sets.
    std::byte* top = low + stack_bytes - std::size_t(i % 64) * 128;
    lane.attention = {reinterpret_cast<Address>(low), reinterpret_cast<Address>(low + stack_bytes),
                      worker.traced ? &lane.turns : nullptr, &worker};
    lane.context = context::make_fcontext(top, std::size_t(top - low), lane_main);
  }
}

// Runs the block until all of its lanes have returned (true), or each waits for what other blocks do.
bool advance(Worker& worker) {
  Block& block = *worker.block;
  const int threads = int(block.lanes.size());
  for (Lane& lane : block.lanes)
    if (lane.state == LaneState::polling) lane.state = LaneState::ready;
  bool progress = true;
  while (progress && !block.abandoned) {
    progress = false;
    for (int first = 0; first < threads && !block.abandoned; first += 32) {
      const int count = std::min(32, threads - first);
      const auto warp = block.lanes.begin() + first;
      if (std::none_of(warp, warp + count, [](const Lane& l) { return l.state == LaneState::ready; })) continue;
      run_warp(worker, first, count);
      progress = true;
    }
    progress = end_waits(worker) || progress;
    progress = progress || let_bulk_loads_arrive(worker) || give_up_mbarrier_waits(worker);
  }
  if (block.abandoned) return true;
  bool polling = false, done = true;
  for (const Lane& lane : block.lanes) {
    polling = polling || lane.state == LaneState::polling;
    done = done && lane.state == LaneState::done;
  }
  if (done) require_no_bulk_copies(worker);
  if (!done && !polling) explain_standstill(worker);
  return done || block.abandoned;
}

// A number that changes whenever a lane of the block does anything but poll.
std::uint64_t work_of(const Block& block) {
  std::uint64_t work = 0;
  for (const Lane& lane : block.lanes)
    work = work * 31 + lane.last_pc + lane.last_address + std::uint64_t(lane.state == LaneState::done);
  return work;
}

// Starts the next block if there is one and the GPU would have room for it.
bool start_next(Worker& worker) {
  Launch& launch = *worker.launch;
  if (launch.stop || ++launch.resident > launch.most_resident) {
    --launch.resident;
    return false;
  }
  const std::uint64_t number = launch.next_block++;
  if (number >= launch.block_count) {
    --launch.resident;
    return false;
  }
  start_block(worker, number);
  return true;
}

void finish(Worker& worker, std::size_t which) {
  Launch& launch = *worker.launch;
  if (worker.resident[which]->abandoned) launch.stop = true;
  worker.block = nullptr;
  worker.idle.push_back(std::move(worker.resident[which]));
  worker.resident.erase(worker.resident.begin() + std::ptrdiff_t(which));
  --launch.resident;
}

// Lets every resident block of the worker go on as far as it can. Returns whether any got anywhere.
bool advance_all(Worker& worker) {
  bool progress = false;
  for (std::size_t i = 0; i < worker.resident.size() && !worker.launch->stop;) {
    switch_to(worker, *worker.resident[i]);
    const std::uint64_t before = work_of(*worker.block);
    if (advance(worker)) {
      finish(worker, i);
      progress = true;
      continue;
    }
    progress = progress || work_of(*worker.block) != before;
    ++i;
  }
  return progress;
}

// Notes that a worker has nothing to do, or has again, such that all can see when nobody has.
void set_idle(Worker& worker, bool idle) {
  if (idle == worker.is_idle) return;
  worker.is_idle = idle;
  worker.launch->idle_workers += idle ? 1 : -1;
}

void run_blocks(Worker& worker) {
  running = &worker;
  prepare_memory(worker);
  Launch& launch = *worker.launch;
  int idle_rounds = 0;
  while (!launch.stop) {
    // Whoever waits for another block may go on once that has run.
    if (advance_all(worker) || (!launch.stop && start_next(worker))) {
      set_idle(worker, false);
      idle_rounds = 0;
      continue;
    }
    if (worker.resident.empty() && launch.next_block >= launch.block_count) break;
    set_idle(worker, true);
    if (launch.idle_workers < launch.live_workers) idle_rounds = 0;
    if (!worker.resident.empty() && ++idle_rounds == most_idle_rounds) {
      switch_to(worker, *worker.resident.front());
      explain_standstill(worker);
      launch.stop = true;
    }
    if (idle_rounds % 64 == 0) std::this_thread::yield();
  }
  set_idle(worker, false);
  --launch.live_workers;
  for (auto* blocks : {&worker.resident, &worker.idle})
    for (const auto& block : *blocks)
      if (block->stacks != nullptr) stack_pool.give(block->stacks);
  worker.block = nullptr;
  running = nullptr;
}

// --- Launches --------------------------------------------------------------------------------------------------------------

void check_launch(const Launch& launch) {
  const dim3 b = launch.block, g = launch.grid;
  const auto refuse = [&](const std::string& why) { throw Error(fmt::format("launch of {}: {}", launch.name, why)); };
  if (b.x == 0 || b.y == 0 || b.z == 0 || g.x == 0 || g.y == 0 || g.z == 0) refuse("an extent of grid or block is 0");
  if (std::uint64_t(b.x) * b.y * b.z > max_threads || b.z > 64)
    refuse(fmt::format("a block of {} x {} x {} threads; 1024 is the limit, 64 along z", b.x, b.y, b.z));
  if (g.x > 2147483647u || g.y > 65535 || g.z > 65535) refuse("grid y and z end at 65535");
  if (launch.block_count >= 1u << 24) refuse("the model runs at most 16,777,215 blocks");
  const std::size_t shared = launch.static_shared + launch.dynamic_shared;
  if (launch.static_shared > 48 * 1024)
    refuse(fmt::format("{} bytes of static shared memory; 48 KB is the limit of a block", launch.static_shared));
  if (shared > largest_shared) refuse(fmt::format("{} bytes of shared memory; 227 KB is the limit of a block", shared));
}

void place_shared_memory(Launch& launch) {
  std::vector<SharedVariable> variables = announce::shared_variables(launch.kernel->address);
  const auto offset = reinterpret_cast<Address>(dynamic_shared_memory) - announce::tls_block().first;
  variables.push_back({unnamed_dynamic_shared, offset, launch.dynamic_shared});
  std::sort(variables.begin(), variables.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  launch.variables = std::vector<PlacedVariable>(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    PlacedVariable& v = launch.variables[i];
    static_cast<SharedVariable&>(v) = variables[i];
    v.is_dynamic = v.offset == offset;
    if (v.is_dynamic || v.in_kernel) place(launch, v);
  }
  launch.static_shared = static_bytes(launch);
}

std::size_t most_resident(const Launch& launch) {
  const std::size_t threads = (std::size_t(launch.block.x) * launch.block.y * launch.block.z + 31) / 32 * 32;
  const std::size_t shared = launch.static_shared + launch.dynamic_shared + 1024;  // 1 KB is the system's
  return sms * std::max<std::size_t>(1, std::min({blocks_of_sm, threads_of_sm / threads, shared_of_sm / shared}));
}

std::string text_of(const std::vector<std::string>& findings) {
  std::string text;
  const std::size_t shown = std::min<std::size_t>(findings.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "\n") + findings[i];
  if (findings.size() > shown) text += fmt::format("\n... and {} more findings", findings.size() - shown);
  return text;
}

std::vector<Counts> collected(const std::function<void()>& work, const Collector& how) {
  if (collector != nullptr) throw std::logic_error("simt::trace and simt::launches do not nest");
  Collector mine = how;
  collector = &mine;
  try {
    work();
  } catch (...) {
    collector = nullptr;
    throw;
  }
  collector = nullptr;
  return std::move(mine.counts);
}

}  // namespace
}  // namespace execute

void run(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes) {
  using namespace execute;
  if (running != nullptr) throw Error("a kernel cannot launch a kernel on the model");
  Launch launch;
  launch.kernel = &kernel;
  launch.name = announce::function_name(kernel.address);
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared = shared_bytes;
  launch.block_count = std::uint64_t(grid.x) * grid.y * grid.z;
  launch.traced = collector != nullptr;
  if (launch.traced) launch.options = collector->options;
  place_shared_memory(launch);
  check_launch(launch);
  launch.most_resident = most_resident(launch);
  if (collector != nullptr && !collector->runs) {
    collector->counts.push_back(description_of(launch));
    return;
  }
  for (auto& [begin, region] : announce::regions().by_begin) {
    launch.arrays.push_back(&region);
    if (!launch.traced) continue;
    prepare_cells(region);
    const auto* bytes = reinterpret_cast<const std::byte*>(begin);
    launch.before.emplace_back(bytes, bytes + (region.end - begin));
  }

  const auto start = std::chrono::steady_clock::now();
  std::vector<Worker> workers(std::size_t(std::min<std::uint64_t>(host_threads(), launch.block_count)));
  std::vector<std::thread> threads;
  launch.live_workers = int(workers.size());
  for (Worker& worker : workers) {
    worker.launch = &launch;
    worker.traced = launch.traced;
    threads.emplace_back([&worker] { run_blocks(worker); });
  }
  for (auto& thread : threads) thread.join();

  if (!launch.findings.empty()) throw Error(text_of(launch.findings));
  if (launch.traced) {
    require_announced_stores(launch);
    launch.static_shared = static_bytes(launch);  // with what turned out to be part of it
    check_launch(launch);
    collector->counts.push_back(collect(launch, workers));
    collector->counts.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

std::vector<Counts> trace(const std::function<void()>& work, const Trace& options) {
  return execute::collected(work, {.options = options, .runs = true, .counts = {}});
}

std::vector<Counts> launches(const std::function<void()>& work) {
  return execute::collected(work, {.options = {}, .runs = false, .counts = {}});
}

// --- What kernels call -------------------------------------------------------------------------------------------------------
namespace device {

using execute::running;

uint3 thread_index() { return running->lane->thread; }
uint3 block_index() { return running->block->index; }
dim3 block_extent() { return running->launch->block; }
dim3 grid_extent() { return running->launch->grid; }

void* dynamic_shared(const char* name) {
  execute::Worker& worker = *running;
  if (worker.dynamic_shared_named) return execute::dynamic_shared_memory;
  const announce::Unheard unheard;
  const auto begin = reinterpret_cast<execute::Address>(execute::dynamic_shared_memory);
  {
    const std::scoped_lock lock(worker.launch->mutex);
    for (auto& v : worker.launch->variables)
      if (v.offset == begin - worker.tls_begin && v.name == execute::unnamed_dynamic_shared)
        v.name = name;  // by the first only
  }
  worker.dynamic_shared_named = true;
  return execute::dynamic_shared_memory;
}

void block_barrier() {
  execute::wait_for({.what = execute::Wait::For::block_barrier, .pc = execute::Address(__builtin_return_address(0))});
}

void collective(unsigned mask, Collective function, Slot& mine) {
  execute::wait_for({.what = execute::Wait::For::collective,
                     .pc = execute::Address(__builtin_return_address(0)),
                     .mask = mask,
                     .function = function,
                     .slot = &mine});
}

void named_barrier(int number, int threads) {
  const announce::Unheard unheard;
  execute::NamedBarrier& barrier = running->block->barriers[std::size_t(number) % 16];
  barrier.expected = threads;
  execute::wait_for({.what = execute::Wait::For::named_barrier,
                     .pc = execute::Address(__builtin_return_address(0)),
                     .barrier = number,
                     .expected = threads});
}

void arrive_at_named_barrier(int number, int threads) {
  const announce::Unheard unheard;
  execute::settle(*running);
  execute::NamedBarrier& barrier = running->block->barriers[std::size_t(number) % 16];
  barrier.expected = threads;
  barrier.arrived.push_back(running->lane->linear);
}

void fence() {
  const announce::Unheard unheard;
  execute::settle(*running);
  if (running->traced) running->block->order.fence(running->lane->linear);
}

void pause() {
  const announce::Unheard unheard;
  execute::settle(*running);
  running->lane->wait.pc = execute::Address(__builtin_return_address(0));
  execute::suspend(*running, execute::LaneState::polling);
}

void async_copy(void* to, const void* from, std::size_t bytes) {
  const announce::Unheard unheard;
  execute::start_copy(*running, to, from, bytes, execute::Address(__builtin_return_address(0)));
}

void commit_async_copies() {
  const announce::Unheard unheard;
  running->block->order.commit_copies(running->lane->linear);
}

void wait_for_async_copies(int pending) {
  const announce::Unheard unheard;
  execute::settle(*running);
  order::BlockOrder& order = running->block->order;
  order.wait_for_copies(running->lane->linear, order::Epoch(pending));
  const order::ThreadClock& clock = order.clock(running->lane->linear);
  const order::Epoch over = clock.over[order::kind_of(order::copies_of)];  // the first group that is not
  execute::deliver_copies(*running->lane, over);
  const std::size_t under_way = clock.copies_group - std::max<order::Epoch>(over, 1);
  auto& waits = running->waits_for_copies;
  waits.resize(std::max(waits.size(), under_way + 1));
  ++waits[under_way];
}

}  // namespace device
}  // namespace simt
