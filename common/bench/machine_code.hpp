// The machine code of kernels: digests, by which a record says which code was measured, and counts of what `cuobjdump -sass` prints.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/bench/record.hpp"

namespace tile {

/// 16 hex digits for the instructions of each function, by mangled name, as 128-bit words with their scheduling, without names, line
/// tables and addresses. Of a GPU program or object (compiled with nvcc --no-compress), or of a cubin. Throws RecordError.
std::map<std::string, std::string> digests_of(const std::filesystem::path& program);

/// Which machine code a record is of: {"nvcc": its version, "kernels": {name: digest}}, beside what it says of that already. A record
/// with rates or a sweep, which are measured with functions that it does not list, has those of all functions of the program's own
/// source, by their names in C++.
Record fingerprint(const Record& record, const std::map<std::string, std::string>& digests);

/// The kernels of a fingerprint whose machine code is none of `digests`: a name may change, an instruction may not.
std::vector<std::string> changed_kernels(const Record& fingerprint, const std::map<std::string, std::string>& digests);

struct Instruction {
  unsigned long address;
  std::string opcode;    ///< with its modifiers: "LDS.128"; "@!PT LDS" where it is never executed, only issued
  std::string operands;  ///< the destination first
};
using Code = std::span<const Instruction>;

/// The functions of a listing, by mangled name.
std::map<std::string, std::vector<Instruction>> functions_of(const std::string& listing);

/// The smallest loop (what a backward branch encloses) with at least a third of the function's FFMA; empty without one.
/// Not half: a kernel with two buffers multiplies its last tile after the loop, with as many FFMA again.
Code main_loop(Code code);

/// The registers that an instruction reads from the even and from the odd bank.
using BankReads = std::array<int, 2>;

/// The cycles in which one warp can issue an iteration of a loop of instructions that read so: one for each, and one more whenever
/// a bank, which gives one register a cycle, would otherwise be late by more than one. Found with the loops of
/// chapters/14-tma/h200-register-banks.csv; all but two of them take these cycles, and a few for their branch.
int issue_cycles(const std::vector<BankReads>& reads);

/// Instructions by opcode, and "all" of them; "reuse": how many operands carry the flag .reuse; "ffma_reads_even" and
/// "ffma_reads_odd": the registers that FFMA read from the two banks of the register file; "bank_cycles": the cycles that the busier
/// bank needs, or the issue slot, added up over groups of four instructions; "issue_cycles": see above, where an operand is also
/// kept across loads from shared memory, as it was in these loops.
/// A register's bank is its number's parity, and a bank gives one register a cycle: measured, see chapter 00. An operand that
/// the FFMA right before had in the same place and flagged .reuse is not read; one that stands twice is read once.
std::map<std::string, int> tally_of(Code code);

/// Where the compiler put a loop's loads from global memory ("ldg"), asynchronous copies ("copy"), stores to shared memory ("sts")
/// and barriers ("bar"): how many of its FFMA stand before the first and before the last of them, as "ldg_first" and "ldg_last";
/// nothing for a kind that the loop does not have.
std::map<std::string, int> places_in(Code loop);

}  // namespace tile
