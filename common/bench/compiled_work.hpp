// What nvcc made of a kernel, as work that ceilings follow from. In: the work of its source, its entry in a record. Out: the work of
// its machine code, as far as the record knows it.
#pragma once

#include <optional>

#include "common/bench/ceilings.hpp"
#include "common/bench/record.hpp"

namespace tile {

/// The work of what nvcc made of a kernel whose source does `work` at `to`, and `counted` on the chapter's problem: instructions that
/// the hardware counted at `to`; shared wavefronts, so many times the source's as it counted on the chapter's problem; and the register reads of its machine code's
/// main loop. Global accesses stay as in the source if the hardware counted as many requests of loads, and are left out
/// otherwise, where nvcc has merged some; `counted_load_requests` is the model's count of these. Nothing where `kernel`, its entry in `record`,
/// lacks the counters, was not profiled at `to`, or has no FFMA in a loop.
std::optional<Work> work_as_compiled(Work work, const Record& kernel, const Record& record,
                                     double counted_load_requests, const Work& counted, const Case& to);

}  // namespace tile
