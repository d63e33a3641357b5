#include "common/report/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/report/options.hpp"

namespace tile {

const Candidate& choose(const std::vector<Candidate>& candidates, const std::vector<Record>& tunings,
                        std::vector<std::string>& passed_over) {
  for (const Record& tuning : tunings) {
    const std::string gpu = tuning["gpu"], chosen = tuning["chosen"];
    for (const Candidate& candidate : candidates)
      if (candidate.kernel.name == chosen) return candidate;
    passed_over.push_back(fmt::format("the tuning of {} chose {}, which this program does not have", gpu, chosen));
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.pruned.empty() != b.pruned.empty() ? !a.pruned.empty() : a.bound < b.bound;
  };
  return *std::max_element(candidates.begin(), candidates.end(), better);
}

const Candidate& tuned_choice(const std::vector<Candidate>& candidates) {
  std::vector<std::string> gpus{reference_gpu};
  if (machine::kind() == "gpu" && machine::unavailable().empty()) gpus.insert(gpus.begin(), machine::description());
  std::vector<Record> tunings;
  for (const std::string& gpu : gpus)
    if (const auto directory = record_directory(chapter_directory(), gpu); holds_record(directory, RecordKind::tuned))
      tunings.push_back(load_record(directory, RecordKind::tuned));
  std::vector<std::string> passed_over;
  const Candidate& choice = choose(candidates, tunings, passed_over);
  static std::set<std::string> said;
  for (const std::string& line : passed_over)
    if (said.insert(line).second) fmt::print(stderr, "chapter{:02}: {}\n", this_chapter().number, line);
  return choice;
}

void launch_tuned_kernel(const Gemm& g) {
  static const Launcher chosen = tuned_choice(this_chapter().candidates).kernel.launch;
  chosen(g);
}

Kernel tuned_kernel() { return {"tuned", launch_tuned_kernel, nullptr, 0, {}}; }

Kernel resolved(const Kernel& kernel) {
  if (kernel.address != nullptr || this_chapter().candidates.empty()) return kernel;
  Kernel chosen = tuned_choice(this_chapter().candidates).kernel;
  chosen.name = kernel.name;
  return chosen;
}

std::vector<Kernel> resolved_kernels() {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : this_chapter().kernels) kernels.push_back(resolved(kernel));
  return kernels;
}

}  // namespace tile
