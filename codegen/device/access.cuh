// access.cuh: vector loads and stores of a tile's elements.
//
// A whole tile, or a whole round of one, whose operands are all aligned is accessed 16
// bytes at a time. The choice is made once: a choice per operand costs 7 % of a large
// step. Any other is accessed element by element.
#pragma once
#include "ptx.cuh"

namespace heddle {

// A float that rounds to the same 16-bit float as x: x towards zero, with the last bit
// set if it is not exact. Rounding twice to the nearest can end one unit away.
__device__ __forceinline__ float sticky(double x) {
  float nearest = static_cast<float>(x);
  double back = nearest;
  bool is_far = x < 0 ? back < x : back > x; // not if it is a zero
  bool is_inexact = back < x || back > x;
  return __uint_as_float((__float_as_uint(nearest) - is_far) | is_inexact);
}

// Converts between storage type and compute type.
template <class To, class From> __device__ __forceinline__ To convert(From x) {
  return static_cast<To>(x);
}
template <> __device__ __forceinline__ float convert<float, f16>(f16 x) { return to_f32(x); }
template <> __device__ __forceinline__ double convert<double, f16>(f16 x) { return to_f32(x); }
template <> __device__ __forceinline__ float convert<float, bf16>(bf16 x) { return to_f32(x); }
template <> __device__ __forceinline__ double convert<double, bf16>(bf16 x) { return to_f32(x); }
template <> __device__ __forceinline__ f16 convert<f16, float>(float x) { return to_f16(x); }
template <> __device__ __forceinline__ f16 convert<f16, double>(double x) { return to_f16(sticky(x)); }
template <> __device__ __forceinline__ bf16 convert<bf16, float>(float x) { return to_bf16(x); }
template <> __device__ __forceinline__ bf16 convert<bf16, double>(double x) { return to_bf16(sticky(x)); }

template <class T, int N> struct alignas(sizeof(T) * N) pack { T element[N]; };

// The number of elements of type T in 16 bytes, at most N.
template <class T, int N> constexpr int per_access = N * sizeof(T) < 16 ? N : 16 / sizeof(T);

// Whether all of the operands are aligned to 16 bytes.
template <class... Stored> __device__ __forceinline__ bool are_aligned(const Stored *...operands) {
  return ((reinterpret_cast<unsigned long long>(operands) | ...) & 15) == 0;
}

// The position in the tile of element k of this thread. In a whole tile a thread has N
// consecutive elements. In any other tile consecutive threads have consecutive
// elements, so that accesses coalesce. A tile that is reduced in rounds always has the
// first order, because a reduction must not depend on alignment.
template <bool InRounds, int Threads, int N>
__device__ __forceinline__ int position(bool whole, int k, int round = 0) {
  return round * Threads * N + (InRounds || whole ? threadIdx.x * N + k : threadIdx.x + k * Threads);
}
template <int Threads, int N> __device__ __forceinline__ int position_in_round(int round, int k) {
  return position<true, Threads, N>(true, k, round);
}

// The elements of 16 bits that a thread holds: as they are stored, until they are used.
// A conversion directly after a load would wait for it, before the next load begins.
template <class T, int N> struct packed {
  unsigned word[N / 2];
  float first; // of the word that is being written
  __device__ __forceinline__ float operator[](int k) const {
    return k % 2 ? second_of<T>(word[k / 2]) : first_of<T>(word[k / 2]);
  }
  // Sets element k, in ascending order. The word changes when both are known.
  __device__ __forceinline__ void set(int k, float x) {
    if (k % 2)
      word[k / 2] = to_word<T>(first, x);
    else
      first = x;
  }
  __device__ __forceinline__ void set(int k, double x) { set(k, sticky(x)); }
};

// Reads this thread's elements of the tile at `from`; elements at and after `count` are
// zero. `EvictFirst` marks data that this launch does not read again, so that other
// data stays in the cache.
template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, class T, int N>
__device__ __forceinline__ void load(bool whole, const Stored *from, int count, T (&to)[N], int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<Stored, width>;
  if (whole) {
    const vector *at = reinterpret_cast<const vector *>(from + position<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      const vector taken = EvictFirst ? read_evict_first(at + v) : at[v];
#pragma unroll
      for (int k = 0; k < width; ++k)
        to[v * width + k] = convert<T>(taken.element[k]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int at = position<InRounds, Threads, N>(false, k, round);
      to[k] = at < count ? convert<T>(from[at]) : T(0);
    }
  }
}

template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, int N>
__device__ __forceinline__ void load(bool whole, const Stored *from, int count, packed<Stored, N> &to, int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<unsigned, width / 2>;
  if (whole) {
    const vector *at = reinterpret_cast<const vector *>(from + position<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      const vector taken = EvictFirst ? read_evict_first(at + v) : at[v];
#pragma unroll
      for (int k = 0; k < width / 2; ++k)
        to.word[v * width / 2 + k] = taken.element[k];
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int at = position<InRounds, Threads, N>(false, k, round);
      const unsigned bits = at < count ? from[at].bits : 0;
      to.word[k / 2] = k % 2 ? to.word[k / 2] | bits << 16 : bits;
    }
  }
}

// Reads this thread's elements of one round of a tile that is reduced, as vectors if
// `all_there`. `Elements` is an array or `packed`.
template <int Threads, bool EvictFirst = false, class Stored, class Elements>
__device__ __forceinline__ void load_round(bool all_there, const Stored *from, int count, int round, Elements &to) {
  load<Threads, EvictFirst, true>(all_there, from, count, to, round);
}

// Reads all rounds of a whole tile, before any of them is used.
template <int Threads, class Stored, class Elements, int Rounds>
__device__ __forceinline__ void load_rounds(const Stored *from, Elements (&to)[Rounds]) {
#pragma unroll
  for (int round = 0; round < Rounds; ++round)
    load<Threads, false, true>(true, from, /*count=*/0, to[round], round);
}

// Reads all rounds of a tile that may have fewer elements, before any of them is used; N
// elements a round.
template <int Threads, int N, class Stored, class Elements, int Rounds>
__device__ __forceinline__ void load_rounds(bool aligned, const Stored *from, int count, Elements (&to)[Rounds]) {
#pragma unroll
  for (int round = 0; round < Rounds; ++round) {
    if (round * Threads * N >= count)
      break;
    load_round<Threads>(aligned && position_in_round<Threads, N>(round, N - 1) < count, from, count, round, to[round]);
  }
}

// Writes this thread's elements of the tile at `to`.
template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, class T, int N>
__device__ __forceinline__ void store(bool whole, Stored *to, int count, const T (&from)[N], int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<Stored, width>;
  if (whole) {
    vector *at = reinterpret_cast<vector *>(to + position<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      vector given;
#pragma unroll
      for (int k = 0; k < width; ++k)
        given.element[k] = convert<Stored>(from[v * width + k]);
      if (EvictFirst)
        write_evict_first(at + v, given);
      else
        at[v] = given;
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (const int at = position<InRounds, Threads, N>(false, k, round); at < count)
        to[at] = convert<Stored>(from[k]);
  }
}

template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, int N>
__device__ __forceinline__ void store(bool whole, Stored *to, int count, const packed<Stored, N> &from, int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<unsigned, width / 2>;
  if (whole) {
    vector *at = reinterpret_cast<vector *>(to + position<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      vector given;
#pragma unroll
      for (int k = 0; k < width / 2; ++k)
        given.element[k] = from.word[v * width / 2 + k];
      if (EvictFirst)
        write_evict_first(at + v, given);
      else
        at[v] = given;
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (const int at = position<InRounds, Threads, N>(false, k, round); at < count)
        to[at].bits = static_cast<unsigned short>(from.word[k / 2] >> (k % 2 * 16));
  }
}

// Writes this thread's elements of one round of a tile that is reduced, as vectors if
// `all_there`.
template <int Threads, bool EvictFirst = false, class Stored, class Elements>
__device__ __forceinline__ void store_round(bool all_there, Stored *to, int count, int round, const Elements &from) {
  store<Threads, EvictFirst, true>(all_there, to, count, from, round);
}

} // namespace heddle
