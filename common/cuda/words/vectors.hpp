// The vector types, and make_float4 and its like; uint3 and dim3 are in vocabulary.hpp, which comes first.
#pragma once

#define SIMT_VECTOR1(T, name) \
  struct name {               \
    T x;                      \
  };                          \
  SIMT_INLINE name make_##name(T x) { return {x}; }
#define SIMT_VECTOR2(T, name)          \
  struct alignas(2 * sizeof(T)) name { \
    T x, y;                            \
  };                                   \
  SIMT_INLINE name make_##name(T x, T y) { return {x, y}; }
// Aligned like one of its members: a GPU moves the three one by one.
#define SIMT_VECTOR3(T, name) \
  struct name {               \
    T x, y, z;                \
  };                          \
  SIMT_INLINE name make_##name(T x, T y, T z) { return {x, y, z}; }
#define SIMT_VECTOR4(T, name, alignment) \
  struct alignas(alignment) name {       \
    T x, y, z, w;                        \
  };                                     \
  SIMT_INLINE name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
#define SIMT_VECTORS_OF(T, name) \
  SIMT_VECTOR1(T, name##1)       \
  SIMT_VECTOR2(T, name##2)       \
  SIMT_VECTOR3(T, name##3)       \
  SIMT_VECTOR4(T, name##4, 4 * sizeof(T))
SIMT_VECTORS_OF(signed char, char)
SIMT_VECTORS_OF(unsigned char, uchar)
SIMT_VECTORS_OF(short, short)
SIMT_VECTORS_OF(unsigned short, ushort)
SIMT_VECTORS_OF(int, int)
SIMT_VECTORS_OF(float, float)
SIMT_VECTOR1(unsigned, uint1)
SIMT_VECTOR2(unsigned, uint2)
SIMT_VECTOR4(unsigned, uint4, 16)
SIMT_VECTOR1(double, double1)
SIMT_VECTOR2(double, double2)
SIMT_VECTOR3(double, double3)
SIMT_VECTOR4(double, double4, 16)
SIMT_VECTOR1(long long, longlong1)
SIMT_VECTOR2(long long, longlong2)
SIMT_VECTOR1(unsigned long long, ulonglong1)
SIMT_VECTOR2(unsigned long long, ulonglong2)
SIMT_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef SIMT_VECTOR1
#undef SIMT_VECTOR2
#undef SIMT_VECTOR3
#undef SIMT_VECTOR4
#undef SIMT_VECTORS_OF
