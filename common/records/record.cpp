#include "common/records/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "common/records/machine_code.hpp"
#include "common/records/whole_file.hpp"

namespace tile {
namespace {

constexpr int schema = 1;

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw RecordError(fmt::format("cannot read {}: check that it exists and is readable", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string without_comments_and_spaces(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      const std::size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      kept += text.substr(begin, i - begin + 1);
    } else if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      i = std::min(text.find("*/", i + 2), text.size() - 1) + 1;
    } else if (!std::isspace(static_cast<unsigned char>(text[i]))) {
      kept += text[i];
    }
  }
  return kept;
}

// 16 hex digits that stand for a program text, comments and spaces left out: FNV-1a.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : without_comments_and_spaces(text))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
}

// What of a chapter's program may run on a GPU.
std::string without_tests_and_predictions(std::string text) {
  text = text.substr(0, text.find("\nTEST_CASE("));
  const auto before = text.find("\nvoid predict(");
  if (before == std::string::npos) return text;
  const auto begin = before + 1;
  auto end = text.find("}\n", begin);  // written on one line, or else up to a brace that begins one
  if (text.find('\n', begin) < end) end = text.find("\n}\n", begin);
  return text.erase(begin, end - begin);
}

// The headers of this repository that a file includes, directly or not, as their names below `root`.
std::set<std::string> included_by(const std::filesystem::path& source, const std::filesystem::path& root) {
  std::set<std::string> found;
  std::vector<std::filesystem::path> to_read{source};
  const std::string directive = "#include \"common/";
  while (!to_read.empty()) {
    std::istringstream lines(read_text(to_read.back()));
    to_read.pop_back();
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(directive)) continue;
      const auto begin = line.find('"') + 1;
      const std::string name = line.substr(begin, line.find('"', begin) - begin);
      if (found.insert(name).second) to_read.push_back(root / name);
    }
  }
  return found;
}

// Indented JSON, but every array of numbers on one line.
std::string with_short_arrays(const std::string& json) {
  std::string text;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto end = json[at] == '[' ? json.find_first_not_of(" \n,+-.0123456789e", at + 1) : std::string::npos;
    if (end == std::string::npos || json[end] != ']') {
      text += json[at];
      continue;
    }
    for (; at < end; ++at)
      if (json[at] == ',')
        text += ", ";
      else if (!std::isspace(static_cast<unsigned char>(json[at])))
        text += json[at];
    text += ']';
  }
  return text;
}

// Splits one line of CSV with quoted fields.
std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// Of ncu's many columns: the sums, rates and ratios, and the registers.
bool is_counter(const std::string& column) {
  const std::string_view name = column;
  return name.ends_with(".sum") || name.ends_with(".pct") || name.ends_with(".ratio") ||
         name.ends_with(".per_cycle_active") || name == "launch__registers_per_thread";
}

// The kernel of the record with this mangled name, or nullptr.
Record* kernel_named(Record& record, const std::string& mangled) {
  for (auto& kernel : record.at("kernels"))
    if (kernel.at("function") == mangled) return &kernel;
  return nullptr;
}

}  // namespace

Record fingerprint(const std::filesystem::path& source) { return fingerprint(source, TILE_ROOT); }

Record fingerprint(const std::filesystem::path& source, const std::filesystem::path& root) {
  Record made_of{{source.filename().string(), digest(without_tests_and_predictions(read_text(source)))},
                 {"flags", TILE_GPU_FLAGS}};
  for (const std::string& header : included_by(source, root))
    if (header.starts_with("common/cuda/") && header != "common/cuda/vocabulary.hpp")
      made_of[header] = digest(read_text(root / header));
  return made_of;
}

std::string changed_parts(const Record& recorded, const Record& own) {
  std::set<std::string> parts;
  for (const auto& [part, value] : own.items())
    if (!recorded.is_object() || recorded.value(part, Record()) != value) parts.insert(part);
  if (recorded.is_object())
    for (const auto& [part, value] : recorded.items())
      if (!own.contains(part)) parts.insert(part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

Record load_record(const std::filesystem::path& file) {
  const std::string advice = "; delete it or run ./tile bench on that GPU again";
  Record record;
  try {
    record = Record::parse(read_text(file));
    if (record.at("schema") != schema)
      throw RecordError(fmt::format("{} has schema {}, this program reads {}{}", file.string(),
                                    record.at("schema").dump(), schema, advice));
    for (const char* key : {"gpu", "date", "driver", "cuda"}) record.at(key).get<std::string>();
    record.at("fingerprint");
    for (const auto& kernel : record.at("kernels")) {
      kernel.at("name").get<std::string>();
      kernel.at("function").get<std::string>();
      for (const auto& run : kernel.at("runs"))
        for (const char* key : {"M", "N", "K", "median_ms", "tflops", "cublas_tflops", "ratio"})
          run.at(key).get<double>();
    }
    for (const auto& [key, value] : record.at("rates").items()) value.get<double>();
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("{} is not a valid record ({}){}", file.string(), e.what(), advice));
  }
  return record;
}

void save_record(const std::filesystem::path& file, const Record& record) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (!write_whole(file, with_short_arrays(record.dump(2)) + '\n'))
    throw RecordError(fmt::format("cannot write {}: check the permissions of its directory", file.string()));
}

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

