#include "ctest/chromium.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <boost/process/args.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <stdexcept>

#include "common/sim/rewrite/files.hpp"

namespace bp = boost::process;
namespace fs = std::filesystem;
using nlohmann::json;

Browser::Browser(const std::string& program) {
  std::string profile = (fs::temp_directory_path() / "tile-browser-XXXXXX").string();
  if (mkdtemp(profile.data()) == nullptr) throw std::runtime_error("cannot make a directory " + profile);
  profile_ = profile;
  // What it reads and says on 3 and 4 are pipes to here; besides, it chatters about desktops that it does not find.
  const std::string places = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
  child_ = bp::child(bp::exe = "/bin/sh",
                     bp::args = {"-c", places, "sh", program, "--headless", "--no-sandbox", "--disable-gpu",
                                 "--disable-threaded-compositing",  // nobody looks: a quarter less time
                                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                                 "--disable-sync", "--remote-debugging-pipe", "--user-data-dir=" + profile},
                     bp::std_in<to_child_, bp::std_out> from_child_);
}

Browser::~Browser() {
  kill(child_.id(), SIGTERM);
  child_.wait();
  std::error_code ignored;
  fs::remove_all(profile_, ignored);
}

json Browser::call(const std::string& method, const json& params) {
  const int id = ++last_id_;
  json message{{"id", id}, {"method", method}, {"params", params}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  if (to_child_.write(text.data(), int(text.size())) != int(text.size()))
    throw std::runtime_error("the browser is gone");
  for (;;) {
    const json reply = receive();
    if (reply.value("id", 0) != id) continue;
    if (reply.contains("error")) throw std::runtime_error(method + ": " + reply["error"].dump());
    return reply["result"];
  }
}

void Browser::attach() {
  const std::string target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
  session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) call(domain);
}

void Browser::open(const std::string& url) {
  loaded_ = false;
  call("Page.navigate", {{"url", url}});
  while (!loaded_) receive();
}

json Browser::evaluate(const std::string& expression) {
  const json result =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (result.contains("exceptionDetails"))
    throw std::runtime_error("in the page: " + result["exceptionDetails"].dump());
  return result["result"].value("value", json());
}

void Browser::set_width(int width) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::set_media(const char* scheme, const char* medium) {
  call("Emulation.setEmulatedMedia",
       {{"media", medium}, {"features", json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
}

json Browser::receive() {
  for (;;) {
    if (const auto end = buffer_.find('\0'); end != std::string::npos) {
      const json message = json::parse(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
      note(message);
      return message;
    }
    char chunk[65536];
    const int got = from_child_.read(chunk, sizeof chunk);
    if (got <= 0) throw std::runtime_error("the browser ended");
    buffer_.append(chunk, std::size_t(got));
  }
}

void Browser::note(const json& message) {
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

std::string file_url(const fs::path& file) {
  std::string url = "file://";
  for (const char c : file.string())
    url += c == '#' || c == '?' || c == '%' ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  return url;
}

std::vector<fs::path> pages_with_script(const fs::path& book, const std::string& script) {
  const std::string loaded = "src=\"" + script + "\"";
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(book))
    if (entry.path().extension() == ".html" && files::read_text(entry.path()).find(loaded) != std::string::npos)
      pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  if (pages.empty()) throw std::runtime_error("no page of " + book.string() + " loads " + script);
  return pages;
}

int run_in_browser(const char* name, const std::string& program, const std::function<int()>& test) {
  if (program.empty() || !fs::exists(program)) {
    fmt::print("skipped: chromium is not installed (sudo apt-get install chromium)\n");
    return 77;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(900);  // a browser that hangs must not hang the tests
  try {
    return test();
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return 1;
  }
}
