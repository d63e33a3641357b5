#include "common/bench/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <regex>
#include <set>

#include "common/bench/run.hpp"
#include "common/bench/text.hpp"

namespace tile {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

/// A column of a table: the type of its fields, and their path in a record. Missing values are empty fields.
struct Column {
  enum Kind { number, numbers, text };

  std::string name;
  Kind kind = number;
  std::string pointer = "/" + name;
};
using Columns = std::vector<Column>;

const Columns of_candidates{
    {"name", Column::text}, {"registers"},     {"spill_bytes"},          {"static_shared"}, {"dynamic_shared"},
    {"block_threads"},      {"blocks_per_sm"}, {"pruned", Column::text}, {"median_ms"},     {"function", Column::text}};

/// A table with a row for each run or each problem: the key columns that identify its runs, and the columns with their values.
struct RunTable {
  const char* file;
  Fields keys;
  Columns columns;
};
const RunTable run_tables[] = {
    {"runs.csv",
     {"kernel", "problem"},
     {{"choice", Column::text},
      {"freivalds_deviation"},
      {"clock_samples", Column::number, "/clocks/samples"},
      {"sm_mhz", Column::numbers, "/clocks/sm_mhz"},
      {"power_w", Column::numbers, "/clocks/power_w"},
      {"throttled", Column::text, "/clocks/throttled"},
      {"samples_ms", Column::numbers}}},
    {"cublas.csv", {"kernel", "problem"}, {{"samples_ms", Column::numbers, "/cublas_samples_ms"}}},
    {"cublaslt.csv",
     {"kernel", "problem"},
     {{"asked", Column::number, "/lt_search/asked"},
      {"suggested", Column::number, "/lt_search/suggested"},
      {"samples_ms", Column::numbers, "/lt_samples_ms"}}}};

const Record* named(const Record& entries, const std::string& name) {
  const auto found = std::ranges::find_if(entries, [&](const Record& entry) { return entry.at("name") == name; });
  return found == entries.end() ? nullptr : &*found;
}

Element element_named(const std::string& name) {
  return name == "bf16" ? Element::bf16 : name == "f16" ? Element::f16 : Element::f32;
}

fs::path file_in(const fs::path& directory, RecordKind kind, const std::string& name) {
  const char* prefix = kind == RecordKind::measured ? "" : kind == RecordKind::tuned ? "tuned-" : "sweep-";
  return directory / (prefix + name);
}

std::string text_of(const Record& value) {
  if (value.is_string()) return value;
  if (!value.is_array()) return fmt::format("{}", value.get<double>());
  return fmt::format("{}", fmt::join(value.get<std::vector<double>>(), " "));
}

Fields fields_of(const Record& of, const Columns& columns) {
  Fields row;
  for (const Column& column : columns) {
    const Record::json_pointer at(column.pointer);
    row.push_back(of.contains(at) ? text_of(of.at(at)) : "");
  }
  return row;
}

void read_fields(Record& into, const Row& row, const Columns& columns) {
  for (const auto& [name, kind, pointer] : columns) {
    if (!row.has(name)) continue;
    Record& value = into[Record::json_pointer(pointer)];
    if (kind == Column::number)
      value = row.number(name);
    else if (kind == Column::numbers)
      value = row.numbers(name);
    else
      value = row.text(name);
  }
}

// Without rows, no file is written.
void write_table(const fs::path& file, Fields names, const Columns& columns, const std::vector<Fields>& rows) {
  for (const Column& column : columns) names.push_back(column.name);
  std::string text = csv_line(names);
  for (const Fields& row : rows) text += csv_line(row);
  if (rows.empty())
    fs::remove(file);
  else
    write_whole(file, text);
}

std::vector<Row> rows_in(const fs::path& file) {
  return fs::exists(file) ? rows_of(read_whole(file), file.string()) : std::vector<Row>();
}

std::vector<Fields> rows_of_runs(const RunTable& table, const Record& kernels) {
  std::vector<Fields> rows;
  std::set<std::string> problems;
  for (const Record& kernel : kernels)
    for (const Record& run : kernel.at("runs")) {
      const std::string problem = run.at("problem");
      const Fields fields = fields_of(run, table.columns);
      const bool empty = std::ranges::all_of(fields, &std::string::empty);
      if (empty || (table.keys.size() == 1 && !problems.insert(problem).second)) continue;
      Fields& row = rows.emplace_back(Fields{problem});
      if (table.keys.size() == 2) row.insert(row.begin(), kernel.at("name"));
      row.insert(row.end(), fields.begin(), fields.end());
    }
  return rows;
}

// Each set of metrics is an object of the entry; if launches differed, ranges are in another object.
void add_metrics(std::vector<Fields>& rows, const std::string& kernel, const Record& entry) {
  for (const auto& [set, metrics] : entry.items()) {
    if (!metrics.is_object() || set.ends_with("_range")) continue;
    const Record ranges = entry.value(set + "_range", Record::object());
    for (const auto& [metric, value] : metrics.items()) {
      const Record range = ranges.value(metric, Record::array({"", ""}));
      rows.push_back({kernel, set, metric, text_of(value), text_of(range[0]), text_of(range[1])});
    }
  }
}

void save_kernels(const fs::path& directory, RecordKind kind, const Record& record) {
  const Record& kernels = record.at("kernels");
  std::vector<Fields> metrics;
  add_metrics(metrics, "", {{"rates", record.at("rates")}});
  for (const Record& kernel : kernels) add_metrics(metrics, kernel.at("name"), kernel);
  const Record others = record.value("other_kernels", Record::object());
  for (const auto& [function, entry] : others.items()) add_metrics(metrics, function, entry);
  for (const RunTable& table : run_tables)
    write_table(file_in(directory, kind, table.file), table.keys, table.columns, rows_of_runs(table, kernels));
  write_table(file_in(directory, kind, "metrics.csv"), {"kernel", "set", "metric", "value", "low", "high"}, {},
              metrics);
}

// What is in no table: the fields of each kernel that are numbers or texts.
Record without_tables(Record kernels) {
  for (Record& kernel : kernels)
    for (auto field = kernel.begin(); field != kernel.end();)
      field = field->is_structured() ? kernel.erase(field) : std::next(field);
  return kernels;
}

Record* kernel_named(Record& record, const std::string& name) { return const_cast<Record*>(find_kernel(record, name)); }

void load_metrics(Record& record, const fs::path& file) {
  for (const Row& row : rows_in(file)) {
    const std::string &kernel = row.text("kernel"), &set = row.text("set"), &metric = row.text("metric");
    Record* entry = kernel.empty() ? &record : kernel_named(record, kernel);  // rates belong to no kernel
    if (entry == nullptr) entry = &record["other_kernels"][kernel];
    (*entry)[set][metric] = row.number("value");
    if (row.has("low")) (*entry)[set + "_range"][metric] = {row.number("low"), row.number("high")};
  }
}

void load_runs(Record& record, const fs::path& directory, RecordKind kind) {
  for (const Row& row : rows_in(file_in(directory, kind, "runs.csv"))) {
    Record* kernel = kernel_named(record, row.text("kernel"));
    if (kernel == nullptr)
      throw RecordError(fmt::format("runs.csv has {}, which is not in environment.json", row.text("kernel")));
    (*kernel)["runs"].push_back(to_json(problem_named(row.text("problem"))));
  }
  const auto each_run = [&](auto&& visit) {
    for (Record& kernel : record["kernels"])
      for (Record& run : kernel["runs"])
        visit(kernel["name"].get_ref<std::string&>(), run["problem"].get_ref<std::string&>(), run);
  };
  for (const RunTable& table : run_tables)
    for (const Row& row : rows_in(file_in(directory, kind, table.file)))
      each_run([&](const std::string& kernel, const std::string& problem, Record& run) {
        if (problem == row.text("problem") && (table.keys.size() == 1 || kernel == row.text("kernel")))
          read_fields(run, row, table.columns);
      });
  each_run([](const std::string& kernel, const std::string& problem, Record& run) {
    try {
      run.update(summary_of(run));
    } catch (const std::exception& e) {
      throw RecordError(fmt::format("{} at {}: {}", kernel, problem, e.what()));
    }
  });
}

void load_kernels(Record& record, const fs::path& directory, RecordKind kind) {
  record["rates"] = Record::object();
  for (Record& kernel : record.at("kernels")) kernel["runs"] = Record::array();
  load_metrics(record, file_in(directory, kind, "metrics.csv"));
  load_runs(record, directory, kind);
}

void load_candidates(Record& tuning, const fs::path& directory) {
  Record& candidates = tuning["candidates"] = Record::array();
  const double size = tuning.at("size");
  for (const Row& row : rows_in(directory / "tuned.csv")) {
    Record& timed = candidates.emplace_back(Record{{"pruned", ""}});
    read_fields(timed, row, of_candidates);
    timed["tflops"] = tflops_of(size, size, size, timed.at("median_ms"));
  }
  if (candidates.empty()) throw RecordError("no configuration has been timed");
  const auto slower = [](const Record& a, const Record& b) { return a.at("tflops") < b.at("tflops"); };
  tuning["chosen"] = std::ranges::max_element(candidates, slower)->at("name");
}

}  // namespace

