// A program with one of its test cases. In: its text. Out: the text without the others, line for line.
#pragma once

#include <string>

namespace one_test {

/// A test that was left out is as many empty lines, so that places in what is left stay as they are. None is left where `name` is of
/// a test that the program gets from a library.
std::string only(const std::string& text, const std::string& name);

}  // namespace one_test
