#include "common/count/verdict.hpp"

#include <algorithm>

#include "common/bench/numbers.hpp"

namespace tile::counting {
namespace {

double threads_of(const dim3& block) { return double(block.x) * block.y * block.z; }

// Of the SMs' resources every SM that has a block has its share, of L2 and DRAM all have one rate together.
std::vector<Bound> bounds_of(const simt::Counts& counts, const Rates& rates, int sms, double flops) {
  double requests = 0, l1 = 0, banks = 0;
  for (const simt::Site& s : counts.sites) {
    if (!(s.by_copy && s.op == simt::Op::store)) requests += double(s.requests);  // counted with what it loads
    l1 += double(s.l1_cycles);
    banks += double(s.l1_wavefronts) + std::max(0.0, s.space == simt::Space::shared ? cycles_of(s) : 0);
  }
  std::vector<Bound> bounds;
  const auto add = [&](const char* resource, double cycles) {
    if (cycles > 0) bounds.push_back({resource, cycles});
  };
  const auto at_rate = [&](double bytes, double bytes_per_second) {
    return bytes_per_second > 0 ? bytes / bytes_per_second * rates.clock_hz : 0;
  };
  const double ffma = flops / 2 / GpuSpec::warp;
  add("FFMA issue", ffma / GpuSpec::schedulers / sms);
  add("issue slots", (ffma + requests) / GpuSpec::schedulers / sms);
  add("L1", l1 / sms);
  add("banks", banks / sms);
  add("L2 bytes", at_rate(32 * double(counts.block_sectors + counts.block_store_sectors), rates.l2_bytes_per_second));
  add("DRAM bytes", at_rate(32 * double(counts.grid_sectors), rates.dram_bytes_per_second));
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

Verdict verdict_of(const simt::Counts& counts, const Rates& rates, double flops, int registers) {
  Verdict v;
  v.sms = int(std::min(double(rates.sms), threads_of(counts.grid)));
  v.bounds = bounds_of(counts, rates, v.sms, flops);
  v.registers = registers;
  v.occupancy = occupancy(h200, int(threads_of(counts.block)), registers,
                          int(counts.static_shared_bytes + counts.dynamic_shared_bytes));
  double all = 0, most = 0;
  for (const simt::Site& s : counts.sites) all += std::max(0.0, cycles_of(s));
  for (std::size_t i = 0; i < counts.sites.size(); ++i) {
    const double cycles = cycles_of(counts.sites[i]);
    v.shares.push_back(cycles < 0 ? -1 : all > 0 ? cycles / all : 0);
    if (cycles > most) {
      most = cycles;
      v.hottest = i;
      v.as_hot.clear();
    } else if (cycles > 0 && cycles == most) {
      v.as_hot.push_back(i);
    }
  }
  return v;
}

Bound tightest(const Verdict& verdict) { return verdict.bounds.empty() ? Bound{"-", 0} : verdict.bounds.front(); }

std::size_t ties(const Verdict& verdict) {
  const auto& bounds = verdict.bounds;
  const auto is_shorter = [&](const Bound& b) {
    return format_number(b.cycles) != format_number(bounds.front().cycles);
  };
  return std::size_t(std::find_if(bounds.begin(), bounds.end(), is_shorter) - bounds.begin());
}

std::string what_binds(const Verdict& verdict) {
  if (verdict.bounds.empty()) return "-";
  std::string all = verdict.bounds.front().resource;
  const std::size_t number = ties(verdict);
  for (std::size_t i = 1; i < number; ++i) all += (i + 1 < number ? ", " : " and ") + verdict.bounds[i].resource;
  return all + (number > 1 ? ", a tie" : "");
}

}  // namespace tile::counting
