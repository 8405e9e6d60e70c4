// powers.cuh: sums of exponentials in base 2, and the range in which they are safe.
#pragma once
#include "math.cuh"
#include "reduce.cuh"

namespace heddle {

// Exponentials and logarithms are in base 2, which needs no argument reduction.
__device__ __forceinline__ unsigned high_word(double x) {
  return static_cast<unsigned>(static_cast<unsigned long long>(__double_as_longlong(x)) >> 32);
}
__device__ __forceinline__ double from_words(unsigned high, unsigned low) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(high) << 32 | low));
}
// 2^n times a polynomial for |x - n| <= 1/2, with an error of 2^-53. No result is
// subnormal. NaN gives +infinity, which the sum's check finds.
__device__ __forceinline__ double exp_2(double x) {
  const double shifter = 6755399441055744.0; // 1.5 * 2^52: the addition rounds x to an integer
  const double shifted = x + shifter, f = x - (shifted - shifter);
  double p = 4.4558179083360645e-10;
  p = fma(p, f, 7.074194297288521e-09);
  p = fma(p, f, 1.0178057087733941e-07);
  p = fma(p, f, 1.3215432535912375e-06);
  p = fma(p, f, 1.5252733841556773e-05);
  p = fma(p, f, 0.00015403530463724353);
  p = fma(p, f, 0.001333355814640647);
  p = fma(p, f, 0.009618129107587256);
  p = fma(p, f, 0.055504108664821625);
  p = fma(p, f, 0.24022650695910158);
  p = fma(p, f, 0.6931471805599453);
  p = fma(p, f, 1.0);
  // Selects words instead of branching: branches around the polynomial would serialize
  // the exponentials of a thread.
  const unsigned of_x = high_word(x), infinite = 0x7ff00000;
  unsigned high = high_word(p) + (static_cast<unsigned>(__double_as_longlong(shifted)) << 20);
  unsigned low = static_cast<unsigned>(__double_as_longlong(p));
  const unsigned outside = of_x - 0x80000000u <= infinite ? 0 : infinite;
  if ((of_x & 0x7fffffff) >= 0x408ff000) { // beyond +-1022
    high = outside;
    low = 0;
  }
  return from_words(high, low);
}
// Not inlined: inlining would add a twentieth to the compilation time of a loop in
// double, and a thirtieth in float.
__device__ __noinline__ float log_2(float x) { return log2f(x); }
__device__ __noinline__ double log_2(double x) { return log2(x); }
// The logarithm of a safe sum: an estimate in float, and a small correction.
__device__ __forceinline__ double rough_log_2(double x) {
  const unsigned high = high_word(x);
  const double fraction = from_words((high & 0xfffff) | 0x3ff00000, static_cast<unsigned>(__double_as_longlong(x)));
  const double first = rough_log_2(static_cast<float>(fraction));
  const double rest = fraction * exp_2(-first) - 1;
  const double more = rest * fma(rest, fma(rest, 0.33333333333333333, -0.5), 1.0);
  return static_cast<int>(high >> 20) - 1023 + fma(more, 1.4426950408889634074, first);
}
template <class T> __device__ __forceinline__ T per_bit(T x) { return x * static_cast<T>(1.4426950408889634074); }
template <class T> __device__ __forceinline__ T per_e(T x) { return x * static_cast<T>(0.69314718055994530942); }

// Whether a sum of exponentials is safe. A term below 2^-126 (2^-1022 in double)
// vanishes; the sum of a safe row is at least 2^-40. Scaled by at most 2^30, a vanished
// term adds less than 2^-96 to a column, and so does a term of at most 2^30 whose scale
// vanishes; the sum of a safe column is at least 2^-60.
__device__ __forceinline__ bool is_safe_row(float sum) { return sum > 0x1p-40f && sum < 0x1p30f; }
__device__ __forceinline__ bool is_safe_row(double sum) { return sum > 0x1p-400 && sum < 0x1p400; }
__device__ __forceinline__ bool is_safe_scale(float scale) { return scale < 0x1p30f; }
__device__ __forceinline__ bool is_safe_scale(double scale) { return scale < 0x1p400; }
__device__ __forceinline__ bool is_safe_column(float sum) { return sum > 0x1p-60f && sum < 0x1p100f; }
__device__ __forceinline__ bool is_safe_column(double sum) { return sum > 0x1p-500 && sum < 0x1p900; }

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < infinity<float>(); }
__device__ __forceinline__ bool is_nan(float x) { return x != x; }
__device__ __forceinline__ bool is_nan(double x) { return x != x; }
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) < infinity<double>(); }
// `shift`, or infinity if it is NaN: exponentials about infinity are 0.
template <class T> __device__ __forceinline__ T known(T shift) { return is_nan(shift) ? infinity<T>() : shift; }

// log2(sum(2^x)) about the running maximum. For rare cases: few instructions rather
// than speed.
template <class T> struct log_sum_2 {
  using state = log_sum<T>;
  static __device__ __forceinline__ state neutral() { return {-infinity<T>(), 0}; }
  static __device__ __forceinline__ state lift(T x) { return {x, x == -infinity<T>() ? T(0) : T(1)}; }
  static __device__ __noinline__ state combine(state a, state b) {
    const T most = maximum(a.most, b.most);
    const state larger = a.most == most ? a : b, other = a.most == most ? b : a;
    return {most, larger.sum + (other.most == most ? other.sum : other.sum * exp_2(other.most - most))};
  }
  static __device__ __forceinline__ T value(state s) { return s.most + log_2(s.sum); }
};

} // namespace heddle
