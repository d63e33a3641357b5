// What the tests of figures that a reader may change share.
#pragma once

#include <string>
#include <vector>

#include "ctest/chromium.hpp"

/// A set of complaints, and what it took to have none.
struct Report {
  int compared = 0;
  std::vector<std::string> complaints;

  void expect(bool holds, const std::string& otherwise);
  /// Prints it, shortened if it is long, and gives the exit status of the test.
  int close(std::size_t pages) const;
};

/// The page that is open shows one picture at a time of its first figure of class `kind`: the drawing that a script makes on the
/// screen, the woven one on paper.
void check_one_picture(Browser& browser, const std::string& kind, Report& report);

/// So does the page at `url`, which it opens, where scripts do not run: the woven one.
void check_without_script(Browser& browser, const std::string& url, const std::string& kind, Report& report);
