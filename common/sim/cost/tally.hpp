// The cost of a launch's warp-wide accesses, summed by site: one instruction and one array.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/sim/cost/requests.hpp"

namespace simt::cost {

struct SiteKey {
  std::uint32_t pc;
  Op op;
  Space space;
  std::uint8_t size;
  std::uint16_t array;  ///< index among the arrays of its space
  auto operator<=>(const SiteKey&) const = default;
};
struct SiteTally : SiteCost {
  bool is_sampled = false;  ///< Tally::samples has an access of this site
};

/// An array: where its allocation begins and ends, and the address from which samples count offsets.
struct Array {
  Space space{};
  std::uint16_t index = 0;
  std::uint64_t begin = 0, end = 0, counted_from = 0;
};

/// For each sector of an array, the serial of the last block that touched it; 0: none. Untouched sectors take no memory.
class LastBlocks {
 public:
  explicit LastBlocks(const Array& array)
      : count_((array.end - array.begin + 31) / 32 + 1),
        serials_(static_cast<std::uint32_t*>(std::calloc(count_, sizeof(std::uint32_t))), std::free) {
    if (serials_ == nullptr) throw std::bad_alloc();
  }
  std::size_t size() const { return count_; }
  std::uint32_t& operator[](std::size_t sector) const { return serials_[sector]; }

 private:
  std::size_t count_;
  std::unique_ptr<std::uint32_t[], void (*)(void*)> serials_;
};

/// The cost of the blocks that one host thread ran.
struct Tally {
  std::map<SiteKey, SiteTally> sites;
  /// The sampled warp's first access at each site: see Sample::byte_offset.
  std::vector<std::pair<SiteKey, std::array<std::int64_t, 32>>> samples;
  /// By global array: which block last loaded and stored its sectors.
  std::map<std::uint16_t, LastBlocks> loaded_by, stored_by;
  /// By sector: its elements that atomic operations updated, each once per request.
  std::unordered_map<std::uint64_t, std::uint64_t> updates;
  /// Distinct sectors per block, summed over blocks.
  std::uint64_t block_sectors = 0, block_store_sectors = 0;

  /// Adds one warp-wide access of block number `block` (1-based).
  void add(const LogEntry& entry, const WarpAccess& access, bool same_turn, const Array& array, std::uint32_t block,
           bool sampled);
  /// Adds one side of a bulk copy of elements of key.size bytes: the bytes [begin, end) of each row. It bypasses L1, so each
  /// copy fetches all its sectors, without tag passes or wavefronts; the wavefronts in shared memory are not known.
  void add_bulk(const SiteKey& key, const Array& array,
                const std::vector<std::pair<std::uint64_t, std::uint64_t>>& rows, std::uint32_t block);

 private:
  SiteTally& add_to(const SiteKey& key, const SiteCost& cost, std::uint64_t new_sectors);
};

}  // namespace simt::cost
