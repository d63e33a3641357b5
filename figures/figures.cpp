// Usage: figures KIND ARGUMENT..., for each kind as `commands` has it; figures.hpp says what is drawn.
#include "figures.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>

using namespace tile::figures;

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  const auto from = [&](std::size_t i) { return Kernels(a.begin() + std::ptrdiff_t(i), a.end()); };
  struct Command {
    const char* arguments;
    std::size_t fewest;
    std::function<void()> run;
  };
  const std::map<std::string, Command> commands{
      {"access", {"emit/NN OUT.svg KERNEL TAG", 4, [&] { draw_access(a[1], a[2], a[3], a[4]); }}},
      {"banks", {"emit/NN OUT.svg KERNEL TAG", 4, [&] { draw_banks(a[1], a[2], a[3], a[4]); }}},
      {"swizzle", {"emit/NN OUT.svg KERNEL", 3, [&] { draw_swizzle(a[1], a[2], a[3]); }}},
      {"thread", {"emit/NN OUT.svg KERNEL", 3, [&] { draw_thread(a[1], a[2], a[3]); }}},
      {"rates", {"emit/NN OUT.svg", 2, [&] { draw_rates(a[1], a[2]); }}},
      {"stalls", {"emit OUT.svg NN/KERNEL...", 3, [&] { draw_stalls(a[1], a[2], from(3)); }}},
      {"loads", {"emit LAST OUT.tsv", 3, [&] { gather_loads(a[1], a[2], a[3]); }}},
      {"ladder", {"chapters emit LAST OUT.tsv", 4, [&] { gather_ladder(a[1], a[3], a[4]); }}},
      {"roofline", {"chapters emit LAST OUT.tsv", 4, [&] { gather_roofline(a[1], a[2], a[3], a[4]); }}},
      {"part", {"chapters emit LAST OUT.tsv PAGE", 5, [&] { gather_part(a[1], a[2], a[3], a[4], a[5]); }}},
      {"results", {"chapters", 1, [&] { print_results(a[1]); }}}};
  const auto command = commands.find(a.empty() ? "" : a[0]);
  if (command == commands.end() || a.size() <= command->second.fewest) {
    for (const auto& [name, c] : commands) fmt::print(stderr, "usage: figures {} {}\n", name, c.arguments);
    return 2;
  }
  try {
    command->second.run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "figures: {}\n", e.what());
    return 1;
  }
  return 0;
}
