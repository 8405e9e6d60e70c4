// access.cuh: vector loads and stores of a tile's elements.
//
// A whole tile whose operands are all aligned is accessed 16 bytes at a time. The
// choice is made once per tile: a choice per operand costs 7 % of a large step. Any
// other tile is accessed element by element.
#pragma once
#include "ptx.cuh"

namespace heddle {

// Converts between storage type and compute type.
template <class To, class From> __device__ __forceinline__ To convert(From x) {
  return static_cast<To>(x);
}
template <> __device__ __forceinline__ float convert<float, f16>(f16 x) { return to_f32(x); }
template <> __device__ __forceinline__ double convert<double, f16>(f16 x) { return to_f32(x); }
template <> __device__ __forceinline__ float convert<float, bf16>(bf16 x) { return to_f32(x); }
template <> __device__ __forceinline__ double convert<double, bf16>(bf16 x) { return to_f32(x); }
template <> __device__ __forceinline__ f16 convert<f16, float>(float x) { return to_f16(x); }
template <> __device__ __forceinline__ f16 convert<f16, double>(double x) { return to_f16(static_cast<float>(x)); }
template <> __device__ __forceinline__ bf16 convert<bf16, float>(float x) { return to_bf16(x); }
template <> __device__ __forceinline__ bf16 convert<bf16, double>(double x) { return to_bf16(static_cast<float>(x)); }

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

// Reads this thread's elements of the tile at `from`; elements at and after `count` are
// zero. `EvictFirst` marks data that this launch does not read again, so that other
// data stays in the cache.
template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, class T, int N>
__device__ __forceinline__ void load(bool whole, const Stored *from, int count, T (&to)[N], int round = 0,
                                     bool in_order = false) {
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
      const int at = position<InRounds, Threads, N>(in_order, k, round);
      to[k] = at < count ? convert<T>(from[at]) : T(0);
    }
  }
}

// Reads this thread's elements of one round of a tile, as vectors if `all_there`.
template <int Threads, bool EvictFirst = false, class Stored, class T, int N>
__device__ __forceinline__ void load_round(bool all_there, const Stored *from, int count, int round, T (&to)[N]) {
  load<Threads, EvictFirst, true>(all_there, from, count, to, round);
}

// The same for a tile that is only mapped. In a tile whose operands are not aligned,
// consecutive threads have consecutive elements.
template <int Threads, bool EvictFirst = false, class Stored, class T, int N>
__device__ __forceinline__ void load_mapped_round(bool aligned, bool all_there, const Stored *from, int count,
                                                  int round, T (&to)[N]) {
  load<Threads, EvictFirst>(all_there, from, count, to, round, aligned);
}

// Reads all rounds of a whole tile, before any of them is used.
template <int Threads, class Stored, class T, int Rounds, int N>
__device__ __forceinline__ void load_rounds(const Stored *from, T (&to)[Rounds][N]) {
#pragma unroll
  for (int round = 0; round < Rounds; ++round)
    load<Threads, false, true>(true, from, Rounds * N * Threads, to[round], round);
}

// Writes this thread's elements of the tile at `to`.
template <int Threads, bool EvictFirst = false, bool InRounds = false, class Stored, class T, int N>
__device__ __forceinline__ void store(bool whole, Stored *to, int count, const T (&from)[N], int round = 0,
                                      bool in_order = false) {
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
      if (const int at = position<InRounds, Threads, N>(in_order, k, round); at < count)
        to[at] = convert<Stored>(from[k]);
  }
}

// Writes this thread's elements of one round of a tile, as vectors if `all_there`.
template <int Threads, bool EvictFirst = false, class Stored, class T, int N>
__device__ __forceinline__ void store_round(bool all_there, Stored *to, int count, int round, const T (&from)[N]) {
  store<Threads, EvictFirst, true>(all_there, to, count, from, round);
}

// The same for a tile that is only mapped.
template <int Threads, bool EvictFirst = false, class Stored, class T, int N>
__device__ __forceinline__ void store_mapped_round(bool aligned, bool all_there, Stored *to, int count, int round,
                                                   const T (&from)[N]) {
  store<Threads, EvictFirst>(all_there, to, count, from, round, aligned);
}

} // namespace heddle
