#include "common/count/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "common/bench/numbers.hpp"
#include "common/count/advice.hpp"
#include "common/report/table.hpp"

namespace tile::counting {
namespace {

// Text in lines of at most 100 columns, each behind the same indent, the first behind `begin`. A tab is a space within a line.
std::string wrapped(const std::string& begin, const std::string& text) {
  constexpr std::size_t columns = 100;
  std::string lines = begin, line = begin;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    std::replace(word.begin(), word.end(), '\t', ' ');
    const bool first = line.size() <= begin.size(), fits = line.size() + 1 + word.size() <= columns;
    const std::string between = first ? "" : fits ? " " : "\n" + std::string(begin.size(), ' ');
    line = fits ? line + between + word : std::string(begin.size(), ' ') + word;
    lines += between + word;
  }
  return lines;
}

// A site or the sum of sites as a row: cells that its space does not have are "-".
std::vector<std::string> row_of(const simt::Site& s, const std::string& place, double share) {
  const bool bulk = simt::is_bulk(s.op), global = s.space == simt::Space::global;
  const auto number = [&](double value) { return (s.estimated ? "~" : "") + format_number(value); };
  const auto per_request = [&](std::uint64_t sum) { return number(double(sum) / double(s.requests)); };
  return {place, simt::name_of(s.op), fmt::format("{} ({})", s.array, simt::name_of(s.space)),
          bulk ? per_request(s.bytes()) : std::to_string(s.width), number(double(s.requests)),
          global ? per_request(s.sectors) : "-", global && !bulk ? per_request(s.lines) : "-",
          global && !bulk ? per_request(s.tag_passes) : "-",
          // What the banks or sectors do for an atomic is more than one pass, and not modelled.
          bulk                                                              ? "-"
          : global                                                          ? per_request(s.l1_wavefronts)
          : s.op == simt::Op::atomic || s.space == simt::Space::distributed ? "unknown"
                                                                            : per_request(s.wavefronts),
          global && s.op != simt::Op::atomic
              ? fmt::format("{}{:.0f}%", s.estimated ? "~" : "", 100 * double(s.bytes()) / (32 * double(s.sectors)))
              : "-",
          share < 0 ? "-" : fmt::format("{:.0f}%", 100 * share)};
}

// The file that all sites lie in, or "".
std::string only_file(const simt::Counts& c) {
  const bool one = std::all_of(c.sites.begin(), c.sites.end(), [&](auto& s) { return s.file == c.sites.front().file; });
  return one && !c.sites.empty() ? c.sites.front().file : "";
}

void print_sites(const simt::Counts& c, const Verdict& verdict) {
  const auto shared = c.static_shared_bytes + c.dynamic_shared_bytes;
  const std::string file = only_file(c);
  Table table{
      "",
      wrapped("", fmt::format("{}<<<({},{},{}), ({},{},{})>>>, {} bytes of shared memory a block{}", c.kernel, c.grid.x,
                              c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z, format_number(double(shared)),
                              file.empty() ? "" : "; lines of " + file.substr(file.rfind('/') + 1))),
      {"line", "op", "array", "bytes", "requests", "sectors", "lines", "tags", "waves", "useful", "share"},
      {}};
  simt::Site total;
  for (std::size_t i = 0; i < c.sites.size(); ++i) {
    const simt::Site& s = c.sites[i];
    table.rows.push_back(row_of(s, file.empty() ? place_of(s) : std::to_string(s.line), verdict.shares[i]));
    total.requests += s.requests;
    total.sectors += s.sectors;
    total.lines += s.lines;
    total.tag_passes += s.tag_passes;
    total.wavefronts +=
        s.l1_wavefronts + std::uint64_t(std::max(0.0, s.space == simt::Space::shared ? cycles_of(s) : 0));
  }
  const auto sum = [](std::uint64_t value) { return format_number(double(value)); };
  table.rows.push_back({"sums", "", "", "", sum(total.requests), sum(total.sectors), sum(total.lines),
                        sum(total.tag_passes), sum(total.wavefronts), "", "100%"});
  table.print();
  if (std::any_of(c.sites.begin(), c.sites.end(), [](const simt::Site& s) { return s.estimated; }))
    fmt::print("  ~ lanes of a warp came here after different numbers of loop turns; which go together is a guess\n");
}

void print_bounds(const Verdict& v, const Rates& rates, double flops) {
  const Bound longest = tightest(v);
  if (longest.cycles <= 0) return;
  const double seconds = longest.cycles / rates.clock_hz;
  const std::string cycles = format_number(longest.cycles);
  fmt::print("\n  at least {} cycle{} ({} us) on {} of the {} SMs of an {}", cycles, cycles == "1" ? "" : "s",
             format_number(seconds * 1e6), v.sms, rates.sms, rates.gpu);
  if (flops > 0) fmt::print(", at most {} TFLOP/s", format_number(flops / seconds * 1e-12));
  fmt::print(":\n");
  const std::size_t tied = ties(v);
  std::string bounds;
  for (std::size_t i = 0; i < v.bounds.size(); ++i) {
    const char* const between = i == 0 ? "" : i + 1 == tied ? " and " : ", ";
    const char* const binding = i + 1 != tied ? ""
                                : tied == 1   ? " (binds)"
                                : tied == 2   ? " (a tie: both bind)"
                                              : " (a tie: all bind)";
    std::string bound = fmt::format("{} {}{}", v.bounds[i].resource, format_number(v.bounds[i].cycles), binding);
    std::replace(bound.begin(), bound.end(), ' ', '\t');
    bounds += between + bound;
  }
  fmt::print("{}\n", wrapped("            ", bounds));
}

void print_occupancy(const simt::Counts& c, const Verdict& v) {
  const Occupancy& o = v.occupancy;
  const std::string registers =
      v.registers > 0 ? fmt::format("{} registers a thread", v.registers) : "registers are not known: --registers N";
  fmt::print("{}\n", wrapped("  occupancy ",
                             fmt::format("{} of {} threads on an SM ({:.0f}%), limited by {}; {}",
                                         o.blocks == 1 ? "1 block" : fmt::format("{} blocks", o.blocks),
                                         c.block.x * c.block.y * c.block.z, 100 * o.fraction, o.limiter(), registers)));
}

// Atomics in shared memory: all lines of an array together.
void print_unknown(const simt::Counts& counts) {
  std::map<std::string, std::vector<std::string>> places;  // by array
  for (const simt::Site& site : counts.sites)
    if (site.op == simt::Op::atomic && site.space == simt::Space::shared)
      places[site.array].push_back(places[site.array].empty() ? place_of(site) : std::to_string(site.line));
  for (const auto& [array, of_array] : places)
    fmt::print("{}\n",
               wrapped("  unknown   ", fmt::format("{}, atomic of {}: what it costs in shared memory is not known "
                                                   "to the model, and it may be the hottest line",
                                                   fmt::join(of_array, ", "), array)));
}

// "transpose.cu:21, load of in"
std::string named(const simt::Site& site) {
  return fmt::format("{}, {} of {}", place_of(site), simt::name_of(site.op), site.array);
}

// ", a tie with transpose.cu:25, store of out"
std::string others_as_hot(const simt::Counts& counts, const Verdict& verdict) {
  constexpr std::size_t most = 3;
  std::string others;
  for (std::size_t i = 0; i < std::min(most, verdict.as_hot.size()); ++i)
    others += (i == 0 ? ", a tie with " : "; ") + named(counts.sites[verdict.as_hot[i]]);
  if (verdict.as_hot.size() > most) others += fmt::format("; and {} more", verdict.as_hot.size() - most);
  return others;
}

}  // namespace

