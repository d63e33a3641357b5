// Of the toolkit, for the model: its words are those of common/cuda/vocabulary.hpp and words/errors.hpp.
#pragma once

#include "common/cuda/words/errors.hpp"
