// The sweep on a GPU: its times, as a record.
#include <fmt/format.h>

#include "chapters/19-shapes/sweep.hpp"
#include "common/bench/clocks.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#include "common/report/options.hpp"

namespace tile {

int time_sweep(const Sweep& sweep, const Options& options) {
  if (options.out.empty()) throw UsageError("--sweep needs --out DIRECTORY");
  const Stopwatch watch;
  require_plain_cublas();
  Record record = describe_gpu();
  note_clocks(record, "clocks_before");
  Record entry = entry_of(sweep.kernel);
  entry["runs"] = Record::array();
  for (Case c : sweep.problems) {
    c.types = sweep.kernel.types;
    const Rotation rotation(c);
    constexpr int of_each_suggestion = 7;
    constexpr Effort quick{1, 5, 60, 0.5};
    Record run =
        time_against_cublas({sweep.kernel}, rotation, of_each_suggestion, quick).front();
    run["choice"] = sweep.choice(rotation.product(0));
    entry["runs"].push_back(run);
    fmt::print(stderr, "[{:2}/{}] {:>22}: {:5.1f} TFLOP/s, {:.3f} x {}   {:.0f} s\n",
               entry["runs"].size(), sweep.problems.size(), key_of(c.problem()),
               run["tflops"].get<double>(), run["stronger_ratio"].get<double>(),
               stronger_of(run), watch.seconds());
  }
  record["kernels"].push_back(entry);
  note_clocks(record, "clocks_after");
  record["sweep"] = {{"seconds", watch.seconds()}};
  record["fingerprint"] = fingerprint(record, digests_of("/proc/self/exe"));
  save_record(options.out, record);
  return 0;
}

Extension extension_of(const Sweep& sweep) {
  const auto run = [sweep](const Options& options) { return time_sweep(sweep, options); };
  return {
      .flags = {{"--sweep", "time " + sweep.kernel.name + " over many problems (GPU)", run}},
      .dispatcher = sweep.kernel,
      .choice = sweep.choice};
}

}  // namespace tile
