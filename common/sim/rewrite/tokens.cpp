#include "common/sim/rewrite/tokens.hpp"

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
