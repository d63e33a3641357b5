// The tuner on a GPU: times its candidates.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "chapters/07-autotuning/tuning.hpp"
#include "common/bench/clocks.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Times the candidates that have no time yet, the pruned ones only if told to. Each time is saved at once, so that tuning can be stopped
// and continued. Returns the program's exit code.
int tune(const std::vector<Candidate>& candidates, const Options& options, bool pruned) {
  const int size = options.problem ? options.problem->M : 4096;
  if (options.problem && (options.problem->N != size || options.problem->K != size))
    throw UsageError("--tune times cubes: give --size");
  const auto directory = options.out.empty()
                             ? record_directory(chapter_directory(), machine::description())
                             : options.out;
  Record record = describe_gpu();
  record["size"] = size;
  record["candidates"] = Record::array();
  const auto digests = digests_of("/proc/self/exe");
  Record& timed = record["candidates"];
  if (holds_record(directory, RecordKind::tuned)) {
    Record before = load_record(directory, RecordKind::tuned);
    const auto same = [&](const char* key) { return before[key] == record[key]; };
    if (same("cuda") && same("architecture") && same("gpu") && same("size")) {
      const auto changed = changed_kernels(before["fingerprint"], digests);
      for (const Record& entry : before["candidates"]) {
        const std::string name = entry["name"];
        if (!before["fingerprint"]["kernels"].contains(name) ||
            std::ranges::count(changed, name) > 0)
          continue;
        timed.push_back(entry);
        record["fingerprint"]["kernels"][name] = before["fingerprint"]["kernels"][name];
      }
    } else {
      fmt::print(stderr, "the tuning in {} is for another nvcc, GPU or size: starting anew\n",
                 directory.string());
    }
  }
  const auto faster = [](const Record& a, const Record& b) {
    return a["tflops"] > b["tflops"];
  };
  const auto fastest = [&]() -> const Record& {
    return *std::min_element(timed.begin(), timed.end(), faster);
  };
  const auto is_timed = [&](const std::string& name) {
    return std::any_of(timed.begin(), timed.end(), [&](auto& t) { return t["name"] == name; });
  };
  std::vector<const Candidate*> missing;
  for (const Candidate& candidate : candidates)
    if ((candidate.pruned.empty() || pruned) && !is_timed(candidate.kernel.name))
      missing.push_back(&candidate);
  fmt::print(
      stderr,
      "{}: {} configurations, {} timed before, {} to time at {} x {} x {}; Ctrl-C stops, --tune continues\n",
      machine::description(), candidates.size(), timed.size(), missing.size(), size, size,
      size);

  std::signal(SIGINT, [](int) { interrupted = 1; });
  const Rotation rotation({size, size, size});
  const Stopwatch watch;
  for (std::size_t i = 0; i < missing.size() && !interrupted; ++i) {
    const Candidate& c = *missing[i];
    const double ms = tile::median_ms(c.kernel, rotation);
    Record entry = entry_of(c.kernel);
    entry["pruned"] = c.pruned;
    entry["median_ms"] = ms;
    entry["tflops"] = tflops_of(size, size, size, ms);
    timed.push_back(entry);
    record["chosen"] = fastest()["name"];
    record["fingerprint"] = fingerprint(record, digests, chapter_source());
    save_record(directory, record);
    fmt::print(stderr, "[{:3}/{}] {:16} {:5.1f} TFLOP/s   best {:5.1f} ({})   {:.0f} s left\n",
               i + 1, missing.size(), c.kernel.name, entry["tflops"].get<double>(),
               fastest()["tflops"].get<double>(), fastest()["name"].get<std::string>(),
               watch.seconds() / double(i + 1) * double(missing.size() - i - 1));
  }
  if (interrupted) {
    fmt::print(stderr, "stopped with {} configurations timed; the same command continues\n",
               timed.size());
    return 130;
  }
  std::vector<Record> landscape(timed.begin(), timed.end());
  std::sort(landscape.begin(), landscape.end(), faster);
  fmt::print("{:16} {:>8} {:>7} {:>9} {:>7} {:>9} {:>8}\n", "configuration", "TFLOP/s",
             "threads", "registers", "spills", "blocks/SM", "pruned");
  for (const Record& t : landscape)
    fmt::print("{:16} {:8.1f} {:7} {:9} {:7} {:9} {:>8}\n", t["name"].get<std::string>(),
               t["tflops"].get<double>(), t["block_threads"].get<int>(),
               t["registers"].get<int>(), t["spill_bytes"].get<int>(),
               t["blocks_per_sm"].get<int>(),
               t["pruned"].get<std::string>().empty() ? "" : "yes");
  fmt::print("chosen: {}, {:.1f} TFLOP/s; recorded in {}\n",
             record["chosen"].get<std::string>(), fastest()["tflops"].get<double>(),
             directory.string());
  return 0;
}

}  // namespace

Extension extension_of(const std::vector<Candidate>& candidates) {
  const auto run = [candidates](bool pruned) {
    return [candidates, pruned](const Options& options) {
      return tune(candidates, options, pruned);
    };
  };
  Extension own{
      .flags = {
          {"--tune",
           "time the candidates on this GPU and record the fastest; continues where it stopped",
           run(false)},
          {"--tune-pruned", "the same, and time the pruned candidates as well", run(true)}}};
  for (const Candidate& candidate : candidates) own.timed_by_flags.push_back(candidate.kernel);
  return own;
}

}  // namespace tile
