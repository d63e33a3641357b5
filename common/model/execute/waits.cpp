// When a wait is over, and what to say when none ever will be.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/model/execute/execute.hpp"

namespace simt::execute {
namespace {

bool waits_for(const Lane& lane, Wait::For what) { return lane.state == LaneState::waiting && lane.wait.what == what; }

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

// Lets the lanes that wait at a complete collective operation pass it. Returns whether any did.
bool end_collectives(Worker& worker, int first_lane, int lane_count) {
  Block& block = *worker.block;
  Lane* const warp = &block.lanes[std::size_t(first_lane)];
  bool ended = false;
  for (int l = 0; l < lane_count; ++l) {
    if (!waits_for(warp[l], Wait::For::collective) || warp[l].wait.mask == 0) continue;
    const Wait wait = warp[l].wait;
    if (!(wait.mask >> l & 1u)) {
      report(worker, Mistake::warp_operation, wait.pc, 0, [&] {
        return fmt::format("warp operation: {} takes part for lanes {:#010x}, of which it is none",
                           where(worker, warp[l], wait.pc), wait.mask);
      });
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
        report(worker, Mistake::warp_operation, wait.pc, 0, [&] {
          return fmt::format("warp operation: {} takes a value from lane {}, which takes no part: the mask is {:#010x}",
                             where(worker, warp[o], wait.pc), missing, wait.mask);
        });
        block.abandoned = true;
        return false;
      }
      warp[o].state = LaneState::ready;
      if (wait.mask == 0xffffffffu) warp[o].turns.reset();
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
  const Lane& first = block.lanes.front();
  const auto elsewhere = std::find_if(block.lanes.begin(), block.lanes.end(),
                                      [&](const Lane& lane) { return lane.wait.pc != first.wait.pc; });
  if (elsewhere != block.lanes.end()) {
    const Place here = announce::place_of(first.wait.pc), there = announce::place_of(elsewhere->wait.pc);
    if (here.file != there.file || here.line != there.line) return false;
  }
  ++block.interval;
  ++block.happenings;
  ++worker.barriers;
  if (worker.traced) block.order.block_barrier();
  for (Lane& lane : block.lanes) {
    lane.state = LaneState::ready;
    lane.turns.reset();
  }
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
    for (const int thread : threads) {
      block.lanes[std::size_t(thread)].state = LaneState::ready;
      block.lanes[std::size_t(thread)].turns.reset();
    }
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

NamedBarrier& come_to_barrier(Worker& worker, int number, int threads, Address pc) {
  NamedBarrier& barrier = worker.block->barriers[std::size_t(number) % 16];
  if (barrier.first_pc == 0) {
    barrier.expected = threads;
    barrier.first = worker.lane->linear;
    barrier.first_pc = pc;
  } else if (barrier.expected != threads) {
    report(worker, Mistake::barrier, pc, barrier.first_pc, [&] {
      return fmt::format("barrier: {} comes to barrier {} for {} threads, and thread {} came to it for {} at {}",
                         where(worker, pc), number, threads, thread_name(worker, std::uint64_t(barrier.first)),
                         barrier.expected, line_of(barrier.first_pc));
    });
    abandon_block(worker);
  }
  return barrier;
}

// --- Standstill ----------------------------------------------------------------------------------------------------------
namespace {

// What a lane waits for, and what is missing.
std::string described(const Worker& worker, const Lane& lane) {
  const Block& block = *worker.block;
  if (lane.state == LaneState::polling) return described_poll(worker, lane);
  switch (lane.wait.what) {
    case Wait::For::block_barrier:
      return "waits at __syncthreads";
    case Wait::For::collective:
      return fmt::format("waits for lanes {:#010x} that never arrive at it", lane.wait.mask);
    case Wait::For::named_barrier: {
      const NamedBarrier& barrier = block.barriers[std::size_t(lane.wait.barrier)];
      const auto there = std::count_if(block.lanes.begin(), block.lanes.end(), [&](const Lane& l) {
        return waits_for(l, Wait::For::named_barrier) && l.wait.barrier == lane.wait.barrier;
      });
      return fmt::format("waits at barrier {}: {} of {} threads are there", lane.wait.barrier,
                         std::size_t(there) + barrier.arrived, barrier.expected);
    }
    case Wait::For::mbarrier:
      return described_mbarrier_wait(worker, lane);
    case Wait::For::cluster_barrier:
      return fmt::format("waits at the cluster's barrier: {} of {} threads that have not returned are there",
                         block.cluster->arrived, block.cluster->threads);
    case Wait::For::registers:
      return described_register_wait(worker, lane);
  }
  return "";
}

// A barrier that some threads of the block cannot reach any more, or reach at another line.
bool explain_block_barrier(Worker& worker) {
  const Block& block = *worker.block;
  const Lane *waiting = nullptr, *returned = nullptr, *elsewhere = nullptr;
  for (const Lane& lane : block.lanes) {
    if (lane.state == LaneState::done)
      returned = &lane;
    else if (!waits_for(lane, Wait::For::block_barrier))
      return false;
    else if (waiting == nullptr)
      waiting = &lane;
    else if (lane.wait.pc != waiting->wait.pc)
      elsewhere = &lane;
  }
  if (waiting == nullptr) return false;
  const Address pc = waiting->wait.pc;
  if (returned != nullptr) {
    const auto missing =
        std::count_if(block.lanes.begin(), block.lanes.end(), [](const Lane& l) { return l.state == LaneState::done; });
    report(worker, Mistake::barrier, pc, 0, [&] {
      return fmt::format(
          "barrier: {} waits at __syncthreads (address {}), but {} of the block's {} threads returned "
          "without reaching it, thread ({},{},{}) first",
          where(worker, *waiting, pc), format_address(pc), missing, block.lanes.size(), returned->thread.x,
          returned->thread.y, returned->thread.z);
    });
    return true;
  }
  if (elsewhere == nullptr) return false;
  report(worker, Mistake::barrier, pc, elsewhere->wait.pc, [&] {
    return fmt::format(
        "barrier: {} waits at __syncthreads (address {}) while thread ({},{},{}) waits at the one in line {}",
        where(worker, *waiting, pc), format_address(pc), elsewhere->thread.x, elsewhere->thread.y, elsewhere->thread.z,
        announce::place_of(elsewhere->wait.pc).line);
  });
  return true;
}

// A collective operation that some lanes do not reach, though nothing keeps them.
bool explain_collective(Worker& worker) {
  const auto& lanes = worker.block->lanes;
  if (std::any_of(lanes.begin(), lanes.end(), [](const Lane& l) { return waits_for(l, Wait::For::mbarrier); }))
    return false;
  for (const Lane& lane : worker.block->lanes)
    if (waits_for(lane, Wait::For::collective)) {
      report(worker, Mistake::warp_operation, lane.wait.pc, 0, [&] {
        return fmt::format("warp operation: {} {}", where(worker, lane, lane.wait.pc), described(worker, lane));
      });
      return true;
    }
  return false;
}

// Lanes that wait alike: in one block or, of blocks that are not looked at one by one, in several.
struct Group {
  Block* block;
  const Lane* first;
  int threads = 0;
  std::set<const Block*> blocks{};
};
// By rank of the block, line, and what for; which element they poll, does not matter.
using Groups = std::map<std::tuple<std::uint32_t, Address, std::string>, Group>;

// Adds the lanes of a block that have not returned; returns how many have.
int add_groups(const Worker& worker, Block& block, std::uint32_t rank, Groups& groups) {
  int returned = 0;
  for (const Lane& lane : block.lanes) {
    if (lane.state == LaneState::done) {
      ++returned;
      continue;
    }
    const std::string what = lane.state == LaneState::polling ? "" : described(worker, lane);
    Group& group = groups.try_emplace({rank, lane.wait.pc, what}, Group{&block, &lane}).first->second;
    ++group.threads;
    group.blocks.insert(&block);
  }
  return returned;
}

// What other blocks of the worker wait for, and how many there are.
std::string other_blocks(Worker& worker, const Cluster& explained) {
  constexpr std::size_t most_told = 4;
  const Launch& launch = *worker.launch;
  Groups groups;
  Block* const running_block = worker.block;
  for (const auto& block : worker.resident) {
    if (block->cluster.get() == &explained || block->ended) continue;
    worker.block = block.get();
    add_groups(worker, *block, 0, groups);
  }
  std::string text;
  std::size_t told = 0;
  for (const auto& [key, group] : groups) {
    if (++told > most_told) break;
    worker.block = group.block;
    text += fmt::format(
        "; thread {}{} {} at {}{}", thread_name(worker, std::uint64_t(group.first->linear)), of_block(*group.block),
        described(worker, *group.first), line_of(std::get<Address>(key)),
        group.blocks.size() > 1 ? fmt::format(", as do others in {} blocks more", group.blocks.size() - 1) : "");
  }
  worker.block = running_block;
  const std::uint64_t begun = std::min<std::uint64_t>(launch.next_cluster, launch.cluster_count);
  if (launch.cluster_count > 1) text += fmt::format("; {} blocks are resident", launch.resident.load());
  if (const std::uint64_t left = (launch.cluster_count - begun) * launch.cluster_blocks; left > 0)
    text += fmt::format(", and {} have not begun: the GPU holds no more", left);
  return text;
}

}  // namespace

void explain_standstill(Worker& worker) {
  worker.block->abandoned = true;
  const std::vector<Block*>& blocks = worker.block->cluster->blocks;
  for (Block* block : blocks) {
    worker.block = block;
    if (explain_block_barrier(worker) || explain_collective(worker)) return;
  }
  Groups groups;
  int returned = 0;
  bool polls = false;
  for (Block* block : blocks) {
    worker.block = block;
    returned += add_groups(worker, *block, block->rank, groups);
    polls = polls || std::any_of(block->lanes.begin(), block->lanes.end(),
                                 [](const Lane& lane) { return lane.state == LaneState::polling; });
  }
  const auto& [first_block, pc, first_what] = groups.begin()->first;
  const Group& first = groups.begin()->second;
  worker.block = blocks[first_block];
  report(worker, Mistake::deadlock, pc, 0, [&] {
    std::string text = fmt::format("deadlock: {} {}", where(worker, *first.first, pc), described(worker, *first.first));
    int told = 0;
    for (const auto& [key, group] : groups) {
      const auto& [block, line, what] = key;
      if (++told == 1) {
        if (group.threads > 1) text += fmt::format(", with {} threads more", group.threads - 1);
        continue;
      }
      worker.block = blocks[block];
      text += fmt::format("; thread {}{}{} {} at {}", thread_name(worker, std::uint64_t(group.first->linear)),
                          block == first_block ? "" : of_block(*blocks[block]),
                          group.threads > 1 ? fmt::format(", with {} threads more,", group.threads - 1) : "",
                          described(worker, *group.first), line_of(line));
    }
    worker.block = blocks[first_block];
    if (returned > 0) text += fmt::format("; {} threads have returned", returned);
    if (polls) text += other_blocks(worker, *worker.block->cluster);
    return text;
  });
}

}  // namespace simt::execute
