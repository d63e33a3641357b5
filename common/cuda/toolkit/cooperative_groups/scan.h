// Of the toolkit, for the model.
#pragma once

#include "common/cuda/words/cooperative_groups.hpp"
