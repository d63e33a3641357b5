#include "common/sim/rewrite/tokens.hpp"

#include <algorithm>
#include <cctype>

namespace tokens {
namespace {

using Kind = Token::Kind;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

// Where what begins at `at` ends: after the first `end` from `from` on, or with the text.
std::size_t end_after(const std::string& text, const std::string& end, std::size_t from) {
  const auto found = text.find(end, from);
  return found == std::string::npos ? text.size() : found + end.size();
}

std::size_t end_of_line(const std::string& text, std::size_t at) {
  for (; at < text.size() && text[at] != '\n'; ++at)
    if (text[at] == '\\' && at + 1 < text.size()) ++at;  // the line goes on
  return at;
}

// Of a string or character that begins with the quote at `at`.
std::size_t end_of_quoted(const std::string& text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

std::size_t end_of_raw_string(const std::string& text, std::size_t quote) {
  const auto open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  return end_after(text, ")" + text.substr(quote + 1, open - quote - 1) + "\"", open);
}

std::size_t end_of_name(const std::string& text, std::size_t at) {
  while (at < text.size() && (begins_name(text[at]) || std::isdigit(static_cast<unsigned char>(text[at])))) ++at;
  return at;
}

std::size_t end_of_number(const std::string& text, std::size_t at) {
  const auto part = [&](std::size_t i) {
    const char c = text[i];
    const bool exponent = (c == '+' || c == '-') && std::string("eEpP").find(text[i - 1]) != std::string::npos;
    const bool separator = c == '\'' && i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i + 1]));
    return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.' || exponent || separator;
  };
  do ++at;
  while (at < text.size() && part(at));
  return at;
}

bool begins_directive(const std::string& text, std::size_t at) {
  while (at > 0 && is_space(text[at - 1]) && text[at - 1] != '\n') --at;
  return at == 0 || text[at - 1] == '\n';
}

}  // namespace

std::vector<Token> of(const std::string& text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  const auto take = [&](Kind kind, std::size_t end) {
    tokens.push_back({kind, text.substr(at, end - at)});
    at = end;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (is_space(c)) {
      take(Kind::space,
           std::size_t(std::find_if_not(text.begin() + std::ptrdiff_t(at), text.end(), is_space) - text.begin()));
    } else if (text.compare(at, 2, "\\\n") == 0) {
      take(Kind::space, at + 2);
    } else if (text.compare(at, 2, "//") == 0) {
      take(Kind::comment, end_of_line(text, at));
    } else if (text.compare(at, 2, "/*") == 0) {
      take(Kind::comment, end_after(text, "*/", at + 2));
    } else if (c == '#' && begins_directive(text, at)) {
      take(Kind::directive, end_of_line(text, at));
    } else if (c == '"' || c == '\'') {
      take(Kind::text, end_of_quoted(text, at));
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      take(Kind::number, end_of_number(text, at));
    } else if (begins_name(c)) {
      const std::size_t end = end_of_name(text, at);
      const bool raw = end < text.size() && text[end] == '"' && text[end - 1] == 'R' && end - at <= 3;
      take(raw ? Kind::text : Kind::name, raw ? end_of_raw_string(text, end) : end);
    } else {
      take(Kind::sign, at + 1);
    }
  }
  return tokens;
}

}  // namespace tokens
