// From the logs of 32 lanes to requests, sectors, lines and wavefronts.
#include <algorithm>
#include <cstring>

#include "common/model/internal.hpp"
#include "common/model/rules.hpp"

namespace simt {

namespace internal {
namespace {

// Counts the sectors of one warp-wide global access that this block had not touched before.
std::uint64_t first_touches(std::vector<std::uint32_t>& last_block, const Region& region, const WarpAccess& access,
                            std::uint32_t block_serial) {
  if (last_block.empty()) last_block.resize((region.end - region.begin + 31) / 32 + 1);
  std::uint64_t fresh = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(access.active >> lane & 1u)) continue;
    const std::uint64_t sector = (access.address[lane] - region.begin) / 32;
    if (last_block[sector] != block_serial) last_block[sector] = block_serial, ++fresh;
  }
  return fresh;
}

struct Identity {
  Space space;
  std::uint16_t array;
  Address begin;  // of the matrix where one is declared, else of the array
};

Identity identify(Worker& worker, Address address) {
  if (address - worker.tls_begin < worker.tls_size) {
    const auto index = std::uint16_t(worker.variable_at[address - worker.tls_begin] - 1);
    return {Space::shared, index, worker.tls_begin + worker.launch->variables[index].offset};
  }
  const auto& arrays = worker.launch->arrays;
  const auto after =
      std::upper_bound(arrays.begin(), arrays.end(), address, [](Address a, const Region* r) { return a < r->begin; });
  const Region& region = **(after - 1);
  return {Space::global, std::uint16_t(after - arrays.begin() - 1), region.begin + region.first * region.element};
}

void count_access(Worker& worker, const LogEntry& entry, const WarpAccess& access, bool sampled_warp, bool same_turn) {
  const Identity identity = identify(worker, access.address[__builtin_ctz(access.active)]);
  const SiteKey key{entry.pc, entry.op, identity.space, entry.size, identity.array};
  SiteTally& tally = worker.tallies[key];
  ++tally.requests;
  tally.estimated = tally.estimated || !same_turn;
  tally.accesses += std::uint64_t(__builtin_popcount(access.active));
  if (identity.space == Space::shared) {
    tally.wavefronts += std::uint64_t(shared_wavefronts(access, entry.op == Op::load));
  } else {
    tally.sectors += std::uint64_t(distinct_blocks(access, 5));
    tally.lines += std::uint64_t(distinct_blocks(access, 7));
    const Region* region = worker.launch->arrays[identity.array];
    WarpAccess in_region = access;  // the hash of the tag banks starts with the allocation
    for (std::uint64_t& address : in_region.address) address -= region->begin;
    const auto passes = std::uint64_t(tag_passes(in_region)),
               wavefronts = std::uint64_t(global_wavefronts(in_region, entry.op == Op::load));
    tally.tag_passes += passes;
    tally.l1_wavefronts += wavefronts;
    tally.l1_cycles += std::max(passes, wavefronts);
    if (entry.op == Op::load)
      worker.block_sectors += first_touches(worker.loaded_by[region], *region, access, worker.block_serial);
    else
      worker.block_store_sectors += first_touches(worker.stored_by[region], *region, access, worker.block_serial);
  }
  if (sampled_warp && !tally.sampled) {
    tally.sampled = true;
    Sample sample;
    for (int lane = 0; lane < 32; ++lane)
      sample.byte_offset[lane] = access.active >> lane & 1u ? std::int64_t(access.address[lane] - identity.begin) : -1;
    worker.samples.emplace_back(key, sample);
  }
}

bool same_site(const LogEntry& a, const LogEntry& b) { return a.pc == b.pc && a.op == b.op && a.size == b.size; }

void keep_touches(Worker& worker, int first_lane, int lane_count) {
  for (int lane = first_lane; lane < first_lane + lane_count; ++lane)
    for (const LogEntry& entry : worker.lanes[lane].log) {
      const Identity identity = identify(worker, entry.address);
      const std::string& array = identity.space == Space::shared ? worker.launch->variables[identity.array].name
                                                                 : worker.launch->arrays[identity.array]->name;
      worker.touches.push_back(
          {int(worker.interval), lane, entry.op, array, std::int64_t(entry.address - identity.begin), int(entry.size)});
    }
}

}  // namespace

// Lanes run one after the other, so the warp's common accesses are found again afterwards: the k-th execution of
// an instruction between two barriers by one lane belongs with the k-th by another. Where all lanes ran the same
// instructions (the usual case) that is entry i of every log.
void count_warp(Worker& worker, int first_lane, int lane_count) {
  const LaunchState& launch = *worker.launch;
  const dim3 sample = launch.options.sample_block;
  const bool sampled_block = worker.block.x == sample.x && worker.block.y == sample.y && worker.block.z == sample.z;
  const bool sampled_warp = sampled_block && first_lane / 32 == launch.options.sample_warp;
  if (sampled_block && launch.options.keep_touches) keep_touches(worker, first_lane, lane_count);

  std::array<const std::vector<LogEntry>*, 32> logs{};
  unsigned participating = 0;
  std::size_t shortest = ~std::size_t(0), longest = 0;
  for (int lane = 0; lane < lane_count; ++lane) {
    logs[lane] = &worker.lanes[first_lane + lane].log;
    if (logs[lane]->empty()) continue;
    participating |= 1u << lane;
    shortest = std::min(shortest, logs[lane]->size());
    longest = std::max(longest, logs[lane]->size());
  }
  if (participating == 0) return;

  const int leader = __builtin_ctz(participating);
  std::size_t i = 0;
  for (; i < shortest; ++i) {
    const LogEntry& entry = (*logs[leader])[i];
    WarpAccess access{{}, participating, entry.size};
    bool convergent = true, same_turn = true;
    for (unsigned rest = participating; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const LogEntry& own = (*logs[lane])[i];
      convergent = convergent && same_site(own, entry);
      same_turn = same_turn && own.turns == entry.turns && own.turns != unknown_turns;
      access.address[lane] = own.address;
    }
    if (!convergent) break;
    count_access(worker, entry, access, sampled_warp, same_turn);
  }
  if (i < longest) {  // the lanes diverged: group what is left by (instruction, how often this lane ran it)
    struct Group {
      LogEntry entry{};
      WarpAccess access;
      bool same_turn = true;
    };
    std::map<std::tuple<std::size_t, std::uint32_t, Op, std::uint8_t>, Group> groups;
    for (int lane = 0; lane < lane_count; ++lane) {
      std::map<std::tuple<std::uint32_t, Op, std::uint8_t>, std::size_t> times;
      for (std::size_t j = i; j < logs[lane]->size(); ++j) {
        const LogEntry& own = (*logs[lane])[j];
        const std::size_t k = times[{own.pc, own.op, own.size}]++;
        Group& group = groups[{k, own.pc, own.op, own.size}];
        group.same_turn = group.same_turn && own.turns != unknown_turns &&
                          (group.access.active == 0 || group.entry.turns == own.turns);
        group.entry = own;
        group.access.size = own.size;
        group.access.active |= 1u << lane;
        group.access.address[lane] = own.address;
      }
    }
    for (const auto& [key, group] : groups)
      count_access(worker, group.entry, group.access, sampled_warp, group.same_turn);
  }
  for (int lane = 0; lane < lane_count; ++lane) worker.lanes[first_lane + lane].log.clear();
}

}  // namespace internal
}  // namespace simt
