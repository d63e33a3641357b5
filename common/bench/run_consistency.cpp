#include "common/bench/run_consistency.hpp"

#include "common/bench/run.hpp"

namespace tile {
namespace {

// What was asked, suggested and tried go together, each suggestion has one end, and the fastest of the tried was taken.
void check_search(Findings& findings, const Record& run) {
  const Record &search = run.at("lt_search"), &tried = search.at("tried");
  findings.within("lt_search.suggested", search.at("suggested"), 0, search.at("asked"), "asked");
  findings.equal("lt_search.suggested", search.at("suggested"), "those tried, and those not, are",
                 double(tried.size()) + search.at("tensor_cores").get<double>() + search.at("refused").get<double>() +
                     search.at("not_begun").get<double>());
  if (run.contains("lt_samples_ms") != !tried.empty())
    findings.add("cuBLASLt is timed where one of its suggestions was tried, and nowhere else");
  if (tried.empty()) return;
  const Record& fastest = tried.at(search.at("fastest").get<std::size_t>());
  for (const Record& suggestion : tried) {
    findings.within("lt_search.fastest, its median_ms", fastest.at("median_ms"), 0, suggestion.at("median_ms"),
                    "another's");
    findings.within("lt_search, workspace_bytes", suggestion.at("workspace_bytes"), 0, search.at("workspace_bytes"),
                    "what all of them may use");
  }
}

}  // namespace

void check_run(Findings& findings, const Record& run, int fewest_repetitions) {
  const Record summary = summary_of(run);
  for (const auto& [key, expected] : summary.items())
    findings.equal(key, run.at(key), "its samples give", expected.get<double>());
  findings.within("repetitions", run.at("repetitions"), fewest_repetitions, 1e9, "fewer say little");
  if (run.contains("clocks") && run["clocks"]["samples"] != 0)
    for (const char* field : {"sm_mhz", "power_w"}) {
      const Record& range = run["clocks"].at(field);
      findings.within(fmt::format("clocks.{}", field), range.at(1), range.at(0), range.at(2), "its lowest and highest");
    }
  findings.within("freivalds_deviation", run.at("freivalds_deviation"), 0, 1, "a wrong kernel is not timed");
  if (run.contains("lt_search")) check_search(findings, run);
}

}  // namespace tile
