#include "common/check/sampled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/block_counts.hpp"
#include "common/check/operands.hpp"
#include "common/check/traced.hpp"
#include "common/check/which_blocks.hpp"

namespace tile {
namespace {

// Of so many blocks drawn at random, one is of a kind that makes up a twentieth of the grid, 95 times in 100.
constexpr std::uint64_t enough_drawn = 59;
// At full depth it is less of them where they would make more multiply-adds, or be more than this part of the
// grid; but never less than a few.
constexpr double most_drawn_work = 5e8;
constexpr std::uint64_t most_drawn_part = 16, least_drawn = 4;
// What is kept of the elements that a deep block touches takes memory until its launch ends: so many run in one.
constexpr std::size_t most_at_full_depth = 8;
// Random values of A and B take time and memory.
constexpr double most_random_elements = 1 << 24;

std::string name_of(const uint3& block, const dim3& grid) {
  return grid.z == 1 ? fmt::format("({},{})", block.x, block.y) : fmt::format("({},{},{})", block.x, block.y, block.z);
}

/// What some blocks did: their counts, and how many elements of C they wrote.
struct Ran {
  simt::Counts counts;
  std::uint64_t written = 0;

  const simt::BlockCounts& first() const { return counts.of_blocks.front(); }
};

/// A grid of which blocks can be run. Throws CannotSample for what is no grid of blocks that stand by themselves.
class Grid {
 public:
  Grid(const Runnable& kernel, const Case& c, const simt::Trace& options, Contents contents)
      : ready_(kernel, c, contents), options_(options) {
    const std::vector<simt::Counts> launches = simt::launches([&] { ready_.kernel->run(); });
    if (launches.size() != 1)
      throw CannotSample(fmt::format("it launches {} kernels, of which one needs what another makes", launches.size()));
    launch_ = launches.front();
    if (blocks_of(launch_.cluster) > 1) throw CannotSample("its blocks run in clusters, and need one another");
  }

  /// The launch as it is described, not run.
  const simt::Counts& launch() const { return launch_; }
  int depth() const { return ready_.problem.K; }
  double work_of_block() const {
    const Case& c = ready_.problem;
    return double(c.M) * c.N * c.K / double(blocks_of(launch_.grid));
  }

  Ran run(const std::vector<uint3>& blocks) const {
    simt::Trace trace = options_;
    trace.only_blocks = blocks;
    try {
      const simt::Counts counts = simt::trace([&] { ready_.kernel->run(); }, trace).front();
      if (blocks_of(launch_.grid) > 1) require_no_meeting(counts);
      return {counts, simt::elements_written(ready_.operands.allocation_of_C())};
    } catch (const simt::Error& e) {
      const std::string said = e.what();
      if (said.starts_with("deadlock"))
        throw CannotSample("its blocks wait for one another: alone, one is in a " + said);
      throw;
    }
  }

 private:
  // What a block finds where others store may decide what it does, and depends on them. Of C, blocks that store to one element race.
  static void require_no_meeting(const simt::Counts& counts) {
    for (const simt::Site& site : counts.sites) {
      if (site.space != simt::Space::global) continue;
      const char* const meets = site.op == simt::Op::atomic                       ? "meet in an atomic operation, on"
                                : site.op == simt::Op::store && site.array != "C" ? "store to"
                                                                                  : nullptr;
      if (meets != nullptr)
        throw CannotSample(fmt::format("its blocks {} {} in line {}: what a block finds there depends on the others",
                                       meets, site.array, site.line));
    }
  }

