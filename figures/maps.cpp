// Maps of what a kernel did, from its trace: the sectors and banks of a warp's access, a swizzled tile, a thread's work, the tile of C.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "common/bench/gpu.hpp"
#include "common/sim/rules.hpp"
#include "drawing.hpp"
#include "figures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

constexpr int words_of_line = 32, words_of_sector = 8, half_of_line = words_of_line / 2;
using Words = std::map<std::uint64_t, std::vector<int>>;        // word -> the lanes that access it
using Lines = std::map<long, std::map<int, std::vector<int>>>;  // line -> word of it -> lanes

Words words_of(const simt::WarpAccess& access, int first, int lanes) {
  Words words;
  for (int lane = first; lane < first + lanes; ++lane)
    for (int i = 0; i < std::max(access.size / 4, 1) && (access.active >> lane & 1u); ++i)
      words[access.address[std::size_t(lane)] / 4 + std::uint64_t(i)].push_back(lane);
  return words;
}

/// Half of each line, the words from `from` on, a row for each line.
void draw_half_of_lines(Drawing& d, const Lines& lines, const std::string& array, int from, double left, double top,
                        double cell, double row) {
  const double begin = left + from * cell;
  for (int s = from / words_of_sector; s < (from + half_of_line) / words_of_sector; ++s)
    d.text(left + (words_of_sector * s + words_of_sector / 2) * cell, 12, fmt::format("sector {}", s), "middle", 12,
           "var(--muted)");
  double y = top;
  for (const auto& [line, words] : lines) {
    const double baseline = y + row / 2 + 3.5, height = row - 2;
    d.text(begin - 8, baseline, fmt::format("{} line {}", array, line), "end", 12, "var(--ink)", from > 0);
    for (int s = from; s < from + half_of_line; s += words_of_sector) {
      const auto first = words.lower_bound(s);
      const bool touched = first != words.end() && first->first < s + words_of_sector;
      d.rect(left + s * cell, y, words_of_sector * cell, height, touched ? "var(--third)" : "none", "var(--rule)",
             0.35);
    }
    for (const auto& [word, lanes] : words) {
      if (word < from || word >= from + half_of_line) continue;
      d.rect(left + word * cell + 0.5, y + 0.5, cell - 1, height - 1, "var(--accent)");
      const std::string label = lanes.size() == 32 ? "all" : lanes.size() == 1 ? std::to_string(lanes[0]) : "";
      d.text(left + (word + 0.5) * cell, baseline, label, "middle", 12, "var(--paper)");
    }
    y += row;
  }
}

}  // namespace

// Two halves, which a narrow page has below each other; there a second one that holds nothing is left out.
void draw_access(const Path& emitted, const Path& out, const std::string& kernel, const std::string& tag) {
  const SampledAccess sample = read_sample(emitted, kernel, tag);
  Lines lines;
  std::set<std::uint64_t> sectors;
  bool second_half = false;
  for (const auto& [word, lanes] : words_of(sample.access, 0, 32)) {
    lines[long(word / words_of_line)][int(word % words_of_line)] = lanes;
    sectors.insert(word / words_of_sector);
    second_half = second_half || word % words_of_line >= half_of_line;
  }
  const double left = 86, cell = 16, row = lines.size() > 8 ? 14 : 22, top = 20;
  const double bottom = top + double(lines.size()) * row + 6, width = left + half_of_line * cell;
  Drawing d(width + half_of_line * cell + 4, bottom + 20);
  d.panel(0, width + 0.5, bottom);
  draw_half_of_lines(d, lines, sample.array, 0, left, top, cell, row);
  d.panel(half_of_line * cell, width + 4, bottom, 0, !second_half);
  draw_half_of_lines(d, lines, sample.array, half_of_line, left, top, cell, row);
  d.panel(0, width, 20, bottom);
  const std::string cost = plural(sectors.size(), "sector") + " of " + plural(lines.size(), "line");
  d.text(0, 14 + bottom, cost, "start", 13);
  if (!second_half) d.text(width, 14 + bottom, "none in sectors 2 and 3", "end", 13, "var(--muted)", true);
  d.save(out);
}

namespace {

/// How a kernel swizzles As: col ^ ((row >> down) << up), or not at all where its chapter says nothing of it.
struct Swizzle {
  std::optional<double> down, up;
  int place(int row, int col) const { return down && up ? col ^ (row >> int(*down) << int(*up)) : col; }
};

}  // namespace

