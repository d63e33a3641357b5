#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "common/bench/numbers.hpp"
#include "common/count/counting.hpp"
#include "common/report/table.hpp"

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

// Requests, sectors, wavefronts, bytes of all sites.
struct Sums {
  double requests = 0, sectors = 0, lines = 0, tag_passes = 0, wavefronts = 0, bytes = 0;
  void add(const simt::Counts& counts) {
    for (const simt::Site& s : counts.sites) {
      requests += double(s.requests);
      sectors += double(s.sectors);
      lines += double(s.lines);
      tag_passes += double(s.tag_passes);
      wavefronts += double(s.l1_wavefronts) + (s.space == simt::Space::shared ? std::max(0.0, cycles_of(s)) : 0);
      bytes += double(s.bytes());
    }
  }
};

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
  Sums sums;
  sums.add(c);
  bool estimated = false;
  for (std::size_t i = 0; i < c.sites.size(); ++i) {
    const simt::Site& s = c.sites[i];
    table.rows.push_back(row_of(s, one_file ? std::to_string(s.line) : place_of(s), verdict.shares[i]));
    estimated = estimated || s.estimated;
  }
  table.rows.push_back({"sums", "", "", "", format_number(sums.requests), format_number(sums.sectors),
                        format_number(sums.lines), format_number(sums.tag_passes), format_number(sums.wavefronts), "",
                        "100%"});
  table.print();
  if (estimated)
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
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, verdict.hottest.size()); ++i) {
    const simt::Site& site = counts.sites[verdict.hottest[i]];
    text += fmt::format("{}{}, {} of {}", i > 1 ? "; " : "", place_of(site), simt::name_of(site.op), site.array);
    if (i == 0) text += fmt::format(", {:.0f}%", 100 * verdict.shares[verdict.hottest[i]]);
    if (i == 0 && verdict.hottest.size() > 1) text += ", a tie with ";
  }
  if (verdict.hottest.size() > most) text += fmt::format("; and {} more", verdict.hottest.size() - most);
  if (!text.empty()) fmt::print("{}\n", wrapped("  hottest   ", text + ": " + verdict.advice));
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
  static const std::vector<std::string> resources{"FFMA issue", "issue slots", "L1", "banks", "L2 bytes", "DRAM bytes"};
  std::vector<std::vector<double>>
      sums_of_runs;  // requests, bytes, sectors, wavefronts, cycles of each resource and at least
  std::string names;
  for (const Run& run : runs) {
    Sums sums;
    std::vector<double> cycles(resources.size() + 1);
    std::string binds;
    for (const simt::Counts& counts : run.kernels) {
      sums.add(counts);
      const Verdict verdict = verdict_of(counts, rates, run.flops / double(run.kernels.size()), registers);
      for (const Bound& b : verdict.bounds)
        cycles[std::size_t(std::find(resources.begin(), resources.end(), b.resource) - resources.begin())] += b.cycles;
      cycles.back() += verdict.cycles();
      const std::string binding = what_binds(verdict);
      binds = binds.empty() || binds == binding ? binding : "one resource in one launch, another in another";
    }
    sums_of_runs.push_back({sums.requests, sums.bytes, sums.sectors, sums.wavefronts});
    sums_of_runs.back().insert(sums_of_runs.back().end(), cycles.begin(), cycles.end());
    names += fmt::format("  ({}) {}: {}{}\n", sums_of_runs.size(), file_name(run.file), run.title,
                         run.error.empty()   ? fmt::format("; what binds: {}", binds)
                         : run.title.empty() ? "failed"
                                             : " (failed)");
  }
  const bool failed = std::any_of(runs.begin(), runs.end(), [](const Run& run) { return !run.error.empty(); });
  std::vector<std::string> header{"requests", "bytes", "sectors", "waves"};
  for (const std::string& resource : resources) header.push_back(resource.substr(0, resource.find(' ')));
  header.push_back("at least");
  Table table{"", "Side by side (resources in cycles)", {""}, std::vector<std::vector<std::string>>(runs.size())};
  for (std::size_t r = 0; r < runs.size(); ++r) table.rows[r].push_back(fmt::format("({})", r + 1));
  if (runs.size() == 2 && !failed) table.rows.push_back({"(2) / (1)"});
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::all_of(sums_of_runs.begin(), sums_of_runs.end(), [&](const auto& sums) { return sums[i] == 0; })) continue;
    table.header.push_back(header[i]);
    for (std::size_t r = 0; r < runs.size(); ++r)
      table.rows[r].push_back(runs[r].error.empty() ? format_number(sums_of_runs[r][i]) : "-");
    if (table.rows.size() > runs.size())
      table.rows.back().push_back(sums_of_runs[0][i] == 0 ? "-"
                                                          : format_number(sums_of_runs[1][i] / sums_of_runs[0][i]));
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
