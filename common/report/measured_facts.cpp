#include "common/report/measured_facts.hpp"

#include <fmt/format.h>

#include <string>

#include "common/bench/merge.hpp"
#include "common/bench/metrics.hpp"
#include "common/report/against_counters.hpp"
#include "common/report/machine_code_facts.hpp"
#include "common/report/measured_field.hpp"
#include "common/report/options.hpp"
#include "common/report/profile.hpp"
#include "common/report/rates.hpp"
#include "common/report/timed_runs.hpp"

namespace tile {
namespace {

// An object of a record by its name, or null where either is missing.
const Record* part_of(const Record* record, const std::string& name) {
  return record != nullptr && record->contains(name) ? &record->at(name) : nullptr;
}

// Which GPU the record is of, and its clocks before and after.
void add_gpu_facts(Facts& facts, const Record* record) {
  for (const char* field : {"gpu", "date", "driver", "cuda"}) {
    if (record == nullptr)
      facts.not_yet_measured(field);
    else
      facts.text(field, "measured", (*record)[field].get<std::string>());
  }
  for (const std::string group : {"clocks_before", "clocks_after"})
    for (const char* field : {"sm_mhz", "power_w", "temperature_c"})
      add_measured_field(facts, fmt::format("{}.{}", group, field), part_of(record, group), field, 0);
}

// Of the GPU that a record is of; 0 where there is none.
int sms_of(const Record* record) { return record == nullptr ? 0 : record->at("sms").get<int>(); }

// A function that Chapter::profile runs besides the chapter's kernels.
void add_profiled_facts(Facts& facts, const Chapter::Profiled& profiled, const Record* record) {
  const Record* counters = nullptr;
  std::string function = "not yet measured";
  if (const Record* others = part_of(record, "other_kernels"))
    for (const auto& [name, kernel] : others->items())
      if (name.find(profiled.part_of_name) != std::string::npos && kernel.contains("counters")) {
        counters = &kernel["counters"];
        function = name;
      }
  facts.text(profiled.key + ".function", "measured", function);
  const Record* const entry = counters == nullptr ? nullptr : &record->at("other_kernels").at(function);
  const Record* const profile = part_of(entry, "profile");
  add_profile_facts(facts, profiled.key, profile, sms_of(record));
  add_machine_code_facts(facts, profiled.key, entry, sms_of(record));
  const auto give = [&](const char* key, const Record* from, const char* metric, int decimals = 0, double factor = 1) {
    add_measured_field(facts, profiled.key + key, from, metric, decimals, factor);
  };
  give(".registers", counters, metric("registers"));
  give(".sm_sectors", counters, metric("load_sectors"));
  give(".l2_sectors", counters, metric("l2_sectors"));
  give(".profile.l2_sectors_written", profile, metric("l2_sectors_written"));
  give(".profile.l2_data_sectors", profile, metric("l2_data_sectors"));
  give(".profile.l2_filled_sectors", profile, metric("l2_filled_sectors"));
  give(".profile.dram_read_mb", profile, metric("dram_read"), -1, 1e-6);
  give(".profile.dram_written_mb", profile, metric("dram_written"), -1, 1e-6);
}

// A kernel of the chapter: what it was compiled to, counted, profiled and timed.
void add_kernel_facts(Facts& facts, const std::string& kernel, const Record* record) {
  const Record* const entry = record == nullptr ? nullptr : find_kernel(*record, kernel);
  for (const char* field : {"registers", "spill_bytes", "static_shared", "blocks_per_sm"})
    add_measured_field(facts, kernel + "." + field, entry, field, 0);
  add_counter_facts(facts, kernel, entry);
  add_profile_facts(facts, kernel, part_of(entry, "profile"), sms_of(record));
  for (const int pad : this_chapter().profiled_pads)
    add_profile_facts(facts, fmt::format("{}+{}", kernel, pad), part_of(entry, profile_with_pad(pad)), sms_of(record));
  add_machine_code_facts(facts, kernel, entry, sms_of(record));
  for (const int architecture : this_chapter().compiled_for) {
    const std::string number = std::to_string(architecture);
    add_measured_field(facts, fmt::format("{}.registers_for.{}", kernel, number), part_of(entry, "registers_for"),
                       number.c_str(), 0);
  }
  add_run_facts(facts, kernel, record);
}

}  // namespace

void add_measured_facts(Facts& facts, const Record* record) {
  add_gpu_facts(facts, record);
  add_rate_facts(facts, record);
  for (const Chapter::Profiled& profiled : this_chapter().profiled) add_profiled_facts(facts, profiled, record);
  for (const Kernel& kernel : this_chapter().kernels) add_kernel_facts(facts, kernel.name, record);
}

}  // namespace tile
