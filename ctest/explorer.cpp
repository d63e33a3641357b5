// Holds the bank explorers of the woven book to the rule of common/model/rules.hpp and to what hardware counted, in headless
// Chromium: the rule of book/banks.js by every measured pattern and by random ones; each figure by its picture, which C++
// drew from the same trace, and by random settings of its controls.
// Usage: explorer CHROMIUM BOOK-DIRECTORY MEASURED-PATTERNS
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/model/rules.hpp"
#include "ctest/chromium.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int warp = 32;

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A set of complaints, and what it took to have none.
struct Report {
  int compared = 0;
  std::vector<std::string> complaints;
  void expect(bool holds, const std::string& otherwise) {
    ++compared;
    if (!holds) complaints.push_back(otherwise);
  }
};

// The rule ------------------------------------------------------------------------------------------------------------
struct Pattern {
  simt::WarpAccess access;
  bool load = false;
  std::string name;
  int wavefronts = 0;
};

/// As banks.js takes it.
json as_json(const Pattern& pattern) {
  json words = json::array();
  for (int lane = 0; lane < warp; ++lane)
    words.push_back(pattern.access.active >> lane & 1u ? json(pattern.access.address[std::size_t(lane)] / 4) : json());
  return {{"words", words}, {"wordsPerLane", pattern.access.size / 4}, {"load", pattern.load}};
}

/// width_bytes,op,wavefronts,bank_conflicts,family,word index of lane 0..31
std::vector<Pattern> measured_patterns(const fs::path& file) {
  std::vector<Pattern> patterns;
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    std::array<std::string, 6> fields;
    for (std::string& field : fields) std::getline(row, field, ',');
    Pattern pattern{{}, fields[1] == "ld", line, std::stoi(fields[2])};
    pattern.access.size = std::stoi(fields[0]);
    pattern.access.active = ~0u;
    std::istringstream words(fields[5]);
    for (std::uint64_t& address : pattern.access.address) {
      words >> address;
      address *= 4;
    }
    if (!words) throw std::runtime_error("not 32 words: " + line);
    patterns.push_back(pattern);
  }
  if (patterns.empty()) throw std::runtime_error("no patterns in " + file.string());
  return patterns;
}

/// Words that are drawn for each lane, or added up by the bits of its number; some patterns leave lanes out.
std::vector<Pattern> random_patterns(int count) {
  std::mt19937 random(9);
  const auto below = [&](unsigned n) { return random() % n; };
  std::vector<Pattern> patterns;
  for (int i = 0; i < count; ++i) {
    Pattern pattern;
    const unsigned words = 1u << below(3);
    pattern.access.size = int(4 * words);
    pattern.access.active = below(4) == 0 ? unsigned(random() | random()) : ~0u;
    pattern.load = below(2) == 0;
    std::array<unsigned, 5> step;
    for (unsigned& s : step) s = below(3) == 0 ? 0 : 1u << below(7);
    const bool by_bits = below(3) != 0;
    const unsigned span = 1u << (2 + below(7));
    for (unsigned lane = 0; lane < warp; ++lane) {
      unsigned piece = below(span);
      if (by_bits) {
        piece = 0;
        for (unsigned bit = 0; bit < step.size(); ++bit) piece += (lane >> bit & 1u) * step[bit];
      }
      pattern.access.address[lane] = std::uint64_t(4 * words * piece);
    }
    pattern.wavefronts = simt::shared_wavefronts(pattern.access, pattern.load);
    pattern.name = as_json(pattern).dump();
    patterns.push_back(pattern);
  }
  return patterns;
}

void compare_rule(Browser& browser, const std::vector<Pattern>& patterns, Report& report) {
  json accesses = json::array();
  for (const Pattern& pattern : patterns) accesses.push_back(as_json(pattern));
  const json found = browser.evaluate(accesses.dump() +
                                      ".map((access) => [TileBanks.sharedWavefronts(access), "
                                      "TileBanks.lanesTogether(access)])");
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const Pattern& p = patterns[i];
    report.expect(found[i][0] == p.wavefronts,
                  fmt::format("{} wavefronts, banks.js says {}: {}", p.wavefronts, found[i][0].dump(), p.name));
    const int together = simt::lanes_together(p.access, p.load);
    report.expect(found[i][1] == together,
                  fmt::format("{} lanes together, banks.js says {}: {}", together, found[i][1].dump(), p.name));
  }
}

/// A word knows its place: both ways through every layout give back what went in.
const char* const layouts_script = R"js((() => {
  const lost = [];
  for (const pad of [0, 1, 4])
    for (const swizzle of [null, { down: 0, up: 0 }, { down: 0, up: 1 }, { down: 2, up: 3 }])
      for (let row = 0; row < 16; ++row)
        for (let col = 0; col < 128; ++col) {
          const layout = { row: 128, pad, swizzle };
          const place = TileBanks.placeOf(layout, TileBanks.wordOf(layout, { row, col }));
          if (place.row !== row || place.col !== col) lost.push({ layout, row, col, place });
        }
  return lost;
})())js";

