#include "common/sim/rewrite/rewrite.hpp"

#include <cstddef>
#include <set>
#include <vector>

#include "common/sim/rewrite/code.hpp"

namespace rewrite {
namespace {

// --- Variables of the device -----------------------------------------------------------------------------------------------

void rewrite_device_variables(Code& code, const std::vector<bool>& outside) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool constant_memory = code[i] == "__constant__";
    if (!constant_memory && code[i] != "__device__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    if (!d.is_variable) continue;
    if (d.is_array && (d.is_constexpr || (d.is_constant && !constant_memory))) {
      code.set(first, "SIMT_NO_TABLE " + code[first]);
      i = d.end;
      continue;
    }
    if (!outside[i]) continue;
    if (constant_memory)
      for (std::size_t k = first; k < d.end; ++k)
        if (code[k] == "const") code.set(k, "");
    code.set(i, "SIMT_DEVICE_VARIABLE");
    for (const std::string& name : d.names)
      code.insert_after(d.end, " static const simt::DeviceVariable simt_variable_" + name + "(\"" + name + "\", " +
                                   name + (constant_memory ? ", true" : "") + ");");
    i = d.end;
  }
}

void refuse_static_tables(Code& code, const std::vector<bool>& outside) {
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (outside[i] || code[i] != "static" || (i > 0 && code[i - 1] == "SIMT_NO_TABLE")) continue;
    const Declaration d = declaration_at(code, i);
    if (d.is_variable && d.is_array && (d.is_constant || d.is_constexpr)) code.set(i, "SIMT_NO_TABLE static");
  }
}

// A parameter of a kernel that is a tensor map, and not one that all threads have in common.
void refuse_own_tensor_maps(Code& code) {
  for (std::size_t kernel = 0; kernel < code.size(); ++kernel) {
    if (code[kernel] != "__global__") continue;
    std::size_t open = kernel;
    while (open < code.size() && code[open] != ";" && code[open] != "{" && code[open] != "(")
      open = code[open] == "__launch_bounds__" || is_alignment(code[open]) ? after_brackets(code, open + 1) : open + 1;
    if (open == code.size() || code[open] != "(") continue;
    const std::size_t end = after_brackets(code, open) - 1;
    bool is_map = false, in_common = false;
    for (std::size_t i = open + 1; i <= end; ++i) {
      if (i == end || code[i] == ",") {
        if (is_map && !in_common) {
          code.set(kernel, "SIMT_NO_GRID_CONSTANT __global__");
          break;
        }
        is_map = in_common = false;
      }
      is_map = is_map || code[i] == "CUtensorMap";
      in_common = in_common || code[i] == "__grid_constant__" || code[i] == "*" || code[i] == "&";
    }
  }
}

// --- Indices that are read from memory ---------------------------------------------------------------------------------------

// Single variables in memory that threads share: their names alone read them.
void learn_scalars(const Code& code, Known& known) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != "__shared__" && code[i] != "__device__" && code[i] != "__constant__") continue;
    const Declaration d = declaration_at(code, first_of_statement(code, i));
    if (d.is_variable && !d.is_array) known.scalars.insert(d.names.begin(), d.names.end());
  }
}

// What is declared as a reference: what it refers to may lie in memory that threads share, and its name alone reads it. Another name that
// follows an & is taken for one; that costs nothing.
std::set<std::string> references_of(const Code& code) {
  static const std::set<std::string> behind{"=", ":", ",", ")", "{", ";"};
  std::set<std::string> names;
  for (std::size_t i = 1; i + 1 < code.size(); ++i) {
    const bool and_and = code[i - 1] == "&";
    const bool typed = and_and ? i > 1 && code[i - 2] == "auto" : code.is_name(i - 1) || code[i - 1] == ">";
    if (code[i] != "&" || !typed) continue;
    if (code.is_name(i + 1) && behind.contains(code[i + 2])) names.insert(code[i + 1]);
    // auto& [a, b] = pair;
    if (code[i + 1] == "[" && code[i - 1 - and_and] == "auto")
      for (std::size_t k = i + 2; k < code.size() && code[k] != "]"; ++k)
        if (code.is_name(k)) names.insert(code[k]);
  }
  return names;
}

