#include "common/bench/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/bench/metrics.hpp"
#include "common/bench/text.hpp"

namespace tile {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Difference, kernel, counter, from, to, why)

namespace {

std::string range_text(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

// Why a row of the table of counters is wrong, or "". `difference` is its entry in differences.json, or nullptr.
std::string contradiction_of(const Difference* difference, double counted, const Measured& measured) {
  const auto in_table = [](double ratio) { return std::lround(ratio * 1e4); };  // it has four decimals
  if (measured == counted) return difference == nullptr ? "" : "they are equal: take the row out of differences.json";
  if (difference == nullptr) return "find out why, and add the row to differences.json";
  if (in_table(difference->from) <= in_table(measured.low / counted) &&
      in_table(measured.high / counted) <= in_table(difference->to))
    return "";
  return fmt::format("{} is not from {} to {}, as differences.json says", ratio_text(measured, counted),
                     difference->from, difference->to);
}

// Whether the counter includes a site.
bool covers(const Counter& counter, const simt::Site& site) {
  if (site.space != counter.space) return false;
  const bool stored_by_copy = site.by_copy && site.op == simt::Op::store;
  return counter.every_op || (site.op == counter.op && stored_by_copy == counter.of_copies);
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
  return !counter.of_copies || std::ranges::any_of(counts.sites, &simt::Site::by_copy);
}

std::uint64_t tally(const simt::Counts& counts, const Counter& counter) {
  std::uint64_t sum = 0;
  for (const simt::Site& site : counts.sites)
    if (covers(counter, site)) sum += site.*counter.tally;
  return sum;
}

std::optional<Measured> measured(const Record& kernel, const Counter& counter) {
  if (!kernel.at("counters").contains(counter.key)) return {};
  const Record last = kernel.at("counters").at(counter.key);
  const Record range = kernel.value("counters_range", Record::object()).value(counter.key, Record::array({last, last}));
  return Measured{range.at(0), range.at(1)};
}

std::string text_of(const Measured& measured) {
  return range_text(format_number(measured.low), format_number(measured.high));
}

std::string ratio_text(const Measured& measured, double counted) {
  return range_text(fmt::format("{:.4f}", measured.low / counted), fmt::format("{:.4f}", measured.high / counted));
}

std::vector<Difference> load_differences(const std::filesystem::path& chapter_directory) {
  const auto file = chapter_directory / "differences.json";
  if (!std::filesystem::exists(file)) return {};
  try {
    return Record::parse(read_whole(file)).get<std::vector<Difference>>();
  } catch (const Record::exception& e) {
    throw RecordError(
        fmt::format("{} is not a list of {{kernel, counter, from, to, why}} ({})", file.string(), e.what()));
  }
}

const Difference* find_difference(const std::vector<Difference>& differences, const std::string& kernel,
                                  const Counter& counter) {
  const auto found = std::ranges::find_if(
      differences, [&](const Difference& d) { return d.kernel == kernel && d.counter == counter.key; });
  return found == differences.end() ? nullptr : &*found;
}

std::vector<std::string> unexplained(const simt::Counts& counts, const Record& entry,
                                     const std::vector<Difference>& differences) {
  std::vector<std::string> lines;
  const std::string kernel = entry.at("name");
  for (const Counter& counter : counters()) {
    if (!applies_to(counts, counter)) continue;
    const double counted = double(tally(counts, counter));
    const auto found = measured(entry, counter);
    const std::string wrong =
        found ? contradiction_of(find_difference(differences, kernel, counter), counted, *found) : "";
    if (!found)
      lines.push_back(fmt::format("{}: its counters lack {}", kernel, counter.key));
    else if (!wrong.empty())
      lines.push_back(fmt::format("{}: {}: {} counted, {} measured; {}", kernel, counter.label, format_number(counted),
                                  text_of(*found), wrong));
  }
  return lines;
}

}  // namespace tile
