// The rules of the account, for chapters that show one access without a kernel.
#pragma once

#include "common/sim/cost/rules.hpp"
