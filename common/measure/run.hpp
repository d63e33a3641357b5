// What a record says of times, by the name that chapters were recorded with: their #include lines are part of a record's fingerprint.
#pragma once

#include "common/records/run.hpp"
