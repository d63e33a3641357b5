// A number of a record as a fact. In: an object of a record, or null where it was not measured. Out: a fact.
#pragma once

#include <string>

#include "common/bench/record.hpp"
#include "common/report/facts.hpp"

namespace tile {

/// `factor` times the field of `entry`; not yet measured where there is no entry or no such field.
void add_measured_field(Facts& facts, const std::string& key, const Record* entry, const char* field, int decimals = -1,
                        double factor = 1);

}  // namespace tile
