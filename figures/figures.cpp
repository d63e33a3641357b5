// Draws the book's maps from traces, and gathers the data of its plots from records. NN is emit/NN, where the program of chapter NN
// wrote what it counted: files and columns are those of common/report/emitted.tsv.
//
//   figures access NN OUT.svg KERNEL TAG        which words, sectors and lines a warp's first access touched
//   figures banks NN OUT.svg KERNEL TAG         the same access by bank: how many wavefronts it takes
//   figures swizzle NN OUT.svg KERNEL           in which bank each element of As lies; facts KERNEL.swizzle.down and .up: how swizzled
//   figures tiles NN OUT.svg KERNEL             what one block read of A and B between barriers
//   figures thread NN OUT.svg KERNEL ROUND      what one thread copies, reads and computes in one round
//   figures outer NN OUT.svg KERNEL ROUND       one step of that round: the outer product in registers
//   figures transposed NN OUT.svg KERNEL        where one thread's first float4 of A goes in As
//   figures warps NN OUT.svg KERNEL THREAD      how warps, and the lanes of one of them, share a tile of C
//   figures rounds NN OUT.svg KERNEL...         which tile is fetched, stored and multiplied between which barriers
//   figures stages NN OUT.svg KERNEL...         which tile is on its way to a stage of shared memory, or read from it, between
//                                               which barriers
//   figures stretches NN OUT.svg KERNEL...      which rounds of which tiles each block multiplies, and when: fact KERNEL.stretches
//   figures occupancy NN OUT.svg KERNEL         what stops one more block on an RTX A6000
//   figures races NN OUT.svg KERNEL             two warps, and what may happen without each of two barriers
//   figures compiled NN OUT.svg KERNEL          what a thread loads from shared memory in a round: by the source, by the machine code
//   figures funnel NN OUT.svg                   how many configurations each rule of a search leaves
//   figures rates NN OUT.svg                    the levels of the machine with their rates
//   figures permuted OUT.svg                    lanes in several orders over the same bytes, and what each costs by the rule
//   figures lanes EMIT OUT.svg NN/KERNEL...     which elements of C are a warp's, and which words of A and B it loads
//   figures reuse EMIT OUT.svg NN/KERNEL...     what a thread loads in one step, and which results each value serves
//   figures nested EMIT OUT.svg THREAD NN/KERNEL...  tiles of block, warp and thread, at one scale
//   figures stalls EMIT OUT.svg NN/KERNEL...    what a warp waits for between two instructions
//   figures sm OUT.svg                          what an SM of an H200 consists of, and what lies behind it
//   figures loads EMIT LAST OUT.tsv             loads per result of every kernel up to chapter LAST, for the book
//
// Data for gnuplot, of chapters up to LAST, from the records below CHAPTERS and what the programs wrote below EMIT:
//   figures ladder CHAPTERS EMIT LAST OUT.tsv [--fastest]  TFLOP/s of every kernel, and whether it is of chapter LAST; with --fastest,
//                                               of earlier chapters the fastest
//   figures roofline CHAPTERS EMIT LAST OUT.tsv intensity and TFLOP/s of the same kernels, or of what has none; roofs in OUT.tsv.rates
//   figures cliff CHAPTERS EMIT LAST OUT.tsv    registers, warps and TFLOP/s of every tuned configuration; the edge in OUT.tsv.edge
//   figures lda CHAPTERS EMIT LAST OUT.tsv      chapter LAST's times over lda: predicted and measured
//   figures dispatch CHAPTERS EMIT LAST OUT.tsv who waits for dispatch over what its register banks need, with places for
//                                               labels; the plot's frame in OUT.tsv.frame
//   figures part CHAPTERS EMIT LAST OUT.tsv DIRECTORY  one kernel of each chapter, its ceilings and its rate; cuBLAS's in
//                                               OUT.tsv.cublas; table and facts of the part's last page in DIRECTORY
//
//   figures results CHAPTERS [--fastest]        the table of results, or the README's, on standard output
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/sim/rules.hpp"
#include "common/bench/gpu.hpp"
#include "common/bench/record.hpp"
#include "common/bench/run.hpp"
#include "common/report/facts.hpp"
#include "common/report/statistics.hpp"
#include "drawing.hpp"
#include "part.hpp"
#include "pictures.hpp"
#include "roofline.hpp"
#include "traces.hpp"

namespace {

using namespace tile::figures;
namespace fs = std::filesystem;
constexpr int ladder_size = 4096;  // the cube that every chapter of part I is timed at

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
  std::map<std::uint64_t, std::vector<int>> words;
  for (int lane = first; lane < first + lanes; ++lane)
    for (int i = 0; i < std::max(access.size / 4, 1) && (access.active >> lane & 1u); ++i)
      words[access.address[std::size_t(lane)] / 4 + std::uint64_t(i)].push_back(lane);
  std::vector<Wavefront> result;
  std::array<std::size_t, tile::GpuSpec::banks> in_bank{};
  for (const auto& [word, wanting] : words) {
    const auto bank = word % tile::GpuSpec::banks;
    if (in_bank[bank] == result.size()) result.emplace_back();
    result[in_bank[bank]++][int(bank)] = {word, wanting};
  }
  return result;
}

