#include "common/bench/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "common/bench/run.hpp"
#include "common/bench/whole_file.hpp"

namespace tile {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

Fields split(const std::string& text, char at) {
  std::istringstream in(text);
  Fields parts;
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

const Fields launch_facts =
    split("registers spill_bytes static_shared dynamic_shared block_threads blocks_per_sm", ' ');
const Fields search_counts = split("asked suggested tensor_cores refused not_begun repetitions", ' ');
const Fields of_a_suggestion = split(
    "id tile_id stages_id split_k reduction_scheme cta_swizzling custom_option inner_shape_id cluster_shape_id "
    "workspace_bytes waves median_ms",
    ' ');

const char* prefix_of(RecordKind kind) {
  return kind == RecordKind::measured ? "" : kind == RecordKind::tuned ? "tuned-" : "sweep-";
}

RecordKind kind_of(const Record& record) {
  return record.contains("candidates") ? RecordKind::tuned
         : record.contains("sweep")    ? RecordKind::sweep
                                       : RecordKind::measured;
}

fs::path environment_in(const fs::path& directory, RecordKind kind) {
  return directory / fmt::format("{}environment.json", prefix_of(kind));
}

Fields joined(Fields fields, const Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// A text, a number or numbers of a record as a field has them; nothing where they are not there.
std::string field(const Record& of, const std::string& name) {
  if (!of.contains(name)) return "";
  const Record& value = of.at(name);
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<double>>(), " "));
  return value.is_string() ? value.get<std::string>() : fmt::format("{}", value.get<double>());
}

Fields fields(const Record& of, const Fields& columns) {
  Fields row;
  for (const std::string& column : columns) row.push_back(field(of, column));
  return row;
}

/// The files of a record.
class Writer {
 public:
  Writer(fs::path directory, RecordKind kind) : directory_(std::move(directory)), kind_(kind) {}

