// Opens every page of the woven book in headless Chromium, from disk, wide and narrow, light and dark. Fails on a console
// message of level error, an exception, a resource that does not load, a request that is not file:, a broken link, text
// that runs out of the page, a source that two pages call differently, and what page-checks.js (layout, contrast, what scripts do) and searches.tsv (what a search
// finds first) say, both of CHECKS-DIRECTORY.
// Usage: browser CHROMIUM BOOK-DIRECTORY CHECKS-DIRECTORY [--screenshots DIRECTORY]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ctest/chromium.hpp"
#include "common/sim/rewrite/files.hpp"
#include "ctest/subprocess.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr unsigned parallel_browsers = 2;  // as many cores as the test reserves (CMakeLists.txt)

void save_screenshot(Browser& browser, const fs::path& file) {
  const std::string base64 = browser.call("Page.captureScreenshot", {{"captureBeyondViewport", true}})["data"];
  std::ofstream(file.string() + ".base64") << base64;
  if (subprocess::run("base64", {"-d", file.string() + ".base64"}, file).status != 0)
    throw std::runtime_error("cannot write " + file.string());
  fs::remove(file.string() + ".base64");
}

// Elements whose text ends outside the page without a scroller around them.
const char* const overflow_script = R"((() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1) {
    const culprit = [...document.querySelectorAll("main *, header *, nav *")].find((e) =>
      e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, .code, pre, .hidden, .skip"));
    return "the page scrolls sideways: " + (culprit ? culprit.tagName + "." + culprit.className + " " + culprit.textContent.slice(0, 60) : "?");
  }
  return "";
})())";

// The links that lead anywhere but to a place of this page that is there.
const char* const links_script = R"([...document.querySelectorAll("a[href]")].filter((a) => {
  const place = a.getAttribute("href");
  return place[0] !== "#" || (place.length > 1 && !document.getElementById(decodeURIComponent(place.slice(1))));
}).map((a) => a.href))";
// What scripts ask about the width as they start, and what notes it.
const char* const widths_at_start = "(max-width: 1099px)";
const char* const note_widths_script = R"((() => {
  const ask = matchMedia.bind(window);
  window.askedWidths = [];
  addEventListener("load", () => { window.matchMedia = ask; });
  window.matchMedia = (query) => {
    if (query.includes("width")) askedWidths.push(query);
    return ask(query);
  };
})())";
// Of a program or a record, which may have 100 000 lines, the first are laid out.
const char* const first_lines_script = R"((() => {
  const style = new CSSStyleSheet();
  style.replaceSync(":is(code > span, .record > li):nth-child(n + 200) { display: none !important; }");
  if (location.pathname.includes("/source/")) document.adoptedStyleSheets = [style];
})())";
const char* const ids_script = R"([...document.querySelectorAll("[id]")].map((e) => e.id))";
const char* const sources_script =
    R"([...document.querySelectorAll(".csl-entry")].map((e) => [e.id, e.textContent.trim()]))";
const char* const line_lengths_script = R"([...document.querySelectorAll("article > p")].flatMap((p) => {
  const lines = Math.round(p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight));
  const notes = [...p.querySelectorAll(".side-note")].reduce((sum, note) => sum + note.textContent.length, 0);
  return lines < 4 || p.querySelector("math") ? [] : [(p.textContent.length - notes) / (lines - 0.5)];
}))";
const char* const fonts_script =
    R"(document.fonts.ready.then(() => [...document.fonts].filter((f) => f.status === "error").map((f) => f.family)))";
// Whether the button that switches between light and dark leaves the paper as it is. Takes the text away, which is not looked at any more:
// it need not be drawn again.
const char* const theme_stays_script = R"((() => {
  document.querySelector("main").style.display = "none";
  const root = document.documentElement, paper = () => getComputedStyle(root).backgroundColor, before = paper();
  const button = document.getElementById("theme");
  if (button) button.click();
  const after = paper();
  localStorage.removeItem("tile-theme");
  delete root.dataset.theme;
  return before === after;
})())";
// Whether two nodes of the search's automaton whose edges differ are taken for one.
const char* const nodes_alike_script = R"((() => {
  const node = (edges) => String(Object.assign(new lunr.TokenSet, { edges }));
  return node({ 1: { id: 234 } }) === node({ 1: { id: 2 }, 3: { id: 4 } });
})())";

