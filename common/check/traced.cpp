#include "common/check/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace tile {

namespace {
// What is run may prepare operands by other kernels first, or add up by one that follows. Of these the last launch of the kernel's own
// function; where none is, as of tiles that are not whole, the last of all.
simt::Counts own(std::vector<simt::Counts> launches, const Runnable& kernel) {
  if (launches.empty()) throw std::logic_error("a kernel must be started to be traced");
  const auto found = std::find_if(launches.rbegin(), launches.rend(),
                                  [&](const simt::Counts& launch) { return launch.function == kernel.address(); });
  return std::move(found == launches.rend() ? launches.back() : *found);
}
}  // namespace

simt::Counts launched(const Runnable& kernel, const Case& c) {
  const Ready ready(kernel, c);
  return own(simt::launches([&] { ready.kernel->run(); }), kernel);
}

simt::Counts traced_run(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  const Ready ready(kernel, c);
  const simt::Counts counts = own(simt::trace([&] { ready.kernel->run(); }, options), kernel);
  simt::require_all_written(ready.operands.allocation_of_C());
  const Verdict verdict = compare(ready.operands, ready.problem, ready.operands.download_C());
  if (!verdict.ok) throw std::runtime_error("wrong result: " + verdict.message);
  return counts;
}

void require_clean(const Runnable& kernel, const Case& c) { traced_run(kernel, c); }

void require_no_guess(const simt::Counts& counts) {
  for (const simt::Site& s : counts.sites)
    if (s.estimated)
      throw std::runtime_error("line " + std::to_string(s.line) +
                               ": lanes of a warp diverge within a loop; its counts would be a guess");
}

simt::Counts count(const Runnable& kernel, const Case& c, const simt::Trace& options) {
  const simt::Counts counts = traced_run(kernel, c, options);
  require_no_guess(counts);
  return counts;
}

std::string bank_conflict(const simt::WarpAccess& access, bool is_load) {
  const int together = simt::lanes_together(access, is_load);
  std::map<std::uint64_t, std::string> worst;  // who wants it, by word
  for (int first = 0; first < 32; first += together) {
    std::array<std::map<std::uint64_t, std::string>, 32> banks;
    for (int lane = first; lane < first + together; ++lane) {
      if (!(access.active >> lane & 1u)) continue;
      for (int i = 0; i < std::max(1, access.size / 4); ++i) {
        const std::uint64_t word = access.address[std::size_t(lane)] / 4 + std::uint64_t(i);
        std::string& lanes = banks[word % 32][word];
        lanes += fmt::format("{} {}", lanes.empty() ? "lane" : " and", lane);
      }
    }
    for (const auto& bank : banks)
      if (bank.size() > std::max<std::size_t>(1, worst.size())) worst = bank;
  }
  if (worst.empty()) return "";
  std::string words;
  for (const auto& [word, lanes] : worst)
    words += fmt::format("{} word {} for {}", words.empty() ? "" : ",", word, lanes);
  return fmt::format("bank {} has {} words to serve at once:{}", worst.begin()->first % 32, worst.size(), words);
}

}  // namespace tile
