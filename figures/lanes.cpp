// Where the lanes of a warp are: which elements of C are theirs, and which words of A and B they load at one step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "drawing.hpp"
#include "pictures.hpp"
#include "traces.hpp"

namespace tile::figures {
namespace {

constexpr int warp = 32, line_words = 32, sector_words = 8;  // of 4 bytes

/// The places of a sample's lanes in its matrix, whose rows are `ld` words apart.
Elements places_of(const simt::WarpAccess& access, long ld) {
  Elements places;
  for (const std::uint64_t address : access.address) places.insert({long(address / 4) / ld, long(address / 4) % ld});
  return places;
}

/// A corner of C, 32 x 32, round the traced block, with the lines of A at its left and those of B above. All of it `scale` times as large
/// as one of several that stand beside each other.
class Corner {
 public:
  Corner(Drawing& drawing, const Kernel& kernel, double left, double top, double scale)
      : d_(drawing),
        kernel_(kernel),
        sizes_(sizes_of(kernel.emitted, kernel.name)),
        owners_(read_owners(kernel.emitted, kernel.name)),
        scale_(scale),
        cell_(cell * scale),
        xA_(left),
        xC_(left + (line_words * cell + gap) * scale),
        yB_(top),
        yC_(top + (cell + gap) * scale) {
    const auto [row, col] = *owners_.at(0).begin();
    row_ = row / line_words * line_words, col_ = col / line_words * line_words;
  }

  static double width(double scale) { return (2 * line_words * cell + gap) * scale; }
  static double height(double scale) { return (cell + gap + warp * cell) * scale; }

  void draw() {
    const auto a = read_sample(kernel_.emitted, kernel_.name, "load-A");
    const auto b = read_sample(kernel_.emitted, kernel_.name, "load-B");
    const Elements in_A = places_of(a.access, sizes_.lda), in_B = places_of(b.access, sizes_.ldb);
    must_feed_the_first_warp(in_A, in_B);
    lines(in_A, xA_, yC_, row_);
    lines(in_B, xC_, yB_, in_B.begin()->first);
    matrix();
    d_.text(xA_, yC_ - 7, fmt::format("A: {}", cost(a.access)), "start", 12 * scale_);
    d_.text(xC_ - 6, yB_ + cell_, fmt::format("B: {}", cost(b.access)), "end", 12 * scale_);
    const double below = yC_ + warp * cell_ + 17 * scale_;
    d_.text(xC_, below,
            fmt::format("C: rows {} to {}, columns {} to {}", row_, row_ + warp - 1, col_, col_ + line_words - 1),
            "start", 12 * scale_);
    d_.text(xA_, below, kernel_.title(), "start", 12 * scale_);
  }

 private:
  static constexpr double cell = 4.6, gap = 26;

  static std::string cost(const simt::WarpAccess& access) {
    return plural(std::size_t(simt::lines_of(access)), "line") + ", " +
           plural(std::size_t(simt::sectors_of(access)), "sector");
  }

  /// What is drawn belongs together: the rows of A and the columns of B are those of the first warp's elements.
  void must_feed_the_first_warp(const Elements& in_A, const Elements& in_B) const {
    std::set<long> rows, cols, rows_of_A, cols_of_B;
    for (int thread = 0; thread < warp; ++thread)
      for (const auto& [row, col] : owners_.at(thread)) rows.insert(row), cols.insert(col);
    for (const auto& [row, k] : in_A) rows_of_A.insert(row);
    for (const auto& [k, col] : in_B) cols_of_B.insert(col);
    if (rows != rows_of_A || cols != cols_of_B)
      throw std::runtime_error(fmt::format("{}: the first warp loads for others", kernel_.title()));
  }

  void mark(double x, double y, const char* fill, double opacity) {
    d_.rect(x + 0.4, y + 0.4, cell_ - 0.8, cell_ - 0.8, fill, "none", opacity);
  }

  /// The words of a matrix, in the lines and sectors that hold them.
  void lines(const Elements& places, double x, double y, long first_row) {
    for (const auto& [row, col] : places)
      d_.rect(x, y + double(row - first_row) * cell_, line_words * cell_, cell_, "var(--rule)", "var(--rule)", 0.5);
    Elements sectors;
    for (const auto& [row, col] : places) sectors.insert({row, col / sector_words});
    for (const auto& [row, sector] : sectors)
      d_.rect(x + double(sector * sector_words % line_words) * cell_, y + double(row - first_row) * cell_,
              sector_words * cell_, cell_, "var(--third)", "none", 0.6);
    for (const auto& [row, col] : places)
      mark(x + double(col % line_words) * cell_, y + double(row - first_row) * cell_, "var(--accent)", 1);
  }

  /// C, cut in blocks; the traced one with its threads, the warps in two shades, the first warp outlined.
  void matrix() {
    for (const auto& [thread, elements] : owners_)
      for (const auto& [row, col] : elements)
        mark(xC_ + double(col - col_) * cell_, yC_ + double(row - row_) * cell_,
             thread < warp ? "var(--accent)" : "var(--muted)",
             thread < warp            ? 1
             : thread / warp % 2 == 0 ? 0.55
                                      : 0.3);
    for (long row = row_; row < row_ + warp; row += sizes_.BM)
      for (long col = col_; col < col_ + line_words; col += sizes_.BN)
        d_.rect(xC_ + double(col - col_) * cell_, yC_ + double(row - row_) * cell_, sizes_.BN * cell_,
                sizes_.BM * cell_, "none", "var(--muted)");
    Elements of_warp;
    for (int thread = 0; thread < warp; ++thread) of_warp.insert(owners_.at(thread).begin(), owners_.at(thread).end());
    for (const Rectangle& r : rectangles(of_warp))
      d_.outline(xC_ + double(r.col - col_) * cell_, yC_ + double(r.row - row_) * cell_, double(r.cols) * cell_,
                 double(r.rows) * cell_, "var(--ink)", 2);
  }