constexpr int half_of_banks = tile::GpuSpec::banks / 2;

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
  const int behind = from + half_of_banks;
  for (int bank = from; bank < behind; ++bank) d.rect(left + bank * cell, y, cell, height, "none", "var(--rule)");
  const auto belongs = [&](int bank, const Wanted& box) {
    return bank < behind && wavefront.count(bank) != 0 && wavefront.at(bank) == box;
  };
  const auto crowded = [&](int bank) { return second.count(bank) != 0; };
  for (auto at = wavefront.lower_bound(from); at != wavefront.lower_bound(behind);) {
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
    const int next = at == wavefront.lower_bound(behind) ? behind : at->first;
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
    from == 0 ? d.text(x, y, words, anchor, font, fill) : d.text_again(x, y, words, anchor, font, fill);
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

// Two halves, which a narrow page has below each other, and below them what it is.
void draw_banks(const fs::path& emitted, const std::string& kernel, const std::string& tag, const fs::path& out) {
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
  d.panel(half_of_banks * cell, width + 4, bottom, 0, second_half ? Show::always : Show::wide);
  draw_half(d, groups, half_of_banks, left, top, height);
  d.panel(0, width, words_below, bottom);
  d.text(0, bottom + 13,
         fmt::format("{} of {}, {} bytes a lane: {}, {}", load ? "load" : "store", array, access.size,
                     plural(different.size(), "different word"), plural(std::size_t(count), "wavefront")),
         "start", 13);
  if (!second_half)
    d.text_again(0, bottom + 31 + (waits ? 19 : 0),
                 fmt::format("banks {} to {}: none", half_of_banks, 2 * half_of_banks - 1), "start", 13,
                 "var(--muted)");
  if (waits) {
    d.rect(0, bottom + 22, 10, 10, "var(--second)");
    d.text(15, bottom + 31, "in a bank that must give more than one word", "start", 12, "var(--muted)");
  }
  d.save(out);
}

void draw_tiles(const fs::path& emitted, const std::string& kernel, const fs::path& out) {
  const fs::path touches = emitted / "touches.tsv";
  const long size = sizes_of(emitted, kernel).ldc;  // of a cube
  struct Box {
    int top = 1 << 30, left = 1 << 30, bottom = -1, right = -1;
    void add(int row, int col) {
      top = std::min(top, row), left = std::min(left, col), bottom = std::max(bottom, row),
      right = std::max(right, col);
    }
  };
  std::map<std::pair<std::string, int>, Box> boxes;
  for (const auto& row : read_tsv(touches))
    if (row.at(0) == kernel) boxes[{row.at(2), std::stoi(row.at(1))}].add(std::stoi(row.at(3)), std::stoi(row.at(4)));
  if (boxes.empty()) throw std::runtime_error(fmt::format("no touches of {} in {}", kernel, touches.string()));

  const double side = 150, gap = 32, left = 26, top = 30, scale = side / double(size);  // all of it on a telephone
  Drawing d(left + 2 * side + gap + 8, top + 2 * side + gap + 26);
  const std::map<std::string, std::pair<double, double>> origin{
      {"A", {left, top + side + gap}}, {"B", {left + side + gap, top}}, {"C", {left + side + gap, top + side + gap}}};
  int last_load = 0;
  for (const auto& [key, box] : boxes)
    if (key.first != "C") last_load = std::max(last_load, key.second);
  const std::map<std::string, const char*> colour{
      {"A", "var(--accent)"}, {"B", "var(--second)"}, {"C", "var(--third)"}};
  for (const auto& [key, box] : boxes) {
    const auto& at = origin.at(key.first);
    const double x = at.first + box.left * scale, y = at.second + box.top * scale;
    const double w = (box.right - box.left + 1) * scale, h = (box.bottom - box.top + 1) * scale;
    const bool is_c = key.first == "C";
    d.rect(x, y, w, h, colour.at(key.first), "var(--paper)",
           is_c ? 1 : 0.2 + 0.3 * key.second / std::max(1, last_load));
    if (!is_c) d.text(x + w / 2, y + h / 2 + 4, std::to_string(key.second / 2), "middle", 13, "var(--ink)");
  }
  for (const auto& [name, at] : origin) {  // frames come last: what they hold has rims of its own
    d.rect(at.first, at.second, side, side, "none", "var(--ink)");
    d.text(at.first - 8, at.second + 12, name, "end", 14);
  }
  d.text(left, 16, fmt::format("{} x {}; numbers: the round of the loop over K", size, size), "start", 13);
  d.save(out);
}

// Layout of a tiled product: As at the lower left, Bs above, the block's tile of C at the lower right.
void draw_thread(const ThreadTrace& t, const Sizes& sizes, const fs::path& out) {
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes;
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
       {std::pair{"var(--second)", "copied"}, {"var(--accent)", "read"}, {"var(--third)", "computed"}}) {
    d.rect(x, yC + BM * cell + 16, 10, 10, fill);
    d.text(x + 15, yC + BM * cell + 25, words, "start", 13);
    x += 90;
  }
  d.save(out);
}

