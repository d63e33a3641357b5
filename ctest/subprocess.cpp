#include "ctest/subprocess.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "common/sim/rewrite/files.hpp"

namespace subprocess {

Ended run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const std::filesystem::path& log, const std::map<std::string, std::string>& settings) {
  namespace bp = boost::process;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> said(std::fopen(log.c_str(), "we"), std::fclose);
  if (!said) throw std::runtime_error(fmt::format("cannot write {}", log.string()));
  // The shell finds the program; it gives its place to it.
  std::vector<std::string> words{"-c", "exec \"$@\"", "sh", program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  bp::environment environment = boost::this_process::environment();
  for (const auto& [name, value] : settings) environment[name] = value;
  bp::child child(bp::exe = "/bin/sh", bp::args = words, bp::std_in<bp::null, (bp::std_out & bp::std_err)> said.get(),
                  environment);
  child.wait();
  const int raw = child.native_exit_code();
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), files::read_text(log)};
}

}  // namespace subprocess
