// A chapter on a GPU: times its kernels, its sweep or its tuner's candidates; the tables are the model program's work. In: the
// options, the chapter. Out: a record in a file, or one in memory that the model program takes up.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "common/bench/clocks.hpp"
#include "common/bench/describe_gpu.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/bench/timing.hpp"
#include "common/cuda/machine.hpp"
#include "common/report/options.hpp"
#include "common/report/tuning.hpp"

namespace tile {
namespace {

class RecordedRates : public RateSink {
 public:
  explicit RecordedRates(Record& record) : record_(record) {}
  void rate(const std::string& name, double value) override { record_["rates"][name] = value; }

 private:
  Record& record_;
};

void note_clocks(Record& record, const char* when) {
  if (const Record clocks = clocks_now(nvml()); !clocks.empty()) record[when] = clocks;
}

Record entry_of(const Kernel& kernel) {
  Record entry{{"name", kernel.name}};
  if (kernel.address != nullptr)
    entry.update(kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared));
  return entry;
}

// Which kernels have operands of the same types, and so are timed interleaved.
std::vector<std::vector<std::size_t>> of_same_types(const std::vector<Launchable>& kernels) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto same = [&](const auto& group) { return kernels[group.front()].types() == kernels[i].types(); };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  return groups;
}

// A record of `kernels` at `problems`, and of the chapter's rates. Progress goes to stderr.
Record measure(const std::vector<Kernel>& kernels, const std::vector<Case>& problems, L2 l2 = L2::cold) {
  require_plain_cublas();
  Record record = describe_gpu();
  note_clocks(record, "clocks_before");
  if (this_chapter().measure_rates != nullptr) {
    RecordedRates sink(record);
    this_chapter().measure_rates(sink);
  }
  std::vector<Launchable> launchables;
  for (const Kernel& named : kernels) {
    const Kernel kernel = resolved(named);
    record["kernels"].push_back(entry_of(kernel));
    record["kernels"].back()["runs"] = Record::array();
    launchables.push_back(kernel);
  }
  for (const Case& c : problems) {
    fmt::print(stderr, "{} kernel{} at {} x {} x {} ...\n", kernels.size(), kernels.size() == 1 ? "" : "s", c.M, c.N,
               c.K);
    for (const auto& together : of_same_types(launchables)) {
      std::vector<Launchable> some;
      for (const std::size_t i : together) some.push_back(launchables[i]);
      const std::vector<Record> runs = time_against_cublas(some, c, this_chapter().baseline, l2);
      for (std::size_t i = 0; i < runs.size(); ++i) record["kernels"][together[i]]["runs"].push_back(runs[i]);
    }
  }
  note_clocks(record, "clocks_after");
  auto digests = digests_of("/proc/self/exe");
  for (const Candidate& candidate : this_chapter().candidates) {  // none of which was timed here but the kernels above
    const std::string function = entry_of(candidate.kernel).at("function");
    if (std::ranges::none_of(record["kernels"], [&](const Record& k) { return k.at("function") == function; }))
      digests.erase(function);
  }
  record["fingerprint"] = fingerprint(record, digests);
  return record;
}

// The chapter's sweep, each problem for a second or two. Throws std::runtime_error when a result is wrong.
Record sweep() {
  const Stopwatch watch;
  require_plain_cublas();
  const Chapter::Sweep& asked = this_chapter().sweep;
  Record record = describe_gpu();
  note_clocks(record, "clocks_before");
  Record entry = entry_of(asked.kernel);
  std::size_t count = 0;
  entry["runs"] = time_for_sweep(asked.kernel, asked.choice, asked.problems, [&](const Record& run) {
    fmt::print(stderr, "[{:2}/{}] {:>22}: {:5.1f} TFLOP/s, {:.3f} x {}   {:.0f} s\n", ++count, asked.problems.size(),
               key_of(problem_of(run)), run["tflops"].get<double>(), run["stronger_ratio"].get<double>(),
               stronger_of(run), watch.seconds());
  });
  record["kernels"].push_back(entry);
  note_clocks(record, "clocks_after");
  record["sweep"] = {{"seconds", watch.seconds()}};
  record["fingerprint"] = fingerprint(record, digests_of("/proc/self/exe"));
  return record;
}

volatile std::sig_atomic_t interrupted = 0;

