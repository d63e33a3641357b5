// main() of a program that `tile count` makes of a reader's file: runs each TILE_COUNT and writes what was counted as one line of
// JSON (common/count/run.hpp) to the descriptor that its argument names; without one, to stdout.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/sim/model.hpp"
#include "common/count/count.hpp"
#include "common/count/run.hpp"

namespace tile {
namespace {

struct Described {
  const char* title;
  void (*body)();
};
std::vector<Described>& described() {
  static std::vector<Described> instance;
  return instance;
}

double stated_flops = 0;

counting::Run counted(const Described& one) {
  counting::Run run;
  run.title = one.title;
  stated_flops = 0;
  // What was launched before an error has been counted.
  run.kernels = simt::trace([&] {
    try {
      one.body();
    } catch (const std::exception& e) {
      run.error = e.what();
    } catch (...) {
      run.error = "what it throws is no std::exception";
    }
  });
  if (run.kernels.empty() && run.error.empty()) run.error = "it launches nothing: call tile::launch in its TILE_COUNT";
  if (run.error.empty()) run.flops = stated_flops;
  return run;
}

// Says on stderr which run is being counted if that takes long; it says so once.
class Progress {
 public:
  explicit Progress(const char* title) : waits_([this, title] { say_if_slow(title); }) {}
  ~Progress() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    waits_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void say_if_slow(const char* title) {
    static bool said = false;
    std::unique_lock lock(mutex_);
    if (said || ended_.wait_for(lock, std::chrono::seconds(5), [this] { return done_; })) return;
    said = true;
    fmt::print(
        stderr,
        "count: still counting \"{}\"; a smaller size in its TILE_COUNT is enough where its counts grow with it\n",
        title);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread waits_;
};

}  // namespace

CountedRun::CountedRun(const char* title, void (*body)()) { described().push_back({title, body}); }

void flops(double of_this_run) { stated_flops = of_this_run; }

}  // namespace tile

int main(int argc, char** argv) {
  std::FILE* const out = argc > 1 ? fdopen(std::atoi(argv[1]), "w") : stdout;
  if (out == nullptr) return 2;
  int status = 0;
  for (const auto& one : tile::described()) {
    const tile::counting::Run run = [&] {
      const tile::Progress progress(one.title);
      return tile::counted(one);
    }();
    fmt::print(out, "{}\n", tile::counting::to_json(run).dump());
    std::fflush(out);
    if (!run.error.empty()) status = 1;
  }
  return status;
}