// The first step of a round: one column of As and one row of Bs in registers, and their outer product.
void draw_outer(const ThreadTrace& t, const Sizes& sizes, const fs::path& out) {
  const int BN = sizes.BN, BK = sizes.BK;
  std::vector<long> rows, cols;
  for (const long e : t.read.at("As"))
    if (e % BK == 0) rows.push_back(e / BK);
  for (const long e : t.read.at("Bs"))
    if (e / BN == 0) cols.push_back(e);
  const double cell = 33, left = 68, top = 56;  // no wider than a telephone
  Drawing d(left + double(cols.size()) * cell + 12, top + double(rows.size()) * cell + 52);
  d.text(left, 16, "regN: row 0 of Bs (dotIdx 0), columns", "start", 13);
  d.text(4, top - 34, "regM:", "start", 13);
  d.text(4, top - 18, "As, rows", "start", 13);
  for (std::size_t j = 0; j < cols.size(); ++j) {
    d.rect(left + double(j) * cell + 2, top - 30, cell - 4, 22, "var(--accent)");
    d.text(left + (double(j) + 0.5) * cell, top - 15, std::to_string(cols[j]), "middle", 12, "var(--paper)");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = top + double(i) * cell;
    d.rect(left - 42, y + 6, cell, 22, "var(--accent)");
    d.text(left - 42 + cell / 2, y + 21, std::to_string(rows[i]), "middle", 12, "var(--paper)");
    for (std::size_t j = 0; j < cols.size(); ++j) {
      if (t.results.size() != rows.size() * cols.size() ||
          !std::any_of(t.results.begin(), t.results.end(), [&](long e) { return e % sizes.ldc % BN == cols[j]; }))
        throw std::runtime_error("the results of the thread are not the product of what it reads");
      const double x = left + double(j) * cell;
      d.rect(x + 1, y + 1, cell - 2, cell - 2, "var(--third)", "none", 0.45);
      d.text(x + cell / 2, y + cell / 2 + 4, fmt::format("{},{}", i, j), "middle", 12);
    }
  }
  const double below = top + double(rows.size()) * cell;
  d.text(left, below + 20,
         fmt::format("{} loads, {} multiply-adds:", rows.size() + cols.size(), rows.size() * cols.size()), "start", 13);
  d.text(left, below + 38, "acc[i][j] += regM[i] * regN[j]", "start", 13);
  d.save(out);
}

// A tile of A, row-major, and As, which holds it transposed: the elements of one thread's first float4 in both.
void draw_transposed(const ThreadTrace& t, const Sizes& sizes, const fs::path& out) {
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes;
  const long first = *t.loaded.at("A").begin();
  const double cell = std::min(6.5, 320.0 / BM), left = 12, top = 26, gap = 40, wide = 12;
  const double xAs = left + BK * wide + gap;
  const int shown = BM / 2;  // rows of A around the thread's
  const long row = first / lda % BM, col = first % lda % BK, base = row / shown * shown;
  const double height_of_A = top + shown * cell + 34, height_of_As = top + BK * wide + 34;
  Drawing d(xAs + BM * cell + 20, std::max(height_of_A, height_of_As));
  d.panel(0, xAs - left, height_of_A);
  d.text(left, 16, fmt::format("tile of A, rows {} to {}", base, base + shown - 1), "start", 13);
  d.rect(left, top, BK * wide, shown * cell, "none", "var(--ink)");
  d.text(left, top + shown * cell + 22, fmt::format("one float4: row {}, columns {} to {}", row, col, col + 3), "start",
         13);
  for (long i = 0; i < 4; ++i)
    d.rect(left + double(col + i) * wide, top + double(row - base) * cell, wide, std::max(cell, 6.0), "var(--accent)",
           "var(--paper)");
  d.panel(xAs - left, left + BM * cell + 20, height_of_As);
  d.text(xAs, 16, fmt::format("As: {} rows, one for each dotIdx; {} columns", BK, BM), "start", 13);
  d.rect(xAs, top, BM * cell, BK * wide, "none", "var(--ink)");
  for (long i = 0; i < 4; ++i) {
    const long stored = (col + i) * BM + row;
    if (t.stored.at("As").count(stored) == 0)
      throw std::runtime_error(fmt::format("the thread does not store element {} of As", stored));
    d.rect(xAs + double(row) * cell, top + double(col + i) * wide, std::max(cell, 6.0), wide, "var(--accent)",
           "var(--paper)");
  }
  d.text(xAs, top + BK * wide + 22, fmt::format("four words: column {}, rows {} to {}", row, col, col + 3), "start",
         13);
  d.save(out);
}

