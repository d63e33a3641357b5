// `--tune`: a GPU times the configurations that a chapter's tuner may choose among. In: the chapter's candidates, the tuning
// that is there already. Out: that tuning with more times and the choice, and the landscape on stdout. GPU programs only.
#pragma once

#include "common/report/options.hpp"

namespace tile {

/// Times the candidates that have no time yet, saves each time at once, and so can be stopped and continued. Returns the
/// program's exit code.
int tune(const Options& options);

}  // namespace tile
