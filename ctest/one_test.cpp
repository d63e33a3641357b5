#include "ctest/one_test.hpp"

#include <algorithm>
#include <vector>

#include "common/sim/rewrite/tokens.hpp"

namespace one_test {

namespace {

using tokens::Token;
using At = std::vector<Token>::const_iterator;

/// Behind the bracket that closes the next one to open.
At behind_group(At at, At end, const char* open, const char* close) {
  int depth = 0;
  for (; at != end; ++at) {
    depth += at->is(open);
    depth -= at->is(close);
    if (depth == 0 && at->is(close)) return at + 1;
  }
  return end;
}

/// The name of the test case that begins here: its first string, or several that follow each other.
std::string name_at(At at, At end) {
  std::string name;
  for (; at != end; ++at) {
    if (at->kind == Token::Kind::text)
      name += at->text.substr(1, at->text.size() - 2);
    else if (at->counts() && !name.empty())
      break;
  }
  return name;
}

}  // namespace

std::string only(const std::string& text, const std::string& name) {
  const std::vector<Token> all = tokens::of(text);
  std::string result;
  for (At at = all.begin(); at != all.end();) {
    if (!at->is("TEST_CASE")) {
      result += (at++)->text;
      continue;
    }
    const At body = behind_group(at, all.end(), "(", ")"), behind = behind_group(body, all.end(), "{", "}");
    const bool kept = name_at(at, body) == name;
    for (; at != behind; ++at)
      result += kept ? at->text : std::string(std::size_t(std::count(at->text.begin(), at->text.end(), '\n')), '\n');
  }
  return result;
}

}  // namespace one_test
