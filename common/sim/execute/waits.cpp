// When a wait is over.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// --- Collective operations of a warp ---------------------------------------------------------------------------------

// Whether all lanes of the mask are at the operation at which `lane` waits.
bool complete(const Lane* warp, int lane_count, const Lane& lane) {
  for (int other = 0; other < 32; ++other) {
    if (!(lane.wait.mask >> other & 1u)) continue;
    if (other >= lane_count) return false;
    const Lane& o = warp[other];
    if (!waits_for(o, Wait::For::collective) || o.wait.mask != lane.wait.mask || o.wait.function != lane.wait.function)
      return false;
  }
  return true;
}

// Names the lanes that ask together who is active: those at one call. Returns whether there are any.
bool name_the_active(Lane* warp, int lane_count) {
  const auto asks = [](const Lane& lane) {
    return waits_for(lane, Wait::For::collective) && lane.wait.function == device::meet_active && lane.wait.mask == 0;
  };
  std::map<Address, unsigned> here;
  for (int l = 0; l < lane_count; ++l)
    if (asks(warp[l])) here[warp[l].wait.pc] |= 1u << l;
  for (int l = 0; l < lane_count; ++l)
    if (asks(warp[l])) warp[l].wait.mask = here[warp[l].wait.pc];
  return !here.empty();
}

bool is_shuffle(device::Collective function) {
  return function == device::shuffle || function == device::shuffle_up || function == device::shuffle_down ||
         function == device::shuffle_xor;
}

// Lets the lanes that wait at a complete collective operation pass it. Returns whether any did.
bool end_collectives(Worker& worker, int first_lane, int lane_count) {
  Block& block = *worker.block;
  Lane* const warp = &block.lanes[std::size_t(first_lane)];
  bool ended = false;
  for (int l = 0; l < lane_count; ++l) {
    if (!waits_for(warp[l], Wait::For::collective) || warp[l].wait.mask == 0) continue;
    const Wait wait = warp[l].wait;
    if (!(wait.mask >> l & 1u)) {
      report(worker, "warp operation", {block, warp[l], wait.pc}, 0,
             [&] { return fmt::format("takes part for lanes {:#010x}, of which it is none", wait.mask); });
      block.abandoned = true;
      return false;
    }
    if (!complete(warp, lane_count, warp[l])) continue;
    std::array<device::Slot*, 32> slots{};
    for (int o = 0; o < lane_count; ++o)
      if (wait.mask >> o & 1u) slots[std::size_t(o)] = warp[o].wait.slot;
    wait.function(wait.mask, slots.data());
    for (int o = 0; o < lane_count; ++o) {
      if (!(wait.mask >> o & 1u)) continue;
      if (const int missing = slots[std::size_t(o)]->missing_lane; missing >= 0) {
        report(worker, "warp operation", {block, warp[o], wait.pc}, 0, [&] {
          return fmt::format("takes a value from lane {}, which takes no part: the mask is {:#010x}", missing,
                             wait.mask);
        });
        block.abandoned = true;
        return false;
      }
      warp[o].state = LaneState::ready;
      if (wait.mask == 0xffffffffu) warp[o].turns.reset();
      if (worker.traced && wait.function != device::sync && wait.function != device::meet_active)
        warp[o].exchanged = {wait.mask, is_shuffle(wait.function), warp[o].wait.pc,
                             block.order.clock(warp[o].linear).epoch};
    }
    if (worker.traced && wait.function == device::sync) block.order.warp_barrier(first_lane, lane_count, wait.mask);
    ended = true;
  }
  // Who is active is known when no lane of the warp can do anything else.
  if (!ended && name_the_active(warp, lane_count)) return end_collectives(worker, first_lane, lane_count);
  return ended;
}

// --- Barriers ----------------------------------------------------------------------------------------------------------

// All lanes wait at one barrier of the block.
bool end_block_barrier(Worker& worker) {
  Block& block = *worker.block;
  const auto waits = [](const Lane& lane) { return waits_for(lane, Wait::For::block_barrier); };
  if (!std::all_of(block.lanes.begin(), block.lanes.end(), waits)) return false;
  const Address pc = block.lanes.front().wait.pc;
  const auto elsewhere =
      std::find_if(block.lanes.begin(), block.lanes.end(), [&](const Lane& lane) { return lane.wait.pc != pc; });
  if (elsewhere != block.lanes.end() && !on_one_line(pc, elsewhere->wait.pc)) return false;
  ++block.interval;
  ++block.happenings;
  ++worker.barriers;
  if (worker.traced) block.order.block_barrier();
  for (Lane& lane : block.lanes) resume(lane);
  return true;
}

