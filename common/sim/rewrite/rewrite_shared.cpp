// What becomes of declarations of __shared__ variables.
#include <map>
#include <set>

#include "common/sim/rewrite/code.hpp"

namespace rewrite {
namespace {

std::string refused(const std::string& why) { return "_Pragma(\"GCC error \\\"" + why + "\\\"\") "; }

// --- Macros that stand for the word -------------------------------------------------------------------------------------------

// `#define NAME __shared__`, perhaps with an alignment: what the name stands for besides is put where it is used.
void learn_macro(const std::string& directive, Known& known) {
  const Code words(directive.substr(1));
  if (words[0] != "define" || !words.is_name(1) || directive.find(words[1] + "(") != std::string::npos) return;
  std::string besides;
  bool shared = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    shared = shared || words[i] == "__shared__";
    if (words[i] == ";" || words[i] == "[") return;
    if (words[i] != "__shared__") besides += " " + words[i];
  }
  if (shared) known.macros[words[1]] = besides;
}

void expand_macros(Code& code, Known& known) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.is_directive(i)) learn_macro(code[i], known);
    const auto macro = known.macros.find(code[i]);
    if (macro == known.macros.end() || !code.is_name(i)) continue;
    code.set(i, "__shared__");
    code.insert_after(i, macro->second);
  }
}

// --- Declarations ---------------------------------------------------------------------------------------------------------------

// Where a name is the variable's, and not a member's or that of another namespace.
bool is_use(const Code& code, std::size_t i, const std::string& name) {
  if (code[i] != name || i == 0) return false;
  const std::string& before = code[i - 1];
  return before != "." && !(i > 1 && code.is_sign(i - 2, "->")) && !(i > 1 && code.is_sign(i - 2, "::"));
}

// The lambda whose captures begin at `open`: the end of its parameters, if there is one, and of its body; or {0, 0}.
struct Lambda {
  std::size_t body = 0, end = 0;
};
Lambda lambda_at(const Code& code, std::size_t open) {
  const std::string& before = code[open - 1];
  const bool is_operand = code.is_name(open - 1) && before != "return";
  if (is_operand || before == ")" || before == "]" || before == "[" || code[open + 1] == "[") return {};
  const std::set<std::string> follow{"(", "{", "<", "-", "mutable", "noexcept", "constexpr", "__device__", "__host__"};
  std::size_t i = after_brackets(code, open);
  if (!follow.contains(code[i])) return {};
  while (i < code.size() && code[i] != "{" && code[i] != ";")
    i = code[i] == "<" ? after_angles(code, i) : code[i] == "(" ? after_brackets(code, i) : i + 1;
  if (code[i] != "{") return {};
  return {i, after_brackets(code, i)};
}

// The names that were added to the captures of lambdas, by where these begin.
using Captured = std::map<std::size_t, std::set<std::string>>;