// Times the candidates that have no time yet and saves each time at once, so that it can be stopped and continued. Returns the
// program's exit code.
int tune(const Options& options) {
  const Chapter& chapter = this_chapter();
  const int size = options.problem ? options.problem->M : 4096;
  if (options.problem && (options.problem->N != size || options.problem->K != size))
    throw UsageError("--tune times cubes: give --size");
  const auto directory =
      options.out.empty() ? record_directory(chapter_directory(), machine::description()) : options.out;
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
        if (!before["fingerprint"]["kernels"].contains(name) || std::ranges::count(changed, name) > 0) continue;
        timed.push_back(entry);
        record["fingerprint"]["kernels"][name] = before["fingerprint"]["kernels"][name];
      }
    } else {
      fmt::print(stderr, "the tuning in {} is of another nvcc, another GPU or another size: starting anew\n",
                 directory.string());
    }
  }
  const auto faster = [](const Record& a, const Record& b) { return a["tflops"] > b["tflops"]; };
  const auto fastest = [&]() -> const Record& { return *std::min_element(timed.begin(), timed.end(), faster); };
  const auto is_timed = [&](const std::string& name) {
    return std::any_of(timed.begin(), timed.end(), [&](auto& t) { return t["name"] == name; });
  };
  std::vector<const Candidate*> missing;
  for (const Candidate& candidate : chapter.candidates)
    if ((candidate.pruned.empty() || options.tune_pruned) && !is_timed(candidate.kernel.name))
      missing.push_back(&candidate);
  fmt::print(stderr,
             "{}: {} configurations, {} timed before, {} to time at {} x {} x {}; Ctrl-C stops, --tune continues\n",
             machine::description(), chapter.candidates.size(), timed.size(), missing.size(), size, size, size);

  std::signal(SIGINT, [](int) { interrupted = 1; });
  TuningBench bench(size);
  const Stopwatch watch;
  for (std::size_t i = 0; i < missing.size() && !interrupted; ++i) {
    const Candidate& c = *missing[i];
    const double ms = bench.median_ms(c.kernel);
    Record entry = entry_of(c.kernel);
    entry["pruned"] = c.pruned;
    entry["median_ms"] = ms;
    entry["tflops"] = tflops_of(size, size, size, ms);
    timed.push_back(entry);
    record["chosen"] = fastest()["name"];
    record["fingerprint"] = fingerprint(record, digests);
    save_record(directory, record);
    fmt::print(stderr, "[{:3}/{}] {:16} {:5.1f} TFLOP/s   best {:5.1f} ({})   {:.0f} s left\n", i + 1, missing.size(),
               c.kernel.name, entry["tflops"].get<double>(), fastest()["tflops"].get<double>(),
               fastest()["name"].get<std::string>(), watch.seconds() / double(i + 1) * double(missing.size() - i - 1));
  }
  if (interrupted) {
    fmt::print(stderr, "stopped with {} configurations timed; the same command continues\n", timed.size());
    return 130;
  }
  std::vector<Record> landscape(timed.begin(), timed.end());
  std::sort(landscape.begin(), landscape.end(), faster);
  fmt::print("{:16} {:>8} {:>7} {:>9} {:>7} {:>9} {:>8}\n", "configuration", "TFLOP/s", "threads", "registers",
             "spills", "blocks/SM", "pruned");
  for (const Record& t : landscape)
    fmt::print("{:16} {:8.1f} {:7} {:9} {:7} {:9} {:>8}\n", t["name"].get<std::string>(), t["tflops"].get<double>(),
               t["block_threads"].get<int>(), t["registers"].get<int>(), t["spill_bytes"].get<int>(),
               t["blocks_per_sm"].get<int>(), t["pruned"].get<std::string>().empty() ? "" : "yes");
  fmt::print("chosen: {}, {:.1f} TFLOP/s; recorded in {}\n", record["chosen"].get<std::string>(),
             fastest()["tflops"].get<double>(), directory.string());
  return 0;
}

// The name of a file that holds a record and is on no disk; a program that takes this one's place reads it, and with that
// program it is gone.
std::string in_memory(const Record& record) {
  const int file = memfd_create("record", 0);
  const std::string text = record.dump();
  if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size()))
    throw std::runtime_error("cannot hand the measured times to the model program: no memory for them");
  return fmt::format("/dev/fd/{}", file);
}

// For a profiler: every kernel of the chapter and what else it profiles, or the chosen kernel alone.
void run_once(const Options& options) {
  for (const Kernel& kernel : chosen_kernels(options)) {
    const BoundCase bound(kernel, options.problem.value_or(this_chapter().counted));
    for (int i = 0; i < options.repeat; ++i) bound.kernel->run();
    machine::synchronize();
  }
  if (this_chapter().profile != nullptr && options.kernel.empty()) this_chapter().profile();
}

}  // namespace

int run_chapter(const Options& options) {
  const Chapter& chapter = this_chapter();
  if (options.tune || options.tune_pruned) return tune(options);
  if (options.once) {
    run_once(options);
  } else if (options.sweep) {
    save_record(options.out, sweep());
  } else if (options.bench) {
    save_record(options.out, measure(chosen_kernels(options), timed_problems()));
  } else if (options.describe.empty() && options.emit.empty()) {
    // Time now, then let the model program put counts, records and this run side by side.
    fmt::print("on: {}\n", machine::description());
    Case c = options.problem.value_or(chapter.counted);
    if (!options.problem && !chapter.sizes.empty()) c.M = c.N = c.K = chapter.sizes.back();
    if (c.fill != Fill::random)
      fmt::print("A and B hold {}\n", c.fill == Fill::zeros ? "zeros" : "small whole numbers");
    if (options.warm) fmt::print("the L2 keeps what fits of one copy of the operands\n");
    const Record record = measure(chosen_kernels(options), {c}, options.warm ? L2::warm : L2::cold);
    std::vector<std::string> arguments{"--record", in_memory(record)};
    if (!options.kernel.empty()) arguments.insert(arguments.end(), {"--kernel", options.kernel});
    if (options.lines) arguments.push_back("--lines");
    become(sibling_model_program(), arguments);
  } else {
    throw UsageError("the chosen option needs no GPU: add --on model");
  }
  return 0;
}

}  // namespace tile