void draw_warps(const fs::path& emitted, const std::string& kernel, int thread, const fs::path& out) {
  const auto by_thread = read_owners(emitted, kernel);
  std::map<int, Elements> by_warp;
  long top_row = 1 << 30, left_col = 1 << 30, bottom = 0, right = 0;
  for (const auto& [owner, elements] : by_thread)
    for (const auto& at : elements) {
      by_warp[owner / 32].insert(at);
      top_row = std::min(top_row, at.first), left_col = std::min(left_col, at.second);
      bottom = std::max(bottom, at.first + 1), right = std::max(right, at.second + 1);
    }
  if (by_thread.count(thread) == 0)
    throw std::runtime_error(fmt::format("thread {} of {} wrote nothing in {}", thread, kernel, emitted.string()));
  // Beside each other the whole tile, and one warp's so large that its lanes can be read.
  const Rectangle tile{top_row, left_col, bottom - top_row, right - left_col};
  Rectangle own{top_row + tile.rows, left_col + tile.cols, 0, 0};
  long own_bottom = 0, own_right = 0;
  for (const auto& [row, col] : by_warp.at(thread / 32)) {
    own.row = std::min(own.row, row), own.col = std::min(own.col, col);
    own_bottom = std::max(own_bottom, row + 1), own_right = std::max(own_right, col + 1);
  }
  own.rows = own_bottom - own.row, own.cols = own_right - own.col;
  const double side = 198, large = 4.6, left = 2, top = 26, gap = 22, below = 24, narrowest = 250;
  const double scale = side / double(std::max(tile.rows, tile.cols)),
               own_scale = std::min(large, 320 / double(own.cols));
  const double whole_width = left + double(tile.cols) * scale + gap, whole_height = top + double(tile.rows) * scale + 4;
  const double own_width = std::max(double(own.cols) * own_scale + 2, narrowest),
               own_height = top + double(own.rows) * own_scale + below;
  Drawing d(whole_width + own_width, std::max(whole_height, own_height));
  const auto box = [&](const Rectangle& r, const Rectangle& of, double x, double per_element, const std::string& fill,
                       const char* stroke, double opacity) {
    const double at = x + double(r.col - of.col) * per_element, y = top + double(r.row - of.row) * per_element;
    d.rect(at, y, double(r.cols) * per_element, double(r.rows) * per_element, fill, stroke, opacity);
    return std::pair{at + double(r.cols) * per_element / 2, y + double(r.rows) * per_element / 2};
  };
  d.panel(0, whole_width, whole_height);
  d.text(left, 16, fmt::format("the tile of C, {} x {}", tile.rows, tile.cols), "start", 13);
  for (const auto& [warp, elements] : by_warp)
    for (const Rectangle& r : rectangles(elements)) {
      const bool drawn_large = warp == thread / 32;
      const auto [x, y] = box(r, tile, left, scale, drawn_large ? "var(--third)" : "none", "var(--ink)", 0.45);
      d.text(x, y + 4, fmt::format("warp {}", warp), "middle", 12, drawn_large ? "var(--ink)" : "var(--muted)");
    }
  d.panel(whole_width, own_width, own_height);
  d.text(whole_width, 16, fmt::format("warp {}, {} x {}: its lanes", thread / 32, own.rows, own.cols), "start", 13);
  for (const auto& [lane, elements] : by_thread) {
    if (lane / 32 != thread / 32) continue;
    for (const Rectangle& r : rectangles(elements)) {
      const auto [x, y] = box(r, own, whole_width, own_scale, lane == thread ? "var(--accent)" : "var(--third)",
                              "var(--paper)", lane == thread ? 1 : 0.45);
      d.text(x, y + 4, std::to_string(lane % 32), "middle", 12, lane == thread ? "var(--paper)" : "var(--ink)");
    }
  }
  box(own, own, whole_width, own_scale, "none", "var(--ink)", 1);
  d.text(whole_width, own_height - below + 18, fmt::format("lane {} is thread {}", thread % 32, thread), "start", 13);
  d.save(out);
}

/// For the plot over the leading dimension: lda, predicted and measured milliseconds (0: not yet), from a chapter's facts.
void gather_lda(const fs::path& emitted, const fs::path& out) {
  const fs::path facts = emitted / "facts.tsv";
  struct Times {
    double rule = 0, in_turns = 0, measured = 0;
  };
  std::map<int, Times> times;
  for (const auto& row : read_tsv(facts)) {
    int lda = 0, used = 0;
    const std::string& key = row.at(0);
    if (std::sscanf(key.c_str(), "lda.%d.ms%n", &lda, &used) == 1 && used == int(key.size()))
      times[lda].rule = std::stod(row.at(2));
    else if (std::sscanf(key.c_str(), "lda.%d.in_turns.ms%n", &lda, &used) == 1 && used == int(key.size()))
      times[lda].in_turns = std::stod(row.at(2));
    else if (std::sscanf(key.c_str(), "rates.lda.%d%n", &lda, &used) == 1 && used == int(key.size()) &&
             !row.at(2).empty())
      times[lda].measured = std::stod(row.at(2));
  }
  if (times.empty()) throw std::runtime_error(fmt::format("{} has no times over lda", facts.string()));
  std::string text;
  for (const auto& [lda, ms] : times) text += fmt::format("{}\t{}\t{}\t{}\n", lda, ms.rule, ms.in_turns, ms.measured);
  write_text(out, text);
}

/// The growing table of loads per result, from the facts that the chapters emitted.
void gather_loads(const fs::path& emit, const std::string& last, const fs::path& out) {
  std::string text =
      "Loads of A and B that one result needs, and what follows from them. Where there is one number, prediction and "
      "count agree\n";
  text += "chapter\tkernel\tglobal loads\tshared loads\tFMAs per shared load\tflop per byte from L2\n";
  std::vector<fs::path> chapters;
  for (const auto& entry : fs::directory_iterator(emit))
    if (entry.path().filename().string() <= last) chapters.push_back(entry.path());
  std::sort(chapters.begin(), chapters.end());
  for (const auto& chapter : chapters) {
    std::map<std::string, std::string> facts;
    std::vector<std::string> kernels;
    for (const auto& row : read_tsv(chapter / "facts.tsv")) {
      facts[row.at(0)] = row.at(4);
      if (const auto at = row.at(0).find(".loads.global"); at != std::string::npos)
        kernels.push_back(row.at(0).substr(0, at));
    }
    for (const std::string& kernel : kernels) {
      const auto both = [&](const char* space) {
        const std::string &predicted = facts.at(kernel + ".loads." + space),
                          &counted = facts.at(kernel + ".loads_per_result." + space);
        return predicted == counted ? counted : fmt::format("{} predicted, {} counted", predicted, counted);
      };
      const auto reuse = facts.find(kernel + ".fmas_per_shared_load");
      text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", chapter.filename().string(), kernel, both("global"),
                          both("shared"), reuse == facts.end() ? "-" : reuse->second,
                          facts.at(fmt::format("{}.{}.intensity.l2", kernel, ladder_size)));
    }
  }
  write_text(out, text);
}