// Opens what a search should find first, by the keyboard alone, and what closes it; `%s` is a query.
const char* const search_box_script = R"((() => {
  const input = document.getElementById("search"), results = document.getElementById("results");
  const type = (text) => { input.value = text; input.dispatchEvent(new Event("input")); };
  const press = (key) => input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const chosen = () => [...results.querySelectorAll("[role=option]")].findIndex((one) => one.getAttribute("aria-selected") === "true");
  const wrong = [];
  type("wavefronts");
  if (results.querySelectorAll("a").length === 0) wrong.push("search finds nothing");
  if (!results.querySelector(".snippet mark")) wrong.push("no hit is marked");
  if (!results.querySelector("small")) wrong.push("results do not say their page");
  if (!/^\d+\.\d+ /.test([...results.querySelectorAll(".result-title")].map((one) => one.textContent).find((one) => /^\d/.test(one)) || ""))
    wrong.push("results have no section numbers");
  press("ArrowDown");
  press("ArrowDown");
  if (chosen() !== 1 || input.getAttribute("aria-activedescendant") !== results.children[1].id) wrong.push("arrow keys do not choose");
  press("ArrowUp");
  if (chosen() !== 0) wrong.push("the arrow up does not go back");
  document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  if (!results.hidden) wrong.push("a click elsewhere does not close the results");
  type("wavefronts");
  press("Escape");
  if (!results.hidden) wrong.push("Escape does not close the results");
  type("");
  return wrong;
})())";

/// What a page turned out to be.
struct Page {
  std::string file;  ///< in the book's directory
  std::string url;
  std::set<std::string> ids;
  std::vector<std::string> links, complaints;
  std::map<std::string, std::string> sources;  ///< what its list of references says of each
  std::vector<double> line_lengths;            ///< characters a line, of paragraphs of several lines
};

bool is_source(const Page& page) { return page.file.find("source/") != std::string::npos; }

/// Whether this is what the browser's inspector says when it loads a page once more for itself, and is refused (Chromium 150).
bool is_of_inspector(const std::string& complaint) {
  return complaint.starts_with("log: \"Unsafe attempt to load URL file:") || complaint == "not loaded: ";
}

// Marks elements that hold, between them, each letter in each face.
const char* const letters_script = R"((() => {
  const seen = new Set();
  for (const element of document.querySelectorAll("main :is(strong, figcaption, p, td), .toc a[aria-current]")) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const parent = texts.currentNode.parentElement, before = seen.size;
      const { fontFamily, fontWeight, fontStyle, fontVariant } = getComputedStyle(parent);
      for (const letter of texts.currentNode.data) seen.add([letter, fontFamily, fontWeight, fontStyle, fontVariant].join());
      if (seen.size > before) parent.dataset.letters = "";
    }
  }
})())";

/// Bold text is drawn with the face made for it, and no text with a font of the system's. Asks the browser's inspector.
void check_fonts(Browser& browser, Page& page) {
  browser.evaluate(letters_script);
  browser.call("DOM.enable");
  browser.call("CSS.enable");
  const json root = browser.call("DOM.getDocument")["root"]["nodeId"];
  const json found = browser.call("DOM.querySelectorAll", {{"nodeId", root}, {"selector", "[data-letters]"}});
  std::set<std::string> complaints;
  for (const json& node : found["nodeIds"]) {
    const json drawn = browser.call("CSS.getPlatformFontsForNode", {{"nodeId", node}});
    for (const json& font : drawn["fonts"])
      if (!font["isCustomFont"])
        complaints.insert(
            fmt::format("text in {}, a font of the system's: {:.80}", font["familyName"].get<std::string>(),
                        browser.call("DOM.getOuterHTML", {{"nodeId", node}})["outerHTML"].get<std::string>()));
  }
  page.complaints.insert(page.complaints.end(), complaints.begin(), complaints.end());
}

/// A file, line by line, in which the line that a link leads to is marked.
void visit_source(Browser& browser, const fs::path& book, Page& page) {
  browser.set_width(400);
  browser.open(file_url(book / page.file) + "#L-2");
  if (!browser.evaluate("getComputedStyle(document.querySelector(':target')).backgroundColor.startsWith('rgb(')"))
    page.complaints.push_back("the line that a link leads to is not marked");
  if (const std::string overflow = browser.evaluate(overflow_script); !overflow.empty())
    page.complaints.push_back("400 px: " + overflow);
}

