#include "common/bench/measured_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "common/bench/machine_code.hpp"
#include "common/check/repository.hpp"

namespace tile {
namespace {

constexpr int of_the_loop = 3;  // instructions that end a turn, besides those of the pattern

MeasuredLoop loop_of(const std::string& line) {
  std::istringstream fields(line);
  std::string name, instructions, alone, of_two, pattern;
  for (std::string* field : {&name, &instructions, &alone, &of_two, &pattern}) std::getline(fields, *field, ',');
  std::vector<BankReads> reads;
  std::istringstream tokens(pattern);
  for (std::string token; tokens >> token;)
    reads.push_back(
        {int(std::count(token.begin(), token.end(), 'e')), int(std::count(token.begin(), token.end(), 'o'))});
  if (reads.empty()) throw std::invalid_argument("no pattern");
  MeasuredLoop loop{name, std::stoi(instructions), std::stod(alone), std::stod(of_two), 0};
  const double patterns = double(loop.instructions - of_the_loop) / double(reads.size());
  loop.by_rule = issue_cycles(reads) * patterns + of_the_loop;
  return loop;
}

}  // namespace

std::vector<MeasuredLoop> measured_loops() {
  const auto path = in_repository("common/bench/h200-register-banks.csv");
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}: it holds what loops of FFMA took", path.string()));
  std::vector<MeasuredLoop> loops;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("#")) continue;
    try {
      loops.push_back(loop_of(line));
    } catch (const std::logic_error&) {  // of std::stoi, std::stod, or a line without a pattern
      throw std::runtime_error(fmt::format("{}, line {}: not a loop and its cycles", path.string(), number));
    }
  }
  return loops;
}

}  // namespace tile
