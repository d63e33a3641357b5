// A kernel on `elements` elements of `out`, by one block, and its run.
#pragma once
#include "common/count/count.hpp"

#define RUN(name, T, elements, threads, shared)   \
  __global__ void name(T* out);                   \
  TILE_COUNT(#name) {                             \
    auto out = tile::array<T>("out", elements);   \
    name<<<1, threads, shared>>>(out.device());   \
  }                                               \
  __global__ void name(T* out)
