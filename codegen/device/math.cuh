// math.cuh: scalar functions that every target computes the same way.
#pragma once
#include "ptx.cuh"

namespace heddle {

// base^exponent by repeated squaring, in a fixed order.
template <class T, class Unsigned, class Exponent> __device__ __forceinline__ T power(T base, Exponent exponent) {
  T result = 1;
  const Unsigned size = static_cast<Unsigned>(exponent);
#pragma unroll 1
  for (Unsigned left = exponent < 0 ? 0 - size : size; left; left >>= 1) {
    if (left & 1)
      result *= base;
    base *= base;
  }
  return exponent < 0 ? 1 / result : result;
}
template <class T> __device__ __forceinline__ T powi(T base, int exponent) { return power<T, unsigned>(base, exponent); }
template <class T> __device__ __forceinline__ T powi(T base, long long exponent) {
  return power<T, unsigned long long>(base, exponent);
}

// -1, 0 or 1; for a zero or NaN, the operand.
template <class T> __device__ __forceinline__ T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

// The larger and the smaller of two numbers; NaN if either is NaN. -0 is smaller than +0.
template <class T> __device__ __forceinline__ T maximum(T a, T b) {
  return a > b || a != a ? a : b != b || b > a ? b : a == 0 && b == 0 ? a + b : b;
}
template <class T> __device__ __forceinline__ T minimum(T a, T b) {
  return a < b || a != a ? a : b != b || b < a ? b : a == 0 && b == 0 ? -(-a - b) : b;
}

// The same for doubles, of which a comparison takes as long as two other instructions: three
// comparisons. Two equal numbers differ at most in their signs, which are in the high words.
__device__ __forceinline__ double maximum(double a, double b) {
  const double larger = a > b || a != a ? a : b;
  const int plus = a == b ? __double2hiint(a) : -1;
  return __hiloint2double(__double2hiint(larger) & plus, __double2loint(larger));
}
__device__ __forceinline__ double minimum(double a, double b) {
  const double smaller = a < b || a != a ? a : b;
  const int minus = a == b ? __double2hiint(a) : 0;
  return __hiloint2double(__double2hiint(smaller) | minus, __double2loint(smaller));
}

// The larger and the smaller of two numbers; if one is NaN, the other. -0 is smaller than +0.
template <class T> __device__ __forceinline__ T maxnum(T a, T b) {
  return a != a ? b : b != b ? a : maximum(a, b);
}
template <class T> __device__ __forceinline__ T minnum(T a, T b) {
  return a != a ? b : b != b ? a : minimum(a, b);
}

// 1 / sqrt(x), both operations correctly rounded. For x of at least 2^-101 and below 2^128,
// the root and its inverse need no special cases, so one comparison is enough for both.
__device__ __noinline__ float inverse_root_of_any(float x) { return 1.0f / sqrtf(x); }
__device__ __forceinline__ float inverse_root(float x) {
  if (__float_as_uint(x) - 0x0d000000u > 0x727fffffu)
    return inverse_root_of_any(x);
  const float guess = rsqrt_approx(x), first = x * guess;
  const float root = fmaf(fmaf(-first, first, x), 0.5f * guess, first);
  const float inverse = reciprocal_approx(root);
  return fmaf(inverse, fmaf(-root, inverse, 1.0f), inverse);
}
__device__ __forceinline__ double inverse_root(double x) { return 1.0 / sqrt(x); }

// The nearest whole number; of two, the one away from 0. Emitted source has variables of the name `round`.
__device__ __forceinline__ float round_away(float x) { return ::roundf(x); }
__device__ __forceinline__ double round_away(double x) { return ::round(x); }

// The unsigned type of the size of an integer type.
template <class T> struct unsigned_of;
template <> struct unsigned_of<signed char> {
  using type = unsigned char;
};
template <> struct unsigned_of<short> {
  using type = unsigned short;
};
template <> struct unsigned_of<int> {
  using type = unsigned;
};
template <> struct unsigned_of<long long> {
  using type = unsigned long long;
};

// The larger and the smaller of two unsigned numbers.
template <class T> __device__ __forceinline__ T larger(T a, T b) {
  using U = typename unsigned_of<T>::type;
  return static_cast<U>(a) > static_cast<U>(b) ? a : b;
}
template <class T> __device__ __forceinline__ T smaller(T a, T b) {
  using U = typename unsigned_of<T>::type;
  return static_cast<U>(a) < static_cast<U>(b) ? a : b;
}

// Quotients are rounded towards 0. A quotient by 0 is 0, and its remainder is the dividend. The quotient of the smallest
// number and -1 wraps.
template <class T> __device__ __forceinline__ T divide_signed(T a, T b) {
  using U = typename unsigned_of<T>::type;
  return b == -1 ? static_cast<T>(U(0) - static_cast<U>(a)) : b == 0 ? T(0) : static_cast<T>(a / b);
}
template <class T> __device__ __forceinline__ T remainder_signed(T a, T b) {
  return b == -1 ? T(0) : b == 0 ? a : static_cast<T>(a % b);
}
template <class T> __device__ __forceinline__ T divide_unsigned(T a, T b) {
  using U = typename unsigned_of<T>::type;
  return b == 0 ? T(0) : static_cast<T>(static_cast<U>(a) / static_cast<U>(b));
}
template <class T> __device__ __forceinline__ T remainder_unsigned(T a, T b) {
  using U = typename unsigned_of<T>::type;
  return b == 0 ? a : static_cast<T>(static_cast<U>(a) % static_cast<U>(b));
}

// Shifts by at least the width, an unsigned number, shift out every bit.
template <class T> __device__ __forceinline__ T shift_left(T a, T count) {
  using U = typename unsigned_of<T>::type;
  const U by = static_cast<U>(count);
  return by < 8 * sizeof(T) ? static_cast<T>(static_cast<unsigned long long>(a) << by) : T(0);
}
template <class T> __device__ __forceinline__ T shift_right_signed(T a, T count) {
  using U = typename unsigned_of<T>::type;
  const U by = static_cast<U>(count), most = 8 * sizeof(T) - 1;
  return static_cast<T>(a >> (by < most ? by : most));
}
template <class T> __device__ __forceinline__ T shift_right_unsigned(T a, T count) {
  using U = typename unsigned_of<T>::type;
  const U by = static_cast<U>(count);
  return by < 8 * sizeof(T) ? static_cast<T>(static_cast<U>(a) >> by) : T(0);
}

// The nearest integer of the type, rounded towards 0; of NaN, 0.
template <class T, class F> __device__ __forceinline__ T saturated(F x) {
  using U = typename unsigned_of<T>::type;
  constexpr U lowest = U(1) << (8 * sizeof(T) - 1);
  constexpr F end = static_cast<F>(lowest);
  return x >= end ? static_cast<T>(lowest - 1) : x > -end ? static_cast<T>(x) : x == x ? static_cast<T>(lowest) : T(0);
}
template <class T, class F> __device__ __forceinline__ T saturated_unsigned(F x) {
  using U = typename unsigned_of<T>::type;
  constexpr F end = 2 * static_cast<F>(U(1) << (8 * sizeof(T) - 1));
  return x >= end ? T(-1) : x > 0 ? static_cast<T>(static_cast<U>(x)) : T(0);
}

template <class T> __device__ __forceinline__ T infinity();
template <> __device__ __forceinline__ float infinity<float>() { return __int_as_float(0x7f800000); }
template <> __device__ __forceinline__ double infinity<double>() { return __longlong_as_double(0x7ff0000000000000ll); }
template <class T> __device__ __forceinline__ T not_a_number();
template <> __device__ __forceinline__ float not_a_number<float>() { return __int_as_float(0x7fc00000); }
template <> __device__ __forceinline__ double not_a_number<double>() { return __longlong_as_double(0x7ff8000000000000ll); }

} // namespace heddle