  void write(const fs::path& file, const std::string& text) const {
    if (!write_whole(file, text))
      throw RecordError(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
  }
  /// The head and the rows of a table; without rows there is no such file.
  void table(const std::string& name, const Fields& columns, const std::vector<Fields>& rows) const {
    const fs::path file = directory_ / (prefix_of(kind_) + name);
    std::string text = csv_line(columns);
    for (const Fields& row : rows) text += csv_line(row);
    if (rows.empty())
      fs::remove(file);
    else
      write(file, text);
  }

 private:
  fs::path directory_;
  RecordKind kind_;
};

// What an object of metrics holds, and the ranges beside it.
void add_metrics(std::vector<Fields>& rows, const std::string& kernel, const std::string& set, const Record& of) {
  const Record ranges = of.value(set + "_range", Record::object());
  for (const auto& [metric, value] : of.at(set).items()) {
    Fields range = ranges.contains(metric) ? split(field(ranges, metric), ' ') : Fields{"", ""};
    rows.push_back(joined({kernel, set, metric, field(of.at(set), metric)}, range));
  }
}

void add_sets(std::vector<Fields>& rows, const std::string& kernel, const Record& entry) {
  for (const auto& [name, value] : entry.items())
    if (value.is_object() && !name.ends_with("_range")) add_metrics(rows, kernel, name, entry);
}

Fields row_of_run(const std::string& kernel, const std::string& problem, const Record& run) {
  const Record& clocks = run.at("clocks");
  const auto throttled = clocks.value("throttled", std::vector<std::string>());
  return {kernel,
          problem,
          field(run, "choice"),
          field(run, "freivalds_deviation"),
          field(clocks, "samples"),
          field(clocks, "sm_mhz"),
          field(clocks, "power_w"),
          fmt::format("{}", fmt::join(throttled, "; ")),
          field(run, "samples_ms")};
}
const Fields columns_of_runs{"kernel", "problem", "choice",    "freivalds_deviation", "clock_samples",
                             "sm_mhz", "power_w", "throttled", "samples_ms"};
const Fields columns_of_pairs{"kernel", "problem", "samples_ms"};

void save_kernels(const Writer& writer, const Record& record) {
  std::vector<Fields> kernels, runs, cublas, lt, searches, metrics;
  std::map<std::string, bool> searched;
  add_metrics(metrics, "", "rates", record);
  for (const Record& kernel : record.at("kernels")) {
    const std::string name = kernel.at("name");
    kernels.push_back(fields(kernel, joined(joined({"name"}, launch_facts), {"function"})));
    add_sets(metrics, name, kernel);
    for (const Record& run : kernel.at("runs")) {
      const std::string problem = run.at("problem");
      runs.push_back(row_of_run(name, problem, run));
      cublas.push_back({name, problem, field(run, "cublas_samples_ms")});
      if (run.contains("lt_samples_ms")) lt.push_back({name, problem, field(run, "lt_samples_ms")});
      if (!run.contains("lt_search") || std::exchange(searched[problem], true)) continue;
      const Record& search = run.at("lt_search");
      Record tried = search.at("tried");
      if (tried.empty()) tried.push_back(Record::object());
      for (const Record& suggestion : tried)
        searches.push_back(
            joined(joined({problem}, fields(search, search_counts)), fields(suggestion, of_a_suggestion)));
    }
  }
  const Record others = record.value("other_kernels", Record::object());
  for (const auto& [function, entry] : others.items()) add_sets(metrics, function, entry);
  writer.table("kernels.csv", joined(joined({"name"}, launch_facts), {"function"}), kernels);
  writer.table("runs.csv", columns_of_runs, runs);
  writer.table("cublas.csv", columns_of_pairs, cublas);
  writer.table("cublaslt.csv", columns_of_pairs, lt);
  writer.table("cublaslt-search.csv", joined(joined({"problem"}, search_counts), of_a_suggestion), searches);
  writer.table("metrics.csv", {"kernel", "set", "metric", "value", "low", "high"}, metrics);
}

std::vector<Row> table_in(const fs::path& directory, RecordKind kind, const std::string& name) {
  const fs::path file = directory / (prefix_of(kind) + name);
  return fs::exists(file) ? rows_of(read_whole(file), file.string()) : std::vector<Row>();
}

// Of columns that have something, the numbers.
Record numbers_of(const Row& row, const Fields& columns) {
  Record found = Record::object();
  for (const std::string& column : columns)
    if (row.has(column)) found[column] = row.number(column);
  return found;
}

Record launch_of(const Row& row) {
  Record entry = numbers_of(row, launch_facts);
  entry["name"] = row.text("name");
  if (row.has("function")) entry["function"] = row.text("function");
  return entry;
}

// The kernel of the record that a row is of; rates are of none of its own, and functions of others stand apart.
Record& described(Record& record, const std::string& kernel) {
  if (kernel.empty()) return record;
  for (Record& entry : record["kernels"])
    if (entry.at("name") == kernel) return entry;
  return record["other_kernels"][kernel];
}

Record clocks_of(const Row& row) {
  Record clocks{{"samples", row.number("clock_samples")}};
  if (clocks["samples"] == 0) return clocks;
  clocks["sm_mhz"] = row.numbers("sm_mhz");
  clocks["power_w"] = row.numbers("power_w");
  clocks["throttled"] = Record::array();
  std::istringstream reasons(row.text("throttled"));
  for (std::string reason; std::getline(reasons >> std::ws, reason, ';');) clocks["throttled"].push_back(reason);
  return clocks;
}

// What was searched of each problem, by its name.
std::map<std::string, Record> searches_in(const fs::path& directory, RecordKind kind) {
  std::map<std::string, Record> searches;
  for (const Row& row : table_in(directory, kind, "cublaslt-search.csv")) {
    Record& search = searches[row.text("problem")];
    if (search.is_null()) search = numbers_of(row, search_counts), search["tried"] = Record::array();
    if (row.has("median_ms")) search["tried"].push_back(numbers_of(row, of_a_suggestion));
  }
  return searches;
}

void load_kernels(Record& record, const fs::path& directory, RecordKind kind) {
  record["rates"] = Record::object();
  record["kernels"] = Record::array();
  for (const Row& row : table_in(directory, kind, "kernels.csv")) {
    record["kernels"].push_back(launch_of(row));
    record["kernels"].back()["runs"] = Record::array();
  }
  for (const Row& row : table_in(directory, kind, "metrics.csv")) {
    Record& entry = described(record, row.text("kernel"));
    const std::string &set = row.text("set"), &metric = row.text("metric");
    entry[set][metric] = row.number("value");
    if (row.has("low")) entry[set + "_range"][metric] = {row.number("low"), row.number("high")};
  }
  using Pairs = std::map<std::pair<std::string, std::string>, std::vector<double>>;
  const auto pairs_in = [&](const char* name) {
    Pairs pairs;
    for (const Row& row : table_in(directory, kind, name))
      pairs[{row.text("kernel"), row.text("problem")}] = row.numbers("samples_ms");
    return pairs;
  };
  const Pairs cublas = pairs_in("cublas.csv"), lt = pairs_in("cublaslt.csv");
  const auto searches = searches_in(directory, kind);
  for (const Row& row : table_in(directory, kind, "runs.csv")) {
    const std::pair of(row.text("kernel"), row.text("problem"));
    Record run = to_json(problem_named(of.second));
    if (kind == RecordKind::sweep) run["choice"] = row.text("choice");
    run["freivalds_deviation"] = row.number("freivalds_deviation");
    run["clocks"] = clocks_of(row);
    run["samples_ms"] = row.numbers("samples_ms");
    if (cublas.contains(of)) run["cublas_samples_ms"] = cublas.at(of);
    if (lt.contains(of)) run["lt_samples_ms"] = lt.at(of);
    if (searches.contains(of.second)) run["lt_search"] = searches.at(of.second);
    try {
      run.update(summary_of(run));
    } catch (const std::exception& e) {
      throw RecordError(fmt::format("{} at {}: {}", of.first, of.second, e.what()));
    }
    Record& entry = described(record, of.first);
    if (!entry.contains("runs")) throw RecordError(fmt::format("runs.csv has {}, which kernels.csv has not", of.first));
    entry["runs"].push_back(run);
  }
}

void load_candidates(Record& tuning, const fs::path& directory) {
  tuning["candidates"] = Record::array();
  const double size = tuning.at("size");
  const Record* fastest = nullptr;
  for (const Row& row : table_in(directory, RecordKind::measured, "tuned.csv")) {
    Record timed = launch_of(row);
    timed["pruned"] = row.text("pruned");
    timed["median_ms"] = row.number("median_ms");
    timed["tflops"] = tflops_of(size, size, size, row.number("median_ms"));
    tuning["candidates"].push_back(timed);
  }
  for (const Record& timed : tuning["candidates"])
    if (fastest == nullptr || timed["tflops"] > (*fastest)["tflops"]) fastest = &timed;
  if (fastest == nullptr) throw RecordError("no configuration is timed");
  tuning["chosen"] = (*fastest)["name"];
}

}  // namespace

Record load_record(const fs::path& directory, RecordKind kind) {
  const fs::path file = environment_in(directory, kind);
  const std::string text = read_whole(file);
  try {
    Record record = Record::parse(text);
    for (const char* key : {"gpu", "date", "driver", "cuda"}) record.at(key).get<std::string>();
    for (const char* key : {"sms", "clock_hz"}) record.at(key).get<double>();
    record.at("fingerprint");
    if (kind == RecordKind::sweep) record.at("sweep").at("seconds").get<double>();
    if (kind == RecordKind::tuned)
      load_candidates(record, directory);
    else
      load_kernels(record, directory, kind);
    return record;
  } catch (const std::exception& e) {
    throw RecordError(
        fmt::format("{} is not of a valid record ({}); delete that directory "
                    "or run ./tile bench on that GPU again",
                    file.string(), e.what()));
  }
}

void save_record(const fs::path& directory, const Record& record) {
  const RecordKind kind = kind_of(record);
  const Writer writer(directory, kind);
  std::error_code error;
  fs::create_directories(directory, error);
  Record environment = record;
  for (const char* key : {"rates", "kernels", "other_kernels", "candidates", "chosen"}) environment.erase(key);
  if (kind == RecordKind::tuned) {
    const Fields columns = joined(joined({"name"}, launch_facts), {"pruned", "median_ms", "function"});
    std::string text = csv_line(columns);
    for (const Record& candidate : record.at("candidates")) text += csv_line(fields(candidate, columns));
    writer.write(directory / "tuned.csv", text);
  } else {
    save_kernels(writer, record);
  }
  writer.write(environment_in(directory, kind), environment.dump(2) + '\n');  // last: a record is there once this is
}

bool holds_record(const fs::path& directory, RecordKind kind) { return fs::exists(environment_in(directory, kind)); }

std::string slug(const std::string& gpu_name) {
  std::string result;
  for (const char c : gpu_name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u))
      result += char(std::tolower(u));
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

fs::path record_directory(const fs::path& chapter_directory, const std::string& gpu_name) {
  return chapter_directory / "measured" / slug(gpu_name);
}

std::vector<fs::path> record_directories(const fs::path& chapter_directory, RecordKind kind) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(chapter_directory / "measured", none))
    if (holds_record(entry.path(), kind)) found.push_back(entry.path());
  const fs::path reference = record_directory(chapter_directory, reference_gpu);
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return (a == reference) != (b == reference) ? a == reference : a < b;
  });
  return found;
}

