// The cost of kernels line by line, and the elements that their sampled block touched (Trace::keep_touches): for
// listings and figures. emitted.tsv lists the columns of the files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "common/bench/text.hpp"
#include "common/check/traced.hpp"
#include "common/report/findings.hpp"
#include "common/report/options.hpp"

namespace tile {
namespace {

constexpr int sampled_thread = 197;  // shown in figures of a single thread

/// The cost of a site: in global memory sectors, for bulk copies in shared memory bytes, otherwise wavefronts.
struct Cost {
  double number;
  std::string unit;
};
Cost cost_of(const simt::Site& s) {
  if (s.space == simt::Space::global) return {double(s.sectors), "sector"};
  return simt::is_bulk(s.op) ? Cost{double(s.bytes()), "byte"} : Cost{double(s.wavefronts), "wavefront"};
}

// Bytes of an element by array: for A, B and C those of the kernel's types; for an array in shared memory those of the
// narrowest access to it, at most a word.
std::map<std::string, int> element_bytes(const CountedKernel& k) {
  const Types& types = k.kernel.types;
  std::map<std::string, int> bytes;
  for (const simt::Touch& t : k.counts.touches) {
    int& narrowest = bytes.try_emplace(t.array, 4).first->second;
    narrowest = std::min(narrowest, int(t.width));
  }
  bytes["A"] = int(size_of(types.A)), bytes["B"] = int(size_of(types.B)), bytes["C"] = int(size_of(types.C));
  return bytes;
}

}  // namespace

void emit_traces(const std::vector<CountedKernel>& kernels, const std::filesystem::path& directory) {
  auto sizes = open_for_writing(directory / "kernels.tsv"), lines = open_for_writing(directory / "lines.tsv"),
       samples = open_for_writing(directory / "samples.tsv"), threads = open_for_writing(directory / "thread.tsv");
  for (const CountedKernel& k : kernels) {
    const auto& [name, tile] = std::tie(k.kernel.name, k.kernel.tile);
    sizes << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", name, k.kernel.block_threads, tile.BM, tile.BN, tile.BK,
                         k.problem.lda(), k.problem.ldb(), k.problem.ldc());

    for (const simt::Site& s : k.counts.sites) {
      const auto [number, unit] = cost_of(s);
      const double cost = number / double(s.requests);
      lines << fmt::format("{}\t{}\t{}\t{}\t{} {}{}\n", name, s.line, cost, unit, format_number(cost), unit,
                           cost == 1 ? "" : "s");
    }

    std::set<std::size_t> shown;  // a lambda that is called twice makes two accesses of one site: only show the first
    for (const simt::Sample& sample : k.counts.samples) {
      if (!shown.insert(sample.site).second) continue;
      const simt::Site& s = k.counts.sites[sample.site];
      for (int lane = 0; lane < 32; ++lane)
        if (sample.byte_offset[lane] >= 0)
          samples << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", name, label_of(s), simt::name_of(s.space), s.array,
                                 s.width, lane, sample.byte_offset[lane] / 4, simt::name_of(s.op));
    }

    const std::map<std::string, int> bytes = element_bytes(k);
    for (const simt::Touch& t : k.counts.touches) {
      if (t.thread != sampled_thread) continue;
      const int size = bytes.at(t.array);
      for (std::int64_t element = t.byte_offset / size; element < (t.byte_offset + t.width) / size; ++element)
        threads << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", name, t.thread, t.interval, simt::name_of(t.op), t.array,
                               element);
    }
  }
}

void print_lines(const std::vector<CountedKernel>& kernels) {
  const auto lines = source_lines();
  for (const CountedKernel& k : kernels) {
    std::map<int, std::string> notes;
    for (const simt::Site& s : k.counts.sites) {
      const auto [number, unit] = cost_of(s);
      notes[s.line] +=
          fmt::format("{}{} {} {}: {} requests, {} {}s", notes[s.line].empty() ? "" : "; ", simt::name_of(s.op),
                      simt::name_of(s.space), s.array, format_number(double(s.requests)), format_number(number), unit);
    }
    fmt::print("\nThe model's counts of kernel {} at {}, by source line of {}\n", k.kernel.name, extents(k.problem),
               chapter_source().filename().string());
    for (const auto& [line, note] : notes)
      fmt::print("{:5} | {}\n      |   {}\n", line, lines.at(std::size_t(line - 1)), note);
  }
}

}  // namespace tile
