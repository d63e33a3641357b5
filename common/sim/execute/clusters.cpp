// Clusters: their barrier, and accesses of a block to the shared memory of another, which may be too early or too late.
//
// Each block has its shared memory in an arena of its own: an address identifies the arena, its offset the variable.
#include <fmt/format.h>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// Completes the cluster barrier if no thread is missing.
void end_barrier(const Worker& w, Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.threads) return;
  ++cluster.barriers;
  cluster.arrived = 0;
  cluster.over = {};
  for (Block* block : cluster.blocks) {
    if (w.traced) cluster.over = order::joined(cluster.over, block->order.told_to_cluster(block->cluster_arrivals));
    block->cluster_arrivals = {};
    block->has_news = true;
  }
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
  bool any = false;
  for (Lane& lane : block.lanes) {
    if (!waits_for(lane, Wait::For::cluster_barrier) || lane.cluster_waits > cluster.barriers) continue;
    any = true;
    resume(lane);
    if (w.traced) block.order.learn(lane.linear, cluster.over);
  }
  if (any) ++block.events;
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
    report(w, "cluster", culprit(w, pc), 0, [&] {
      return fmt::format("{} shared memory{}, which may not have started: no cluster barrier precedes", verb_of(op),
                         of_block(owner));
    });
  const order::Stamp by = order.stamp_of(w.lane->linear);
  owner.visits.insert_or_assign(order::actor_and_block_of(by), Visit{culprit(w, pc), by, op});
}

void require_no_late_visits(Worker& w) {
  const Block& owner = *w.block;
  for (const auto& [visitor, visit] : owner.visits) {
    const auto knows = [&](const Lane& lane) { return owner.order.ordered(visit.stamp, lane.linear); };
    if (std::ranges::any_of(owner.lanes, knows)) continue;
    report(w, "cluster", visit.by, 1, [&] {
      return fmt::format("{} shared memory{}, which may have ended: no cluster barrier follows", verb_of(visit.op),
                         of_block(owner));
    });
  }
}

}  // namespace simt::execute

// --- What kernels call -----------------------------------------------------------------------------------------------
namespace simt::device {

using namespace execute;

std::uint32_t cluster_rank() { return running->block->rank; }
std::uint32_t cluster_blocks() { return std::uint32_t(running->launch->cluster_blocks); }

void* map_to_block(void* shared, std::uint32_t rank) {
  const Call call(__builtin_return_address(0));
  const auto address = reinterpret_cast<Address>(shared);
  const auto refuse = [&](const std::string& what) { fail(call.w, "cluster", call.pc, what); };
  if (!is_shared(call.w, address) || variable_of(call.w, address, 1, call.w.shared_begin) == nullptr)
    refuse(fmt::format("maps address {:#x} to another block, but it is in none of its __shared__ arrays", address));
  const auto& blocks = call.block.cluster->blocks;
  if (rank >= blocks.size())
    refuse(fmt::format("maps {} to block {} of its cluster, which has {}: ranks start at 0",
                       shared_name(call.w, address, 4), rank, blocks.size()));
  return reinterpret_cast<void*>(same_place(*blocks[rank], call.block, address));
}

void arrive_at_cluster_barrier() {
  const Call call(__builtin_return_address(0));
  Lane& lane = call.lane;
  if (lane.cluster_arrivals > lane.cluster_waits)
    fail(call.w, "cluster", call.pc, "arrives at the cluster barrier a second time without a wait in between");
  ++lane.cluster_arrivals;
  ++call.block.cluster->arrived;
  if (call.w.traced) call.order.arrive(lane.linear, call.block.cluster_arrivals);
  end_barrier(call.w, *call.block.cluster);
}

void wait_for_cluster_barrier() {
  const Call call(__builtin_return_address(0));
  Lane& lane = call.lane;
  if (lane.cluster_arrivals == lane.cluster_waits)
    fail(call.w, "cluster", call.pc, "waits at the cluster barrier without having arrived");
  ++lane.cluster_waits;
  wait_for({.what = Wait::For::cluster_barrier, .pc = call.pc});
}

}  // namespace simt::device
