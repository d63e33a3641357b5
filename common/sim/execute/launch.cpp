// Launches: what a grid may be, which workers run it, and where its counts go.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/sim/execute/arrays.hpp"
#include "common/sim/execute/execute.hpp"

namespace simt {

unsigned host_threads() {
  const char* wanted = std::getenv("SIMT_THREADS");
  const int number = wanted == nullptr ? int(std::thread::hardware_concurrency()) : std::atoi(wanted);
  return unsigned(std::clamp(number, 1, 256));
}

namespace execute {
namespace {

// The trace that launches report to, while simt::trace runs.
struct Collector {
  Trace options;
  bool runs = true;  // else launches are only described
  std::vector<Counts> counts;
};
Collector* collector = nullptr;

// The GPU that launches are imagined on: how many blocks it holds at once, by threads and shared memory alone.
constexpr std::size_t sms = 132, threads_of_sm = 2048, blocks_of_sm = 32, shared_of_sm = 228 * 1024;

constexpr std::size_t most_blocks_of_cluster = 8;  // on every GPU that has clusters

void check_launch(const Launch& launch) {
  const dim3 b = launch.block, g = launch.grid;
  const auto refuse = [&](const std::string& why) { throw Error(fmt::format("launch of {}: {}", launch.name, why)); };
  if (b.x == 0 || b.y == 0 || b.z == 0 || g.x == 0 || g.y == 0 || g.z == 0) refuse("an extent of grid or block is 0");
  if (std::uint64_t(b.x) * b.y * b.z > max_threads || b.z > 64)
    refuse(fmt::format("a block of {} x {} x {} threads; 1024 is the limit, 64 along z", b.x, b.y, b.z));
  if (g.x > 2147483647u || g.y > 65535 || g.z > 65535) refuse("grid y and z end at 65535");
  if (launch.block_count >= 1u << 24) refuse("the model runs at most 16,777,215 blocks");
  const dim3 c = launch.cluster;
  if (c.x == 0 || c.y == 0 || c.z == 0 || launch.cluster_blocks > most_blocks_of_cluster)
    refuse(
        fmt::format("a cluster of {} x {} x {} blocks; 1 to {} are possible", c.x, c.y, c.z, most_blocks_of_cluster));
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0)
    refuse(fmt::format("a grid of {} x {} x {} blocks is no multiple of a cluster of {} x {} x {}", g.x, g.y, g.z, c.x,
                       c.y, c.z));
  const std::size_t shared = launch.static_shared + launch.dynamic_shared;
  if (launch.static_shared > 48 * 1024)
    refuse(fmt::format("{} bytes of static shared memory; 48 KB is the limit of a block", launch.static_shared));
  if (shared > largest_shared) refuse(fmt::format("{} bytes of shared memory; 227 KB is the limit of a block", shared));
}

// Of the grid only the blocks that the options name are to run.
void choose_blocks(Launch& launch) {
  const dim3 g = launch.grid;
  for (const uint3& only : launch.options.only_blocks) {
    const std::string name = fmt::format("block ({},{},{})", only.x, only.y, only.z);
    if (only.x >= g.x || only.y >= g.y || only.z >= g.z)
      throw Error(fmt::format("launch of {}: a grid of {} x {} x {} has no {}", launch.name, g.x, g.y, g.z, name));
    if (launch.cluster_blocks > 1)
      throw Error(fmt::format("launch of {}: {} is one of a cluster, and does not run alone", launch.name, name));
    launch.only_blocks.push_back((std::uint64_t(only.z) * g.y + only.y) * g.x + only.x);
  }
  if (launch.only_blocks.empty()) return;
  const uint3& first = launch.options.only_blocks.front();
  launch.options.sample_block = dim3(first.x, first.y, first.z);
  launch.cluster_count = launch.only_blocks.size();
}

std::size_t most_resident(const Launch& launch) {
  const std::size_t threads = (std::size_t(launch.block.x) * launch.block.y * launch.block.z + 31) / 32 * 32;
  const std::size_t shared = launch.static_shared + launch.dynamic_shared + 1024;  // 1 KB is the system's
  return sms * std::max<std::size_t>(1, std::min({blocks_of_sm, threads_of_sm / threads, shared_of_sm / shared}));
}

// The first findings, but of each kind at least one. Reads of what nobody wrote come last: they may be what a race leaves.
std::string text_of(std::vector<std::string> findings) {
  constexpr std::size_t most = 8;
  std::stable_partition(findings.begin(), findings.end(),
                        [](const std::string& finding) { return !finding.starts_with("uninitialised: "); });
  std::set<std::string> kinds;
  std::vector<bool> is_first_of_kind;
  for (const std::string& finding : findings)
    is_first_of_kind.push_back(kinds.insert(finding.substr(0, finding.find(':'))).second);
  std::size_t others = most - std::min(most, kinds.size()), shown = 0;
  std::string text;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!is_first_of_kind[i] && others == 0) continue;
    if (!is_first_of_kind[i]) --others;
    text += (shown++ == 0 ? "" : "\n") + findings[i];
  }
  if (findings.size() > shown) text += fmt::format("\n... and {} more findings", findings.size() - shown);
  return text;
}

