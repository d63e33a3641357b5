// A GEMM on the SIMT model: checked runs, and access sites by the tags that the source gives them (`//@ store-As` at
// the end of a line). In: a kernel and a case. Out: the model's counts, or an exception that says what is wrong.
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

/// The launch for a problem, without running it: see simt::launches. If there are several kernels, this and the next
/// functions return the last one, which writes C; all are checked.
simt::Counts launched(const Launchable& kernel, const Case& c);

/// Runs a kernel with the model's checks on; throws simt::Error for a race, a stray access or an unwritten element of
/// C, and std::runtime_error for a wrong result.
simt::Counts traced_run(const Launchable& kernel, const Case& c, const simt::Trace& options = {});

/// The same for counts that are shown. It also throws std::runtime_error if a count would be a guess, because the lanes
/// of a warp reach an access after different numbers of loop iterations.
simt::Counts count(const Launchable& kernel, const Case& c, const simt::Trace& options = {});

/// The bank of shared memory with the most distinct words to serve at once: "bank 0 has 2 words to serve at once: word
/// 0 for lane 0, word 512 for lane 17"; "" if no bank has two. Words are numbered from address 0.
std::string bank_conflict(const simt::WarpAccess& access, bool is_load);

/// The tag that the source gives the site, or "". A line with an asynchronous copy has two sites and two tags, `//@
/// load-A store-As`: one for the load and one for the store.
std::string tag_of(const simt::Site& site);
/// Whether `tag` is the site's tag.
bool has_tag(const simt::Site& site, std::string_view tag);
/// The site's tag, or "line 12" for one without.
std::string label_of(const simt::Site& site);

/// The access site that the source tags `//@ tag`; throws std::out_of_range unless exactly one carries it.
const simt::Site& site(const simt::Counts& counts, std::string_view tag);
/// bank_conflict() for the sampled access of that site of shared memory, with kernel and line in front:
/// "sgemm<...>, chapter12.cu:131, store-As: bank 0 has 2 words ..."; "" if it has no bank conflict.
std::string bank_conflict(const simt::Counts& counts, std::string_view tag);

/// The lines of the chapter's source, the first one at index 0. Throws std::runtime_error if it cannot be read.
std::vector<std::string> source_lines();

}  // namespace tile
