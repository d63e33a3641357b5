// Launches: checks of the grid, the workers that run it, and its counts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "common/sim/execute/execute.hpp"

namespace simt {

unsigned host_threads() {
  const char* wanted = std::getenv("SIMT_THREADS");
  const int number = wanted == nullptr ? int(std::thread::hardware_concurrency()) : std::atoi(wanted);
  return unsigned(std::clamp(number, 1, 256));
}

namespace execute {
namespace {

// --- Limits of a launch ----------------------------------------------------------------------------------------------
void check_launch(const Launch& launch) {
  constexpr std::size_t most = 8;  // blocks of a cluster, on every GPU that has clusters
  const dim3 b = launch.counts.block, g = launch.counts.grid, c = launch.counts.cluster;
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("launch of {}: {}", launch.counts.kernel, why));
  };
  if (b.x == 0 || b.y == 0 || b.z == 0 || g.x == 0 || g.y == 0 || g.z == 0) refuse("a dimension of grid or block is 0");
  if (std::uint64_t(b.x) * b.y * b.z > max_threads || b.z > 64)
    refuse(fmt::format("a block of {} x {} x {} threads; 1024 is the limit, and 64 along z", b.x, b.y, b.z));
  if (g.x > 2147483647u || g.y > 65535 || g.z > 65535) refuse("a grid has at most 65535 blocks along y and z");
  if (launch.block_count >= 1u << 24) refuse("the model runs at most 16,777,215 blocks");
  if (c.x == 0 || c.y == 0 || c.z == 0 || launch.cluster_blocks > most)
    refuse(fmt::format("a cluster of {} x {} x {} blocks; it must have 1 to {}", c.x, c.y, c.z, most));
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0)
    refuse(fmt::format("a grid of {} x {} x {} blocks is not a multiple of a cluster of {} x {} x {}", g.x, g.y, g.z,
                       c.x, c.y, c.z));
  const std::size_t fixed = launch.counts.static_shared_bytes, shared = fixed + launch.counts.dynamic_shared_bytes;
  if (fixed > 48 * 1024) refuse(fmt::format("{} bytes of static shared memory; 48 KB is the limit of a block", fixed));
  if (shared > largest_shared) refuse(fmt::format("{} bytes of shared memory; 227 KB is the limit of a block", shared));
}

// How many blocks an H200 holds at once, limited by threads and shared memory (of which 1 KB is reserved) alone.
std::size_t most_resident(const Counts& launched) {
  constexpr std::size_t sms = 132, threads_of_sm = 2048, blocks_of_sm = 32, shared_of_sm = 228 * 1024;
  const std::size_t threads = (std::size_t(launched.block.x) * launched.block.y * launched.block.z + 31) / 32 * 32;
  const std::size_t shared = (launched.static_shared_bytes + launched.dynamic_shared_bytes + 1024 + 127) / 128 * 128;
  return sms * std::max<std::size_t>(1, std::min({blocks_of_sm, threads_of_sm / threads, shared_of_sm / shared}));
}

// The first findings, at least one of each kind, causes first: a race may lead to a read of an uninitialised element, and
// such a read may keep a thread from a barrier at which others wait for it.
std::string text_of(std::vector<std::string> findings) {
  constexpr std::size_t most = 8;
  std::ranges::stable_sort(findings, {}, [](const std::string& finding) {
    const auto is = [&](const char* kind) { return finding.starts_with(kind); };
    return is("uninitialised: ") ? 1 : is("deadlock: ") || is("barrier: ") || is("warp operation: ") ? 2 : 0;
  });
  std::set<std::string> kinds;
  std::size_t shown = 0;
  std::string text;
  for (const std::string& finding : findings)
    if (kinds.insert(finding.substr(0, finding.find(':'))).second || shown < most)
      text += (shown++ == 0 ? "" : "\n") + finding;
  if (findings.size() > shown) text += fmt::format("\n... and {} more findings", findings.size() - shown);
  return text;
}

