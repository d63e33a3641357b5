#include "common/report/per_site.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "common/check/sites.hpp"
#include "common/check/source.hpp"
#include "common/bench/ceilings.hpp"
#include "common/bench/counters.hpp"
#include "common/report/options.hpp"
#include "common/report/output_file.hpp"

namespace tile {
namespace {

// `fmas` are warp-wide.
void add_site_facts(Facts& facts, const std::string& key, const simt::Site& s, double fmas) {
  const double requests = double(s.requests);
  facts.counted(key + "requests", requests);
  facts.counted(key + "requests_per_fma", requests / fmas);
  facts.counted(key + "bytes", double(s.bytes()));
  if (s.space == simt::Space::global) {
    facts.counted(key + "sectors", double(s.sectors));
    facts.counted(key + "sectors_per_request", double(s.sectors) / requests);
    facts.counted(key + "lines_per_request", double(s.lines) / requests);
    facts.counted(key + "tag_passes_per_request", double(s.tag_passes) / requests);
    facts.counted(key + "l1_wavefronts_per_request", double(s.l1_wavefronts) / requests);
    facts.counted(key + "used_percent", 100.0 * double(s.bytes()) / (32.0 * double(s.sectors)));
  } else {
    facts.counted(key + "wavefronts", double(s.wavefronts));
    facts.counted(key + "wavefronts_per_request", double(s.wavefronts) / requests);
  }
}

// Elements of A and B that one multiply-add loads from one space.
double loads_per_result(const CountedKernel& k, simt::Space space, double fmas) {
  double loads = 0;
  for (const simt::Site& s : k.counts.sites)
    if (s.space == space && s.op == simt::Op::load && s.array != "C") loads += double(s.accesses);
  return loads / (32 * fmas);
}

}  // namespace

Table table_of_sites(const CountedKernel& k) {
  Table table{
      fmt::format("sites-{}", k.kernel.name),
      fmt::format("Counted of the kernel {} at {}, per access site", k.kernel.name, extents(k.problem)),
      {"site", "array", "op", "bytes/lane", "requests", "sectors/req", "lines/req", "tag passes/req", "wavefronts/req"},
      {}};
  for (const simt::Site& s : k.counts.sites) {
    const double requests = double(s.requests);
    const bool global = s.space == simt::Space::global, bulk = simt::is_bulk(s.op);
    const auto per_request = [&](std::uint64_t simt::Site::*number) { return format_number(double(s.*number) / requests); };
    table.rows.push_back({label_of(s), s.array, simt::name_of(s.op),
                          bulk ? format_number(double(s.bytes()) / requests) : std::to_string(s.width),
                          format_number(requests), global ? per_request(&simt::Site::sectors) : "-",
                          global && !bulk ? per_request(&simt::Site::lines) : "-",
                          global && !bulk ? per_request(&simt::Site::tag_passes) : "-",
                          bulk ? "-" : per_request(global ? &simt::Site::l1_wavefronts : &simt::Site::wavefronts)});
  }
  return table;
}

void add_counted_facts(Facts& facts, const CountedKernel& k) {
  const std::string name = k.kernel.name + ".";
  const double fmas = double(k.problem.M) * k.problem.N * k.problem.K / 32;  // warp-wide
  for (const simt::Site& s : k.counts.sites)
    if (const std::string tag = tag_of(s); !tag.empty()) add_site_facts(facts, name + tag + ".", s, fmas);
  for (const Counter& counter : counters()) facts.counted(name + counter.key, double(tally(k.counts, counter)));
  const Work own = work_of(k.counts, k.problem);
  facts.counted(name + "lines_per_fma", own.lines / fmas);
  facts.counted(name + "l1_cycles_per_fma", own.l1_cycles / fmas);
  facts.counted(name + "wavefronts_per_fma", own.wavefronts / fmas);
  facts.counted(name + "global_loads_per_fma", double(tally(k.counts, counters()[0])) / fmas);
  facts.counted(name + "shared_loads_per_fma", double(tally(k.counts, counters()[4])) / fmas);
  const double shared_loads = loads_per_result(k, simt::Space::shared, fmas);
  facts.text(name + "loads_per_result.global", "counted",
             multiple_of_K(loads_per_result(k, simt::Space::global, fmas)));
  facts.text(name + "loads_per_result.shared", "counted", multiple_of_K(shared_loads));
  if (shared_loads > 0) facts.counted(name + "fmas_per_shared_load", 1 / shared_loads);
  facts.counted(name + "barriers", double(k.counts.barriers));
  facts.counted(name + "shared_bytes", double(k.counts.static_shared_bytes + k.counts.dynamic_shared_bytes));
}

void emit_lines(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto out = open_for_writing(directory / "lines.tsv");
  for (const CountedKernel& k : kernels)
    for (const simt::Site& s : k.counts.sites) {
      const bool global = s.space == simt::Space::global;
      const bool bulk = simt::is_bulk(s.op);
      const double cost = double(global ? s.sectors : bulk ? s.bytes() : s.wavefronts) / double(s.requests);
      const char* const unit = global ? "sector" : bulk ? "byte" : "wavefront";
      out << fmt::format("{}\t{}\t{}\t{}\t{} {}{}\n", k.kernel.name, s.line, cost, unit, format_number(cost), unit,
                         cost == 1 ? "" : "s");
    }
}

void print_lines(const std::vector<CountedKernel>& kernels) {
  const auto lines = source_lines();
  for (const CountedKernel& k : kernels) {
    std::map<int, std::string> notes;
    for (const simt::Site& s : k.counts.sites) {
      const bool global = s.space == simt::Space::global;
      notes[s.line] +=
          fmt::format("{}{} {} {}: {} requests, {} {}", notes[s.line].empty() ? "" : "; ", simt::name_of(s.op),
                      simt::name_of(s.space), s.array, format_number(double(s.requests)),
                      format_number(double(global                ? s.sectors
                                           : simt::is_bulk(s.op) ? s.bytes()
                                                                 : s.wavefronts)),
                      global                ? "sectors"
                      : simt::is_bulk(s.op) ? "bytes"
                                            : "wavefronts");
    }
    fmt::print("\nCounted of the kernel {} at {}, per source line of {}\n", k.kernel.name, extents(k.problem),
               chapter_source().filename().string());
    for (const auto& [line, note] : notes)
      fmt::print("{:5} | {}\n      |   {}\n", line, lines.at(std::size_t(line - 1)), note);
  }
}

}  // namespace tile
