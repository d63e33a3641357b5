#include "common/check/traced.hpp"

#include <stdexcept>
#include <utility>

namespace tile {

namespace {
simt::Counts only(std::vector<simt::Counts> launches) {
  if (launches.size() != 1) throw std::logic_error("a launcher must start one kernel to be traced");
  return std::move(launches.front());
}
}  // namespace

simt::Counts launched(Launcher launcher, const Case& c) {
  const Operands operands(c);
  return only(simt::launches([&] { launcher(operands.gemm()); }));
}

simt::Counts traced_run(Launcher launcher, const Case& c, const simt::Trace& options) {
  Operands operands(c);
  const simt::Counts counts = only(simt::trace([&] { launcher(operands.gemm()); }, options));
  simt::require_all_written(operands.allocation_of_C());
  const Verdict verdict = compare(operands, c, operands.download_C());
  if (!verdict.ok) throw std::runtime_error("wrong result: " + verdict.message);
  return counts;
}

void require_clean(Launcher launcher, const Case& c) { traced_run(launcher, c); }

simt::Counts count(Launcher launcher, const Case& c, const simt::Trace& options) {
  const simt::Counts counts = traced_run(launcher, c, options);
  for (const simt::Site& s : counts.sites)
    if (s.estimated)
      throw std::runtime_error("line " + std::to_string(s.line) +
                               ": lanes of a warp diverge within a loop; its counts would be a guess");
  return counts;
}

}  // namespace tile