  Ready ready_;
  simt::Trace options_;
  simt::Counts launch_;
};

[[noreturn]] void throw_unshared(std::uint64_t blocks, std::uint64_t written, std::uint64_t elements) {
  throw CannotSample(
      fmt::format("its blocks do not share C as tiles of one size: {} at the edges of the grid would "
                  "have written {} elements, of {}",
                  blocks, written, elements));
}

// The same grid of the same kernel, at less depth if there is any to spare, where blocks are run in less time; nullptr if it is not the
// same there.
std::unique_ptr<Grid> shallow_grid(const Runnable& kernel, const Case& c, const Grid& grid, Contents contents) {
  constexpr int depth = 64;  // a multiple of tiles' depths
  try {
    Case shallow = c.K < 2 * depth ? c : at_depth(c, depth + c.K % depth);
    shallow.fill = Fill::random;
    auto other = std::make_unique<Grid>(kernel, shallow, simt::Trace{}, contents);
    const simt::Counts &here = grid.launch(), &there = other->launch();
    const auto all = [](const dim3& d) { return std::tuple(d.x, d.y, d.z); };
    if (here.function == there.function && all(here.grid) == all(there.grid) && all(here.block) == all(there.block))
      return other;
  } catch (const CannotSample&) {
  } catch (const std::invalid_argument&) {  // what the kernel takes depends on the depth
  }
  return nullptr;
}

/// The blocks of a grid by kinds, the first of which stand for the others.
class Kinds {
 public:
  Kinds(std::vector<Kind> kinds, const dim3& grid) : kinds_(std::move(kinds)), grid_(grid) {}

  const Kind& of(const uint3& block) const {
    return *std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.has(block); });
  }
  const std::vector<Kind>& all() const { return kinds_; }

  /// The first block of each kind, in a grid that may have another depth.
  std::vector<Ran> run_firsts(const Grid& grid) const {
    std::vector<Ran> firsts;
    for (const Kind& kind : kinds_) firsts.push_back(grid.run({kind.first}));
    return firsts;
  }

  void require_alike(const simt::BlockCounts& one, const simt::BlockCounts& other) const {
    if (const std::string what = difference(one, other); !what.empty())
      throw CannotSample(fmt::format("blocks {} and {} of its grid do not do the same: {}", name_of(one.block, grid_),
                                     name_of(other.block, grid_), what));
  }

  /// Runs blocks in one launch: each must do what the first of its kind does, and write elements of C that no other writes. What
  /// depends on where in memory their parts lie is noted.
  void look_at(const std::vector<uint3>& blocks, const Grid& grid, const std::vector<Ran>& firsts,
               PlaceNumbers& by_place) const {
    const Ran together = grid.run(blocks);
    std::uint64_t written = 0;
    for (const simt::BlockCounts& block : together.counts.of_blocks) {
      const Ran& first = firsts[std::size_t(&of(block.block) - kinds_.data())];
      require_alike(first.first(), block);
      by_place.compare(first.first(), block);
      written += first.written;
    }
    if (together.written != written)
      throw CannotSample(fmt::format("{} of its blocks write {} elements of C together, and {} one by one",
                                     blocks.size(), together.written, written));
  }

 private:
  std::vector<Kind> kinds_;
  dim3 grid_;
};

