// Calls timed one by one with CUDA events, kernels interleaved with cuBLAS for a record or a sweep, and many kernels
// for a tuner: timing.hpp. Nothing is timed whose result is wrong.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "common/bench/clocks.hpp"
#include "common/bench/cublas.hpp"
#include "common/bench/rotation.hpp"
#include "common/bench/timing.hpp"
#include "common/check/gemm.hpp"

namespace tile {
namespace {

// One run of a product without beta, checked in float64 arithmetic on the GPU: how far its result lies from right. C is
// poisoned before.
double require_correct(const Launchable& kernel, const Rotation& rotation) {
  const Case& c = rotation.problem;
  Product product = rotation.product(0);
  product.beta = 0;
  check(cudaMemset(product.C, 0xff, size_of(c.types.C) * c.M * product.problem.ldc), "poison C");
  kernel.run(product);
  check(cudaDeviceSynchronize(), "kernel");
  const double deviation = freivalds(product, nullptr, 2024);
  const double allowed = c.fill != Fill::random && c.types.C == Element::f32 ? 0 : 1;
  if (!(deviation <= allowed))
    throw std::runtime_error(
        fmt::format("wrong result at {}: Freivalds deviation {}, at most {} allowed; no timing is recorded",
                    key_of(c.problem()), deviation, allowed));
  return deviation;
}

// A kernel made ready for each copy of a rotation.
std::vector<std::unique_ptr<BoundKernel>> prepared_for(const Launchable& kernel, const Rotation& rotation) {
  std::vector<std::unique_ptr<BoundKernel>> prepared;
  for (std::size_t i = 0; i < rotation.size(); ++i) prepared.push_back(kernel.prepare(rotation.product(i)));
  return prepared;
}

// Integers are exact.
void require_exact(const std::vector<Launchable>& kernels, Case c) {
  c.fill = Fill::integers;
  const Rotation rotation(c, Inputs({c}));
  for (const Launchable& kernel : kernels) require_correct(kernel, rotation);
}

/// A kernel and the times of its rounds: its own, cuBLAS's, and cuBLASLt's where that takes part.
struct Timed {
  std::vector<std::unique_ptr<BoundKernel>> prepared;
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

Timed checked_and_prepared(const Launchable& kernel, const Rotation& rotation) {
  const double deviation = require_correct(kernel, rotation);
  return {prepared_for(kernel, rotation), deviation};
}

/// How often each kernel is timed, after so many rounds to warm up: until it has settled, but at most so often; or,
/// once done at least so often, for so long.
struct Effort {
  int warm_up;
  std::size_t fewest, most;
  double seconds;
};

/// Times kernels interleaved, one round of each after the other: the kernel, cuBLAS, and cuBLASLt where it is given, in an
/// order that changes from round to round, so that none always finds another's clock and heat. Returns their runs.
std::vector<Record> time_in_rounds(std::vector<Timed> timed, const Rotation& rotation,
                                   const std::optional<CublasLt>& lt, const Effort& effort) {
  const std::size_t sides = lt && lt->found() ? 3 : 2;
  std::size_t calls = 0;  // of all: no call finds in the L2 what another just read
  const auto run = [&](const Timed& t, std::size_t side) {
    const std::size_t copy = calls++ % rotation.size();
    if (side == 0)
      t.prepared[copy]->run();
    else if (side == 1)
      cublas_multiply(rotation.product(copy));
    else
      lt->multiply(rotation.product(copy));
  };
  for (Timed& t : timed) {
    t.ms.resize(sides);
    for (int i = 0; i < effort.warm_up; ++i)
      for (std::size_t side = 0; side < sides; ++side) run(t, side);
  }
  check(cudaDeviceSynchronize(), "warm-up");

  const Stopwatch watch;
  const auto done = [&](const Timed& t) {
    return t.rounds() >= effort.most || t.settled() ||
           (t.rounds() >= effort.fewest && watch.seconds() > effort.seconds);
  };
  std::vector<Event> events(sides + 1);
  ClockSampler clocks(nvml());
  for (std::size_t round = 0; !std::all_of(timed.begin(), timed.end(), done); ++round) {
    const std::vector<std::size_t> order = order_of_round(sides, round);
    for (std::size_t turn = 0; turn < timed.size(); ++turn) {
      // A different kernel begins each round: otherwise one would always run after the same neighbour and its heat.
      Timed& t = timed[(turn + round) % timed.size()];
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
  }

  const Record sampled = clocks.stop();
  std::vector<Record> results;
  for (const Timed& t : timed) {
    Record result = to_json(rotation.problem.problem());
    result.update({{"samples_ms", t.ms[0]},
                   {"cublas_samples_ms", t.ms[1]},
                   {"clocks", sampled},
                   {"freivalds_deviation", t.deviation}});
    if (lt) result["lt_search"] = lt->search();
    if (sides == 3) result["lt_samples_ms"] = t.ms[2];
    result.update(summary_of(result));
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<Record> time_against_cublas(const std::vector<Launchable>& kernels, const Case& of_any_types,
                                        bool with_cublas_lt, L2 l2) {
  Case c = of_any_types;
  c.types = kernels.front().types();
  for (const Launchable& kernel : kernels)
    if (kernel.types() != c.types) throw std::invalid_argument("kernels of different types are timed one by one");
  require_exact(kernels, c);
  const Rotation rotation(c, Inputs({c}), l2);
  std::vector<Timed> timed;
  for (const Launchable& kernel : kernels) timed.push_back(checked_and_prepared(kernel, rotation));
  std::optional<CublasLt> lt;
  if (with_cublas_lt) lt.emplace(rotation, CublasLt::Effort{10, 10});
  constexpr Effort thorough{3, 20, 200, 1e9};
  return time_in_rounds(std::move(timed), rotation, lt, thorough);
}

std::vector<Record> time_for_sweep(const Launchable& kernel, std::string (*choice)(const Product&),
                                   const std::vector<Case>& of_any_types,
                                   const std::function<void(const Record&)>& done) {
  std::vector<Case> cases = of_any_types;
  for (Case& c : cases) c.types = kernel.types();
  const Inputs inputs(cases);
  std::vector<Record> runs;
  for (const Case& c : cases) {
    const Rotation rotation(c, inputs);
    std::vector<Timed> timed;
    timed.push_back(checked_and_prepared(kernel, rotation));
    const std::optional<CublasLt> lt(std::in_place, rotation, CublasLt::Effort{7, 2});
    constexpr Effort quick{1, 5, 60, 0.5};
    runs.push_back(time_in_rounds(std::move(timed), rotation, lt, quick).front());
    runs.back()["choice"] = choice(rotation.product(0));
    done(runs.back());
  }
  return runs;
}

Spread time_ms(const std::function<void(int)>& work, int repetitions, int warm_up) {
  for (int i = 0; i < warm_up; ++i) work(i);
  std::vector<double> samples;
  Event start, stop;
  for (int i = 0; i < repetitions; ++i) {
    hold_gpu();
    start.record();
    work(i);
    stop.record();
    samples.push_back(stop.ms_since(start));
  }
  return spread_of(samples);
}

TuningBench::TuningBench(int size) : rotation_(new Rotation(Case{size, size, size})) {}
TuningBench::~TuningBench() = default;

double TuningBench::median_ms(const Launchable& kernel, int repetitions) {
  require_correct(kernel, *rotation_);
  const auto prepared = prepared_for(kernel, *rotation_);
  const auto run = [&](int repetition) { prepared[std::size_t(repetition) % prepared.size()]->run(); };
  return to_nanosecond(time_ms(run, repetitions).median);
}

}  // namespace tile
