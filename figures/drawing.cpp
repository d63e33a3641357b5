#include "drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tile::figures {

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error(fmt::format("cannot write {}", file.string()));
}

std::string plural(std::size_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

void Drawing::rect(double x, double y, double w, double h, const std::string& fill, const std::string& stroke,
                   double opacity) {
  body_ += fmt::format(
      "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' style='fill:{};stroke:{}' "
      "fill-opacity='{:.2f}'/>\n",
      x, y, w, h, fill, stroke, opacity);
}

void Drawing::segment(double x, double y, double w, double h, const char* colour, bool pale) {
  const double rim = pale ? std::min(0.75, w / 2) : 0;  // half of the stroke, which stays within the part
  body_ += fmt::format(
      "<rect class='segment' x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' "
      "style='fill:{};stroke:{};stroke-width:{:.2f}' fill-opacity='{}'/>\n",
      x + rim, y + rim, w - 2 * rim, h - 2 * rim, colour, pale ? colour : "none", 2 * rim, pale ? "0.30" : "1");
}

void Drawing::text(double x, double y, const std::string& words, const char* anchor, double size, const char* fill,
                   bool repeated) {
  body_ += fmt::format("<text {}x='{:.1f}' y='{:.1f}' text-anchor='{}' font-size='{}' style='fill:{}'>{}</text>\n",
                       repeated ? "class='row-again' " : "", x, y, anchor, size, fill, words);
}

void Drawing::line(double x1, double y1, double x2, double y2, const char* stroke) {
  body_ += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' style='stroke:{}'/>\n", x1, y1, x2, y2,
                       stroke);
}

void Drawing::panel(double x, double width, double height, double y, bool wide_only) {
  body_ += fmt::format("{}<g class='panel{}' data-box='{:.1f} {:g} {:.1f} {:.1f}'>\n", in_panel_ ? "</g>\n" : "",
                       wide_only ? " wide-only" : "", x, y, width, height);
  in_panel_ = true;
}

void Drawing::save(const std::filesystem::path& file) const {
  write_text(file, fmt::format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {:.0f} {:.0f}' width='{:.0f}' "
                               "height='{:.0f}' font-family='inherit'>\n{}{}</svg>\n",
                               width_, height_, width_, height_, body_, in_panel_ ? "</g>\n" : ""));
}

}  // namespace tile::figures
