#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "common/bench/numbers.hpp"
#include "common/count/counting.hpp"
#include "common/report/facts.hpp"

namespace tile::counting {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "transpose.cu:14"
std::string place_of(const simt::Site& site) { return fmt::format("{}:{}", file_name(site.file), site.line); }

// Text in lines of at most 100 columns, each after the same indent, the first after `begin`.
std::string wrapped(const std::string& begin, const std::string& text) {
  std::string lines = begin, line = begin;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ' ');) {
    const bool first = line.size() == begin.size(), fits = first || line.size() + 1 + word.size() <= 100;
    const std::string between = first ? "" : fits ? " " : "\n" + std::string(begin.size(), ' ');
    lines += between + word;
    line = fits ? line + between + word : begin + word;
  }
  return lines;
}

// A site as a row: cells that its space does not have are "-".
std::vector<std::string> row_of(const simt::Site& s, const std::string& place, double share) {
  const bool bulk = simt::is_bulk(s.op), global = s.space == simt::Space::global, atomic = s.op == simt::Op::atomic;
  const std::string about = s.estimated ? "~" : "";
  const auto per_request = [&](bool known, double sum) {
    return known ? about + format_number(sum / double(s.requests)) : "-";
  };
  const auto percent = [&](bool known, double part) { return known ? fmt::format("{:.0f}%", 100 * part) : "-"; };
  // What the banks do for an atomic is more than one pass, and not modelled.
  const bool unknown_waves = !global && !bulk && (atomic || s.space == simt::Space::distributed);
  return {place,
          simt::name_of(s.op),
          fmt::format("{} ({})", s.array, simt::name_of(s.space)),
          bulk ? per_request(true, double(s.bytes())) : std::to_string(s.width),
          about + format_number(double(s.requests)),
          per_request(global, double(s.sectors)),
          per_request(global && !bulk, double(s.lines)),
          per_request(global && !bulk, double(s.tag_passes)),
          unknown_waves ? "unknown" : per_request(!bulk, double(global ? s.l1_wavefronts : s.wavefronts)),
          (global && !atomic ? about : "") + percent(global && !atomic, double(s.bytes()) / (32 * double(s.sectors))),
          percent(share >= 0, share)};
}

// The sum over all sites of a member, or of what a function makes of a site.
template <class Part>
double sum(const simt::Counts& counts, Part part) {
  double sum = 0;
  for (const simt::Site& site : counts.sites) sum += double(std::invoke(part, site));
  return sum;
}

void print_sites(const simt::Counts& c, const Verdict& verdict) {
  const auto elsewhere = [&](const simt::Site& s) { return s.file != c.sites.front().file; };
  const bool one_file = !c.sites.empty() && std::none_of(c.sites.begin(), c.sites.end(), elsewhere);
  Table table{"",
              wrapped("", fmt::format("{}<<<({},{},{}), ({},{},{})>>>, {} bytes of shared memory a block{}", c.kernel,
                                      c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                                      format_number(double(c.static_shared_bytes + c.dynamic_shared_bytes)),
                                      one_file ? "; lines of " + file_name(c.sites.front().file) : "")),
              {"line", "op", "array", "bytes", "requests", "sectors", "lines", "tags", "waves", "useful", "share"},
              {}};
  for (std::size_t i = 0; i < c.sites.size(); ++i) {
    const simt::Site& s = c.sites[i];
    table.rows.push_back(row_of(s, one_file ? std::to_string(s.line) : place_of(s), verdict.shares[i]));
  }
  table.rows.push_back({"sums", "", "", "", format_number(sum(c, &simt::Site::requests)),
                        format_number(sum(c, &simt::Site::sectors)), format_number(sum(c, &simt::Site::lines)),
                        format_number(sum(c, &simt::Site::tag_passes)), format_number(sum(c, bank_wavefronts)), "",
                        "100%"});
  table.print();
  if (sum(c, &simt::Site::estimated) > 0)
    fmt::print("  ~ lanes of a warp came here after different numbers of loop turns; which go together is a guess\n");
}

void print_bounds(const Verdict& v, const Rates& rates, double flops) {
  if (v.bounds.empty()) return;
  const double seconds = v.cycles() / rates.clock_hz;
  const std::string cycles = format_number(v.cycles());
  fmt::print("\n  at least {} cycle{} ({} us) on {} of the {} SMs of an {}", cycles, cycles == "1" ? "" : "s",
             format_number(seconds * 1e6), v.sms, rates.sms, rates.gpu);
  if (flops > 0) fmt::print(", at most {} TFLOP/s", format_number(flops / seconds * 1e-12));
  std::string bounds;
  for (std::size_t i = 0; i < v.bounds.size(); ++i) {
    bounds += i == 0 ? "" : i + 1 == v.binding ? " and " : ", ";
    bounds += fmt::format("{} {}", v.bounds[i].resource, format_number(v.bounds[i].cycles));
    if (i + 1 == v.binding) bounds += v.binding == 1 ? " (binds)" : " (a tie)";
  }
  fmt::print(":\n{}\n", wrapped("            ", bounds));
}

