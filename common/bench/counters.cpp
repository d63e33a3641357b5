#include "common/bench/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "common/bench/metrics.hpp"
#include "common/bench/numbers.hpp"

namespace tile {
namespace {

// As the table shows it.
double rounded(double ratio) { return std::round(ratio * 1e4) * 1e-4; }

bool explains(const Difference& difference, double counted, const Measured& measured) {
  return difference.from - 1e-9 <= rounded(measured.low / counted) &&
         rounded(measured.high / counted) <= difference.to + 1e-9;
}

std::string contradiction_of(const Difference* difference, double counted, const Measured& measured) {
  if (measured == counted) return difference == nullptr ? "" : "they are equal: take the row out of differences.json";
  if (difference == nullptr) return "find out why, and name the row in differences.json";
  return explains(*difference, counted, measured)
             ? ""
             : fmt::format("{} is not from {} to {}, as differences.json has it", ratio_text(measured, counted),
                           difference->from, difference->to);
}

}  // namespace

const std::vector<Counter>& counters() {
  using simt::Op, simt::Site, simt::Space;
  static const std::vector<Counter> all{
      {"global load requests", metric("load_requests"), Space::global, Op::load, &Site::requests},
      {"global load sectors", metric("load_sectors"), Space::global, Op::load, &Site::sectors},
      {"global store requests", metric("store_requests"), Space::global, Op::store, &Site::requests},
      {"global store sectors", metric("store_sectors"), Space::global, Op::store, &Site::sectors},
      {"shared load requests", metric("shared_load_requests"), Space::shared, Op::load, &Site::requests},
      {"shared load wavefronts", metric("shared_load_wavefronts"), Space::shared, Op::load, &Site::wavefronts},
      {"shared store requests", metric("shared_store_requests"), Space::shared, Op::store, &Site::requests},
      {"shared store wavefronts", metric("shared_store_wavefronts"), Space::shared, Op::store, &Site::wavefronts},
      {"asynchronous copies", metric("async_copies"), Space::shared, Op::store, &Site::requests, false, true},
      {"shared wavefronts, with copies", metric("shared_wavefronts"), Space::shared, Op::load, &Site::wavefronts, true,
       true},
      {"cache lines looked up", metric("lines"), Space::global, Op::load, &Site::lines, true},
  };
  return all;
}

bool applies_to(const simt::Counts& counts, const Counter& counter) {
  return !counter.of_copies ||
         std::any_of(counts.sites.begin(), counts.sites.end(), [](const simt::Site& s) { return s.by_copy; });
}

bool covers(const Counter& counter, const simt::Site& site) {
  if (site.space != counter.space) return false;
  const bool stored_by_copy = site.by_copy && site.op == simt::Op::store;
  return counter.every_op || (site.op == counter.op && stored_by_copy == counter.of_copies);
}

std::uint64_t tally(const simt::Counts& counts, const Counter& counter) {
  std::uint64_t sum = 0;
  for (const simt::Site& site : counts.sites)
    if (covers(counter, site)) sum += site.*counter.tally;
  return sum;
}

Tallies tallies(const simt::Counts& counts) {
  Tallies all;
  for (const Counter& counter : counters())
    if (applies_to(counts, counter)) all[counter.key] = tally(counts, counter);
  return all;
}

std::optional<Measured> measured(const Record& kernel, const Counter& counter) {
  if (!kernel.at("counters").contains(counter.key)) return {};
  const double last = kernel.at("counters").at(counter.key);
  const Record ranges = kernel.value("counters_range", Record::object());
  if (!ranges.contains(counter.key)) return Measured{last, last};
  return Measured{ranges.at(counter.key).at(0), ranges.at(counter.key).at(1)};
}

std::string text_of(const Measured& measured) {
  if (measured.low == measured.high) return format_number(measured.low);
  return fmt::format("{} to {}", format_number(measured.low), format_number(measured.high));
}

std::string ratio_text(const Measured& measured, double counted) {
  const std::string lowest = fmt::format("{:.4f}", measured.low / counted),
                    highest = fmt::format("{:.4f}", measured.high / counted);
  return lowest == highest ? lowest : lowest + " to " + highest;
}

std::vector<Difference> load_differences(const std::filesystem::path& chapter_directory) {
  const auto file = chapter_directory / "differences.json";
  if (!std::filesystem::exists(file)) return {};
  std::vector<Difference> differences;
  try {
    std::ifstream in(file);
    for (const auto& entry : Record::parse(in)) {
      differences.push_back(
          {entry.at("kernel"), entry.at("counter"), entry.at("from"), entry.at("to"), entry.at("why")});
      const Difference& added = differences.back();
      if (added.why.empty())
        throw RecordError(fmt::format("{}: {} of {} gives no reason; if it is not known, say so", file.string(),
                                      added.counter, added.kernel));
      if (std::none_of(counters().begin(), counters().end(), [&](auto& c) { return c.key == added.counter; }))
        throw RecordError(fmt::format("{}: there is no counter {}", file.string(), added.counter));
    }
  } catch (const nlohmann::json::exception& e) {
    throw RecordError(
        fmt::format("{} is not a list of {{kernel, counter, from, to, why}} ({})", file.string(), e.what()));
  }
  return differences;
}

const Difference* find_difference(const std::vector<Difference>& differences, const std::string& kernel,
                                  const Counter& counter) {
  for (const Difference& difference : differences)
    if (difference.kernel == kernel && difference.counter == counter.key) return &difference;
  return nullptr;
}

std::vector<std::string> unexplained(const Tallies& counts, const Record& entry,
                                     const std::vector<Difference>& differences) {
  std::vector<std::string> lines;
  const std::string kernel = entry.at("name");
  for (const Counter& counter : counters()) {
    if (!counts.contains(counter.key)) continue;
    const double counted = double(counts.at(counter.key));
    const auto found = measured(entry, counter);
    if (!found) {
      lines.push_back(fmt::format("{}: its counters lack {}", kernel, counter.key));
      continue;
    }
    const std::string wrong = contradiction_of(find_difference(differences, kernel, counter), counted, *found);
    if (!wrong.empty())
      lines.push_back(fmt::format("{}: {}: {} counted, {} measured; {}", kernel, counter.label, format_number(counted),
                                  text_of(*found), wrong));
  }
  return lines;
}

}  // namespace tile
