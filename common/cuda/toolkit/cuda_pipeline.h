// Of the toolkit, for the model.
#pragma once

#include "common/cuda/toolkit/cuda_pipeline_primitives.h"
