#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "common/bench/text.hpp"
#include "common/count/counting.hpp"
#include "common/sim/rules.hpp"

namespace tile::counting {
namespace {

using simt::counted;
using simt::WarpAccess;

// The sampled warp's first access at a site, and properties of its addresses.
struct Example {
  WarpAccess access;
  std::set<std::uint64_t> addresses;  // the distinct ones
  std::int64_t distance = 0;          // the most frequent distance of consecutive active lanes, in bytes
  bool regular = false;               // all distances are equal

  std::uint64_t lanes() const { return std::uint64_t(std::popcount(access.active)); }
};

Example example_of(const simt::Counts& counts, std::size_t site) {
  Example example;
  example.access.size = counts.sites[site].width;
  const auto sample = std::ranges::find(counts.samples, site, &simt::Sample::site);
  if (sample == counts.samples.end()) return example;
  std::int64_t before = -1;
  std::map<std::int64_t, int> times;  // by distance
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::int64_t offset = sample->byte_offset[lane];
    if (offset < 0) continue;
    example.access.active |= 1u << lane;
    example.access.address[lane] = std::uint64_t(offset);
    example.addresses.insert(std::uint64_t(offset));
    if (before >= 0) ++times[offset - before];
    before = offset;
  }
  example.regular = times.size() == 1;
  const auto most = std::ranges::max_element(times, {}, [](auto& time) { return time.second; });
  if (most != times.end()) example.distance = most->first;
  return example;
}

// The same access if its lanes accessed neighbouring elements.
WarpAccess neighbours_of(WarpAccess access) {
  for (std::size_t lane = 0; lane < 32; ++lane) access.address[lane] = lane * std::uint64_t(access.size);
  return access;
}

// --- Shared memory ---------------------------------------------------------------------------------------------------

// "pad each row of 32 words by one word" if that removes all conflicts, otherwise "". The length of a row is known from
// the source, or else is the distance of lanes, if that is at least the width of all banks.
std::string padding_that_helps(const simt::Site& site, const Example& example, int least) {
  const std::uint64_t row =
      site.row_bytes > 0 ? site.row_bytes : std::uint64_t(std::max<std::int64_t>(0, example.distance));
  if (site.row_bytes == 0 && (row < 128 || row % 4 != 0)) return "";
  for (const std::uint64_t words : {1, 2, 4, 8}) {
    if (words * 4 % std::uint64_t(std::max(site.width, 4)) != 0) continue;
    WarpAccess padded = example.access;
    for (std::uint64_t& address : padded.address) address += address / row * words * 4;
    if (simt::shared_wavefronts(padded, site.op == simt::Op::load) <= least)
      return fmt::format("pad each row of {} by {}{}", counted(row / 4, "word"),
                         words == 1 ? "one word" : counted(words, "word"),
                         site.width < 4 ? fmt::format(" ({} elements)", words * 4 / std::uint64_t(site.width)) : "");
  }
  return "";
}

std::string advice_on_shared(const simt::Site& site, const Example& example) {
  const bool is_load = site.op == simt::Op::load;
  const int wavefronts = simt::shared_wavefronts(example.access, is_load);
  const int least = simt::shared_wavefronts(neighbours_of(example.access), is_load);
  const double average = double(site.wavefronts) / double(site.requests);
  if (wavefronts > least) {
    std::string instead = padding_that_helps(site, example, least);
    if (instead.empty())
      instead = example.distance > site.width && example.distance < 128
                    ? fmt::format("neighbouring lanes are {} words apart: let them access neighbouring words",
                                  example.distance / 4)
                    : "let the lanes of a warp access different banks (chapter 10 swizzles)";
    return fmt::format("{} wavefronts, where {} would do: {} different words lie in one bank; {}",
                       format_number(average), least, simt::rules::bank_passes(example.access, 0, 32), instead);
  }
  if (example.lanes() == 32 && average > least)
    return fmt::format("no bank conflict the first time, but {} wavefronts on average, where {} would do",
                       format_number(average), least);
  const std::uint64_t words = (example.addresses.size() * std::uint64_t(site.width) + 3) / 4;
  if (is_load && words < std::uint64_t(32 * least))
    return fmt::format(
        "no bank conflict, but {} for {}; keep values in registers and let a thread compute more results from them "
        "(chapters 04 and 05)",
        counted(std::uint64_t(wavefronts), "wavefront"), counted(words, "different word"));
  return "no bank conflict, and all banks are used; only fewer accesses would cost less";
}

// --- Atomic operations -----------------------------------------------------------------------------------------------

std::string advice_on_atomic(const simt::Counts& counts, const simt::Site& site, const Example& example,
                             const std::string& resource) {
  const auto wavefronts = [](const WarpAccess& access) { return simt::shared_wavefronts(access, false); };
  const bool in_shared = site.space == simt::Space::shared, in_warp = example.addresses.size() < example.lanes();
  if (in_shared && wavefronts(example.access) > wavefronts(neighbours_of(example.access)))
    return advice_on_shared(site, example);
  const dim3 grid = counts.grid, block = counts.block;
  const bool one_sector =
      resource == "atomics" && site.requests > 1 &&
      double(counts.most_updates) * simt::atomic_ns_of_sector > double(site.sectors) / simt::atomic_sectors_per_ns;
  if (!in_warp && !one_sector) return "each lane updates a different element; only fewer updates would cost less";
  std::vector<const char*> cures;
  if (in_warp) cures.push_back("reduce in the warp (__shfl_down_sync, __reduce_add_sync) and let one lane update");
  if (!in_shared && block.x * block.y * block.z > 32 && site.requests > 1ull * grid.x * grid.y * grid.z)
    cures.push_back("reduce in the block (shared memory) and let one thread update");
  if (one_sector) cures.push_back("spread the updates over several sectors");
  return fmt::format("{} wait for each other; {}",
                     in_warp ? fmt::format("{} update {}, and those of one element", counted(example.lanes(), "lane"),
                                           counted(example.addresses.size(), "element"))
                             : fmt::format("{} updates of one sector (32 bytes)", counts.most_updates),
                     fmt::join(cures, ", "));
}

// --- Global memory ---------------------------------------------------------------------------------------------------

std::string advice_on_scattered(const simt::Site& site, const Example& example) {
  const char* const verb = site.op == simt::Op::load ? "load" : "store";
  if (!example.regular)
    return fmt::format(
        "the lanes' elements are scattered; let neighbouring threads (threadIdx.x) {} neighbouring elements, through "
        "shared memory if necessary",
        verb);
  if (example.distance == site.width)
    return fmt::format(
        "the first byte is {} bytes after the start of a sector; let warps begin at multiples of 32 bytes",
        *example.addresses.begin() % 32);
  const std::int64_t bytes = std::abs(example.distance);
  if (bytes > site.width && std::size_t(bytes) == site.element_bytes)
    return fmt::format(
        "neighbouring lanes {} {} bytes each of neighbouring structs of {} bytes; with an array for each member (a "
        "struct of arrays) they would be neighbours",
        verb, site.width, bytes);
  return fmt::format(
      "neighbouring lanes are {} bytes apart; let neighbouring threads (threadIdx.x) {} neighbouring elements", bytes,
      verb);
}

std::string advice_on_global(const simt::Counts& counts, const simt::Site& site, const Example& example,
                             const std::string& resource) {
  const bool of_bytes = resource.ends_with("bytes");
  const auto cost = [&](const WarpAccess& access) {
    const int wavefronts = simt::global_wavefronts(access, site.op == simt::Op::load);
    return of_bytes           ? simt::sectors_of(access)
           : resource == "L1" ? std::max(simt::tag_passes(access), wavefronts)
                              : wavefronts;
  };
  const int sectors = simt::sectors_of(example.access);
  const std::uint64_t bytes = example.addresses.size() * std::uint64_t(site.width), least = (bytes + 31) / 32;
  if (std::uint64_t(sectors) > least && cost(example.access) > cost(neighbours_of(example.access)))
    return fmt::format("{}, where {} would do: {}", counted(std::uint64_t(sectors), "sector"), least,
                       advice_on_scattered(site, example));
  double loaded = 0;
  for (const simt::Site& s : counts.sites)
    if (s.space == simt::Space::global && s.op == simt::Op::load) loaded += double(s.sectors);
  if (const double times = loaded / double(std::max<std::uint64_t>(1, counts.block_sectors));
      site.op == simt::Op::load && times >= 2 && !of_bytes)
    return fmt::format(
        "a block loads each of its sectors {} times; keep in a register what a thread loads again, and "
        "in a tile of shared memory what several load (chapter 03)",
        format_number(times));
  return fmt::format("its sectors are fully used; {}",
                     resource == "DRAM bytes" ? "it would cost less only if the grid touched fewer bytes"
                     : of_bytes ? "with larger tiles, fewer blocks would move the same ones (chapters 03 to 05)"
                                : "only fewer accesses would cost less");
}

std::string advice_on_requests(const simt::Site& site, const Example& example) {
  if (site.width < 16 && example.regular && example.distance == site.width)
    return fmt::format("accesses of 16 bytes (float4) would take 1/{} of the requests", 16 / site.width);
  return "let a thread keep values in registers, and compute more results from them (chapters 04 and 05)";
}

// --- Advice ----------------------------------------------------------------------------------------------------------

// "32 wavefronts, where 1 would do: 32 different words lie in one bank; pad each row of 32 words by one word": the
// access pattern of a site, from the sampled warp's first access, and what would use the resource less. A padding is
// only suggested if, by the model's rules, the changed addresses cost less.
std::string advice(const simt::Counts& counts, std::size_t which, const std::string& resource) {
  const simt::Site& site = counts.sites[which];
  const Example example = example_of(counts, which);
  if (example.lanes() == 0) return "block 0's first warp makes no such access, so there is no example of addresses";
  std::string text = site.op == simt::Op::atomic         ? advice_on_atomic(counts, site, example, resource)
                     : resource == "issue slots"         ? advice_on_requests(site, example)
                     : site.space == simt::Space::shared ? advice_on_shared(site, example)
                                                         : advice_on_global(counts, site, example, resource);
  if (example.lanes() < 32)
    text += fmt::format(" (in the sampled warp, {} took part)", counted(example.lanes(), "lane"));
  return text;
}

// --- Bounds ----------------------------------------------------------------------------------------------------------

// A site's use of a resource: cycles, requests, updates or sectors; 0: none, or no rule is known.
double use_of(const simt::Site& site, const std::string& resource) {
  const bool updates = site.op == simt::Op::atomic && site.space == simt::Space::global;
  return resource == "L1"            ? double(site.l1_cycles)
         : resource == "banks"       ? bank_wavefronts(site)
         : resource == "issue slots" ? double(site.requests)
         : resource == "atomics"     ? (updates ? double(site.accesses) : 0)
         : resource == "FFMA issue"  ? 0
                                     : double(site.sectors);
}

// Only SMs that have a block contribute their resources; L2 and DRAM have one rate for the whole GPU.
std::vector<Bound> bounds_of(const simt::Counts& counts, Rates rates, int sms, double flops) {
  rates.sms = sms;
  Work work = work_of(counts);
  work.flops = flops;
  work.dram_bytes = 32 * double(counts.grid_sectors);
  double updated = 0;  // sectors
  for (const simt::Site& s : counts.sites) updated += s.op == simt::Op::atomic ? double(s.sectors) : 0;
  const double ns =
      std::max(double(counts.most_updates) * simt::atomic_ns_of_sector, updated / simt::atomic_sectors_per_ns);
  std::vector<Bound> bounds;
  for (const Ceiling& c : ceilings(work, rates)) bounds.push_back({c.resource, c.seconds * rates.clock_hz});
  if (ns > 0) bounds.push_back({"atomics", ns * 1e-9 * rates.clock_hz});
  std::ranges::stable_sort(bounds, std::greater(), &Bound::cycles);
  return bounds;
}

}  // namespace

