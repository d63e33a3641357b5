#include "common/report/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "common/check/operands.hpp"
#include "common/check/traced.hpp"
#include "common/check/which_blocks.hpp"
#include "common/bench/numbers.hpp"
#include "common/report/facts.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr double largest_whole_problem = 3e9;  // multiply-adds; about a minute on two cores

UsageError too_large(const Case& c, const std::string& why) {
  return UsageError(
      fmt::format("{} is too large for the SIMT model to run all of it{}; at most {:.0g} multiply-adds, such as "
                  "--size 1024 (counts per request do not change with the size)",
                  extents(c), why, largest_whole_problem));
}

std::string described(const Sampled& s) {
  return fmt::format("{} of {} blocks", s.blocks, format_number(double(s.of_blocks)));
}

// Whether any of these numbers of a site is part of a kernel's work. Tag passes are by way of l1_cycles.
bool any_of_work(const std::vector<SiteNumber>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](SiteNumber n) { return n != &simt::Site::tag_passes; });
}

bool same_extents(const Case& a, const Case& b) { return a.M == b.M && a.N == b.N && a.K == b.K; }

}  // namespace

bool too_large_to_run(const Case& c) { return double(c.M) * c.N * c.K > largest_whole_problem; }

void require_runnable(const Case& c) {
  if (too_large_to_run(c)) throw too_large(c, "");
}

CountedKernel count_kernel(const Kernel& kernel, const Case& problem, const simt::Trace& trace) {
  if (!too_large_to_run(problem)) return {kernel, problem, count(kernel, problem, trace)};
  try {
    const Sampled sampled = count_sampled(kernel, problem, trace);
    return {kernel,
            problem,
            sampled.counts,
            0,
            described(sampled),
            sampled.by_place,
            sampled.block_sectors_by_place,
            described_looks(sampled)};
  } catch (const CannotSample& e) {
    throw too_large(problem, fmt::format(", and a few blocks of {} cannot stand for all: {}", kernel.name, e.what()));
  }
}

const char* mark_of(const CountedKernel& k, std::size_t site, SiteNumber number) {
  if (k.by_place.empty()) return "";
  const std::vector<SiteNumber>& numbers = k.by_place.at(site);
  return std::find(numbers.begin(), numbers.end(), number) == numbers.end() ? "" : "~";
}

const char* mark_of_sum(const CountedKernel& k, SiteNumber number,
                        const std::function<bool(const simt::Site&)>& in_sum) {
  for (std::size_t i = 0; i < k.counts.sites.size(); ++i)
    if (const char* mark = mark_of(k, i, number); *mark != 0 && in_sum(k.counts.sites[i])) return mark;
  return "";
}

std::string described_looks(const Sampled& sampled) {
  std::string same, missed;
  for (const Looked& l : sampled.looked) {
    const bool all = l.blocks == sampled.of_blocks;
    std::string how = l.depth == sampled.random_depth ? "A and B random" : "";
    if (l.each_row_and_column && !all) how += std::string(how.empty() ? "" : "; ") + "in each row and column of blocks";
    same += fmt::format("{}{} at K = {}{}", same.empty() ? "" : ", ", all ? "all" : format_number(double(l.blocks)),
                        l.depth, how.empty() ? "" : " (" + how + ")");
    if (all) continue;
    const double share = 100 * share_that_may_be_missed(l.drawn);
    missed += missed.empty() ? fmt::format("what less than {:.1f} % of the blocks do", share)
                             : fmt::format(", and what less than {:.1f} % of them do at K = {} alone", share, l.depth);
  }
  if (same.empty()) return "there is no other";
  return fmt::format("found to do the same: {}; {}", same,
                     missed.empty() ? "none is left" : missed + ", is missed 1 time in 20, or more often");
}

std::vector<std::string> notes_on_samples(const std::vector<CountedKernel>& kernels) {
  std::vector<std::string> notes, names;
  for (const CountedKernel& k : kernels) {
    if (k.sampled.empty()) continue;
    const std::string note = k.sampled + "; " + k.looked;
    const auto known = std::find(notes.begin(), notes.end(), note);
    if (known != notes.end()) {
      names[std::size_t(known - notes.begin())] += ", " + k.kernel.name;
      continue;
    }
    notes.push_back(note);
    names.push_back(k.kernel.name);
  }
  for (std::size_t i = 0; i < notes.size(); ++i) notes[i].insert(0, names[i] + ": ");
  if (!notes.empty())
    notes.insert(
        notes.begin(),
        "a few blocks stand for all: at full depth A, B and C hold zeros, whatever --data says, so that work that "
        "depends on data is that for zeros, work that depends on what other blocks write is that without them, and no "
        "result is compared; ~ marks what is not the same in all blocks "
        "that were looked at");
  return notes;
}

bool whole_tiles_fit(const Kernel& kernel, const Case& c) {
  const Tile tile = resolved(kernel).tile;
  if (tile.BM == 0) return false;  // it starts other kernels, each with tiles of its own
  return c.M % tile.BM == 0 && c.N % tile.BN == 0 && c.K % tile.BK == 0;
}

CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K) {
  Case c = at_depth(problem, K);
  c.types = kernel.types;
  try {
    const Sampled sampled = count_sampled(kernel, c);
    if (!sampled.block_sectors_by_place && std::none_of(sampled.by_place.begin(), sampled.by_place.end(), any_of_work))
      return {c, work_of(sampled.counts, c)};
  } catch (const CannotSample&) {
  }
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
    if (!k.sampled.empty()) {
      fmt::print("{}model: {:12} {} in {:.2f} s\n", &k == &kernels.front() ? "\n" : "", k.kernel.name, k.sampled,
                 k.counts.seconds);
      continue;
    }
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
