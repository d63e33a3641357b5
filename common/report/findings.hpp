// What the model's program of a chapter makes of counts and records: tables (tables.cpp), facts for the prose
// (chapter_facts.cpp), and traces for figures (traces.cpp), put together by report_model.cpp; see emitted.tsv.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"
#include "common/report/chapter.hpp"
#include "common/report/facts.hpp"
#include "common/sim/model.hpp"

namespace tile {

/// A kernel, the problem it ran on, and what the model counted.
struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  std::optional<CountedWork> shallow{};  ///< of the same problem with less depth, if it was asked for
};

/// Everything that tables and facts are made of. Records: the reference GPU's first.
struct Findings {
  Case problem;
  std::vector<CountedKernel> kernels{};
  std::vector<Record> records{};
  bool last_is_new = false;  ///< whether the last record was measured by this very run
};
/// The first of several records, or null.
inline const Record* first_of(const std::vector<Record>& records) {
  return records.empty() ? nullptr : &records.front();
}

/// The kernel's entry in the first record, or null.
const Record* entry_of(const std::string& kernel, const std::vector<Record>& records);

/// Throws UsageError for a problem that would take the model minutes.
void require_countable(const Case& c);
/// The work of a kernel at depth K of a problem that otherwise, strides included, is the same.
CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K);
/// The work of a counted kernel at `to`: what was counted, if it is that problem, or else what follows from two depths.
/// Nothing where tiles do not divide either problem, or only one depth was counted.
std::optional<Work> work_at(const Case& to, const CountedKernel& k);
/// The same of what nvcc made of the kernel, by the first record; nothing where that does not know.
std::optional<Work> work_as_compiled_at(const Case& to, const CountedKernel& k, const std::vector<Record>& records);
/// The size that kernels were profiled at, where a record says so, and else the largest that is timed.
int size_of_profile(const std::vector<Record>& records);
/// The rates that ceilings are computed from, as chapter 00 measured them.
Rates reference_rates();
/// "512 x 512 x 512".
std::string extents(const Case& c);
/// A cube of a kernel's types.
Case cube(const Kernel& kernel, int size);
/// Whether two cases pose the same problem; what fills the matrices does not matter.
bool same_problem(const Case& a, const Case& b);

/// All of the chapter's tables; those of times show the `chosen` kernels.
std::vector<Table> tables_of(const Findings& found, const std::vector<Kernel>& chosen);
/// A metric of Nsight Compute's profile, as a row of its table shows it and facts call it, times `factor`.
struct ProfileMetric {
  const char *label, *key, *metric;
  int decimals = -1;
  double factor = 1;
};
extern const std::vector<ProfileMetric> profile_metrics;

/// All of the chapter's facts. Those of kind "measured" have the same keys whether there is a record or not.
Facts facts_of(const Findings& found);
/// Facts `<name>.profile.*` of one profiled run on a GPU of so many SMs; not yet measured when `profile` is null.
void add_profile_facts(Facts& facts, const std::string& name, const Record* profile, int sms);

/// The field of a record's part, by its JSON pointer, times `factor`. Nothing without a part, or where it lacks that.
std::optional<double> number_at(const Record* part, const std::string& pointer, double factor = 1);
/// A part of a part of a record, or null.
const Record* part_of(const Record* part, const std::string& name);
/// A field of a record's part as tables show it: a text, or a number.
std::string text_at(const Record& record, const char* field);
std::string shown(const Record* part, const std::string& field, int decimals = -1,
                  const std::string& otherwise = pending, double factor = 1);
/// A measured fact; not yet measured without a value, or with one that is not finite.
void add_measured(Facts& facts, const std::string& key, std::optional<double> value, int decimals = -1,
                  Place place = Place::here());
/// What a fact `key` is in a record: `factor` times the number at `pointer`.
struct Field {
  const char *key, *pointer;
  int decimals = -1;
  double factor = 1;
};
void add_fields(Facts& facts, const std::string& prefix, const Record* part, const std::vector<Field>& fields,
                Place place = Place::here());

/// Writes kernels.tsv, lines.tsv, samples.tsv, owners.tsv and thread.tsv: what the kernels cost and touched.
void emit_traces(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);
/// Prints the source lines that access memory, each with its counts.
void print_lines(const std::vector<CountedKernel>& kernels);

/// What this program says of itself (`--describe`, see bench/programs.hpp), with what was counted on the chapter's problem.
Record describe_program(const std::vector<CountedKernel>& counted);

}  // namespace tile