/// Looks at a page at each width, light and dark. It is loaded narrow, then made wider, and loaded again wide: scripts look at the
/// width as they start, and may ask for nothing but widths_at_start.
void visit_text(Browser& browser, const fs::path& book, const fs::path& screenshots, const std::string& checks,
                Page& page) {
  const auto complain = [&](const std::string& what) { page.complaints.push_back(what); };
  for (const int width : {400, 1000, 1400}) {
    const bool load = width != 1000;
    if (load) browser.open("about:blank");  // a page that is left need not be laid out once more
    browser.set_width(width);
    browser.set_media("dark");
    if (load) {
      browser.open(file_url(book / page.file));
      for (const std::string query : browser.evaluate("askedWidths"))
        if (query != widths_at_start)
          complain("a script asks for the width as it starts, and is not tried on both sides of it: " + query);
    }
    for (const char* scheme : {"dark", "light"}) {
      browser.set_media(scheme);
      for (const auto& family : browser.evaluate(fonts_script)) complain("font not loaded: " + family.dump());
      if (const std::string overflow = browser.evaluate(overflow_script); !overflow.empty())
        complain(fmt::format("{} px, {}: {}", width, scheme, overflow));
      for (const std::string complaint : browser.evaluate(fmt::format("{}({}, '{}')", checks, width, scheme)))
        complain(fmt::format("{} px, {}: {}", width, scheme, complaint));
      if (!screenshots.empty())
        save_screenshot(browser,
                        screenshots / fmt::format("{}-{}-{}.png", fs::path(page.file).stem().string(), width, scheme));
    }
  }
  for (const double length : browser.evaluate(line_lengths_script)) page.line_lengths.push_back(length);
  if (!browser.evaluate("document.getElementById('search') !== null && typeof TileSearch === 'object'"))
    complain("there is no search");
}

void visit(Browser& browser, const fs::path& book, const fs::path& screenshots, const std::string& checks, Page& page) {
  const auto complain = [&](const std::string& what) { page.complaints.push_back(what); };
  if (is_source(page)) {
    visit_source(browser, book, page);
  } else {
    visit_text(browser, book, screenshots, checks, page);
    for (const std::string& complaint : browser.take_complaints()) complain(complaint);
    check_fonts(browser, page);
    for (const std::string& complaint : browser.take_complaints())
      if (!is_of_inspector(complaint)) complain(complaint);
  }
  if (browser.evaluate(theme_stays_script)) complain("no button switches between light and dark");
  for (const std::string& complaint : browser.take_complaints()) complain(complaint);
  page.url = browser.evaluate("location.href.replace(/#.*/, '')");
  for (const auto& id : browser.evaluate(ids_script))
    if (!page.ids.insert(id).second) complain("id used twice: " + id.dump());
  for (const auto& link : browser.evaluate(links_script)) page.links.push_back(link);
  for (const auto& source : browser.evaluate(sources_script)) page.sources[source[0]] = source[1];
}

/// Visits all pages, several at a time: each browser takes the next one that nobody has taken.
void visit_all(const std::vector<std::unique_ptr<Browser>>& browsers, const fs::path& book, const fs::path& screenshots,
               const std::string& checks, std::vector<Page>& pages) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> at_work;
  for (const auto& browser : browsers)
    at_work.push_back(std::async(std::launch::async, [&] {
      browser->attach();
      for (const char* script : {note_widths_script, first_lines_script})
        browser->call("Page.addScriptToEvaluateOnNewDocument", {{"source", script}});
      for (std::size_t i = next++; i < pages.size(); i = next++) visit(*browser, book, screenshots, checks, pages[i]);
    }));
  for (auto& work : at_work) work.get();
}

