#include "common/report/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "common/check/operands.hpp"
#include "common/check/traced.hpp"
#include "common/bench/numbers.hpp"
#include "common/report/facts.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr double most_multiply_adds = 3e9;  // about a minute on two cores

bool same_extents(const Case& a, const Case& b) { return a.M == b.M && a.N == b.N && a.K == b.K; }

}  // namespace

void require_countable(const Case& c) {
  if (double(c.M) * c.N * c.K > most_multiply_adds)
    throw UsageError(
        fmt::format("{} is too large for the SIMT model, which runs at most {:.0g} multiply-adds: leave --size out for {}, "
                    "or take --size 1024 (counts per request do not change with the size)",
                    extents(c), most_multiply_adds, extents(this_chapter().counted)));
}

CountedKernel count_kernel(const Kernel& kernel, const Case& problem, const simt::Trace& trace) {
  return {kernel, problem, count(kernel, problem, trace)};
}

bool whole_tiles_fit(const Kernel& kernel, const Case& c) {
  const Tile tile = resolved(kernel).tile;
  if (tile.BM == 0) return false;  // it starts other kernels, each with tiles of its own
  return c.M % tile.BM == 0 && c.N % tile.BN == 0 && c.K % tile.BK == 0;
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
  if (same_extents(to, counted)) return own.work;
  if (!k.shallow || !whole_tiles_fit(k.kernel, counted) || !whole_tiles_fit(k.kernel, to)) return {};
  return work_at(to, *k.shallow, own);
}

double untraced_seconds(const Kernel& kernel, const Case& problem) {
  const Ready ready(kernel, problem);
  const auto start = std::chrono::steady_clock::now();
  ready.kernel->run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_model_speed(const std::vector<CountedKernel>& kernels) {
  for (const CountedKernel& k : kernels) {
    double accesses = 0;
    for (const auto& s : k.counts.sites) accesses += double(s.accesses);
    fmt::print(
        "{}model: {:12} {:>14} accesses  traced {:6.2f} s ({:.1f} million/s)  untraced {:6.2f} s  {} host threads\n",
        &k == &kernels.front() ? "\n" : "", k.kernel.name, format_number(accesses), k.counts.seconds,
        accesses / k.counts.seconds * 1e-6, k.untraced_seconds, simt::host_threads());
  }
}

std::string extents(const Case& c) { return fmt::format("{} x {} x {}", c.M, c.N, c.K); }
std::string extents(const Record& run) {
  return fmt::format("{} x {} x {}", run["M"].get<int>(), run["N"].get<int>(), run["K"].get<int>());
}

bool same_problem(const Case& a, const Case& b) {
  const auto all = [](const Case& c) { return std::tuple(c.alpha, c.beta, c.offset); };
  return a.problem() == b.problem() && all(a) == all(b);
}

}  // namespace tile
