// What other programs say of a chapter's kernels, merged into its record: Nsight Compute's counters, the disassembler's listing,
// registers on another architecture. In: a record, and a file that such a program wrote. Out: the record with more in it.
#pragma once

#include <filesystem>
#include <string>

#include "common/bench/record.hpp"

namespace tile {

/// Merges the output of `ncu --csv --page raw --print-kernel-base mangled` for a `--once` run into a record: for each kernel
/// the counters of its last launch, under the key `group`, and [lowest, highest] of those that differed between launches under
/// `group` + "_range"; what is no kernel of the record goes under "other_kernels". Throws RecordError without any launch.
void add_counters(Record& record, const std::filesystem::path& ncu_csv, const std::string& group);

/// What a record calls the profile of a run whose leading dimensions exceed the width by `pad`.
std::string profile_with_pad(int pad);

/// Reads how many registers each kernel of the record has when compiled for another architecture, from the output of
/// `cuobjdump -res-usage` for that: under "registers_for" and the architecture's number. Throws RecordError when one is missing.
void add_registers(Record& record, const std::filesystem::path& usage, const std::string& architecture);

/// A mangled name without the digits by which nvcc tells the anonymous namespaces of two compilations apart.
std::string without_build(const std::string& function);

/// Tallies (machine_code.hpp) of the output of `cuobjdump -sass` for each kernel of the record, "other_kernels" included: of
/// the whole function under "sass", and of its main loop, with the places in it, under "sass_loop". Throws RecordError when a
/// kernel of the chapter is missing.
void add_sass(Record& record, const std::filesystem::path& sass);

}  // namespace tile
