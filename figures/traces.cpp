#include "traces.hpp"

#include <fmt/format.h>

#include <boost/algorithm/string.hpp>
#include <fstream>
#include <stdexcept>

namespace tile::figures {

namespace fs = std::filesystem;

std::map<std::string, fs::path> chapters_in(const fs::path& directory, const std::string& last) {
  std::map<std::string, fs::path> chapters;
  for (const auto& entry : fs::directory_iterator(directory))
    if (const std::string number = entry.path().filename().string().substr(0, 2); number >= "00" && number <= last)
      chapters[number] = entry.path();
  return chapters;
}

Rows read_tsv(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  Rows rows;
  for (std::string line; std::getline(in, line);) boost::split(rows.emplace_back(), line, boost::is_any_of("\t"));
  return rows;
}

Rows rows_of(const fs::path& file, const std::string& kernel) {
  Rows rows = read_tsv(file);
  std::erase_if(rows, [&](const auto& row) { return row[0] != kernel; });
  if (rows.empty()) throw std::runtime_error(fmt::format("no kernel {} in {}", kernel, file.string()));
  return rows;
}

std::vector<std::string> kernels_of(const fs::path& emitted) {
  std::vector<std::string> names;
  for (const auto& row : read_tsv(emitted / "kernels.tsv")) names.push_back(row[0]);
  return names;
}

Sizes sizes_of(const fs::path& emitted, const std::string& kernel) {
  const auto row = rows_of(emitted / "kernels.tsv", kernel).front();
  const auto number = [&](std::size_t column) { return std::stoi(row.at(column)); };
  return {number(1), number(2), number(3), number(4), number(5), number(6), number(7)};
}

EmittedFacts::EmittedFacts(const fs::path& emitted) {
  for (auto& row : read_tsv(emitted / "facts.tsv")) facts_.emplace(row[0], row);
}

std::optional<double> EmittedFacts::value(const std::string& key) const {
  const auto found = facts_.find(key);
  if (found == facts_.end() || found->second.at(2).empty()) return {};
  return std::stod(found->second[2]);
}

std::string EmittedFacts::text(const std::string& key, const char* otherwise) const {
  const auto found = facts_.find(key);
  return found == facts_.end() ? otherwise : found->second.at(4);
}

SampledAccess read_sample(const fs::path& emitted, const std::string& kernel, const std::string& tag) {
  const fs::path samples = emitted / "samples.tsv";
  SampledAccess sample;
  for (const auto& row : read_tsv(samples)) {
    if (row[0] != kernel || row.at(1) != tag) continue;
    const auto lane = std::size_t(std::stoi(row.at(5)));
    if (sample.access.active >> lane & 1u) break;  // of an unrolled loop the trace has several
    sample.shared = row.at(2) == "shared";
    sample.array = row.at(3);
    sample.access.size = std::stoi(row.at(4));
    sample.access.address.at(lane) = 4 * std::stoull(row.at(6));
    sample.access.active |= 1u << lane;
    sample.load = row.at(7) == "load";
  }
  if (sample.access.active == 0)
    throw std::runtime_error(fmt::format("no sample of {} {} in {}", kernel, tag, samples.string()));
  return sample;
}

}  // namespace tile::figures
