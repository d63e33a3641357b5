// main() of a program that `tile count` makes of a reader's file: runs each TILE_COUNT and writes what was counted as one line of
// JSON (common/report/count/run.hpp) to the descriptor that its argument names; without one, to stdout.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "common/model/model.hpp"
#include "common/report/count.hpp"
#include "common/report/count/run.hpp"

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
  try {
    run.kernels = simt::trace(one.body);
    if (run.kernels.empty()) run.error = "it launches nothing: call tile::launch in its TILE_COUNT";
  } catch (const std::exception& e) {
    run.error = e.what();
  }
  run.flops = stated_flops;
  return run;
}

}  // namespace

CountedRun::CountedRun(const char* title, void (*body)()) { described().push_back({title, body}); }

void flops(double of_this_run) { stated_flops = of_this_run; }

}  // namespace tile

int main(int argc, char** argv) {
  std::FILE* const out = argc > 1 ? fdopen(std::atoi(argv[1]), "w") : stdout;
  if (out == nullptr) return 2;
  int status = 0;
  for (const auto& one : tile::described()) {
    const tile::counting::Run run = tile::counted(one);
    fmt::print(out, "{}\n", tile::counting::to_json(run).dump());
    std::fflush(out);
    if (!run.error.empty()) status = 1;
  }
  return status;
}
