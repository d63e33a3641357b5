// What becomes of declarations of __shared__ variables.
#include <map>
#include <set>

#include "common/sim/rewrite/code.hpp"

namespace rewrite {
namespace {

// Where a name is the variable's, and not a member's or that of another namespace.
bool is_use(const Code& code, std::size_t i, const std::string& name) {
  return code[i] == name && i > 1 && code[i - 1] != "." && !code.is_sign(i - 2, "->") && !code.is_sign(i - 2, "::");
}

// The lambda whose captures begin at `open`: its body, and where that ends; {0, 0} if there is none.
struct Lambda {
  std::size_t body = 0, end = 0;
};
Lambda lambda_at(const Code& code, std::size_t open) {
  static const std::set<std::string> follow{"(",        "{",         "<",          "-",       "mutable",
                                            "noexcept", "constexpr", "__device__", "__host__"};
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
using Captured = std::map<std::size_t, std::set<std::string>>;

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

}  // namespace

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

}  // namespace rewrite
