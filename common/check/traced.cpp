#include "common/check/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace tile {
namespace {

// A run may also launch other kernels, to prepare operands or to add up partials. Returns the last launch of the
// kernel's own function; if there is none, as for residue tiles, the last of all.
simt::Counts own(std::vector<simt::Counts> launches, const Launchable& kernel) {
  if (launches.empty()) throw std::logic_error("there is nothing to trace: the kernel was not launched");
  const auto found = std::find_if(launches.rbegin(), launches.rend(),
                                  [&](const simt::Counts& launch) { return launch.function == kernel.address(); });
  return std::move(found == launches.rend() ? launches.back() : *found);
}

// The tags at the ends of the chapter's lines, by line number.
std::map<int, std::string> find_tags() {
  std::map<int, std::string> found;
  int number = 0;
  for (const std::string& line : source_lines()) {
    ++number;
    if (const auto at = line.find("//@ "); at != std::string::npos) found[number] = line.substr(at + 4);
  }
  return found;
}

}  // namespace

simt::Counts launched(const Launchable& kernel, const Case& c) {
  const BoundCase bound(kernel, c);
  return own(simt::launches([&] { bound.kernel->run(); }), kernel);
}

simt::Counts traced_run(const Launchable& kernel, const Case& c, const simt::Trace& options) {
  const BoundCase bound(kernel, c);
  const simt::Counts counts = own(simt::trace([&] { bound.kernel->run(); }, options), kernel);
  simt::require_all_written(bound.operands.allocation_of_C());
  const Verdict verdict = compare(bound.operands);
  if (!verdict.ok()) throw std::runtime_error("wrong result: " + verdict.message);
  return counts;
}

simt::Counts count(const Launchable& kernel, const Case& c, const simt::Trace& options) {
  const simt::Counts counts = traced_run(kernel, c, options);
  for (const simt::Site& s : counts.sites)
    if (s.estimated)
      throw std::runtime_error(
          fmt::format("line {}: lanes of a warp diverge within a loop, so its counts would be a guess", s.line));
  return counts;
}

std::string bank_conflict(const simt::WarpAccess& access, bool is_load) {
  const int together = simt::lanes_together(access, is_load);
  std::map<std::uint64_t, std::string> worst;  // by word, the lanes that access it
  for (int first = 0; first < 32; first += together) {
    std::array<std::map<std::uint64_t, std::string>, 32> banks;
    for (int lane = first; lane < first + together; ++lane) {
      if (!(access.active >> lane & 1u)) continue;
      for (int i = 0; i < std::max(1, access.size / 4); ++i) {
        const std::uint64_t word = access.address[std::size_t(lane)] / 4 + std::uint64_t(i);
        std::string& lanes = banks[word % 32][word];
        lanes += fmt::format("{} {}", lanes.empty() ? "lane" : " and", lane);
      }
    }
    for (const auto& bank : banks)
      if (bank.size() > std::max<std::size_t>(1, worst.size())) worst = bank;
  }
  if (worst.empty()) return "";
  std::string words;
  for (const auto& [word, lanes] : worst)
    words += fmt::format("{} word {} for {}", words.empty() ? "" : ",", word, lanes);
  return fmt::format("bank {} has {} words to serve at once:{}", worst.begin()->first % 32, worst.size(), words);
}

std::string tag_of(const simt::Site& site) {
  static const std::map<int, std::string> by_line = find_tags();
  const auto found = by_line.find(site.line);
  if (found == by_line.end()) return "";
  const std::string& tags = found->second;
  const auto space = tags.find(' ');
  if (space == std::string::npos) return tags;
  const bool reads = site.op == simt::Op::load ||
                     (site.op == simt::Op::bulk_load && site.space == simt::Space::global) ||
                     (site.op == simt::Op::bulk_store && site.space == simt::Space::shared);
  return reads ? tags.substr(0, space) : tags.substr(space + 1);
}

bool has_tag(const simt::Site& site, std::string_view tag) { return !tag.empty() && tag_of(site) == tag; }

std::string label_of(const simt::Site& site) {
  const std::string tag = tag_of(site);
  return tag.empty() ? fmt::format("line {}", site.line) : tag;
}

const simt::Site& site(const simt::Counts& counts, std::string_view tag) {
  const simt::Site* found = nullptr;
  for (const simt::Site& s : counts.sites) {
    if (!has_tag(s, tag)) continue;
    if (found != nullptr) throw std::out_of_range(fmt::format("more than one access site is tagged {}", tag));
    found = &s;
  }
  if (found == nullptr) throw std::out_of_range(fmt::format("no access site is tagged {}", tag));
  return *found;
}

std::string bank_conflict(const simt::Counts& counts, std::string_view tag) {
  const simt::Site& where = site(counts, tag);
  const auto index = std::size_t(&where - counts.sites.data());
  const auto sample = std::find_if(counts.samples.begin(), counts.samples.end(),
                                   [&](const simt::Sample& s) { return s.site == index; });
  if (sample == counts.samples.end()) throw std::out_of_range(fmt::format("{}: no access was sampled", tag));
  simt::WarpAccess access{.size = where.width};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (sample->byte_offset[lane] < 0) continue;
    access.active |= 1u << lane;
    access.address[lane] = std::uint64_t(sample->byte_offset[lane]);
  }
  const std::string conflict = bank_conflict(access, where.op == simt::Op::load);
  if (conflict.empty()) return "";
  return fmt::format("{}, {}:{}, {}: {}", counts.kernel, where.file.substr(where.file.rfind('/') + 1), where.line, tag,
                     conflict);
}

std::vector<std::string> source_lines() {
  std::ifstream in(this_chapter_file());
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", this_chapter_file()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace tile
