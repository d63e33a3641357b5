// Another program, run to its end. In: its name and arguments. Out: how it ended, and what it said, in a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace subprocess {

struct Ended {
  int status;          ///< its exit code; 128 and the number of the signal that ended it
  std::string output;  ///< stdout and stderr together
};

/// Runs a program, by its path or as the shell would find it, and writes what it says to `log`; `settings` are added to its
/// environment. The status is 127 when there is no such program. Throws std::runtime_error when the log cannot be written.
Ended run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const std::filesystem::path& log, const std::map<std::string, std::string>& settings = {});

}  // namespace subprocess