void check_layouts(Browser& browser, Report& report) {
  const json lost = browser.evaluate(layouts_script);
  report.expect(lost.empty(), fmt::format("{} places are lost: {:.200}", lost.size(), lost.dump()));
}

// The figures -----------------------------------------------------------------------------------------------------------
/// For the scripts below: an explorer's controls by what they are called.
const char* const names_script = R"js(window.namedControls = (live) =>
  Object.fromEntries([...live.querySelectorAll("input, select")].map((control) =>
    [control.getAttribute("aria-label") || control.closest("label").querySelector("span").textContent, control]));
)js";

/// What a figure shows as it opens: the wavefronts of the picture, of the drawing and in words, and controls without a name or
/// out of the keyboard's reach.
const char* const opened_script = R"js([...document.querySelectorAll("figure.explorer")].map((figure) => {
  const rows = (svg) => [...svg.querySelectorAll("text")].filter((t) => /^wavefront \d+$/.test(t.textContent)).length;
  const controls = [...figure.querySelectorAll(".live form :is(input, select, button)")];
  return {
    picture: rows(figure.querySelector(":scope > .scroll svg")),
    drawn: rows(figure.querySelector(".live svg")),
    said: figure.querySelector(".live [role=status]").textContent,
    controls: controls.length,
    unreachable: controls.filter((c) => c.tabIndex < 0 ||
      !(c.getAttribute("aria-label") || c.labels.length > 0 || c.textContent)).map((c) => c.outerHTML),
  };
}))js";

/// Chooses each trace of each figure: {trace, said, kept, set}, where kept says whether the trace survives being taken apart into
/// rows and columns, and set whether the controls show it.
const char* const traces_script = R"js([...document.querySelectorAll("figure.explorer")].flatMap((figure) =>
  JSON.parse(figure.querySelector("script").textContent).map((trace, i) => {
    const controls = namedControls(figure.querySelector(".live"));
    controls.access.value = trace.op === "load" ? "store" : "load";
    controls["padding, words"].value = 7;
    controls["lane map"].value = `trace-${i}`;
    controls["lane map"].dispatchEvent(new Event("input", { bubbles: true }));
    return {
      trace,
      said: figure.querySelector(".live [role=status]").textContent,
      kept: trace.words.every((w) => w === null || TileBanks.wordOf(trace, TileBanks.placeOf(trace, w)) === w),
      set: controls.access.value === trace.op && Number(controls.width.value) === trace.bytes &&
           controls["row length, words"].valueAsNumber === trace.row && controls["padding, words"].valueAsNumber === trace.pad &&
           (controls.swizzle.value === "none") === (trace.swizzle === null),
    };
  })))js";

/// Gives controls of the first figure new values, by what they are called, and says what becomes of it: what is said, how many
/// wavefronts are drawn, and the words in their boxes.
const char* const set_script = R"js((values) => {
  const live = document.querySelector("figure.explorer .live"), controls = namedControls(live);
  for (const [name, value] of Object.entries(values)) controls[name].value = value;
  controls["padding, words"].dispatchEvent(new Event("input", { bubbles: true }));
  const labels = [...live.querySelectorAll("svg text")].map((t) => t.textContent);
  const boxes = [...live.querySelectorAll("svg title")].map((t) => t.textContent.match(/^words? (\d+)(?: to (\d+))?: /));
  const words = boxes.filter((box) => box).flatMap(([, first, last]) =>
    Array.from({ length: (last || first) - first + 1 }, (_, i) => Number(first) + i));
  return {
    said: live.querySelector("[role=status]").textContent,
    drawn: labels.filter((t) => /^wavefront \d+$/.test(t)).length,
    words: [...new Set(words)].sort((a, b) => a - b),
  };
})js";

/// How the figure begins to say what an access costs.
std::string said_of(int count) { return fmt::format("{} wavefront{}. ", count, count == 1 ? "" : "s"); }

/// Settings of the controls.
struct Setting {
  int bytes = 4, row = 128, pad = 0, down = 0, up = 0;
  bool load = true, swizzled = false;
  std::array<int, 6> rows{}, cols{};  ///< of lane 0, and added by each bit of the lane

  json values() const {
    json settings = {{"lane map", "own"},
                     {"width", std::to_string(bytes)},
                     {"access", load ? "load" : "store"},
                     {"row length, words", row},
                     {"padding, words", pad},
                     {"swizzle", !swizzled  ? "none"
                                 : down > 0 ? "both"
                                 : up > 0   ? "up"
                                            : "row"},
                     {"shift a", down},
                     {"shift b", up}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string of = i == 0 ? "lane 0" : fmt::format("lane bit {}", i - 1);
      settings["row, " + of] = rows[i];
      settings["column, " + of] = cols[i];
    }
    return settings;
  }

