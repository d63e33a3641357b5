// Holds the bank explorers of the woven book to the rule of common/sim/rules.hpp and to what hardware counted, in headless
// Chromium: the rule of book/banks.js by every measured pattern and by random ones; each figure by its picture, which C++
// drew from the same trace, and by random settings of its controls.
// Usage: explorer CHROMIUM BOOK-DIRECTORY MEASURED-PATTERNS
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/sim/rules.hpp"
#include "ctest/chromium.hpp"
#include "common/sim/rewrite/files.hpp"
#include "ctest/interactive.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int warp = 32;

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
  std::istringstream lines(files::read_text(file));
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
    pattern.access.active = below(4) == 0 ? unsigned(random() | random()) : below(8) == 0 ? 0xffu << 8 * below(4) : ~0u;
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

/// Offsets and elements: the way back from every offset gives the element that went in, and CUTLASS's swizzles put each where
/// C++ does. Says which elements are lost, and for each layout where its elements are.
const char* const layouts_script = R"js(((layouts) => {
  const lost = [];
  const offsets = layouts.map((layout) => {
    const found = [];
    for (let row = 0; row < 16; ++row)
      for (let col = 0; col < layout.row; ++col) {
        const offset = TileBanks.offsetOf(layout, { row, col }), place = TileBanks.placeOf(layout, offset);
        if (place.row !== row || place.col !== col) lost.push({ layout, row, col, place });
        found.push(offset);
      }
    return found;
  });
  return { lost, offsets };
}))js";

/// CUTLASS's Swizzle<B, M, S> of an offset.
struct Cutlass {
  int B, M, S;
  int operator()(int offset) const { return offset ^ ((offset >> S) & (((1 << B) - 1) << M)); }
};

void check_layouts(Browser& browser, Report& report) {
  json layouts = json::array(), expected = json::array();
  const auto add = [&](int row, int pad, const json& swizzle, auto&& offset) {
    layouts.push_back({{"row", row}, {"pad", pad}, {"swizzle", swizzle}});
    json offsets = json::array();
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < row; ++c) offsets.push_back(offset(r, c));
    expected.push_back(offsets);
  };
  for (const int pad : {0, 1, 4}) {
    const int stride = 128 + pad;
    add(128, pad, json(), [=](int r, int c) { return r * stride + c; });
    for (const auto& [down, up] : {std::pair{0, 0}, {0, 1}, {2, 3}})
      add(128, pad, {{"down", down}, {"up", up}}, [=](int r, int c) { return r * stride + (c ^ (r >> down << up)); });
    add(128, pad, {{"down", 1}, {"up", 3}, {"part", 4}},
        [=](int r, int c) { return r * stride + (c ^ ((r >> 1) % 4 << 3)); });
    for (const int row : {16, 64, 100})
      for (int B = 0; B <= 4; ++B)
        for (const int M : {0, 1, 3})
          for (int S = std::max(B, 1); S <= 6; ++S)
            add(row, pad, {{"B", B}, {"M", M}, {"S", S}}, [=](int r, int c) {
              return Cutlass{B, M, S}(r * (row + pad) + c);
            });
  }
  const json found = browser.evaluate(fmt::format("({})({})", layouts_script, layouts.dump()));
  report.expect(found["lost"].empty(),
                fmt::format("{} elements are lost: {:.200}", found["lost"].size(), found["lost"].dump()));
  for (std::size_t i = 0; i < layouts.size(); ++i)
    report.expect(found["offsets"][i] == expected[i], "the elements are elsewhere in " + layouts[i].dump());
}

// The figures -----------------------------------------------------------------------------------------------------------
/// For the scripts below: an explorer's controls by what they are called.
const char* const names_script = R"js(window.namedControls = (live) =>
  Object.fromEntries([...live.querySelectorAll("input, select")].map((control) =>
    [control.getAttribute("aria-label") || control.closest("label").querySelector("span").textContent, control]));
)js";

/// What is not a figure is not drawn again with it.
const char* const alone_script = R"js((() => {
  const figures = [...document.querySelectorAll("figure.explorer")];
  for (const element of document.querySelectorAll("main *"))
    if (!figures.some((figure) => figure.contains(element) || element.contains(figure))) element.hidden = true;
})())js";