double bank_wavefronts(const simt::Site& site) {
  return double(site.l1_wavefronts) + (site.space == simt::Space::shared ? double(site.wavefronts) : 0);
}

Verdict verdict_of(const Run& run, const simt::Counts& counts, const Rates& rates, int registers) {
  Verdict v;
  v.flops = run.flops / double(run.kernels.size());
  v.sms = int(std::min(double(rates.sms), double(counts.grid.x) * counts.grid.y * counts.grid.z));
  v.bounds = bounds_of(counts, rates, v.sms, v.flops);
  v.binding = std::size_t(std::count_if(v.bounds.begin(), v.bounds.end(), [&](const Bound& b) {
    return format_number(b.cycles) == format_number(v.cycles());
  }));
  v.registers = registers;
  v.occupancy = occupancy(h200, int(counts.block.x * counts.block.y * counts.block.z), registers,
                          int(counts.static_shared_bytes + counts.dynamic_shared_bytes));
  for (std::size_t i = 0; i < v.binding; ++i)
    if (i == 0 || v.bounds[i].resource == "FFMA issue") v.binds = v.bounds[i].resource;
  double all = v.binds == "issue slots" ? v.flops / 2 / GpuSpec::warp : 0, most = 0;
  for (const simt::Site& s : counts.sites) {
    all += use_of(s, v.binds);
    most = std::max(most, use_of(s, v.binds));
  }
  for (std::size_t i = 0; i < counts.sites.size(); ++i) {
    const double use = use_of(counts.sites[i], v.binds);
    v.shares.push_back(use > 0 ? use / all : -1);
    if (use == most && use > 0.005 * all) v.hottest.push_back(i);  // less would be printed as 0%
  }
  if (!v.hottest.empty()) v.advice = advice(counts, v.hottest.front(), v.binds);
  return v;
}

}  // namespace tile::counting
