// Clusters: their barrier, how one block reaches the shared memory of another, and who does so too early or too late.
//
// Each block has its shared memory in an arena of its own, all alike: an address says in which, and its place there which variable.
#include <fmt/format.h>

#include <algorithm>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/execute.hpp"
#include "common/sim/execute/touch.hpp"

namespace simt::execute {
namespace {

// Ends the cluster's barrier if nobody is missing.
void end_barrier(Worker& w, Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.threads) return;
  ++cluster.barriers;
  cluster.arrived = 0;
  cluster.over = {};
  for (Block* block : cluster.blocks) {
    if (w.traced) cluster.over = order::joined(cluster.over, block->order.arrived_at_cluster());
    block->has_news = true;
  }
}

[[noreturn]] void refuse_use(Worker& w, Address pc, const std::string& why) {
  report(w, Mistake::cluster, pc, 0, [&] { return fmt::format("cluster: {} {}", where(w, pc), why); });
  abandon_block(w);
}

}  // namespace

Block* owner_of(const Worker& w, Address address) {
  for (Block* block : w.block->cluster->blocks)
    if (address - block->shared_begin() < w.shared.bytes) return block;
  return nullptr;
}

bool end_cluster_waits(Worker& w) {
  Block& block = *w.block;
  const Cluster& cluster = *block.cluster;
  if (cluster.barriers == 0) return false;
  bool any = false, all_at_once = true;
  for (Lane& lane : block.lanes) {
    const bool over = lane.state == LaneState::waiting && lane.wait.what == Wait::For::cluster_barrier &&
                      lane.cluster_waits <= cluster.barriers;
    all_at_once = all_at_once && over && lane.wait.at_once;
    if (!over) continue;
    any = true;
    lane.state = LaneState::ready;
    lane.turns.reset();
    if (w.traced) block.order.learn(lane.linear, cluster.over);
  }
  if (any) ++block.happenings;
  // A barrier of the block as well, if none did anything between its two halves.
  if (w.traced && all_at_once) block.order.block_barrier();
  return any;
}

void leave_cluster(Worker& w) {
  Cluster& cluster = *w.block->cluster;
  --cluster.threads;
  if (w.lane->cluster_arrivals > cluster.barriers) --cluster.arrived;
  end_barrier(w, cluster);
}

void note_visit(Worker& w, Block& owner, Op op, Address pc) {
  const order::BlockOrder& order = w.block->order;
  const order::KnownPointer& known = order.clock(w.lane->linear).known;
  if (known == nullptr || known->of_block(owner.serial) == nullptr)
    report(w, Mistake::cluster, pc, 0, [&] {
      return fmt::format("cluster: {} {} shared memory{}, which may not have begun: no cluster barrier lies before",
                         where(w, pc), verb_of(op), of_block(owner));
    });
  const order::Stamp by = order.stamp_of(w.lane->linear);
  owner.visits[order::actor_and_block_of(by)] = {by, pc, op};
}

void require_no_late_visits(Worker& w) {
  const Block& owner = *w.block;
  const int threads = int(owner.lanes.size());
  for (const auto& [visitor, visit] : owner.visits) {
    int knowing = 0;
    while (knowing < threads && !owner.order.ordered(visit.by, knowing)) ++knowing;
    if (knowing < threads) continue;
    const auto& blocks = owner.cluster->blocks;
    const auto block = std::find_if(blocks.begin(), blocks.end(),
                                    [&](const Block* b) { return b->serial == order::block_of(visit.by); });
    report(w, Mistake::cluster, visit.pc, 1, [&] {
      return fmt::format("cluster: {} {} shared memory{}, which may have ended: no cluster barrier lies behind",
                         where(w, **block, (*block)->lanes[order::thread_of(visit.by)], visit.pc), verb_of(visit.op),
                         of_block(owner));
    });
  }
}

std::string of_block(const Block& block) {
  return fmt::format(" of block ({},{},{})", block.index.x, block.index.y, block.index.z);
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------------
namespace simt::device {

using execute::Address;
using execute::running;

std::uint32_t cluster_rank() { return running->block->rank; }
std::uint32_t cluster_blocks() { return std::uint32_t(running->launch->cluster_blocks); }

void* map_to_block(void* shared, std::uint32_t rank) {
  const announce::Unheard unheard;
  const auto address = reinterpret_cast<Address>(shared), pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::Worker& w = *running;
  const execute::PlacedVariable* variable =
      execute::is_shared(w, address) ? execute::variable_of(w, address, 1) : nullptr;
  if (variable == nullptr)
    execute::refuse_use(w, pc,
                        fmt::format("maps address {}, which is in none of its __shared__ arrays, to another block",
                                    execute::format_address(address)));
  const auto& blocks = w.block->cluster->blocks;
  if (rank >= blocks.size())
    execute::refuse_use(w, pc,
                        fmt::format("maps {} to block {} of its cluster, which has {}: they count from 0",
                                    execute::shared_name(w, address, 4), rank, blocks.size()));
  return reinterpret_cast<void*>(execute::same_place(*blocks[rank], *w.block, address));
}

void arrive_at_cluster_barrier() {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::Worker& w = *running;
  execute::Lane& lane = *w.lane;
  execute::settle(w);
  if (lane.cluster_arrivals > lane.cluster_waits)
    execute::refuse_use(w, pc, "arrives at the cluster's barrier again, before it has waited for it");
  ++lane.cluster_arrivals;
  ++w.block->cluster->arrived;
  lane.done_at_arrival = execute::done_so_far(w);
  if (w.traced) w.block->order.arrive_at_cluster(lane.linear);
  execute::end_barrier(w, *w.block->cluster);
}

void wait_for_cluster_barrier() {
  const announce::Unheard unheard;
  const auto pc = reinterpret_cast<Address>(__builtin_return_address(0));
  execute::Worker& w = *running;
  execute::Lane& lane = *w.lane;
  if (lane.cluster_arrivals == lane.cluster_waits)
    execute::refuse_use(w, pc, "waits for the cluster's barrier, at which it has not arrived");
  ++lane.cluster_waits;
  execute::wait_for({.what = execute::Wait::For::cluster_barrier,
                     .pc = pc,
                     .at_once = lane.done_at_arrival == execute::done_so_far(w)});
}

}  // namespace simt::device
