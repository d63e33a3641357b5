#include "ctest/interactive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

using nlohmann::json;

void Report::expect(bool holds, const std::string& otherwise) {
  ++compared;
  if (!holds) complaints.push_back(otherwise);
}

int Report::close(std::size_t pages) const {
  constexpr std::size_t shown = 20;
  for (std::size_t i = 0; i < std::min(shown, complaints.size()); ++i) fmt::print("{}\n", complaints[i]);
  fmt::print("{} pages, {} comparisons, {} complaints\n", pages, compared, complaints.size());
  return complaints.empty() ? 0 : 1;
}

namespace {

void expect_shown(Browser& browser, const std::string& kind, const char* where, bool picture, bool live,
                  Report& report) {
  const json selectors = {"figure." + kind + " > .scroll", "figure." + kind + " .live"};
  const json found = browser.evaluate(selectors.dump() + R"js(.map((selector) => {
    const e = document.querySelector(selector);
    return e !== null && e.offsetHeight > 0;
  }))js");
  report.expect(found == json::array({picture, live}),
                fmt::format("{}: picture and live drawing are shown: {}", where, found.dump()));
}

}  // namespace

void check_one_picture(Browser& browser, const std::string& kind, Report& report) {
  expect_shown(browser, kind, "on the screen", false, true, report);
  browser.set_media("light", "print");
  expect_shown(browser, kind, "on paper", true, false, report);
  browser.set_media("light");
}

void check_without_script(Browser& browser, const std::string& url, const std::string& kind, Report& report) {
  browser.call("Emulation.setScriptExecutionDisabled", {{"value", true}});
  browser.open(url);
  expect_shown(browser, kind, "without script", true, false, report);
  browser.call("Emulation.setScriptExecutionDisabled", {{"value", false}});
}