bool end_named_barriers(Worker& worker) {
  Block& block = *worker.block;
  std::map<int, std::vector<int>> waiting;  // by barrier
  for (const Lane& lane : block.lanes)
    if (waits_for(lane, Wait::For::named_barrier)) waiting[lane.wait.barrier].push_back(lane.linear);
  bool ended = false;
  for (auto& [number, threads] : waiting) {
    NamedBarrier& barrier = block.barriers[std::size_t(number)];
    if (int(threads.size() + barrier.arrived) < barrier.expected) continue;
    if (worker.traced) block.order.barrier_of(threads, barrier.arrivals);
    barrier = {};
    ++block.happenings;
    for (const int thread : threads) resume(block.lanes[std::size_t(thread)]);
    ended = true;
  }
  return ended;
}

// What the lanes of a warp have done so far can be put together when none has more to do before the others are where it is.
// At one collective operation that is so if those that have returned did nothing since the last one: the others may yet do
// what those did.
bool at_one_collective(const Lane* warp, int lane_count) {
  const Lane* first = nullptr;
  for (const Lane* lane = warp; lane < warp + lane_count; ++lane) {
    if (lane->state == LaneState::done && lane->log.empty()) continue;
    if (!waits_for(*lane, Wait::For::collective)) return false;
    if (first == nullptr) first = lane;
    if (lane->wait.pc != first->wait.pc || lane->wait.mask != first->wait.mask) return false;
  }
  return first != nullptr;
}

// When no lane can go on, it is so unless some wait for what the rest of their warp may pass by.
bool logs_are_complete(const Lane* warp, int lane_count) {
  const Lane* at_mbarrier = nullptr;
  for (const Lane* lane = warp; lane < warp + lane_count; ++lane) {
    if (lane->state == LaneState::polling || waits_for(*lane, Wait::For::collective)) return false;
    if (waits_for(*lane, Wait::For::mbarrier)) at_mbarrier = lane;
  }
  // An mbarrier is each lane's own wait, so that some may have gone on from it.
  const auto same_wait = [&](const Lane& lane) {
    return lane.state == LaneState::done ||
           (waits_for(lane, Wait::For::mbarrier) && lane.wait.pc == at_mbarrier->wait.pc &&
            lane.wait.mbarrier == at_mbarrier->wait.mbarrier && lane.wait.parity == at_mbarrier->wait.parity);
  };
  return at_mbarrier == nullptr || std::all_of(warp, warp + lane_count, same_wait);
}

}  // namespace

void run_warp(Worker& worker, int first_lane, int lane_count) {
  Block& block = *worker.block;
  const auto lane_at = [&](int l) -> Lane& { return block.lanes[std::size_t(first_lane + l)]; };
  bool again = true;
  while (again) {
    for (int l = 0; l < lane_count && !block.abandoned; ++l)
      if (lane_at(l).state == LaneState::ready) run_lane(worker, lane_at(l));
    if (block.abandoned) return;
    if (worker.traced && at_one_collective(&lane_at(0), lane_count)) count_warp(worker, first_lane, lane_count);
    again = end_collectives(worker, first_lane, lane_count);
    again = (!block.abandoned && end_mbarrier_waits(worker, first_lane, lane_count)) || again;
  }
  if (block.abandoned || !worker.traced) return;
  if (logs_are_complete(&lane_at(0), lane_count)) count_warp(worker, first_lane, lane_count);
}

bool end_waits(Worker& worker) {
  if (worker.block->abandoned) return false;
  const bool block_barrier = end_block_barrier(worker);
  bool ended = end_named_barriers(worker) || block_barrier;
  ended = end_cluster_waits(worker) || ended;
  ended = end_register_waits(worker) || ended;
  const int threads = int(worker.block->lanes.size());
  for (int first = 0; first < threads; first += 32)
    ended = end_mbarrier_waits(worker, first, std::min(32, threads - first)) || ended;
  return ended;
}

}  // namespace simt::execute
