// branchless.cuh: divisions and square roots without branches.
//
// A correctly rounded f32 division or root takes a branch for operands that its fast
// sequence cannot handle, among them zeros, so the elements of a thread are computed one
// after the other. These forms have the fast sequence only. `exact` becomes false if a
// result may differ; then the thread computes its elements again.
#pragma once
#include "ptx.cuh"

namespace heddle {

__device__ __forceinline__ float reciprocal(float y) {
  const float guess = reciprocal_approx(y);
  return fmaf(guess, fmaf(-y, guess, 1.0f), guess);
}

// A divisor of the roots of many elements, from 2^-40 to 2^40. It has their scale.
struct root_divisor {
  float value, scaled, inverse;
  bool exact;
};
__device__ __forceinline__ root_divisor divisor_of_roots(float y) {
  const float scaled = y * 0x1p32f;
  return {y, scaled, reciprocal(scaled), y >= 0x1p-40f && y <= 0x1p40f};
}

// The divisions and roots of elements: branchless, or with branches for any operand.
struct element_math {
  bool branchless, exact = true;

  // The square root of x. Branchless: for x of +0 and below 2^60.
  __device__ __forceinline__ float root(float x) { return branchless ? scaled_root(x) * 0x1p-32f : sqrtf(x); }

  // The square root of x, divided by y.
  __device__ __forceinline__ float divide_root(float x, const root_divisor &y) {
    if (!branchless)
      return sqrtf(x) / y.value;
    const float root = scaled_root(x), first = root * y.inverse;
    return fmaf(fmaf(-y.scaled, first, root), y.inverse, first);
  }

  // x / y. Branchless: for results of at least 2^-126 and below 2^63, and for x of +0 and
  // positive y.
  __device__ __forceinline__ float divide(float x, float y) {
    if (!branchless)
      return x / y;
    // The scale keeps the residual of a small x exact, and shows results that are rounded
    // as denormals. A divisor out of range gives NaN, infinity or zero.
    const float inverse = reciprocal(y), scaled = x * 0x1p64f, first = scaled * inverse;
    const float second = fmaf(fmaf(-y, first, scaled), inverse, first);
    const float result = second * 0x1p-64f;
    // A zero that has its quotient as result has the same bits.
    if (__float_as_uint(scaled) != __float_as_uint(result))
      exact &= 2 * __float_as_uint(second) - 0x41000000u < 0xbd000000u; // 2^-62 to 2^127
    return result;
  }

private:
  // The square root of 2^64 x. The scale keeps the residual of a small x exact.
  __device__ __forceinline__ float scaled_root(float x) {
    exact &= __float_as_uint(x) < 0x5d800000u; // 2^60
    const float scaled = x * 0x1p64f;
    const float inverse = rsqrt_approx(fmaf(x, 0x1p64f, 0x1p-110f)); // finite if x is zero
    const float first = scaled * inverse;
    return fmaf(fmaf(-first, first, scaled), 0.5f * inverse, first);
  }
};

// A divisor of many elements. exact() is false if a quotient may differ from that of the
// correctly rounded division.
struct divisor {
  float value, inverse;
  unsigned least = 0xffffffff; // of the sizes of quotients; zeros are the largest
  float finite = 0;            // NaN if a quotient is not

  __device__ __forceinline__ explicit divisor(float y) : value(y), inverse(1.0f / y) {}
  // x / y, for zeros and for results of at least 2^-60. The inverse is correctly rounded,
  // so one step gives the correctly rounded quotient, and its residual has no error.
  // `counts`: whether the quotient is used.
  __device__ __forceinline__ float divide(float x, bool counts) {
    const float first = x * inverse, second = fmaf(fmaf(-value, first, x), inverse, first);
    const float used = counts ? second : 0;
    const unsigned size = 2 * __float_as_uint(used) - 1;
    least = size < least ? size : least;
    finite = fmaf(used, 0.0f, finite);
    return copysignf(second, first); // a zero of either sign
  }
  __device__ __forceinline__ bool exact() const {
    return fabsf(value) >= 0x1p-30f && fabsf(value) <= 0x1p40f && least >= 0x42ffffffu && finite == 0;
  }
};

} // namespace heddle
