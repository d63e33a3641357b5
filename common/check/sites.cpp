#include "common/check/sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "common/check/source.hpp"
#include "common/check/traced.hpp"

namespace tile {

std::string tag_of(const simt::Site& site) {
  const std::string tags = tag_of_line(site.line);
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

}  // namespace tile
