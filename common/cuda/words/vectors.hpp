// The vector types, and make_float4 and its like.
#pragma once

// Vectors of three are aligned like one of their members: a GPU moves the three one by one.
#define SIMT_VECTORS(T, name)                                             \
  struct alignas(2 * sizeof(T)) name##2 {                                 \
    T x, y;                                                               \
  };                                                                      \
  struct name##3 {                                                        \
    T x, y, z;                                                            \
  };                                                                      \
  struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) name##4 {            \
    T x, y, z, w;                                                         \
  };                                                                      \
  SIMT_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  SIMT_INLINE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  SIMT_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned, uint)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS
