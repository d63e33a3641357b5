#include "common/report/rates.hpp"

#include <string>

#include "common/bench/ceilings.hpp"
#include "common/report/measured_field.hpp"
#include "common/report/options.hpp"
#include "common/report/units.hpp"

namespace tile {

Rates reference_rates() { return recorded_rates(chapter_directory().parent_path()); }

Table table_of_rates(const std::vector<Record>& records) {
  Table rates{"rates", "Rates of the GPU", {"rate"}, {}};
  for (const Record& record : records)
    rates.header.push_back(record["gpu"].get<std::string>() + ", " + record["date"].get<std::string>());
  for (const Chapter::Rate& rate : this_chapter().rates) {
    std::vector<std::string> row{rate.label};
    for (const Record& record : records)
      row.push_back(record["rates"].contains(rate.name) ? format_number(record["rates"][rate.name].get<double>())
                                                        : "not yet measured");
    rates.rows.push_back(row);
  }
  return rates;
}

void add_rate_facts(Facts& facts, const Record* record) {
  std::string unit;
  for (const Chapter::Rate& rate : this_chapter().rates) {
    const std::string key = "rates." + rate.name;
    if (!rate.label.starts_with("the same")) unit = unit_of_label(rate.label);
    if (record == nullptr || !record->at("rates").contains(rate.name))
      facts.not_yet_measured(key);
    else
      facts.measured_in_unit(key, record->at("rates")[rate.name].get<double>(), unit.empty() ? unit_of(key) : unit);
  }
}

}  // namespace tile
