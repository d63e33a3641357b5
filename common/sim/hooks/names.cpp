// Names for addresses: source lines, kernels and __shared__ variables, read from the program's own debug information
// and symbol table with elfutils.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <boost/core/demangle.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/cuda/words/vocabulary.hpp"
#include "common/sim/hooks/hooks.hpp"

// The start and end of the list of kernels to which __global__ adds, defined by the linker.
extern "C" __attribute__((weak)) const simt::hooks::Address __start___patchable_function_entries[],
    __stop___patchable_function_entries[];

namespace simt::hooks {
namespace {

std::mutex symbols_mutex;  // libdw is not thread-safe

// How the mangled names of SharedDeclarations begin.
constexpr std::string_view shared_declarations = "_ZN4simt18shared_declarationI";

// Caches everything that has been read: libdw goes through all symbols for each name.
struct Program {
  Dwfl_Module* module = nullptr;
  std::map<Address, std::string> functions;      // mangled; all kernels from the start
  std::vector<const SharedDeclaration*> shared;  // in the order of declaration; a number is an index here, plus 1
  std::map<Address, Place> places;
  std::map<const void*, std::vector<SharedVariable>> variables;  // that a kernel may touch

  Program() {
    static const Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, nullptr};
    Dwfl* const dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr || dwfl_linux_proc_report(dwfl, getpid()) != 0)
      throw std::runtime_error("the model cannot read the program's symbols (is /proc mounted?)");
    dwfl_report_end(dwfl, nullptr, nullptr);
    module = dwfl_addrmodule(dwfl, reinterpret_cast<Address>(&function_name));
    if (module == nullptr) throw std::runtime_error("the model cannot find its own program among the loaded files");
    for (const Address* kernel = __start___patchable_function_entries; kernel < __stop___patchable_function_entries;)
      functions.emplace(*kernel++, "");
    std::vector<SharedDeclaration*> declarations;
    GElf_Sym symbol;
    GElf_Addr value = 0;
    for (int i = 0, count = dwfl_module_getsymtab(module); i < count; ++i) {
      const char* text = dwfl_module_getsym_info(module, i, &symbol, &value, nullptr, nullptr, nullptr);
      if (text == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
      if (GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && std::string_view(text).starts_with(shared_declarations))
        declarations.push_back(reinterpret_cast<SharedDeclaration*>(value));
      if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
        for (auto kernel = functions.lower_bound(value);
             kernel != functions.end() && kernel->first < value + symbol.st_size; ++kernel)
          kernel->second = text;
    }
    std::ranges::sort(declarations, {},
                      [](auto* d) { return std::pair(d->place, std::string_view(d->within->name())); });
    for (SharedDeclaration* d : declarations) {
      shared.push_back(d);
      d->number = std::uint32_t(shared.size());
    }
  }
};

Program& program() {
  static Program instance;
  return instance;
}

// "" if the symbol table has no name for it.
const std::string& mangled_name(Address function) {
  const auto [it, fresh] = program().functions.try_emplace(function);
  if (fresh)
    if (const char* name = dwfl_module_addrname(program().module, function)) it->second = name;
  return it->second;
}

// "void sgemm<Config<32> >(float const*)" -> "sgemm<Config<32> >"; "(anonymous namespace)::" is dropped.
std::string short_name(std::string name) {
  boost::erase_all(name, "(anonymous namespace)::");
  int depth = 0;
  std::size_t begin = 0, end = 0;
  for (; end < name.size() && (depth > 0 || name[end] != '('); ++end) {
    depth += (name[end] == '<') - (name[end] == '>');
    if (depth == 0 && name[end] == ' ') begin = end + 1;
  }
  return name.substr(begin, end - begin);
}

// Whether code in this file is attributed to the line that calls it: common/cuda and the C++ library. Paths are
// relative if the compiler ran in the repository itself.
bool is_plumbing(const std::string& file) {
  if (file.starts_with("/usr/include/") || file.starts_with("/usr/lib/")) return true;
  for (const std::string directory : {"common/cuda/", "common/sim/"})
    if (file.starts_with(directory) || file.find('/' + directory) != std::string::npos) return true;
  return false;
}

// The line of an instruction; if it was inlined from such a file, the line of the innermost call outside of them.
Place find_place(Address return_address) {
  Program& p = program();
  Place place{"?", 0};
  const Dwarf_Addr pc = return_address - 1;
  if (Dwfl_Line* line = dwfl_module_getsrc(p.module, pc))
    if (const char* file = dwfl_lineinfo(line, nullptr, &place.line, nullptr, nullptr, nullptr)) place.file = file;
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = is_plumbing(place.file) ? dwfl_module_addrdie(p.module, pc, &bias) : nullptr;
  Dwarf_Die *innermost = nullptr, *scopes = nullptr;
  Dwarf_Files* files = nullptr;
  if (unit == nullptr || dwarf_getscopes(unit, pc - bias, &innermost) <= 0) return place;
  const int count = dwarf_getsrcfiles(unit, &files, nullptr) == 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
  const auto attribute = [](Dwarf_Die& scope, unsigned name) {
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    return dwarf_attr(&scope, name, &found) != nullptr && dwarf_formudata(&found, &value) == 0 ? value : 0;
  };
  for (int i = 0; i < count && is_plumbing(place.file); ++i)
    if (const Dwarf_Word line = attribute(scopes[i], DW_AT_call_line); line != 0)
      if (const char* file = dwarf_filesrc(files, attribute(scopes[i], DW_AT_call_file), nullptr, nullptr))
        place = {file, int(line)};
  std::free(scopes);
  std::free(innermost);
  return place;
}

std::vector<SharedVariable> find_variables(const void* kernel) {
  // Whether a type is declared in a function (Z <function> E <type>) or in a lambda in it (ZZ <function> E <lambda> E).
  const auto is_within = [](std::string_view type, const std::string& function) {
    const std::string encoded = function.substr(std::min<std::size_t>(1, function.size())) + "E";
    return function.starts_with("_Z") && (type.starts_with(encoded) || type.starts_with("Z" + encoded));
  };
  const std::string& own = mangled_name(reinterpret_cast<Address>(kernel));
  std::vector<SharedVariable> variables;
  for (const SharedDeclaration* d : program().shared) {
    const std::string_view within = d->within->name();
    const bool in_kernel = is_within(within, own);
    const bool elsewhere =
        std::ranges::any_of(program().functions, [&](const auto& f) { return is_within(within, f.second); });
    if (in_kernel || !elsewhere)
      variables.push_back(
          {d->name, d->bytes, d->alignment, in_kernel, shape_of(d->element), d->number, d->element.alignment});
  }
  std::stable_partition(variables.begin(), variables.end(), [](const SharedVariable& v) { return v.in_kernel; });
  return variables;
}

}  // namespace

