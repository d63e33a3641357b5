#include "common/report/describe.hpp"

#include "common/report/options.hpp"

namespace tile {

Program describe_program(const std::vector<CountedKernel>& counted) {
  const Chapter& chapter = this_chapter();
  Program program;
  program.chapter = chapter.number;
  program.source = chapter_source().string();
  program.nvcc = TILE_NVCC_VERSION;
  for (const Kernel& kernel : chapter.kernels) {
    program.kernels.push_back(
        {kernel.name, kernel.address == nullptr, kernel.block_threads, int(kernel.dynamic_shared)});
    for (const CountedKernel& run : counted)
      if (run.kernel.name == kernel.name && same_problem(run.problem, chapter.counted)) {
        program.kernels.back().tallies = tallies(run.counts);
        program.kernels.back().static_shared = int(run.counts.static_shared_bytes);
      }
  }
  for (const Case& c : timed_problems()) program.problems.push_back(key_of(c.problem()));
  for (const Chapter::Rate& rate : chapter.rates) program.rates.push_back(rate.name);
  program.profiled_pads = chapter.profiled_pads;
  program.compiled_for = chapter.compiled_for;
  for (const Candidate& candidate : chapter.candidates)
    program.candidates.push_back({candidate.kernel.name, candidate.pruned});
  program.sweep.kernel = chapter.sweep.kernel.name;
  for (const Case& c : chapter.sweep.problems) program.sweep.problems.push_back(key_of(c.problem()));
  return program;
}

}  // namespace tile
