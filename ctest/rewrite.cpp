#include "ctest/rewrite.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "ctest/tokens.hpp"

namespace rewrite {
namespace {

using Kind = tokens::Token::Kind;

/// The tokens of a text that the grammar sees. Edits change their texts; what lies between them, lines too, stays.
class Code {
 public:
  explicit Code(const std::string& text) : all_(tokens::of(text)), behind_(all_.size()) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].counts()) seen_.push_back(i);
  }
  std::size_t size() const { return seen_.size(); }
  /// A token's text; "" behind the last.
  const std::string& operator[](std::size_t i) const { return i < size() ? token(i).text : none_; }
  bool is_name(std::size_t i) const { return i < size() && token(i).kind == Kind::name; }
  bool is_directive(std::size_t i) const { return i < size() && token(i).kind == Kind::directive; }
  /// Whether token i is the first of signs that stand together.
  bool is_sign(std::size_t i, const std::string& sign) const {
    for (std::size_t k = 0; k < sign.size(); ++k)
      if ((*this)[i + k] != std::string(1, sign[k]) || seen_[i + k] != seen_[i] + k) return false;
    return true;
  }
  void set(std::size_t i, const std::string& text) { all_[seen_[i]].text = text; }
  void add_behind(std::size_t i, const std::string& text) { behind_[seen_[i]] += text; }
  void remove(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) set(i, "");
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < all_.size(); ++i) text += all_[i].text + behind_[i];
    return text;
  }

 private:
  const tokens::Token& token(std::size_t i) const { return all_[seen_[i]]; }
  std::vector<tokens::Token> all_;
  std::vector<std::string> behind_;  // what is put behind each
  std::vector<std::size_t> seen_;
  const std::string none_;
};

bool opens(const std::string& t) { return t == "(" || t == "[" || t == "{"; }
bool closes(const std::string& t) { return t == ")" || t == "]" || t == "}"; }

/// Behind the bracket that closes the one at `open`.
std::size_t behind_brackets(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    depth += opens(code[i]) - closes(code[i]);
    if (depth == 0) return i + 1;
  }
  return code.size();
}

/// For each token whether only namespaces are open there.
std::vector<bool> outside_of(const Code& code) {
  std::vector<bool> outside(code.size());
  std::vector<bool> namespaces;  // of the open braces, which are such
  int others = 0;
  std::size_t statement = 0;  // its first token
  for (std::size_t i = 0; i < code.size(); ++i) {
    outside[i] = others == 0;
    if (code[i] == "{") {
      // A call of a macro that needs no ; may stand before.
      std::size_t first = i;
      while (first > statement && code[first] != "namespace" && code[first] != "extern") --first;
      const bool is_namespace =
          code[first] == "namespace" || (code[first] == "extern" && first + 2 == i);
      namespaces.push_back(is_namespace);
      others += !is_namespace;
    } else if (code[i] == "}" && !namespaces.empty()) {
      others -= !namespaces.back();
      namespaces.pop_back();
    }
    if (code[i] == ";" || code[i] == "{" || code[i] == "}" || code.is_directive(i)) statement = i + 1;
  }
  return outside;
}

// --- Shared memory -------------------------------------------------------------------------------------------------------
bool is_alignment(const std::string& t) { return t == "__align__" || t == "alignas"; }

void rewrite_dynamic_shared(Code& code, const std::vector<bool>& outside) {
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (!((code[i] == "extern" && code[i + 1] == "__shared__") || (code[i] == "__shared__" && code[i + 1] == "extern")))
      continue;
    std::size_t type = i + 2, end = type;
    while (end < code.size() && code[end] != "[" && code[end] != ";") {
      const std::size_t next = is_alignment(code[end]) ? behind_brackets(code, end + 1) : end + 1;
      if (is_alignment(code[end])) code.remove(end, next);
      end = next;
    }
    const std::size_t name = end - 1;
    if (code[end] != "[" || code[end + 1] != "]" || !code.is_name(name)) continue;
    const std::string called = code[name];
    if (outside[i]) {
      code.set(i, "_Pragma(\"GCC error \\\"declare extern __shared__ " + called +
                      "[] in the kernel that uses it\\\"\") extern");
      continue;
    }
    code.set(i, "auto* const " + called + " = static_cast<");
    code.set(i + 1, "");
    code.set(name, "*>(simt::device::dynamic_shared(\"" + called + "\"))");
    code.remove(end, end + 2);
  }
}