Record load_record(const fs::path& directory, RecordKind kind) {
  const fs::path file = file_in(directory, kind, "environment.json");
  const std::string text = read_whole(file);
  try {
    Record record = Record::parse(text);
    for (const char* key : {"gpu", "date", "driver", "cuda", "fingerprint", "sms", "clock_hz"}) record.at(key);
    if (kind == RecordKind::sweep) record.at("sweep");
    if (kind == RecordKind::tuned)
      load_candidates(record, directory);
    else
      load_kernels(record, directory, kind);
    return record;
  } catch (const std::exception& e) {
    throw RecordError(fmt::format(
        "{} is not part of a valid record ({}); delete that directory or run ./tile bench on that GPU again",
        file.string(), e.what()));
  }
}

void save_record(const fs::path& directory, const Record& record) {
  const RecordKind kind = record.contains("candidates") ? RecordKind::tuned
                          : record.contains("sweep")    ? RecordKind::sweep
                                                        : RecordKind::measured;
  std::error_code error;
  fs::create_directories(directory, error);
  if (kind == RecordKind::tuned) {
    std::vector<Fields> rows;
    for (const Record& candidate : record.at("candidates")) rows.push_back(fields_of(candidate, of_candidates));
    write_table(directory / "tuned.csv", {}, of_candidates, rows);
  } else {
    save_kernels(directory, kind, record);
  }
  Record environment = record;
  for (const char* key : {"rates", "kernels", "other_kernels", "candidates", "chosen"}) environment.erase(key);
  if (kind != RecordKind::tuned) environment["kernels"] = without_tables(record.at("kernels"));
  // Last: its presence marks a complete record.
  write_whole(file_in(directory, kind, "environment.json"), environment.dump(2) + '\n');
}