std::string place_of(const simt::Site& site) {
  return fmt::format("{}:{}", site.file.substr(site.file.rfind('/') + 1), site.line);
}

void print(const simt::Counts& counts, const Verdict& verdict, const Rates& rates, double flops) {
  print_sites(counts, verdict);
  print_bounds(verdict, rates, flops);
  print_occupancy(counts, verdict);
  print_unknown(counts);
  if (!verdict.hottest) return;
  const simt::Site& hottest = counts.sites[*verdict.hottest];
  fmt::print("{}\n", wrapped("  hottest   ",
                             fmt::format("{}, {:.0f}%{}: {}", named(hottest), 100 * verdict.shares[*verdict.hottest],
                                         others_as_hot(counts, verdict), advice(counts, *verdict.hottest))));
}

void print_legend() {
  fmt::print(R"(
Columns: bytes, of one lane; requests, warp-wide instructions. Of one request: sectors (32 bytes)
and lines (128 bytes) of global memory that it touches; tags, its passes through L1's tags; waves,
its wavefronts, through the 32 banks of shared memory and L1 (constant memory: different addresses);
useful, the part of its sectors that lanes asked for, above 100% where several ask for the same. The
last row sums over all requests. share: of the cycles that L1 and shared memory are busy, one a
wavefront, or a tag pass where those are more. At least: the time that a resource takes when it
never rests.
Counted as the source has it. Not modelled: registers, what spills from them, arrays of a thread's
own (local memory), arithmetic, caches.
)");
}

}  // namespace tile::counting
