#include "common/predict/ceilings.hpp"

#include <algorithm>

namespace tile {

Work work_of(const simt::Counts& counts, const Case& counted, const Case& to) {
  const auto volume = [](const Case& c) { return double(c.M) * c.N * c.K; };
  const double by_area = double(to.M) * to.N / (double(counted.M) * counted.N);
  const double by_volume = volume(to) / volume(counted);
  Work work;
  work.flops = 2 * volume(to);
  double c_load_sectors = 0;
  for (const simt::Site& site : counts.sites) {
    const double scale = site.array == "C" ? by_area : by_volume;
    const bool counted_with_its_load = site.by_copy && site.op == simt::Op::store;
    if (!counted_with_its_load) work.requests += scale * double(site.requests);
    work.lines += scale * double(site.lines);
    work.l1_cycles += scale * double(site.l1_cycles);
    work.wavefronts += scale * double(site.wavefronts);
    work.l1_wavefronts += scale * double(site.l1_wavefronts);
    work.requested_bytes += scale * double(site.bytes());
    if (site.array == "C" && site.op == simt::Op::load) c_load_sectors += double(site.sectors);
  }
  work.l2_bytes = 32 * (by_volume * (double(counts.block_sectors) - c_load_sectors) +
                        by_area * (double(counts.block_store_sectors) + c_load_sectors));
  const double c_passes = c_load_sectors > 0 ? 2 : 1;
  const auto bytes = [](Element type, double rows, double cols) { return double(size_of(type)) * rows * cols; };
  work.dram_bytes =
      bytes(to.types.A, to.M, to.K) + bytes(to.types.B, to.K, to.N) + c_passes * bytes(to.types.C, to.M, to.N);
  return work;
}

std::vector<Ceiling> ceilings(const Work& work, const Rates& rates) {
  const double cycles_per_second = rates.sms * rates.clock_hz;
  std::vector<Ceiling> result;
  const auto add = [&](const char* resource, double seconds) {
    if (seconds > 0) result.push_back({resource, work.flops / seconds * 1e-12});
  };
  add("FFMA issue", work.flops / 2 / 128 / cycles_per_second);
  const double instructions = work.instructions > 0 ? work.instructions : work.flops / 2 / 32 + work.requests;
  add("issue slots", instructions / 4 / cycles_per_second);
  add("register banks", work.bank_reads / 4 / cycles_per_second);
  add("L1", work.l1_cycles / cycles_per_second);
  add("banks", (work.wavefronts + work.l1_wavefronts) / cycles_per_second);
  if (rates.l2_bytes_per_second > 0) add("L2 bytes", work.l2_bytes / rates.l2_bytes_per_second);
  if (rates.dram_bytes_per_second > 0) add("DRAM bytes", work.dram_bytes / rates.dram_bytes_per_second);
  std::stable_sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.tflops < b.tflops; });
  return result;
}

}  // namespace tile
