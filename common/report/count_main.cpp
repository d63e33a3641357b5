// main() of a program that `./tile count` builds: runs each TILE_COUNT and prints its counts.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "common/model/model.hpp"
#include "common/report/count.hpp"
#include "common/report/facts.hpp"
#include "common/report/table.hpp"

namespace tile {
namespace {

struct Run {
  const char* title;
  void (*body)();
};
std::vector<Run>& runs() {
  static std::vector<Run> instance;
  return instance;
}

void print(const simt::Counts& c) {
  const auto shared = c.static_shared_bytes + c.dynamic_shared_bytes;
  Table table{"",
              fmt::format("{}<<<({},{},{}), ({},{},{})>>>, {} bytes of shared memory a block", c.kernel, c.grid.x,
                          c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z, shared),
              {"line", "op", "array", "bytes/lane", "requests", "sectors/req", "lines/req", "tag passes/req",
               "wavefronts/req", "useful"},
              {}};
  for (const simt::Site& s : c.sites) {
    const bool bulk = simt::is_bulk(s.op), global = s.space == simt::Space::global;
    const auto number = [&](double value) { return (s.estimated ? "~" : "") + format_number(value); };
    const auto per_request = [&](std::uint64_t sum) { return number(double(sum) / double(s.requests)); };
    table.rows.push_back(
        {fmt::format("{}:{}", s.file.substr(s.file.rfind('/') + 1), s.line), simt::name_of(s.op),
         fmt::format("{} ({})", s.array, simt::name_of(s.space)),
         bulk ? per_request(s.bytes()) : std::to_string(s.width), number(double(s.requests)),
         global ? per_request(s.sectors) : "-", global && !bulk ? per_request(s.lines) : "-",
         global && !bulk ? per_request(s.tag_passes) : "-",
         // What the banks or sectors do for an atomic is more than one pass, and not modelled.
         bulk                       ? "-"
         : global                   ? per_request(s.l1_wavefronts)
         : s.op == simt::Op::atomic ? "unknown"
                                    : per_request(s.wavefronts),
         global ? fmt::format("{}{:.0f}%", s.estimated ? "~" : "", 100 * double(s.bytes()) / (32 * double(s.sectors)))
                : "-"});
  }
  table.print();
  if (std::any_of(c.sites.begin(), c.sites.end(), [](const simt::Site& s) { return s.estimated; }))
    fmt::print(
        "  ~ lanes of a warp came here after different numbers of loop turns; which accesses go together is a guess\n");
}

}  // namespace

CountedRun::CountedRun(const char* title, void (*body)()) { runs().push_back({title, body}); }

}  // namespace tile

int main() {
  if (tile::runs().empty()) {
    fmt::print(stderr, "count: the file describes no run: add a TILE_COUNT (see common/report/count.hpp)\n");
    return 1;
  }
  for (const auto& run : tile::runs()) {
    try {
      fmt::print("\n== {}\n", run.title);
      for (const auto& counts : simt::trace(run.body)) tile::print(counts);
    } catch (const std::exception& e) {
      std::fflush(stdout);
      fmt::print(stderr, "count: {}\n", e.what());
      return 1;
    }
  }
  return 0;
}
