// A chapter on a GPU: times its kernels; the tables are the model program's work.
#include <fmt/format.h>
#include <unistd.h>

#include "common/cuda/machine.hpp"
#include "common/measure/bench.hpp"
#include "common/measure/timing.hpp"
#include "common/report/options.hpp"

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
  for (const Kernel& kernel : kernels) {
    Record entry = kernel_attributes(kernel.address, kernel.block_threads, kernel.dynamic_shared);
    entry["name"] = kernel.name;
    entry["runs"] = Record::array();
    for (const Case& c : problems) {
      fmt::print(stderr, "{} at {} x {} x {} ...\n", kernel.name, c.M, c.N, c.K);
      entry["runs"].push_back(time_against_cublas(kernel.launch, c));
    }
    record["kernels"].push_back(entry);
  }
  record["clocks_after"] = clocks_now();
  return record;
}

}  // namespace

double freivalds_deviation(Launcher launcher, const Case& c) {
  Operands operands(c);
  const Gemm& g = operands.gemm();
  std::vector<float> before = operands.C;
  float* copy = static_cast<float*>(machine::allocate(before.size() * sizeof(float), sizeof(float), "C before"));
  machine::copy_to_device(copy, before.data(), before.size() * sizeof(float));
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
      for (const Kernel& kernel : chapter.kernels) kernel.launch(operands.gemm());
      machine::synchronize();
    }
    if (chapter.profile != nullptr) chapter.profile();
    return 0;
  }
  if (options.bench) {
    std::vector<Case> problems;
    for (const int size : chapter.sizes) problems.push_back({size, size, size});
    save_record(options.out, measure(chosen_kernels(options), problems, true));
    return 0;
  }
  // Time now, then let the model program put counts, records and this run side by side.
  const auto temporary =
      std::filesystem::temp_directory_path() / fmt::format("chapter{:02}-{}.json", chapter.number, getpid());
  if (!options.check_records && options.emit.empty() && !options.merges()) {
    fmt::print("on: {}\n", machine::description());
    Case c = options.problem.value_or(chapter.counted);
    if (!options.problem && !chapter.sizes.empty()) c.M = c.N = c.K = chapter.sizes.back();
    save_record(temporary, measure(chosen_kernels(options), {c}, true));
    std::vector<std::string> arguments{"--record", temporary.string()};
    if (!options.kernel.empty()) arguments.insert(arguments.end(), {"--kernel", options.kernel});
    if (options.lines) arguments.push_back("--lines");
    become(sibling_model_program(), arguments);
  }
  throw UsageError("the chosen option needs no GPU: add --on model");
}

}  // namespace tile
