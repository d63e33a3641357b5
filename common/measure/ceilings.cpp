#include "common/measure/ceilings.hpp"

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
  work.dram_bytes = 4 * (double(to.M) * to.K + double(to.K) * to.N + c_passes * double(to.M) * to.N);
  return work;
}

std::optional<Work> work_as_compiled(Work work, const Record& kernel, const Record& record,
                                     double counted_load_requests, const Case& counted, const Case& to) {
  for (const char* group : {"counters", "profile", "sass_loop"})
    if (!kernel.contains(group)) return {};
  const Record& loop = kernel.at("sass_loop");
  const double ffma = loop.value("FFMA", 0.0), size = record.value("profiled_size", 0);
  if (ffma == 0 || !loop.contains("ffma_reads_even") || to.M != size || to.N != size || to.K != size) return {};
  const auto volume = [](const Case& c) { return double(c.M) * c.N * c.K; };
  const Record &counters = kernel.at("counters"), &profile = kernel.at("profile");
  const double loads_and_stores = counters.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum").get<double>() +
                                  counters.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum").get<double>();
  // Records of kernels with asynchronous copies, which are neither, have their sum.
  work.wavefronts =
      volume(to) / volume(counted) * counters.value("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", loads_and_stores);
  if (counters.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") != counted_load_requests)
    work.l1_cycles = work.l1_wavefronts = 0;
  work.instructions = profile.at("smsp__inst_executed.sum");
  work.bank_reads = std::max(loop.at("ffma_reads_even").get<double>(), loop.at("ffma_reads_odd").get<double>()) / ffma *
                    profile.at("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum").get<double>() / 32;
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
