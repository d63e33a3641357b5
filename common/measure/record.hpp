// measure/: no room any more, but names. What measured and recorded was in one room when the first chapters were recorded; their
// #include lines are part of a record's fingerprint, so that each of the four headers here leads on to where its part is now: this one
// to records/, the others (run.hpp, bench.hpp, timing.hpp) to records/ and timing/. Nobody but chapters includes them (ctest/rooms.sh);
// one that is written now names the rooms themselves.
#pragma once

#include "common/records/record.hpp"