// The first 32 columns of As, transposed and swizzled: which column lies in which bank, and what a warp's first store brings.
// Where the trace says otherwise, nothing is drawn.
void draw_swizzle(const Path& emitted, const Path& out, const std::string& kernel) {
  constexpr int banks = GpuSpec::banks;
  const auto load = read_sample(emitted, kernel, "load-A"), store = read_sample(emitted, kernel, "store-As");
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(emitted, kernel);
  const Swizzle swizzle{fact(emitted, kernel + ".swizzle.down"), fact(emitted, kernel + ".swizzle.up")};
  std::map<std::pair<int, int>, int> stored;  // row of As and bank -> lane
  for (int lane = 0; lane < 32; ++lane) {
    const auto from = long(load.access.address[std::size_t(lane)] / 4),
               to = long(store.access.address[std::size_t(lane)] / 4);
    const int row = int(from % lda % BK), col = int(from / lda % BM);
    if (to != row * BM + swizzle.place(row, col))
      throw std::runtime_error(fmt::format("{}: lane {} stores row {}, column {} at word {}, not as this swizzle says",
                                           kernel, lane, row, col, to));
    stored[{row, int(to % banks)}] = lane;
  }
  // Two halves, which a narrow page has below each other.
  constexpr int half = banks / 2;
  const double left = 54, top = 22, cell = 18, height = 18, bottom = top + BK * height + 4, width = left + half * cell;
  Drawing d(width + half * cell + 4, bottom + 20);
  for (const int from : {0, half}) {
    d.panel(from * cell, width + (from == 0 ? 0.5 : 4), bottom);
    const auto name = [&](double y, const std::string& words, const char* fill) {
      d.text(left + from * cell - 8, y, words, "end", 12, fill, from > 0);
    };
    name(top - 8, "bank", "var(--muted)");
    for (int bank = from; bank < from + half; ++bank)
      d.text(left + (bank + 0.5) * cell, top - 8, std::to_string(bank), "middle", 12, "var(--muted)");
    for (int row = 0; row < BK; ++row) {
      const double y = top + row * height;
      name(y + 13, fmt::format("row {}", row), "var(--ink)");
      for (int col = 0; col < banks; ++col) {
        const int bank = swizzle.place(row, col);
        if (bank / half != from / half) continue;
        const bool now = stored.count({row, bank}) != 0;
        d.rect(left + bank * cell + 0.5, y + 0.5, cell - 1, height - 1, now ? "var(--accent)" : "var(--rule)", "none",
               now ? 1 : 0.3);
        d.text(left + (bank + 0.5) * cell, y + 13, std::to_string(col), "middle", 12,
               now ? "var(--paper)" : "var(--ink)");
      }
    }
  }
  d.panel(0, width, 20, bottom);
  d.text(0, bottom + 14, "numbers: columns; filled: what a warp's first store writes", "start", 13);
  d.save(out);
}

