// Counts of single blocks: whether two do the same, what depends on where in memory their parts lie, and sums of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/sampled.hpp"
#include "common/sim/model.hpp"

namespace tile {

/// What two sites have in common that are one.
using SiteName = std::tuple<std::string, int, simt::Op, simt::Space, std::string, int>;

/// What two blocks do that stand for each other, by site: "" or the first difference. What depends on where in memory their parts lie
/// is not asked.
std::string difference(const simt::BlockCounts& one, const simt::BlockCounts& other);

/// Sums of what blocks count. What is no sum, such as the samples, is the first block's.
class SumOfBlocks {
 public:
  /// Adds what one block counted, for so many that do the same.
  void add_block(const simt::Counts& block, std::uint64_t times);
  /// What all of them count.
  simt::Counts total() const;

 private:
  struct Summed {
    simt::Site site;
    std::vector<simt::Sample> samples;
  };
  simt::Counts total_;
  std::map<SiteName, Summed> sites_;
};

/// Which numbers depend on where in memory a block's part lies.
class PlaceNumbers {
 public:
  /// Notes those that are not the same in two blocks that otherwise do the same.
  void compare(const simt::BlockCounts& one, const simt::BlockCounts& other);
  /// Whether the sectors that a block loads or stores are among them; and for each site which of its numbers are.
  bool block_sectors() const { return block_sectors_; }
  std::vector<std::vector<SiteNumber>> of(const std::vector<simt::Site>& sites) const;

 private:
  bool block_sectors_ = false;
  std::map<SiteName, std::vector<SiteNumber>> found_;
};

}  // namespace tile
