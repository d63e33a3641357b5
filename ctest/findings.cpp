#include "ctest/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

namespace findings {
namespace {

/// What doctest prints about one assertion: its first line behind "ERROR: ", and the lines that follow.
struct Block {
  std::string first, rest;
};

std::vector<Block> blocks_of(const std::string& output) {
  static const std::regex start(R"(^\S.*:\d+: (?:FATAL )?ERROR: (.*)$)");
  std::vector<Block> blocks;
  std::istringstream lines(output);
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, start)) {
      blocks.push_back({match[1], ""});
      open = true;
    } else if (line.empty() || line.starts_with("====")) {
      open = false;
    } else if (open) {
      blocks.back().rest += line + "\n";
    }
  }
  return blocks;
}

bool search(const std::string& text, const char* pattern, std::smatch& match) {
  return std::regex_search(text, match, std::regex(pattern));
}

/// A line of the model's: "KIND: KERNEL, FILE:LINE, block (...". Elements that nobody wrote have no place.
bool model_finding(const std::string& line, Finding& finding) {
  std::string said = line;
  if (said.starts_with('"')) said.erase(0, 1);  // doctest quotes a text that it compares
  if (said.size() < line.size() && said.ends_with('"')) said.pop_back();
  std::smatch match;
  if (search(said, R"(^([a-z][a-z ]*): ([A-Za-z_]\w*.*, [^ ,]+:\d+, block \(.*)$)", match)) {
    finding = {match[1], match[2], match.str(1) + ": " + match.str(2)};
    return true;
  }
  if (search(said, R"(^missing: \d+ of \d+ elements of (\w+.*)$)", match)) {
    finding = {"missing", match[1], said};
    return true;
  }
  return false;
}

bool wrong_result(const std::string& text, Finding& finding) {
  std::smatch match;
  if (!search(text, R"((\w+\[\d+\]\[\d+\] is \S+, the reference [^\n]*?\(bound [^)\n]*\)))", match) &&
      !search(text, R"(: (wrote (?:\d+ elements (?:before|after) C|C's padding [^=\n]*)))", match))
    return false;
  finding = {"wrong result", match[1], match[1]};
  return true;
}

/// The text between the parentheses of "CHECK( a == b ) is NOT correct!".
std::string expression(const std::string& line) {
  const auto begin = line.find("( ");
  const auto end = line.rfind(" ) ");
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? line
             : line.substr(begin + 2, end - begin - 2);
}

/// The lines "  values: ..." of what doctest says of an assertion, unless it has no words for them; of a text that should be
/// empty, the text alone.
std::string values_of(const std::string& rest) {
  static const std::regex not_empty(R"(^  values: \w+\( (.*) ==  \)$)");
  std::string values;
  std::istringstream lines(rest);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  values: ") && line.find("{?}") == std::string::npos)
      values += std::regex_replace(line, not_empty, "  values: $1") + "\n";
  return values;
}

/// Lines without the quotation marks that doctest puts round what was thrown, behind which may stand what was logged.
std::string unquoted(std::string lines) {
  if (!lines.starts_with('"')) return lines;
  lines.erase(0, 1);
  if (const auto end = lines.rfind("\"\n"); end != std::string::npos) lines.erase(end, 1);
  return lines;
}

void append_thrown(const std::string& text, std::vector<Finding>& found) {
  Finding finding;
  const std::size_t before = found.size();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (model_finding(line, finding)) found.push_back(finding);
  if (found.size() > before) return;
  if (wrong_result(text, finding))
    found.push_back(finding);
  else
    found.push_back({"exception", text.substr(0, text.find('\n')), text.substr(0, text.find('\n'))});
}

std::string family(const std::string& kind) {
  if (kind == "check" || kind == "wrong result") return "assertion";
  return kind == "exception" || kind == "crash" ? kind : "model";
}

Finding split(const std::string& says) {
  const auto colon = says.find(": ");
  if (colon == std::string::npos) return {says, "", ""};
  return {says.substr(0, colon), says.substr(colon + 2), ""};
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool matches(const Finding& finding, const Finding& announced) {
  const std::string &detail = finding.detail, &start = announced.detail;
  if (finding.kind != announced.kind) return false;
  if (announced.kind == "check") return detail == start;
  if (!detail.starts_with(start)) return false;
  return start.empty() || detail.size() == start.size() || !is_of_word(start.back()) ||
         !is_of_word(detail[start.size()]);
}

}  // namespace

std::vector<Finding> found_in(const std::string& output) {
  std::vector<Finding> found;
  for (const Block& block : blocks_of(output)) {
    static const std::string thrown = " THREW exception: ", crashed = "test case CRASHED: ";
    Finding finding;
    if (const auto at = block.first.find(thrown); at != std::string::npos) {
      append_thrown(unquoted(block.first.substr(at + thrown.size()) + "\n" + block.rest), found);
    } else if (block.first.starts_with(crashed)) {
      found.push_back({"crash", block.first.substr(crashed.size()), block.first});
    } else if (wrong_result(block.rest, finding)) {
      found.push_back(finding);
    } else {
      found.push_back({"check", expression(block.first), block.first + "\n" + values_of(block.rest)});
    }
  }
  return found;
}

std::string complaint_about(const std::string& says) {
  const Finding announced = split(says);
  if (says.empty()) return "needs says: the kind of the finding, as in \"race: sgemm_shared\"";
  if (announced.detail.empty() && announced.kind != "wrong result")
    return fmt::format("says '{}', which names no kernel, expression or message: \"KIND: DETAIL\"", says);
  return "";
}

std::string text_of(const std::string& says, const std::vector<Finding>& found) {
  const Finding announced = split(says);
  static const std::regex aside(R"( \(address 0x[0-9a-f]+\))"), address(R"(at address 0x[0-9a-f]+, which)");
  for (const Finding& finding : found)
    if (matches(finding, announced))
      return std::regex_replace(std::regex_replace(finding.text, aside, ""), address, "at an address that");
  return "";
}

std::string mismatch(const std::string& says, const std::vector<Finding>& found) {
  const Finding announced = split(says);
  std::set<std::string> lines;
  for (const Finding& finding : found) lines.insert(fmt::format("\n  {}: {}", finding.kind, finding.detail));
  const std::string list = fmt::format("{}", fmt::join(lines, ""));
  if (std::none_of(found.begin(), found.end(), [&](const Finding& f) { return matches(f, announced); }))
    return fmt::format("it fails, but not with '{}':{}", says, list);
  if (std::any_of(found.begin(), found.end(),
                  [&](const Finding& f) { return family(f.kind) != family(announced.kind); }))
    return fmt::format("it fails with '{}', but for another reason as well:{}", says, list);
  return "";
}

}  // namespace findings
