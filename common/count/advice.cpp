#include "common/count/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/sim/rules.hpp"
#include "common/bench/numbers.hpp"

namespace tile::counting {
namespace {

using simt::WarpAccess;

const simt::Sample* sample_of(const simt::Counts& counts, std::size_t site) {
  const auto sample =
      std::find_if(counts.samples.begin(), counts.samples.end(), [&](const simt::Sample& s) { return s.site == site; });
  return sample == counts.samples.end() ? nullptr : &*sample;
}

std::optional<WarpAccess> sampled(const simt::Counts& counts, std::size_t site) {
  const simt::Sample* const sample = sample_of(counts, site);
  if (sample == nullptr) return {};
  WarpAccess access{.size = counts.sites[site].width};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    if (sample->byte_offset[lane] < 0) continue;
    access.active |= 1u << lane;
    access.address[lane] = std::uint64_t(sample->byte_offset[lane]);
  }
  return access;
}

template <class Visit>
void for_each_lane(const WarpAccess& access, Visit visit) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    if (access.active >> lane & 1u) visit(access.address[lane]);
}

std::uint64_t distinct_addresses(const WarpAccess& access) {
  std::set<std::uint64_t> addresses;
  for_each_lane(access, [&](std::uint64_t address) { addresses.insert(address); });
  return addresses.size();
}

std::uint64_t distinct_words(const WarpAccess& access) {
  std::set<std::uint64_t> words;
  for_each_lane(access, [&](std::uint64_t address) {
    for (std::uint64_t word = address / 4; word * 4 < address + std::uint64_t(access.size); ++word) words.insert(word);
  });
  return words.size();
}

// The distance of each active lane's address from that of the active lane before it, with how often it occurs.
std::map<std::int64_t, int> distances(const WarpAccess& access) {
  std::map<std::int64_t, int> found;
  std::optional<std::uint64_t> before;
  for_each_lane(access, [&](std::uint64_t address) {
    if (before) ++found[std::int64_t(address - *before)];
    before = address;
  });
  return found;
}

