// math.cuh: scalar functions that every target computes the same way.
#pragma once

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

// The larger and the smaller of two numbers; NaN if either is NaN.
template <class T> __device__ __forceinline__ T maximum(T a, T b) {
  return a > b || a != a ? a : b != b || b > a ? b : a == 0 && b == 0 ? a + b : b;
}
template <class T> __device__ __forceinline__ T minimum(T a, T b) {
  return a < b || a != a ? a : b != b || b < a ? b : a == 0 && b == 0 ? -(-a - b) : b;
}

template <class T> __device__ __forceinline__ T infinity();
template <> __device__ __forceinline__ float infinity<float>() { return __int_as_float(0x7f800000); }
template <> __device__ __forceinline__ double infinity<double>() { return __longlong_as_double(0x7ff0000000000000ll); }
template <class T> __device__ __forceinline__ T not_a_number();
template <> __device__ __forceinline__ float not_a_number<float>() { return __int_as_float(0x7fc00000); }
template <> __device__ __forceinline__ double not_a_number<double>() { return __longlong_as_double(0x7ff8000000000000ll); }

} // namespace heddle
