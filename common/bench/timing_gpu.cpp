// Calls timed one by one with CUDA events: time_ms of timing.hpp.
#include "common/bench/cuda_handles.hpp"
#include "common/bench/timing.hpp"

namespace tile {

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

}  // namespace tile