// --- Counts ----------------------------------------------------------------------------------------------------------
const std::string& name_of_array(const Launch& launch, Space space, std::uint16_t index) {
  const bool allocated = space == Space::global || space == Space::constant;
  return allocated ? launch.arrays[index]->name : launch.variables[index].name;
}

// Those lanes of an access whose addresses lie in the same array as the first; each block of a cluster has its own arrays.
unsigned lanes_with_first(const Worker& worker, const cost::Array& array, const WarpAccess& access, unsigned lanes) {
  unsigned within = lanes & -lanes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = std::size_t(std::countr_zero(lanes));
    const Address address = access.address[lane];
    if (address >= array.begin && address < array.end) within |= 1u << lane;
    if (array.space != Space::distributed) continue;
    const cost::Array own = array_of(worker, address);
    if (own.space == array.space && own.index == array.index) within |= 1u << lane;
  }
  return within;
}

void collect(Launch& launch, std::vector<Worker>& workers) {
  Counts& counts = launch.counts;
  // The compiler may duplicate an access (a peeled loop, say): the same line, operation and array are one site.
  using Name = std::tuple<std::string, int, Op, Space, std::string, int>;
  std::map<Name, Site> sites;
  const auto name_of_key = [&](const cost::SiteKey& key) {
    const Place place = hooks::place_of(hooks::image_base() + key.pc);
    return Name{place.file, place.line, key.op, key.space, name_of_array(launch, key.space, key.array), key.size};
  };
  std::map<std::uint16_t, std::vector<const cost::LastBlocks*>> touched;
  std::unordered_map<std::uint64_t, std::uint64_t> updates;  // by sector
  for (const Worker& worker : workers) {
    counts.barriers += worker.barriers;
    const auto& waits = worker.waits_for_copies;
    counts.waits_for_copies.resize(std::max(counts.waits_for_copies.size(), waits.size()));
    for (std::size_t i = 0; i < waits.size(); ++i) counts.waits_for_copies[i] += waits[i];
    counts.block_sectors += worker.tally.block_sectors;
    counts.block_store_sectors += worker.tally.block_store_sectors;
    for (const auto& [sector, times] : worker.tally.updates)
      counts.most_updates = std::max(counts.most_updates, updates[sector] += times);
    for (const auto& [key, tally] : worker.tally.sites) {
      const Name name = name_of_key(key);
      Site& site = sites[name];
      std::tie(site.file, site.line, site.op, site.space, site.array, site.width) = name;
      if (key.space == Space::global) site.element_bytes = launch.arrays[key.array]->declared.element;
      if (key.space == Space::shared) site.row_bytes = launch.variables[key.array].shape.row_bytes();
      static_cast<SiteCost&>(site) += tally;
      site.by_copy = site.by_copy || worker.copies_at.contains(key.pc);
    }
    counts.touches.insert(counts.touches.end(), worker.touches.begin(), worker.touches.end());
    for (const auto* by_array : {&worker.tally.loaded_by, &worker.tally.stored_by})
      for (const auto& [array, last_blocks] : *by_array) touched[array].push_back(&last_blocks);
  }
  for (const auto& [array, by_worker] : touched)
    for (std::size_t sector = 0; sector < by_worker.front()->size(); ++sector)
      counts.grid_sectors += std::ranges::any_of(by_worker, [&](const auto* last) { return (*last)[sector] != 0; });
  for (const auto& [name, site] : sites) counts.sites.push_back(site);
  for (const Worker& worker : workers)
    for (const auto& [key, offsets] : worker.tally.samples)
      counts.samples.push_back({std::size_t(std::distance(sites.begin(), sites.find(name_of_key(key)))), offsets});
  std::ranges::sort(counts.samples, {}, &Sample::site);
}

// --- The trace to which launches report while simt::trace runs -------------------------------------------------------
struct Collector {
  Trace options;
  bool runs = true;  // otherwise launches are only described
  std::vector<Counts> counts{};
};
Collector* collector = nullptr;