// Looks at blocks besides those that are counted: at the full depth, whose first ones are given, and at less.
void look_at_more(const Runnable& kernel, const Case& c, const Grid& grid, const Kinds& kinds,
                  const std::vector<Ran>& firsts, PlaceNumbers& by_place, Sampled& sampled) {
  Random random(20260101);
  const dim3 extent = grid.launch().grid;
  std::vector<uint3> corners;
  for (const Kind& kind : kinds.all()) add_new(spread_over(kind), corners);

  const bool values = (double(c.M) + c.N) * std::min(c.K, 127) <= most_random_elements;
  const auto shallow = shallow_grid(kernel, c, grid, values ? Contents::inputs : Contents::untouched);
  if (shallow != nullptr) {
    const std::vector<Ran> shallow_firsts = kinds.run_firsts(*shallow);
    if (values) {
      const bool as_deep = shallow->depth() == grid.depth();  // then what blocks do with zeros is known
      const std::vector<Ran> with_zeros =
          as_deep ? firsts : kinds.run_firsts(*shallow_grid(kernel, c, grid, Contents::untouched));
      for (std::size_t i = 0; i < shallow_firsts.size(); ++i)
        if (const std::string what = difference(with_zeros[i].first(), shallow_firsts[i].first()); !what.empty())
          throw CannotSample("what its blocks do depends on what A and B hold, zeros or random values: " + what);
      sampled.random_depth = shallow->depth();
    }
    std::vector<uint3> blocks = corners;
    add_new(in_rows_and_columns(extent, random), blocks);
    add_new(drawn_from(extent, enough_drawn, random), blocks);
    kinds.look_at(blocks, *shallow, shallow_firsts, by_place);
    sampled.looked.push_back({shallow->depth(), blocks.size(), enough_drawn,
                              std::max({extent.x, extent.y, extent.z}) <= most_rows_and_columns});
    if (shallow->depth() == grid.depth()) return;
  }
  const double affordable =
      std::min(most_drawn_work / grid.work_of_block(), double(blocks_of(extent) / most_drawn_part));
  const auto drawn = std::uint64_t(std::clamp(affordable, double(least_drawn), double(enough_drawn)));
  std::vector<uint3> blocks;
  if (shallow == nullptr) blocks = corners;
  add_new(drawn_from(extent, drawn, random), blocks);
  for (std::size_t i = 0; i < blocks.size(); i += most_at_full_depth)
    kinds.look_at({blocks.begin() + std::ptrdiff_t(i),
                   blocks.begin() + std::ptrdiff_t(std::min(blocks.size(), i + most_at_full_depth))},
                  grid, firsts, by_place);
  sampled.looked.push_back({grid.depth(), blocks.size(), drawn, false});
}

}  // namespace

Sampled count_sampled(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  Sampled sampled = sampled_run(kernel, c, options);
  require_no_guess(sampled.counts);
  return sampled;
}

Sampled sampled_run(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  const auto start = std::chrono::steady_clock::now();
  const Grid grid(kernel, c, options, Contents::untouched);
  const dim3 extent = grid.launch().grid;
  const std::uint64_t elements = std::uint64_t(c.M) * std::uint64_t(c.N);
  Sampled sampled;
  sampled.of_blocks = blocks_of(extent);
  const auto run_one = [&](const uint3& block) {
    ++sampled.blocks;
    return grid.run({block});
  };
  const Kind whole{{0, 0, 0}, extent};
  Kinds kinds({whole}, extent);
  std::vector<Ran> firsts{run_one(whole.first)};
  std::optional<Ran> last;
  if (whole.alike() > 1 && firsts[0].written * whole.alike() == elements) last = run_one(whole.farthest());

  PlaceNumbers by_place;
  if (whole.alike() == 1 || (last && difference(firsts[0].first(), last->first()).empty())) {
    if (last) by_place.compare(firsts[0].first(), last->first());
  } else {
    if (last && extent.z > 1) kinds.require_alike(firsts[0].first(), last->first());
    if (extent.z > 1)
      throw CannotSample(fmt::format("its grid is {} deep, and blocks share C in some other way", extent.z));
    kinds = Kinds(kinds_by_edges(extent), extent);
    for (const Kind& kind : kinds.all()) {
      if (&kind != kinds.all().data()) firsts.push_back(run_one(kind.first));
      if (kind.alike() == 1) continue;
      const Ran farthest = run_one(kind.farthest());
      kinds.require_alike(firsts.back().first(), farthest.first());
      by_place.compare(firsts.back().first(), farthest.first());
    }
  }
  SumOfBlocks sum;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    sum.add_block(firsts[i].counts, kinds.all()[i].alike());
    written += firsts[i].written * kinds.all()[i].alike();
  }
  if (written != elements) throw_unshared(sampled.blocks, written, elements);

  if (whole.alike() > 1) look_at_more(kernel, c, grid, kinds, firsts, by_place, sampled);
  sampled.counts = sum.total();
  sampled.counts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  sampled.by_place = by_place.of(sampled.counts.sites);
  sampled.block_sectors_by_place = by_place.block_sectors();
  return sampled;
}

}  // namespace tile