/// What a figure shows as it opens: the wavefronts of the picture, of the drawing and in words, and controls without a name or
/// out of the keyboard's reach.
const char* const opened_script = R"js([...document.querySelectorAll("figure.explorer")].map((figure) => {
  const rows = (svg) => (svg ? [...svg.querySelectorAll("text")] : []).filter((t) => /^wavefront \d+$/.test(t.textContent)).length;
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
    controls["padding, elements"].value = 7;
    controls.element.value = 2;
    controls["lane map"].value = `trace-${i}`;
    controls["lane map"].dispatchEvent(new Event("input", { bubbles: true }));
    return {
      trace,
      said: figure.querySelector(".live [role=status]").textContent,
      kept: trace.words.every((w) => w === null || TileBanks.offsetOf(trace, TileBanks.placeOf(trace, w)) === w),
      set: controls.access.value === trace.op && controls.element.value === "4" &&
           controls["elements a lane"].value * 4 === trace.bytes &&
           controls["row length, elements"].valueAsNumber === trace.row && controls["padding, elements"].valueAsNumber === trace.pad &&
           (controls.swizzle.value === "none") === (trace.swizzle === null),
    };
  })))js";

/// Gives controls of the first figure new values, by what they are called, and says what becomes of it: what is said, how many
/// wavefronts are drawn, the words in their boxes, and what the formulas shown give for these places.
const char* const set_script = R"js(((values, places) => {
  const live = document.querySelector("figure.explorer .live"), controls = namedControls(live);
  for (const [name, value] of Object.entries(values)) controls[name].value = value;
  controls["padding, elements"].dispatchEvent(new Event("input", { bubbles: true }));
  const labels = [...live.querySelectorAll("svg text:not(.row-again)")].map((t) => t.textContent);
  const boxes = [...live.querySelectorAll("svg title")].map((t) => t.textContent.match(/^words? (\d+)(?: to (\d+))?: /));
  const words = boxes.filter((box) => box).flatMap(([, first, last]) =>
    Array.from({ length: (last || first) - first + 1 }, (_, i) => Number(first) + i));
  const [offset, o] = [...live.querySelectorAll(".formula code")].map((code) => code.textContent);
  const computed = new Function("row", "col", `let o; ${o || ""}; return ${offset};`);
  return {
    said: live.querySelector("[role=status]").textContent,
    drawn: labels.filter((t) => /^wavefront \d+$/.test(t)).length,
    words: [...new Set(words)].sort((a, b) => a - b),
    computed: places.map(([row, col]) => computed(row, col)),
  };
}))js";

/// How the figure begins to say what an access costs.
std::string said_of(int count) { return fmt::format("{} wavefront{}. ", count, count == 1 ? "" : "s"); }

/// Settings of the controls.
struct Setting {
  int bytes = 4, elements = 1, row = 128, pad = 0;
  bool load = true;
  std::string swizzle = "none";       ///< as the control calls it
  int a = 0, b = 0, n = 8;            ///< the numbers of the formulas,
  Cutlass cutlass{3, 3, 3};           ///< and of CUTLASS's
  std::array<int, 6> rows{}, cols{};  ///< of lane 0, and added by each bit of the lane

  json values() const {
    json settings = {{"lane map", "own"},
                     {"element", std::to_string(bytes)},
                     {"elements a lane", std::to_string(elements)},
                     {"access", load ? "load" : "store"},
                     {"row length, elements", row},
                     {"padding, elements", pad},
                     {"swizzle", swizzle},
                     {"shift a", a},
                     {"shift b", b},
                     {"n", std::to_string(n)},
                     {"B: how many bits flip", cutlass.B},
                     {"M: the lowest flipped", cutlass.M},
                     {"S: how far above it", cutlass.S}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string of = i == 0 ? "lane 0" : fmt::format("lane bit {}", i - 1);
      settings["row, " + of] = rows[i];
      settings["column, " + of] = cols[i];
    }
    return settings;
  }

  int flipped(int r) const {
    if (swizzle == "row") return r;
    if (swizzle == "up") return r << b;
    if (swizzle == "both") return r >> a << b;
    if (swizzle == "part") return (r >> a) % n << b;
    return 0;
  }

  /// Where an element is, counted in elements.
  int offset(int r, int c) const {
    const int plain = r * (row + pad) + (c ^ flipped(r));
    return swizzle == "cutlass" ? cutlass(plain) : plain;
  }

  bool inside(int r, int c) const { return c < row && (c ^ flipped(r)) < row; }

  /// Where a lane begins.
  std::pair<int, int> place(unsigned lane) const {
    int r = rows[0], c = cols[0];
    for (unsigned bit = 0; bit < 5; ++bit)
      if (lane >> bit & 1u) r += rows[bit + 1], c += cols[bit + 1];
    return {r, c};
  }