bool ends_operand(const Code& code, std::size_t i) {
  static const std::set<std::string> words{"return", "case", "auto", "delete", "new", "else", "co_return"};
  return (code.is_name(i) && !words.contains(code[i])) || code[i] == ")" || code[i] == "]";
}

bool is_operator(const std::string& token) {
  return token.size() == 1 && std::string("([,+-*/%&|^!~<>=?:").find(token) != std::string::npos;
}

// Whether what stands between may read memory: an element, what a pointer points to, a shared variable, what a reference refers to.
bool may_read(const Code& code, std::size_t begin, std::size_t end, const Known& known,
              const std::set<std::string>& references) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool points = code.is_sign(i, "->") || (code[i] == "*" && (i == begin || is_operator(code[i - 1])));
    if (code[i] == "[" || points ||
        (code.is_name(i) && (known.scalars.contains(code[i]) || references.contains(code[i]))))
      return true;
  }
  return false;
}

bool has_comma(const Code& code, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i = opens(code[i]) || code[i] == "[" ? after_brackets(code, i) : i + 1)
    if (code[i] == ",") return true;
  return false;
}

// What follows a name in double brackets is an attribute; in braces, an index that has no type yet; and what a lambda captures may
// follow the ) of an if.
bool is_index(const Code& code, std::size_t open, std::size_t close) {
  return close > open + 1 && code[close] == "]" && code[open + 1] != "[" && code[open + 1] != "{" &&
         code[close + 1] != "{";
}

// An extent is none.
bool is_of_declaration(const Code& code, std::size_t open) {
  for (std::size_t i = first_of_statement(code, open); i < open; ++i)
    if (code[i] == "__shared__" || code[i] == "__constant__" || code[i] == "constexpr" || code[i] == "using")
      return true;
  return false;
}

// Of `table[index[i]]`, where the compiler knows the extent of `table`, g++ -fsanitize=bounds makes two loads of `index[i]`: one to
// compare it with that extent. So an index that may be read from memory is handed through a call, which is made once. A member of the
// struct around a function is not seen to be read, where its name stands alone.
void rewrite_indices(Code& code, Known& known) {
  learn_scalars(code, known);
  const std::set<std::string> references = references_of(code);
  for (std::size_t open = 1; open < code.size(); ++open) {
    if (code[open] != "[" || !ends_operand(code, open - 1)) continue;
    const std::size_t close = after_brackets(code, open) - 1;
    if (!is_index(code, open, close) || !may_read(code, open + 1, close, known, references)) continue;
    if (has_comma(code, open + 1, close) || is_of_declaration(code, open)) continue;
    code.insert_after(open, "simt::index_of(");
    code.insert_after(close - 1, ")");
  }
}

// --- Launches ----------------------------------------------------------------------------------------------------------------

// Words after which an expression begins.
bool stands_before_expression(const std::string& word) {
  static const std::set<std::string> words{"return", "else", "do", "case", "co_return", "goto", "throw"};
  return words.contains(word);
}

// The < of the template arguments that end before `end`; `end` if there is none.
std::size_t begin_of_angles(const Code& code, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end; i-- > 0 && code[i] != ";" && code[i] != "{" && code[i] != "}";) {
    if (closes(code[i])) i = begin_of_brackets(code, i + 1);
    const bool arrow = code[i] == ">" && i > 0 && code.is_sign(i - 1, "->");
    const bool shift = code[i] == "<" && i > 0 && code.is_sign(i - 1, "<<");
    depth += (code[i] == ">" && !arrow) - (code[i] == "<" && !shift);
    i -= shift;
    if (depth == 0 && code[i] == "<") return i;
  }
  return end;
}

