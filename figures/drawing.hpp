// An SVG under construction, and files of text.
#pragma once

#include <filesystem>
#include <string>

namespace tile::figures {

void write_text(const std::filesystem::path& file, const std::string& text);

/// "1 line", "32 lines".
std::string plural(std::size_t n, const char* word);

/// Where a part of a drawing is shown: on a narrow page one that holds nothing may be left out.
enum class Show { always, wide };

/// A drawing so wide whose labels are of this size is seen whole on a telephone: 345 pixels, with labels of 12.
constexpr double telephone_width = 460, telephone_label = 16;

/// A picture. Colours are the page's CSS variables.
class Drawing {
 public:
  Drawing(double width, double height) : width_(width), height_(height) {}
  void rect(double x, double y, double w, double h, const std::string& fill, const std::string& stroke = "none",
            double opacity = 1);
  /// A part of a bar: full, or pale with a rim, so that neighbours differ in lightness and each is seen on its page.
  void segment(double x, double y, double w, double h, const char* colour, bool pale);
  void text(double x, double y, const std::string& words, const char* anchor = "start", double size = 11,
            const char* fill = "var(--ink)");
  /// The same words once more, seen where the part that has them stands below the one before it (book/style.css, .row-again).
  void text_again(double x, double y, const std::string& words, const char* anchor, double size, const char* fill);
  void line(double x1, double y1, double x2, double y2, const char* stroke = "var(--ink)");
  /// A line with a head at its end.
  void arrow(double x1, double y1, double x2, double y2, const char* stroke);
  /// What is drawn from here on is a part that can stand by itself, from x and y on: where a page is narrow, its parts stand
  /// below each other (book/weave/figures.lua). Where it is not, one that begins before the part before it ends lies over that.
  void panel(double x, double width, double height, double y = 0, Show show = Show::always);
  void save(const std::filesystem::path& file) const;

 private:
  double width_, height_;
  std::string body_;
  bool in_panel_ = false;
};

}  // namespace tile::figures