namespace {

/// {0, 1, 2, 3} -> "0–3", {0, 16} -> "0, 16", {1, 3, 5, 7} -> "1, 3…7", all 32 -> "all".
std::string lane_names(const std::vector<int>& lanes) {
  if (lanes.size() == 32) return "all";
  if (lanes.size() > 2 && lanes.back() - lanes.front() + 1 == int(lanes.size()))
    return fmt::format("{}–{}", lanes.front(), lanes.back());
  const auto not_two_apart = [](int lane, int next) { return next - lane != 2; };
  if (lanes.size() > 3 && std::adjacent_find(lanes.begin(), lanes.end(), not_two_apart) == lanes.end())
    return fmt::format("{}, {}…{}", lanes[0], lanes[1], lanes.back());
  return fmt::format("{}", fmt::join(lanes, ", "));
}

/// A word that lanes want from a bank.
struct Wanted {
  std::uint64_t word;
  std::vector<int> lanes;
  bool operator==(const Wanted&) const = default;
};
using Wavefront = std::map<int, Wanted>;  // bank -> the word that comes out of it

/// The fewest wavefronts that bring all words to a group of lanes. Which word comes in which is our choice: by address.
std::vector<Wavefront> wavefronts_of(const simt::WarpAccess& access, int first, int lanes) {
  std::vector<Wavefront> result;
  std::array<std::size_t, GpuSpec::banks> in_bank{};
  for (const auto& [word, wanting] : words_of(access, first, lanes)) {
    const auto bank = word % GpuSpec::banks;
    if (in_bank[bank] == result.size()) result.emplace_back();
    result[in_bank[bank]++][int(bank)] = {word, wanting};
  }
  return result;
}

constexpr int half_of_banks = GpuSpec::banks / 2;

/// Where the cells of banks are drawn, and how.
struct BankRow {
  double left, y, height;
  static constexpr double cell = 16.5, font = 12;
};

/// Half a wavefront of a group, the banks from `from` on, as a row of cells; neighbouring words that the same lanes want share a box.
/// The banks that the group's second wavefront needs as well have a colour of their own. As book/explorer.js draws it.
void draw_wavefront(Drawing& d, const Wavefront& wavefront, const Wavefront& second, int from, BankRow row) {
  constexpr double cell = BankRow::cell, font = BankRow::font;
  const auto [left, y, height] = row;
  const int end = from + half_of_banks;
  for (int bank = from; bank < end; ++bank) d.rect(left + bank * cell, y, cell, height, "none", "var(--rule)");
  const auto belongs = [&](int bank, const Wanted& box) {
    return bank < end && wavefront.count(bank) != 0 && wavefront.at(bank) == box;
  };
  const auto crowded = [&](int bank) { return second.count(bank) != 0; };
  for (auto at = wavefront.lower_bound(from); at != wavefront.lower_bound(end);) {
    const auto& [bank, wanted] = *at;
    int words = 1;
    while (belongs(bank + words, {wanted.word + std::uint64_t(words), wanted.lanes}) &&
           crowded(bank + words) == crowded(bank))
      ++words;
    std::advance(at, words);
    const double x = left + bank * cell, width = words * cell, baseline = y + height / 2 + font * 0.34;
    d.rect(x + 0.5, y + 0.5, width - 1, height - 1, crowded(bank) ? "var(--second)" : "var(--accent)");
    const std::string names = lane_names(wanted.lanes);
    const double needed = double(names.size()) * font * 0.5;
    const int next = at == wavefront.lower_bound(end) ? end : at->first;
    if (needed < width + 2) {
      d.text(x + width / 2, baseline, names, "middle", font, "var(--paper)");
    } else if (x + width + needed < left + next * cell) {
      d.rect(x + width + 1, y + 1, std::min(1.15 * needed + 4, next * cell + left - x - width - 1), height - 2,
             "var(--paper)");
      d.text(x + width + 3, baseline, names, "start", font, "var(--muted)");
    } else {
      throw std::runtime_error(fmt::format("no room to name lanes {} at bank {}", names, bank));
    }
  }
}

/// The lanes that are served together, and their wavefronts.
struct Group {
  int first, lanes;
  std::vector<Wavefront> wavefronts;
};

/// The banks from `from` on. The second half has the names of rows again, for where it stands below the first. Returns where it ends.
double draw_half(Drawing& d, const std::vector<Group>& groups, int from, double left, double top, double height) {
  constexpr double cell = BankRow::cell, font = BankRow::font, gap = 26;
  const double begin = left + from * cell;
  const auto name = [&](double x, double y, const std::string& words, const char* anchor, const char* fill) {
    d.text(x, y, words, anchor, font, fill, from > 0);
  };
  name(begin - 8, top - 8, "bank", "end", "var(--muted)");
  for (int bank = from; bank < from + half_of_banks; ++bank)
    d.text(left + (bank + 0.5) * cell, top - 8, std::to_string(bank), "middle", font, "var(--muted)");
  double y = top;
  int drawn = 0;
  for (const auto& [first, lanes, wavefronts] : groups) {
    if (first != 0) y += gap;
    if (lanes < 32)
      name(begin, first == 0 ? 13 : y - 7, fmt::format("lanes {} to {}", first, first + lanes - 1), "start",
           "var(--ink)");
    for (const Wavefront& wavefront : wavefronts) {
      name(begin - 8, y + height / 2 + font * 0.34, fmt::format("wavefront {}", ++drawn), "end", "var(--ink)");
      draw_wavefront(d, wavefront, wavefronts.size() > 1 ? wavefronts[1] : Wavefront{}, from, {left, y, height});
      y += height;
    }
  }
  return y;
}

}  // namespace