std::filesystem::path record_file(const std::filesystem::path& chapter_directory, const std::string& kind,
                                  const std::string& gpu_name) {
  return chapter_directory / kind / (slug(gpu_name) + ".json");
}

std::vector<std::filesystem::path> record_files(const std::filesystem::path& chapter_directory,
                                                const std::string& kind) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(chapter_directory / kind))
    for (const auto& entry : std::filesystem::directory_iterator(chapter_directory / kind))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  const auto reference = record_file(chapter_directory, kind, reference_gpu);
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
    return (a == reference) != (b == reference) ? a == reference : a < b;
  });
  return files;
}

std::vector<Record> load_records(const std::filesystem::path& chapter_directory) {
  std::vector<Record> records;
  for (const auto& file : record_files(chapter_directory, "measured")) records.push_back(load_record(file));
  return records;
}

const Record* find_kernel(const Record& record, const std::string& kernel) {
  for (const auto& entry : record.at("kernels"))
    if (entry.at("name") == kernel) return &entry;
  return nullptr;
}

const Record* find_run(const Record& record, const std::string& kernel, int M, int N, int K) {
  if (const Record* entry = find_kernel(record, kernel))
    for (const auto& run : entry->at("runs"))
      if (run.at("M") == M && run.at("N") == N && run.at("K") == K) return &run;
  return nullptr;
}

const Record* find_run(const Record& record, const std::string& kernel, int size) {
  return find_run(record, kernel, size, size, size);
}

std::string without_build(const std::string& function) {
  static const std::regex build("_GLOBAL__N__[0-9a-f]+_");
  return std::regex_replace(function, build, "_GLOBAL__N__");
}

void add_registers(Record& record, const std::filesystem::path& usage, const std::string& architecture) {
  std::map<std::string, int> registers;
  std::istringstream lines(read_text(usage));
  const std::regex of_function(R"(Function\s+(\S+):)"), count(R"(REG:(\d+))");
  std::string function;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, of_function)) function = without_build(match[1]);
    if (std::regex_search(line, match, count)) registers[function] = std::stoi(match[1]);
  }
  for (auto& kernel : record.at("kernels")) {
    const auto found = registers.find(without_build(kernel.at("function")));
    if (found == registers.end())
      throw RecordError(fmt::format("{} says nothing of {}", usage.string(), kernel.at("function").get<std::string>()));
    kernel["registers_for"][architecture] = found->second;
  }
}

void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group) {
  std::istringstream lines(read_text(ncu_csv));
  std::vector<std::string> names, units;
  std::map<Record*, std::map<std::string, std::pair<double, double>>> ranges;  // over the launches of a kernel
  for (std::string line; std::getline(lines, line);) {
    if (names.empty()) {
      if (line.rfind("\"ID\"", 0) == 0) names = split_csv(line);
      continue;
    }
    if (units.empty()) {
      units = split_csv(line);
      continue;
    }
    const auto fields = split_csv(line);
    if (fields.size() != names.size()) continue;
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
    Record* kernel = kernel_named(record, row["Kernel Name"]);
    if (kernel == nullptr) kernel = &record["other_kernels"][row["Kernel Name"]];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_counter(names[i]) || fields[i].empty()) continue;
      std::string digits = fields[i];
      digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
      try {
        const double value = std::stod(digits);
        (*kernel)[group][names[i]] = value;
        auto& range = ranges[kernel].try_emplace(names[i], value, value).first->second;
        range = {std::min(range.first, value), std::max(range.second, value)};
      } catch (const std::exception&) {
        throw RecordError(
            fmt::format("{}: {} of {} is not a number: {}", ncu_csv.string(), names[i], row["Kernel Name"], fields[i]));
      }
    }
  }
  for (const auto& [kernel, by_name] : ranges)
    for (const auto& [name, range] : by_name)
      if (range.first < range.second) (*kernel)[group + "_range"][name] = {range.first, range.second};
  if (names.empty())
    throw RecordError(fmt::format("{} holds no counters: run ncu with --csv --page raw", ncu_csv.string()));
}

void add_sass(Record& record, const std::filesystem::path& sass) {
  for (const auto& [name, code] : functions_of(read_text(sass))) {
    Record* kernel = kernel_named(record, name);
    if (kernel == nullptr && record.contains("other_kernels") && record["other_kernels"].contains(name))
      kernel = &record["other_kernels"][name];
    if (kernel == nullptr) continue;
    (*kernel)["sass"] = tally_of(code);
    const Code loop = main_loop(code);
    (*kernel)["sass_loop"] = tally_of(loop);
    for (const auto& [place, ffma] : places_in(loop)) (*kernel)["sass_loop"][place] = ffma;
  }
}

}  // namespace tile