/// Complains of what the keyboard does not do in the search of a page, and of the queries of a file whose first hit is not the one
/// that it says. All pages have the same index.
std::vector<std::string> check_searches(Browser& browser, const fs::path& page, const fs::path& queries) {
  browser.open(file_url(page));
  std::vector<std::string> complaints = browser.evaluate(search_box_script);
  if (browser.evaluate(nodes_alike_script))
    complaints.push_back("the index takes two nodes of its automaton for one: words with digits are lost");
  std::istringstream lines(files::read_text(queries));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto tab = line.find('\t');
    const json found = browser.evaluate(
        fmt::format("TileSearch.find({}).slice(0, 1).map((entry) => entry.page + '\\t' + entry.title)[0] || 'nothing'",
                    json(line.substr(0, tab)).dump()));
    if (found != line.substr(tab + 1))
      complaints.push_back(
          fmt::format("the search for '{}' finds '{}' first", line.substr(0, tab), found.get<std::string>()));
  }
  return complaints;
}

/// The lines of text are as long as is read with ease: their median, of all pages.
std::string complaint_about_measure(const std::vector<Page>& pages) {
  std::vector<double> lengths;
  for (const Page& page : pages) lengths.insert(lengths.end(), page.line_lengths.begin(), page.line_lengths.end());
  if (lengths.empty()) return "no text has a line";
  const auto middle = lengths.begin() + std::ptrdiff_t(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle >= 66 && *middle <= 75 ? "" : fmt::format("lines have {:.1f} characters, not 66 to 75", *middle);
}

/// Complains of sources that are called differently on two pages.
void compare_sources(std::vector<Page>& pages) {
  std::map<std::string, std::string> known;
  for (Page& page : pages)
    for (const auto& [id, says] : page.sources)
      if (const auto& first = known.try_emplace(id, says).first->second; first != says)
        page.complaints.push_back(fmt::format("a source is '{}' here, and '{}' on another page", says, first));
}

/// Complains of links to pages and places that are not there.
void follow_links(std::vector<Page>& pages) {
  std::map<std::string, const Page*> by_url;
  for (const Page& page : pages) by_url[page.url] = &page;
  for (Page& page : pages) {
    for (const std::string& link : page.links) {
      const auto hash = link.find('#');
      const std::string file = link.substr(0, hash);
      if (!file.starts_with("file:"))
        continue;  // the bibliography may point to the network; opening it is the reader's choice
      if (by_url.count(file) == 0)
        page.complaints.push_back("broken link: " + link);
      else if (hash != std::string::npos && hash + 1 < link.size() &&
               by_url[file]->ids.count(link.substr(hash + 1)) == 0)
        page.complaints.push_back("link to a missing place: " + link);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    fmt::print(stderr, "usage: browser CHROMIUM BOOK-DIRECTORY CHECKS-DIRECTORY [--screenshots DIRECTORY]\n");
    return 2;
  }
  const std::string program = argv[1];
  return run_in_browser("browser", program, [&] {
    const fs::path book = fs::absolute(argv[2]);
    const fs::path screenshots = argc == 6 ? argv[5] : "";
    const fs::path checks = argv[3];
    std::vector<Page> pages;
    for (const auto& entry : fs::recursive_directory_iterator(book))
      if (entry.path().extension() == ".html" && entry.path().filename() != "print.html")
        pages.push_back({fs::relative(entry.path(), book).string(), "", {}, {}, {}, {}, {}});
    std::sort(pages.begin(), pages.end(), [](const Page& a, const Page& b) { return a.file < b.file; });
    if (!screenshots.empty()) fs::create_directories(screenshots);
    std::vector<std::unique_ptr<Browser>> browsers;  // started before there are threads, for starting forks
    for (unsigned i = 0; i < parallel_browsers; ++i) browsers.push_back(std::make_unique<Browser>(program));
    visit_all(browsers, book, screenshots, "(" + files::read_text(checks / "page-checks.js") + ")", pages);
    follow_links(pages);
    compare_sources(pages);
    std::size_t links = 0, wrong = 0;
    std::vector<std::string> of_all = check_searches(*browsers.front(), book / "index.html", checks / "searches.tsv");
    if (const std::string why = complaint_about_measure(pages); !why.empty()) of_all.push_back(why);
    for (const std::string& complaint : of_all) fmt::print("all pages: {}\n", complaint);
    wrong += of_all.size();
    for (const Page& page : pages) {
      for (const std::string& complaint : page.complaints) fmt::print("{}: {}\n", page.file, complaint);
      links += page.links.size();
      wrong += page.complaints.size();
    }
    fmt::print("{} pages, {} links, {} complaints\n", pages.size(), links, wrong);
    return wrong == 0 && !pages.empty() ? 0 : 1;
  });
}
