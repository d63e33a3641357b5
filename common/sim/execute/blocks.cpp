// The blocks of a worker: which of them have begun, which one runs, and when none can go on.
#include <algorithm>
#include <memory>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

void switch_to(Worker& worker, Block& block) {
  worker.block = &block;
  worker.shared_begin = block.shared_begin();
}

Block& start_block(Worker& worker, uint3 index) {
  const Launch& launch = *worker.launch;
  const dim3 b = launch.block, g = launch.grid;
  if (worker.idle.empty()) {
    worker.idle.push_back(std::make_unique<Block>());
    worker.idle.back()->lanes.resize(b.x * b.y * b.z);
  }
  worker.resident.push_back(std::move(worker.idle.back()));
  worker.idle.pop_back();
  Block& block = *worker.resident.back();
  static_cast<BlockProgress&>(block) = {};
  block.index = index;
  block.serial = std::uint32_t((std::uint64_t(index.z) * g.y + index.y) * g.x + index.x + 1);
  if (block.arena == nullptr) block.arena = take_arena(launch.arena_bytes);
  block.arena->block = block.serial;
  if (block.stacks == nullptr) block.stacks = take_stacks();
  switch_to(worker, block);
  block.order.start(block.serial, int(block.lanes.size()));
  if (worker.traced) prepare_shared(launch, block);
  for (int i = 0; i < int(block.lanes.size()); ++i) {
    Lane& lane = block.lanes[std::size_t(i)];
    static_cast<LaneProgress&>(lane) = {};
    lane.linear = i;
    lane.thread = {unsigned(i) % b.x, unsigned(i) / b.x % b.y, unsigned(i) / (b.x * b.y)};
    resume(lane);
    lane.log.clear();
    lane.last_pc = lane.last_address = 0;
    lane.repeats = 0;
    lane.futile = false;
    lane.look_count = 0;
    prepare_fiber(worker, block.stacks, lane);
  }
  return block;
}

// Lets the blocks of a cluster begin together.
void start_cluster(Worker& worker, std::uint64_t number) {
  const Launch& launch = *worker.launch;
  const dim3 size = launch.cluster, grid = launch.grid, clusters(grid.x / size.x, grid.y / size.y, grid.z / size.z);
  const uint3 first{unsigned(number % clusters.x) * size.x, unsigned(number / clusters.x % clusters.y) * size.y,
                    unsigned(number / (std::uint64_t(clusters.x) * clusters.y)) * size.z};
  const auto cluster = std::make_shared<Cluster>();
  for (std::uint32_t rank = 0; rank < launch.cluster_blocks; ++rank) {
    Block& block = start_block(
        worker, {first.x + rank % size.x, first.y + rank / size.x % size.y, first.z + rank / (size.x * size.y)});
    cluster->blocks.push_back(&block);
    cluster->threads += int(block.lanes.size());
    block.cluster = cluster;
    block.rank = rank;
  }
}

// Runs the block until all of its lanes have returned (true), or each waits for what other blocks do.
bool advance(Worker& worker, const Wake& who_polls) {
  Block& block = *worker.block;
  const int threads = int(block.lanes.size());
  block.has_news = false;
  wake(worker, who_polls);
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
    progress = progress || wake(worker, {}) || let_bulk_loads_arrive(worker) || give_up_mbarrier_waits(worker);
  }
  if (block.abandoned) return true;
  const bool done = std::all_of(block.lanes.begin(), block.lanes.end(),
                                [](const Lane& lane) { return lane.state == LaneState::done; });
  if (!done) return false;
  require_no_bulk_copies(worker);
  require_no_late_visits(worker);
  require_changed_alike(worker);
  return true;
}

// Whether nothing but another block of the cluster could let the running one go on, and none can.
bool stands_still(const Worker& worker) {
  const auto& blocks = worker.block->cluster->blocks;
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block* block) {
    return block->ended ||
           (!block->has_news && std::none_of(block->lanes.begin(), block->lanes.end(), [](const Lane& l) {
             return l.state == LaneState::polling || l.state == LaneState::ready;
           }));
  });
}

// A number that changes whenever a lane of the block does anything but poll.
std::uint64_t work_of(const Block& block) {
  std::uint64_t work = 0;
  for (const Lane& lane : block.lanes)
    work = work * 31 + lane.last_pc + lane.last_address + lane.yields + std::uint64_t(lane.state == LaneState::done);
  return work;
}

// Starts the next cluster if there is one and the GPU would have room for it.
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

// The running block has ended; its memory is there until the others of its cluster have, too.
void finish(Worker& worker) {
  Launch& launch = *worker.launch;
  Block& block = *worker.block;
  const auto cluster = block.cluster;
  block.ended = true;
  if (block.abandoned) launch.stop = true;
  add_each(block.waits_for_copies, worker.waits_for_copies);
  if (!std::all_of(cluster->blocks.begin(), cluster->blocks.end(), [](const Block* b) { return b->ended; })) return;
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

// Lets every resident block of the worker go on as far as it can. Returns whether any got anywhere.
bool advance_all(Worker& worker, const Wake& who_polls = {}) {
  bool progress = false;
  for (std::size_t i = 0; i < worker.resident.size() && !worker.launch->stop; ++i) {
    if (!may_go_on(*worker.resident[i], who_polls.who)) continue;
    switch_to(worker, *worker.resident[i]);
    const std::uint64_t before = work_of(*worker.block);
    if (advance(worker, who_polls)) {
      finish(worker);
      return true;
    }
    progress = progress || work_of(*worker.block) != before;
    if (stands_still(worker)) {
      explain_standstill(worker);
      worker.launch->stop = true;
    }
  }
  return progress;
}

}  // namespace

void run_blocks(Worker& worker) {
  running = &worker;
  if (!worker.traced) begin_watched_work(worker);
  Launch& launch = *worker.launch;
  worker.shared = {launch.arena_bytes, launch.variable_at.data(), launch.room_at.data(), launch.offset_of.data()};
  while (!launch.stop) {
    // Whoever waits for another block may go on once that has run.
    if (advance_all(worker) || (!launch.stop && start_next(worker))) {
      launch.futile_rounds = 0;
      continue;
    }
    if (worker.resident.empty() && launch.next_cluster >= launch.cluster_count) break;
    const Wake who = wait_for_change(worker);
    if (who.who == Wake::Who::nobody) {
      switch_to(worker, *worker.resident.front());
      explain_standstill(worker);
      launch.stop = true;
    } else if (who.who != Wake::Who::changed && advance_all(worker, who)) {
      launch.futile_rounds = 0;
    }
  }
  end_work(worker);
  if (!worker.traced) end_watched_work(worker);
  for (auto* blocks : {&worker.resident, &worker.idle})
    for (const auto& block : *blocks) {
      if (block->stacks != nullptr) give_stacks(block->stacks);
      if (block->arena != nullptr) give_arena(block->arena);
    }
  worker.block = nullptr;
  running = nullptr;
}

}  // namespace simt::execute
