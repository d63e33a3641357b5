// What a failed test found, read from what doctest prints, so that a break-it experiment can say what it must be.
#pragma once

#include <string>
#include <vector>

namespace findings {

/// One thing that a test found wrong. Its kind is what the model calls it ("race", "out of bounds", "barrier", ...), or
/// "wrong result", "check" (any other assertion), "exception" (one that is no finding of the model) or "crash".
struct Finding {
  std::string kind;
  std::string detail;  ///< of the model: kernel, place and so on; of a check: its expression; else the message
  std::string text;    ///< what a reader of the output sees of it
};

/// The findings in a test's output, in its order.
std::vector<Finding> found_in(const std::string& output);

/// "" when `says` can name a finding, else what it lacks.
std::string complaint_about(const std::string& says);

/// "" when the findings are those that `says` announces, else what is wrong.
///
/// `says` is "KIND: DETAIL". One finding must be of that kind; a check must have DETAIL as its expression, any other
/// detail must start with DETAIL, at the end of a word ("race: sgemm_shared" is a race in that kernel or an instance of
/// it). A wrong result needs no DETAIL. Others may accompany it, as far as they are of the same family: a missing barrier
/// is a race and a read of what nobody wrote; but an exception or a crash is not what an experiment on races is about.
std::string mismatch(const std::string& says, const std::vector<Finding>& found);

/// The text of the first finding that `says` announces, without addresses, which differ from run to run; "" if there is none.
std::string text_of(const std::string& says, const std::vector<Finding>& found);

}  // namespace findings