  /// The access, or none if a lane's elements leave the row, do not follow each other, or do not begin at a multiple of its width,
  /// or if CUTLASS refuses the swizzle.
  std::optional<simt::WarpAccess> access() const {
    if (swizzle == "cutlass" && cutlass.S < cutlass.B) return {};
    simt::WarpAccess result;
    result.size = bytes * elements;
    result.active = ~0u;
    for (unsigned lane = 0; lane < warp; ++lane) {
      const auto [r, c] = place(lane);
      const int first = offset(r, c);
      if (first % elements != 0) return {};
      for (int i = 0; i < elements; ++i)
        if (!inside(r, c + i) || offset(r, c + i) != first + i) return {};
      result.address[lane] = std::uint64_t(bytes * first);
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
    s.bytes = one_of(2, 4, 4, 8);
    const int bytes_a_lane = one_of(4, 4, 8, 16);
    s.elements = std::max(1, bytes_a_lane / s.bytes);
    s.row = one_of(32, 64, 128, 128, 130);
    s.pad = one_of(0, 0, 0, 1, 2, 4, 8);
    s.load = one_of(true, false);
    s.swizzle = one_of("none", "row", "up", "both", "part", "cutlass", "cutlass", "cutlass");
    s.a = one_of(0, 0, 1, 2);
    s.b = one_of(0, 1, 2, 3);
    s.n = one_of(2, 4, 8);
    s.cutlass = {one_of(0, 1, 2, 3), one_of(0, 1, 2, 3, 3), one_of(1, 2, 3, 4, 5, 6)};
    s.rows[0] = one_of(0, 0, 1);
    for (std::size_t bit = 1; bit <= 5; ++bit) {
      s.rows[bit] = one_of(0, 0, 1, 2, 4, 8);
      s.cols[bit] = s.elements * one_of(0, 0, 1, 2, 4, 8, 16);
    }
  }
  // Behind two words of padding the swizzled words begin where 16 bytes may, and yet are not in one piece.
  settings.push_back({.elements = 4, .pad = 2, .swizzle = "up", .b = 1, .rows = {1}});
  return settings;
}

/// What the tensor memory accelerator is for: 16 bytes from each of 32 rows of `row` elements of two bytes.
Setting halves(int row) { return {.bytes = 2, .elements = 8, .row = row, .rows = {0, 1, 2, 4, 8, 16}}; }

std::set<std::uint64_t> words_of(const simt::WarpAccess& access) {
  std::set<std::uint64_t> words;
  for (const std::uint64_t address : access.address)
    for (int i = 0; i < access.size / 4; ++i) words.insert(address / 4 + std::uint64_t(i));
  return words;
}

void compare_settings(Browser& browser, const std::vector<Setting>& settings, Report& report) {
  int possible = 0;
  for (const Setting& setting : settings) {
    json places = json::array(), offsets = json::array();
    for (unsigned lane = 0; lane < warp; ++lane) {
      const auto [r, c] = setting.place(lane);
      places.push_back({r, c});
      offsets.push_back(setting.offset(r, c));
    }
    const json found =
        browser.evaluate(fmt::format("({})({}, {})", set_script, setting.values().dump(), places.dump()));
    const auto access = setting.access();
    const int count = access ? simt::shared_wavefronts(*access, setting.load) : 0;
    possible += access.has_value();
    const std::string says = access ? said_of(count) : "Not possible. ";
    report.expect(found["said"].get<std::string>().starts_with(says) && found["drawn"] == count,
                  fmt::format("expected '{}', not {}, with {}", says, found.dump(), setting.values().dump()));
    const json words = access ? json(words_of(*access)) : json::array();
    report.expect(found["words"] == words, fmt::format("expected words {}, not {}", words.dump(), found.dump()));
    report.expect(found["computed"] == offsets,
                  fmt::format("the formula shown gives {}, not {}", found["computed"].dump(), offsets.dump()));
  }
  report.expect(possible > int(settings.size()) / 4 && possible < int(settings.size()),
                fmt::format("{} of {} settings are possible, which tests little", possible, settings.size()));
}

/// The modes of TMA can be entered in both notations, and bring each word in a bank of its own.
void check_halves(Browser& browser, Report& report) {
  std::vector<Setting> settings;
  for (int down = 0, bits = 3; bits > 0; ++down, --bits) {
    Setting part = halves(8 << bits), cutlass = part;
    part.swizzle = "part", part.a = down, part.n = 1 << bits, part.b = 3;
    cutlass.swizzle = "cutlass", cutlass.cutlass = {bits, 3, 3};
    settings.insert(settings.end(), {part, cutlass});
  }
  constexpr int fewest = warp * 16 / 128;
  for (const Setting& setting : settings) {
    const json found = browser.evaluate(fmt::format("({})({}, [])", set_script, setting.values().dump()));
    report.expect(found["said"].get<std::string>().starts_with(said_of(fewest) + "No conflict. "),
                  fmt::format("{} of {}", found["said"].dump(), setting.values().dump()));
  }
}

/// Of each width the reader may take as many elements as make 4 to 16 bytes a lane, and another width keeps a lane's bytes.
void check_widths(Browser& browser, Report& report) {
  const json found = browser.evaluate(R"js((() => {
    const controls = namedControls(document.querySelector("figure.explorer .live"));
    const count = controls["elements a lane"], wanted = [4, 8, 16];
    const choose = (control, value) => {
      control.value = value;
      control.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const offered = [], kept = [];
    for (const from of controls.element.options)
      for (const to of controls.element.options) {
        choose(controls.element, from.value);
        const choices = [...count.options].filter((choice) => !choice.disabled).map((choice) => Number(choice.value));
        offered.push({ bytes: Number(from.value), choices });
        for (const choice of choices) {
          choose(controls.element, from.value);
          choose(count, choice);
          choose(controls.element, to.value);
          kept.push({ from: from.value * choice, to: to.value * count.value, least: Number(to.value),
                      enabled: count.selectedOptions.length === 1 && !count.selectedOptions[0].disabled });
        }
      }
    return { offered, kept, help: document.getElementById(count.getAttribute("aria-describedby")).textContent };
  })())js");
  for (const json& offer : found["offered"]) {
    json choices = json::array();
    for (const int bytes : {4, 8, 16})
      if (bytes >= offer["bytes"]) choices.push_back(bytes / offer["bytes"].get<int>());
    report.expect(offer["choices"] == choices, "other widths are offered: " + offer.dump());
  }
  for (const json& change : found["kept"])
    report.expect(
        change["enabled"] == true && change["to"] == std::max(change["from"].get<int>(), change["least"].get<int>()),
        "another element changes what a lane takes: " + change.dump());
  report.expect(found["help"].get<std::string>().find("4, 8 or 16 bytes") != std::string::npos,
                "what was measured is not said: " + found["help"].dump());
}

