// branchless.cuh: divisions and square roots without branches.
//
// A correctly rounded f32 division or root takes a branch for operands that its fast
// sequence cannot handle, among them zeros, so the elements of a thread are computed one
// after the other. These forms have the fast sequence only. `exact` becomes false if an
// operand is not in its range; then the thread computes its elements again.
#pragma once
#include "ptx.cuh"

namespace heddle {

struct branchless_math {
  bool exact = true;

  // x is zero or in [2^-100, 2^100): the residual of the root does not underflow.
  __device__ __forceinline__ float root(float x) {
    constexpr float least = 0x1p-100f;
    exact &= (x == 0 || x >= least) && x < 0x1p100f;
    const float inverse = rsqrt_approx(fmaxf(x, least));
    const float first = x * inverse;
    return fmaf(fmaf(-first, first, x), 0.5f * inverse, first);
  }

  // a / b, where a is zero or in [2^-80, 2^64) and b in [2^-60, 2^40): no step
  // underflows or overflows.
  __device__ __forceinline__ float divide(float a, float b) {
    exact &= (a == 0 || fabsf(a) >= 0x1p-80f) && fabsf(a) < 0x1p64f;
    return divide_root(a, b);
  }

  // The same if a is a result of `root`, which is in range.
  __device__ __forceinline__ float divide_root(float a, float b) {
    exact &= fabsf(b) >= 0x1p-60f && fabsf(b) < 0x1p40f;
    const float guess = reciprocal_approx(b);
    const float inverse = fmaf(guess, fmaf(-b, guess, 1.0f), guess);
    const float first = a * inverse;
    const float second = fmaf(fmaf(-b, first, a), inverse, first);
    const float third = fmaf(fmaf(-b, second, a), inverse, second);
    return copysignf(third, first); // the sign of a zero
  }
};

} // namespace heddle
