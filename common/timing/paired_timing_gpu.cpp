// Kernels against cuBLAS, in turn, for a record or a sweep: time_against_cublas and time_for_sweep of bench.hpp. In: launchers and a
// case. Out: one run of a record for each launcher, and only where the kernel's result is right.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "common/check/freivalds.hpp"
#include "common/records/run.hpp"
#include "common/timing/bench.hpp"
#include "common/timing/clocks.hpp"
#include "common/timing/cublas.hpp"
#include "common/timing/cublas_lt.hpp"
#include "common/timing/rotation.hpp"
#include "common/timing/timing.hpp"

namespace tile {
namespace {

// One run of a problem without beta, checked in float64 arithmetic on the GPU: how far its result lies from right.
double require_correct(Launcher launcher, const Case& c, const Rotation& rotation) {
  Case checked = c;
  checked.beta = 0;
  const Gemm g = rotation.gemm(checked, 0);
  launcher(g);
  check(cudaDeviceSynchronize(), "kernel");
  const double deviation = freivalds(g, nullptr, 2024);
  const bool whole = c.fill != Fill::random;
  const double allowed = whole ? 0.0 : 1.0;
  if (!(deviation <= allowed))
    throw std::runtime_error(
        fmt::format("wrong result at {} x {} x {} ({} inputs): Freivalds deviation {}, at most {} "
                    "allowed; no timing is recorded",
                    c.M, c.N, c.K, whole ? "integer" : "random", deviation, allowed));
  return deviation;
}

// For integers (exact) and for random values.
double require_correct(Launcher launcher, const Case& c) {
  double deviation = 0;
  for (const Fill fill : {Fill::integers, Fill::random}) {
    Case checked = c;
    checked.fill = fill;
    deviation = require_correct(launcher, checked, Rotation(checked, 4));
  }
  return deviation;
}

std::string pci_bus_id() {
  char id[32] = "";
  check(cudaDeviceGetPCIBusId(id, sizeof id, 0), "PCI bus id");
  return id;
}

/// A kernel, and the times of its rounds: its own, cuBLAS's, and cublasLt's where that takes part.
struct Timed {
  Launcher launcher;
  double deviation;
  std::vector<std::vector<double>> ms{};

  std::size_t rounds() const { return ms.front().size(); }
  // Whether the medians of its time and of its ratio to each of the others have settled.
  bool settled() const {
    bool all = tile::settled(ms.front());
    for (std::size_t other = 1; other < ms.size(); ++other) {
      std::vector<double> ratio;
      for (std::size_t i = 0; i < rounds(); ++i) ratio.push_back(ms[other][i] / ms.front()[i]);
      all = all && tile::settled(ratio);
    }
    return all;
  }
};

/// How often each kernel is timed: until it has settled, but at most so often; or, once done at least so often, for so long.
struct Effort {
  std::size_t fewest, most;
  double seconds;
};

/// Times kernels in turn, a round each: the kernel, cuBLAS, and cublasLt where it is given, in an order that changes from round to
/// round, so that none always finds another's clock and heat. Returns their runs, but for what only one knows.
std::vector<Record> time_in_rounds(std::vector<Timed> timed, const Case& c, const Rotation& rotation,
                                   const std::optional<CublasLt>& lt, const Effort& effort) {
  const std::size_t sides = lt && lt->found() ? 3 : 2;
  std::size_t calls = 0;  // of all: no call meets what another just read
  const auto run = [&](const Timed& t, std::size_t side) {
    const Gemm g = rotation.gemm(c, calls++ % rotation.size());
    if (side == 0)
      t.launcher(g);
    else if (side == 1)
      cublas_multiply(g.M, g.N, g.K, g.alpha, g.A, g.lda, g.B, g.ldb, g.beta, g.C, g.ldc, CublasMode::fp32);
    else
      lt->multiply(g);
  };
  for (Timed& t : timed) {
    t.ms.resize(sides);
    for (int i = 0; i < 3; ++i)
      for (std::size_t side = 0; side < sides; ++side) run(t, side);
  }
  check(cudaDeviceSynchronize(), "warm-up");

  const auto start = std::chrono::steady_clock::now();
  const auto done = [&](const Timed& t) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return t.rounds() >= effort.most || t.settled() || (t.rounds() >= effort.fewest && seconds > effort.seconds);
  };
  std::vector<Event> events(sides + 1);
  std::vector<std::size_t> order(sides);
  std::iota(order.begin(), order.end(), 0);
  ClockSampler clocks(pci_bus_id());
  for (std::size_t round = 0; !std::all_of(timed.begin(), timed.end(), done); ++round) {
    for (std::size_t turn = 0; turn < timed.size(); ++turn) {
      Timed& t = timed[(turn + round) % timed.size()];  // none always follows the same one
      if (done(t)) continue;
      hold_gpu();
      events[0].record();
      for (std::size_t i = 0; i < sides; ++i) {
        run(t, order[i]);
        events[i + 1].record();
      }
      for (std::size_t i = 0; i < sides; ++i)
        t.ms[order[i]].push_back(to_nanosecond(events[i + 1].ms_since(events[i])));
    }
    std::next_permutation(order.begin(), order.end());
  }

  const Record sampled = clocks.stop();
  std::vector<Record> results;
  for (const Timed& t : timed) {
    Record result{{"M", c.M},
                  {"N", c.N},
                  {"K", c.K},
                  {"samples_ms", t.ms[0]},
                  {"cublas_samples_ms", t.ms[1]},
                  {"clocks", sampled},
                  {"freivalds_deviation", t.deviation}};
    if (lt) result["lt_search"] = lt->search();
    if (sides == 3) result["lt_samples_ms"] = t.ms[2];
    result.update(summary_of(result));
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<Record> time_against_cublas(const std::vector<Launcher>& launchers, const Case& c, Baseline baseline) {
  std::vector<Timed> timed;
  for (const Launcher launcher : launchers) timed.push_back({launcher, require_correct(launcher, c)});
  const Rotation rotation(c, 4);
  std::optional<CublasLt> lt;
  if (baseline == Baseline::stronger) lt.emplace(c, rotation, 7);
  constexpr Effort thorough{20, 200, 1e9};
  return time_in_rounds(std::move(timed), c, rotation, lt, thorough);
}

Record time_for_sweep(Launcher launcher, std::string (*choice)(const Gemm&), const Case& c) {
  const Rotation rotation(c, 4);
  const double deviation = require_correct(launcher, c, rotation);
  const std::optional<CublasLt> lt(std::in_place, c, rotation, 3);
  constexpr Effort quick{5, 60, 0.7};
  Record run = time_in_rounds({{launcher, deviation}}, c, rotation, lt, quick).front();
  run["choice"] = choice(rotation.gemm(c, 0));
  return run;
}

}  // namespace tile
