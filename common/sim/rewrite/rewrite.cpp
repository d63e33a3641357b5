#include "common/sim/rewrite/rewrite.hpp"

#include <cstddef>
#include <map>
#include <vector>

#include "common/sim/rewrite/code.hpp"

namespace rewrite {
namespace {

using Names = std::set<std::string>;

// --- Variables of the device -----------------------------------------------------------------------------------------------

void rewrite_device_variables(Code& code, const std::vector<bool>& outside) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool constant_memory = code[i] == "__constant__", local_static = code[i] == "static" && !outside[i];
    if (!constant_memory && !local_static && code[i] != "__device__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    if (!d.is_variable) continue;
    if (d.is_array && (d.is_constexpr || (d.is_constant && !constant_memory))) {
      code.set(first, "SIMT_NO_TABLE " + code[first]);
      i = d.end;
    } else if (outside[i]) {
      for (std::size_t k = first; k < d.end; ++k)
        if (constant_memory && code[k] == "const") code.set(k, "");
      code.set(i, "SIMT_DEVICE_VARIABLE");
      for (const std::string& name : d.names)
        code.insert_after(d.end, " static const simt::DeviceVariable simt_variable_" + name + "(\"" + name + "\", " +
                                     name + (constant_memory ? ", true" : "") + ");");
      i = d.end;
    }
  }
}

// A parameter of a kernel that is a tensor map, and not one that all threads have in common.
void refuse_own_tensor_maps(Code& code) {
  for (std::size_t kernel = 0; kernel < code.size(); ++kernel) {
    if (code[kernel] != "__global__") continue;
    bool is_map = false, in_common = false;
    for (std::size_t i = kernel; i < code.size(); ++i) {
      const bool ends = code[i] == "{" || code[i] == ";";
      if (ends || code[i] == ",") {
        if (is_map && !in_common) code.set(kernel, "SIMT_NO_GRID_CONSTANT __global__");
        is_map = in_common = false;
      }
      if (ends) break;
      is_map = is_map || code[i] == "CUtensorMap";
      in_common = in_common || code[i] == "__grid_constant__" || code[i] == "*" || code[i] == "&";
    }
  }
}

// --- __shared__ variables ---------------------------------------------------------------------------------------------------

// Where a name is the variable's, and not a member's or that of another namespace.
bool is_use(const Code& code, std::size_t i, const std::string& name) {
  return code[i] == name && i > 1 && code[i - 1] != "." && !code.is_sign(i - 2, "->") && !code.is_sign(i - 2, "::");
}

// The lambda whose captures begin at `open`: its body, and where that ends; {0, 0} if there is none.
struct Lambda {
  std::size_t body = 0, end = 0;
};
Lambda lambda_at(const Code& code, std::size_t open) {
  static const Names follow{"(", "{", "<", "-", "mutable", "noexcept", "constexpr", "__device__", "__host__"};
  const std::string& before = code[open - 1];
  const bool is_operand = code.is_name(open - 1) && before != "return";
  if (is_operand || before == ")" || before == "]" || before == "[" || code[open + 1] == "[") return {};
  std::size_t i = after_brackets(code, open);
  if (!follow.contains(code[i])) return {};
  while (i < code.size() && code[i] != "{" && code[i] != ";")
    i = code[i] == "<" ? after_angles(code, i) : code[i] == "(" ? after_brackets(code, i) : i + 1;
  return code[i] == "{" ? Lambda{i, after_brackets(code, i)} : Lambda{};
}

// The names that were added to the captures of lambdas, by where these begin.
using Captured = std::map<std::size_t, Names>;

// Lambdas use a __shared__ variable without a capture; its reference needs one.
void capture(Code& code, std::size_t begin, const std::string& name, Captured& captured) {
  const std::size_t end = end_of_scope(code, begin, false);
  for (std::size_t open = begin; open < end; ++open) {
    if (code[open] != "[") continue;
    const Lambda lambda = lambda_at(code, open);
    const std::size_t close = after_brackets(code, open) - 1;
    bool used = false, hidden = false;
    for (std::size_t i = open; i < lambda.end; ++i) (i < lambda.body ? hidden : used) |= is_use(code, i, name);
    const bool by_reference = code[open + 1] == "&" && (code[open + 2] == "," || code[open + 2] == "]");
    if (!used || hidden || by_reference) continue;
    const bool first = close == open + 1 && captured[open].empty();
    if (captured[open].insert(name).second) code.insert_after(close - 1, (first ? "&" : ", &") + name);
  }
}

// extern __shared__ T name[];
void rewrite_dynamic(Code& code, std::size_t first, const Declaration& d, Captured& captured) {
  const std::string& name = d.names.front();
  for (std::size_t k = first; k < d.end; ++k) {
    if (is_alignment(code[k])) code.remove(k, after_brackets(code, k + 1));
    if (code[k] == "extern" || code[k] == "__shared__") code.set(k, "");
  }
  code.set(first, "auto* const " + name + " = static_cast<" + code[first]);
  code.set(d.end - 3, "*>(simt::device::dynamic_shared(\"" + name + "\"))");
  code.remove(d.end - 2, d.end);
  capture(code, d.end, name, captured);
}

void rewrite_static(Code& code, std::size_t first, const Declaration& d, Captured& captured, Known& known) {
  const std::string scope = "simt_shared_" + d.names.front();
  for (std::size_t k = first; k < d.end; ++k)
    if (code[k] == "__shared__" || code[k] == "static") code.set(k, "");
  code.set(first, "struct " + scope + " { " + code[first]);
  code.insert_after(d.end, " };");
  for (const std::string& name : d.names) {
    code.insert_after(d.end, " auto& " + name + " = simt::shared<" + scope + ", decltype(" + scope + "::" + name +
                                 "), \"" + name + "\", " + std::to_string(known.declared++) + ">();");
    capture(code, d.end + 1, name, captured);
  }
}

// Makes of each __shared__ variable a reference to where it lies in the shared memory of the running block, on the same line.
// Lambdas that use one capture it.
void rewrite_shared(Code& code, const std::vector<bool>& outside, Known& known) {
  Captured captured;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != "__shared__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    const bool is_dynamic = code.has(first, d.end, "extern");
    if (outside[i] || !d.is_variable || code.has(first, d.end, "=") || (is_dynamic && code[d.end - 2] != "[")) {
      code.set(i,
               R"(_Pragma("GCC error \"a __shared__ variable is declared in the kernel or function that uses it, as )"
               R"(__shared__ type name; or __shared__ type name[extent]; with one or more names, without a value, )"
               R"(and of a type that has a name\"") )");
      continue;
    }
    is_dynamic ? rewrite_dynamic(code, first, d, captured) : rewrite_static(code, first, d, captured, known);
    i = d.end;
  }
}

