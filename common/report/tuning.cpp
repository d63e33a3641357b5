#include "common/report/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/report/options.hpp"

namespace tile {
namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) rank[order[i]] = double(first + last - 1) / 2;
    first = last;
  }
  return rank;
}

}  // namespace

std::filesystem::path tuning_file(const std::string& gpu_name) {
  return chapter_directory() / "tuned" / (slug(gpu_name) + ".json");
}

namespace {

Record load_tuning_file(const std::filesystem::path& file) {
  Record record = load_record(file);
  try {
    record.at("chosen").get<std::string>();
    for (const auto& timed : record.at("candidates")) {
      timed.at("name").get<std::string>();
      timed.at("tflops").get<double>();
    }
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(fmt::format("{} is not the record of a tuning ({}); delete it or run --tune on that GPU again",
                                  file.string(), e.what()));
  }
  return record;
}

}  // namespace

std::vector<Record> load_tunings() {
  std::vector<std::filesystem::path> files;
  const auto directory = chapter_directory() / "tuned";
  if (std::filesystem::is_directory(directory))
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  const auto reference = tuning_file("NVIDIA H200");
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
    return (a == reference) != (b == reference) ? a == reference : a < b;
  });
  std::vector<Record> tunings;
  for (const auto& file : files) tunings.push_back(load_tuning_file(file));
  return tunings;
}

std::optional<Record> load_tuning(const std::string& gpu_name) {
  const auto file = tuning_file(gpu_name);
  if (!std::filesystem::exists(file)) return {};
  return load_tuning_file(file);
}

const Candidate& tuned_choice(const std::vector<Candidate>& candidates) {
  const bool on_gpu = machine::kind() == "gpu" && machine::unavailable().empty();
  std::optional<Record> tuning = on_gpu ? load_tuning(machine::description()) : std::nullopt;
  if (!tuning) tuning = load_tuning();
  if (tuning)
    for (const Candidate& candidate : candidates)
      if (candidate.kernel.name == (*tuning)["chosen"].get<std::string>()) return candidate;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.pruned.empty() != b.pruned.empty() ? !a.pruned.empty() : a.bound < b.bound;
  };
  return *std::max_element(candidates.begin(), candidates.end(), better);
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = double(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace tile
