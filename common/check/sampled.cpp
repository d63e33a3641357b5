#include "common/check/sampled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/operands.hpp"
#include "common/check/traced.hpp"

namespace tile {
namespace {

std::uint64_t blocks_of(const dim3& grid) { return std::uint64_t(grid.x) * grid.y * grid.z; }

std::string name_of(const uint3& block, const dim3& grid) {
  return grid.z == 1 ? fmt::format("({},{})", block.x, block.y) : fmt::format("({},{},{})", block.x, block.y, block.z);
}

/// Blocks that stand for each other: a box of the grid.
struct Kind {
  uint3 first;
  dim3 extent;

  std::uint64_t alike() const { return blocks_of(extent); }
  uint3 at(unsigned x, unsigned y, unsigned z) const { return {first.x + x, first.y + y, first.z + z}; }
  uint3 farthest() const { return at(extent.x - 1, extent.y - 1, extent.z - 1); }
};

// Those inside a flat grid, and those at its last column and its last row.
std::vector<Kind> kinds_by_edges(const dim3& grid) {
  std::vector<Kind> kinds;
  for (const unsigned y : std::set{0u, grid.y - 1})
    for (const unsigned x : std::set{0u, grid.x - 1})
      kinds.push_back({{x, y, 0}, dim3(x == grid.x - 1 ? 1 : grid.x - 1, y == grid.y - 1 ? 1 : grid.y - 1)});
  return kinds;
}

// Blocks of a kind at its corners and next to these, and some in between, which a grid of their positions would not meet.
std::vector<uint3> spread_over(const Kind& kind) {
  constexpr int between = 7;
  std::set<std::array<unsigned, 3>> places;
  const dim3 e = kind.extent;
  const auto along = [](unsigned extent) { return std::set{0u, std::min(1u, extent - 1), extent - 1}; };
  for (const unsigned z : along(e.z))
    for (const unsigned y : along(e.y))
      for (const unsigned x : along(e.x)) places.insert({z, y, x});
  const auto part = [](unsigned extent, double step) { return unsigned(extent * (step - std::floor(step))); };
  for (int i = 1; i <= between; ++i) places.insert({part(e.z, i * 0.55), part(e.y, i * 0.57), part(e.x, i * 0.755)});
  std::vector<uint3> blocks;
  for (const auto& [z, y, x] : places) blocks.push_back(kind.at(x, y, z));
  return blocks;
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

using Name = std::tuple<std::string, int, simt::Op, simt::Space, std::string, int>;
Name name_of(const simt::Site& s) { return {s.file, s.line, s.op, s.space, s.array, s.width}; }

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
      const auto [found, is_new] = sites_.try_emplace(name_of(more), Summed{more, {}});
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
  struct Summed {
    simt::Site site;
    std::vector<simt::Sample> samples;
  };
  simt::Counts total_;
  std::map<Name, Summed> sites_;
};

/// What some blocks did: their counts, and how many elements of C they wrote.
struct Ran {
  simt::Counts counts;
  std::uint64_t written = 0;
};

/// A grid of which blocks can be run. Throws CannotSample for what is no grid of blocks that stand by themselves.
class Grid {
 public:
  Grid(const Runnable& kernel, const Case& c, const simt::Trace& options)
      : ready_(kernel, c, Contents::untouched), options_(options) {
    const std::vector<simt::Counts> launches = simt::launches([&] { ready_.kernel->run(); });
    if (launches.size() != 1)
      throw CannotSample(fmt::format("it launches {} kernels, of which one needs what another makes", launches.size()));
    launch_ = launches.front();
    if (blocks_of(launch_.cluster) > 1) throw CannotSample("its blocks run in clusters, and need one another");
  }

  /// The launch as it is described, not run.
  const simt::Counts& launch() const { return launch_; }

  Ran run(const std::vector<uint3>& blocks) const {
    simt::Trace trace = options_;
    trace.only_blocks = blocks;
    try {
      const simt::Counts counts = simt::trace([&] { ready_.kernel->run(); }, trace).front();
      return {counts, simt::elements_written(ready_.operands.allocation_of_C())};
    } catch (const simt::Error& e) {
      const std::string said = e.what();
      if (said.starts_with("deadlock"))
        throw CannotSample("its blocks wait for one another: alone, one is in a " + said);
      throw;
    }
  }

 private:
  Ready ready_;
  simt::Trace options_;
  simt::Counts launch_;
};

/// Which numbers of sites depend on where in memory a block's part lies.
class PlaceNumbers {
 public:
  /// Notes those that are not the same in blocks that otherwise do the same.
  void compare(const simt::Counts& some, const simt::Counts& others) {
    std::map<Name, const simt::Site*> by_name;
    for (const simt::Site& site : others.sites) by_name[name_of(site)] = &site;
    for (const simt::Site& site : some.sites)
      for (const SiteNumber number : {&simt::Site::sectors, &simt::Site::lines, &simt::Site::tag_passes,
                                      &simt::Site::wavefronts, &simt::Site::l1_wavefronts, &simt::Site::l1_cycles}) {
        const auto other = by_name.find(name_of(site));
        auto& found = found_[name_of(site)];
        if (other != by_name.end() && site.*number != other->second->*number &&
            std::find(found.begin(), found.end(), number) == found.end())
          found.push_back(number);
      }
  }

