// Runs another program to its end. In: its name and arguments. Out: its status, and its output in a file.
#pragma once

#include <sys/wait.h>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/sim/rewrite/files.hpp"

namespace subprocess {

struct Ended {
  int status;          ///< its exit code; 128 and the number of the signal that ended it
  std::string output;  ///< stdout and stderr together
};

/// Runs a program, by its path or as found by the shell, and writes its output to `log`; `settings` are added to its
/// environment. The status is 127 if there is no such program. Throws std::system_error if the log cannot be written.
inline Ended run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::filesystem::path& log, const std::map<std::string, std::string>& settings = {}) {
  namespace bp = boost::process;
  std::vector<std::string> words;  // of env(1), which finds the program
  for (const auto& [name, value] : settings) words.push_back(name + "=" + value);
  words.push_back(program.string());
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::filesystem::remove(log);  // Boost writes over the beginning of a file
  bp::child child(bp::exe = "/usr/bin/env", bp::args = words,
                  bp::std_in<bp::null, (bp::std_out & bp::std_err)> log.string());
  child.wait();
  const int raw = child.native_exit_code();
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), files::read_text(log)};
}

}  // namespace subprocess
