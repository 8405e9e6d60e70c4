// ptx.cuh: the few operations that C++ does not spell.
//
// Conversions of 16-bit floats, shuffles, fences and tickets: everything that
// is particular to the device stands here, so that a test can swap this one
// file and run the rest on a host.
#pragma once

namespace heddle {

struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

__device__ __forceinline__ float to_f32(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

__device__ __forceinline__ float to_f32(bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

// To the nearest, ties to even.
__device__ __forceinline__ f16 to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

__device__ __forceinline__ bool same_bits(float a, float b) {
  return __float_as_uint(a) == __float_as_uint(b);
}
__device__ __forceinline__ bool same_bits(double a, double b) {
  return __double_as_longlong(a) == __double_as_longlong(b);
}
template <class T> __device__ __forceinline__ bool same_bits(T a, T b) {
  return a == b;
}

// The value of the thread whose lane differs from this one's in `mask`.
template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move words");
  constexpr int words = sizeof(T) / 4;
  union { T value; unsigned word[words]; } from = {value}, to = {value};
#pragma unroll
  for (int w = 0; w < words; ++w)
    to.word[w] = __shfl_xor_sync(~0u, from.word[w], mask);
  return to.value;
}

// Reads and writes that leave the cache first. Vectors of 4, 8 and 16 bytes.
template <class Vector> __device__ __forceinline__ Vector read_passing(const Vector *from) {
  union { Vector vector; unsigned word; uint2 two; uint4 four; } result;
  if constexpr (sizeof(Vector) == 16)
    result.four = __ldcs(reinterpret_cast<const uint4 *>(from));
  else if constexpr (sizeof(Vector) == 8)
    result.two = __ldcs(reinterpret_cast<const uint2 *>(from));
  else if constexpr (sizeof(Vector) == 4)
    result.word = __ldcs(reinterpret_cast<const unsigned *>(from));
  else
    result.vector = *from;
  return result.vector;
}
template <class Vector> __device__ __forceinline__ void write_passing(Vector *to, Vector value) {
  union { Vector vector; unsigned word; uint2 two; uint4 four; } given = {value};
  if constexpr (sizeof(Vector) == 16)
    __stcs(reinterpret_cast<uint4 *>(to), given.four);
  else if constexpr (sizeof(Vector) == 8)
    __stcs(reinterpret_cast<uint2 *>(to), given.two);
  else if constexpr (sizeof(Vector) == 4)
    __stcs(reinterpret_cast<unsigned *>(to), given.word);
  else
    *to = value;
}

__device__ __forceinline__ void fence() { __threadfence(); }

// Counts an arrival, 0 .. expected - 1 and from 0 again.
__device__ __forceinline__ unsigned count_arrival(unsigned *ticket, int expected) {
  unsigned before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(expected - 1) : "memory");
  return before;
}

// Counts an arrival; true for the one that completes `expected`, after which
// the ticket is at rest again.
__device__ __forceinline__ bool take_ticket(unsigned *ticket, int expected) {
  return count_arrival(ticket, expected) == expected - 1;
}

__device__ __forceinline__ unsigned read_now(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// Lets the next launch begin while this one still runs, and waits until the one
// before has finished and all it wrote is there. Without programmatic launches
// the next begins after this one anyway.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace heddle
