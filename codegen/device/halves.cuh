// halves.cuh: the halves of an f32, a bf16 and 16 more bits.
#pragma once
#include "ptx.cuh"

namespace heddle {

// The nearest bf16; of two, the one farther from 0.
__device__ __forceinline__ float high(float x) {
  return x == x ? __uint_as_float((__float_as_uint(x) + 0x8000u) & 0xffff0000u) : x;
}
// The rest of the bits. If it is negative, the upper half is the next bf16 away from 0.
__device__ __forceinline__ short low(float x) { return x == x ? static_cast<short>(__float_as_uint(x)) : 0; }

// No float has the upper half 0 and a negative lower half: somebody wrote that 0 since, and 0 is the number.
__device__ __forceinline__ float join(float high, short low) {
  unsigned bits = __float_as_uint(high);
  int rest = bits << 1 == 0 && low < 0 ? 0 : low;
  return __uint_as_float(bits + static_cast<unsigned>(rest));
}

} // namespace heddle
