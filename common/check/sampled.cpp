#include "common/check/sampled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/operands.hpp"
#include "common/check/traced.hpp"

namespace tile {
namespace {

/// A block, the one of its kind that is farthest from it, and how many are of that kind.
struct Kind {
  uint3 block, witness;
  std::uint64_t alike;
};

std::uint64_t blocks_of(const dim3& grid) { return std::uint64_t(grid.x) * grid.y * grid.z; }

// Those inside the grid, and those at its last column and its last row.
std::vector<Kind> kinds_by_edges(const dim3& grid) {
  std::vector<Kind> kinds;
  for (const unsigned y : std::set{0u, grid.y - 1})
    for (const unsigned x : std::set{0u, grid.x - 1}) {
      const unsigned columns = x == grid.x - 1 ? 1 : grid.x - 1, rows = y == grid.y - 1 ? 1 : grid.y - 1;
      kinds.push_back({{x, y, 0}, {x + columns - 1, y + rows - 1, 0}, std::uint64_t(columns) * rows});
    }
  return kinds;
}

// What two blocks do that stand for each other, by site: "" or the first difference. What depends on where in memory their parts lie
// is not asked.
std::string difference(const simt::Counts& one, const simt::Counts& other) {
  if (one.barriers != other.barriers) return fmt::format("{} barriers and {}", one.barriers, other.barriers);
  using Work = std::map<std::pair<int, std::string>, std::pair<std::uint64_t, std::uint64_t>>;
  const auto work_of = [](const simt::Counts& counts) {
    Work work;
    for (const simt::Site& site : counts.sites) {
      auto& [requests, accesses] = work[{site.line, site.array}];
      requests += site.requests, accesses += site.accesses;
    }
    return work;
  };
  Work all = work_of(one), others = work_of(other);
  for (const auto& [place, work] : others) all.try_emplace(place);
  for (const auto& [place, work] : all)
    if (work != others[place])
      return fmt::format("line {}, {}: {} requests and {}", place.first, place.second, work.first, others[place].first);
  return "";
}

void add(const std::vector<std::uint64_t>& more, std::uint64_t times, std::vector<std::uint64_t>& sums) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += times * more[i];
}

void add(const simt::Site& more, std::uint64_t times, simt::Site& sum) {
  for (std::uint64_t simt::Site::*const number :
       {&simt::Site::requests, &simt::Site::accesses, &simt::Site::sectors, &simt::Site::lines, &simt::Site::tag_passes,
        &simt::Site::wavefronts, &simt::Site::l1_wavefronts, &simt::Site::l1_cycles})
    sum.*number += times * (more.*number);
  sum.estimated = sum.estimated || more.estimated;
}

/// Sums of what blocks count. What is no sum, such as the samples, is the first block's.
class Sum {
 public:
  void add_block(const simt::Counts& block, std::uint64_t times) {
    if (total_.function == nullptr) {
      total_ = block;
      total_.sites.clear();
      total_.samples.clear();
      total_.waits_for_copies.clear();
      total_.barriers = total_.block_sectors = total_.block_store_sectors = 0;
      total_.seconds = 0;
    }
    if (block.function != total_.function) throw std::logic_error("the blocks of a grid run one kernel");
    total_.barriers += times * block.barriers;
    total_.block_sectors += times * block.block_sectors;
    total_.block_store_sectors += times * block.block_store_sectors;
    total_.seconds += block.seconds;
    add(block.waits_for_copies, times, total_.waits_for_copies);
    for (std::size_t i = 0; i < block.sites.size(); ++i) {
      const simt::Site& more = block.sites[i];
      const auto [found, is_new] =
          sites_.try_emplace({more.file, more.line, more.op, more.space, more.array, more.width}, Summed{more, {}});
      Summed& summed = found->second;
      if (!is_new) {
        add(more, times, summed.site);
        continue;
      }
      summed.site = simt::Site{more.file, more.line, more.op, more.space, more.array, more.row_bytes, more.width};
      summed.site.by_copy = more.by_copy;
      add(more, times, summed.site);
      for (const simt::Sample& sample : block.samples)
        if (sample.site == i) summed.samples.push_back(sample);
    }
  }

  simt::Counts total() const {
    simt::Counts counts = total_;
    for (const auto& [name, summed] : sites_) {
      for (simt::Sample sample : summed.samples) {
        sample.site = counts.sites.size();
        counts.samples.push_back(sample);
      }
      counts.sites.push_back(summed.site);
    }
    return counts;
  }

 private:
  using Name = std::tuple<std::string, int, simt::Op, simt::Space, std::string, int>;
  struct Summed {
    simt::Site site;
    std::vector<simt::Sample> samples;
  };
  simt::Counts total_;
  std::map<Name, Summed> sites_;
};

}  // namespace

Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  Sampled sampled = sampled_run(kernel, c, options);
  require_no_guess(sampled.counts);
  return sampled;
}

Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  const Ready ready(kernel, c, Contents::untouched);
  const auto run = [&] { ready.kernel->run(); };
  const std::vector<simt::Counts> launches = simt::launches(run);
  if (launches.size() != 1)
    throw CannotSample(fmt::format("it launches {} kernels, of which one needs what another makes", launches.size()));
  const dim3 grid = launches.front().grid, cluster = launches.front().cluster;
  if (blocks_of(cluster) > 1) throw CannotSample("its blocks run in clusters, and need one another");

  Sum sum;
  std::uint64_t blocks = 0, written = 0;
  const auto run_one = [&](const uint3& block) {
    simt::Trace alone = options;
    alone.only_block = block;
    try {
      const simt::Counts counts = simt::trace(run, alone).front();
      ++blocks;
      written = simt::elements_written(ready.operands.allocation_of_C());
      return counts;
    } catch (const simt::Error& e) {
      const std::string said = e.what();
      if (said.starts_with("deadlock"))
        throw CannotSample("its blocks wait for one another: alone, one is in a " + said);
      throw;
    }
  };
  const std::uint64_t of_blocks = blocks_of(grid), elements = std::uint64_t(c.M) * std::uint64_t(c.N);
  const simt::Counts first = run_one({0, 0, 0});
  const std::uint64_t of_first = written;
  if (of_first * of_blocks == elements &&
      (of_blocks == 1 || difference(first, run_one({grid.x - 1, grid.y - 1, grid.z - 1})).empty())) {
    sum.add_block(first, of_blocks);
    return {sum.total(), blocks, of_blocks};
  }
  if (grid.z > 1) throw CannotSample(fmt::format("its grid is {} deep, and blocks share C in some other way", grid.z));
  std::uint64_t of_all = 0;
  for (const Kind& kind : kinds_by_edges(grid)) {
    const bool is_first = kind.block.x == 0 && kind.block.y == 0;
    const simt::Counts counts = is_first ? first : run_one(kind.block);
    of_all += kind.alike * (is_first ? of_first : written);
    if (kind.alike > 1)
      if (const std::string what = difference(counts, run_one(kind.witness)); !what.empty())
        throw CannotSample(fmt::format("blocks ({},{}) and ({},{}) of its grid do not do the same: {}", kind.block.x,
                                       kind.block.y, kind.witness.x, kind.witness.y, what));
    sum.add_block(counts, kind.alike);
  }
  if (of_all != elements)
    throw CannotSample(
        fmt::format("its blocks do not share C as tiles of one size: {} at the edges of the grid would "
                    "have written {} elements, of {}",
                    blocks, of_all, elements));
  return {sum.total(), blocks, of_blocks};
}

}  // namespace tile
