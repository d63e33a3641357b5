// Kernels against cuBLAS, in turn, for a record: time_against_cublas of bench.hpp. In: launchers and a case. Out: one run of a
// record for each launcher, and only where the kernel's result is right.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "common/check/freivalds.hpp"
#include "common/records/problem.hpp"
#include "common/records/run.hpp"
#include "common/timing/bench.hpp"
#include "common/timing/clocks.hpp"
#include "common/timing/cublas.hpp"
#include "common/timing/describe_gpu.hpp"
#include "common/timing/rotation.hpp"
#include "common/timing/timing.hpp"

namespace tile {
namespace {

// One checked run in float64 arithmetic on the GPU, for integers (exact) and random values.
double require_correct(const Runnable& kernel, const Case& c) {
  double random_deviation = 0;
  for (const Fill fill : {Fill::integers, Fill::random}) {
    Case checked = c;
    checked.fill = fill;
    checked.beta = 0;
    const Rotation rotation(checked);
    kernel.run(rotation.product(0));
    check(cudaDeviceSynchronize(), "kernel");
    const double deviation = freivalds(rotation.product(0), nullptr, 2024);
    const bool exact = fill == Fill::integers && c.types.C == Element::f32;
    const double allowed = exact ? 0.0 : 1.0;
    if (!(deviation <= allowed))
      throw std::runtime_error(
          fmt::format("wrong result at {} x {} x {} ({} inputs): Freivalds deviation {}, at most {} "
                      "allowed; no timing is recorded",
                      c.M, c.N, c.K, fill == Fill::integers ? "integer" : "random", deviation, allowed));
    random_deviation = deviation;
  }
  return random_deviation;
}

}  // namespace

std::vector<Record> time_against_cublas(const std::vector<Runnable>& kernels, const Case& of_any_types) {
  constexpr int most = 200;
  struct Timed {
    std::vector<std::unique_ptr<Prepared>> prepared;  // for each copy of the rotation
    double deviation;
    std::vector<double> ms{}, cublas_ms{}, ratio{};
    bool done() const { return int(ms.size()) == most || (settled(ms) && settled(ratio)); }
  };
  Case c = of_any_types;
  c.types = kernels.front().types();
  const Rotation rotation(c);
  std::vector<Timed> timed;
  for (const Runnable& kernel : kernels) {
    if (kernel.types() != c.types) throw std::invalid_argument("kernels of different types are timed one by one");
    timed.push_back({{}, require_correct(kernel, c)});
    for (std::size_t i = 0; i < rotation.size(); ++i)
      timed.back().prepared.push_back(kernel.prepare(rotation.product(i)));
  }

  std::size_t calls = 0;  // of all kernels and of cuBLAS: no call meets what another just read
  const auto run = [&](const Timed& t, bool ours) {
    const std::size_t copy = calls++ % rotation.size();
    if (ours)
      t.prepared[copy]->run();
    else
      cublas_multiply(rotation.product(copy));
  };
  for (const Timed& t : timed)
    for (int i = 0; i < 3; ++i) run(t, true), run(t, false);

  Event start, between, stop;
  ClockSampler clocks(nvml());
  for (std::size_t round = 0; !std::all_of(timed.begin(), timed.end(), [](auto& t) { return t.done(); }); ++round)
    for (std::size_t turn = 0; turn < timed.size(); ++turn) {
      Timed& t = timed[(turn + round) % timed.size()];  // none always follows the same one
      if (t.done()) continue;
      const bool ours_first = round % 2 == 0;  // neither side always finds the other's clock and heat
      hold_gpu();
      start.record();
      run(t, ours_first);
      between.record();
      run(t, !ours_first);
      stop.record();
      const double first = to_nanosecond(between.ms_since(start)), second = to_nanosecond(stop.ms_since(between));
      t.ms.push_back(ours_first ? first : second);
      t.cublas_ms.push_back(ours_first ? second : first);
      t.ratio.push_back(t.cublas_ms.back() / t.ms.back());
    }

  const Record sampled = clocks.stop();
  std::vector<Record> results;
  for (const Timed& t : timed) {
    results.push_back(to_json(c.problem()));
    results.back().update({{"samples_ms", t.ms},
                           {"cublas_samples_ms", t.cublas_ms},
                           {"clocks", sampled},
                           {"freivalds_deviation", t.deviation}});
    results.back().update(summary_of(results.back()));
  }
  return results;
}

}  // namespace tile
