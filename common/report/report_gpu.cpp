// A chapter on a GPU: times its kernels; the tables are the model program's work.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "common/cuda/machine.hpp"
#include "common/measure/bench.hpp"
#include "common/measure/describe_gpu.hpp"
#include "common/measure/run.hpp"
#include "common/measure/timing.hpp"
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

// A record of `kernels` at `problems`. Progress goes to stderr.
Record measure(const std::vector<Kernel>& kernels, const std::vector<Case>& problems, bool rates) {
  require_plain_cublas();
  Record record = describe_gpu();
  record["fingerprint"] = fingerprint(chapter_source());
  record["clocks_before"] = clocks_now();
  if (rates && this_chapter().measure_rates != nullptr) {
    RecordedRates sink(record);
    this_chapter().measure_rates(sink);
  }
  std::vector<Launcher> launchers;
  for (const Kernel& named : kernels) {
    const Kernel kernel = resolved(named);
    Record entry = kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared);
    entry["name"] = kernel.name;
    entry["runs"] = Record::array();
    record["kernels"].push_back(entry);
    launchers.push_back(kernel.launch);
  }
  for (const Case& c : problems) {
    fmt::print(stderr, "{} kernel{} at {} x {} x {} ...\n", kernels.size(), kernels.size() == 1 ? "" : "s", c.M, c.N,
               c.K);
    const std::vector<Record> runs = time_against_cublas(launchers, c);
    for (std::size_t i = 0; i < runs.size(); ++i) record["kernels"][i]["runs"].push_back(runs[i]);
  }
  record["clocks_after"] = clocks_now();
  return record;
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

volatile std::sig_atomic_t interrupted = 0;

// Times the candidates that have no time yet, saves each time at once, and so can be stopped and continued.
int tune(const Options& options) {
  const Chapter& chapter = this_chapter();
  const int size = options.problem ? options.problem->M : 4096;
  if (options.problem && (options.problem->N != size || options.problem->K != size))
    throw UsageError("--tune times cubes: give --size");
  const auto file = options.out.empty() ? tuning_file(machine::description()) : options.out;
  Record record = describe_gpu();
  record["fingerprint"] = fingerprint(chapter_source());
  record["size"] = size;
  record["candidates"] = Record::array();
  if (std::filesystem::exists(file)) {
    Record before = load_record(file);
    const auto same = [&](const char* key) { return before[key] == record[key]; };
    if (same("fingerprint") && same("cuda") && same("architecture") && same("gpu") && same("size"))
      record = before;
    else
      fmt::print(stderr, "{} is of other code, another nvcc, another GPU or another size: starting anew\n",
                 file.string());
  }
  Record& timed = record["candidates"];
  const auto fastest = [&]() -> const Record& {
    return *std::max_element(timed.begin(), timed.end(), [](auto& a, auto& b) { return a["tflops"] < b["tflops"]; });
  };
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
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < missing.size() && !interrupted; ++i) {
    const Candidate& c = *missing[i];
    Record entry = kernel_attributes(c.kernel.address, c.kernel.block_threads, c.kernel.dynamic_shared);
    entry["name"] = c.kernel.name;
    entry["pruned"] = c.pruned;
    const double ms = bench.median_ms(c.kernel.launch);
    entry["median_ms"] = ms;
    entry["tflops"] = tflops_of(size, size, size, ms);
    timed.push_back(entry);
    record["chosen"] = fastest()["name"];
    save_record(file, record);
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(stderr, "[{:3}/{}] {:16} {:5.1f} TFLOP/s   best {:5.1f} ({})   {:.0f} s left\n", i + 1, missing.size(),
               c.kernel.name, entry["tflops"].get<double>(), fastest()["tflops"].get<double>(),
               fastest()["name"].get<std::string>(), elapsed / double(i + 1) * double(missing.size() - i - 1));
  }
  if (interrupted) {
    fmt::print(stderr, "stopped with {} configurations timed; the same command continues\n", timed.size());
    return 130;
  }
  std::vector<Record> landscape(timed.begin(), timed.end());
  std::sort(landscape.begin(), landscape.end(), [](auto& a, auto& b) { return a["tflops"] > b["tflops"]; });
  fmt::print("{:16} {:>8} {:>7} {:>9} {:>7} {:>9} {:>8}\n", "configuration", "TFLOP/s", "threads", "registers",
             "spills", "blocks/SM", "pruned");
  for (const Record& t : landscape)
    fmt::print("{:16} {:8.1f} {:7} {:9} {:7} {:9} {:>8}\n", t["name"].get<std::string>(), t["tflops"].get<double>(),
               t["block_threads"].get<int>(), t["registers"].get<int>(), t["spill_bytes"].get<int>(),
               t["blocks_per_sm"].get<int>(), t["pruned"].get<std::string>().empty() ? "" : "yes");
  fmt::print("chosen: {}, {:.1f} TFLOP/s; recorded in {}\n", record["chosen"].get<std::string>(),
             fastest()["tflops"].get<double>(), file.string());
  return 0;
}

}  // namespace

double freivalds_deviation(Launcher launcher, const Case& c) {
  Operands operands(c);
  const Gemm& g = operands.gemm();
  const std::size_t bytes = operands.C.size() * sizeof(float);
  float* copy = static_cast<float*>(machine::allocate(bytes, sizeof(float), "C before"));
  machine::copy_to_device(copy, operands.C.data(), bytes);
  launcher(g);
  machine::synchronize();
  const double deviation = freivalds(g, copy, c.seed + 99);
  machine::release(copy);
  return deviation;
}

int run_chapter(const Options& options) {
  const Chapter& chapter = this_chapter();
  if (options.once) {
    if (!chapter.kernels.empty()) {
      Operands operands(options.problem.value_or(chapter.counted));
      for (const Kernel& kernel : chapter.kernels)
        for (int i = 0; i < options.repeat; ++i) kernel.launch(operands.gemm());
      machine::synchronize();
    }
    if (chapter.profile != nullptr) chapter.profile();
    return 0;
  }
  if (options.tune || options.tune_pruned) return tune(options);
  if (options.bench) {
    save_record(options.out, measure(chosen_kernels(options), timed_problems(), true));
    return 0;
  }
  // Time now, then let the model program put counts, records and this run side by side.
  if (!options.check_records && options.emit.empty() && !options.merges() && options.keep.empty()) {
    fmt::print("on: {}\n", machine::description());
    Case c = options.problem.value_or(chapter.counted);
    if (!options.problem && !chapter.sizes.empty()) c.M = c.N = c.K = chapter.sizes.back();
    std::vector<std::string> arguments{"--record", in_memory(measure(chosen_kernels(options), {c}, true))};
    if (!options.kernel.empty()) arguments.insert(arguments.end(), {"--kernel", options.kernel});
    if (options.lines) arguments.push_back("--lines");
    become(sibling_model_program(), arguments);
  }
  throw UsageError("the chosen option needs no GPU: add --on model");
}

}  // namespace tile
