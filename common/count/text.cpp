#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "common/bench/numbers.hpp"
#include "common/count/counting.hpp"
#include "common/report/table.hpp"

namespace tile::counting {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "transpose.cu:14"
std::string place_of(const simt::Site& site) { return fmt::format("{}:{}", file_name(site.file), site.line); }

// Text in lines of at most 100 columns, each behind the same indent, the first behind `begin`. A tab is a space within a line.
std::string wrapped(const std::string& begin, const std::string& text) {
  constexpr std::size_t columns = 100;
  std::string lines = begin;
  std::size_t length = begin.size();
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    const bool first = at == 0, fits = length + !first + (end - at) <= columns;
    if (!fits) length = begin.size();
    lines += first ? "" : fits ? " " : "\n" + std::string(begin.size(), ' ');
    lines += text.substr(at, end - at);
    length += (fits && !first) + (end - at);
  }
  std::replace(lines.begin(), lines.end(), '\t', ' ');
  return lines;
}

// A site as a row: cells that its space does not have are "-".
std::vector<std::string> row_of(const simt::Site& s, const std::string& place, double share) {
  const bool bulk = simt::is_bulk(s.op), global = s.space == simt::Space::global;
  const bool atomic = s.op == simt::Op::atomic;
  const auto number = [&](double value) { return (s.estimated ? "~" : "") + format_number(value); };
  const auto per_request = [&](std::uint64_t sum) { return number(double(sum) / double(s.requests)); };
  return {place, simt::name_of(s.op), fmt::format("{} ({})", s.array, simt::name_of(s.space)),
          bulk ? per_request(s.bytes()) : std::to_string(s.width), number(double(s.requests)),
          global ? per_request(s.sectors) : "-", global && !bulk ? per_request(s.lines) : "-",
          global && !bulk ? per_request(s.tag_passes) : "-",
          // What the banks do for an atomic is more than one pass, and not modelled.
          bulk                                            ? "-"
          : global                                        ? per_request(s.l1_wavefronts)
          : atomic || s.space == simt::Space::distributed ? "unknown"
                                                          : per_request(s.wavefronts),
          global && !atomic
              ? fmt::format("{}{:.0f}%", s.estimated ? "~" : "", 100 * double(s.bytes()) / (32 * double(s.sectors)))
              : "-",
          share < 0 ? "-" : fmt::format("{:.0f}%", 100 * share)};
}

// The file that all sites lie in, or "".
std::string only_file(const simt::Counts& c) {
  const bool one = std::all_of(c.sites.begin(), c.sites.end(), [&](auto& s) { return s.file == c.sites.front().file; });
  return one && !c.sites.empty() ? c.sites.front().file : "";
}

// Requests, sectors, wavefronts, bytes of all sites.
struct Sums {
  double requests = 0, global = 0, sectors = 0, lines = 0, tag_passes = 0, wavefronts = 0, bytes = 0;
  void add(const simt::Counts& counts) {
    for (const simt::Site& s : counts.sites) {
      requests += double(s.requests);
      global += s.space == simt::Space::global ? double(s.requests) : 0;
      sectors += double(s.sectors);
      lines += double(s.lines);
      tag_passes += double(s.tag_passes);
      wavefronts += double(s.l1_wavefronts) + (s.space == simt::Space::shared ? std::max(0.0, cycles_of(s)) : 0);
      bytes += double(s.bytes());
    }
  }
};