std::vector<Record> load_records(const fs::path& chapter_directory, RecordKind kind) {
  std::vector<Record> records;
  for (const fs::path& directory : record_directories(chapter_directory, kind))
    records.push_back(load_record(directory, kind));
  return records;
}

namespace {

Element element_named(const std::string& name) {
  for (const Element element : {Element::f32, Element::bf16, Element::f16})
    if (name == name_of(element)) return element;
  throw std::invalid_argument(name);
}

}  // namespace

Record to_json(const Problem& p) {
  Record json{{"M", p.M}, {"N", p.N}, {"K", p.K}, {"problem", key_of(p)}};
  if (p.types != Types{}) json["types"] = {name_of(p.types.A), name_of(p.types.B), name_of(p.types.C)};
  return json;
}

Problem problem_of(const Record& run) { return problem_named(run.at("problem")); }

Problem problem_named(const std::string& key) try {
  Problem p{};
  std::vector<int> leading;
  for (const std::string& part : split(key, '.')) {
    if (p.M == 0) {
      const auto extents = split(part, 'x');
      p.M = std::stoi(extents.at(0));
      p.N = extents.size() == 1 ? p.M : std::stoi(extents.at(1));
      p.K = extents.size() == 1 ? p.M : std::stoi(extents.at(2));
    } else if (part == "At") {
      p.A = Layout::columns;
    } else if (part == "Bt") {
      p.B = Layout::columns;
    } else if (part.starts_with("ld")) {
      for (const std::string& elements : split(part.substr(2), ',')) leading.push_back(std::stoi(elements));
    } else {
      const auto types = split(part, ',');
      p.types = {element_named(types.at(0)), element_named(types.at(1)), element_named(types.at(2))};
    }
  }
  if (p.M == 0) throw std::invalid_argument("no extents");
  p = p.packed();
  if (!leading.empty()) p.lda = leading.at(0), p.ldb = leading.at(1), p.ldc = leading.at(2);
  return p;
} catch (const std::logic_error&) {  // of std::stoi, or a part that is missing
  throw RecordError(fmt::format("'{}' names no problem", key));
}

const Record* find_kernel(const Record& record, const std::string& kernel) {
  for (const auto& entry : record.at("kernels"))
    if (entry.at("name") == kernel) return &entry;
  return nullptr;
}

const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem) {
  if (const Record* entry = find_kernel(record, kernel))
    for (const auto& run : entry->at("runs"))
      if (problem_of(run).of({}) == problem.of({})) return &run;
  return nullptr;
}

const Record* find_run(const Record& record, const std::string& kernel, int M, int N, int K) {
  return find_run(record, kernel, Problem::plain(M, N, K));
}

const Record* find_run(const Record& record, const std::string& kernel, int size) {
  return find_run(record, kernel, size, size, size);
}

const Record* find_timed(const Record& tuning, const std::string& name) {
  for (const Record& timed : tuning.at("candidates"))
    if (timed["name"] == name) return &timed;
  return nullptr;
}

}  // namespace tile
