// What a program says on standard error, for tests of it.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

namespace tile {

/// What is written to standard error while f() runs, by it or by anything else of this process. Throws std::system_error if there is
/// no room for a temporary file, or no descriptor left.
template <class F>
std::string written_to_stderr(F&& f) {
  const auto checked = [](int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "standard error");
    return result;
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  checked(file ? 0 : -1);
  std::fflush(stderr);
  struct Restored {
    int kept;
    ~Restored() {
      std::fflush(stderr);
      dup2(kept, STDERR_FILENO);
      close(kept);
    }
  };
  {
    const Restored restored{checked(dup(STDERR_FILENO))};
    checked(dup2(fileno(file.get()), STDERR_FILENO));
    f();
  }
  std::rewind(file.get());
  std::string written;
  for (int c = 0; (c = std::fgetc(file.get())) != EOF;) written += char(c);
  return written;
}

}  // namespace tile
