#include "common/bench/machine_code.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/core/demangle.hpp>
#include <cstdint>
#include <cstring>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "common/bench/metrics.hpp"
#include "common/bench/text.hpp"

namespace tile {
namespace {

// FNV-1a.
std::string digest(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
}

// "sgemm<8>" for the mangled name of (anonymous namespace)::sgemm<8>(float*).
std::string name_in_source(const std::string& mangled) {
  static const std::regex omitted(R"(\(anonymous namespace\)::|void |\([^(]*$)");
  return std::regex_replace(boost::core::demangle(mangled.c_str()), omitted, "");
}

constexpr int none = -1;
using Registers = std::array<int, 3>;  // of an FFMA's source operands, or none

struct Operands {
  Registers read{none, none, none}, reused = read;  // all; those flagged .reuse
};

Operands operands_of(const Instruction& ffma) {
  static const std::regex operand(R"(-?\|?R(\d+)\|?(\.reuse)?\s*)");
  Operands found;
  const std::vector<std::string> all = split(ffma.operands, ',');  // the destination first
  for (std::size_t place = 0; place < found.read.size() && place + 1 < all.size(); ++place) {
    std::smatch match;
    if (!std::regex_match(all[place + 1], match, operand)) continue;
    found.read[place] = std::stoi(match[1]);
    if (match[2].matched) found.reused[place] = found.read[place];
  }
  return found;
}

// For each FFMA, the registers that it reads from the even and from the odd bank; 0 for other instructions. An operand flagged
// .reuse is kept for the next instruction; with `across_loads`, loads from shared memory and the like are skipped over.
std::vector<BankReads> bank_reads(Code code, bool across_loads) {
  std::vector<BankReads> reads;
  Registers kept{none, none, none};
  for (const Instruction& instruction : code) {
    const Operands operands = instruction.opcode == "FFMA" ? operands_of(instruction) : Operands{};
    std::set<int> registers;
    for (std::size_t place = 0; place < kept.size(); ++place)
      if (operands.read[place] != kept[place]) registers.insert(operands.read[place]);
    registers.erase(none);
    auto& [even, odd] = reads.emplace_back();
    for (const int number : registers) ++(number % 2 == 0 ? even : odd);
    const std::string& opcode = instruction.opcode;
    const bool leaves_operands = opcode.starts_with("LDS") || opcode.starts_with("U") || opcode == "NOP";
    if (!across_loads || !leaves_operands) kept = operands.reused;
  }
  return reads;
}

// Counts that become facts, or from which facts are computed: moves, spills, copies, never-executed instructions.
Record recorded(const std::map<std::string, int>& tally) {
  static const std::regex also("issue_cycles|MOV|IMAD\\.MOV\\.U32|(LDL|STL|LDGSTS|@!).*");
  Record kept = Record::object();
  for (const auto& [name, count] : tally)
    if (std::ranges::count(tallied, name) > 0 || std::regex_match(name, also)) kept[name] = count;
  return kept;
}

int ffmas(Code code) { return int(std::ranges::count(code, "FFMA", &Instruction::opcode)); }

}  // namespace

std::map<std::string, std::string> digests_of(const std::filesystem::path& program) {
  const std::string file = read_whole(program);
  std::map<std::string, std::string> digests;
  for (auto at = file.find(ELFMAG); at != std::string::npos; at = file.find(ELFMAG, at + 1)) {
    const std::string_view bytes = std::string_view(file).substr(at);  // an ELF file, or only the magic number of one
    Elf64_Ehdr head;
    if (bytes.size() < sizeof head) continue;
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::size_t end = head.e_shoff + std::size_t(head.e_shnum) * sizeof(Elf64_Shdr);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr) || end > bytes.size()) continue;
    std::vector<Elf64_Shdr> sections(head.e_shnum);
    std::memcpy(sections.data(), bytes.data() + head.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    if (head.e_shstrndx >= sections.size()) continue;
    const auto content = [&](const Elf64_Shdr& s) {
      return bytes.substr(std::min(s.sh_offset, bytes.size()), s.sh_size);
    };
    const std::string_view names = content(sections[head.e_shstrndx]);
    for (const Elf64_Shdr& section : sections) {
      const std::string name = section.sh_name < names.size() ? names.data() + section.sh_name : "";
      if (name.starts_with(".text.")) digests[name.substr(6)] = digest(content(section));
    }
  }
  return digests;
}

Record fingerprint(const Record& record, const std::map<std::string, std::string>& digests,
                   const std::filesystem::path& source) {
  const std::string stem = source.stem(),
                    in_source = fmt::format("_{}_{}_cu_", stem.size() + 3, stem);  // as nvcc mangles it
  Record kernels = record.value("fingerprint", Record::object()).value("kernels", Record::object());
  std::set<std::string> named;
  for (const char* list : {"kernels", "candidates"})
    for (const Record& kernel : record.value(list, Record::array()))
      if (const std::string function = kernel.value("function", ""); digests.contains(function)) {
        const std::string name = kernel.at("name");
        kernels[name] = digests.at(function);
        named.insert(function);
        std::string predicated = function;
        if (const auto at = function.rfind("Lb1E"); at != std::string::npos) predicated[at + 2] = '0';
        if (predicated != function && digests.contains(predicated)) {
          kernels[name + ", predicated"] = digests.at(predicated);
          named.insert(predicated);
        }
      }
  if (record.contains("sweep") || !record.value("rates", Record()).empty())
    for (const auto& [function, digest] : digests)
      if (function.find(in_source) != std::string::npos && !named.contains(function))
        kernels[name_in_source(function)] = digest;
  return {{"nvcc", record.at("cuda")}, {"kernels", kernels}};
}