std::vector<Counts> collected(const std::function<void()>& work, Collector mine) {
  if (collector != nullptr) throw std::logic_error("simt::trace and simt::launches do not nest");
  collector = &mine;
  const std::shared_ptr<void> reset(nullptr, [](void*) { collector = nullptr; });
  work();
  return std::move(mine.counts);
}

}  // namespace

void count_warp(Worker& worker, std::span<Lane> warp) {
  Block& block = *worker.block;
  const Trace& options = worker.launch->options;
  const dim3 grid = worker.launch->counts.grid, wanted = options.sample_block;
  const bool sampled_block = block.index.x == std::min(wanted.x, grid.x - 1) &&
                             block.index.y == std::min(wanted.y, grid.y - 1) &&
                             block.index.z == std::min(wanted.z, grid.z - 1);
  const bool sampled = sampled_block && warp.front().linear == 0;
  std::array<const cost::Log*, 32> logs{};
  for (std::size_t l = 0; l < warp.size(); ++l) {
    logs[l] = &warp[l].log;
    if (!sampled_block || !options.keep_touches) continue;
    for (const cost::LogEntry& entry : warp[l].log) {
      const cost::Array array = array_of(worker, entry.address);
      worker.touches.push_back({int(block.interval), warp[l].linear, entry.op,
                                name_of_array(*worker.launch, array.space, array.index),
                                std::int64_t(entry.address - array.counted_from), int(entry.size)});
    }
  }
  cost::for_each_request(logs, [&](const cost::LogEntry& entry, const WarpAccess& access, bool same_turn) {
    // Counts are kept by array: lanes with different arrays count as one request for each, marked as a guess.
    WarpAccess part = access;
    for (unsigned rest = access.active; rest != 0; rest &= ~part.active) {
      const cost::Array array = array_of(worker, access.address[std::size_t(std::countr_zero(rest))]);
      part.active = lanes_with_first(worker, array, access, rest);
      worker.tally.add(entry, part, same_turn && part.active == access.active, array, block.serial, sampled);
    }
  });
  for (Lane& lane : warp) {
    lane.log.clear();
    worker.empty_logs.push_back(std::move(lane.log));
  }
}

namespace {

// A snapshot of everything that a launch may change.
struct Memory {
  std::vector<Region*> arrays;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::shared_ptr<order::GlobalCells>> cells;

  explicit Memory(const Launch& launch) : arrays(launch.arrays) {
    for (const Region* region : arrays) {
      const auto* first = reinterpret_cast<const std::byte*>(region->begin);
      bytes.emplace_back(first, first + (region->end - region->begin));
      cells.push_back(region->cells);
    }
  }
  void restore() const {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      std::memcpy(reinterpret_cast<void*>(arrays[i]->begin), bytes[i].data(), bytes[i].size());
      arrays[i]->cells = cells[i];
    }
  }
};

// Throws Error if a traced launch changed memory by a store that the compiler did not announce.
void require_announced_stores(const Launch& launch, const Memory& before) {
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    const Region& region = *launch.arrays[i];
    const auto* now = reinterpret_cast<const std::byte*>(region.begin);
    for (std::size_t at = 0; at < before.bytes[i].size(); at += region.element) {
      if (std::memcmp(&before.bytes[i][at], now + at, region.element) == 0) continue;
      const std::size_t element = at / region.element;
      if (region.cells->written(element) || !region.inside(element)) continue;
      throw Error(fmt::format(
          "unsupported: {} changed {} by a store that the compiler did not announce to the model: its counts would be "
          "wrong",
          launch.counts.kernel, element_name(target_of(region), region.begin + at)));
    }
  }
}

std::unique_ptr<Launch> prepared(const BoundKernel& kernel, const Counts& described) {
  auto made = std::make_unique<Launch>();
  Launch& launch = *made;
  launch.kernel = &kernel;
  launch.counts = described;
  const dim3 grid = described.grid, cluster = described.cluster;
  launch.block_count = std::uint64_t(grid.x) * grid.y * grid.z;
  launch.cluster_blocks = std::size_t(cluster.x) * cluster.y * cluster.z;
  launch.traced = collector != nullptr;
  if (launch.traced) launch.options = collector->options;
  place_shared_memory(launch);
  check_launch(launch);
  launch.cluster_count = launch.block_count / launch.cluster_blocks;
  launch.most_resident = most_resident(launch.counts);
  for (auto& [begin, region] : hooks::regions().by_begin) launch.arrays.push_back(&region);
  return made;
}