  std::vector<std::vector<SiteNumber>> of(const std::vector<simt::Site>& sites) const {
    std::vector<std::vector<SiteNumber>> numbers;
    for (const simt::Site& site : sites) {
      const auto found = found_.find(name_of(site));
      numbers.push_back(found == found_.end() ? std::vector<SiteNumber>{} : found->second);
    }
    return numbers;
  }

 private:
  std::map<Name, std::vector<SiteNumber>> found_;
};

[[noreturn]] void throw_unshared(std::uint64_t blocks, std::uint64_t written, std::uint64_t elements) {
  throw CannotSample(
      fmt::format("its blocks do not share C as tiles of one size: {} at the edges of the grid would "
                  "have written {} elements, of {}",
                  blocks, written, elements));
}

// The same grid of the same kernel at less depth, where its blocks are run in less time; nullptr if there is none.
std::unique_ptr<Grid> with_less_depth(const Runnable& kernel, const Case& c, const Grid& grid) {
  constexpr int depth = 64;  // a multiple of tiles' depths
  if (c.K < 2 * depth) return nullptr;
  try {
    auto shallow = std::make_unique<Grid>(kernel, at_depth(c, depth + c.K % depth), simt::Trace{});
    const simt::Counts &one = grid.launch(), &other = shallow->launch();
    const auto all = [](const dim3& d) { return std::tuple(d.x, d.y, d.z); };
    if (one.function == other.function && all(one.grid) == all(other.grid) && all(one.block) == all(other.block))
      return shallow;
  } catch (const CannotSample&) {
  } catch (const std::invalid_argument&) {  // what the kernel takes depends on the depth
  }
  return nullptr;
}

// Runs some blocks of each kind in one launch: together they must do what so many times the first of their kind does. What depends on
// where in memory their parts lie is noted.
template <class RequireAlike>
void look_at_more(const Grid& grid, const std::vector<Kind>& kinds, RequireAlike require_alike,
                  PlaceNumbers& by_place) {
  std::vector<uint3> blocks;
  Sum expected;
  std::uint64_t written = 0;
  std::vector<Ran> firsts;
  for (const Kind& kind : kinds) {
    const std::vector<uint3> some = spread_over(kind);
    firsts.push_back(grid.run({kind.first}));
    expected.add_block(firsts.back().counts, some.size());
    written += some.size() * firsts.back().written;
    blocks.insert(blocks.end(), some.begin(), some.end());
  }
  const Ran together = grid.run(blocks);
  const simt::Counts of_firsts = expected.total();
  if (const std::string what = difference(of_firsts, together.counts); !what.empty()) {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      for (const uint3& block : spread_over(kinds[i]))
        require_alike(kinds[i].first, firsts[i], block, grid.run({block}));
    throw CannotSample("its blocks do not do together what they do alone: " + what);
  }
  if (together.written != written)
    throw CannotSample(fmt::format("{} of its blocks write {} elements of C together, and {} one by one", blocks.size(),
                                   together.written, written));
  by_place.compare(of_firsts, together.counts);
}

}  // namespace

Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  Sampled sampled = sampled_run(kernel, c, options);
  require_no_guess(sampled.counts);
  return sampled;
}

Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  const Grid grid(kernel, c, options);
  const dim3 extent = grid.launch().grid;
  const std::uint64_t elements = std::uint64_t(c.M) * std::uint64_t(c.N);
  std::uint64_t blocks = 0;
  const auto run_one = [&](const uint3& block) {
    ++blocks;
    return grid.run({block});
  };
  const Kind all{{0, 0, 0}, extent};
  const Ran first = run_one(all.first);
  const auto require_alike = [&](const uint3& block, const Ran& ran, const uint3& other, const Ran& others) {
    if (const std::string what = difference(ran.counts, others.counts); !what.empty())
      throw CannotSample(fmt::format("blocks {} and {} of its grid do not do the same: {}", name_of(block, extent),
                                     name_of(other, extent), what));
  };

  PlaceNumbers by_place;
  Sum sum;
  std::vector<Kind> kinds{all};
  std::optional<Ran> last;
  if (all.alike() > 1 && first.written * all.alike() == elements) last = run_one(all.farthest());
  if (all.alike() == 1 || (last && difference(first.counts, last->counts).empty())) {
    if (first.written * all.alike() != elements) throw_unshared(blocks, first.written, elements);
    if (last) by_place.compare(first.counts, last->counts);
    sum.add_block(first.counts, all.alike());
  } else {
    if (last && extent.z > 1) require_alike(all.first, first, all.farthest(), *last);
    if (extent.z > 1)
      throw CannotSample(fmt::format("its grid is {} deep, and blocks share C in some other way", extent.z));
    kinds = kinds_by_edges(extent);
    std::uint64_t of_all = 0;
    for (const Kind& kind : kinds) {
      const bool is_first = kind.first.x == 0 && kind.first.y == 0;
      const Ran one = is_first ? first : run_one(kind.first);
      of_all += kind.alike() * one.written;
      if (kind.alike() > 1) {
        const Ran other = run_one(kind.farthest());
        require_alike(kind.first, one, kind.farthest(), other);
        by_place.compare(one.counts, other.counts);
      }
      sum.add_block(one.counts, kind.alike());
    }
    if (of_all != elements) throw_unshared(blocks, of_all, elements);
  }

  const std::unique_ptr<Grid> shallow = with_less_depth(kernel, c, grid);
  look_at_more(shallow == nullptr ? grid : *shallow, kinds, require_alike, by_place);
  return {sum.total(), blocks, all.alike(), by_place.of(sum.total().sites)};
}

}  // namespace tile
