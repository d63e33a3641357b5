// Arithmetic of 16-bit floating-point types and of pairs of them, which cuda_fp16.h and cuda_bf16.h have by the same names.
#pragma once

// clang-format off: a list of functions
#define SIMT_NARROW_OPERATOR(T, T2, sign, one, two)                                                          \
  SIMT_INLINE T operator sign(T a, T b) { return T(float(a) sign float(b)); }                                \
  SIMT_INLINE T2 operator sign(T2 a, T2 b) { return {T(float(a.x) sign float(b.x)), T(float(a.y) sign float(b.y))}; } \
  SIMT_INLINE T& operator sign##=(T& a, T b) { return a = a sign b; }                                        \
  SIMT_INLINE T2& operator sign##=(T2& a, T2 b) { return a = a sign b; }                                     \
  SIMT_INLINE T one(T a, T b) { return a sign b; }                                                           \
  SIMT_INLINE T2 two(T2 a, T2 b) { return a sign b; }
#define SIMT_NARROW_COMPARISON(T, sign, name)                                       \
  SIMT_INLINE bool operator sign(T a, T b) { return float(a) sign float(b); }       \
  SIMT_INLINE bool name(T a, T b) { return a sign b; }
#define SIMT_NARROW_FUNCTION(T, T2, one, two, f)                                    \
  SIMT_INLINE T one(T a) { return T(f(float(a))); }                                 \
  SIMT_INLINE T2 two(T2 a) { return {one(a.x), one(a.y)}; }

#define SIMT_NARROW_ARITHMETIC(T, T2)                                               \
  SIMT_NARROW_OPERATOR(T, T2, +, __hadd, __hadd2)                                   \
  SIMT_NARROW_OPERATOR(T, T2, -, __hsub, __hsub2)                                   \
  SIMT_NARROW_OPERATOR(T, T2, *, __hmul, __hmul2)                                   \
  SIMT_NARROW_OPERATOR(T, T2, /, __hdiv, __h2div)                                   \
  SIMT_NARROW_COMPARISON(T, <, __hlt)                                               \
  SIMT_NARROW_COMPARISON(T, <=, __hle)                                              \
  SIMT_NARROW_COMPARISON(T, >, __hgt)                                               \
  SIMT_NARROW_COMPARISON(T, >=, __hge)                                              \
  SIMT_NARROW_COMPARISON(T, ==, __heq)                                              \
  SIMT_NARROW_COMPARISON(T, !=, __hne)                                              \
  SIMT_INLINE T operator-(T a) { return T(-float(a)); }                             \
  SIMT_INLINE T2 operator-(T2 a) { return {-a.x, -a.y}; }                           \
  SIMT_INLINE T __hneg(T a) { return -a; }                                          \
  SIMT_INLINE T2 __hneg2(T2 a) { return -a; }                                       \
  /* The product of two is exact in a double, and so nearly is the sum: it is rounded to the type by way of a float. */ \
  SIMT_INLINE T __hfma(T a, T b, T c) { return T(float(double(float(a)) * float(b) + float(c))); } \
  SIMT_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  SIMT_INLINE T __hmax(T a, T b) { return T(fmaxf(float(a), float(b))); }           \
  SIMT_INLINE T __hmin(T a, T b) { return T(fminf(float(a), float(b))); }           \
  SIMT_INLINE T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
  SIMT_INLINE T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
  SIMT_INLINE bool __hisnan(T a) { return isnan(float(a)); }                        \
  SIMT_NARROW_FUNCTION(T, T2, __habs, __habs2, fabsf)                               \
  SIMT_NARROW_FUNCTION(T, T2, hexp, h2exp, expf)                                    \
  SIMT_NARROW_FUNCTION(T, T2, hlog, h2log, logf)                                    \
  SIMT_NARROW_FUNCTION(T, T2, hsqrt, h2sqrt, sqrtf)                                 \
  SIMT_NARROW_FUNCTION(T, T2, hrsqrt, h2rsqrt, rsqrtf)                              \
  SIMT_NARROW_FUNCTION(T, T2, hrcp, h2rcp, __frcp_rn)
// clang-format on
