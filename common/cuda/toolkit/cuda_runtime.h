// Of the toolkit, for the model: its words are those of common/cuda/vocabulary.hpp.
#pragma once

#include "common/cuda/vocabulary.hpp"
