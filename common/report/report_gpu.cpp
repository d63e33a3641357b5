// A chapter on a GPU: times its kernels. Out: a record on disk, or one in memory, of which the model program makes tables.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "common/bench/clocks.hpp"
#include "common/bench/machine_code.hpp"
#include "common/bench/record.hpp"
#include "common/bench/timing.hpp"
#include "common/cuda/machine.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

// Measures a record of `kernels` at `problems`, and the chapter's rates. Progress goes to stderr.
Record measure(const std::vector<Kernel>& kernels, const std::vector<Case>& problems, L2 l2 = L2::cold) {
  require_plain_cublas();
  Record record = describe_gpu();
  note_clocks(record, "clocks_before");
  if (this_chapter().measure_rates != nullptr) {
    RateSink sink;
    time_ms([](int) { hold_gpu(); }, 1000);  // the clock rises
    ClockSampler sampler(nvml());
    this_chapter().measure_rates(sink);
    if (const auto clocks = sampler.stop(); clocks.at("samples") != 0) sink.rate("lowest_mhz", clocks.at("sm_mhz")[0]);
    record["rates"] = sink.rates;
  }
  for (const Kernel& kernel : kernels) {
    record["kernels"].push_back(entry_of(kernel));
    record["kernels"].back()["runs"] = Record::array();
  }
  const int of_baseline = this_chapter().baseline == Baseline::stronger ? 10 : 0;
  for (const Case& c : problems) {
    fmt::print(stderr, "{} kernel{} at {} x {} x {} ...\n", kernels.size(), kernels.size() == 1 ? "" : "s", c.M, c.N,
               c.K);
    auto left = order_of_iteration(kernels.size(), 0);
    while (!left.empty()) {  // kernels whose operands have the same types are timed interleaved
      Case of_types = c;
      of_types.types = kernels[left.front()].types;
      const auto others = std::stable_partition(left.begin(), left.end(),
                                                [&](std::size_t i) { return kernels[i].types == of_types.types; });
      std::vector<Launchable> together;
      for (auto i = left.begin(); i != others; ++i) together.push_back(kernels[*i]);
      require_exact(together, of_types);
      const std::vector<Record> runs = time_against_cublas(together, Rotation(of_types, l2), of_baseline);
      for (std::size_t i = 0; i < runs.size(); ++i) record["kernels"][left[i]]["runs"].push_back(runs[i]);
      left.erase(left.begin(), others);
    }
  }
  note_clocks(record, "clocks_after");
  auto digests = digests_of("/proc/self/exe");
  for (const Kernel& other : this_chapter().extension.timed_by_flags) {
    const std::string function = entry_of(other).at("function");
    if (std::ranges::none_of(record["kernels"], [&](const Record& k) { return k.at("function") == function; }))
      digests.erase(function);
  }
  record["fingerprint"] = fingerprint(record, digests, chapter_source());
  return record;
}

// Writes a record to a file in memory, for the program that replaces this one. Returns its name.
std::string in_memory(const Record& record) {
  const int file = memfd_create("record", 0);
  const std::string text = record.dump();
  if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size()))
    throw std::runtime_error("cannot pass the measured times to the model program: not enough memory");
  return fmt::format("/dev/fd/{}", file);
}

// For a profiler: runs every kernel of the chapter and its `profile`, or only the chosen kernel.
void run_once(const Options& options) {
  for (const Kernel& kernel : chosen_kernels(options)) {
    const BoundCase bound(kernel, options.problem.value_or(this_chapter().counted));
    for (int i = 0; i < options.repeat; ++i) bound.kernel->run();
    machine::synchronize();
  }
  if (this_chapter().profile != nullptr && options.kernel.empty()) this_chapter().profile();
}

}  // namespace

void note_clocks(Record& record, const char* when) {
  if (const Record clocks = nvml().state(); !clocks.empty()) record[when] = clocks;
}

Record entry_of(const Kernel& kernel) {
  Record entry{{"name", kernel.name}};
  if (kernel.address != nullptr)
    entry.update(kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared));
  return entry;
}

int run_chapter(const Options& options) {
  const Chapter& chapter = this_chapter();
  if (options.flag) return options.flag->run(options);
  if (options.once) {
    run_once(options);
  } else if (options.bench) {
    save_record(options.out, measure(chosen_kernels(options), timed_problems()));
  } else if (options.describe.empty() && options.emit.empty()) {
    // Time now, then let the model program show counts, records and this run side by side.
    fmt::print("on: {}\n", machine::description());
    Case c = options.problem.value_or(chapter.counted);
    if (!options.problem && !chapter.sizes.empty()) c.M = c.N = c.K = chapter.sizes.back();
    if (c.fill != Fill::random)
      fmt::print("A and B hold {}\n", c.fill == Fill::zeros ? "zeros" : "small whole numbers");
    if (options.warm) fmt::print("the L2 keeps as much of one copy of the operands as fits\n");
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