  Drawing& d_;
  const Kernel kernel_;
  const Sizes sizes_;
  const std::map<int, Elements> owners_;
  double scale_, cell_, xA_, xC_, yB_, yC_;
  long row_ = 0, col_ = 0;  // of C, where the corner begins
};

}  // namespace

void draw_lanes(const std::filesystem::path& emit, const Kernels& kernels, const std::filesystem::path& out) {
  const double scale = kernels.size() == 1 ? 4.0 / 3 : 1, between = 20, left = 2, top = 8;
  const double panel = Corner::width(scale) + between, height = top + Corner::height(scale) + 26 * scale;
  const double font = 12 * scale, row = 18 * scale, side = 11 * scale;
  const struct {
    const char *colour, *words;
    double opacity;
  } legend[] = {{"var(--accent)", "the outlined warp, and the words that it loads", 1},
                {"var(--third)", "the rest of the sectors that are fetched", 0.6},
                {"var(--rule)", "the rest of their lines", 0.5},
                {"var(--muted)", "other warps of the block", 0.55}};
  Drawing d(double(kernels.size()) * panel, height + row * double(std::size(legend)) + 4);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    d.panel(double(i) * panel, panel, height);
    Corner(d, kernel_of(emit, kernels[i]), left + double(i) * panel, top, scale).draw();
  }
  d.panel(0, panel, row * double(std::size(legend)) + 4, height);
  for (std::size_t i = 0; i < std::size(legend); ++i) {
    const double y = height + double(i) * row;
    d.rect(left, y + 2, side, side, legend[i].colour, "var(--rule)", legend[i].opacity);
    d.text(left + side + 7 * scale, y + 12 * scale, legend[i].words, "start", font);
  }
  d.save(out);
}

namespace {

/// The order in which 32 lanes load `words` words each: order[l] is the piece of lane l.
struct Order {
  std::string name;
  int words;
  std::array<int, warp> order;
};

template <typename Map>
Order order(const std::string& name, int words, Map map) {
  Order o{name, words, {}};
  for (int lane = 0; lane < warp; ++lane) o.order[std::size_t(lane)] = map(lane);
  return o;
}

simt::WarpAccess access_of(const Order& o) {
  simt::WarpAccess access;
  access.active = ~0u;
  access.size = 4 * o.words;
  for (std::size_t lane = 0; lane < warp; ++lane) access.address[lane] = std::uint64_t(4 * o.words * o.order[lane]);
  return access;
}

}  // namespace

// Lanes in several orders over the same bytes, as the tests of chapter 02 have them; the cost is the model's rule.
void draw_permuted(const std::filesystem::path& out) {
  const std::vector<Order> orders{
      order("4 bytes a lane, in order", 1, [](int lane) { return lane; }),
      order("4 bytes, rotated by 5", 1, [](int lane) { return (lane + 5) % warp; }),
      order("4 bytes, reversed", 1, [](int lane) { return lane ^ 31; }),
      order("8 bytes a lane, in order", 2, [](int lane) { return lane; }),
      order("8 bytes, the even places first", 2, [](int lane) { return lane % 16 * 2 + lane / 16; })};
  // Each in two halves, which a narrow page has below each other.
  constexpr int half = warp / 2;
  const double left = 4, cell = 19, high = 22, panel = 56, width = half * cell;
  Drawing d(left + 2 * width + 4, double(orders.size()) * panel);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const Order& o = orders[i];
    const auto access = access_of(o);
    const double y = double(i) * panel, top = y + 24;
    for (const int from : {0, half}) {
      from == 0 ? d.panel(0, left + width, panel, y) : d.panel(left + width, width + 4, panel, y);
      if (from == 0)
        d.text(left, top - 7, o.name, "start", 13);
      else
        d.text(left + 2 * width, top - 7,
               fmt::format("{}, {}, {}", plural(std::size_t(simt::lines_of(access)), "line"),
                           plural(std::size_t(simt::sectors_of(access)), "sector"),
                           plural(std::size_t(simt::global_wavefronts(access)), "wavefront")),
               "end", 13);
      for (int lane = 0; lane < warp; ++lane) {
        const int place = o.order[std::size_t(lane)];
        if (place / half != from / half) continue;
        const double x = left + place * cell;
        const bool first_served = o.words == 1 || lane < half;  // 4 bytes of all lanes come at once, 8 of half of them
        d.rect(x + 0.5, top, cell - 1, high, first_served ? "var(--accent)" : "var(--third)", "none",
               first_served ? 1 : 0.45);
        d.text(x + cell / 2, top + 15.5, std::to_string(lane), "middle", 12,
               first_served ? "var(--paper)" : "var(--ink)");
      }
    }
  }
  d.save(out);
}

}  // namespace tile::figures
