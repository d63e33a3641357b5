// main() of the program that `tile count` makes from a user's file: runs each TILE_COUNT and writes its counts as one
// line of JSON (common/count/counting.hpp) to the file given as argument.
#include <exception>
#include <fstream>
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
  // Launches before an error have been counted.
  run.kernels = simt::trace([&] {
    try {
      one.body();
    } catch (const std::exception& e) {
      run.error = e.what();
    } catch (...) {
      run.error = "it throws something that is not a std::exception";
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

int main(int, char** argv) {
  std::ofstream out(argv[1]);
  for (const auto& one : tile::described()) out << tile::counting::Json(tile::counted(one)).dump() << std::endl;
}
