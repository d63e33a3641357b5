// Holds the lookup explorers of the woven book to the rule of common/sim/rules.hpp for global memory, in headless Chromium: the rule of
// book/lookups.js by random accesses; each figure by its picture, which C++ drew from the same trace, by every lane, and with the
// rows of the matrix elsewhere.
// Usage: lookups CHROMIUM BOOK-DIRECTORY
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "common/sim/rules.hpp"
#include "ctest/chromium.hpp"
#include "ctest/interactive.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr unsigned warp = 32;

std::string plural(int count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : word.ends_with("s") ? "es" : "s");
}

/// How the figure begins to say what an access costs.
std::string said_of(const simt::WarpAccess& access, bool load) {
  return fmt::format("{}, {}. {} of the tags, {} of the data: ", plural(simt::lines_of(access), "line"),
                     plural(simt::sectors_of(access), "sector"), plural(simt::tag_passes(access), "pass"),
                     plural(simt::global_wavefronts(access, load), "wavefront"));
}

/// The access of a trace whose matrix has rows `apart` words apart.
simt::WarpAccess access_of(const json& trace, std::uint64_t apart) {
  simt::WarpAccess access;
  access.size = trace["bytes"];
  const auto ld = trace["ld"].get<std::uint64_t>();
  for (unsigned lane = 0; lane < warp; ++lane) {
    const json& word = trace["words"][lane];
    if (word.is_null()) continue;
    const auto at = word.get<std::uint64_t>();
    access.active |= 1u << lane;
    access.address[lane] = 4 * (at / ld * apart + at % ld);
  }
  return access;
}

// Words that are drawn for each lane, or that lie a stride apart.
void compare_rule(Browser& browser, Report& report) {
  std::mt19937 random(13);
  const auto below = [&](unsigned n) { return random() % n; };
  std::vector<simt::WarpAccess> accesses(2000);
  std::vector<bool> loads;
  json list = json::array();
  for (simt::WarpAccess& access : accesses) {
    const unsigned words = 1u << below(3), stride = 1 + below(1u << (1 + below(13))), base = below(1u << 20);
    const bool scattered = below(3) == 0;
    access.size = int(4 * words);
    access.active = below(5) == 0 ? unsigned(random() | random()) : ~0u;
    loads.push_back(below(2) == 0);
    json listed = json::array();
    for (unsigned lane = 0; lane < warp; ++lane) {
      const std::uint64_t word = std::uint64_t(words) * (scattered ? below(1u << 22) : base + lane * stride);
      access.address[lane] = 4 * word;
      listed.push_back(access.active >> lane & 1u ? json(word) : json());
    }
    list.push_back({{"words", listed}, {"wordsPerLane", words}, {"load", bool(loads.back())}});
  }
  const json found = browser.evaluate(list.dump() +
                                      ".map((a) => [TileLines.lines(a).length, TileLines.sectors(a).length, "
                                      "TileLines.tagPasses(a), TileLines.wavefronts(a)])");
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const json expected = {simt::lines_of(accesses[i]), simt::sectors_of(accesses[i]), simt::tag_passes(accesses[i]),
                           simt::global_wavefronts(accesses[i], loads[i])};
    report.expect(found[i] == expected, fmt::format("lines, sectors, passes and wavefronts {}, lookups.js says {}: {}",
                                                    expected.dump(), found[i].dump(), list[i].dump()));
  }
}

/// What a figure shows as it opens, and after each change. `use` sets controls of figure i by name and gives what it shows then.
const char* const use_script = R"js(window.use = (i, values) => {
  const figure = document.querySelectorAll("figure.lookups")[i], live = figure.querySelector(".live");
  const controls = Object.fromEntries([...live.querySelectorAll("input, select")].map((control) =>
    [control.closest("label").querySelector("span").textContent, control]));
  for (const [name, value] of Object.entries(values)) {
    controls[name].value = value;
    controls[name].dispatchEvent(new Event("input", { bubbles: true }));
  }
  const lines = (svg) => (svg ? [...svg.querySelectorAll("text")].map((t) => t.textContent).filter((t) => / line \d+$/.test(t)) : []);
  const form = [...live.querySelectorAll("form :is(input, select, button)")];
  return {
    traces: JSON.parse(figure.querySelector("script").textContent),
    picture: lines(figure.querySelector(":scope > .scroll svg")),
    drawn: lines(live.querySelector("svg")),
    said: live.querySelector("[role=status]").textContent,
    apart: controls["words from row to row"].value,
    unreachable: form.filter((c) => c.tabIndex < 0 || !(c.labels.length > 0 || c.textContent)).map((c) => c.outerHTML),
  };
};)js";