struct Measured {
  std::string chapter, kernel;
  tile::Record run, record;
};

/// The runs at ladder_size of every chapter's kernels on the reference GPU, up to chapter `last`.
std::vector<Measured> measured_kernels(const fs::path& chapters, const std::string& last) {
  std::vector<fs::path> directories;
  for (const auto& entry : fs::directory_iterator(chapters)) directories.push_back(entry.path());
  std::sort(directories.begin(), directories.end());
  std::vector<Measured> result;
  for (const auto& directory : directories) {
    const std::string number = directory.filename().string().substr(0, 2);
    const fs::path file = tile::record_file(directory, "measured", tile::reference_gpu);
    if (number > last || !fs::exists(file)) continue;
    const tile::Record record = tile::load_record(file);
    for (const auto& kernel : record["kernels"])
      if (const auto* run = tile::find_run(record, kernel["name"], ladder_size))
        result.push_back({number, kernel["name"], *run, record});
  }
  return result;
}

/// Of all chapters but the last, the kernels that are faster than the others of theirs.
std::vector<Measured> fastest_of_earlier(const std::vector<Measured>& all, const std::string& last) {
  const auto tflops = [](const Measured& m) { return m.run["tflops"].get<double>(); };
  std::vector<Measured> kept;
  for (const Measured& m : all) {
    if (m.chapter == last || kept.empty() || kept.back().chapter != m.chapter)
      kept.push_back(m);
    else if (tflops(m) > tflops(kept.back()))
      kept.back() = m;
  }
  return kept;
}

// The ratio to cuBLAS; where that of all pairs flatters, of the calls that began a round.
double fair_ratio(const tile::Record& run) {
  const auto places = tile::by_place(run, 1);
  return places && places->flatters() ? places->first_ratio : run["ratio"].get<double>();
}

void gather_ladder(const fs::path& chapters, const std::string& last, bool fastest, const fs::path& out) {
  std::string text;
  double cublas = 0;
  const std::vector<Measured> all = measured_kernels(chapters, last);
  for (const Measured& m : all)
    if (!m.run.contains("types")) cublas = std::max(cublas, m.run["cublas_tflops"].get<double>());
  for (const Measured& m : fastest ? fastest_of_earlier(all, last) : all)
    text += fmt::format("\"{} {}\"\t{:.4f}\t{:.1f}%\t{}\n", m.chapter, m.kernel, m.run["tflops"].get<double>(),
                        100 * fair_ratio(m.run), m.chapter == last ? 1 : 0);
  if (cublas > 0) text += fmt::format("\"cuBLAS\"\t{:.4f}\t100%\t0\n", cublas);
  write_text(out, text.empty() ? "\"not yet measured\"\t0.001\t-\t0\n" : text);
}

void gather_roofline(const fs::path& chapters, const fs::path& emit, const std::string& last, const fs::path& out) {
  std::vector<RooflinePoint> points;
  for (const Measured& m : measured_kernels(chapters, last))
    for (const char* level : {"sm", "dram"})
      if (const auto x = fact(emit / m.chapter, fmt::format("{}.{}.intensity.{}", m.kernel, ladder_size, level)))
        points.push_back({m.kernel, level, *x, m.run["tflops"].get<double>()});
  tile::Record rates = tile::Record::object();
  for (const auto& entry : fs::directory_iterator(chapters))
    if (entry.path().filename().string().starts_with("00-"))
      if (const auto records = tile::load_records(entry.path()); !records.empty()) rates = records.front()["rates"];
  const Roofs roofs = roofs_of(rates);
  if (points.empty()) points = points_without_kernels(emit / "00", fmt::format("{}", ladder_size), roofs);
  write_roofline(points, roofs, out);
}

// --- Dispatch stalls over register banks ----------------------------------------------------------------------
/// A rectangle of the picture, in pixels from its upper left corner.
struct Box {
  double left, top, right, bottom;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// A point of a plot and where its label stands: the end of the text that is next to the point, in pixels.
struct Labelled {
  std::string text;
  double x, y;
  bool right = true;  ///< the label stands to the right of the point
  double label_x = 0, label_y = 0;

