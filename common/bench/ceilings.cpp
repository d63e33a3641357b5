#include "common/bench/ceilings.hpp"

#include <algorithm>
#include <stdexcept>

namespace tile {
namespace {

double results_of(const Case& c) { return double(c.M) * c.N; }

// What a problem asks for, whoever computes it. C is read unless beta is 0.
Work asked_for(const Case& c) {
  const auto bytes = [](Element type, double rows, double cols) { return double(size_of(type)) * rows * cols; };
  const double c_passes = c.beta == 0 ? 1 : 2;
  Work work;
  work.flops = 2 * results_of(c) * c.K;
  work.dram_bytes = bytes(c.types.A, c.M, c.K) + bytes(c.types.B, c.K, c.N) + c_passes * bytes(c.types.C, c.M, c.N);
  return work;
}

}  // namespace

Work work_of(const simt::Counts& counts, const Case& counted) {
  Work work = asked_for(counted);
  for (const simt::Site& site : counts.sites) {
    const bool counted_with_its_load = site.by_copy && site.op == simt::Op::store;
    if (!counted_with_its_load) work.requests += double(site.requests);
    work.lines += double(site.lines);
    work.l1_cycles += double(site.l1_cycles);
    work.wavefronts += double(site.wavefronts);
    work.l1_wavefronts += double(site.l1_wavefronts);
    work.requested_bytes += double(site.bytes());
  }
  work.l2_bytes = 32 * double(counts.block_sectors + counts.block_store_sectors);
  return work;
}

Work work_at(const Case& to, const CountedWork& one, const CountedWork& other) {
  const double deeper = double(other.problem.K) - one.problem.K;
  if (deeper == 0) throw std::invalid_argument("how work grows with K is not seen at one K");
  Work work = asked_for(to);
  for (double Work::*const number : {&Work::requests, &Work::lines, &Work::l1_cycles, &Work::wavefronts,
                                     &Work::l1_wavefronts, &Work::requested_bytes, &Work::l2_bytes}) {
    const double of_result = one.work.*number / results_of(one.problem),
                 of_other = other.work.*number / results_of(other.problem);
    const double of_step = (of_other - of_result) / deeper;
    work.*number = results_of(to) * (of_result + of_step * (double(to.K) - one.problem.K));
  }
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
