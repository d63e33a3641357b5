#include "common/report/machine_code_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/bench/gpu.hpp"
#include "common/bench/metrics.hpp"

namespace tile {

void add_machine_code_facts(Facts& facts, const std::string& name, const Record* entry, int sms) {
  for (const std::string group : {"sass", "sass_loop"}) {
    const Record* tally = entry != nullptr && entry->contains(group) ? &entry->at(group) : nullptr;
    const auto count = [&](const char* key) { return double(tally->value(key, 0)); };
    const auto give = [&](const std::string& key, auto&& value, int decimals) {
      const std::string full = fmt::format("{}.{}.{}", name, group, key);
      const double number = tally == nullptr ? std::nan("") : value();
      if (std::isfinite(number))
        facts.measured(full, number, decimals);
      else
        facts.not_yet_measured(full);
    };
    for (const char* opcode : tallied)
      give(
          opcode, [&] { return count(opcode); }, 0);
    give(
        "ffma_per_lds", [&] { return count("FFMA") / (count("LDS") + count("LDS.64") + count("LDS.128")); }, -1);
    give(
        "reads_per_ffma", [&] { return (count("ffma_reads_even") + count("ffma_reads_odd")) / count("FFMA"); }, 2);
    give(
        "busier_bank_per_ffma",
        [&] { return std::max(count("ffma_reads_even"), count("ffma_reads_odd")) / count("FFMA"); }, 3);
    give(
        "bank_cycles_per_instruction", [&] { return count("bank_cycles") / count("all"); }, 3);
    const auto of_issue = [&] { return tally->contains("issue_cycles") ? count("issue_cycles") : std::nan(""); };
    give("issue_cycles", of_issue, 0);
    give(
        "instructions_per_ffma", [&] { return count("all") / count("FFMA"); }, 3);
    give(
        "issue_cycles_per_ffma", [&] { return of_issue() / count("FFMA"); }, 3);
    give(
        "copies", [&] { return count("MOV") + count("IMAD.MOV.U32"); }, 0);
    const auto those_with = [&](const char* begin) {
      int sum = 0;
      for (const auto& [opcode, number] : tally->items())
        if (opcode.starts_with(begin)) sum += number.get<int>();
      return double(sum);
    };
    give(
        "local", [&] { return those_with("LDL") + those_with("STL"); }, 0);
    give(
        "async_copies", [&] { return those_with("LDGSTS"); }, 0);
    give(
        "never_executed", [&] { return those_with("@!"); }, 0);
    if (group == "sass") continue;
    const auto profiled = [&](const char* name_of_metric) {
      return entry != nullptr && entry->contains("profile") ? entry->at("profile").value(name_of_metric, std::nan(""))
                                                            : std::nan("");
    };
    // The profiler rounds averages to two digits, and the sums over all schedulers likewise.
    const double issued = profiled(metric("all_issue_active")), warps = profiled(metric("all_warps"));
    const bool has_sums = std::isfinite(issued) && std::isfinite(warps);
    const auto turn = [&] { return (has_sums ? warps / issued : profiled(metric("latency"))) * count("all"); };
    const auto banks_of_all_warps = [&] {
      return (has_sums ? warps / (GpuSpec::schedulers * sms) : profiled(metric("warps"))) * count("bank_cycles");
    };
    give("turn_cycles", turn, 0);
    give("bank_cycles_of_all_warps", banks_of_all_warps, 0);
    give(
        "cycles_beyond_banks", [&] { return turn() - banks_of_all_warps(); }, 0);
    // Older records do not say where instructions stand among the FFMA.
    for (const std::string place :
         {"ldg_first", "ldg_last", "copy_first", "copy_last", "sts_first", "sts_last", "bar_first", "bar_last"}) {
      const auto ffma_before = [&] { return tally->contains(place) ? count(place.c_str()) : std::nan(""); };
      give(place, ffma_before, 0);
      give(
          place + "_percent", [&] { return 100 * ffma_before() / count("FFMA"); }, 0);
    }
  }
}

}  // namespace tile