std::vector<Worker> run_workers(std::size_t host_threads, Launch& launch) {
  describe_layout(launch);
  if (launch.traced)
    for (Region* region : launch.arrays) {
      region->element = std::min(region->element, region->next_element);
      region->cells = std::make_shared<order::GlobalCells>(region->elements());
    }
  std::vector<Worker> workers(host_threads);
  std::vector<std::jthread> threads;
  for (Worker& worker : workers) {
    worker.launch = &launch;
    worker.traced = launch.traced;
    threads.emplace_back([&worker] { run_blocks(worker); });
  }
  threads.clear();  // waits for them
  return workers;
}

// Only one if memory is too large to copy: then a launch whose blocks turn out to communicate could not be restarted.
std::size_t useful_threads(const Launch& launch) {
  constexpr std::size_t most_kept = std::size_t(1) << 30;
  std::size_t bytes = 0;
  for (const Region* region : launch.arrays) bytes += region->end - region->begin;
  if (bytes > most_kept) return 1;
  return std::min<std::size_t>({host_threads(), launch.cluster_count, launch.most_resident / launch.cluster_blocks});
}

}  // namespace
}  // namespace execute

void run(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes, dim3 cluster) {
  using namespace execute;
  if (running != nullptr) {
    const hooks::ScopedIgnore ignore;
    running->refuse(Address(__builtin_return_address(0)), "launches a kernel, which only the host may do");
  }
  Counts described{hooks::function_name(kernel.address), kernel.address, grid, block, cluster};
  described.dynamic_shared_bytes = shared_bytes;
  auto launch = prepared(kernel, described);
  if (launch->traced && !collector->runs) {
    collector->counts.push_back(std::move(launch->counts));
    return;
  }
  const std::size_t threads = useful_threads(*launch);
  const std::optional<Memory> before = threads > 1 || launch->traced ? std::optional<Memory>(*launch) : std::nullopt;
  std::vector<Worker> workers;
  const auto run_as = [&](Schedule schedule) {
    do {
      if (!workers.empty()) {  // something has run
        before->restore();
        launch = prepared(kernel, described);
      }
      launch->schedule = schedule;
      workers = run_workers(schedule == Schedule::parallel ? threads : 1, *launch);
    } while (launch->begins_anew);
  };
  run_as(threads > 1 ? Schedule::parallel : Schedule::run_on);
  if (launch->schedule == Schedule::parallel && (launch->communicates || !launch->findings.empty())) {
    // Which blocks ran at the same time is chance, and so are findings, of which one may end the run before others are made.
    const auto by_chance = launch->communicates ? decltype(launch->findings)() : launch->findings;
    run_as(Schedule::run_on);
    if (launch->findings.empty()) launch->findings = by_chance;
  }
  if (!launch->findings.empty()) throw Error(text_of(launch->findings));
  if (!launch->traced) return;

  require_announced_stores(*launch, *before);
  launch->counts.static_shared_bytes = static_bytes(*launch);  // now with all variables that were touched
  check_launch(*launch);
  collect(*launch, workers);
  collector->counts.push_back(std::move(launch->counts));
  if (!launch->signals || !launch->options.report_races) return;
  const Memory after(*launch);
  run_as(Schedule::make_way);
  after.restore();
  if (!launch->findings.empty()) throw Error(text_of(launch->findings));
}

std::vector<Counts> trace(const std::function<void()>& work, const Trace& options) {
  return execute::collected(work, {.options = options});
}

std::vector<Counts> launches(const std::function<void()>& work) {
  return execute::collected(work, {.options = {}, .runs = false});
}

}  // namespace simt
