// Loops of FFMA whose registers were chosen by hand, and timed: common/bench/h200-register-banks.csv. Out: what was measured, beside
// what the rule of issue_cycles says.
#pragma once

#include <string>
#include <vector>

namespace tile {

struct MeasuredLoop {
  std::string name;
  int instructions;      ///< of a turn
  double alone, of_two;  ///< cycles of a turn, for each warp: alone on its scheduler, and as one of two
  double by_rule;        ///< the cycles in which one warp can issue a turn
};

/// All of the file. Throws std::runtime_error, naming file and line, for what cannot be read.
std::vector<MeasuredLoop> measured_loops();

}  // namespace tile