  Labelled placed(bool to_the_right, double down) const {
    const double gap = 8;
    return {text, x, y, to_the_right, to_the_right ? x + gap : x - gap, y + down};
  }
  /// What the label covers. Its width is guessed: only the page knows the font.
  Box label() const {
    const double width = 6.6 * double(text.size());
    return {right ? label_x : label_x - width, label_y - half_height, right ? label_x + width : label_x,
            label_y + half_height};
  }
  static constexpr double half_height = 7;
};

/// Puts each label beside its point, or as near as it can without covering a point or another label or leaving the room, or
/// leaves it out, as it does where three points are so close to each other that nobody could tell whose it is. Of two close ones each has
/// its own side. The point that is farthest from others chooses first.
void place_labels(std::vector<Labelled>& points, const Box& room) {
  const double dot = 4, step = Labelled::half_height;
  std::vector<Box> taken;
  for (const Labelled& p : points) taken.push_back({p.x - dot, p.y - dot, p.x + dot, p.y + dot});
  const auto free = [&](const Box& box) {
    return box.left > room.left && box.top > room.top && box.right < room.right && box.bottom < room.bottom &&
           std::none_of(taken.begin(), taken.end(), [&](const Box& other) { return box.meets(other); });
  };
  const auto place = [&](const Labelled& point, bool right_first) {
    for (const double down : {0.0, -step, step})
      for (const bool right : {right_first, !right_first})
        if (const Labelled candidate = point.placed(right, down); free(candidate.label())) return candidate;
    Labelled nameless = point.placed(true, 0);
    nameless.text.clear();
    return nameless;
  };
  struct Turn {
    Labelled* point;
    double to_second;  ///< the distance of the nearest other point but one
    bool right_first;  ///< the nearest is not at its right
  };
  std::vector<Turn> turns;
  for (Labelled& point : points) {
    std::multimap<double, const Labelled*> others;
    for (const Labelled& other : points)
      if (&other != &point) others.emplace(std::hypot(other.x - point.x, other.y - point.y), &other);
    turns.push_back({&point, others.size() > 1 ? std::next(others.begin())->first : room.right,
                     others.empty() || others.begin()->second->x <= point.x || others.begin()->first >= 2 * dot});
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.to_second > b.to_second; });
  for (const Turn& turn : turns) {
    if (turn.to_second >= 2 * dot)
      *turn.point = place(*turn.point, turn.right_first);
    else
      turn.point->text.clear();
    taken.push_back(turn.point->label());
  }
}

/// "06 vectorised, wide_reads; 07 default" of "06 vectorised", "06 wide_reads" and "07 default".
std::string joined(const std::vector<std::string>& kernels) {
  std::string text, chapter;
  for (const std::string& kernel : kernels) {
    const std::string number = kernel.substr(0, 2);
    text += number == chapter ? "," + kernel.substr(2) : (text.empty() ? "" : "; ") + kernel;
    chapter = number;
  }
  return text;
}

// The cycles that the busier register bank needs for an instruction, and how many warps wait for dispatch when one issues:
// for every kernel up to chapter `last` whose machine code and profile are recorded. Not for microbenchmarks: those of
// chapter 00, which issue hardly anything but FFMA, from more warps, and what others vary of a kernel, "write.dram.all".
// Kernels that agree in both share a point.
void gather_dispatch(const fs::path& emit, const std::string& last, const fs::path& out) {
  const std::string banks = ".sass_loop.bank_cycles_per_instruction", waiting = ".profile.dispatch_stall";
  std::map<std::string, std::map<std::string, double>> kernels;  // "05 unrolled" -> key -> value
  for (const auto& chapter : fs::directory_iterator(emit)) {
    const std::string number = chapter.path().filename().string();
    if (number == "00" || number > last) continue;
    for (const auto& row : read_tsv(chapter.path() / "facts.tsv"))
      for (const std::string& key : {banks, waiting}) {
        if (!row.at(0).ends_with(key) || row.at(2).empty()) continue;
        const std::string kernel = row[0].substr(0, row[0].size() - key.size());
        if (kernel.find('.') == std::string::npos)
          kernels[fmt::format("{} {}", number, kernel)][key] = std::stod(row[2]);
      }
  }
  std::map<std::pair<double, double>, std::vector<std::string>> at;
  for (const auto& [name, values] : kernels)
    if (values.size() == 2) at[{values.at(banks), values.at(waiting)}].push_back(name);
  if (at.empty()) at[{1, 0}] = {"not yet measured"};

  const double width = 340, height = 400;
  const Box plot{66, 16, width - 12, height - 58};
  const double x_low = 0.98, x_high = std::max(1.1, 0.16 + at.rbegin()->first.first);
  double y_high = 0.1;
  std::vector<double> x, y;
  for (const auto& [point, names] : at) {
    x.push_back(point.first);
    y.push_back(point.second);
    y_high = std::max(y_high, 1.1 * point.second);
  }
  const double per_x = (plot.right - plot.left) / (x_high - x_low), y_low = -0.06 * y_high,
               per_y = (plot.bottom - plot.top) / (y_high - y_low);  // labels of points at 0 stand free of the axis
  std::vector<Labelled> points;
  for (const auto& [point, names] : at)
    points.push_back(
        {joined(names), plot.left + (point.first - x_low) * per_x, plot.bottom - (point.second - y_low) * per_y});
  place_labels(points, {plot.left, plot.top, width, plot.bottom});
  std::string text;
  for (const Labelled& p : points)
    text += fmt::format("\"{}\"\t{:.4f}\t{:.4f}\t{}\t{:.4f}\t{:.4f}\n", p.text, x_low + (p.x - plot.left) / per_x,
                        y_low + (plot.bottom - p.y) / per_y, p.right ? "left" : "right",
                        x_low + (p.label_x - plot.left) / per_x, y_low + (plot.bottom - p.label_y) / per_y);
  write_text(out, text);
  const std::string correlation =
      x.size() > 2 ? fmt::format("rank correlation {:.2f}", tile::rank_correlation(x, y)) : "";
  write_text(out.string() + ".frame",
             fmt::format(
                 "width={}\nheight={}\nleft={}\nright={}\ntop={}\nbottom={}\nx_low={}\nx_high={}\ny_low={}\ny_high={}\n"
                 "correlation=\"{}\"\n",
                 width, height, plot.left / width, plot.right / width, 1 - plot.top / height, 1 - plot.bottom / height,
                 x_low, x_high, y_low, y_high, correlation));
}

