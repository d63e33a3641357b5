// One access of a warp by address: the words, sectors and lines that it touches, and the banks in which a tile's elements lie.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "common/bench/gpu.hpp"
#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

constexpr int words_of_line = 32, words_of_sector = 8, half_of_line = words_of_line / 2;
using Lines = std::map<long, std::map<int, std::vector<int>>>;  // line -> word -> lanes

/// The lines that a warp's first access touched, and of which array.
std::pair<Lines, std::string> lines_of(const std::filesystem::path& emitted, const std::string& kernel,
                                       const std::string& tag) {
  Lines lines;
  std::string array;
  for (const auto& row : read_tsv(emitted / "samples.tsv")) {
    if (row.at(0) != kernel || row.at(1) != tag) continue;
    array = row.at(3);
    const long element = std::stol(row.at(6)), behind = element + std::stoi(row.at(4)) / 4;
    for (long word = element; word < behind; ++word)
      lines[word / words_of_line][int(word % words_of_line)].push_back(std::stoi(row.at(5)));
  }
  if (lines.empty()) throw std::runtime_error(fmt::format("no sample of {} {} in {}", kernel, tag, emitted.string()));
  return {lines, array};
}

/// Half of each line, the words from `from` on, a row for each line.
void draw_half(Drawing& d, const Lines& lines, const std::string& array, int from, double left, double top, double cell,
               double row) {
  const double begin = left + from * cell;
  for (int s = from / words_of_sector; s < (from + half_of_line) / words_of_sector; ++s)
    d.text(left + (words_of_sector * s + words_of_sector / 2) * cell, 12, fmt::format("sector {}", s), "middle", 12,
           "var(--muted)");
  double y = top;
  for (const auto& [line, words] : lines) {
    const double baseline = y + row / 2 + 3.5, height = row - 2;
    const std::string name = fmt::format("{} line {}", array, line);
    from == 0 ? d.text(begin - 8, baseline, name, "end", 12)
              : d.text_again(begin - 8, baseline, name, "end", 12, "var(--ink)");
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
void draw_access(const std::filesystem::path& emitted, const std::string& kernel, const std::string& tag,
                 const std::filesystem::path& out) {
  const auto [lines, array] = lines_of(emitted, kernel, tag);
  std::set<std::pair<long, int>> sectors;
  bool second_half = false;
  for (const auto& [line, words] : lines)
    for (const auto& [word, lanes] : words) {
      sectors.emplace(line, word / words_of_sector);
      second_half = second_half || word >= half_of_line;
    }
  const double left = 86, cell = 16, row = lines.size() > 8 ? 14 : 22, top = 20;
  const double bottom = top + double(lines.size()) * row + 6, width = left + half_of_line * cell;
  Drawing d(width + half_of_line * cell + 4, bottom + 20);
  d.panel(0, width + 0.5, bottom);
  draw_half(d, lines, array, 0, left, top, cell, row);
  d.panel(half_of_line * cell, width + 4, bottom, 0, second_half ? Show::always : Show::wide);
  draw_half(d, lines, array, half_of_line, left, top, cell, row);
  d.panel(0, width, 20, bottom);
  const std::string cost = plural(sectors.size(), "sector") + " of " + plural(lines.size(), "line");
  d.text(0, 14 + bottom, cost, "start", 13);
  if (!second_half) d.text_again(width, 14 + bottom, "none in sectors 2 and 3", "end", 13, "var(--muted)");
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
void draw_swizzle(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out) {
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
      const double x = left + from * cell - 8;
      from == 0 ? d.text(x, y, words, "end", 12, fill) : d.text_again(x, y, words, "end", 12, fill);
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
  d.text(0, bottom + 14, "numbers: columns; filled: what the first store of a warp brings", "start", 13);
  d.save(out);
}

}  // namespace tile::figures
