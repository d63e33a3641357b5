// What happens when: between barriers, in stages of shared memory, and from tile to tile of a block.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <stdexcept>

#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

constexpr double pale = 0.35;  // opacity of a box whose label is legible on it in both themes

/// Which tile of A a block fetches, stores and multiplies between two barriers (-1: none), and in which buffer it lies.
struct Round {
  int fetched = -1, stored = -1, multiplied = -1;
  long stored_in = 0, read_from = 0;
};

// What is stored was fetched last, and what is multiplied is what was last stored in the buffer that is read.
std::vector<Round> read_rounds(const std::filesystem::path& emitted, const std::string& kernel) {
  const std::filesystem::path intervals = emitted / "intervals.tsv";
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(emitted, kernel);
  const long buffer = long(BM) * BK;  // words of a buffer of As
  std::map<int, Round> rounds;
  for (const auto& row : read_tsv(intervals)) {
    if (row.at(0) != kernel) continue;
    Round& round = rounds[std::stoi(row.at(1))];
    const bool load = row.at(2) == "load";
    const long first = std::stol(row.at(5));
    if (row.at(3) == "A") round.fetched = int(first % lda / BK);
    if (row.at(3) == "As" && !load) round.stored = 0, round.stored_in = first / buffer;
    if (row.at(3) == "As" && load) round.multiplied = 0, round.read_from = first / buffer;
  }
  if (rounds.empty()) throw std::runtime_error(fmt::format("no intervals of {} in {}", kernel, intervals.string()));
  std::vector<Round> in_order;
  std::map<long, int> held;  // buffer -> tile
  int fetched = -1;
  for (auto& [interval, round] : rounds) {
    if (round.multiplied == 0) round.multiplied = held.at(round.read_from);
    if (round.fetched >= 0) fetched = round.fetched;
    if (round.stored == 0) held[round.stored_in] = round.stored = fetched;
    in_order.push_back(round);
  }
  return in_order;
}

/// A stage of shared memory between two barriers: the tile that is on its way to it, or that is read from it (-1: none).
struct Stage {
  int arriving = -1, read = -1;
};

// By interval and stage. Copies of a tile are under way from the interval in which they start to the one before the tile is
// read. Tiles go through the stages in turn, and an interval may start several: as many as it has accesses for.
std::vector<std::vector<Stage>> read_stages(const std::filesystem::path& emitted, const std::string& kernel) {
  const std::filesystem::path intervals = emitted / "intervals.tsv";
  const auto [threads, BM, BN, BK, lda, ldb, ldc] = sizes_of(emitted, kernel);
  const auto bytes = fact(emitted, kernel + ".smem_bytes"), count = fact(emitted, kernel + ".stages");
  if (!bytes || !count) throw std::runtime_error(fmt::format("{} does not say how large its stages are", kernel));
  const long words = long(*bytes / *count / 4);  // of a stage
  std::map<int, int> start_of, read_in;          // tile -> interval
  std::map<int, long> stage_of;
  std::vector<std::array<long, 2>> copied;  // by interval: accesses to A, and the first of them
  for (const auto& row : read_tsv(intervals)) {
    if (row.at(0) != kernel || row.at(2) != "load") continue;
    const int interval = std::stoi(row.at(1));
    if (row.at(3) == "A") copied.push_back({std::stol(row.at(4)), std::stol(row.at(5))});
    if (row.at(3) == "stages") {
      const int tile = int(read_in.size());
      read_in[tile] = interval;
      stage_of[tile] = std::stol(row.at(5)) / words;
    }
  }
  if (copied.empty() || read_in.empty())
    throw std::runtime_error(fmt::format("no stages of {} in {}", kernel, intervals.string()));
  const long accesses_of_a_tile = copied.back()[0];
  for (std::size_t interval = 0; interval < copied.size(); ++interval)
    for (long n = 0; n < copied[interval][0] / accesses_of_a_tile; ++n)
      start_of[int(copied[interval][1] % lda / BK + n)] = int(interval);
  long stages = 0;
  for (const auto& [tile, stage] : stage_of) stages = std::max(stages, stage + 1);
  std::vector<std::vector<Stage>> by_interval(read_in.size() + 1, std::vector<Stage>(std::size_t(stages)));
  for (const auto& [tile, interval] : read_in) {
    const auto stage = std::size_t(stage_of.at(tile));
    by_interval.at(std::size_t(interval))[stage].read = tile;
    for (int i = start_of.at(tile); i < interval; ++i) by_interval.at(std::size_t(i))[stage].arriving = tile;
  }
  return by_interval;
}

