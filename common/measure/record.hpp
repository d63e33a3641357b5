// Records, by the name that chapters were recorded with: their #include lines are part of a record's fingerprint.
#pragma once

#include "common/records/record.hpp"