// Two halves, which a narrow page has below each other, and below them what it is.
void draw_banks(const Path& emitted, const Path& out, const std::string& kernel, const std::string& tag) {
  const auto [array, shared, load, access] = read_sample(emitted, kernel, tag);
  const bool merges = shared && load;
  const int together = simt::lanes_together(access, merges), count = simt::shared_wavefronts(access, merges);
  std::vector<Group> groups;
  std::set<std::uint64_t> different;
  int drawn = 0;
  bool second_half = false;  // whether any word is there
  for (int first = 0; first < 32; first += together) {
    groups.push_back({first, together, wavefronts_of(access, first, together)});
    for (const Wavefront& wavefront : groups.back().wavefronts)
      for (const auto& [bank, wanted] : wavefront) {
        different.insert(wanted.word);
        second_half = second_half || bank >= half_of_banks;
      }
    drawn += int(groups.back().wavefronts.size());
  }
  if (drawn != count)
    throw std::runtime_error(fmt::format("{} {}: drew {} wavefronts, the rule says {}", kernel, tag, drawn, count));
  const bool waits = count > 32 / together;
  const double left = 68, top = 36, cell = BankRow::cell, height = count > 8 ? 14 : 18;
  const double bottom = top + count * height + (32 / together - 1) * 26 + 8, width = left + half_of_banks * cell;
  const double words_below = 20 + (waits ? 20 : 0) + (second_half ? 0 : 19);
  Drawing d(width + half_of_banks * cell + 4, bottom + words_below);
  d.panel(0, width + 0.5, bottom);
  draw_half(d, groups, 0, left, top, height);
  d.panel(half_of_banks * cell, width + 4, bottom, 0, !second_half);
  draw_half(d, groups, half_of_banks, left, top, height);
  d.panel(0, width, words_below, bottom);
  d.text(0, bottom + 13,
         fmt::format("{} of {}, {} bytes a lane: {}, {}", load ? "load" : "store", array, access.size,
                     plural(different.size(), "different word"), plural(std::size_t(count), "wavefront")),
         "start", 13);
  if (!second_half)
    d.text(0, bottom + 31 + (waits ? 19 : 0), fmt::format("banks {} to {}: none", half_of_banks, GpuSpec::banks - 1),
           "start", 13, "var(--muted)", true);
  if (waits) {
    d.rect(0, bottom + 22, 10, 10, "var(--second)");
    d.text(15, bottom + 31, "in a bank that must deliver more than one word", "start", 12, "var(--muted)");
  }
  d.save(out);
}

namespace {

using Elements = std::map<std::string, std::set<long>>;  // array -> elements

/// What one thread did in the first iteration: it loaded the tiles before a barrier, and multiplied after it.
struct ThreadTrace {
  Elements stored, read;
  std::set<long> results;
};
ThreadTrace read_thread(const Path& emitted, const std::string& kernel) {
  ThreadTrace t;
  for (const auto& row : rows_of(emitted / "thread.tsv", kernel)) {
    const bool load = row.at(3) == "load";
    if (row.at(4) == "C")
      t.results.insert(std::stol(row.at(5)));
    else if (row.at(2) == (load ? "1" : "0"))
      (load ? t.read : t.stored)[row.at(4)].insert(std::stol(row.at(5)));
  }
  return t;
}

}  // namespace

// Layout of a tiled product: As at the lower left, Bs above, the block's tile of C at the lower right.
void draw_thread(const Path& emitted, const Path& out, const std::string& kernel) {
  const ThreadTrace t = read_thread(emitted, kernel);
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(emitted, kernel);
  // All of it on a telephone, where elements need not be smaller for that than they are elsewhere.
  const double cell = std::min(4.3, 284.0 / (BN + BK)), left = 20, top = 30, gap = 26;
  const double xC = left + BK * cell + gap, yC = top + BK * cell + gap;
  Drawing d(xC + BN * cell + 12, yC + BM * cell + 40);
  d.text(left, yC - 7, "As", "start", 14);
  d.text(xC - 7, top + 12, "Bs", "end", 14);
  d.text(xC + BN * cell, yC - 7, "C", "end", 14);
  const auto mark = [&](double x, double y, long row, long col, const char* fill) {
    d.rect(x + double(col) * cell, y + double(row) * cell, cell, cell, fill, cell < 4 ? "none" : "var(--paper)");
  };
  const auto dot = [&](double x, double y, long row, long col) {          // of one element, which may be small
    const double wide = std::max(cell, 6.0), high = std::max(cell, 3.0);  // every second row is a mark of its own
    d.rect(x + double(col) * cell - (wide - cell) / 2, y + double(row) * cell - (high - cell) / 2, wide, high,
           "var(--second)");
  };
  for (const long e : t.read.at("As")) mark(left, yC, e / BK, e % BK, "var(--accent)");
  for (const long e : t.read.at("Bs")) mark(xC, top, e / BN, e % BN, "var(--accent)");
  for (const long e : t.stored.at("As")) dot(left, yC, e / BK, e % BK);
  for (const long e : t.stored.at("Bs")) dot(xC, top, e / BN, e % BN);
  for (const long e : t.results) mark(xC, yC, e / ldc % BM, e % ldc % BN, "var(--third)");
  d.rect(left, yC, BK * cell, BM * cell, "none", "var(--ink)");
  d.rect(xC, top, BN * cell, BK * cell, "none", "var(--ink)");
  d.rect(xC, yC, BN * cell, BM * cell, "none", "var(--ink)");
  double x = left;
  for (const auto& [fill, words] :
       {std::pair{"var(--second)", "loaded"}, {"var(--accent)", "read"}, {"var(--third)", "computed"}}) {
    d.rect(x, yC + BM * cell + 16, 10, 10, fill);
    d.text(x + 15, yC + BM * cell + 25, words, "start", 13);
    x += 90;
  }
  d.save(out);
}

}  // namespace tile::figures