// --- Variables of the device -----------------------------------------------------------------------------------------------

/// A declaration that begins with qualifiers: what it declares, as far as that are variables.
struct Declaration {
  bool is_variable = false, is_constant = false, is_constexpr = false, is_array = false;
  std::vector<std::string> names;
  std::size_t end = 0;  ///< of its ;
};

// Skips template arguments: the < behind a name up to its >.
std::size_t behind_angles(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size() && code[i] != ";" && code[i] != "{"; ++i) {
    depth += (code[i] == "<") - (code[i] == ">");
    if (depth == 0) return i + 1;
  }
  return open + 1;
}

// Names of a declaration behind which a parenthesis is no function's.
bool takes_arguments_in_declaration(const std::string& name) {
  return is_alignment(name) || name == "decltype" || name == "__attribute__";
}

Declaration declaration_at(const Code& code, std::size_t begin) {
  Declaration d;
  std::size_t i = begin;
  std::string last;  // name before what comes
  bool in_value = false;
  while (i < code.size() && code[i] != ";") {
    const std::string& t = code[i];
    d.is_constant = d.is_constant || (!in_value && t == "const");
    d.is_constexpr = d.is_constexpr || (!in_value && t == "constexpr");
    if (t == "operator" || t == "template" || closes(t)) return {};
    if (t == "[" || t == "=" || t == "{" || t == ",") {
      if (!last.empty()) d.names.push_back(last);
      last.clear();
      d.is_array = d.is_array || (t == "[" && !in_value);
      in_value = t != "," && (in_value || t != "[");
      i = opens(t) ? behind_brackets(code, i) : i + 1;
      if (t == "{" && code[i] != ";" && code[i] != ",") return {};  // no initialiser: a function or a class
    } else if (t == "(") {
      const bool of_qualifier = takes_arguments_in_declaration(last);
      if (!in_value && !of_qualifier) return {};
      i = behind_brackets(code, i);
      if (of_qualifier) last.clear();
    } else if (t == "<" && !in_value && !last.empty()) {
      i = behind_angles(code, i);
    } else {
      if (!in_value) last = code.is_name(i) ? t : "";
      ++i;
    }
  }
  if (!last.empty()) d.names.push_back(last);
  d.is_variable = i < code.size() && !d.names.empty();
  d.end = i;
  return d;
}

// Whether a ) ends the call of a macro, behind which a declaration may begin without ; between.
bool ends_macro_call(const Code& code, std::size_t close) {
  if (code[close] != ")") return false;
  int depth = 0;
  std::size_t open = close;
  do depth += closes(code[open]) - opens(code[open]);
  while (depth > 0 && open-- > 0);
  return depth == 0 && open > 0 && code.is_name(open - 1) && !takes_arguments_in_declaration(code[open - 1]);
}

std::size_t first_of_statement(const Code& code, std::size_t i) {
  while (i > 0 && code[i - 1] != ";" && code[i - 1] != "{" && code[i - 1] != "}" && code[i - 1] != ">" &&
         !code.is_directive(i - 1) && !(code.is_name(i) && ends_macro_call(code, i - 1)))
    --i;
  return i;
}

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
      code.add_behind(d.end, " static const simt::DeviceVariable simt_variable_" + name + "(\"" + name + "\", " + name +
                                 (constant_memory ? ", true" : "") + ");");
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
      open = code[open] == "__launch_bounds__" || is_alignment(code[open]) ? behind_brackets(code, open + 1) : open + 1;
    if (open == code.size() || code[open] != "(") continue;
    const std::size_t end = behind_brackets(code, open) - 1;
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

