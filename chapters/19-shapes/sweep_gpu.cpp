// The sweep on a GPU: its times, as a record, and those of all ways, as ways.csv.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "chapters/19-shapes/sweep.hpp"
#include "common/bench/clocks.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// Times each problem for a second or two, and writes the record.
int time_sweep(const Sweep& sweep, const Options& options) {
  if (options.out.empty()) throw UsageError("--sweep needs --out DIRECTORY");
  const Stopwatch watch;
  require_plain_cublas();
  Record record = describe_gpu();
  note_clocks(record, "clocks_before");
  Record entry = entry_of(sweep.kernel);
  entry["runs"] = Record::array();
  for (const Case& c : sweep.problems) {
    const Rotation rotation(c);
    constexpr int of_each_suggestion = 7;
    Record run = time_against_cublas({sweep.kernel}, rotation, of_each_suggestion).front();
    run["choice"] = sweep.choice(rotation.product(0));
    entry["runs"].push_back(run);
    fmt::print(stderr, "[{:2}/{}] {:>22}: {:5.1f} TFLOP/s, {:.3f} x {}, {}   {:.0f} s\n", entry["runs"].size(),
               sweep.problems.size(), key_of(c.problem()), run["tflops"].get<double>(),
               run["stronger_ratio"].get<double>(), stronger_of(run), run["choice"].get<std::string>(),
               watch.seconds());
  }
  record["kernels"].push_back(entry);
  note_clocks(record, "clocks_after");
  record["sweep"] = {{"seconds", watch.seconds()}};
  record["fingerprint"] = fingerprint(record, digests_of("/proc/self/exe"), chapter_source());
  save_record(options.out, record);
  return 0;
}

// Times the ways that the cost model puts within three times the best, at each problem that does not take long.
int time_ways(const Sweep& sweep, const Options& options) {
  if (options.out.empty()) throw UsageError("--ways needs --out DIRECTORY");
  const Stopwatch watch;
  std::ofstream out(options.out / "ways.csv");
  if (!out) throw UsageError("--ways cannot write to " + options.out.string());
  out << "M,N,K,way,us\n";
  for (const Case& c : sweep.problems) {
    if (double(c.M) * c.N * c.K > 1.4e11) continue;
    const Rotation rotation(c);
    const std::vector<Way> ways = sweep.ways(gemm_of(rotation.product(0)));
    const double best = std::ranges::min_element(ways, {}, &Way::us)->us;
    for (const Way& way : ways)
      if (way.us <= 3 * best)
        out << fmt::format("{},{},{},{},{:.2f}\n", c.M, c.N, c.K, way.name,
                           1e3 * median_ms(Kernel{.name = way.name, .prepare = way.prepare}, rotation));
    fmt::print(stderr, "{}   {:.0f} s\n", key_of(c.problem()), watch.seconds());
  }
  return 0;
}

}  // namespace

Extension extension_of(const Sweep& sweep) {
  return {.flags = {{"--sweep", "time " + sweep.kernel.name + " over many problems (GPU)",
                     [sweep](const Options& options) { return time_sweep(sweep, options); }},
                    {"--ways", "time each way that " + sweep.kernel.name + " chooses among (GPU)",
                     [sweep](const Options& options) { return time_ways(sweep, options); }}},
          .dispatcher = sweep.kernel,
          .choice = sweep.choice};
}

}  // namespace tile
