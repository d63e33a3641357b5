// Of the toolkit, for the model: constants of arithmetic by the names that CUDA has for them.
#pragma once

#include <cmath>

#define CUDART_INF_F HUGE_VALF
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.14159265f
#define CUDART_INF HUGE_VAL
#define CUDART_NAN double(NAN)
#define CUDART_PI 3.14159265358979323846
