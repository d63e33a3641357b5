#include "common/bench/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

#include "common/bench/record.hpp"

namespace tile {
namespace {

constexpr std::array ending_signals{SIGHUP, SIGINT, SIGTERM};
std::string unfinished;

void remove_unfinished(int signal) {
  unlink(unfinished.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// While it lives, a signal that ends the program removes a file first. Signals that the program ignores or handles itself
/// are left alone.
class RemovedBySignals {
 public:
  explicit RemovedBySignals(const std::filesystem::path& file) {
    unfinished = file.string();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      before_[i] = std::signal(ending_signals[i], remove_unfinished);
      if (before_[i] != SIG_DFL) std::signal(ending_signals[i], before_[i]);
    }
  }
  ~RemovedBySignals() {
    for (std::size_t i = 0; i < before_.size(); ++i) std::signal(ending_signals[i], before_[i]);
  }
  RemovedBySignals(const RemovedBySignals&) = delete;

 private:
  std::array<void (*)(int), ending_signals.size()> before_;
};

}  // namespace

std::string read_whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw RecordError(fmt::format("cannot read {}: check that it exists and is readable", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_whole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path part = file.string() + ".part";
  const RemovedBySignals removed(part);
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out && (std::filesystem::rename(part, file, error), !error)) return true;
  std::filesystem::remove(part, error);
  return false;
}

}  // namespace tile