std::string counted(std::uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// --- Shared memory -------------------------------------------------------------------------------------------------------

// The words that lanes served together want from the busiest bank, and that bank.
struct Busiest {
  std::size_t words = 0;
  std::uint64_t bank = 0;
  bool all_lanes = false;  // whether nothing else is wanted
};

Busiest busiest_bank(const WarpAccess& access, bool is_load) {
  const int together = simt::lanes_together(access, is_load);
  Busiest busiest;
  for (int first = 0; first < 32; first += together) {
    std::map<std::uint64_t, std::set<std::uint64_t>> words;  // by bank
    for (int lane = first; lane < first + together; ++lane)
      for (int i = 0; (access.active >> lane & 1u) && i < std::max(1, access.size / 4); ++i) {
        const std::uint64_t word = access.address[std::size_t(lane)] / 4 + std::uint64_t(i);
        words[word % 32].insert(word);
      }
    for (const auto& [bank, wanted] : words)
      if (wanted.size() > busiest.words) busiest = {wanted.size(), bank, words.size() == 1};
  }
  return busiest;
}

// What the access takes where no two lanes meet in a bank: one pass for each group of lanes that is served together.
int least_wavefronts(const WarpAccess& access, bool is_load) {
  const int together = simt::lanes_together(access, is_load);
  int groups = 0;
  for (int first = 0; first < 32; first += together) {
    const unsigned lanes = together == 32 ? ~0u : ((1u << together) - 1) << first;
    groups += is_load || (access.active & lanes) != 0;
  }
  return groups;
}

WarpAccess with_padded_rows(WarpAccess access, std::uint64_t row_bytes, std::uint64_t pad) {
  for (std::uint64_t& address : access.address) address += address / row_bytes * pad;
  return access;
}

// How long a row may be: what the source says, else the distances between lanes, from those on that go once round the banks.
std::vector<std::uint64_t> possible_rows(const simt::Site& site, const WarpAccess& access) {
  if (site.row_bytes > 0) return {site.row_bytes};
  std::vector<std::uint64_t> rows;
  for (const auto& [distance, times] : distances(access))
    if (distance >= 128 && distance % 4 == 0) rows.push_back(std::uint64_t(distance));
  return rows;
}

// How often lanes go on in another row, where mostly each takes what lies behind the lane before it.
int other_rows(const simt::Site& site, const WarpAccess& access) {
  int neighbours = 0, others = 0;
  for (const auto& [distance, times] : distances(access)) (distance == site.width ? neighbours : others) += times;
  return neighbours > others ? others : 0;
}

// How far neighbouring lanes are mostly apart, if by more than one access and less than once round the banks; else 0.
std::int64_t usual_stride(const simt::Site& site, const WarpAccess& access) {
  std::int64_t usual = 0;
  int most = 0;
  for (const auto& [distance, times] : distances(access))
    if (times > most) usual = distance, most = times;
  return usual > site.width && usual < 128 ? usual : 0;
}

std::string padding_that_helps(const simt::Site& site, const WarpAccess& access, int least) {
  const bool is_load = site.op == simt::Op::load;
  for (const std::uint64_t row : possible_rows(site, access))
    for (const std::uint64_t words : {1, 2, 4, 8}) {
      if (words * 4 % std::uint64_t(std::max(site.width, 4)) != 0) continue;
      if (simt::shared_wavefronts(with_padded_rows(access, row, words * 4), is_load) > least) continue;
      return fmt::format("pad each row of {} by {}{}", counted(row / 4, "word"),
                         words == 1 ? "one word" : counted(words, "word"),
                         site.width < 4 ? fmt::format(" ({} elements)", words * 4 / std::uint64_t(site.width)) : "");
    }
  return "";
}

std::string advice_on_shared(const simt::Site& site, const WarpAccess& access, unsigned threads_along_x) {
  const bool is_load = site.op == simt::Op::load;
  const int wavefronts = simt::shared_wavefronts(access, is_load), least = least_wavefronts(access, is_load);
  const double average = double(site.wavefronts) / double(std::max<std::uint64_t>(1, site.requests));
  if (wavefronts > least) {
    const Busiest busiest = busiest_bank(access, is_load);
    std::string instead = padding_that_helps(site, access, least);
    const std::int64_t stride = usual_stride(site, access);
    if (instead.empty() && stride != 0)
      instead = fmt::format("neighbouring lanes are {} words apart: let them take neighbouring words", stride / 4);
    if (const int others = other_rows(site, access); instead.empty() && others > 0)
      instead = fmt::format(
          "the warp takes {} rows, which meet in the banks; {}", others + 1,
          threads_along_x < 32 ? "with 32 threads along x it takes one" : "let its lanes take one, of 32 words");
    if (instead.empty()) instead = "let the lanes of a warp want different banks (chapter 10 swizzles)";
    const std::string elsewhere = std::abs(average - wavefronts) < 0.005 * wavefronts
                                      ? ""
                                      : fmt::format(" the first time, {} on average", format_number(average));
    return fmt::format("{}{}, where {} would do: {} bank {}; {}", counted(std::uint64_t(wavefronts), "wavefront"),
                       elsewhere, least,
                       busiest.all_lanes ? "all lanes that are served together want"
                                         : fmt::format("{} different words lie in", busiest.words),
                       busiest.bank, instead);
  }
  if (access.active == ~0u && average > least)
    return fmt::format(
        "no bank conflict the first time, but {} wavefronts on average, where {} would do: others of this line "
        "have some",
        format_number(average), least);
  const std::uint64_t words = distinct_words(access);
  if (is_load && words < std::uint64_t(32 * least))
    return fmt::format(
        "no bank conflict, but {} for {}; keep values in registers and let a thread compute more results from them "
        "(chapters 04 and 05)",
        counted(std::uint64_t(wavefronts), "wavefront"), counted(words, "different word"));
  return "no bank conflict, and all banks deliver; only fewer accesses would cost less";
}

// --- Global memory -------------------------------------------------------------------------------------------------------

std::string advice_on_atomic(const WarpAccess& access) {
  const int lanes = std::popcount(access.active);
  const std::uint64_t elements = distinct_addresses(access);
  if (elements < std::uint64_t(lanes))
    return fmt::format(
        "{} update {}, and those of one element wait for each other; reduce in the warp first (__shfl_down_sync, "
        "__reduce_add_sync) and let one lane update",
        counted(std::uint64_t(lanes), "lane"), counted(elements, "element"));
  return "each lane updates an element of its own; what an atomic operation costs in L2 is not known to the model";
}

// The begin of the first byte within its sector.
std::uint64_t behind_a_sector(const WarpAccess& access) {
  std::uint64_t first = ~0ull;
  for_each_lane(access, [&](std::uint64_t address) { first = std::min(first, address); });
  return first % 32;
}

// Neighbouring structs of more bytes than a lane can move at once; "" where they are none.
std::string advice_on_structs(const simt::Site& site, std::int64_t distance, int sectors, std::uint64_t least) {
  const auto bytes = std::uint64_t(std::abs(distance)), width = std::uint64_t(site.width);
  if (bytes != site.struct_bytes || bytes <= 16) return "";
  const std::uint64_t aligned = (bytes + 15) / 16;
  return fmt::format(
      "neighbouring lanes {} neighbouring structs of {} bytes in {} accesses, of which each touches the same {}; with "
      "an "
      "array for each member (a struct of arrays) each would touch {}{}",
      site.op == simt::Op::load ? "load" : "store", bytes, bytes / width, counted(std::uint64_t(sectors), "sector"),
      least,
      aligned < bytes / width ? fmt::format(", and declared alignas(16) the struct takes {} accesses", aligned) : "");
}

// Neighbouring elements that are moved piece by piece; "" where not all bytes between one lane's and the next one's are moved, or
// where they are more than a lane can move at once.
std::string advice_on_pieces(const simt::Site& site, int in_a_row, std::uint64_t lanes, std::int64_t distance,
                             int sectors, std::uint64_t least) {
  const auto bytes = std::uint64_t(std::abs(distance));
  if (bytes > 16 || in_a_row * site.width < std::int64_t(bytes)) return "";
  const std::uint64_t at_once = std::bit_ceil(bytes);
  const std::string moved =
      fmt::format("neighbouring lanes {} neighbouring {} bytes in {} accesses, of which each touches the same {}; ",
                  site.op == simt::Op::load ? "load" : "store", bytes, bytes / std::uint64_t(site.width),
                  counted(std::uint64_t(sectors), "sector"));
  const std::string one_access = fmt::format("one access, of {}", counted((lanes * at_once + 31) / 32, "sector"));
  if (site.element_bytes == bytes && site.element_alignment >= at_once)
    return fmt::format("{}the array's elements have as many: moved as a whole, by way of a variable, they take {}",
                       moved, one_access);
  return fmt::format(
      "{}{} each would touch {}, with elements of {} bytes{} there would be {}", moved,
      site.element_bytes == std::uint64_t(site.width) ? "where neighbouring lanes take neighbouring elements,"
                                                      : "with an array for each part (a struct of arrays)",
      least, at_once, site.width == 4 ? fmt::format(" (float{0}, int{0})", at_once / 4) : "", one_access);
}

std::string advice_on_scattered(const simt::Site& site, const WarpAccess& access, int in_a_row, int sectors,
                                std::uint64_t least) {
  const std::string cost = fmt::format("{}, where {} would do", counted(std::uint64_t(sectors), "sector"), least);
  const auto apart = distances(access);
  const char* const verb = site.op == simt::Op::load ? "load" : "store";
  const std::int64_t distance = apart.size() == 1 ? apart.begin()->first : 0;
  if (distance == site.width)
    return fmt::format(
        "{}: the first byte lies {} bytes behind the beginning of a sector; let warps begin at multiples of "
        "32 bytes",
        cost, behind_a_sector(access));
  if (const std::string text =
          distance == 0 ? "" : advice_on_pieces(site, in_a_row, distinct_addresses(access), distance, sectors, least);
      !text.empty())
    return text;
  if (const std::string text = advice_on_structs(site, distance, sectors, least); !text.empty()) return text;
  if (const auto bytes = std::uint64_t(std::abs(distance));
      bytes > std::uint64_t(site.width) && bytes == site.element_bytes)
    return fmt::format(
        "{}: neighbouring lanes {} {} bytes each of neighbouring structs of {} bytes; with an array for each member (a "
        "struct of arrays) they would be neighbours",
        cost, verb, site.width, bytes);
  if (distance != 0)
    return fmt::format(
        "{}: neighbouring lanes are {} bytes apart; let neighbouring threads (threadIdx.x) {} "
        "neighbouring elements",
        cost, std::abs(distance), verb);
  return fmt::format(
      "{}: the lanes' elements lie apart; let neighbouring threads (threadIdx.x) {} neighbouring "
      "elements, through shared memory if need be",
      cost, verb);
}

// Lines that meet in a bank of L1's tags, which rows that are 128 bytes longer would not.
std::string advice_on_tags(const WarpAccess& access, int passes) {
  for (const auto& [distance, times] : distances(access)) {
    if (distance < 128) continue;
    const WarpAccess padded = with_padded_rows(access, std::uint64_t(distance), 128);
    if (simt::tag_passes(padded) < passes)
      return fmt::format(
          "its lines take {} passes through L1's tags, for they lie in few of four tag banks; rows of {} bytes "
          "that were 128 bytes longer would take {} (chapter 01)",
          passes, distance, simt::tag_passes(padded));
  }
  return "";
}

std::string advice_on_global(const simt::Counts& counts, const simt::Site& site, const WarpAccess& access,
                             int in_a_row) {
  const int sectors = simt::sectors_of(access);
  const std::uint64_t bytes = distinct_addresses(access) * std::uint64_t(site.width), least = (bytes + 31) / 32;
  if (std::uint64_t(sectors) > least) return advice_on_scattered(site, access, in_a_row, sectors, least);
  const bool is_load = site.op == simt::Op::load;
  if (std::popcount(access.active) == 1)
    return fmt::format(
        "one lane of the warp {}, {} bytes of a sector of 32, while the others wait: give each lane a part",
        is_load ? "loads" : "stores", site.width);
  if (const int passes = simt::tag_passes(access); passes > simt::global_wavefronts(access, is_load))
    if (const std::string text = advice_on_tags(access, passes); !text.empty()) return text;
  double loaded = 0;
  for (const simt::Site& s : counts.sites)
    if (s.space == simt::Space::global && s.op == simt::Op::load) loaded += double(s.sectors);
  if (const double times = loaded / double(std::max<std::uint64_t>(1, counts.block_sectors)); is_load && times >= 2)
    return fmt::format(
        "a block loads each of its sectors {} times; keep in a register what a thread loads again, and "
        "in a tile of shared memory what several load (chapter 03)",
        format_number(times));
  if (site.width < 16 && bytes == std::uint64_t(32 * site.width))
    return fmt::format("its sectors are used in full; accesses of 16 bytes (float4) would take {} of the requests",
                       site.width == 4   ? "a quarter"
                       : site.width == 8 ? "half"
                                         : "a fraction");
  return "its sectors are used as far as they go; only fewer accesses would cost less";
}

// Whether each thread moves neighbouring elements, and no advice on pieces says so: nvcc may make wider accesses of them.
bool may_be_joined(const simt::Site& site, const WarpAccess& access, int in_a_row) {
  if (in_a_row < 2 || site.width >= 16 || site.struct_bytes != 0) return false;
  const auto apart = distances(access);
  return std::all_of(apart.begin(), apart.end(),
                     [](const auto& one) { return one.first == 0 || std::abs(one.first) > 16; });
}

}  // namespace

std::string advice(const simt::Counts& counts, std::size_t which) {
  const simt::Site& site = counts.sites[which];
  const auto access = sampled(counts, which);
  if (!access) return "block 0's first warp does not come here: no example of its addresses was kept";
  const int in_a_row = sample_of(counts, which)->in_a_row;
  std::string text = site.op == simt::Op::atomic         ? advice_on_atomic(*access)
                     : site.space == simt::Space::shared ? advice_on_shared(site, *access, counts.block.x)
                                                         : advice_on_global(counts, site, *access, in_a_row);
  if (const int lanes = std::popcount(access->active); lanes < 32)
    text += fmt::format(" (of the warp that was looked at, {} took part)", counted(std::uint64_t(lanes), "lane"));
  if (site.op != simt::Op::atomic && may_be_joined(site, *access, in_a_row))
    text += "; nvcc may join the neighbouring accesses of a thread into wider ones (chapter 05)";
  return text;
}

}  // namespace tile::counting
