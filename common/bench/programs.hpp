// Other programs' output about a chapter's kernels: from Nsight Compute and the disassembler, merged into its record, and from the
// chapter's own program, with which the record is compared.
//
// A program describes itself (`chapterNN --describe program`) as a JSON object:
//   chapter          its number
//   directory        whose measured/ has its records
//   nvcc             the version that compiles it for the GPU, or ""
//   kernels          how many it has
//   profiled_pads    pads with which `tile bench` also profiles the kernels
//   step             an additional step of `tile bench`: "tune", "sweep" or ""
//   unexplained      with `--describe counts`: a line for each counter of the reference GPU's record that neither equals the
//                    model's count nor is explained in differences.json
#pragma once

#include <filesystem>
#include <string>

#include "common/bench/record.hpp"

namespace tile {

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel
/// the median of each counter over its launches, under the key `group`, and [lowest, highest] of those that differed between
/// launches under `group` + "_range". Functions that are not the record's kernels go under "other_kernels". Throws RecordError if
/// there is no launch.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

/// Merges tallies (machine_code.hpp) of the output of `cuobjdump -sass` into the entry of each kernel, "other_kernels" included: of
/// the whole function under "sass", of its main loop, with positions, under "sass_loop". Throws RecordError if one is missing.
void add_sass(Record& record, const std::filesystem::path& sass);

}  // namespace tile
