#include "common/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/bench/counters.hpp"
#include "common/check/traced.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr double most_multiply_adds = 3e9;  // about a minute on two cores

bool whole_tiles_fit(const Kernel& kernel, const Case& c) {
  const Tile& tile = kernel.tile;
  if (tile.BM == 0) return false;  // it starts other kernels, each with tiles of its own
  return c.M % tile.BM == 0 && c.N % tile.BN == 0 && c.K % tile.BK == 0;
}

}  // namespace

void require_countable(const Case& c) {
  if (double(c.M) * c.N * c.K > most_multiply_adds)
    throw UsageError(
        fmt::format("{} is too large for the SIMT model, which runs at most {:.0g} multiply-adds: leave --size out for "
                    "{}, or take --size 1024 (counts per request do not change with the size)",
                    extents(c), most_multiply_adds, extents(this_chapter().counted)));
}

CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K) {
  Case c = at_depth(problem, K);
  c.types = kernel.types;
  return {c, work_of(count(kernel, c), c)};
}

std::optional<Work> work_at(const Case& to, const CountedKernel& k) {
  Case counted = k.problem;
  counted.types = k.kernel.types;
  const CountedWork own{counted, work_of(k.counts, counted)};
  if (to.M == counted.M && to.N == counted.N && to.K == counted.K) return own.work;
  if (!k.shallow || !whole_tiles_fit(k.kernel, counted) || !whole_tiles_fit(k.kernel, to)) return {};
  return work_at(to, *k.shallow, own);
}

std::optional<Work> work_as_compiled_at(const Case& to, const CountedKernel& k, const std::vector<Record>& records) {
  const auto written = work_at(to, k);
  const Record* entry = records.empty() ? nullptr : find_kernel(records.front(), k.kernel.name);
  if (!written || entry == nullptr || !same_problem(k.problem, this_chapter().counted)) return {};
  return work_as_compiled(*written, *entry, records.front(), double(tally(k.counts, counters()[0])),
                          work_of(k.counts, k.problem), to);
}

int size_of_profile(const std::vector<Record>& records) {
  const int largest = this_chapter().sizes.back();
  return records.empty() ? largest : records.front().value("profiled_size", largest);
}

Rates reference_rates() { return recorded_rates(chapter_directory().parent_path()); }

std::string extents(const Case& c) { return fmt::format("{} x {} x {}", c.M, c.N, c.K); }

Case cube(const Kernel& kernel, int size) {
  Case c{size, size, size};
  c.types = kernel.types;
  return c;
}

bool same_problem(const Case& a, const Case& b) {
  const auto rest = [](const Case& c) { return std::tuple(c.alpha, c.beta, c.offset); };
  return a.problem() == b.problem() && rest(a) == rest(b);
}

Record describe_program(const std::vector<CountedKernel>& counted) {
  const Chapter& chapter = this_chapter();
  Record program{{"chapter", chapter.number},           {"source", chapter_source().string()},
                 {"nvcc", TILE_NVCC_VERSION},           {"kernels", Record::array()},
                 {"problems", Record::array()},         {"profiled_pads", chapter.profiled_pads},
                 {"compiled_for", chapter.compiled_for}};
  for (const Kernel& kernel : chapter.kernels) {
    Record& described = program["kernels"].emplace_back(Record{
        {"name", kernel.name}, {"block_threads", kernel.block_threads}, {"dynamic_shared", kernel.dynamic_shared}});
    for (const CountedKernel& run : counted)
      if (run.kernel.name == kernel.name && same_problem(run.problem, chapter.counted))
        described["tallies"] = tallies(run.counts);
  }
  for (const Case& c : timed_problems()) program["problems"].push_back(key_of(c.problem()));
  if (chapter.extension.describe) chapter.extension.describe(program);
  return program;
}

}  // namespace tile