// --- Indices that are read from memory ---------------------------------------------------------------------------------------

// Names that alone read memory which threads share: its single variables, and what is declared as a reference, for that may refer to such
// memory. Another name that follows an & is taken for one; that costs nothing.
Names names_that_read(const Code& code, Known& known) {
  static const Names follow{"=", ":", ",", ")", "{", ";"};
  Names references;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == "__shared__" || code[i] == "__device__" || code[i] == "__constant__") {
      const Declaration d = declaration_at(code, first_of_statement(code, i));
      if (d.is_variable && !d.is_array) known.scalars.insert(d.names.begin(), d.names.end());
    }
    if (i == 0 || code[i] != "&") continue;
    const bool and_and = code[i - 1] == "&", of_auto = code[i - 1 - and_and] == "auto";
    const bool typed = and_and ? of_auto : code.is_name(i - 1) || code[i - 1] == ">";
    if (typed && code.is_name(i + 1) && follow.contains(code[i + 2])) references.insert(code[i + 1]);
    // auto& [a, b] = pair;
    if (of_auto && code[i + 1] == "[")
      for (std::size_t k = i + 2; k < code.size() && code[k] != "]"; ++k)
        if (code.is_name(k)) references.insert(code[k]);
  }
  references.insert(known.scalars.begin(), known.scalars.end());
  return references;
}

bool ends_operand(const Code& code, std::size_t i) {
  static const Names words{"return", "case", "auto", "delete", "new", "else", "co_return"};
  return (code.is_name(i) && !words.contains(code[i])) || code[i] == ")" || code[i] == "]";
}

// Whether what stands between may read memory: an element, what a pointer points to, one of the names.
bool may_read(const Code& code, std::size_t begin, std::size_t end, const Names& names) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool is_prefix = i == begin || (code[i - 1].size() == 1 &&
                                          std::string("([,+-*/%&|^!~<>=?:").find(code[i - 1]) != std::string::npos);
    if (code[i] == "[" || code.is_sign(i, "->") || (code[i] == "*" && is_prefix) ||
        (code.is_name(i) && names.contains(code[i])))
      return true;
  }
  return false;
}

