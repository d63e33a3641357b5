// What the machine code of a kernel consists of. In: a kernel's entry of a record. Out: facts.
#pragma once

#include <string>

#include "common/records/record.hpp"
#include "common/report/facts.hpp"

namespace tile {

/// Facts `<name>.sass.*` of the whole function and `<name>.sass_loop.*` of its main loop; not yet measured where `entry`, which
/// may be null, does not say.
void add_machine_code_facts(Facts& facts, const std::string& name, const Record* entry);

}  // namespace tile
