#include "common/report/counted.hpp"

#include <fmt/format.h>

#include <chrono>
#include <tuple>

#include "common/check/operands.hpp"
#include "common/report/facts.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr double largest_model_problem = 3e9;  // multiply-adds; about a minute on two cores

}  // namespace

void require_countable(const Case& c) {
  if (double(c.M) * c.N * c.K > largest_model_problem)
    throw UsageError(
        fmt::format("{} x {} x {} is too large for the SIMT model; at most {:.0g} multiply-adds, such as "
                    "--size 1024 (counts per request do not change with the size)",
                    c.M, c.N, c.K, largest_model_problem));
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
        "{}model: {:10} {:>14} accesses  traced {:6.2f} s ({:.1f} million/s)  untraced {:6.2f} s  {} host threads\n",
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
