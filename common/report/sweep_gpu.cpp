// `--sweep`: a GPU times one kernel over the problems of the chapter's sweep. GPU programs only.
#include <fmt/format.h>

#include "common/bench/clocks.hpp"
#include "common/bench/describe_gpu.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#include "common/report/options.hpp"
#include "common/report/sweep.hpp"

namespace tile {

Record sweep() {
  const Stopwatch watch;
  require_plain_cublas();
  const Chapter::Sweep& asked = this_chapter().sweep;
  const Kernel& kernel = asked.kernel;

  Record record = describe_gpu();
  const auto note_clocks = [&](const char* when) {
    if (const Record clocks = clocks_now(nvml()); !clocks.empty()) record[when] = clocks;
  };
  note_clocks("clocks_before");
  Record entry{{"name", kernel.name}};
  if (kernel.address != nullptr)
    entry.update(kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared));
  std::size_t count = 0;
  entry["runs"] = time_for_sweep(kernel, asked.choice, asked.problems, [&](const Record& run) {
    fmt::print(stderr, "[{:2}/{}] {:>22}: {:5.1f} TFLOP/s, {:.3f} x {}   {:.0f} s\n", ++count, asked.problems.size(),
               key_of(problem_of(run)), run["tflops"].get<double>(), run["stronger_ratio"].get<double>(),
               stronger_of(run), watch.seconds());
  });
  record["kernels"].push_back(entry);
  note_clocks("clocks_after");
  record["sweep"] = {{"seconds", watch.seconds()}};
  record["fingerprint"] = fingerprint(record, digests_of("/proc/self/exe"));
  return record;
}

}  // namespace tile
