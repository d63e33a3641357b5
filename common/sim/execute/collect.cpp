// From what the workers counted to the Counts of a launch.
#include <algorithm>
#include <functional>
#include <map>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/execute.hpp"

namespace simt::execute {
namespace {

const std::string& name_of_array(const Launch& launch, Space space, std::uint16_t index) {
  const bool allocated = space == Space::global || space == Space::constant;
  return allocated ? launch.arrays[index]->name : launch.variables[index].name;
}

void keep_touches(Worker& worker, int first_lane, int lane_count) {
  for (int lane = first_lane; lane < first_lane + lane_count; ++lane)
    for (const account::LogEntry& entry : worker.block->lanes[std::size_t(lane)].log) {
      const account::Array array = array_of(worker, entry.address);
      worker.touches.push_back({int(worker.block->interval), lane, entry.op,
                                name_of_array(*worker.launch, array.space, array.index),
                                std::int64_t(entry.address - array.counted_from), int(entry.size)});
    }
}

// The lanes of an access, of those given, whose addresses lie in the array of the first; of a cluster's blocks each has its own.
unsigned lanes_with_first(const Worker& worker, const account::Array& array, const WarpAccess& access, unsigned lanes) {
  unsigned within = lanes & -lanes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = std::size_t(std::countr_zero(lanes));
    const Address address = access.address[lane];
    if (address >= array.begin && address < array.end) within |= 1u << lane;
    if (array.space != Space::distributed) continue;
    const account::Array own = array_of(worker, address);
    if (own.space == array.space && own.index == array.index) within |= 1u << lane;
  }
  return within;
}

// The block that the options name, or the last one along an axis that has no such block.
bool is_sampled(const uint3& block, const dim3& grid, const dim3& sampled) {
  return block.x == std::min(sampled.x, grid.x - 1) && block.y == std::min(sampled.y, grid.y - 1) &&
         block.z == std::min(sampled.z, grid.z - 1);
}

}  // namespace

void count_warp(Worker& worker, int first_lane, int lane_count) {
  Block& block = *worker.block;
  ++worker.counted_warps;
  const Trace& options = worker.launch->options;
  const bool sampled_block = is_sampled(block.index, worker.launch->grid, options.sample_block);
  const bool sampled = sampled_block && first_lane / 32 == options.sample_warp;
  if (sampled_block && options.keep_touches) keep_touches(worker, first_lane, lane_count);
  std::array<const account::Log*, 32> logs{};
  for (int lane = 0; lane < lane_count; ++lane)
    logs[std::size_t(lane)] = &block.lanes[std::size_t(first_lane + lane)].log;
  account::for_each_request(logs, [&](const account::LogEntry& entry, const WarpAccess& access, bool same_turn) {
    // Counts are by array: lanes with different ones are counted as one request for each, and marked as a guess.
    WarpAccess part = access;
    for (unsigned rest = access.active; rest != 0; rest &= ~part.active) {
      const account::Array array = array_of(worker, access.address[std::size_t(std::countr_zero(rest))]);
      part.active = lanes_with_first(worker, array, access, rest);
      worker.tally.add(entry, part, same_turn && part.active == access.active, array, block.serial, sampled);
    }
  });
  for (int lane = 0; lane < lane_count; ++lane) {
    account::Log& log = block.lanes[std::size_t(first_lane + lane)].log;
    log.clear();
    worker.empty_logs.push_back(std::move(log));
  }
}

void add_each(const std::vector<std::uint64_t>& more, std::vector<std::uint64_t>& sums) {
  sums.resize(std::max(sums.size(), more.size()));
  std::transform(more.begin(), more.end(), sums.begin(), sums.begin(), std::plus{});
}

std::size_t static_bytes(const Launch& launch) {
  std::size_t bytes = 0;
  for (const PlacedVariable& v : launch.variables) {
    if (v.is_dynamic || !v.placed()) continue;
    std::size_t alignment = 16;
    while (alignment > 1 && v.size % alignment != 0) alignment /= 2;
    bytes = (bytes + alignment - 1) / alignment * alignment + v.size;
  }
  return bytes;
}

Counts description_of(const Launch& launch) {
  Counts counts;
  counts.kernel = launch.name;
  counts.function = launch.kernel->address;
  counts.grid = launch.grid;
  counts.block = launch.block;
  counts.cluster = launch.cluster;
  counts.static_shared_bytes = launch.static_shared;
  counts.dynamic_shared_bytes = launch.dynamic_shared;
  return counts;
}

