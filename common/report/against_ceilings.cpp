#include "common/report/against_ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "common/bench/ceilings.hpp"
#include "common/bench/counters.hpp"
#include "common/report/options.hpp"
#include "common/report/output_file.hpp"
#include "common/report/rates.hpp"

namespace tile {
namespace {

// The work of what nvcc made of a kernel, by the reference GPU's record.
std::optional<Work> as_compiled(const CountedKernel& k, const Work& written, const Case& at,
                                const std::vector<Record>& records) {
  const Record* entry = records.empty() ? nullptr : find_kernel(records.front(), k.kernel.name);
  if (entry == nullptr || !same_problem(k.problem, this_chapter().counted)) return {};
  return work_as_compiled(written, *entry, records.front(), double(tally(k.counts, counters()[0])),
                          work_of(k.counts, k.problem), at);
}

// The size at which the record knows most; without a profile the largest one.
int size_of_profile(const std::vector<Record>& records) {
  const int largest = this_chapter().sizes.back();
  return records.empty() ? largest : records.front().value("profiled_size", largest);
}

// "register banks" -> "register", as keys call it.
std::string key_of(const Ceiling& ceiling) {
  std::string resource = ceiling.resource.substr(0, ceiling.resource.find(' '));
  std::transform(resource.begin(), resource.end(), resource.begin(), [](unsigned char ch) { return std::tolower(ch); });
  return resource;
}

// A cube of a kernel's types.
Case cube(const Kernel& kernel, int size) {
  Case c{size, size, size};
  c.types = kernel.types;
  return c;
}

// Ceilings of what nvcc made of a kernel, as far as the record has what they follow from.
void add_compiled_ceiling_facts(Facts& facts, const std::string& prefix, const std::optional<Work>& compiled,
                                const Rates& rates) {
  const std::string name = prefix + "compiled.";
  for (const char* key : {"ffma", "issue", "register", "l1", "banks", "l2", "dram", "tightest"})
    if (!compiled) facts.not_yet_measured(name + key);
  if (!compiled) {
    facts.not_yet_measured(name + "resource");
    return;
  }
  const auto found = ceilings(*compiled, rates);
  for (const Ceiling& c : found) facts.measured(name + key_of(c), c.tflops);
  facts.measured(name + "tightest", found.front().tflops);
  facts.text(name + "resource", "measured", found.front().resource);
}

}  // namespace

Table table_of_ceilings(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records) {
  const Case counted = kernels.front().problem;
  const int size = size_of_profile(records);
  const bool asked_for = !same_problem(counted, this_chapter().counted);  // then at that problem
  const Rates rates = reference_rates();
  Table table{"ceilings", "", {"kernel"}, {}};
  const std::vector<std::string> resources{"FFMA issue", "issue slots", "register banks", "L1",
                                           "banks",      "L2 bytes",    "DRAM bytes"};
  for (const auto& resource : resources) table.header.push_back(resource);
  for (const char* heading : {"tightest", "of"}) table.header.push_back(heading);
  const auto gpu_of = [](const Record& record) { return record["gpu"].get<std::string>(); };
  for (const Record& record : records)
    table.header.push_back(records.size() == 1 ? "measured" : "measured, " + gpu_of(record));
  const auto add = [&](const CountedKernel& k, const std::string& label, const Work& work) {
    const auto found = ceilings(work, rates);
    std::vector<std::string> row{label};
    for (const auto& resource : resources) {
      const auto it = std::find_if(found.begin(), found.end(), [&](auto& c) { return c.resource == resource; });
      row.push_back(it == found.end() ? "-" : format_number(it->tflops));
    }
    row.push_back(format_number(found.front().tflops));
    row.push_back(found.front().resource);
    for (const Record& record : records) {
      const bool timed = !asked_for || same_problem(counted, Case{size, size, size});
      const Record* run = timed ? find_run(record, k.kernel.name, size) : nullptr;
      row.push_back(run == nullptr ? "not yet measured" : format_number((*run)["tflops"].get<double>()));
    }
    table.rows.push_back(row);
  };
  for (const CountedKernel& k : kernels) {
    const Case at = asked_for ? counted : cube(k.kernel, size);
    const auto written = work_at(at, k);
    if (!written) continue;
    add(k, k.kernel.name, *written);
    if (const auto compiled = as_compiled(k, *written, at, records)) add(k, k.kernel.name + ", as compiled", *compiled);
  }
  table.caption = fmt::format(
      "Ceilings at {} in TFLOP/s, from the counts and the rates of an {} ({} SMs, {:.2f} GHz); "
      "L2 and DRAM rates as chapter 00 measured them; as compiled: banks, issue slots and register banks from its "
      "counters and its machine code, the rest as in the source",
      extents(asked_for ? counted : Case{size, size, size}), rates.gpu, rates.sms, rates.clock_hz * 1e-9);
  if (records.size() == 1) table.caption += "; measured on an " + gpu_of(records.front());
  return table;
}

void add_ceiling_facts(Facts& facts, const CountedKernel& k, int size, const std::vector<Record>& records,
                       const Rates& rates) {
  const Case at = cube(k.kernel, size);
  const auto at_size = work_at(at, k);
  if (!at_size) return;
  const Work& work = *at_size;
  const auto found = ceilings(work, rates);
  const std::string prefix = fmt::format("{}.{}.", k.kernel.name, size), name = prefix + "ceiling.";
  add_compiled_ceiling_facts(facts, prefix, as_compiled(k, work, at, records), rates);
  facts.counted(prefix + "intensity.sm", work.flops / work.requested_bytes);
  facts.counted(prefix + "intensity.l2", work.flops / work.l2_bytes);
  facts.counted(prefix + "intensity.dram", work.flops / work.dram_bytes);
  for (const Ceiling& c : found) facts.counted(name + key_of(c), c.tflops);
  facts.counted(name + "tightest", found.front().tflops);
  facts.text(name + "resource", "counted", found.front().resource);
}

void emit_above(const std::vector<CountedKernel>& kernels, const std::vector<Record>& records,
                const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "above.tsv");
  if (records.empty() || this_chapter().sizes.empty()) return;
  const int size = size_of_profile(records);
  const Rates rates = reference_rates();
  for (const CountedKernel& k : kernels) {
    const Case at = cube(k.kernel, size);
    const Record* run = find_run(records.front(), k.kernel.name, size);
    if (run == nullptr) continue;
    const double measured = run->at("tflops");
    const auto compare = [&](const Work& work, const char* what) {
      if (const Ceiling tightest = ceilings(work, rates).front(); measured > tightest.tflops)
        out << fmt::format("{0}\t{0}{1} was measured at {2} TFLOP/s, above its ceiling of {3} ({4})\n", k.kernel.name,
                           what, format_number(measured), format_number(tightest.tflops), tightest.resource);
    };
    const auto written = work_at(at, k);
    if (!written) continue;
    compare(*written, "");
    if (const auto compiled = as_compiled(k, *written, at, records)) compare(*compiled, ", as compiled,");
  }
}

}  // namespace tile
