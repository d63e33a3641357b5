// Many kernels on one problem, for a tuner: TuningBench of bench.hpp. In: a size, then launchers. Out: median milliseconds, and
// only of kernels whose result is right.
#include <fmt/format.h>

#include <stdexcept>

#include "common/check/freivalds.hpp"
#include "common/bench/run.hpp"
#include "common/bench/bench.hpp"
#include "common/bench/rotation.hpp"
#include "common/bench/timing.hpp"

namespace tile {

struct TuningBench::Buffers {
  explicit Buffers(int size) : rotation(Case{size, size, size}) {}
  Rotation rotation;
};

TuningBench::TuningBench(int size) : buffers_(std::make_unique<Buffers>(size)) {}
TuningBench::~TuningBench() = default;

double TuningBench::median_ms(const Runnable& kernel, int repetitions) {
  const Rotation& rotation = buffers_->rotation;
  std::vector<std::unique_ptr<Prepared>> prepared;
  for (std::size_t i = 0; i < rotation.size(); ++i) prepared.push_back(kernel.prepare(rotation.product(i)));
  const Product first = rotation.product(0);
  check(cudaMemset(first.C, 0xff, sizeof(float) * first.problem.M * first.problem.N), "poison C");
  prepared.front()->run();
  check(cudaDeviceSynchronize(), "kernel");
  if (const double deviation = freivalds(first, nullptr, 2024); !(deviation <= 1))
    throw std::runtime_error(fmt::format("wrong result: Freivalds deviation {}, at most 1 allowed", deviation));
  const auto run = [&](int repetition) { prepared[std::size_t(repetition) % prepared.size()]->run(); };
  return to_nanosecond(time_ms(run, repetitions).median);
}

}  // namespace tile
