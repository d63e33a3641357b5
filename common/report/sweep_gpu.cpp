// `--sweep`: a GPU times one kernel over the problems of the chapter's sweep. GPU programs only.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include "common/records/fingerprint.hpp"
#include "common/records/run.hpp"
#include "common/report/options.hpp"
#include "common/report/sweep.hpp"
#include "common/timing/bench.hpp"
#include "common/timing/clocks.hpp"
#include "common/timing/describe_gpu.hpp"
#include "common/timing/timing.hpp"

namespace tile {

Record sweep() {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  require_plain_cublas();
  const Chapter::Sweep& asked = this_chapter().sweep;
  Options only;
  only.kernel = asked.kernel;
  const Kernel kernel = resolved(chosen_kernels(only).front());

  Record record = describe_gpu();
  record["fingerprint"] = fingerprint(chapter_source());
  const auto note_clocks = [&](const char* when) {
    if (const Record clocks = clocks_now(nvml()); !clocks.empty()) record[when] = clocks;
  };
  note_clocks("clocks_before");
  Record entry = kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared);
  entry["name"] = kernel.name;
  entry["runs"] = Record::array();
  for (const Case& c : asked.problems) {
    entry["runs"].push_back(time_for_sweep(kernel, asked.choice, c));
    const Record& run = entry["runs"].back();
    fmt::print(stderr, "[{:2}/{}] {:>22}: {:5.1f} TFLOP/s, {:.3f} x {}   {:.0f} s\n", entry["runs"].size(),
               asked.problems.size(), key_of(c.problem()), run["tflops"].get<double>(),
               run["stronger_ratio"].get<double>(), stronger_of(run), seconds());
  }
  record["kernels"].push_back(entry);
  note_clocks("clocks_after");
  record["sweep"] = {{"seconds", seconds()}};
  return record;
}

}  // namespace tile
