#include "common/sim/rewrite/code.hpp"

namespace rewrite {

bool opens(const std::string& t) { return t == "(" || t == "[" || t == "{"; }
bool closes(const std::string& t) { return t == ")" || t == "]" || t == "}"; }
bool is_alignment(const std::string& t) { return t == "__align__" || t == "alignas"; }

std::size_t after_brackets(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    depth += opens(code[i]) - closes(code[i]);
    if (depth == 0) return i + 1;
  }
  return code.size();
}

std::size_t after_angles(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size() && code[i] != ";" && code[i] != "{"; ++i) {
    depth += (code[i] == "<") - (code[i] == ">");
    if (depth == 0) return i + 1;
  }
  return open + 1;
}

std::vector<bool> outside_of(const Code& code) {
  std::vector<bool> outside(code.size()), is_namespace;  // the latter of each bracket that is open
  int others = 0;
  std::size_t statement = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    outside[i] = others == 0;
    if (code[i] == "{") {
      is_namespace.push_back(code.has(statement, i, "namespace") || (i > 1 && code[i - 2] == "extern"));
      others += !is_namespace.back();
    } else if (code[i] == "}" && !is_namespace.empty()) {
      others -= !is_namespace.back();
      is_namespace.pop_back();
    }
    if (code[i] == ";" || code[i] == "{" || code[i] == "}" || code.is_directive(i)) statement = i + 1;
  }
  return outside;
}

std::size_t end_of_scope(const Code& code, std::size_t i, bool is_parameter) {
  if (is_parameter)
    while (i < code.size() && code[i] != "{" && code[i] != ";") ++i;
  if (is_parameter && code[i] == "{") return after_brackets(code, i);
  int depth = 0;
  for (; i < code.size() && depth >= 0; ++i) depth += (code[i] == "{") - (code[i] == "}");
  return i;
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
      i = opens(t) ? after_brackets(code, i) : i + 1;
      if (t == "{" && code[i] != ";" && code[i] != ",") return {};  // no initialiser: a function or a class
    } else if (t == "(") {
      const bool of_qualifier = is_alignment(last) || last == "decltype" || last == "__attribute__";
      if (!in_value && !of_qualifier) return {};
      i = after_brackets(code, i);
      if (of_qualifier) last.clear();
    } else if (t == "<" && !in_value && !last.empty()) {
      i = after_angles(code, i);
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

std::size_t first_of_statement(const Code& code, std::size_t i) {
  while (i > 0 && code[i - 1] != ";" && code[i - 1] != "{" && code[i - 1] != "}" && code[i - 1] != ">" &&
         !code.is_directive(i - 1))
    --i;
  return i;
}

}  // namespace rewrite
