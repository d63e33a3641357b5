// Loops of FFMA whose registers were chosen by hand, and timed: h200-register-banks.csv. Out: facts.
#pragma once

#include "common/report/facts.hpp"

namespace tile {

/// What the loops took, in cycles an instruction, and what the rule of issue_cycles (common/bench/machine_code.hpp) says:
/// `loops.<name>.cycles` and `loops.<name>.by_rule`. Throws std::runtime_error, naming file and line, for what cannot be
/// read.
void add_loop_facts(Facts& facts);

}  // namespace tile
