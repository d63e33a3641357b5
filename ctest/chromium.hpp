// A headless Chromium that opens pages from disk and says what went wrong in them.
//
// Speaks the DevTools protocol over --remote-debugging-pipe: JSON messages, each ended by a NUL byte, on file
// descriptors 3 and 4.
#pragma once

#include <boost/process/child.hpp>
#include <boost/process/pipe.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

class Browser {
 public:
  explicit Browser(const std::string& program);
  ~Browser();
  Browser(const Browser&) = delete;

  nlohmann::json call(const std::string& method, const nlohmann::json& params = nlohmann::json::object());
  /// To be called once, before pages are opened.
  void attach();
  /// Returns when the page has loaded.
  void open(const std::string& url);
  nlohmann::json evaluate(const std::string& expression);
  /// Exceptions, console errors, resources that did not load and requests to the network since the last call.
  std::vector<std::string> take_complaints() { return std::exchange(complaints_, {}); }

  void set_width(int width);
  /// "light" or "dark", and "screen" or "print".
  void set_media(const char* scheme, const char* medium = "screen");

 private:
  nlohmann::json receive();
  void note(const nlohmann::json& message);

  boost::process::child child_;
  boost::process::pipe to_child_, from_child_;
  int last_id_ = 0;
  std::string session_, buffer_;
  bool loaded_ = false;
  std::filesystem::path profile_;
  std::vector<std::string> complaints_;
};

/// The URL of a file, for a browser that takes '#', '?' and '%' in one as its own.
std::string file_url(const std::filesystem::path& file);

/// The pages of a woven book that load a script. Throws std::runtime_error if none does.
std::vector<std::filesystem::path> pages_with_script(const std::filesystem::path& book, const std::string& script);

/// The exit status of a test that needs the browser `program`: what `test` returns, 77 for skipped if there is no such
/// file, 1 if it throws, after a line that begins with `name`.
int run_in_browser(const char* name, const std::string& program, const std::function<int()>& test);
