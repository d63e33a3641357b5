#include "common/sim/rewrite/code.hpp"

namespace rewrite {

bool opens(const std::string& t) { return t == "(" || t == "[" || t == "{"; }
bool closes(const std::string& t) { return t == ")" || t == "]" || t == "}"; }

std::size_t after_brackets(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    depth += opens(code[i]) - closes(code[i]);
    if (depth == 0) return i + 1;
  }
  return code.size();
}

std::size_t begin_of_brackets(const Code& code, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end; i-- > 0;) {
    depth += closes(code[i]) - opens(code[i]);
    if (depth == 0) return i;
  }
  return end;
}

Scopes scopes_of(const Code& code) {
  Scopes scopes{std::vector<bool>(code.size()), std::vector<std::string>(code.size() + 1), {}};
  scopes.statement.resize(code.size());
  struct Open {
    bool is_namespace;
    std::size_t names;  // length of the enclosing ones
  };
  std::vector<Open> open;
  int others = 0;
  std::size_t statement = 0;
  std::string names;
  for (std::size_t i = 0; i < code.size(); ++i) {
    scopes.outside[i] = others == 0;
    scopes.namespaces[i] = names;
    scopes.statement[i] = statement;
    if (code[i] == "{") {
      // A call of a macro that needs no ; may stand before.
      std::size_t first = i;
      while (first > statement && code[first] != "namespace" && code[first] != "extern") --first;
      const bool is_namespace = code[first] == "namespace" || (code[first] == "extern" && first + 2 == i);
      open.push_back({is_namespace, names.size()});
      others += !is_namespace;
      if (code[first] == "namespace" && first + 1 < i) {
        for (std::size_t k = first + 1; k < i; ++k) names += code[k];
        names += "::";
      }
    } else if (code[i] == "}" && !open.empty()) {
      others -= !open.back().is_namespace;
      names.resize(open.back().names);
      open.pop_back();
    }
    if (code[i] == ";" || code[i] == "{" || code[i] == "}" || code.is_directive(i)) statement = i + 1;
  }
  return scopes;
}

std::size_t end_of_scope(const Code& code, std::size_t i, bool is_parameter) {
  if (is_parameter)
    while (i < code.size() && code[i] != "{" && code[i] != ";") ++i;
  if (is_parameter && code[i] == "{") return after_brackets(code, i);
  int depth = 0;
  for (; i < code.size() && depth >= 0; ++i) depth += (code[i] == "{") - (code[i] == "}");
  return i;
}

bool is_alignment(const std::string& t) { return t == "__align__" || t == "alignas"; }

std::size_t after_angles(const Code& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size() && code[i] != ";" && code[i] != "{"; ++i) {
    depth += (code[i] == "<") - (code[i] == ">");
    if (depth == 0) return i + 1;
  }
  return open + 1;
}

namespace {

// Names in a declaration after which a parenthesis is no function's.
bool takes_arguments_in_declaration(const std::string& name) {
  return is_alignment(name) || name == "decltype" || name == "__attribute__";
}

}  // namespace

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
      const bool of_qualifier = takes_arguments_in_declaration(last);
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

namespace {

// Whether a ) ends the call of a macro, after which a declaration may begin without ; between.
bool ends_macro_call(const Code& code, std::size_t close) {
  if (code[close] != ")") return false;
  const std::size_t open = begin_of_brackets(code, close + 1);
  return open > 0 && open <= close && code.is_name(open - 1) && !takes_arguments_in_declaration(code[open - 1]);
}

}  // namespace

std::size_t first_of_statement(const Code& code, std::size_t i) {
  while (i > 0 && code[i - 1] != ";" && code[i - 1] != "{" && code[i - 1] != "}" && code[i - 1] != ">" &&
         !code.is_directive(i - 1) && !(code.is_name(i) && ends_macro_call(code, i - 1)))
    --i;
  return i;
}

}  // namespace rewrite
