// The rates of a GPU, as chapter 00 measures them. In: records. Out: the rates that ceilings are computed from, a table, facts.
#pragma once

#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {

/// Those of this chapter's neighbours, see recorded_rates.
Rates reference_rates();

/// The rates that this chapter measures, a column for each record.
Table table_of_rates(const std::vector<Record>& records);

/// Facts `rates.*` of this chapter; not yet measured when `record` is null.
void add_rate_facts(Facts& facts, const Record* record);

}  // namespace tile
