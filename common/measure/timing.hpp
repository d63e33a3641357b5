// Timing on the GPU, by the name that chapters were recorded with: their #include lines are part of a record's fingerprint.
#pragma once

#include "common/timing/timing.hpp"
