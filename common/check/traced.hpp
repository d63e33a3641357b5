// A GEMM on the SIMT model: checked runs of it, and its access sites by the names that the source gives them (`//@
// store-As` at the end of a line). In: a kernel and a case. Out: what the model counted, or an exception that says what
// is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/check/gemm.hpp"
#include "common/check/operands.hpp"
#include "common/check/repository.hpp"
#include "common/sim/model.hpp"
#include "common/sim/rules.hpp"

namespace tile {

/// What is started for a problem, without running it: see simt::launches. Of several kernels, this and what follows
/// tell of the last, which makes C; all are checked.
simt::Counts launched(const Launchable& kernel, const Case& c);

/// Runs a kernel with the model's checks on; throws simt::Error for a race, a stray access or an element of C that
/// nobody wrote, and std::runtime_error for a wrong result.
simt::Counts traced_run(const Launchable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for counts that are shown. Throws std::runtime_error as well when a count would be a guess, because the
/// lanes of a warp come to an access after different numbers of loop turns.
simt::Counts count(const Launchable& kernel, const Case& c, const simt::Trace& options = {});

/// The bank of shared memory with the most different words to serve at once: "bank 0 has 2 words to serve at once: word
/// 0 for lane 0, word 512 for lane 17"; "" where no bank has two. Words count from where the addresses do.
std::string bank_conflict(const simt::WarpAccess& access, bool is_load);

/// The tag that the source gives the site, or "". A line with an asynchronous copy has two sites and two tags, `//@
/// load-A store-As`: that of what it loads and that of what it stores.
std::string tag_of(const simt::Site& site);
/// Whether that is the site's tag.
bool has_tag(const simt::Site& site, std::string_view tag);
/// The site's tag, or "line 12" for one without.
std::string label_of(const simt::Site& site);

/// The access site that the source tags `//@ tag`; throws std::out_of_range unless exactly one carries it.
const simt::Site& site(const simt::Counts& counts, std::string_view tag);
/// What bank_conflict says of the sampled access of that site of shared memory, with kernel and line in front:
/// "sgemm<...>, chapter12.cu:131, store-As: bank 0 has 2 words ..."; "" where no two lanes that are served together
/// meet in a bank.
std::string bank_conflict(const simt::Counts& counts, std::string_view tag);

/// The lines of the chapter's source, the first one at index 0. Throws std::runtime_error when it cannot be read.
std::vector<std::string> source_lines();

}  // namespace tile
