// Runs a grid: one fiber a thread, one host thread a block, all threads of a block up to the next barrier in turn.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "common/model/internal.hpp"

extern "C" const char __executable_start;  // provided by the linker

namespace simt {

const char* name_of(Op op) { return op == Op::load ? "load" : op == Op::store ? "store" : "atomic"; }
const char* name_of(Space space) { return space == Space::global ? "global" : "shared"; }

unsigned host_threads() {
  const char* wanted = std::getenv("SIMT_THREADS");
  const int number = wanted == nullptr ? int(std::thread::hardware_concurrency()) : std::atoi(wanted);
  return unsigned(std::clamp(number, 1, 256));
}

namespace internal {

void reset_cells(Region& region);
void require_announced_stores(const LaunchState& launch);

namespace {

namespace context = boost::context::detail;

thread_local Worker* running = nullptr;  // also set while the model itself works, unlike `active`

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

constexpr std::size_t stack_bytes = 256 * 1024;  // a finding reads debug information on the stack of its lane
constexpr int max_threads = 1024;

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
  worker.current->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
}

// From a lane back to the scheduler, until the lane is resumed.
void suspend(Worker& worker, LaneState state, Address waiting_at) {
  active = nullptr;
  worker.current->state = state;
  worker.current->waiting_at = waiting_at;
  worker.scheduler = context::jump_fcontext(worker.scheduler, nullptr).fctx;
  active = &worker;
}

void resume(Worker& worker, Lane& lane) {
  worker.current = &lane;
  lane.state = LaneState::ready;
  active = &worker;
  lane.context = context::jump_fcontext(lane.context, &worker).fctx;
  active = nullptr;
}

std::uint64_t exchanged(const Worker& worker, const Lane& lane, int first_lane) {
  const int own = lane.linear - first_lane;
  const int segment = own / lane.width * lane.width;
  int source = own;
  switch (lane.warp_op) {
    case device::WarpOp::sync:
      return 0;
    case device::WarpOp::ballot:
    case device::WarpOp::any:
    case device::WarpOp::all: {
      unsigned votes = 0;
      for (int l = 0; l < 32 && first_lane + l < int(worker.lanes.size()); ++l)
        if ((lane.mask >> l & 1u) && worker.lanes[first_lane + l].operand) votes |= 1u << l;
      if (lane.warp_op == device::WarpOp::ballot) return votes;
      return lane.warp_op == device::WarpOp::any ? votes != 0 : votes == lane.mask;
    }
    case device::WarpOp::shuffle:
      source = segment + (lane.operand & (lane.width - 1));
      break;
    case device::WarpOp::shuffle_up:
      source = own - lane.operand >= segment ? own - lane.operand : own;
      break;
    case device::WarpOp::shuffle_down:
      source = own + lane.operand < segment + lane.width ? own + lane.operand : own;
      break;
    case device::WarpOp::shuffle_xor:
      source = (own ^ lane.operand) < segment + lane.width ? own ^ lane.operand : own;
      break;
  }
  return worker.lanes[first_lane + source].value;
}

// Lets the lanes that wait at a complete warp operation pass it. Returns whether any did.
bool resolve_warp_ops(Worker& worker, int first_lane, int lane_count) {
  bool resolved = false;
  for (int l = 0; l < lane_count; ++l) {
    const Lane& lane = worker.lanes[first_lane + l];
    if (lane.state != LaneState::warp_op) continue;
    bool complete = true;
    for (int other = 0; other < 32 && complete; ++other) {
      if (!(lane.mask >> other & 1u)) continue;
      complete = other < lane_count;
      if (!complete) break;
      const Lane& o = worker.lanes[first_lane + other];
      complete = o.state == LaneState::warp_op && o.mask == lane.mask && o.warp_op == lane.warp_op;
    }
    if (!complete) continue;
    std::array<std::uint64_t, 32> results{};
    const unsigned mask = lane.mask;
    const bool orders_memory = lane.warp_op == device::WarpOp::sync;
    for (int o = 0; o < lane_count; ++o)
      if (mask >> o & 1u) results[o] = exchanged(worker, worker.lanes[first_lane + o], first_lane);
    for (int o = 0; o < lane_count; ++o) {
      if (!(mask >> o & 1u)) continue;
      Lane& passing = worker.lanes[first_lane + o];
      passing.value = results[o];
      passing.state = LaneState::ready;
      if (orders_memory) ++passing.warp_interval;
      if (mask == 0xffffffffu) passing.turns = passing.block_count = 0;
    }
    resolved = true;
  }
  return resolved;
}

// Runs a warp until each of its lanes waits at a block barrier or has returned.
void run_warp(Worker& worker, int first_lane, int lane_count) {
  bool again = true;
  while (again) {
    for (int l = first_lane; l < first_lane + lane_count && !worker.abandoned; ++l)
      if (worker.lanes[l].state == LaneState::ready) resume(worker, worker.lanes[l]);
    again = !worker.abandoned && resolve_warp_ops(worker, first_lane, lane_count);
  }
  if (worker.abandoned) return;
  for (int l = first_lane; l < first_lane + lane_count; ++l) {
    if (worker.lanes[l].state != LaneState::warp_op) continue;
    worker.current = &worker.lanes[l];
    const Address pc = worker.lanes[l].waiting_at;
    report(worker, Mistake::warp_operation, pc, 0, [&] {
      return fmt::format("warp operation: {} waits for lanes {:#010x} that never arrive at it", where(worker, pc),
                         worker.lanes[l].mask);
    });
    worker.abandoned = true;
    return;
  }
  if (worker.traced) count_warp(worker, first_lane, lane_count);
}

// All lanes wait or have returned: either the block is finished, or all wait at one barrier, or it is an error.
bool pass_barrier(Worker& worker) {
  Lane* waiting = nullptr;
  Lane* elsewhere = nullptr;
  Lane* returned = nullptr;
  for (Lane& lane : worker.lanes) {
    if (lane.state == LaneState::done)
      returned = &lane;
    else if (waiting == nullptr)
      waiting = &lane;
    else if (lane.waiting_at != waiting->waiting_at)
      elsewhere = &lane;
  }
  if (waiting == nullptr) return false;
  worker.current = waiting;
  const Address pc = waiting->waiting_at;
  if (returned != nullptr) {
    const auto missing = std::count_if(worker.lanes.begin(), worker.lanes.end(),
                                       [](const Lane& l) { return l.state == LaneState::done; });
    report(worker, Mistake::barrier, pc, 0, [&] {
      return fmt::format(
          "barrier: {} waits at __syncthreads (address {}), but {} of the block's {} threads returned "
          "without reaching it, thread ({},{},{}) first",
          where(worker, pc), format_address(pc), missing, worker.lanes.size(), returned->thread.x, returned->thread.y,
          returned->thread.z);
    });
    worker.abandoned = true;
    return false;
  }
  if (elsewhere != nullptr) {
    const Place here = place_of(pc), there = place_of(elsewhere->waiting_at);
    if (here.file != there.file || here.line != there.line) {
      report(worker, Mistake::barrier, pc, elsewhere->waiting_at, [&] {
        return fmt::format(
            "barrier: {} waits at __syncthreads (address {}) while thread ({},{},{}) waits at the one in line {}",
            where(worker, pc), format_address(pc), elsewhere->thread.x, elsewhere->thread.y, elsewhere->thread.z,
            there.line);
      });
      worker.abandoned = true;
      return false;
    }
  }
  ++worker.interval;
  ++worker.barriers;
  for (Lane& lane : worker.lanes) {
    lane.state = LaneState::ready;
    lane.turns = lane.block_count = 0;
  }
  return true;
}

void run_block(Worker& worker, std::uint64_t index, std::byte* stacks) {
  const LaunchState& launch = *worker.launch;
  worker.block = {unsigned(index % launch.grid.x), unsigned(index / launch.grid.x % launch.grid.y),
                  unsigned(index / (std::uint64_t(launch.grid.x) * launch.grid.y))};
  worker.block_serial = std::uint32_t(index + 1);
  worker.interval = 0;
  const dim3 b = launch.block;
  for (int i = 0; i < int(worker.lanes.size()); ++i) {
    Lane& lane = worker.lanes[i];
    lane.linear = i;
    lane.thread = {unsigned(i) % b.x, unsigned(i) / b.x % b.y, unsigned(i) / (b.x * b.y)};
    lane.state = LaneState::ready;
    lane.warp_interval = 0;
    lane.turns = lane.block_count = 0;
    lane.log.clear();
    std::byte* low = stacks + std::size_t(i) * stack_bytes;
    // Different lanes start at different offsets, or the hot ends of all stacks would share a few cache sets.
    std::byte* top = low + stack_bytes - std::size_t(i % 64) * 128;
    lane.stack_low = reinterpret_cast<Address>(low);
    lane.stack_high = reinterpret_cast<Address>(low + stack_bytes);
    lane.context = context::make_fcontext(top, std::size_t(top - low), lane_main);
  }
  const int threads = int(worker.lanes.size());
  do {
    for (int first = 0; first < threads && !worker.abandoned; first += 32)
      run_warp(worker, first, std::min(32, threads - first));
  } while (!worker.abandoned && pass_barrier(worker));
}

void run_blocks(Worker& worker) {
  running = &worker;
  prepare_memory(worker);
  std::byte* stacks = stack_pool.take();
  LaunchState& launch = *worker.launch;
  for (std::uint64_t i = launch.next_block++; i < launch.block_count && !launch.stop; i = launch.next_block++) {
    run_block(worker, i, stacks);
    if (worker.abandoned) launch.stop = true;
  }
  stack_pool.give(stacks);
  running = nullptr;
}

void check_launch(const LaunchState& launch) {
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

// Static shared memory as nvcc lays it out: each array at a multiple of its own alignment.
void place_shared_memory(LaunchState& launch) {
  launch.variables = shared_variables(launch.kernel->address);
  for (const SharedVariable& v : launch.variables) {
    std::size_t alignment = 16;
    while (alignment > 1 && v.size % alignment != 0) alignment /= 2;
    launch.static_shared = (launch.static_shared + alignment - 1) / alignment * alignment + v.size;
  }
  const auto offset = reinterpret_cast<Address>(dynamic_shared_memory) - tls_block().first;
  launch.variables.push_back({unnamed_dynamic_shared, offset, launch.dynamic_shared});
  std::sort(launch.variables.begin(), launch.variables.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
}

Counts description_of(const LaunchState& launch) {
  Counts counts;
  counts.kernel = launch.name;
  counts.function = launch.kernel->address;
  counts.grid = launch.grid;
  counts.block = launch.block;
  counts.static_shared_bytes = launch.static_shared;
  counts.dynamic_shared_bytes = launch.dynamic_shared;
  return counts;
}

Counts collect(LaunchState& launch, std::vector<Worker>& workers) {
  Counts counts = description_of(launch);
  // The compiler may have copied an access (a peeled loop, say): same line, operation and array are one site.
  using Name = std::tuple<std::string, int, Op, Space, std::string, int>;
  std::map<Name, Site> sites;
  const auto name_of_key = [&](const SiteKey& key) {
    const Place place = place_of(image_base + key.pc);
    const std::string& array =
        key.space == Space::shared ? launch.variables[key.array].name : launch.arrays[key.array]->name;
    return Name{place.file, place.line, key.op, key.space, array, key.size};
  };
  std::map<const Region*, std::vector<bool>> touched;
  for (Worker& worker : workers) {
    counts.barriers += worker.barriers;
    counts.block_sectors += worker.block_sectors;
    counts.block_store_sectors += worker.block_store_sectors;
    for (const auto& [key, tally] : worker.tallies) {
      const Name name = name_of_key(key);
      Site& site = sites[name];
      std::tie(site.file, site.line, site.op, site.space, site.array, site.width) = name;
      site.requests += tally.requests;
      site.accesses += tally.accesses;
      site.sectors += tally.sectors;
      site.lines += tally.lines;
      site.tag_passes += tally.tag_passes;
      site.l1_wavefronts += tally.l1_wavefronts;
      site.wavefronts += tally.wavefronts;
      site.l1_cycles += tally.l1_cycles;
      site.estimated = site.estimated || tally.estimated;
    }
    for (const auto* by_region : {&worker.loaded_by, &worker.stored_by})
      for (const auto& [region, serials] : *by_region) {
        auto& bits = touched[region];
        bits.resize(std::max(bits.size(), serials.size()));
        for (std::size_t i = 0; i < serials.size(); ++i)
          if (serials[i] != 0) bits[i] = true;
      }
    counts.touches.insert(counts.touches.end(), worker.touches.begin(), worker.touches.end());
  }
  for (const auto& [region, bits] : touched)
    counts.grid_sectors += std::uint64_t(std::count(bits.begin(), bits.end(), true));
  for (const auto& [name, site] : sites) counts.sites.push_back(site);
  for (Worker& worker : workers)
    for (auto& [key, sample] : worker.samples) {
      sample.site = std::size_t(std::distance(sites.begin(), sites.find(name_of_key(key))));
      counts.samples.push_back(sample);
    }
  std::sort(counts.samples.begin(), counts.samples.end(), [](auto& a, auto& b) { return a.site < b.site; });
  return counts;
}

}  // namespace

void add_finding(LaunchState& launch, const MistakeKey& key, const std::function<std::string()>& message) {
  const std::scoped_lock lock(launch.mutex);
  if (launch.seen.insert(key).second) launch.findings.push_back(message());
}

std::string where(const Worker& worker, Address return_address) {
  const Place place = place_of(return_address);
  const uint3 b = worker.block, t = worker.current->thread;
  return fmt::format("{}, {}:{}, block ({},{},{}), thread ({},{},{})", worker.launch->name,
                     place.file.substr(place.file.rfind('/') + 1), place.line, b.x, b.y, b.z, t.x, t.y, t.z);
}

void abandon_block(Worker& worker) {
  worker.abandoned = true;
  worker.current->state = LaneState::done;
  context::jump_fcontext(worker.scheduler, nullptr);
  std::abort();  // an abandoned lane is never resumed
}

}  // namespace internal

void run(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes) {
  using namespace internal;
  if (running != nullptr) throw Error("a kernel cannot launch a kernel on the model");
  LaunchState launch;
  launch.kernel = &kernel;
  launch.name = function_name(kernel.address);
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared = shared_bytes;
  launch.block_count = std::uint64_t(grid.x) * grid.y * grid.z;
  launch.traced = collector != nullptr;
  if (launch.traced) launch.options = collector->options;
  place_shared_memory(launch);
  check_launch(launch);
  if (collector != nullptr && !collector->runs) {
    collector->counts.push_back(description_of(launch));
    return;
  }
  image_base = reinterpret_cast<Address>(&__executable_start);
  for (auto& [begin, region] : regions().by_begin) {
    launch.arrays.push_back(&region);
    if (!launch.traced) continue;
    reset_cells(region);
    const auto* bytes = reinterpret_cast<const std::byte*>(begin);
    launch.before.emplace_back(bytes, bytes + (region.end - begin));
  }

  const auto start = std::chrono::steady_clock::now();
  std::vector<Worker> workers(std::size_t(std::min<std::uint64_t>(host_threads(), launch.block_count)));
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    worker.launch = &launch;
    worker.traced = launch.traced;
    worker.lanes.resize(block.x * block.y * block.z);
    threads.emplace_back([&worker] { run_blocks(worker); });
  }
  for (auto& thread : threads) thread.join();