std::vector<Counts> collected(const std::function<void()>& work, const Collector& how) {
  if (collector != nullptr) throw std::logic_error("simt::trace and simt::launches do not nest");
  Collector mine = how;
  collector = &mine;
  try {
    work();
  } catch (...) {
    collector = nullptr;
    throw;
  }
  collector = nullptr;
  return std::move(mine.counts);
}

}  // namespace
}  // namespace execute

void run(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes, dim3 cluster) {
  using namespace execute;
  if (running != nullptr) {
    const announce::Unheard unheard;
    running->refuse(Address(__builtin_return_address(0)), "launches a kernel, which only the host may");
  }
  Launch launch;
  launch.kernel = &kernel;
  launch.name = announce::function_name(kernel.address);
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared = shared_bytes;
  launch.cluster = cluster;
  launch.block_count = std::uint64_t(grid.x) * grid.y * grid.z;
  launch.cluster_blocks = std::size_t(cluster.x) * cluster.y * cluster.z;
  launch.traced = collector != nullptr;
  launch.bounds = bounds_of_launch();
  if (launch.traced) launch.options = collector->options;
  place_shared_memory(launch);
  check_launch(launch);
  launch.cluster_count = launch.block_count / launch.cluster_blocks;
  launch.most_resident = most_resident(launch);
  choose_blocks(launch);
  const bool whole = launch.only_blocks.empty();
  if (collector != nullptr && !collector->runs) {
    collector->counts.push_back(description_of(launch));
    return;
  }
  describe_layout(launch);
  for (auto& [begin, region] : announce::regions().by_begin) {
    launch.arrays.push_back(&region);
    if (!launch.traced) continue;
    region.cells = std::make_shared<order::GlobalCells>(region.elements());
    if (!whole) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(begin);
    launch.before.emplace_back(bytes, bytes + (region.end - begin));
  }

  const auto start = std::chrono::steady_clock::now();
  std::vector<Worker> workers(std::size_t(std::min<std::uint64_t>(host_threads(), launch.cluster_count)));
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    worker.launch = &launch;
    worker.traced = launch.traced;
    worker.tally.keep_blocks = !whole;
    launch.live_workers.push_back(&worker);
  }
  launch.watched_workers = launch.traced ? 0 : workers.size();
  for (Worker& worker : workers) threads.emplace_back([&worker] { run_blocks(worker); });
  if (!launch.traced) watch_until_done(launch, workers);
  for (auto& thread : threads) thread.join();

  if (!launch.findings.empty()) throw Error(text_of(launch.findings));
  if (launch.traced) {
    if (whole) require_announced_stores(launch);
    launch.static_shared = static_bytes(launch);  // with what turned out to be part of it
    check_launch(launch);
    collector->counts.push_back(collect(launch, workers));
    collector->counts.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

std::vector<Counts> trace(const std::function<void()>& work, const Trace& options) {
  return execute::collected(work, {.options = options, .runs = true, .counts = {}});
}

std::vector<Counts> launches(const std::function<void()>& work) {
  return execute::collected(work, {.options = {}, .runs = false, .counts = {}});
}

}  // namespace simt