// The first token of the expression before `end` that names a kernel: A::kernel<1>, macro##name, (*kernel), table[i].kernel. `end` if
// there is none.
std::size_t begin_of_kernel(const Code& code, std::size_t end) {
  std::size_t i = end;
  for (;;) {
    const std::size_t part = i;
    bool in_brackets = false;
    if (i > 0 && (code[i - 1] == ")" || code[i - 1] == "]")) {
      i = begin_of_brackets(code, i);
      in_brackets = i < part;
    } else if (i > 0 && code[i - 1] == ">") {
      i = begin_of_angles(code, i);
      if (i == part || !code.is_name(i - 1)) return end;
    }
    const bool called = i > 0 && code.is_name(i - 1) && !stands_before_expression(code[i - 1]) && code[i - 1] != "if" &&
                        code[i - 1] != "for" && code[i - 1] != "while" && code[i - 1] != "switch";
    if (called)
      --i;
    else if (in_brackets && i > 0 && code[i - 1] == "]")
      continue;
    else if (!in_brackets)
      return part;
    if (i >= 2 && (code.is_sign(i - 2, "::") || code.is_sign(i - 2, "->") || code.is_sign(i - 2, "##"))) {
      i -= 2;
      const bool global = code[i] == ":" && (i == 0 || !(code.is_name(i - 1) || code[i - 1] == ">") ||
                                             stands_before_expression(code[i - 1]));
      if (global) return i;
    } else if (i >= 1 && code[i - 1] == ".") {
      --i;
    } else {
      return i;
    }
  }
}

constexpr const char* launch_form =
    "a launch is kernel<<<grid, block>>>(...), kernel<<<grid, block, shared bytes>>>(...) or the same with a stream";

void rewrite_launch(Code& code, std::size_t open) {
  if (open > 0 && code[open - 1] == "operator") return;
  const std::size_t begin = begin_of_kernel(code, open);
  std::vector<std::size_t> ends;  // of the arguments between <<< and >>>
  std::size_t i = open + 3;
  while (i < code.size() && !code.is_sign(i, ">>>") && code[i] != ";") {
    if (code[i] == ",") ends.push_back(i);
    i = opens(code[i]) ? after_brackets(code, i) : i + 1;
  }
  const std::size_t close = i;
  if (begin == open || !code.is_sign(close, ">>>") || code[close + 3] != "(" || ends.empty() || ends.size() > 3) {
    code.set(begin, "_Pragma(\"GCC error \\\"" + std::string(launch_form) + "\\\"\") " + code[begin]);
    return;
  }
  code.set(begin, "tile::launch(" + code[begin]);
  code.set(open, ",");
  code.remove(open + 1, open + 3);
  if (ends.size() == 3) code.remove(ends[2], close);  // the stream
  const std::string& first_argument = code[close + 4];
  const std::string comma = first_argument == ")" ? "" : first_argument == "__VA_ARGS__" ? " __VA_OPT__(,) " : ", ";
  code.set(close, ends.size() == 1 ? ", 0" : "");
  code.remove(close + 1, close + 3);
  code.set(close + 3, comma);
}

// Where a directive has its word, if it is this one; else npos.
std::size_t word_of_directive(const std::string& directive, const std::string& word) {
  const auto at = directive.find_first_not_of(" \t", 1);
  return at != std::string::npos && directive.compare(at, word.size(), word) == 0 ? at : std::string::npos;
}

void rewrite_launches(Code& code) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.is_sign(i, "<<<")) rewrite_launch(code, i);
    if (!code.is_directive(i) || code[i].find("<<<") == std::string::npos) continue;
    const std::string& t = code[i];
    const auto word = word_of_directive(t, "define");
    if (word == std::string::npos) continue;
    Code body(t.substr(word));
    rewrite_launches(body);
    code.set(i, t.substr(0, word) + body.text());
  }
}

// --- Names that the model has taken --------------------------------------------------------------------------------------------

void rename_extents(Code& code) {
  int parentheses = 0;
  for (std::size_t i = 1; i < code.size(); ++i) {
    parentheses += (code[i] == "(") - (code[i] == ")");
    const std::string name = code[i], &before = code[i - 1], &next = code[i + 1];
    if (name != "gridDim" && name != "blockDim") continue;
    const bool typed =
        before == "dim3" || (before == "&" && code[i - 2] == "dim3") || (before == "auto" && next == "=");
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
  const Scopes scopes = scopes_of(code);
  rewrite_includes(code, include);  // what they declare is known then
  rewrite_indices(code, known);
  rewrite_shared(code, scopes, known);
  rewrite_device_variables(code, scopes.outside);
  refuse_static_tables(code, scopes.outside);
  refuse_own_tensor_maps(code);
  rewrite_launches(code);
  rename_extents(code);
  return code.text();
}

}  // namespace rewrite