void print_occupancy(const simt::Counts& c, const Verdict& v) {
  const Occupancy& o = v.occupancy;
  fmt::print("{}\n",
             wrapped("  occupancy ", fmt::format("{} block{} of {} threads on an SM ({:.0f}%), limited by {}; {}",
                                                 o.blocks, o.blocks == 1 ? "" : "s", c.block.x * c.block.y * c.block.z,
                                                 100 * o.fraction, o.limiter(),
                                                 v.registers > 0 ? fmt::format("{} registers a thread", v.registers)
                                                                 : "registers are not known: --registers N")));
}

void print_hottest(const simt::Counts& counts, const Verdict& verdict) {
  if (verdict.hottest.empty()) return;
  const std::size_t first = verdict.hottest.front(), others = verdict.hottest.size() - 1;
  const simt::Site& site = counts.sites[first];
  fmt::print("{}\n",
             wrapped("  hottest   ",
                     fmt::format("{}, {} of {}, {:.0f}%{}: {}", place_of(site), simt::name_of(site.op), site.array,
                                 100 * verdict.shares[first],
                                 others == 0 ? "" : fmt::format(", a tie with {} more", others), verdict.advice)));
}

}  // namespace

void print(const simt::Counts& counts, const Verdict& verdict, const Rates& rates, double flops) {
  print_sites(counts, verdict);
  print_bounds(verdict, rates, flops);
  print_occupancy(counts, verdict);
  for (const simt::Site& site : counts.sites)
    if (site.op == simt::Op::atomic && site.space == simt::Space::shared)
      fmt::print("{}\n",
                 wrapped("  unknown   ", fmt::format("{}, atomic of {}: what it costs in shared memory is not known "
                                                     "to the model, and it may be the hottest line",
                                                     place_of(site), site.array)));
  print_hottest(counts, verdict);
}

void print_side_by_side(const std::vector<Run>& runs, const Rates& rates, int registers) {
  // The columns, of which those that no run has a number for are left out.
  std::vector<std::string> header{"requests", "bytes", "sectors",  "waves",      "FFMA issue", "issue slots",
                                  "L1",       "banks", "L2 bytes", "DRAM bytes", "at least"};
  std::vector<std::map<std::string, double>> values;
  std::string names;
  for (const Run& run : runs) {
    std::map<std::string, double>& of_run = values.emplace_back();
    std::string binds;
    for (const simt::Counts& counts : run.kernels) {
      of_run["requests"] += sum(counts, &simt::Site::requests);
      of_run["bytes"] += sum(counts, &simt::Site::bytes);
      of_run["sectors"] += sum(counts, &simt::Site::sectors);
      of_run["waves"] += sum(counts, bank_wavefronts);
      const Verdict verdict = verdict_of(counts, rates, run.flops / double(run.kernels.size()), registers);
      for (const Bound& b : verdict.bounds) of_run[b.resource] += b.cycles;
      of_run["at least"] += verdict.cycles();
      const std::string binding = what_binds(verdict);
      binds = binds.empty() || binds == binding ? binding : "one resource in one launch, another in another";
    }
    names += fmt::format("  ({}) {}: {}{}\n", values.size(), file_name(run.file), run.title,
                         run.error.empty()   ? fmt::format("; what binds: {}", binds)
                         : run.title.empty() ? "failed"
                                             : " (failed)");
  }
  std::erase_if(header, [&](const std::string& name) {
    return std::all_of(values.begin(), values.end(), [&](auto& of_run) { return of_run[name] == 0; });
  });
  Table table{"", "Side by side (resources in cycles)", {""}, {}};
  for (const std::string& name : header)
    table.header.push_back(name == "at least" ? name : name.substr(0, name.find(' ')));
  for (std::size_t r = 0; r < runs.size(); ++r) {
    table.rows.push_back({fmt::format("({})", r + 1)});
    for (const std::string& name : header)
      table.rows[r].push_back(runs[r].error.empty() ? format_number(values[r][name]) : "-");
  }
  if (runs.size() == 2 && runs[0].error.empty() && runs[1].error.empty()) {
    table.rows.push_back({"(2) / (1)"});
    for (const std::string& name : header)
      table.rows[2].push_back(values[0][name] == 0 ? "-" : format_number(values[1][name] / values[0][name]));
  }
  table.print();
  fmt::print("{}", names);
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
