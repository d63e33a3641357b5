// The machine code of kernels: digests that tie a record to the code that was measured, and counts of the SASS that cuobjdump prints.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// A digest of 16 hex digits for each function, by mangled name: of its instructions, 128-bit words with their scheduling, without
/// names, line tables and addresses. For a GPU program or object (compiled with nvcc --no-compress), or a cubin. Throws RecordError.
std::map<std::string, std::string> digests_of(const std::filesystem::path& program);

/// The machine code that a record measured: {"nvcc": its version, "kernels": {name: digest}}, added to what the record already says.
/// A kernel whose last bool template argument is true has a predicated twin, with false, for operands that are not aligned.
/// A record with rates or a sweep, which are measured with functions that it does not list, has digests of all functions of the
/// program's own `source`, by their C++ names.
Record fingerprint(const Record& record, const std::map<std::string, std::string>& digests,
                   const std::filesystem::path& source);

/// The kernels of a fingerprint whose machine code is not among `digests`: names may change, instructions may not.
std::vector<std::string> changed_kernels(const Record& fingerprint, const std::map<std::string, std::string>& digests);

struct Instruction {
  unsigned long address;
  std::string opcode;    ///< with its modifiers: "LDS.128"; "@!PT LDS" if it is issued but never executed
  std::string operands;  ///< the destination first
};
using Code = std::span<const Instruction>;

/// The functions of a listing, by mangled name.
std::map<std::string, std::vector<Instruction>> functions_of(const std::string& listing);

/// The smallest loop (the code that a backward branch encloses) with at least a third of the function's FFMA; empty if there is
/// none. Not half: a double-buffered kernel multiplies its last tile after the loop, with as many FFMA again.
Code main_loop(Code code);

/// The registers that an instruction reads from the even and from the odd bank.
using BankReads = std::array<int, 2>;

/// A model (notebook of chapter 18) of the cycles in which one warp can issue a loop whose instructions make these `reads`: one
/// for each, and one more whenever a bank, which delivers one register per cycle, would otherwise be late by more than one.
int issue_cycles(const std::vector<BankReads>& reads);

/// Instructions by opcode, and "all" of them; "reuse": how many operands carry the flag .reuse; "ffma_reads_even" and
/// "ffma_reads_odd": the registers that FFMA read from the two banks of the register file; "bank_cycles": the cycles that the busier
/// bank or the issue slot needs, summed over groups of four instructions; "issue_cycles": see above, assuming
/// that operands are also kept across loads from shared memory.
/// A register's bank is its number's parity, and a bank delivers one register per cycle: measured, see chapter 00. An operand that
/// the previous FFMA had in the same position and flagged .reuse is not read; a register that occurs twice is read once.
std::map<std::string, int> tally_of(Code code);

/// The positions of a loop's loads from global memory ("ldg"), stores to shared memory ("sts") and barriers ("bar"): the number of
/// FFMA before the first and before the last of them, as "ldg_first" and "ldg_last"; nothing for a kind that the loop does not have.
std::map<std::string, int> places_in(Code loop);

/// Merges such tallies of the output of `cuobjdump -sass` into the entry of each kernel of a record, "other_kernels" included: of the
/// whole function under "sass", of its main loop, with positions, under "sass_loop". Throws RecordError if one is missing.
void add_sass(Record& record, const std::filesystem::path& sass);

}  // namespace tile
