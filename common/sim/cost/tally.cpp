#include "common/sim/cost/tally.hpp"

#include <set>

namespace simt::cost {
namespace {

// How many sectors of the access this block touches for the first time.
std::uint64_t first_touches(LastBlocks& last_block, const Array& array, const WarpAccess& access, std::uint32_t block) {
  std::uint64_t fresh = 0;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (!(access.active >> lane & 1u)) continue;
    const std::uint64_t sector = (access.address[lane] - array.begin) / 32;
    if (last_block[sector] != block) last_block[sector] = block, ++fresh;
  }
  return fresh;
}

LastBlocks& of_array(std::map<std::uint16_t, LastBlocks>& by_array, const Array& array) {
  return by_array.try_emplace(array.index, array).first->second;
}

}  // namespace

SiteTally& Tally::add_to(const SiteKey& key, const SiteCost& cost, std::uint64_t new_sectors) {
  (key.op == Op::load || key.op == Op::bulk_load ? block_sectors : block_store_sectors) += new_sectors;
  SiteTally& tally = sites[key];
  tally += cost;
  return tally;
}

void Tally::add(const LogEntry& entry, const WarpAccess& access, bool same_turn, const Array& array,
                std::uint32_t block, bool sampled) {
  const SiteKey key{entry.pc, entry.op, array.space, entry.size, array.index};
  SiteCost cost;
  cost.requests = 1;
  cost.estimated = !same_turn;
  cost.accesses = std::uint64_t(std::popcount(access.active));
  if (array.space == Space::distributed) {  // the rule by which it is served is not known
    add_to(key, cost, 0);
    return;
  }
  std::uint64_t new_sectors = 0;
  if (array.space == Space::shared) {
    cost.wavefronts = std::uint64_t(shared_wavefronts(access, entry.op == Op::load));
    cost.at_least = entry.op == Op::atomic;
  } else if (array.space == Space::constant) {
    cost.wavefronts = std::uint64_t(constant_requests(access));
  } else {
    cost.sectors = std::uint64_t(sectors_of(access));
    cost.lines = std::uint64_t(lines_of(access));
    WarpAccess in_array = access;  // tag banks are a function of the offset in the allocation
    for (std::uint64_t& address : in_array.address) address -= array.begin;
    cost.tag_passes = std::uint64_t(tag_passes(in_array));
    cost.l1_wavefronts = std::uint64_t(global_wavefronts(in_array, entry.op == Op::load));
    cost.l1_cycles = std::max(cost.tag_passes, cost.l1_wavefronts);
    cost.at_least = entry.op == Op::store && !exact_for_store(in_array);
    std::set<std::uint64_t> updated;
    for (std::size_t lane = 0; lane < 32 && entry.op == Op::atomic; ++lane)
      if ((access.active >> lane & 1u) && updated.insert(access.address[lane]).second)
        ++updates[access.address[lane] / 32];
    new_sectors = first_touches(of_array(entry.op == Op::load ? loaded_by : stored_by, array), array, access, block);
  }
  SiteTally& tally = add_to(key, cost, new_sectors);
  if (!sampled || tally.is_sampled) return;
  tally.is_sampled = true;
  auto& offsets = samples.emplace_back(key, std::array<std::int64_t, 32>{}).second;
  for (std::size_t lane = 0; lane < 32; ++lane)
    offsets[lane] = access.active >> lane & 1u ? std::int64_t(access.address[lane] - array.counted_from) : -1;
}

void Tally::add_bulk(const SiteKey& key, const Array& array,
                     const std::vector<std::pair<std::uint64_t, std::uint64_t>>& rows, std::uint32_t block) {
  SiteCost cost;
  cost.requests = 1;
  for (const auto& [begin, end] : rows) {
    cost.accesses += (end - begin) / key.size;
    if (array.space == Space::shared) continue;
    LastBlocks& last_block = of_array(key.op == Op::bulk_load ? loaded_by : stored_by, array);
    const std::uint64_t first = (begin - array.begin) / 32, last = (end - 1 - array.begin) / 32;
    for (std::uint64_t sector = first; sector <= last; ++sector) last_block[sector] = block;
    cost.sectors += last - first + 1;
  }
  add_to(key, cost, cost.sectors);
}

}  // namespace simt::cost