Place place_of(Address return_address) {
  const std::scoped_lock lock(symbols_mutex);
  auto [it, fresh] = program().places.try_emplace(return_address);
  if (fresh) it->second = find_place(return_address);
  return it->second;
}

std::string function_name(const void* function) {
  const std::scoped_lock lock(symbols_mutex);
  const std::string& name = mangled_name(reinterpret_cast<Address>(function));
  return name.empty() ? "kernel" : short_name(boost::core::demangle(name.c_str()));
}

const std::vector<SharedVariable>& shared_variables(const void* kernel) {
  const std::scoped_lock lock(symbols_mutex);
  auto [it, fresh] = program().variables.try_emplace(kernel);
  if (fresh) it->second = find_variables(kernel);
  return it->second;
}

std::uint32_t shared_variable_count() {
  const std::scoped_lock lock(symbols_mutex);
  return std::uint32_t(program().shared.size());
}

std::string variable_at(Address address) {
  const std::scoped_lock lock(symbols_mutex);
  Program& p = program();
  // libdw only knows the parts of the program that are mapped from its file, not its zero-initialised variables (.bss).
  if (address < image_base() || address >= image_end()) return "";
  const char* name = dwfl_module_addrname(p.module, address);
  return name == nullptr ? "a constant" : short_name(boost::core::demangle(name));
}

}  // namespace simt::hooks
