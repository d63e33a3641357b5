// Many kernels on one problem, for a tuner: TuningBench of bench.hpp. In: a size, then launchers. Out: median milliseconds, and
// only of kernels whose result is right.
#include <fmt/format.h>

#include <stdexcept>

#include "common/check/freivalds.hpp"
#include "common/records/run.hpp"
#include "common/timing/bench.hpp"
#include "common/timing/rotation.hpp"
#include "common/timing/timing.hpp"

namespace tile {

struct TuningBench::Buffers {
  explicit Buffers(int size) : problem{size, size, size}, rotation(problem, 4) {}
  Case problem;
  Rotation rotation;
};

TuningBench::TuningBench(int size) : buffers_(std::make_unique<Buffers>(size)) {}
TuningBench::~TuningBench() = default;

double TuningBench::median_ms(Launcher launcher, int repetitions) {
  const auto& [problem, rotation] = *buffers_;
  const Gemm first = rotation.gemm(problem, 0);
  check(cudaMemset(first.C, 0xff, sizeof(float) * problem.M * problem.N), "poison C");
  launcher(first);
  check(cudaDeviceSynchronize(), "kernel");
  if (const double deviation = freivalds(first, nullptr, 2024); !(deviation <= 1))
    throw std::runtime_error(fmt::format("wrong result: Freivalds deviation {}, at most 1 allowed", deviation));
  const auto run = [&](int repetition) { launcher(rotation.gemm(problem, std::size_t(repetition) % rotation.size())); };
  return to_nanosecond(time_ms(run, repetitions).median);
}

}  // namespace tile