void check_figure(Browser& browser, int figure, Report& report) {
  const auto use = [&](const json& values) {
    return browser.evaluate(fmt::format("use({}, {})", figure, values.dump()));
  };
  const json opened = use(json::object());
  report.expect(opened["unreachable"].empty(),
                "controls without a name, or not for the keyboard: " + opened["unreachable"].dump());
  report.expect(
      !opened["picture"].empty() && opened["drawn"] == opened["picture"],
      fmt::format("the picture has {}, the explorer draws {}", opened["picture"].dump(), opened["drawn"].dump()));
  std::mt19937 random(14);
  for (std::size_t i = 0; i < opened["traces"].size(); ++i) {
    const json& trace = opened["traces"][i];
    const bool load = trace["op"] == "load";
    const auto ld = trace["ld"].get<std::uint64_t>(), words = trace["bytes"].get<std::uint64_t>() / 4;
    const auto expect = [&](const json& found, std::uint64_t apart) {
      const std::string says = said_of(access_of(trace, apart), load), said = found["said"];
      report.expect(said.starts_with(says),
                    fmt::format("rows {} words apart: expected '{}', the figure says '{}' of {}", apart, says, said,
                                trace.dump()));
    };
    use({{"words from row to row", 0}});
    const json chosen = use({{"access", std::to_string(i)}});
    report.expect(chosen["apart"] == std::to_string(ld), "rows are not as traced: " + chosen["apart"].dump());
    expect(chosen, ld);
    for (const std::uint64_t apart :
         {ld + words, 4096 / words * words, 4096 + words, (ld + random() % 4000) / words * words})
      expect(use({{"words from row to row", apart}}), apart);
    use({{"words from row to row", ld}});
    for (unsigned lane = 0; lane < warp; ++lane) {
      const auto word = trace["words"][lane].get<std::uint64_t>(), line = word / 32;
      const std::string says = fmt::format(
          "Lane {}: row {}, column {} of {}; line {}, sector {}, tag bank {}, data bank {}.", lane, word / ld,
          word % ld, trace["array"].get<std::string>(), line, word / 8 % 4, simt::tag_bank(line), word % 32);
      const std::string said = use({{"lane", lane}})["said"];
      report.expect(said.ends_with(says), fmt::format("expected '{}', the figure says '{}'", says, said));
    }
    for (const char* bad : {"", "1.5", "0", "65537"}) {
      const json found = use({{"words from row to row", bad}});
      report.expect(found["said"].get<std::string>().starts_with("Which number? ") && found["drawn"].empty(),
                    fmt::format("rows '{}' words apart: {}", bad, found["said"].dump()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: lookups CHROMIUM BOOK-DIRECTORY\n");
    return 2;
  }
  return run_in_browser("lookups", argv[1], [&] {
    const auto pages = pages_with_script(fs::absolute(argv[2]), "lookups.js");
    Report report;
    Browser browser(argv[1]);
    browser.attach();
    browser.set_width(1400);
    browser.set_media("light");
    browser.open(file_url(pages.front()));
    compare_rule(browser, report);
    for (const fs::path& page : pages) {
      browser.open(file_url(page));
      browser.evaluate(use_script);
      const int figures = browser.evaluate("document.querySelectorAll('figure.lookups').length");
      for (int figure = 0; figure < figures; ++figure) check_figure(browser, figure, report);
      check_one_picture(browser, "lookups", report);
    }
    check_without_script(browser, file_url(pages.front()), "lookups", report);
    for (const std::string& complaint : browser.take_complaints()) report.complaints.push_back(complaint);
    return report.close(pages.size());
  });
}