// A __shared__ variable is there for lambdas without being captured, and its reference is not; nor is its type a reference.
void adapt_uses(Code& code, std::size_t begin, std::size_t end, const std::string& name, Captured& captured) {
  for (std::size_t open = begin; open < end; ++open) {
    if (code[open] == "decltype" && code[open + 1] == "(" && code[open + 2] == name && code[open + 3] == ")") {
      code.set(open, "std::remove_reference_t<decltype");
      code.insert_after(open + 3, ">");
    }
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

void rewrite_dynamic(Code& code, const std::vector<bool>& outside, Captured& captured) {
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (!((code[i] == "extern" && code[i + 1] == "__shared__") || (code[i] == "__shared__" && code[i + 1] == "extern")))
      continue;
    std::size_t type = i + 2, end = type;
    while (end < code.size() && code[end] != "[" && code[end] != ";") {
      const std::size_t next = is_alignment(code[end]) ? after_brackets(code, end + 1) : end + 1;
      if (is_alignment(code[end])) code.remove(end, next);
      end = next;
    }
    const std::size_t name = end - 1;
    if (code[end] != "[" || code[end + 1] != "]" || !code.is_name(name)) continue;
    const std::string called = code[name];
    if (outside[i]) {
      code.set(i, refused("declare extern __shared__ " + called + "[] in the kernel that uses it") + "extern");
      code.set(i + 1, "");
      continue;
    }
    code.set(i, "auto* const " + called + " = static_cast<");
    code.set(i + 1, "");
    code.set(name, "*>(simt::device::dynamic_shared(\"" + called + "\"))");
    code.remove(end, end + 2);
    adapt_uses(code, end + 2, end_of_scope(code, end + 2, false), called, captured);
  }
}

void rewrite_static(Code& code, const Scopes& scopes, Captured& captured, Known& known) {
  const std::vector<bool>& outside = scopes.outside;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != "__shared__") continue;
    const std::size_t first = first_of_statement(code, i);
    const Declaration d = declaration_at(code, first);
    const auto has = [&](const char* word) {
      for (std::size_t k = first; k < d.end; ++k)
        if (code[k] == word) return true;
      return false;
    };
    if (!d.is_variable || has("extern") || has("=")) {
      code.set(i, refused("a __shared__ variable is declared as __shared__ type name; or __shared__ type name[extent]; "
                          "with one or more names, without a value, and of a type that has a name"));
      continue;
    }
    const std::string scope = "simt_shared_" + d.names.front();
    for (std::size_t k = first; k < d.end; ++k)
      if (code[k] == "__shared__" || code[k] == "static" || code[k] == "inline") code.set(k, "");
    code.set(first, "struct " + scope + " { " + code[first]);
    if (!outside[i]) code.insert_after(d.end, " };");
    for (const std::string& name : d.names) {
      const std::string place = std::to_string(known.declared++),
                        variable = "simt::shared<&" + scope + "::" + name + ", \"" + name + "\", " + place + ">()";
      if (outside[i]) {
        known.outside.push_back({scopes.namespaces[first], name, scope + "::of_" + name + "()"});
        code.insert_after(d.end, " static SIMT_INLINE auto& of_" + name + "() noexcept { return " + variable + "; }");
      } else {
        code.insert_after(d.end, " auto& " + name + " = " + variable + ";");
        adapt_uses(code, d.end + 1, end_of_scope(code, d.end + 1, false), name, captured);
      }
    }
    if (outside[i]) code.insert_after(d.end, " };");
    i = d.end;
  }
}

// --- Variables outside functions ------------------------------------------------------------------------------------------------

// Declares those that a function of the device uses at the begin of its body, which becomes a scope of its own within.
void declare_within(Code& code, const Scopes& scopes, std::size_t open, Captured& captured, const Known& known) {
  const std::size_t statement = scopes.statement[open];
  const std::size_t end = after_brackets(code, open);
  std::string declarations;
  for (const Known::Variable& v : known.outside) {
    bool used = false, hidden = false;
    for (std::size_t i = statement; i < end; ++i) (i < open ? hidden : used) |= is_use(code, i, v.name);
    if (!used || hidden || !scopes.namespaces[statement].starts_with(v.namespaces)) continue;
    declarations += " auto& " + v.name + " = " + v.reference + ";";
    adapt_uses(code, open, end, v.name, captured);
  }
  if (declarations.empty()) return;
  code.insert_after(open, declarations + " {");
  code.insert_after(end - 1, " }");
}

// Whether the qualifiers before a name, if there are any, are those of a namespace's own.
bool is_qualified_use(const Code& code, std::size_t i, const Known::Variable& v) {
  if (code[i] != v.name || i < 2 || !code.is_sign(i - 2, "::")) return false;
  std::string qualifiers;
  std::size_t first = i;
  for (; first >= 2 && code.is_sign(first - 2, "::"); first -= first > 2 && code.is_name(first - 3) ? 3 : 2)
    qualifiers.insert(0, first > 2 && code.is_name(first - 3) ? code[first - 3] + "::" : "");
  return v.namespaces == qualifiers || (!qualifiers.empty() && v.namespaces.ends_with("::" + qualifiers));
}

void declare_in_functions(Code& code, const Scopes& scopes, Captured& captured, const Known& known) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const Known::Variable& v : known.outside)
      if (is_qualified_use(code, i, v)) code.set(i, v.reference);
    if (code[i] == "{") {
      bool of_device = false, is_class = false;
      for (std::size_t k = scopes.statement[i]; k < i; k = opens(code[k]) ? after_brackets(code, k) : k + 1) {
        if (code[k] == "template" && code[k + 1] == "<") k = after_angles(code, k + 1);
        of_device = of_device || code[k] == "__device__" || code[k] == "__global__";
        is_class = is_class || code[k] == "struct" || code[k] == "class" || code[k] == "union";
      }
      if (of_device && !is_class) declare_within(code, scopes, i, captured, known);
    }
  }
}

}  // namespace

void rewrite_shared(Code& code, const Scopes& scopes, Known& known) {
  Captured captured;
  expand_macros(code, known);
  rewrite_dynamic(code, scopes.outside, captured);
  rewrite_static(code, scopes, captured, known);
  if (!known.outside.empty()) declare_in_functions(code, scopes, captured, known);
}

}  // namespace rewrite
