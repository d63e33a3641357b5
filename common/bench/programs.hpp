// What other programs say of a chapter's kernels: Nsight Compute and the disassembler, merged into its record, and the chapter's own
// program, which the record is compared with.
//
// A program describes itself (`chapterNN --describe program`) as a JSON object:
//   chapter          its number
//   directory        in which measured/ has its records
//   nvcc             the version that compiles it for the GPU, or ""
//   kernels          in the order of a record: "name"; with `--describe counts` "tallies", what the model counts at the
//                    chapter's counted problem
//   profiled_pads    pads with which `tile bench` profiles the kernels as well
//   step             what `tile bench` does besides: "tune", "sweep" or ""
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel
/// the counters of its last launch, under the key `group`, and [lowest, highest] of those that differed between launches under
/// `group` + "_range"; what is no kernel of the record goes under "other_kernels". Throws RecordError without any launch.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

/// Tallies (machine_code.hpp) of the output of `cuobjdump -sass` for each kernel of the record, "other_kernels" included: of
/// the whole function under "sass", and of its main loop, with the places in it, under "sass_loop". Throws RecordError when a
/// kernel of the chapter is missing.
void add_sass(Record& record, const std::filesystem::path& sass);

/// A line for each row of the book's table of counters that is neither equal nor named in differences.json; `counted` is
/// what the program says with `--describe counts`.
std::vector<std::string> unexplained_counters(const Record& record, const Record& counted);

}  // namespace tile
