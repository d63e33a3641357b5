#include "common/bench/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/bench/problem.hpp"
#include "common/bench/whole_file.hpp"

namespace tile {
namespace {

constexpr int schema = 1;

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

}  // namespace

Record load_record(const std::filesystem::path& file) {
  const std::string advice = "; delete it or run ./tile bench on that GPU again";
  Record record;
  try {
    record = Record::parse(read_whole(file));
    if (record.at("schema") != schema)
      throw RecordError(fmt::format("{} has schema {}, this program reads {}{}", file.string(),
                                    record.at("schema").dump(), schema, advice));
    for (const char* key : {"gpu", "date", "driver", "cuda"}) record.at(key).get<std::string>();
    record.at("fingerprint");
    for (const auto& kernel : record.at("kernels")) {
      kernel.at("name").get<std::string>();
      if (!record.contains("sweep")) kernel.at("function").get<std::string>();  // a dispatcher has none of its own
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

Record load_tuning(const std::filesystem::path& file) {
  Record record = load_record(file);
  try {
    record.at("chosen").get<std::string>();
    for (const auto& timed : record.at("candidates")) {
      for (const char* number : {"size", "sms", "clock_hz"}) record.at(number).get<double>();
      timed.at("name").get<std::string>();
      timed.at("pruned").get<std::string>();
      for (const char* number : {"tflops", "median_ms", "registers", "spill_bytes", "blocks_per_sm", "block_threads"})
        timed.at(number).get<double>();
    }
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("{} is not the record of a tuning ({}); delete it or run --tune on that GPU again",
                                  file.string(), e.what()));
  }
  return record;
}

Record load_sweep(const std::filesystem::path& file) {
  Record record = load_record(file);
  try {
    record.at("sweep").at("seconds").get<double>();
    for (const auto& run : record.at("kernels").at(0).at("runs")) {
      run.at("choice").get<std::string>();
      for (const char* number : {"stronger_tflops", "stronger_ratio", "stronger_ratio_low", "stronger_ratio_high"})
        run.at(number).get<double>();
    }
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("{} is not the record of a sweep ({}); delete it or run --sweep on that GPU again",
                                  file.string(), e.what()));
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
