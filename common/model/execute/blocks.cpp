// The blocks of a worker: which of them have begun, which one runs, and when none can go on.
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "common/model/execute/arrays.hpp"
#include "common/model/execute/execute.hpp"

namespace simt::execute {
namespace {

// How often all blocks of a worker may poll in vain, while all other workers do the same, before they are taken to wait forever.
// A loop of fewer turns than this times repeats_of_a_poll that loads one element and does nothing else is not mistaken.
constexpr int most_idle_rounds = 1 << 10;

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
  block.votes = {};
  block.mbarriers.clear();
  block.bulk_loads.clear();
  block.happenings = 1;
  block.gave_up_at = 0;
  if (block.stacks == nullptr) block.stacks = take_stacks();
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
    prepare_fiber(worker, block.stacks, lane);
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

}  // namespace

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
      if (block->stacks != nullptr) give_stacks(block->stacks);
  worker.block = nullptr;
  running = nullptr;
}

}  // namespace simt::execute
