// Chooses the candidate that the kernel "tuned" stands for.
#include "chapters/07-autotuning/tuning.hpp"

#include <algorithm>

#include "common/report/options.hpp"

namespace tile {

const Candidate& choose(const std::vector<Candidate>& candidates,
                        const std::vector<Record>& tunings) {
  for (const Record& tuning : tunings)
    for (const Candidate& candidate : candidates)
      if (tuning["chosen"] == candidate.kernel.name) return candidate;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.pruned.empty() != b.pruned.empty() ? !a.pruned.empty() : a.bound < b.bound;
  };
  return *std::max_element(candidates.begin(), candidates.end(), better);
}

const Candidate& tuned_choice(const std::vector<Candidate>& candidates) {
  std::vector<std::string> gpus{reference_gpu};
  if (machine::kind() == "gpu" && machine::unavailable().empty())
    gpus.insert(gpus.begin(), machine::description());
  std::vector<Record> tunings;
  for (const std::string& gpu : gpus)
    if (const auto directory = record_directory(chapter_directory(), gpu);
        holds_record(directory, RecordKind::tuned))
      tunings.push_back(load_record(directory, RecordKind::tuned));
  return choose(candidates, tunings);
}

Kernel tuned_kernel(const std::vector<Candidate>& candidates) {
  Kernel kernel = tuned_choice(candidates).kernel;
  kernel.name = "tuned";
  return kernel;
}

}  // namespace tile