/// Rounds `first` to `behind` - 1 of a tile, which a block multiplies, of so many in all.
struct Stretch {
  int block, tile, first, behind, rounds;
};

// The fact KERNEL.stretches: block, tile, first, behind and rounds of each stretch, in the order of a block's work; each ends with a
// comma.
std::vector<Stretch> read_stretches(const std::filesystem::path& emitted, const std::string& kernel) {
  std::vector<Stretch> stretches;
  for (const auto& row : read_tsv(emitted / "facts.tsv")) {
    if (row.at(0) != kernel + ".stretches") continue;
    std::istringstream list(row.at(4));
    for (std::string text; std::getline(list, text, ',');) {
      Stretch stretch{};
      std::istringstream numbers(text);
      if (numbers >> stretch.block >> stretch.tile >> stretch.first >> stretch.behind >> stretch.rounds)
        stretches.push_back(stretch);
    }
  }
  if (stretches.empty()) throw std::runtime_error(fmt::format("no stretches of {} in {}", kernel, emitted.string()));
  return stretches;
}

}  // namespace

void draw_rounds(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out) {
  constexpr std::size_t shown = 7;
  const double left = 70, wide = 53, high = 24, panel = 3 * high + 56, font = telephone_label;
  Drawing d(telephone_width, double(kernels.size()) * panel + 6);
  double top = 28;
  for (const std::string& kernel : kernels) {
    d.text(2, top - 10, kernel, "start", font);
    const char* const rows[] = {"fetch", "store", "multiply"};
    for (int r = 0; r < 3; ++r) d.text(left - 8, top + (r + 0.72) * high, rows[r], "end", font, "var(--muted)");
    const auto rounds = read_rounds(emitted, kernel);
    for (std::size_t i = 0; i < std::min(shown, rounds.size()); ++i) {
      const double x = left + double(i) * wide;
      const auto box = [&](int row, int tile, const char* fill) {
        if (tile < 0) return;
        d.rect(x + 3, top + row * high + 1.5, wide - 6, high - 3, fill, row == 0 ? "var(--muted)" : "none", pale);
        d.text(x + wide / 2, top + (row + 0.72) * high, fmt::format("tile {}", tile), "middle", font);
      };
      const auto colour = [](long of) { return of == 0 ? "var(--second)" : "var(--third)"; };
      box(0, rounds[i].fetched, "var(--rule)");
      box(1, rounds[i].stored, colour(rounds[i].stored_in));
      box(2, rounds[i].multiplied, colour(rounds[i].read_from));
      d.line(x + wide, top - 4, x + wide, top + 3 * high + 4);
    }
    d.text(left + shown * wide + 4, top + 1.7 * high, "…", "start", font);
    d.text(left + wide, top + 3 * high + 20, "barrier", "middle", font, "var(--muted)");
    top += panel;
  }
  d.save(out);
}

