// Checked runs of a GEMM on the SIMT model.
#pragma once

#include <string>

#include "common/check/gemm.hpp"
#include "common/check/operands.hpp"
#include "common/sim/model.hpp"
#include "common/sim/rules.hpp"

namespace tile {

/// What is started for a problem, without running it: see simt::launches. Of several kernels, this and what follows tell of the
/// last, which makes C; all are checked.
simt::Counts launched(const Runnable& kernel, const Case& c);

/// Runs a kernel with the model's checks on; throws simt::Error for a race, a stray access or an element of C that
/// nobody wrote, and std::runtime_error for a wrong result.
simt::Counts traced_run(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for shapes that need no counts.
void require_clean(const Runnable& kernel, const Case& c);

/// The same for counts that are shown. Throws std::runtime_error as well when a count would be a guess, because the lanes of
/// a warp come to an access after different numbers of loop turns.
simt::Counts count(const Runnable& kernel, const Case& c, const simt::Trace& options = {});

/// Throws std::runtime_error as count() does, where a count is a guess.
void require_no_guess(const simt::Counts& counts);

/// The bank of shared memory with the most different words to serve at once: "bank 0 has 2 words to serve at once: word 0 for
/// lane 0, word 512 for lane 17"; "" where no bank has two. Words count from where the addresses do.
std::string bank_conflict(const simt::WarpAccess& access, bool is_load);

}  // namespace tile
