// Opens every page of the woven book in headless Chromium, from disk, wide and narrow, light and dark. Fails on a console
// message of level error, an exception, a resource that does not load, a request that is not file:, a broken link, text
// that runs out of the page, or a search that finds nothing.
//
// Speaks the DevTools protocol over --remote-debugging-pipe: JSON messages, each ended by a NUL byte, on file
// descriptors 3 and 4. Usage: browser CHROMIUM BOOK-DIRECTORY [--screenshots DIRECTORY]
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
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

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr unsigned parallel_browsers = 2;  // as many cores as the test reserves (CMakeLists.txt)

class Browser {
 public:
  explicit Browser(const std::string& program) {
    std::string profile = (fs::temp_directory_path() / "tile-browser-XXXXXX").string();
    if (mkdtemp(profile.data()) == nullptr) throw std::runtime_error("cannot make a directory " + profile);
    profile_ = profile;
    int to_child[2], from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) throw std::runtime_error("pipe failed");
    child_ = fork();
    if (child_ == 0) {
      dup2(to_child[0], 63);  // out of the way of 3 and 4 first
      dup2(from_child[1], 62);
      dup2(63, 3);
      dup2(62, 4);
      for (int fd = 5; fd < 64; ++fd) close(fd);
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(127);  // it chatters about desktops it does not find
      const std::string directory = "--user-data-dir=" + profile_.string();
      execl(program.c_str(), program.c_str(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--remote-debugging-pipe", directory.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    write_ = to_child[1];
    read_ = from_child[0];
  }
  ~Browser() {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(profile_, ignored);
  }
  Browser(const Browser&) = delete;

  json call(const std::string& method, const json& params = json::object()) {
    const int id = ++last_id_;
    json message{{"id", id}, {"method", method}, {"params", params}};
    if (!session_.empty()) message["sessionId"] = session_;
    const std::string text = message.dump() + '\0';
    if (write(write_, text.data(), text.size()) != ssize_t(text.size()))
      throw std::runtime_error("the browser is gone");
    for (;;) {
      const json reply = receive();
      if (reply.value("id", 0) != id) continue;
      if (reply.contains("error")) throw std::runtime_error(method + ": " + reply["error"].dump());
      return reply["result"];
    }
  }
  void attach() {
    const std::string target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
    session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
    for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) call(domain);
  }
  void open(const std::string& url) {
    loaded_ = false;
    call("Page.navigate", {{"url", url}});
    while (!loaded_) receive();
  }
  json evaluate(const std::string& expression) {
    const json result =
        call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    if (result.contains("exceptionDetails"))
      throw std::runtime_error("in the page: " + result["exceptionDetails"].dump());
    return result["result"].value("value", json());
  }
  std::vector<std::string> take_complaints() { return std::exchange(complaints_, {}); }

 private:
  json receive() {
    for (;;) {
      if (const auto end = buffer_.find('\0'); end != std::string::npos) {
        const json message = json::parse(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
        note(message);
        return message;
      }
      char chunk[65536];
      const ssize_t got = read(read_, chunk, sizeof chunk);
      if (got <= 0) throw std::runtime_error("the browser ended");
      buffer_.append(chunk, std::size_t(got));
    }
  }
  void note(const json& message) {
    const std::string method = message.value("method", "");
    if (method.empty()) return;
    const json& p = message["params"];
    if (method == "Page.loadEventFired") loaded_ = true;
    if (method == "Runtime.exceptionThrown") complaints_.push_back("exception: " + p["exceptionDetails"].dump());
    if (method == "Runtime.consoleAPICalled" && p["type"] == "error")
      complaints_.push_back("console: " + p["args"].dump());
    if (method == "Log.entryAdded" && p["entry"]["level"] == "error")
      complaints_.push_back("log: " + p["entry"]["text"].dump());
    if (method == "Network.loadingFailed") complaints_.push_back("not loaded: " + p.value("errorText", "?"));
    if (method == "Network.requestWillBeSent") {
      const std::string url = p["request"]["url"];
      if (!url.starts_with("file:") && !url.starts_with("data:") && url != "about:blank")
        complaints_.push_back("network request: " + url);
    }
  }

  pid_t child_ = -1;
  int read_ = -1, write_ = -1, last_id_ = 0;
  std::string session_, buffer_;
  bool loaded_ = false;
  fs::path profile_;
  std::vector<std::string> complaints_;
};

void save_screenshot(Browser& browser, const fs::path& file) {
  const std::string base64 = browser.call("Page.captureScreenshot", {{"captureBeyondViewport", true}})["data"];
  std::ofstream(file.string() + ".base64") << base64;
  if (std::system(fmt::format("base64 -d '{0}.base64' > '{0}' && rm '{0}.base64'", file.string()).c_str()) != 0)
    throw std::runtime_error("cannot write " + file.string());
}

// The URL of a file, for a browser that takes '#', '?' and '%' in one as its own.
std::string file_url(const fs::path& file) {
  std::string url = "file://";
  for (const char c : file.string())
    url += c == '#' || c == '?' || c == '%' ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  return url;
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

void set_width(Browser& browser, int width) {
  browser.call("Emulation.setDeviceMetricsOverride",
               {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void set_scheme(Browser& browser, const char* scheme) {
  browser.call("Emulation.setEmulatedMedia",
               {{"features", json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
}

/// Loads a page at each width, because its script looks at the width as it starts; the scheme changes nothing but style.
void visit(Browser& browser, const fs::path& book, const fs::path& screenshots, Page& page) {
  const bool is_text = page.file.find("source/") == std::string::npos;
  const auto complain = [&](const std::string& what) { page.complaints.push_back(what); };
  for (const int width : {400, 1000, 1400}) {
    set_width(browser, width);
    browser.open(file_url(book / page.file));
    for (const char* scheme : {"light", "dark"}) {
      set_scheme(browser, scheme);
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
