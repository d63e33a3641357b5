#include "common/bench/ceilings.hpp"

#include <algorithm>
#include <stdexcept>

#include "common/bench/gpu.hpp"
#include "common/bench/metrics.hpp"
#include "common/bench/record.hpp"
#include "common/check/repository.hpp"
#include "common/sim/model.hpp"

namespace tile {
namespace {

double elements_of_C(const Case& c) { return double(c.M) * c.N; }

// The work that a problem needs with any kernel. C is read unless beta is 0.
Work asked_for(const Case& c) {
  const auto bytes = [](Element type, double rows, double cols) { return double(size_of(type)) * rows * cols; };
  return {.flops = 2 * elements_of_C(c) * c.K,
          .dram_bytes = bytes(c.types.A, c.M, c.K) + bytes(c.types.B, c.K, c.N) +
                        (c.beta == 0 ? 1 : 2) * bytes(c.types.C, c.M, c.N)};
}

}  // namespace

Work work_of(const simt::Counts& counts, const Case& counted) { return work_of(counts, asked_for(counted)); }

Work work_of(const simt::Counts& counts, Work work) {
  for (const simt::Site& site : counts.sites) {
    const bool counted_with_its_load = site.by_copy && site.op == simt::Op::store;
    if (!counted_with_its_load) work.requests += double(site.requests);
    work.lines += double(site.lines);
    work.l1_cycles += double(site.l1_cycles);
    if (site.space != simt::Space::constant) work.wavefronts += double(site.wavefronts);
    work.l1_wavefronts += double(site.l1_wavefronts);
    work.requested_bytes += double(site.bytes());
  }
  work.l2_bytes = 32 * double(counts.block_sectors + counts.block_store_sectors);
  return work;
}

Work work_at(const Case& to, const CountedWork& one, const CountedWork& other) {
  const double deeper = double(other.problem.K) - one.problem.K;
  if (deeper == 0) throw std::invalid_argument("how work grows with K cannot be derived from one K: count two");
  Work work = asked_for(to);
  for (double Work::*const number : {&Work::requests, &Work::lines, &Work::l1_cycles, &Work::wavefronts,
                                     &Work::l1_wavefronts, &Work::requested_bytes, &Work::l2_bytes}) {
    const double of_one = one.work.*number / elements_of_C(one.problem),
                 of_other = other.work.*number / elements_of_C(other.problem);
    work.*number = elements_of_C(to) * (of_one + (of_other - of_one) / deeper * (double(to.K) - one.problem.K));
  }
  return work;
}

std::optional<Work> work_as_compiled(Work work, const Record& kernel, const Record& record,
                                     double counted_load_requests, const Work& counted, const Case& to) {
  for (const char* group : {"counters", "profile", "sass_loop"})
    if (!kernel.contains(group)) return {};
  const Record& loop = kernel.at("sass_loop");
  const double ffma = loop.value("FFMA", 0.0), size = record.value("profiled_size", 0);
  if (ffma == 0 || to.M != size || to.N != size || to.K != size) return {};
  const Record &counters = kernel.at("counters"), &profile = kernel.at("profile");
  const double loads_and_stores = counters.at(metric("shared_load_wavefronts")).get<double>() +
                                  counters.at(metric("shared_store_wavefronts")).get<double>();
  // Records of kernels with asynchronous copies, which are neither, have their sum.
  if (counted.wavefronts > 0)
    work.wavefronts *= counters.value(metric("shared_wavefronts"), loads_and_stores) / counted.wavefronts;
  if (counters.at(metric("load_requests")) != counted_load_requests) work.l1_cycles = work.l1_wavefronts = 0;
  work.instructions = profile.at(metric("instructions"));
  work.bank_reads = std::max(loop.at("ffma_reads_even").get<double>(), loop.at("ffma_reads_odd").get<double>()) / ffma *
                    profile.at(metric("ffma")).get<double>() / 32;
  return work;
}

Rates reference_rates() {
  const auto records = load_records(in_repository("chapters/00-machine"));
  if (records.empty()) return {h200.name, h200.sms, h200.clock_ghz * 1e9, 0, 0};
  const Record &record = records.front(), &rates = record["rates"];
  return {record["gpu"], record["sms"], record["clock_hz"], rates.value("l2_read_gbs", 0.0) * 1e9,
          rates.value("dram_copy_gbs", 0.0) * 1e9};
}

std::vector<Ceiling> ceilings(const Work& work, const Rates& rates) {
  const double cycles_per_second = rates.sms * rates.clock_hz;
  std::vector<Ceiling> result;
  const auto add = [&](const char* resource, double seconds) {
    if (seconds > 0) result.push_back({resource, seconds, work.flops / seconds * 1e-12});
  };
  add("FFMA issue", work.flops / 2 / 128 / cycles_per_second);
  const double instructions = work.instructions > 0 ? work.instructions : work.flops / 2 / 32 + work.requests;
  add("issue slots", instructions / 4 / cycles_per_second);
  add("register banks", work.bank_reads / 4 / cycles_per_second);
  add("L1", work.l1_cycles / cycles_per_second);
  add("banks", (work.wavefronts + work.l1_wavefronts) / cycles_per_second);
  if (rates.l2_bytes_per_second > 0) add("L2 bytes", work.l2_bytes / rates.l2_bytes_per_second);
  if (rates.dram_bytes_per_second > 0) add("DRAM bytes", work.dram_bytes / rates.dram_bytes_per_second);
  std::ranges::stable_sort(result, std::greater(), &Ceiling::seconds);
  return result;
}

}  // namespace tile
