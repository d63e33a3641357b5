// An SVG under construction, and files of text.
#pragma once

#include <filesystem>
#include <string>

namespace tile::figures {

void write_text(const std::filesystem::path& file, const std::string& text);

/// "1 line", "32 lines".
std::string plural(std::size_t n, const char* word);

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
  /// Words that are `repeated` are seen only where the panel that has them stands below the one before it (book/style.css, .row-again).
  void text(double x, double y, const std::string& words, const char* anchor = "start", double size = 11,
            const char* fill = "var(--ink)", bool repeated = false);
  void line(double x1, double y1, double x2, double y2, const char* stroke = "var(--ink)");
  /// Begins a panel, from x and y on: a narrow page stacks panels (book/weave/figures.lua), and may leave out one that holds nothing
  /// (`wide_only`). A wide page lays a panel over the one before it where they overlap.
  void panel(double x, double width, double height, double y = 0, bool wide_only = false);
  void save(const std::filesystem::path& file) const;

 private:
  double width_, height_;
  std::string body_;
  bool in_panel_ = false;
};

}  // namespace tile::figures
