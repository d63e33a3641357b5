// What `tile count --json` prints; fields.tsv says what each field means. In: runs. Out: one JSON document.
#pragma once

#include <vector>

#include "common/bench/ceilings.hpp"
#include "common/count/run.hpp"

namespace tile::counting {

/// A file, or part of one, that could not be counted.
struct Failure {
  std::string file, message;
};

Json document(const std::vector<Run>& runs, const std::vector<Failure>& failures, const Rates& rates, int registers);

}  // namespace tile::counting
