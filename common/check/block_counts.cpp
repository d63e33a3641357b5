#include "common/check/block_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tile {
namespace {

SiteName name_of(const simt::Site& s) { return {s.file, s.line, s.op, s.space, s.array, s.width}; }

void add(const std::vector<std::uint64_t>& more, std::uint64_t times, std::vector<std::uint64_t>& sums) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += times * more[i];
}

void add(const simt::Site& more, std::uint64_t times, simt::Site& sum) {
  for (std::uint64_t simt::Site::*const number :
       {&simt::Site::requests, &simt::Site::accesses, &simt::Site::sectors, &simt::Site::lines, &simt::Site::tag_passes,
        &simt::Site::wavefronts, &simt::Site::l1_wavefronts, &simt::Site::l1_cycles})
    sum.*number += times * (more.*number);
  sum.estimated = sum.estimated || more.estimated;
}

}  // namespace

std::string difference(const simt::BlockCounts& one, const simt::BlockCounts& other) {
  if (one.barriers != other.barriers) return fmt::format("{} barriers and {}", one.barriers, other.barriers);
  if (one.waits_for_copies != other.waits_for_copies) return "other waits for asynchronous copies";
  struct Work {
    std::uint64_t requests = 0, accesses = 0;
    bool operator==(const Work&) const = default;
  };
  std::map<SiteName, std::array<Work, 2>> work;
  for (const int which : {0, 1})
    for (const simt::Site& site : (which == 0 ? one : other).sites)
      work[name_of(site)][std::size_t(which)] = {site.requests, site.accesses};
  for (const auto& [name, both] : work) {
    const auto& [mine, others] = both;
    if (mine == others) continue;
    const auto& [file, line, op, space, array, width] = name;
    const std::string site = fmt::format("line {}, {} of {} bytes, {}: ", line, simt::name_of(op), width, array);
    if (mine.requests != others.requests)
      return site + fmt::format("{} requests and {}", mine.requests, others.requests);
    return site + fmt::format("{} accesses and {}", mine.accesses, others.accesses);
  }
  return "";
}

void SumOfBlocks::add_block(const simt::Counts& block, std::uint64_t times) {
  if (total_.function == nullptr) {
    total_ = block;
    total_.sites.clear();
    total_.samples.clear();
    total_.of_blocks.clear();
    total_.waits_for_copies.clear();
    total_.barriers = total_.block_sectors = total_.block_store_sectors = 0;
  }
  if (block.function != total_.function) throw std::logic_error("the blocks of a grid run one kernel");
  total_.barriers += times * block.barriers;
  total_.block_sectors += times * block.block_sectors;
  total_.block_store_sectors += times * block.block_store_sectors;
  add(block.waits_for_copies, times, total_.waits_for_copies);
  for (std::size_t i = 0; i < block.sites.size(); ++i) {
    const simt::Site& more = block.sites[i];
    const auto [found, is_new] = sites_.try_emplace(name_of(more), Summed{more, {}});
    Summed& summed = found->second;
    if (!is_new) {
      add(more, times, summed.site);
      continue;
    }
    summed.site = simt::Site{more.file, more.line, more.op, more.space, more.array, more.row_bytes, more.width};
    summed.site.by_copy = more.by_copy;
    add(more, times, summed.site);
    for (const simt::Sample& sample : block.samples)
      if (sample.site == i) summed.samples.push_back(sample);
  }
}

simt::Counts SumOfBlocks::total() const {
  simt::Counts counts = total_;
  for (const auto& [name, summed] : sites_) {
    for (simt::Sample sample : summed.samples) {
      sample.site = counts.sites.size();
      counts.samples.push_back(sample);
    }
    counts.sites.push_back(summed.site);
  }
  return counts;
}

void PlaceNumbers::compare(const simt::BlockCounts& one, const simt::BlockCounts& other) {
  block_sectors_ = block_sectors_ || one.sectors != other.sectors || one.store_sectors != other.store_sectors;
  for (std::size_t i = 0; i < one.sites.size(); ++i)  // both have the same sites, in one order
    for (const SiteNumber number : {&simt::Site::sectors, &simt::Site::lines, &simt::Site::tag_passes,
                                    &simt::Site::wavefronts, &simt::Site::l1_wavefronts, &simt::Site::l1_cycles}) {
      if (one.sites[i].*number == other.sites[i].*number) continue;
      auto& found = found_[name_of(one.sites[i])];
      if (std::find(found.begin(), found.end(), number) == found.end()) found.push_back(number);
    }
}

std::vector<std::vector<SiteNumber>> PlaceNumbers::of(const std::vector<simt::Site>& sites) const {
  std::vector<std::vector<SiteNumber>> numbers;
  for (const simt::Site& site : sites) {
    const auto found = found_.find(name_of(site));
    numbers.push_back(found == found_.end() ? std::vector<SiteNumber>{} : found->second);
  }
  return numbers;
}

}  // namespace tile
