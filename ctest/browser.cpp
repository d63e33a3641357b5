// Opens every page of the woven book in headless Chromium, from disk, wide and narrow, light and dark. Fails on a console
// message of level error, an exception, a resource that does not load, a request that is not file:, a broken link, text
// that runs out of the page, or a search that finds nothing.
// Usage: browser CHROMIUM BOOK-DIRECTORY [--screenshots DIRECTORY]
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ctest/chromium.hpp"
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

const char* const links_script = R"([...document.querySelectorAll("a[href]")].map((a) => a.href))";
const char* const ids_script = R"([...document.querySelectorAll("[id]")].map((e) => e.id))";
const char* const fonts_script =
    R"(document.fonts.ready.then(() => [...document.fonts].filter((f) => f.status === "error").map((f) => f.family)))";
const char* const search_script = R"((() => {
  const input = document.getElementById("search");
  input.value = "wavefronts";
  input.dispatchEvent(new Event("input"));
  const found = document.querySelectorAll("#results a").length;
  input.value = "";
  input.dispatchEvent(new Event("input"));
  return found;
})())";

/// What a page turned out to be.
struct Page {
  std::string file;  ///< in the book's directory
  std::string url;
  std::set<std::string> ids;
  std::vector<std::string> links, complaints;
};

/// Loads a page at each width, because its script looks at the width as it starts; the scheme changes nothing but style.
void visit(Browser& browser, const fs::path& book, const fs::path& screenshots, Page& page) {
  const bool is_text = page.file.find("source/") == std::string::npos;
  const auto complain = [&](const std::string& what) { page.complaints.push_back(what); };
  for (const int width : {400, 1000, 1400}) {
    browser.set_width(width);
    browser.open(file_url(book / page.file));
    for (const char* scheme : {"light", "dark"}) {
      browser.set_media(scheme);
      for (const auto& family : browser.evaluate(fonts_script)) complain("font not loaded: " + family.dump());
      if (const std::string overflow = browser.evaluate(overflow_script); !overflow.empty())
        complain(fmt::format("{} px, {}: {}", width, scheme, overflow));
      if (!screenshots.empty() && is_text)
        save_screenshot(browser,
                        screenshots / fmt::format("{}-{}-{}.png", fs::path(page.file).stem().string(), width, scheme));
      for (const std::string& complaint : browser.take_complaints()) complain(complaint);
    }
  }
  page.url = browser.evaluate("location.href");
  for (const auto& id : browser.evaluate(ids_script))
    if (!page.ids.insert(id).second) complain("id used twice: " + id.dump());
  for (const auto& link : browser.evaluate(links_script)) page.links.push_back(link);
  if (is_text && browser.evaluate(search_script) == 0) complain("search finds nothing");
}

/// Visits all pages, several at a time: each browser takes the next one that nobody has taken.
void visit_all(const std::string& program, const fs::path& book, const fs::path& screenshots,
               std::vector<Page>& pages) {
  std::vector<std::unique_ptr<Browser>> browsers;  // started before there are threads, for starting forks
  for (unsigned i = 0; i < parallel_browsers; ++i) browsers.push_back(std::make_unique<Browser>(program));
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> at_work;
  for (const auto& browser : browsers)
    at_work.push_back(std::async(std::launch::async, [&] {
      browser->attach();
      for (std::size_t i = next++; i < pages.size(); i = next++) visit(*browser, book, screenshots, pages[i]);
    }));
  for (auto& work : at_work) work.get();
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
  if (argc != 3 && argc != 5) {
    fmt::print(stderr, "usage: browser CHROMIUM BOOK-DIRECTORY [--screenshots DIRECTORY]\n");
    return 2;
  }
  const std::string program = argv[1];
  const fs::path book = fs::absolute(argv[2]);
  const fs::path screenshots = argc == 5 ? argv[4] : "";
  if (program.empty() || !fs::exists(program)) {
    fmt::print("skipped: chromium is not installed (sudo apt-get install chromium)\n");
    return 77;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(240);  // a browser that hangs must not hang the tests
  try {
    std::vector<Page> pages;
    for (const auto& entry : fs::recursive_directory_iterator(book))
      if (entry.path().extension() == ".html" && entry.path().filename() != "print.html")
        pages.push_back({fs::relative(entry.path(), book).string(), "", {}, {}, {}});
    std::sort(pages.begin(), pages.end(), [](const Page& a, const Page& b) { return a.file < b.file; });
    if (!screenshots.empty()) fs::create_directories(screenshots);
    visit_all(program, book, screenshots, pages);
    follow_links(pages);
    std::size_t links = 0, wrong = 0;
    for (const Page& page : pages) {
      for (const std::string& complaint : page.complaints) fmt::print("{}: {}\n", page.file, complaint);
      links += page.links.size();
      wrong += page.complaints.size();
    }
    fmt::print("{} pages, {} links, {} complaints\n", pages.size(), links, wrong);
    return wrong == 0 && !pages.empty() ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "browser: {}\n", e.what());
    return 1;
  }
}