void print_sites(const simt::Counts& c, const Verdict& verdict) {
  const std::string file = only_file(c);
  Table table{"",
              wrapped("", fmt::format("{}<<<({},{},{}), ({},{},{})>>>, {} bytes of shared memory a block{}", c.kernel,
                                      c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                                      format_number(double(c.static_shared_bytes + c.dynamic_shared_bytes)),
                                      file.empty() ? "" : "; lines of " + file_name(file))),
              {"line", "op", "array", "bytes", "requests", "sectors", "lines", "tags", "waves", "useful", "share"},
              {}};
  for (std::size_t i = 0; i < c.sites.size(); ++i)
    table.rows.push_back(
        row_of(c.sites[i], file.empty() ? place_of(c.sites[i]) : std::to_string(c.sites[i].line), verdict.shares[i]));
  Sums sums;
  sums.add(c);
  table.rows.push_back({"sums", "", "", "", format_number(sums.requests), format_number(sums.sectors),
                        format_number(sums.lines), format_number(sums.tag_passes), format_number(sums.wavefronts), "",
                        "100%"});
  table.print();
  if (std::any_of(c.sites.begin(), c.sites.end(), [](const simt::Site& s) { return s.estimated; }))
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
    std::string bound = fmt::format("{} {}", v.bounds[i].resource, format_number(v.bounds[i].cycles));
    if (i + 1 == v.binding)
      bound += v.binding == 1 ? " (binds)" : v.binding == 2 ? " (a tie: both bind)" : " (a tie: all bind)";
    std::replace(bound.begin(), bound.end(), ' ', '\t');
    bounds += (i == 0 ? "" : i + 1 == v.binding ? " and " : ", ") + bound;
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
  if (!verdict.hottest) return;
  constexpr std::size_t most = 3;
  const auto named = [&](std::size_t i) {
    const simt::Site& site = counts.sites[i];
    return fmt::format("{}, {} of {}", place_of(site), simt::name_of(site.op), site.array);
  };
  std::string text = fmt::format("{}, {:.0f}%", named(*verdict.hottest), 100 * verdict.shares[*verdict.hottest]);
  for (std::size_t i = 0; i < std::min(most, verdict.as_hot.size()); ++i)
    text += (i == 0 ? ", a tie with " : "; ") + named(verdict.as_hot[i]);
  if (verdict.as_hot.size() > most) text += fmt::format("; and {} more", verdict.as_hot.size() - most);
  fmt::print("{}\n", wrapped("  hottest   ", text + ": " + verdict.advice));
}

// What a run sums up to, by name, and what binds it. A run that failed sums up to nothing, whatever it launched before.
struct Column {
  std::vector<std::pair<std::string, double>> rows;
  std::string binds;
};

Column column_of(const Run& run, const Rates& rates, int registers) {
  if (!run.error.empty()) return {};
  Column column;
  Sums sums;
  std::map<std::string, double> cycles;
  for (const simt::Counts& counts : run.kernels) {
    sums.add(counts);
    const Verdict verdict = verdict_of(counts, rates, run.flops / double(run.kernels.size()), registers);
    for (const Bound& b : verdict.bounds) cycles[b.resource] += b.cycles;
    cycles["at least"] += verdict.cycles();
    const std::string binds = what_binds(verdict);
    column.binds =
        column.binds.empty() || column.binds == binds ? binds : "one resource in one launch, another in another";
  }
  column.rows = {{"requests", sums.requests},
                 {"of them global", sums.global},
                 {"bytes asked for", sums.bytes},
                 {"sectors", sums.sectors},
                 {"wavefronts", sums.wavefronts}};
  for (const char* resource : {"FFMA issue", "issue slots", "L1", "banks", "L2 bytes", "DRAM bytes", "at least"})
    column.rows.emplace_back(fmt::format("{}, cycles", resource), cycles[resource]);
  return column;
}

// The columns from `first` to before `last` as a table of the rows that are not 0 for all runs.
void print_columns(const std::vector<Column>& columns, std::size_t first, std::size_t last) {
  const bool quotient = columns.size() == 2 && !columns[0].rows.empty() && !columns[1].rows.empty();
  Table table{"", "Side by side", {""}, {}};
  for (std::size_t i = first; i < last; ++i) table.header.push_back(fmt::format("({})", i + 1));
  if (quotient) table.header.push_back("(2) / (1)");
  const auto some = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return !c.rows.empty(); });
  for (std::size_t row = 0; some != columns.end() && row < some->rows.size(); ++row) {
    if (std::all_of(columns.begin(), columns.end(), [&](auto& c) { return c.rows.empty() || c.rows[row].second == 0; }))
      continue;
    std::vector<std::string> cells{some->rows[row].first};
    for (std::size_t i = first; i < last; ++i)
      cells.push_back(columns[i].rows.empty() ? row == 0 ? "failed" : "-" : format_number(columns[i].rows[row].second));
    if (quotient) {
      const double one = columns[0].rows[row].second, other = columns[1].rows[row].second;
      cells.push_back(one == 0 ? "-" : format_number(other / one));
    }
    table.rows.push_back(cells);
  }
  if (!table.rows.empty()) table.print();
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
  constexpr std::size_t runs_a_table = 6;
  std::vector<Column> columns;
  for (const Run& run : runs) columns.push_back(column_of(run, rates, registers));
  for (std::size_t first = 0; first < runs.size(); first += runs_a_table)
    print_columns(columns, first, std::min(first + runs_a_table, runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i)
    fmt::print("  ({}) {}: {}{}\n", i + 1, file_name(runs[i].file), runs[i].title,
               runs[i].error.empty()   ? fmt::format("; what binds: {}", columns[i].binds)
               : runs[i].title.empty() ? "failed"
                                       : " (failed)");
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
