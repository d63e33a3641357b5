// What to say when no lane can go on, and none ever will: who waits where for what, and what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

// "lanes 16 to 31, of 0xffffffff: thread (16,0,0) has returned", of a lane that waits for others of its warp.
std::string missing_lanes(const Block& block, const Lane& lane) {
  const std::size_t first = std::size_t(lane.linear) / 32 * 32;
  const Lane* absent = nullptr;
  std::string numbers;
  for (std::size_t i = 0, last = 0; i < 32; i = last + 1) {
    const auto is_missing = [&](std::size_t l) {
      return (lane.wait.mask >> l & 1u) != 0 &&
             (first + l >= block.lanes.size() || !waits_for(block.lanes[first + l], Wait::For::collective) ||
              block.lanes[first + l].wait.pc != lane.wait.pc);
    };
    last = i;
    if (!is_missing(i)) continue;
    if (absent == nullptr && first + i < block.lanes.size()) absent = &block.lanes[first + i];
    while (last + 1 < 32 && is_missing(last + 1)) ++last;
    numbers += fmt::format("{}{}{}", numbers.empty() ? "" : ", ", i, last == i ? "" : fmt::format(" to {}", last));
  }
  const std::string where_it_is = absent == nullptr                  ? "the block has no such threads"
                                  : absent->state == LaneState::done ? "has returned"
                                  : absent->wait.pc == Address(0)    ? "is elsewhere"
                                                                     : "waits at " + line_of(absent->wait.pc);
  return fmt::format("lanes {} of the mask {:#010x}, which never arrive at it: {}{}", numbers, lane.wait.mask,
                     absent == nullptr ? "" : "thread " + thread_name(*absent) + " ", where_it_is);
}

// What a lane waits for, and what is missing.
std::string described(const Worker& worker, const Lane& lane) {
  const Block& block = *worker.block;
  if (lane.state == LaneState::polling) return described_poll(worker, lane);
  switch (lane.wait.what) {
    case Wait::For::block_barrier:
      return "waits at __syncthreads";
    case Wait::For::collective:
      return "waits for " + missing_lanes(block, lane);
    case Wait::For::named_barrier: {
      const NamedBarrier& barrier = block.barriers[std::size_t(lane.wait.number)];
      const auto there = std::count_if(block.lanes.begin(), block.lanes.end(), [&](const Lane& l) {
        return waits_for(l, Wait::For::named_barrier) && l.wait.number == lane.wait.number;
      });
      return fmt::format("waits at barrier {}: {} of {} threads are there", lane.wait.number,
                         std::size_t(there) + barrier.arrived, barrier.expected);
    }
    case Wait::For::mbarrier:
      return described_mbarrier_wait(worker, lane);
    case Wait::For::cluster_barrier:
      return fmt::format("waits at the cluster's barrier: {} of {} threads that have not returned are there",
                         block.cluster->arrived, block.cluster->threads);
    case Wait::For::registers:
      return described_register_wait(block, lane);
  }
  return "";
}

// A barrier that some threads of the block cannot reach any more, or reach at another line.
bool explain_block_barrier(Worker& worker) {
  const Block& block = *worker.block;
  const Lane *waiting = nullptr, *returned = nullptr, *elsewhere = nullptr;
  std::size_t missing = 0;
  for (const Lane& lane : block.lanes) {
    if (lane.state == LaneState::done)
      returned = missing++ == 0 ? &lane : returned;
    else if (!waits_for(lane, Wait::For::block_barrier))
      return false;
    else if (waiting == nullptr)
      waiting = &lane;
    else if (elsewhere == nullptr && lane.wait.pc != waiting->wait.pc)
      elsewhere = &lane;
  }
  if (waiting == nullptr) return false;
  const Address pc = waiting->wait.pc;
  if (returned != nullptr) {
    report(worker, "barrier", {block, *waiting, pc}, 0, [&] {
      return fmt::format(
          "waits at __syncthreads, but {} of the block's {} threads returned without reaching it, thread {} among them",
          missing, block.lanes.size(), thread_name(*returned));
    });
    return true;
  }
  if (elsewhere == nullptr) return false;
  report(worker, "barrier", {block, *waiting, pc}, elsewhere->wait.pc, [&] {
    return fmt::format("waits at __syncthreads while thread {} waits at the one of {}", thread_name(*elsewhere),
                       line_of(elsewhere->wait.pc));
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
      report(worker, "warp operation", {*worker.block, lane, lane.wait.pc}, 0, [&] { return described(worker, lane); });
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
        "; thread {}{} {} at {}{}", thread_name(*group.first), of_block(*group.block), described(worker, *group.first),
        line_of(std::get<Address>(key)),
        group.blocks.size() > 1 ? fmt::format(", as do others in {} blocks more", group.blocks.size() - 1) : "");
  }
  worker.block = running_block;
  const std::uint64_t begun = std::min<std::uint64_t>(launch.next_cluster, launch.cluster_count);
  if (launch.cluster_count > 1) {
    const std::uint64_t resident = launch.resident.load();
    const std::uint64_t ended = std::max(begun * launch.cluster_blocks, resident) - resident;
    text += fmt::format("; {} resident", resident == 1 ? "1 block is" : fmt::format("{} blocks are", resident));
    if (ended > 0) text += fmt::format(", {} ended", ended == 1 ? "1 has" : fmt::format("{} have", ended));
  }
  if (const std::uint64_t left = (launch.cluster_count - begun) * launch.cluster_blocks; left > 0)
    text += fmt::format(", and {} have not begun: the GPU holds no more", left);
  return text;
}

}  // namespace

void explain_standstill(Worker& worker) {
  worker.block->abandoned = true;
  worker.launch->stop = true;
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
  report(worker, "deadlock", {*worker.block, *first.first, pc}, 0, [&] {
    std::string text = described(worker, *first.first);
    int told = 0;
    for (const auto& [key, group] : groups) {
      const auto& [block, line, what] = key;
      if (++told == 1) {
        if (group.threads > 1) text += fmt::format(", with {} threads more", group.threads - 1);
        continue;
      }
      worker.block = blocks[block];
      text += fmt::format("; thread {}{}{} {} at {}", thread_name(*group.first),
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