// --- Launches ----------------------------------------------------------------------------------------------------------------

// The first token of the kernel's name, template arguments and all, that ends before `end`.
std::size_t begin_of_kernel(const Code& code, std::size_t end) {
  std::size_t i = end;
  if (i > 0 && code[i - 1] == ">") {
    int depth = 0;
    do {
      --i;
      depth += (code[i] == ">") - (code[i] == "<");
    } while (i > 0 && depth > 0);
  }
  while (i > 0 && (code.is_name(i - 1) || code[i - 1] == ":")) {
    if (code.is_name(i - 1) && i < end && code.is_name(i)) break;  // "return kernel"
    --i;
  }
  return i;
}

constexpr const char* launch_form =
    "a launch is kernel<<<grid, block>>>(...), kernel<<<grid, block, shared bytes>>>(...) or the same with a stream";

void rewrite_launch(Code& code, std::size_t open) {
  const std::size_t begin = begin_of_kernel(code, open);
  std::vector<std::size_t> ends;  // of the arguments between <<< and >>>
  std::size_t i = open + 3;
  while (i < code.size() && !code.is_sign(i, ">>>") && code[i] != ";") {
    if (code[i] == ",") ends.push_back(i);
    i = opens(code[i]) ? behind_brackets(code, i) : i + 1;
  }
  const std::size_t close = i;
  if (begin == open || code[begin] == "operator") return;
  if (!code.is_sign(close, ">>>") || code[close + 3] != "(" || ends.empty() || ends.size() > 3) {
    code.set(begin, "_Pragma(\"GCC error \\\"" + std::string(launch_form) + "\\\"\") " + code[begin]);
    return;
  }
  code.set(begin, "tile::launch(" + code[begin]);
  code.set(open, ",");
  code.remove(open + 1, open + 3);
  if (ends.size() == 3) code.remove(ends[2], close);  // the stream
  const bool no_arguments = code[close + 4] == ")";
  code.set(close, ends.size() == 1 ? ", 0" : "");
  code.remove(close + 1, close + 3);
  code.set(close + 3, no_arguments ? "" : ", ");
}

void rewrite_launches(Code& code) {
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code.is_sign(i, "<<<")) rewrite_launch(code, i);
}

// --- Names that the model has taken --------------------------------------------------------------------------------------------

// Where what is declared at `i` ends to be visible: with its block, or, for a parameter, with the next one.
std::size_t end_of_scope(const Code& code, std::size_t i, bool is_parameter) {
  if (is_parameter)
    while (i < code.size() && code[i] != "{" && code[i] != ";") ++i;
  if (is_parameter && code[i] == "{") return behind_brackets(code, i);
  int depth = 0;
  for (; i < code.size() && depth >= 0; ++i) depth += (code[i] == "{") - (code[i] == "}");
  return i;
}

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
    if (!code.is_directive(i)) continue;
    const auto word = t.find_first_not_of(" \t", 1);
    if (word == std::string::npos || t.compare(word, 7, "include") != 0) continue;
    const auto open = t.find('"'), close = t.find('"', open + 1);
    if (close == std::string::npos) continue;
    code.set(i, t.substr(0, open + 1) + include(t.substr(open + 1, close - open - 1)) + t.substr(close));
  }
}

}  // namespace

std::string rewritten(const std::string& text, const Include& include) {
  Code code(text);
  const std::vector<bool> outside = outside_of(code);
  rewrite_dynamic_shared(code, outside);
  rewrite_device_variables(code, outside);
  refuse_static_tables(code, outside);
  refuse_own_tensor_maps(code);
  rewrite_launches(code);
  rename_extents(code);
  rewrite_includes(code, include);
  return code.text();
}

}  // namespace rewrite