/// The types of a run's operands, as a table names them.
std::string types_in_words(const tile::Record& run) {
  if (!run.contains("types")) return "FP32";
  const auto upper = [](std::string name) {
    if (name == "f32") return std::string("FP32");
    for (char& c : name) c = char(std::toupper(c));
    return name;
  };
  return fmt::format("{} in, {} out", upper(run["types"].at(0)), upper(run["types"].at(2)));
}

// Of each chapter the kernel with the highest throughput, one for each choice of operands' types.
std::vector<Measured> fastest_of_each(const std::vector<Measured>& all) {
  std::vector<Measured> fastest;
  for (const Measured& m : all) {
    const auto rival = std::find_if(fastest.begin(), fastest.end(), [&](const Measured& other) {
      return other.chapter == m.chapter && types_in_words(other.run) == types_in_words(m.run);
    });
    if (rival == fastest.end())
      fastest.push_back(m);
    else if (rival->run["tflops"] < m.run["tflops"])
      *rival = m;
  }
  return fastest;
}

void print_results(const fs::path& chapters, bool only_fastest) {
  const auto all = measured_kernels(chapters, "99");
  if (all.empty()) {
    fmt::print("Not yet measured.\n");
    return;
  }
  const bool stronger = std::any_of(all.begin(), all.end(), [](auto& m) { return m.run.contains("stronger_ratio"); });
  fmt::print("| chapter | kernel | ms | TFLOP/s | × cuBLAS (10–90%) |{}\n|---|---|---:|---:|---|{}\n",
             stronger ? " × the stronger cuBLAS (10–90%) |" : "", stronger ? "---|" : "");
  struct Reached {
    double cublas = 0, lt = 0;
  };
  std::vector<std::pair<std::string, Reached>> reached;  // by types, in the order in which they come
  bool some_flatter = false;
  const auto ratio = [&](const Measured& m, const std::string& side) {
    const auto part = [&](const char* key) { return m.run[side + key].template get<double>(); };
    const auto places = side.empty() ? tile::by_place(m.run, 1) : tile::stronger_by_place(m.run);
    const bool flatters = places && places->flatters();
    some_flatter = some_flatter || flatters;
    return fmt::format(" {:.3f} ({:.3f}–{:.3f}){} |", part("ratio"), part("ratio_low"), part("ratio_high"),
                       flatters ? fmt::format("; first {:.3f}", places->first_ratio) : "");
  };
  for (const Measured& m : only_fastest ? fastest_of_each(all) : all) {
    const std::string to_stronger = m.run.contains("stronger_ratio") ? ratio(m, "stronger_") : " |";
    fmt::print("| {} | {} | {:.2f} | {} |{}{}\n", m.chapter, m.kernel, m.run["median_ms"].get<double>(),
               tile::format_number(m.run["tflops"].get<double>()), ratio(m, ""), stronger ? to_stronger : "");
  }
  for (const Measured& m : all) {
    const std::string types = types_in_words(m.run);
    auto at = std::find_if(reached.begin(), reached.end(), [&](const auto& r) { return r.first == types; });
    if (at == reached.end()) at = reached.insert(at, {types, {}});
    at->second.cublas = std::max(at->second.cublas, m.run["cublas_tflops"].get<double>());
    at->second.lt = std::max(at->second.lt, m.run.value("lt_tflops", 0.0));
  }
  for (const auto& [types, most] : reached) {
    fmt::print("| | cuBLAS, {} | | {} | 1 |{}\n", types, tile::format_number(most.cublas), stronger ? " |" : "");
    if (most.lt > 0)
      fmt::print("| | cuBLASLt, {}, the fastest that its heuristics suggest | | {} | | |\n", types,
                 tile::format_number(most.lt));
  }
  const auto& record = all.back().record;
  const auto repetitions = [](const Measured& m) { return m.run["repetitions"].get<int>(); };
  const auto [fewest, most] = std::minmax_element(
      all.begin(), all.end(), [&](const Measured& a, const Measured& b) { return repetitions(a) < repetitions(b); });
  const int few = repetitions(*fewest), many = repetitions(*most);
  std::set<std::string> dates;
  for (const Measured& m : all) dates.insert(m.record["date"].get<std::string>());
  const std::string days =
      dates.size() == 1 ? *dates.begin() : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
  fmt::print("\nM = N = K = {}, one {}, {}, driver {}, CUDA {}; medians of {} interleaved repetitions.\n", ladder_size,
             record["gpu"].get<std::string>(), days, record["driver"].get<std::string>(),
             record["cuda"].get<std::string>(),
             few == many ? fmt::format("{}", few) : fmt::format("{} to {}", few, many));
  if (some_flatter)
    fmt::print(
        "\nFirst: cuBLAS took over one percent longer right behind this kernel than where it began a round. Of calls "
        "that "
        "began one, this is the ratio.\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Figures and figure data of the book"};
  app.require_subcommand(1);
  std::string emitted, chapters, emit, kernel, tag, last, out;
  std::vector<std::string> kernels;
  int number = 0;
  // A drawing of what one chapter emitted, or several; `of` adds what it is of.
  const auto drawing = [&](const char* name, auto&&... of) {
    auto* command = app.add_subcommand(name);
    command->add_option("emitted", emitted, "what a chapter's program wrote, or below it what all did")->required();
    command->add_option("out", out)->required();
    (of(command), ...);
    return command;
  };
  const auto of_kernel = [&](CLI::App* command) { command->add_option("kernel", kernel)->required(); };
  const auto at_tag = [&](CLI::App* command) { command->add_option("tag", tag)->required(); };
  const auto in_round = [&](CLI::App* command) { command->add_option("round", number)->required(); };
  const auto of_thread = [&](CLI::App* command) { command->add_option("thread", number)->required(); };
  const auto of_kernels = [&](CLI::App* command) { command->add_option("kernels", kernels)->required(); };
  auto* access = drawing("access", of_kernel, at_tag);
  auto* banks = drawing("banks", of_kernel, at_tag);
  auto* swizzle = drawing("swizzle", of_kernel);
  auto* tiles = drawing("tiles", of_kernel);
  auto* thread = drawing("thread", of_kernel, in_round);
  auto* outer = drawing("outer", of_kernel, in_round);
  auto* transposed = drawing("transposed", of_kernel);
  auto* warps = drawing("warps", of_kernel, of_thread);
  auto* rounds = drawing("rounds", of_kernels);
  auto* stages = drawing("stages", of_kernels);
  auto* stretches = drawing("stretches", of_kernels);
  auto* occupancy = drawing("occupancy", of_kernel);
  auto* races = drawing("races", of_kernel);
  auto* compiled = drawing("compiled", of_kernel);
  auto* funnel = drawing("funnel");
  auto* rates = drawing("rates");
  auto* lanes = drawing("lanes", of_kernels);
  auto* reuse = drawing("reuse", of_kernels);
  auto* nested = drawing("nested", of_thread, of_kernels);
  auto* stalls = drawing("stalls", of_kernels);
  auto* permuted = app.add_subcommand("permuted");
  permuted->add_option("out", out)->required();
  auto* sm = app.add_subcommand("sm");
  sm->add_option("out", out)->required();
  auto* loads = app.add_subcommand("loads");
  loads->add_option("emit", emit)->required();
  loads->add_option("last", last)->required();
  loads->add_option("out", out)->required();
  // Data of a plot.
  const auto plot = [&](const char* name) {
    auto* command = app.add_subcommand(name);
    command->add_option("chapters", chapters, "the chapters, with their records")->required();
    command->add_option("emit", emit, "what their programs wrote")->required();
    command->add_option("last", last, "the last chapter")->required();
    command->add_option("out", out)->required();
    return command;
  };
  auto* ladder = plot("ladder");
  bool fastest = false;
  ladder->add_flag("--fastest", fastest, "of earlier chapters the fastest kernel alone");
  auto* roofline = plot("roofline");
  auto* lda = plot("lda");
  auto* cliff = plot("cliff");
  auto* dispatch = plot("dispatch");
  auto* part = plot("part");
  part->add_option("page", emitted, "where the page's table and facts go")->required();
  auto* results = app.add_subcommand("results");
  results->add_option("chapters", chapters)->required();
  results->add_flag("--fastest", fastest, "of each chapter the fastest kernel, for each choice of operands' types");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*access) draw_access(emitted, kernel, tag, out);
    if (*banks) draw_banks(emitted, kernel, tag, out);
    if (*swizzle) draw_swizzle(emitted, kernel, out);
    if (*tiles) draw_tiles(emitted, kernel, out);
    if (*thread) draw_thread(read_thread(emitted, kernel, number), sizes_of(emitted, kernel), out);
    if (*outer) draw_outer(read_thread(emitted, kernel, number), sizes_of(emitted, kernel), out);
    if (*transposed) draw_transposed(read_thread(emitted, kernel, 0), sizes_of(emitted, kernel), out);
    if (*warps) draw_warps(emitted, kernel, number, out);
    if (*rounds) draw_rounds(emitted, kernels, out);
    if (*stages) draw_stages(emitted, kernels, out);
    if (*stretches) draw_stretches(emitted, kernels, out);
    if (*races) draw_races(emitted, kernel, out);
    if (*compiled) draw_compiled(emitted, kernel, out);
    if (*funnel) draw_funnel(emitted, out);
    if (*rates) draw_rates(emitted, out);
    if (*lanes) draw_lanes(emitted, kernels, out);
    if (*reuse) draw_reuse(emitted, kernels, out);
    if (*nested) draw_nested(emitted, number, kernels, out);
    if (*stalls) draw_stalls(emitted, kernels, out);
    if (*permuted) draw_permuted(out);
    if (*sm) draw_sm(out);
    if (*occupancy) draw_occupancy(emitted, kernel, out);
    if (*loads) gather_loads(emit, last, out);
    if (*ladder) gather_ladder(chapters, last, fastest, out);
    if (*roofline) gather_roofline(chapters, emit, last, out);
    if (*cliff) gather_cliff(chapters, out);
    if (*lda) gather_lda(fs::path(emit) / last, out);
    if (*dispatch) gather_dispatch(emit, last, out);
    if (*part) tile::gather_part(chapters, emit, last, out, emitted);
    if (*results) print_results(chapters, fastest);
  } catch (const std::exception& e) {
    fmt::print(stderr, "figures: {}\n", e.what());
    return 1;
  }
  return 0;
}