  /// The word of an element, or none if it is outside its row.
  std::optional<int> word(int r, int c) const {
    const int stored = swizzled ? c ^ ((r >> down) << up) : c;
    if (c >= row || stored >= row) return {};
    return r * (row + pad) + stored;
  }

  /// The access, or none if a lane's words leave the row, do not follow each other, or do not begin at a multiple of the width.
  std::optional<simt::WarpAccess> access() const {
    simt::WarpAccess result;
    result.size = bytes;
    result.active = ~0u;
    for (unsigned lane = 0; lane < warp; ++lane) {
      int r = rows[0], c = cols[0];
      for (unsigned bit = 0; bit < 5; ++bit)
        if (lane >> bit & 1u) r += rows[bit + 1], c += cols[bit + 1];
      const auto first = word(r, c);
      if (!first || *first % (bytes / 4) != 0) return {};
      for (int i = 1; i < bytes / 4; ++i)
        if (word(r, c + i) != *first + i) return {};
      result.address[lane] = std::uint64_t(4 * *first);
    }
    return result;
  }
};

std::vector<Setting> random_settings(int count) {
  std::mt19937 random(10);
  const auto one_of = [&](auto... values) {
    const std::array list{values...};
    return list[random() % list.size()];
  };
  std::vector<Setting> settings(static_cast<std::size_t>(count));
  for (Setting& s : settings) {
    s.bytes = one_of(4, 4, 8, 16);
    s.row = one_of(32, 64, 128, 128, 130);
    s.pad = one_of(0, 0, 0, 1, 2, 4, 8);
    s.load = one_of(true, false);
    s.swizzled = one_of(true, false);
    s.down = one_of(0, 0, 1, 2);
    s.up = one_of(0, 1, 2, 3);
    const int words = s.bytes / 4;
    s.rows[0] = one_of(0, 0, 1);
    for (std::size_t bit = 1; bit <= 5; ++bit) {
      s.rows[bit] = one_of(0, 0, 1, 2, 4, 8);
      s.cols[bit] = words * one_of(0, 0, 1, 2, 4, 8, 16);
    }
  }
  // Behind two words of padding the swizzled words begin where 16 bytes may, and yet are not in one piece.
  settings.push_back({.bytes = 16, .pad = 2, .up = 1, .swizzled = true, .rows = {1}});
  return settings;
}

std::set<std::uint64_t> words_of(const simt::WarpAccess& access) {
  std::set<std::uint64_t> words;
  for (const std::uint64_t address : access.address)
    for (int i = 0; i < access.size / 4; ++i) words.insert(address / 4 + std::uint64_t(i));
  return words;
}

void compare_settings(Browser& browser, const std::vector<Setting>& settings, Report& report) {
  int possible = 0;
  for (const Setting& setting : settings) {
    const json found = browser.evaluate(fmt::format("({})({})", set_script, setting.values().dump()));
    const auto access = setting.access();
    const int count = access ? simt::shared_wavefronts(*access, setting.load) : 0;
    possible += access.has_value();
    const std::string says = access ? said_of(count) : "Not possible. ";
    report.expect(found["said"].get<std::string>().starts_with(says) && found["drawn"] == count,
                  fmt::format("expected '{}', not {}, with {}", says, found.dump(), setting.values().dump()));
    const json words = access ? json(words_of(*access)) : json::array();
    report.expect(found["words"] == words, fmt::format("expected words {}, not {}", words.dump(), found.dump()));
  }
  report.expect(possible > int(settings.size()) / 4 && possible < int(settings.size()),
                fmt::format("{} of {} settings are possible, which tests little", possible, settings.size()));
}

/// Every trace that a reader may choose costs what the C++ rule says of its words.
void compare_traces(Browser& browser, Report& report) {
  for (const json& chosen : browser.evaluate(traces_script)) {
    const json& trace = chosen["trace"];
    simt::WarpAccess access;
    access.size = trace["bytes"];
    for (unsigned lane = 0; lane < warp; ++lane) {
      const json& word = trace["words"][lane];
      if (word.is_null()) continue;
      access.active |= 1u << lane;
      access.address[lane] = 4 * word.get<std::uint64_t>();
    }
    const std::string says = said_of(simt::shared_wavefronts(access, trace["op"] == "load"));
    const std::string said = chosen["said"];
    report.expect(said.starts_with(says),
                  fmt::format("expected '{}', the figure says '{}' of {}", says, said, trace.dump()));
    report.expect(chosen["set"] == true, "the controls do not show the trace that was chosen: " + trace.dump());
    report.expect(chosen["kept"] == true, "not what the model wrote, once taken apart: " + trace.dump());
  }
}

