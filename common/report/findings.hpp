// The output of a chapter's model program from counts and records: tables (tables.cpp), facts for the prose
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

/// A kernel, the problem it ran on, and the model's counts.
struct CountedKernel {
  Kernel kernel;
  Case problem;
  simt::Counts counts;
  std::optional<CountedWork> shallow{};  ///< for the same problem with smaller K, if it was requested
};

/// The data of all tables and facts. Records: the reference GPU's first.
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
/// The work of a kernel on the same problem, including its strides, but with depth K.
CountedWork count_at_depth(const Kernel& kernel, const Case& problem, int K);
/// The work of a counted kernel at `to`: its counts if it is that problem, otherwise extrapolated from two depths.
/// Nothing if tiles do not divide both problems, or only one depth was counted.
std::optional<Work> work_at(const Case& to, const CountedKernel& k);
/// The same for the kernel's machine code, by the first record; nothing if the record lacks data.
std::optional<Work> work_as_compiled_at(const Case& to, const CountedKernel& k, const std::vector<Record>& records);
/// The size at which kernels were profiled, if a record says so, otherwise the largest that is timed.
int size_of_profile(const std::vector<Record>& records);
/// "512 x 512 x 512".
std::string extents(const Case& c);
/// A cube with a kernel's types.
Case cube(const Kernel& kernel, int size);
/// Whether two cases have the same problem; the values of the matrices do not matter.
bool same_problem(const Case& a, const Case& b);

/// All tables of the chapter; those of times show the `chosen` kernels.
std::vector<Table> tables_of(const Findings& found, const std::vector<Kernel>& chosen);
/// A metric of Nsight Compute's profile, times `factor`: its label in the table, and its name in facts.
struct ProfileMetric {
  const char *label, *key, *metric;
  int decimals = -1;
  double factor = 1;
};
extern const std::vector<ProfileMetric> profile_metrics;

/// All facts of the chapter. Those of kind "measured" have the same keys whether there is a record or not.
Facts facts_of(const Findings& found);
/// Facts `<name>.profile.*` of one profiled run on a GPU with `sms` SMs; not yet measured if `profile` is null.
void add_profile_facts(Facts& facts, const std::string& name, const Record* profile, int sms);

/// A field of a part of a record, by its JSON pointer, times `factor`. Nothing without the part or the field.
std::optional<double> number_at(const Record* part, const std::string& pointer, double factor = 1);
/// A nested part of a record, or null.
const Record* part_of(const Record* part, const std::string& name);
/// Fields of a record as tables show them: a text, or a number.
std::string text_at(const Record& record, const char* field);
std::string shown(const Record* part, const std::string& field, int decimals = -1,
                  const std::string& otherwise = pending, double factor = 1);
/// Adds a measured fact; not yet measured if there is no value, or it is not finite.
void add_measured(Facts& facts, const std::string& key, std::optional<double> value, int decimals = -1,
                  Place place = Place::here());
/// How a fact `key` is taken from a record: `factor` times the number at `pointer`.
struct Field {
  const char *key, *pointer;
  int decimals = -1;
  double factor = 1;
};
void add_fields(Facts& facts, const std::string& prefix, const Record* part, const std::vector<Field>& fields,
                Place place = Place::here());

/// Writes kernels.tsv, lines.tsv, samples.tsv and thread.tsv: what the kernels cost and touched.
void emit_traces(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory);
/// Prints the source lines that access memory, each with its counts.
void print_lines(const std::vector<CountedKernel>& kernels);

/// This program's description of itself, for tile-record (`--describe`): the chapter's number, its directory, the version of
/// nvcc or "", the number of its kernels, the pads with which `tile bench` also profiles them, an additional step of it, and,
/// with `--describe counts`, `unexplained`: a line for each counter of the reference GPU's record that neither equals the
/// model's count nor is explained in differences.json.
Record describe_program(const Findings& found);

}  // namespace tile