bool holds_record(const fs::path& directory, RecordKind kind) {
  return fs::exists(file_in(directory, kind, "environment.json"));
}

fs::path record_directory(const fs::path& chapter_directory, const std::string& gpu_name) {
  std::string name = std::regex_replace(gpu_name, std::regex("[^A-Za-z0-9]+"), "-");
  boost::algorithm::to_lower(name);
  boost::algorithm::trim_if(name, boost::algorithm::is_any_of("-"));
  return chapter_directory / "measured" / name;
}

std::vector<fs::path> record_directories(const fs::path& chapter_directory, RecordKind kind) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(chapter_directory / "measured", none))
    if (holds_record(entry.path(), kind)) found.push_back(entry.path());
  const fs::path reference = record_directory(chapter_directory, reference_gpu);
  std::ranges::sort(found, {}, [&](const fs::path& directory) { return std::pair(directory != reference, directory); });
  return found;
}

std::vector<Record> load_records(const fs::path& chapter_directory, RecordKind kind) {
  std::vector<Record> records;
  for (const fs::path& directory : record_directories(chapter_directory, kind))
    records.push_back(load_record(directory, kind));
  return records;
}

Record to_json(const Problem& p) {
  Record json{{"M", p.M}, {"N", p.N}, {"K", p.K}, {"problem", key_of(p)}};
  if (p.types != Types{}) json["types"] = {name_of(p.types.A), name_of(p.types.B), name_of(p.types.C)};
  return json;
}

Problem problem_named(const std::string& key) {
  static const std::regex pattern(
      R"((\d+)(?:x(\d+)x(\d+))?(?:\.(f32|b?f16),(f32|b?f16),(f32|b?f16))?(\.At)?(\.Bt)?(?:\.ld(\d+),(\d+),(\d+))?)");
  std::smatch match;
  if (!std::regex_match(key, match, pattern)) throw RecordError(fmt::format("'{}' is not the name of a problem", key));
  const auto number = [&](int at, int otherwise) { return match[at].matched ? std::stoi(match[at]) : otherwise; };
  const int M = number(1, 0);
  Problem p = Problem::plain(M, number(2, M), number(3, M));
  p.types = {element_named(match[4]), element_named(match[5]), element_named(match[6])};
  if (match[7].matched) p.A = Layout::columns;
  if (match[8].matched) p.B = Layout::columns;
  p = p.packed();
  p.lda = number(9, p.lda), p.ldb = number(10, p.ldb), p.ldc = number(11, p.ldc);
  return p;
}

const Record* find_kernel(const Record& record, const std::string& kernel) {
  return named(record.at("kernels"), kernel);
}

const Record* find_run(const Record& record, const std::string& kernel, const Problem& problem) {
  if (const Record* entry = find_kernel(record, kernel))
    for (const auto& run : entry->at("runs"))
      if (problem_named(run.at("problem")).of({}) == problem.of({})) return &run;
  return nullptr;
}

const Record* find_run(const Record& record, const std::string& kernel, int size) {
  return find_run(record, kernel, Problem::plain(size, size, size));
}

const Record* find_timed(const Record& tuning, const std::string& name) { return named(tuning.at("candidates"), name); }

}  // namespace tile
