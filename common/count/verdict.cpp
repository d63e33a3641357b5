#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/bench/text.hpp"
#include "common/count/counting.hpp"

namespace tile::counting {
namespace {

// Each SM that has a block has its own share of the SMs' resources; L2 and DRAM have one rate for all.
std::vector<Bound> bounds_of(const simt::Counts& counts, const Rates& rates, int sms, double flops) {
  double requests = 0, l1 = 0, banks = 0;
  for (const simt::Site& s : counts.sites) {
    if (!(s.by_copy && s.op == simt::Op::store)) requests += double(s.requests);  // counted with what it loads
    l1 += double(s.l1_cycles);
    banks += bank_wavefronts(s);
  }
  const auto at_rate = [&](std::uint64_t sectors, double bytes_per_second) {
    return bytes_per_second > 0 ? 32 * double(sectors) / bytes_per_second * rates.clock_hz : 0;
  };
  const double ffma = flops / 2 / GpuSpec::warp;
  std::vector<Bound> bounds{
      {"FFMA issue", ffma / GpuSpec::schedulers / sms},
      {"issue slots", (ffma + requests) / GpuSpec::schedulers / sms},
      {"L1", l1 / sms},
      {"banks", banks / sms},
      {"L2 bytes", at_rate(counts.block_sectors + counts.block_store_sectors, rates.l2_bytes_per_second)},
      {"DRAM bytes", at_rate(counts.grid_sectors, rates.dram_bytes_per_second)}};
  std::erase_if(bounds, [](const Bound& b) { return b.cycles <= 0; });
  std::stable_sort(bounds.begin(), bounds.end(), [](auto& a, auto& b) { return a.cycles > b.cycles; });
  return bounds;
}

}  // namespace

double cycles_of(const simt::Site& site) {
  if (simt::is_bulk(site.op)) return -1;
  if (site.space == simt::Space::global) return double(site.l1_cycles);
  if (site.space != simt::Space::shared || site.op == simt::Op::atomic) return -1;
  return double(site.wavefronts);
}

double bank_wavefronts(const simt::Site& site) {
  return double(site.l1_wavefronts) + (site.space == simt::Space::shared ? std::max(0.0, cycles_of(site)) : 0);
}

Verdict verdict_of(const simt::Counts& counts, const Rates& rates, double flops, int registers) {
  Verdict v;
  v.sms = int(std::min(double(rates.sms), double(counts.grid.x) * counts.grid.y * counts.grid.z));
  v.bounds = bounds_of(counts, rates, v.sms, flops);
  v.binding = std::size_t(std::count_if(v.bounds.begin(), v.bounds.end(), [&](const Bound& b) {
    return format_number(b.cycles) == format_number(v.cycles());
  }));
  v.registers = registers;
  v.occupancy = occupancy(h200, int(counts.block.x * counts.block.y * counts.block.z), registers,
                          int(counts.static_shared_bytes + counts.dynamic_shared_bytes));
  double all = 0, most = 0;
  for (const simt::Site& s : counts.sites) {
    all += std::max(0.0, cycles_of(s));
    most = std::max(most, cycles_of(s));
  }
  for (std::size_t i = 0; i < counts.sites.size(); ++i) {
    const double cycles = cycles_of(counts.sites[i]);
    v.shares.push_back(cycles < 0 ? -1 : all > 0 ? cycles / all : 0);
    if (cycles > 0 && cycles == most) v.hottest.push_back(i);
  }
  if (!v.hottest.empty()) v.advice = advice(counts, v.hottest.front());
  return v;
}

std::string what_binds(const Verdict& verdict) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < verdict.binding; ++i) names.push_back(verdict.bounds[i].resource);
  if (names.empty()) return "-";
  return fmt::format("{}{}", fmt::join(names, " and "), names.size() > 1 ? ", a tie" : "");
}

Json document(const std::vector<Run>& runs, const Rates& rates, int registers) {
  Json json{{"schema", 4}, {"gpu", rates.gpu}, {"clock_hz", rates.clock_hz}, {"runs", runs}};
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (std::size_t k = 0; k < runs[r].kernels.size(); ++k) {
      const Verdict v =
          verdict_of(runs[r].kernels[k], rates, runs[r].flops / double(runs[r].kernels.size()), registers);
      Json& kernel = json["runs"][r]["kernels"][k];
      kernel["bounds"] = Json::array();
      for (const Bound& b : v.bounds) kernel["bounds"].push_back({{"resource", b.resource}, {"cycles", b.cycles}});
      kernel.update({{"sms", v.sms},
                     {"shares", v.shares},
                     {"advice", v.advice},
                     {"blocks_per_sm", v.occupancy.blocks},
                     {"limited_by", v.occupancy.limiter()}});
    }
  return json;
}

}  // namespace tile::counting