void draw_stages(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out) {
  constexpr std::size_t shown = 7;
  const double left = 66, wide = 53, high = 24, gap = 58, legend = 24, font = telephone_label;
  std::vector<std::vector<std::vector<Stage>>> all;
  double height = 8;
  for (const std::string& kernel : kernels) {
    all.push_back(read_stages(emitted, kernel));
    height += double(all.back().front().size()) * high + gap;
  }
  Drawing d(telephone_width, height + 2 * legend);
  double top = 28;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::size_t stages = all[k].front().size();
    const double bottom = top + double(stages) * high;
    d.text(2, top - 10, kernels[k], "start", font);
    for (std::size_t s = 0; s < stages; ++s)
      d.text(left - 8, top + (double(s) + 0.72) * high, fmt::format("stage {}", s), "end", font, "var(--muted)");
    for (std::size_t i = 0; i < std::min(shown, all[k].size()); ++i) {
      const double x = left + double(i) * wide;
      for (std::size_t s = 0; s < stages; ++s) {
        const auto [arriving, read] = all[k][i][s];
        const double y = top + double(s) * high;
        if (read >= 0) d.rect(x + 3, y + 1.5, wide - 6, high - 3, "var(--third)", "none", pale);
        if (arriving >= 0) d.rect(x + 3, y + 1.5, wide - 6, high - 3, "none", "var(--second)");
        if (read >= 0 || arriving >= 0)
          d.text(x + wide / 2, y + 0.72 * high, fmt::format("tile {}", std::max(read, arriving)), "middle", font);
      }
      d.line(x + wide, top - 4, x + wide, bottom + 4);
    }
    d.text(left + shown * wide + 4, (top + bottom) / 2 + 4, "…", "start", font);
    d.text(left + wide, bottom + 20, "wait and barrier", "middle", font, "var(--muted)");
    top = bottom + gap;
  }
  d.rect(2, height + 2, 30, 15, "none", "var(--second)");
  d.text(40, height + 15, "on its way to this stage", "start", font);
  d.rect(2, height + 2 + legend, 30, 15, "var(--third)", "none", pale);
  d.text(40, height + 15 + legend, "multiplied from this stage", "start", font);
  d.save(out);
}

void draw_stretches(const std::filesystem::path& emitted, const Kernels& kernels, const std::filesystem::path& out) {
  const double left = 66, high = 46, gap = 72, font = telephone_label;
  double rounds_shown = 0, height = 0;
  std::vector<std::vector<Stretch>> all;
  for (const std::string& kernel : kernels) {
    all.push_back(read_stretches(emitted, kernel));
    std::map<int, int> rounds;  // of a block
    for (const Stretch& p : all.back())
      rounds_shown = std::max(rounds_shown, double(rounds[p.block] += p.behind - p.first));
    height += double(rounds.size()) * high + gap;
  }
  const double round = (telephone_width - left - 10) / rounds_shown;
  Drawing d(telephone_width, height);
  double top = 28;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    d.text(2, top - 10, kernels[k], "start", font);
    std::map<int, int> done;
    for (const Stretch& p : all[k]) {
      const double x = left + done[p.block] * round, y = top + p.block * high, wide = (p.behind - p.first) * round;
      const bool whole = p.behind - p.first == p.rounds, handed_over = p.first > 0;
      const char* const fill = whole ? "var(--third)" : handed_over ? "none" : "var(--second)";
      d.rect(x + 1.5, y + 1.5, wide - 3, high - 3, fill, handed_over ? "var(--second)" : "none", pale);
      const std::string name = fmt::format("{}{}", wide > 50 ? "tile " : "t", p.tile);
      d.text(x + wide / 2, y + (whole ? 28 : 20), name, "middle", font);
      if (!whole)  // below the name: which of its rounds
        d.text(x + wide / 2, y + 38,
               p.behind - p.first > 1 ? fmt::format("{}–{}", p.first, p.behind - 1) : std::to_string(p.first), "middle",
               font);
      done[p.block] += p.behind - p.first;
    }
    for (const auto& [block, rounds] : done)
      d.text(left - 8, top + (block + 0.6) * high, fmt::format("block {}", block), "end", font);
    const double bottom = top + double(done.size()) * high;
    for (int n = 0; n <= int(rounds_shown); n += 8)
      d.text(left + n * round, bottom + 18, std::to_string(n), "middle", font, "var(--muted)");
    d.text(2, bottom + 18, "rounds", "start", font, "var(--muted)");
    top = bottom + gap;
  }
  d.save(out);
}

}  // namespace tile::figures
