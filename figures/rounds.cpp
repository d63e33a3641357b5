// Two warps and the barriers between their phases: as they are, and what may happen if one is taken out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>

#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

/// What happens between two barriers: tiles are copied to shared memory, or read from it.
enum class Phase { copy, multiply };

// The phases of a kernel, from its trace. One that does both at once is none that this picture can show.
std::vector<Phase> phases_of(const std::filesystem::path& emitted, const std::string& kernel) {
  std::map<int, std::set<std::string>> ops;  // interval -> what is done to As
  for (const auto& row : read_tsv(emitted / "intervals.tsv"))
    if (row.at(0) == kernel && row.at(3) == "As") ops[std::stoi(row.at(1))].insert(row.at(2));
  std::vector<Phase> phases;
  for (const auto& [interval, done] : ops) {
    if (done.size() != 1) throw std::runtime_error(fmt::format("{} stores and loads As at once", kernel));
    phases.push_back(*done.begin() == "store" ? Phase::copy : Phase::multiply);
  }
  return phases;
}

/// How long a phase takes each warp, in units of the picture: the second warp is late, the first time and then again.
struct Lengths {
  double first, second;
};

class Panel {
 public:
  Panel(Drawing& drawing, double top, double width) : d_(drawing), top_(top), width_(width) {}

  /// Draws phases one behind the other, with a barrier behind each but those behind phases of the kind `missing`.
  void draw(const std::string& title, const std::string& harm, const std::vector<Phase>& phases,
            const std::vector<Lengths>& lengths, std::optional<Phase> missing) {
    d_.text(2, top_ - 31, title, "start", font_);
    d_.text(2, top_ - 11, harm, "start", font_, "var(--muted)");
    d_.text(left_ - 8, top_ + 19, "warp 0", "end", font_);
    d_.text(left_ - 8, top_ + gap_ + 19, "warp 1", "end", font_);
    double first = 0, second = 0;
    std::array<std::vector<double>, 2> begins, ends;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      begins[0].push_back(first), begins[1].push_back(second);
      box(0, first, first + lengths[i].first, phases[i], i);
      box(1, second, second + lengths[i].second, phases[i], i);
      first += lengths[i].first, second += lengths[i].second;
      ends[0].push_back(first), ends[1].push_back(second);
      if (phases[i] == missing || i + 1 == phases.size()) continue;
      const double together = std::max(first, second);
      wait(0, first, together);
      wait(1, second, together);
      first = second = together;
      barrier(together);
    }
    for (std::size_t i = 0; i + 1 < phases.size(); ++i)
      if (phases[i] == missing) race(begins, ends, i);
  }

  static constexpr double height = 158;

 private:
  static constexpr double left_ = 58, gap_ = 46, high_ = 26, font_ = telephone_label;
  double at(double time) const { return left_ + time * width_; }

  static std::string name(Phase phase, std::size_t round) {
    return fmt::format("{} {}", phase == Phase::copy ? "copy" : "multiply", round);
  }

  void box(int warp, double from, double to, Phase phase, std::size_t index) {
    const double y = top_ + warp * gap_;
    d_.rect(at(from) + 1, y, at(to) - at(from) - 2, high_, phase == Phase::copy ? "var(--second)" : "var(--third)",
            "none", 0.35);
    d_.text((at(from) + at(to)) / 2, y + 19, name(phase, index / 2), "middle", font_);
  }
  void wait(int warp, double from, double to) {
    if (to - from < 0.3) return;
    d_.text((at(from) + at(to)) / 2, top_ + warp * gap_ + 19, "waits", "middle", font_, "var(--muted)");
  }
  void barrier(double time) {
    d_.line(at(time), top_ - 4, at(time), top_ + gap_ + high_ + 4);
    d_.text(at(time), top_ + gap_ + high_ + 20, "barrier", "middle", font_, "var(--muted)");
  }

  /// What the early warp does to the tiles while the late one is not done with the phase before.
  void race(const std::array<std::vector<double>, 2>& begins, const std::array<std::vector<double>, 2>& ends,
            std::size_t missing) {
    const double from = begins[0].at(missing + 1), to = std::min(ends[1].at(missing), ends[0].at(missing + 1));
    if (to <= from) throw std::runtime_error("without this barrier the two warps still do not meet");
    d_.rect(at(from), top_ + high_ + 3, at(to) - at(from), gap_ - high_ - 6, "var(--second)");
  }

  Drawing& d_;
  double top_, width_;
};

}  // namespace

void draw_races(const std::filesystem::path& emitted, const std::string& kernel, const std::filesystem::path& out) {
  auto phases = phases_of(emitted, kernel);
  constexpr std::size_t shown = 4;
  if (phases.size() < shown || phases[0] != Phase::copy || phases[1] != Phase::multiply || phases[2] != Phase::copy)
    throw std::runtime_error(fmt::format("{} does not copy and multiply by turns", kernel));
  phases.resize(shown);
  const std::vector<Lengths> copy_late{{1, 1.6}, {1.2, 1.2}, {1, 1.6}, {1.2, 1.2}},
      multiply_late{{1, 1}, {1.2, 1.9}, {1, 1}, {1.2, 1.2}};
  const double unit = 71, top = 44;
  Drawing d(telephone_width, 3 * Panel::height - 4);
  Panel(d, top, unit)
      .draw("with both barriers", "numbers: the tile", phases, {{1, 1.6}, {1.2, 1.2}, {1, 1}, {1.2, 1.2}}, {});
  Panel(d, top + Panel::height, unit)
      .draw("without the first barrier", "warp 0 reads what warp 1 has yet to store", phases, copy_late, Phase::copy);
  Panel(d, top + 2 * Panel::height, unit)
      .draw("without the second barrier", "warp 0 overwrites what warp 1 has yet to read", phases, multiply_late,
            Phase::multiply);
  d.save(out);
}

}  // namespace tile::figures