void check_opened(Browser& browser, Report& report) {
  for (const json& figure : browser.evaluate(opened_script)) {
    const int count = figure["picture"];
    report.expect(figure["drawn"] == count && figure["said"].get<std::string>().starts_with(said_of(count)),
                  fmt::format("the picture has {} wavefronts, the explorer draws {} and says '{}'", count,
                              figure["drawn"].dump(), figure["said"].get<std::string>()));
    report.expect(figure["controls"] > 0 && figure["unreachable"].empty(),
                  "controls without a name, or not for the keyboard: " + figure["unreachable"].dump());
  }
}

/// Bad input is refused by name, the trace comes back, and arrow keys belong to the control that has them.
void check_manners(Browser& browser, Report& report) {
  for (const char* bad : {"", "1.5", "65"}) {
    const json found =
        browser.evaluate(fmt::format("({})({{'lane map': 'rows', 'padding, words': '{}'}})", set_script, bad));
    report.expect(found["said"] == "Which number? padding, words: a whole number from 0 to 64.",
                  fmt::format("padding '{}': {}", bad, found["said"].dump()));
  }
  const std::string first = browser.evaluate(opened_script)[0]["said"];
  browser.evaluate("document.querySelector('figure.explorer button').click()");
  const json figure = browser.evaluate(opened_script)[0];
  report.expect(figure["drawn"] == figure["picture"] && figure["said"] != first,
                "the button does not bring back the trace");
  const std::string before = browser.evaluate("location.href");
  browser.evaluate(R"js(new Promise((done) => {
    for (const control of document.querySelectorAll("figure.explorer :is(select, input)"))
      control.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    setTimeout(done, 200);
  }))js");
  report.expect(browser.evaluate("location.href") == before, "an arrow key on a control turns the page");
}

/// One picture at a time: the drawing on the screen, the picture on paper and where scripts do not run.
void check_picture(Browser& browser, const std::string& url, Report& report) {
  const std::string shown = R"js(["figure.explorer > .scroll", "figure.explorer .live"].map((selector) => {
    const e = document.querySelector(selector);
    return e !== null && e.offsetHeight > 0;
  }))js";
  const auto expect = [&](const char* where, bool picture, bool live) {
    const json found = browser.evaluate(shown);
    report.expect(found == json::array({picture, live}),
                  fmt::format("{}: picture and explorer are shown: {}", where, found.dump()));
  };
  expect("on the screen", false, true);
  browser.set_media("light", "print");
  expect("on paper", true, false);
  browser.set_media("light");
  browser.call("Emulation.setScriptExecutionDisabled", {{"value", true}});
  browser.open(url);
  expect("without script", true, false);
  browser.call("Emulation.setScriptExecutionDisabled", {{"value", false}});
}

std::vector<fs::path> pages_with_explorers(const fs::path& book) {
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(book))
    if (entry.path().extension() == ".html" && read_text(entry.path()).find("src=\"explorer.js\"") != std::string::npos)
      pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  if (pages.empty()) throw std::runtime_error("no page of " + book.string() + " has a bank explorer");
  return pages;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: explorer CHROMIUM BOOK-DIRECTORY MEASURED-PATTERNS\n");
    return 2;
  }
  const std::string program = argv[1];
  if (program.empty() || !fs::exists(program)) {
    fmt::print("skipped: chromium is not installed (sudo apt-get install chromium)\n");
    return 77;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(120);  // a browser that hangs must not hang the tests
  try {
    const auto pages = pages_with_explorers(fs::absolute(argv[2]));
    Report report;
    Browser browser(program);
    browser.attach();
    browser.set_width(1400);
    browser.set_media("light");
    browser.open(file_url(pages.front()));
    compare_rule(browser, measured_patterns(argv[3]), report);
    compare_rule(browser, random_patterns(3000), report);
    check_layouts(browser, report);
    for (const fs::path& page : pages) {
      browser.open(file_url(page));
      browser.evaluate(names_script);
      check_opened(browser, report);
      compare_traces(browser, report);
      compare_settings(browser, random_settings(300), report);
      check_manners(browser, report);
      check_picture(browser, file_url(page), report);
      for (const std::string& complaint : browser.take_complaints()) report.complaints.push_back(complaint);
    }
    constexpr std::size_t shown = 20;
    for (std::size_t i = 0; i < std::min(shown, report.complaints.size()); ++i)
      fmt::print("{}\n", report.complaints[i]);
    fmt::print("{} pages, {} comparisons, {} complaints\n", pages.size(), report.compared, report.complaints.size());
    return report.complaints.empty() ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "explorer: {}\n", e.what());
    return 1;
  }
}
