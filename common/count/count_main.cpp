// main() of a program that `tile count` makes of a reader's file: runs each TILE_COUNT and writes what was counted as one line of
// JSON (common/count/counting.hpp) to the descriptor that its argument names.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "common/count/count.hpp"
#include "common/count/counting.hpp"

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

}  // namespace

CountedRun::CountedRun(const char* title, void (*body)()) { described().push_back({title, body}); }

void flops(double of_this_run) { stated_flops = of_this_run; }

}  // namespace tile

int main(int argc, char** argv) {
  std::FILE* const out = argc > 1 ? fdopen(std::atoi(argv[1]), "w") : stdout;
  if (out == nullptr) return 2;
  for (const auto& one : tile::described()) {
    fmt::print(out, "{}\n", tile::counting::Json(tile::counted(one)).dump());
    std::fflush(out);
  }
}
