#include "common/report/measured_field.hpp"

namespace tile {

void add_measured_field(Facts& facts, const std::string& key, const Record* entry, const char* field, int decimals,
                        double factor) {
  if (entry != nullptr && entry->contains(field))
    facts.measured(key, entry->at(field).get<double>() * factor, decimals);
  else
    facts.not_yet_measured(key);
}

}  // namespace tile