Counts collect(Launch& launch, std::vector<Worker>& workers) {
  Counts counts = description_of(launch);
  // The compiler may have copied an access (a peeled loop, say): same line, operation and array are one site.
  using Name = std::tuple<std::string, int, Op, Space, std::string, int>;
  std::map<Name, Site> sites;
  std::map<std::uint32_t, BlockCounts> of_blocks;  // by number
  const auto name_of_key = [&](const account::SiteKey& key) {
    const Place place = announce::place_of(announce::image_base() + key.pc);
    return Name{place.file, place.line, key.op, key.space, name_of_array(launch, key.space, key.array), key.size};
  };
  std::map<std::uint16_t, std::vector<bool>> touched;
  for (Worker& worker : workers) {
    counts.barriers += worker.barriers;
    add_each(worker.waits_for_copies, counts.waits_for_copies);
    counts.block_sectors += worker.tally.block_sectors;
    counts.block_store_sectors += worker.tally.block_store_sectors;
    std::unordered_map<account::SiteKey, Name, account::SiteKeyHash> names;
    const auto add = [&](const account::SiteKey& key, const account::SiteTally& tally, std::map<Name, Site>& to) {
      const Name& name = names.at(key);
      Site& site = to[name];
      std::tie(site.file, site.line, site.op, site.space, site.array, site.width) = name;
      if (key.space == Space::global) {
        site.element_bytes = launch.arrays[key.array]->declared.element;
        site.element_alignment = launch.arrays[key.array]->alignment;
      }
      if (key.space == Space::shared) site.row_bytes = launch.variables[key.array].shape.row_bytes();
      site.requests += tally.requests;
      site.accesses += tally.accesses;
      site.sectors += tally.sectors;
      site.lines += tally.lines;
      site.tag_passes += tally.tag_passes;
      site.l1_wavefronts += tally.l1_wavefronts;
      site.wavefronts += tally.wavefronts;
      site.l1_cycles += tally.l1_cycles;
      site.estimated = site.estimated || tally.estimated;
      if (const auto moved = worker.structs_at.find(key.pc); moved != worker.structs_at.end())
        site.struct_bytes = std::max(site.struct_bytes, moved->second);
      site.by_copy = site.by_copy || worker.copies_at.contains(key.pc);
    };
    for (const auto& [key, tally] : worker.tally.sites) {
      names.emplace(key, name_of_key(key));
      add(key, tally, sites);
    }
    for (const auto& [number, block] : worker.tally.blocks) {
      of_blocks[number] = {{}, block.barriers, block.sectors, block.store_sectors, block.waits_for_copies, {}};
      std::map<Name, Site> own;
      for (const auto& [key, tally] : block.sites) add(key, tally, own);
      for (const auto& [name, site] : own) of_blocks[number].sites.push_back(site);
    }
    counts.touches.insert(counts.touches.end(), worker.touches.begin(), worker.touches.end());
    if (!launch.only_blocks.empty()) continue;
    for (const auto* by_array : {&worker.tally.loaded_by, &worker.tally.stored_by})
      for (const auto& [array, serials] : *by_array) {
        auto& bits = touched[array];
        bits.resize(std::max(bits.size(), serials.size()));
        for (std::size_t i = 0; i < serials.size(); ++i)
          if (serials[i] != 0) bits[i] = true;
      }
  }
  for (const auto& [array, bits] : touched)
    counts.grid_sectors += std::uint64_t(std::count(bits.begin(), bits.end(), true));
  for (const auto& [name, site] : sites) counts.sites.push_back(site);
  for (std::size_t i = 0; i < launch.only_blocks.size(); ++i) {
    counts.of_blocks.push_back(of_blocks.at(std::uint32_t(launch.only_blocks[i]) + 1));
    counts.of_blocks.back().block = launch.options.only_blocks[i];
  }
  for (Worker& worker : workers)
    for (const account::SampledAccess& sampled : worker.tally.samples) {
      Sample sample;
      sample.site = std::size_t(std::distance(sites.begin(), sites.find(name_of_key(sampled.key))));
      std::copy(sampled.offsets.begin(), sampled.offsets.end(), sample.byte_offset);
      sample.in_a_row = sampled.in_a_row;
      counts.samples.push_back(sample);
    }
  std::sort(counts.samples.begin(), counts.samples.end(), [](auto& a, auto& b) { return a.site < b.site; });
  return counts;
}

}  // namespace simt::execute
