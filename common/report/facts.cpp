#include "common/report/facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>

#include "common/check/repository.hpp"
#include "common/bench/measured_loops.hpp"
#include "common/report/units.hpp"

namespace tile {

void Facts::add(const std::string& key, const char* kind, double value, int decimals, Place place) {
  facts_.push_back({key, kind, format_number(value, decimals), value, unit_of(key), place.file, place.line});
}

void Facts::measured_in_unit(const std::string& key, double value, const std::string& unit, Place place) {
  facts_.push_back({key, "measured", format_number(value), value, unit, place.file, place.line});
}

void Facts::measured_loops() {
  for (const MeasuredLoop& loop : tile::measured_loops()) {
    measured("loops." + loop.name + ".cycles", loop.of_two / loop.instructions, 2);
    predicted("loops." + loop.name + ".by_rule", loop.by_rule / loop.instructions, 2);
  }
}

void Facts::measured_in(const std::string& file) {
  const std::filesystem::path path = in_repository(file);
  std::ifstream lines(path);
  if (!lines)
    throw std::runtime_error(fmt::format("cannot read {}: it holds measurements of this chapter", path.string()));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto comma = line.find(',');
    try {
      std::size_t used = 0;
      const std::string value = comma == std::string::npos ? "" : line.substr(comma + 1);
      const double number_of_line = std::stod(value, &used);
      if (used == value.size()) {
        measured(line.substr(0, comma), number_of_line, -1, {path.c_str(), number});
        continue;
      }
    } catch (const std::exception&) {
    }
    throw std::runtime_error(fmt::format("{}, line {}: not a key, a comma and a number", path.string(), number));
  }
}

void Facts::predicted_loads(const std::string& kernel, double global, double shared, int global_width, int shared_width,
                            Place place) {
  text(kernel + ".loads.global", "predicted", multiple_of_K(global / global_width), place);
  text(kernel + ".loads.shared", "predicted", multiple_of_K(shared / shared_width), place);
}

void Facts::text(const std::string& key, const std::string& kind, const std::string& text, Place place) {
  facts_.push_back({key, kind, text, std::nan(""), "", place.file, place.line});
}

void Facts::write(std::ostream& out) const {
  for (const Fact& fact : facts_)
    out << fmt::format("{}\t{}\t{}\t{}\t{}\n", fact.key, fact.kind,
                       std::isnan(fact.value) ? "" : fmt::format("{}", fact.value), fact.unit, fact.text);
}

void Facts::write_places(std::ostream& out) const {
  for (const Fact& fact : facts_)
    out << fmt::format("{}\t{}\t{}\n", fact.key, below_repository(fact.file).generic_string(), fact.line);
}

double Facts::value(const std::string& key) const {
  for (const Fact& fact : facts_)
    if (fact.key == key) return fact.value;
  throw std::out_of_range("no fact has the key " + key);
}

}  // namespace tile
