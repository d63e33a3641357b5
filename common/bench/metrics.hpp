// The recorded metrics of the profiler and of machine code: the only place with names of Nsight Compute's metrics. A new metric is a
// row here and one in the table that shows it (report/tables.cpp, or counters.cpp if the model counts it, too). Kernels are profiled
// at the chapter's counted problem ("counters"), and at a size that fills the GPU ("profile").
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/bench/record.hpp"
#include "common/bench/text.hpp"

namespace tile {

struct Metric {
  /// The runs that request it; `unasked`: ncu reports it with every run.
  enum Run { counters, profile, unasked };

  std::string_view key;
  const char* name;
  Run run;
  /// Not every GPU has it: it is requested only if `ncu --query-metrics` lists this name.
  std::string_view needs = "";
};

inline constexpr Metric metrics[] = {
    {"load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", Metric::counters},
    {"load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", Metric::counters},
    {"store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", Metric::counters},
    {"store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", Metric::counters},
    {"shared_load_requests", "smsp__inst_executed_op_shared_ld.sum", Metric::counters},
    {"shared_store_requests", "smsp__inst_executed_op_shared_st.sum", Metric::counters},
    {"shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", Metric::counters},
    {"shared_store_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", Metric::counters},
    {"lines", "l1tex__t_set_accesses.sum", Metric::counters},
    // From compute capability 8.0 on, there are asynchronous copies from global to shared memory.
    {"async_copies", "smsp__inst_executed_op_ldgsts.sum", Metric::counters, "smsp__inst_executed_op_ldgsts"},
    {"shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", Metric::counters,
     "smsp__inst_executed_op_ldgsts"},
    {"l2_sectors", "lts__t_sectors_op_read.sum", Metric::profile},
    {"registers", "launch__registers_per_thread", Metric::counters},  // ncu reports it with every profile
    {"issue_active", "smsp__issue_active.avg.per_cycle_active", Metric::profile},
    // The same summed over all schedulers, so with more digits.
    {"all_issue_active", "smsp__issue_active.sum.per_cycle_active", Metric::unasked},
    {"lines_per_cycle", "l1tex__t_set_accesses.avg.per_cycle_active", Metric::profile},
    {"tag_passes_per_cycle", "l1tex__t_output_wavefronts.avg.per_cycle_active", Metric::profile},
    {"wavefronts_per_cycle", "l1tex__data_pipe_lsu_wavefronts.avg.per_cycle_active", Metric::profile},
    {"l1_hit", "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", Metric::profile},
    {"l2_sectors_written", "lts__t_sectors_op_write.sum", Metric::profile},
    {"dram_read", "dram__bytes_read.sum", Metric::profile},
    {"dram_written", "dram__bytes_write.sum", Metric::profile},
    {"instructions", "smsp__inst_executed.sum", Metric::profile},
    {"ffma", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", Metric::profile},
    {"warps", "smsp__warps_active.avg.per_cycle_active", Metric::profile},
    {"all_warps", "smsp__warps_active.sum.per_cycle_active", Metric::unasked},
    {"latency", "smsp__average_warp_latency_per_inst_issued.ratio", Metric::profile},
    // From compute capability 9.0 on, requests of neighbouring SMs for the same sectors are merged in front of L2's slices.
    {"l2_asked", "lrc__request_sectors_op_read_coalescable.sum", Metric::profile, "lrc__lts2lrc_sectors_op_read"},
    {"l2_coalesced", "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum", Metric::profile,
     "lrc__lts2lrc_sectors_op_read"},
};

/// Returns the key; a key that is not in the table does not compile.
consteval const char* metric(std::string_view key) {
  for (const Metric& m : metrics)
    if (m.key == key) return key.data();
  throw std::out_of_range("no metric has this key");
}

/// Warp stall reasons: how many warps, on average, are stalled on each when an instruction is issued. The names are Nsight
/// Compute's, and keys of records; the list is complete, and the profile requests each.
struct Stall {
  const char *label, *name;
};
inline constexpr Stall stalls[] = {
    {"issued (selected)", "selected"},
    {"eligible, not selected", "not_selected"},
    {"fixed-latency dependency (wait)", "wait"},
    {"global data (long scoreboard)", "long_scoreboard"},
    {"shared-memory data (short scoreboard)", "short_scoreboard"},
    {"global-memory queue full (LG throttle)", "lg_throttle"},
    {"shared-memory queue full (MIO throttle)", "mio_throttle"},
    {"barrier", "barrier"},
    {"dispatch stall", "dispatch_stall"},
    {"math pipe throttle", "math_pipe_throttle"},
    {"instruction cache miss (no instruction)", "no_instruction"},
    {"constant cache miss (IMC miss)", "imc_miss"},
    {"branch resolving", "branch_resolving"},
    {"stores draining at exit (drain)", "drain"},
    {"memory fence (membar)", "membar"},
    {"texture queue full (TEX throttle)", "tex_throttle"},
    {"tensor core (GMMA)", "gmma"},
    {"sleeping", "sleeping"},
    {"other (misc)", "misc"},
};

/// The counts of machine code (machine_code.hpp) that become facts.
inline const std::vector<std::string> tallied = split(
    "all reuse ffma_reads_even ffma_reads_odd bank_cycles FFMA LDS LDS.64 LDS.128 LDG.E LDG.E.64 LDG.E.128 STS STS.64 "
    "STS.128 BAR.SYNC.DEFER_BLOCKING PRMT SHF.L.U32 LOP3.LUT",
    ' ');

/// The metrics of a run, as ncu's option --metrics takes them; `known` is the output of `ncu --query-metrics`.
std::string metrics_of(Metric::Run run, std::string_view known);

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel
/// the median of each counter over its launches, under the key `group`, and [lowest, highest] of those that differed between
/// launches under `group` + "_range". Functions that are not the record's kernels go under "other_kernels". Throws RecordError if
/// there is no launch.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

}  // namespace tile