/// A figure whose trace leaves a lane out says so, and that this was not measured. Takes the page's figures apart.
void check_absent(Browser& browser, Report& report) {
  const json said = browser.evaluate(R"js(new Promise((done, failed) => {
    const [figure, ...others] = document.querySelectorAll("figure.explorer"), data = figure.querySelector("script");
    for (const gone of [...others, ...document.querySelectorAll("figure.explorer .live")]) gone.remove();
    const traces = JSON.parse(data.textContent);
    traces[0].words[5] = null;
    data.textContent = JSON.stringify(traces);
    const script = document.createElement("script");
    script.src = "explorer.js";
    script.onload = () => done(figure.querySelector("[role=status]").textContent);
    script.onerror = () => failed(new Error("explorer.js does not load"));
    document.head.append(script);
  }))js");
  report.expect(
      said.get<std::string>().find(
          "Not taking part: lane 5. Few loads with lanes left out were measured, and no stores.") != std::string::npos,
      "a lane is left out, and the figure says " + said.dump());
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
        browser.evaluate(fmt::format("({})({{'lane map': 'rows', 'padding, elements': '{}'}}, [])", set_script, bad));
    report.expect(found["said"] == "Which number? padding, elements: a whole number from 0 to 64.",
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: explorer CHROMIUM BOOK-DIRECTORY MEASURED-PATTERNS\n");
    return 2;
  }
  return run_in_browser("explorer", argv[1], [&] {
    const auto pages = pages_with_script(fs::absolute(argv[2]), "explorer.js");
    Report report;
    Browser browser(argv[1]);
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
      browser.evaluate(alone_script);
      check_opened(browser, report);
      compare_traces(browser, report);
      compare_settings(browser, random_settings(page == pages.front() ? 300 : 40), report);  // the script is one
      if (page == pages.front()) {
        check_halves(browser, report);
        check_widths(browser, report);
      }
      check_manners(browser, report);
      check_absent(browser, report);
      check_one_picture(browser, "explorer", report);
    }
    check_without_script(browser, file_url(pages.front()), "explorer", report);
    for (const std::string& complaint : browser.take_complaints()) report.complaints.push_back(complaint);
    return report.close(pages.size());
  });
}