std::vector<std::string> changed_kernels(const Record& fingerprint, const std::map<std::string, std::string>& digests) {
  std::set<std::string> compiled;
  for (const auto& [function, digest] : digests) compiled.insert(digest);
  std::vector<std::string> changed;
  for (const auto& [name, digest] : fingerprint.at("kernels").items())
    if (!compiled.contains(digest)) changed.push_back(name);
  return changed;
}

std::map<std::string, std::vector<Instruction>> functions_of(const std::string& listing) {
  static const std::regex pattern(
      R"(/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[0-9]+\s+|@U?PT\s+)?((?:@!U?PT )?[A-Z][A-Z0-9_.]*)\s*([^;]*);)");
  std::map<std::string, std::vector<Instruction>> functions;
  std::vector<Instruction>* code = nullptr;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (const auto at = line.find("Function : "); at != std::string::npos)
      code = &functions[line.substr(at + 11)];
    else if (code != nullptr && std::regex_search(line, match, pattern))
      code->push_back({std::stoul(match[1].str(), nullptr, 16), match[2].str(), match[3].str()});
  }
  return functions;
}

Code main_loop(Code code) {
  Code smallest;
  for (std::size_t branch = 0; branch < code.size(); ++branch) {
    if (code[branch].opcode != "BRA" || !code[branch].operands.starts_with("0x")) continue;
    const unsigned long target = std::stoul(code[branch].operands, nullptr, 16);
    if (target >= code[branch].address) continue;
    const auto begin = std::ranges::find_if(code, [&](const Instruction& i) { return i.address >= target; });
    const auto first = std::size_t(begin - code.begin());
    const Code loop = code.subspan(first, branch + 1 - first);
    const bool smaller = smallest.empty() || loop.size() < smallest.size();
    if (smaller && ffmas(loop) > 0 && 3 * ffmas(loop) >= ffmas(code)) smallest = loop;
  }
  return smallest;
}

int issue_cycles(const std::vector<BankReads>& reads) {
  constexpr int longest_backlog = 1;
  BankReads backlog{};
  int cycles = 0;
  for (int iteration = 0; iteration < 2; ++iteration) {  // the second starts with the banks as the first leaves them
    cycles = 0;
    for (const BankReads& read : reads) {
      for (std::size_t bank = 0; bank < backlog.size(); ++bank) backlog[bank] += read[bank];
      do {
        ++cycles;
        for (int& left : backlog) left = std::max(0, left - 1);
      } while (std::ranges::max(backlog) > longest_backlog);
    }
  }
  return cycles;
}

std::map<std::string, int> tally_of(Code code) {
  std::map<std::string, int> count{
      {"all", int(code.size())}, {"reuse", 0}, {"issue_cycles", issue_cycles(bank_reads(code, true))}};
  int &even = count["ffma_reads_even"], &odd = count["ffma_reads_odd"], &cycles = count["bank_cycles"];
  const auto reads = bank_reads(code, false);
  constexpr std::size_t group = 4;
  for (std::size_t first = 0; first < code.size(); first += group) {
    const std::size_t end = std::min(first + group, code.size());
    BankReads read{};
    for (std::size_t i = first; i < end; ++i) read[0] += reads[i][0], read[1] += reads[i][1];
    even += read[0];
    odd += read[1];
    cycles += std::max({read[0], read[1], int(end - first)});
  }
  for (const auto& [address, opcode, operands] : code) {
    ++count[opcode];
    for (auto flag = operands.find(".reuse"); flag != std::string::npos; flag = operands.find(".reuse", flag + 1))
      ++count["reuse"];
  }
  return count;
}

std::map<std::string, int> places_in(Code loop) {
  std::map<std::string, int> places;
  int before = 0;
  for (const Instruction& instruction : loop) {
    for (const auto& [opcode, kind] : {std::pair("LDG.", "ldg"), {"STS", "sts"}, {"BAR.SYNC", "bar"}}) {
      if (!instruction.opcode.starts_with(opcode)) continue;
      places.try_emplace(std::string(kind) + "_first", before);
      places[std::string(kind) + "_last"] = before;
    }
    before += instruction.opcode == "FFMA";
  }
  return places;
}

void add_sass(Record& record, const std::filesystem::path& sass) {
  const auto functions = functions_of(read_whole(sass));
  const auto add = [](Record& entry, const std::vector<Instruction>& code) {
    entry["sass"] = recorded(tally_of(code));
    const Code loop = main_loop(code);
    entry["sass_loop"] = recorded(tally_of(loop));
    for (const auto& [place, ffma] : places_in(loop)) entry["sass_loop"][place] = ffma;
  };
  for (Record& kernel : record.at("kernels")) {
    const std::string function = kernel.at("function");
    if (!functions.contains(function))
      throw RecordError(
          fmt::format("{} has no {}: run cuobjdump -sass on the program that was timed", sass.string(), function));
    add(kernel, functions.at(function));
  }
  if (record.contains("other_kernels"))
    for (auto& [function, entry] : record["other_kernels"].items())
      if (functions.contains(function)) add(entry, functions.at(function));
}

}  // namespace tile