  if (!launch.findings.empty()) {
    std::string text;
    const std::size_t shown = std::min<std::size_t>(launch.findings.size(), 8);
    for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "\n") + launch.findings[i];
    if (launch.findings.size() > shown)
      text += fmt::format("\n... and {} more findings", launch.findings.size() - shown);
    throw Error(text);
  }
  if (launch.traced) {
    require_announced_stores(launch);
    collector->counts.push_back(collect(launch, workers));
    collector->counts.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

namespace {
std::vector<Counts> collected(const std::function<void()>& work, const internal::Collector& how) {
  using internal::collector;
  if (collector != nullptr) throw std::logic_error("simt::trace and simt::launches do not nest");
  internal::Collector mine = how;
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

std::vector<Counts> trace(const std::function<void()>& work, const Trace& options) {
  return collected(work, {.options = options, .runs = true, .counts = {}});
}

std::vector<Counts> launches(const std::function<void()>& work) {
  return collected(work, {.options = {}, .runs = false, .counts = {}});
}

namespace device {

using internal::running;

uint3 thread_index() { return running->current->thread; }
uint3 block_index() { return running->block; }
dim3 block_extent() { return running->launch->block; }
dim3 grid_extent() { return running->launch->grid; }

void* dynamic_shared(const char* name) {
  internal::Worker& worker = *running;
  if (worker.dynamic_shared_named) return internal::dynamic_shared_memory;
  internal::active = nullptr;  // what follows is no work of the kernel
  const internal::Address begin = reinterpret_cast<internal::Address>(internal::dynamic_shared_memory);
  {
    const std::scoped_lock lock(worker.launch->mutex);
    for (auto& v : worker.launch->variables)
      if (v.offset == begin - worker.tls_begin && v.name == internal::unnamed_dynamic_shared)
        v.name = name;  // by the first only
  }
  worker.dynamic_shared_named = true;
  internal::active = &worker;
  return internal::dynamic_shared_memory;
}

void block_barrier() {
  internal::suspend(*running, internal::LaneState::barrier, internal::Address(__builtin_return_address(0)));
}

std::uint64_t warp_exchange(WarpOp op, unsigned mask, std::uint64_t value, int operand, int width) {
  internal::Lane& lane = *running->current;
  lane.warp_op = op;
  lane.mask = mask;
  lane.value = value;
  lane.operand = op == WarpOp::ballot || op == WarpOp::any || op == WarpOp::all ? int(value) : operand;
  lane.width = width;
  internal::suspend(*running, internal::LaneState::warp_op, internal::Address(__builtin_return_address(0)));
  return lane.value;
}

}  // namespace device
}  // namespace simt
