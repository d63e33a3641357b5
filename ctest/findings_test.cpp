// Tests of what is read from doctest's output, and of what a reader of the book sees of it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "ctest/findings.hpp"

#include <doctest/doctest.h>

namespace {

// What the book shows of a test that printed `report` behind the place of its failure, if the experiment announces `says`.
std::string shown(const std::string& report, const std::string& says) {
  const std::string head = std::string(79, '=') + "\nchapter05.cu:12:\nTEST CASE:  a test\n\n";
  return findings::text_of(says, findings::found_in(head + "chapter05.cu:34: ERROR: " + report + "\n\n"));
}

const std::string place = "sgemm_2d_block<true, false>, chapter05.cu:107, block (0,0,0), thread (32,0,0)";

}  // namespace

TEST_CASE("a finding of the model is shown as the model says it") {
  const std::string race = "race: " + place + " reads As[0], which thread (0,0,0) wrote";
  CHECK(shown("test case THREW exception: " + race, "race: sgemm_2d_block") == race);
  CHECK(shown("CHECK_NOTHROW( run() ) THREW exception: \"" + race + "\"", "race: sgemm_2d_block") == race);
  CHECK(shown("test case THREW exception: \"2 findings\n" + race + "\n" + race + " again\"", "race: sgemm_2d_block") ==
        race);
}

TEST_CASE("the quotation mark behind a list of findings belongs to none of them") {
  const std::string unwritten = "uninitialised: " + place + " reads As[256], which no thread of the block has written";
  CHECK(shown("test case THREW exception: \"" + unwritten + "\"", "uninitialised: sgemm_2d_block") == unwritten);
  CHECK(shown("test case THREW exception: \"race: " + place + " reads As[0]\n" + unwritten + "\"",
              "uninitialised: sgemm_2d_block") == unwritten);
  CHECK(shown("CHECK_NOTHROW( run() ) THREW exception: \"" + unwritten + "\"\n  logged: block2d, 32 x 32 x 63",
              "uninitialised: sgemm_2d_block") == unwritten);
  const std::string quoting = "out of bounds: " + place + " uses index 2076 of an array of type 'float [2048]'";
  CHECK(shown("test case THREW exception: \"" + quoting + "\"", "out of bounds: sgemm_2d_block") == quoting);
}

TEST_CASE("addresses of one run are left out") {
  CHECK(shown("test case THREW exception: misaligned: " + place +
                  " reads 16 bytes at address 0x7f4803f11004, which is not a multiple of 16",
              "misaligned: sgemm_2d_block") ==
        "misaligned: " + place + " reads 16 bytes at an address that is not a multiple of 16");
  CHECK(shown("test case THREW exception: race: " + place + " reads As[0] (address 0x7f4803f11004) again",
              "race: sgemm_2d_block") == "race: " + place + " reads As[0] again");
}

TEST_CASE("of a wrong result the element is shown, not what doctest adds") {
  const std::string wrong = "C[0][0] is 3, the reference -6 (bound 0)";
  CHECK(shown("CHECK( wrong(result) == \"\" ) is NOT correct!\n  values: CHECK( " + wrong + " ==  )", "wrong result") ==
        wrong);
}

TEST_CASE("of an assertion its values are shown, of a text that should be empty the text alone") {
  CHECK(shown("CHECK( a == b ) is NOT correct!\n  values: CHECK( 17 == 4 )", "check: a == b") ==
        "CHECK( a == b ) is NOT correct!\n  values: CHECK( 17 == 4 )\n");
  CHECK(
      shown(
          "CHECK( conflict(tag) == \"\" ) is NOT correct!\n  values: CHECK( bank 0 has 2 words to serve at once ==  )",
          "check: conflict(tag) == \"\"") ==
      "CHECK( conflict(tag) == \"\" ) is NOT correct!\n  values: bank 0 has 2 words to serve at once\n");
  CHECK(shown("CHECK( a == b ) is NOT correct!\n  values: CHECK( {?} == {?} )", "check: a == b") ==
        "CHECK( a == b ) is NOT correct!\n");
}
