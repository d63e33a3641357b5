#include "common/sim/rewrite/code.hpp"

#include <algorithm>
#include <cctype>

namespace tokens {
namespace {

using Kind = Token::Kind;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Behind the first `end` from `from` on, or the end of the text.
std::size_t end_after(const std::string& text, const std::string& end, std::size_t from) {
  const auto found = text.find(end, from);
  return found == std::string::npos ? text.size() : found + end.size();
}

// Of the line at `at`, with those that it is continued on.
std::size_t end_of_line(const std::string& text, std::size_t at) {
  while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

// Of a string or character that begins with the quote at `at`.
std::size_t end_of_quoted(const std::string& text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

std::size_t end_of_raw_string(const std::string& text, std::size_t quote) {
  const auto open = std::min(text.find('(', quote), text.size());
  return end_after(text, ")" + text.substr(quote + 1, open - quote - 1) + "\"", open);
}

std::size_t end_of_number(const std::string& text, std::size_t at) {
  const auto goes_on = [&](std::size_t i) {
    const bool exponent = (text[i] == '+' || text[i] == '-') && std::string("eEpP").find(text[i - 1]) < 4;
    return is_of_name(text[i]) || text[i] == '.' || exponent || (text[i] == '\'' && is_of_name(text[i + 1]));
  };
  do ++at;
  while (at < text.size() && goes_on(at));
  return at;
}

}  // namespace

std::vector<Token> of(const std::string& text) {
  std::vector<Token> tokens;
  bool line_begins = true;  // nothing but space so far
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char c = text[at];
    const auto starts = [&](const char* what) { return text.compare(at, 2, what) == 0; };
    Kind kind = Kind::sign;
    end = at + 1;
    if (is_space(c)) {
      kind = Kind::space;
      while (end < text.size() && is_space(text[end])) ++end;
    } else if (starts("\\\n")) {
      kind = Kind::space, end = at + 2;
    } else if (starts("//") || starts("/*")) {
      kind = Kind::comment, end = starts("//") ? end_of_line(text, at) : end_after(text, "*/", at + 2);
    } else if (c == '#' && line_begins) {
      kind = Kind::directive, end = end_of_line(text, at);
    } else if (c == '"' || c == '\'') {
      kind = Kind::text, end = end_of_quoted(text, at);
    } else if (is_digit(c)) {
      kind = Kind::number, end = end_of_number(text, at);
    } else if (is_of_name(c)) {
      while (end < text.size() && is_of_name(text[end])) ++end;
      const bool raw = end < text.size() && text[end] == '"' && text[end - 1] == 'R' && end - at <= 3;
      kind = raw ? Kind::text : Kind::name;
      if (raw) end = end_of_raw_string(text, end);
    }
    tokens.push_back({kind, text.substr(at, end - at)});
    line_begins = kind == Kind::space && (line_begins || tokens.back().text.find('\n') != std::string::npos);
  }
  return tokens;
}

}  // namespace tokens

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
