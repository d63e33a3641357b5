#include "common/bench/compiled_work.hpp"

#include <algorithm>

#include "common/bench/metrics.hpp"

namespace tile {

std::optional<Work> work_as_compiled(Work work, const Record& kernel, const Record& record,
                                     double counted_load_requests, const Work& counted, const Case& to) {
  for (const char* group : {"counters", "profile", "sass_loop"})
    if (!kernel.contains(group)) return {};
  const Record& loop = kernel.at("sass_loop");
  const double ffma = loop.value("FFMA", 0.0), size = record.value("profiled_size", 0);
  if (ffma == 0 || !loop.contains("ffma_reads_even") || to.M != size || to.N != size || to.K != size) return {};
  const Record &counters = kernel.at("counters"), &profile = kernel.at("profile");
  const double loads_and_stores = counters.at(metric("shared_load_wavefronts")).get<double>() +
                                  counters.at(metric("shared_store_wavefronts")).get<double>();
  // Records of kernels with asynchronous copies, which are neither, have their sum.
  if (counted.wavefronts > 0)
    work.wavefronts *= counters.value(metric("shared_wavefronts"), loads_and_stores) / counted.wavefronts;
  if (counters.at(metric("load_requests")) != counted_load_requests) work.l1_cycles = work.l1_wavefronts = 0;
  work.instructions = profile.at(metric("instructions"));
  work.bank_reads = std::max(loop.at("ffma_reads_even").get<double>(), loop.at("ffma_reads_odd").get<double>()) / ffma *
                    profile.at(metric("ffma")).get<double>() / 32;
  return work;
}

}  // namespace tile