// Whether [open, close] is one index. What follows a name in double brackets is an attribute; in braces, an index that has no type yet; what
// a lambda captures may follow the ) of an if; and an extent in a declaration is none.
bool is_index(const Code& code, std::size_t open, std::size_t close) {
  if (close == open + 1 || code[close] != "]" || code[open + 1] == "[" || code[open + 1] == "{" ||
      code[close + 1] == "{")
    return false;
  for (std::size_t i = open + 1; i < close; i = opens(code[i]) ? after_brackets(code, i) : i + 1)
    if (code[i] == ",") return false;
  const std::size_t first = first_of_statement(code, open);
  for (const char* word : {"__shared__", "__constant__", "constexpr", "using"})
    if (code.has(first, open, word)) return false;
  return true;
}

// Of `table[index[i]]`, where the compiler knows the extent of `table`, g++ -fsanitize=bounds makes two loads of `index[i]`: one to
// compare it with that extent. So an index that may be read from memory is handed through a call, which is made once. A member of the
// struct around a function is not seen to be read, where its name stands alone.
void rewrite_indices(Code& code, Known& known) {
  const Names names = names_that_read(code, known);
  for (std::size_t open = 1; open < code.size(); ++open) {
    if (code[open] != "[" || !ends_operand(code, open - 1)) continue;
    const std::size_t close = after_brackets(code, open) - 1;
    if (!may_read(code, open + 1, close, names) || !is_index(code, open, close)) continue;
    code.insert_after(open, "simt::index_of(");
    code.insert_after(close - 1, ")");
  }
}

// --- Launches ----------------------------------------------------------------------------------------------------------------

// Where a directive has its word, if it is this one; else npos.
std::size_t word_of_directive(const std::string& directive, const std::string& word) {
  const auto at = directive.find_first_not_of(" \t", 1);
  return at != std::string::npos && directive.compare(at, word.size(), word) == 0 ? at : std::string::npos;
}

// kernel<<<grid, block>>>(...) becomes kernel->*tile::Launch(grid, block)(...).
void rewrite_launches(Code& code) {
  for (std::size_t open = 0; open < code.size(); ++open) {
    if (const std::string directive = code[open]; code.is_directive(open)) {
      const auto word = word_of_directive(directive, "define");
      if (word == std::string::npos || directive.find("<<<") == std::string::npos) continue;
      Code body(directive.substr(word));
      rewrite_launches(body);
      code.set(open, directive.substr(0, word) + body.text());
    }
    if (!code.is_sign(open, "<<<")) continue;
    std::size_t close = open + 3;
    while (close < code.size() && !code.is_sign(close, ">>>") && code[close] != ";")
      close = opens(code[close]) ? after_brackets(code, close) : close + 1;
    if (!code.is_sign(close, ">>>") || code[close + 3] != "(") continue;
    code.set(open, "->*tile::Launch(");
    code.set(close, ")");
    for (const std::size_t i : {open, close}) code.remove(i + 1, i + 3);
  }
}

// --- Names that the model has taken --------------------------------------------------------------------------------------------

void rename_extents(Code& code) {
  int parentheses = 0;
  for (std::size_t i = 1; i < code.size(); ++i) {
    parentheses += (code[i] == "(") - (code[i] == ")");
    const std::string name = code[i], &before = code[i - 1];
    if (name != "gridDim" && name != "blockDim") continue;
    const bool typed =
        before == "dim3" || (before == "&" && code[i - 2] == "dim3") || (before == "auto" && code[i + 1] == "=");
    // dim3 gridDim(1), blockDim(32);
    const bool listed = before == "," && parentheses == 0 && code[first_of_statement(code, i)] == "dim3";
    if (!typed && !listed) continue;
    const std::size_t end = end_of_scope(code, i, parentheses > 0);
    for (std::size_t k = i; k < end; ++k)
      if (code[k] == name) code.set(k, "host_" + name);
  }
}

// --- Included files ------------------------------------------------------------------------------------------------------------

void rewrite_includes(Code& code, const Include& include) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string& t = code[i];
    if (!code.is_directive(i) || word_of_directive(t, "include") == std::string::npos) continue;
    const auto open = t.find('"'), close = t.find('"', open + 1);
    if (close == std::string::npos) continue;
    code.set(i, t.substr(0, open + 1) + include(t.substr(open + 1, close - open - 1)) + t.substr(close));
  }
}

}  // namespace

std::string rewritten(const std::string& text, const Include& include, Known& known) {
  Code code(text);
  const std::vector<bool> outside = outside_of(code);
  rewrite_includes(code, include);  // what they declare is known then
  rewrite_indices(code, known);
  rewrite_shared(code, outside, known);
  rewrite_device_variables(code, outside);
  refuse_own_tensor_maps(code);
  rewrite_launches(code);
  rename_extents(code);
  return code.text();
}

}  // namespace rewrite
