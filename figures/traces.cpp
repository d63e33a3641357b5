#include "traces.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tile::figures {

namespace fs = std::filesystem;

std::vector<std::vector<std::string>> read_tsv(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    std::istringstream row(line);
    for (std::string field; std::getline(row, field, '\t');) fields.push_back(field);
    rows.push_back(fields);
  }
  return rows;
}

Sizes sizes_of(const fs::path& emitted, const std::string& kernel) {
  for (const auto& row : read_tsv(emitted / "kernels.tsv")) {
    if (row.at(0) != kernel) continue;
    const auto number = [&](std::size_t column) { return std::stoi(row.at(column)); };
    return {number(1), number(2), number(3), number(4), number(5), number(6), number(7)};
  }
  throw std::runtime_error(fmt::format("no kernel {} in {}", kernel, (emitted / "kernels.tsv").string()));
}

std::optional<double> fact(const fs::path& emitted, const std::string& key) {
  for (const auto& row : read_tsv(emitted / "facts.tsv"))
    if (row.at(0) == key && !row.at(2).empty()) return std::stod(row.at(2));
  return {};
}

Kernel kernel_of(const fs::path& emit, const std::string& written) {
  const auto slash = written.find('/');
  if (slash == std::string::npos) throw std::runtime_error(fmt::format("{} is not NN/KERNEL", written));
  const std::string chapter = written.substr(0, slash);
  return {chapter, written.substr(slash + 1), emit / chapter};
}

SampledAccess read_sample(const fs::path& emitted, const std::string& kernel, const std::string& tag) {
  const fs::path samples = emitted / "samples.tsv";
  SampledAccess sample;
  for (const auto& row : read_tsv(samples)) {
    if (row.at(0) != kernel || row.at(1) != tag) continue;
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

ThreadTrace read_thread(const fs::path& emitted, const std::string& kernel, int round) {
  const fs::path trace = emitted / "thread.tsv";
  ThreadTrace t;
  for (const auto& row : read_tsv(trace)) {
    if (row.at(0) != kernel) continue;
    const int interval = std::stoi(row.at(2));
    const bool load = row.at(3) == "load";
    const long element = std::stol(row.at(5));
    if (row.at(4) == "C")
      t.results.insert(element);
    else if (interval == 2 * round)
      (load ? t.loaded : t.stored)[row.at(4)].insert(element);
    else if (interval == 2 * round + 1 && load)
      t.read[row.at(4)].insert(element);
  }
  for (const auto* group : {&t.loaded, &t.stored, &t.read})
    if (group->size() != 2 || t.results.empty())
      throw std::runtime_error(fmt::format("no round {} of {} in {}", round, kernel, trace.string()));
  return t;
}

std::map<int, Elements> read_owners(const fs::path& emitted, const std::string& kernel) {
  const fs::path owners = emitted / "owners.tsv";
  std::map<int, Elements> by_thread;
  for (const auto& row : read_tsv(owners))
    if (row.at(0) == kernel) by_thread[std::stoi(row.at(1))].insert({std::stol(row.at(2)), std::stol(row.at(3))});
  if (by_thread.empty()) throw std::runtime_error(fmt::format("nothing of {} in {}", kernel, owners.string()));
  return by_thread;
}

std::vector<Rectangle> rectangles(Elements elements) {
  std::vector<Rectangle> result;
  while (!elements.empty()) {
    const auto [row, col] = *elements.begin();
    Rectangle r{row, col, 1, 1};
    while (elements.count({row, col + r.cols}) != 0) ++r.cols;
    const auto whole_row = [&](long at) {
      for (long c = 0; c < r.cols; ++c)
        if (elements.count({at, col + c}) == 0) return false;
      return true;
    };
    while (whole_row(row + r.rows)) ++r.rows;
    for (long i = 0; i < r.rows; ++i)
      for (long j = 0; j < r.cols; ++j) elements.erase({row + i, col + j});
    result.push_back(r);
  }
  return result;
}

}  // namespace tile::figures
