// access.cuh: vector loads and stores of a tile's elements.
//
// A whole tile whose operands are all aligned is moved 16 bytes at a time: one
// decision for the tile, since a decision for each operand cost 7 % of a large
// step. Any other tile is moved element by element.
#pragma once
#include "ptx.cuh"

namespace heddle {

// Between the type an element is stored in and the one it is computed in.
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

// Elements of type T that 16 bytes hold, at most N of them.
template <class T, int N> constexpr int per_access = N * sizeof(T) < 16 ? N : 16 / sizeof(T);

// Whether all of the operands are aligned to 16 bytes.
template <class... Stored> __device__ __forceinline__ bool are_aligned(const Stored *...operands) {
  return ((reinterpret_cast<unsigned long long>(operands) | ...) & 15) == 0;
}

// Where element k of this thread lies in the tile. Of a whole tile a thread takes
// N elements in a row; of any other, neighbours take neighbours. `InOrder` keeps
// the first arrangement for both: a reduction must not depend on alignment.
template <bool InOrder, int Threads, int N> __device__ __forceinline__ int place(bool whole, int k, int round = 0) {
  return round * Threads * N + (InOrder || whole ? threadIdx.x * N + k : threadIdx.x + k * Threads);
}

// Reads this thread's elements of the tile at `from`; those beyond `count` are
// zero. `Passing` marks what this launch will not read again, so that the rest
// stays in the cache.
template <bool InOrder, bool Passing, int Threads, class Stored, class T, int N>
__device__ __forceinline__ void load(bool whole, const Stored *from, int count, T (&to)[N], int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<Stored, width>;
  if (whole) {
    const vector *at = reinterpret_cast<const vector *>(from + place<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      const vector taken = Passing ? read_passing(at + v) : at[v];
#pragma unroll
      for (int k = 0; k < width; ++k)
        to[v * width + k] = convert<T>(taken.element[k]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int at = place<InOrder, Threads, N>(false, k, round);
      to[k] = at < count ? convert<T>(from[at]) : T(0);
    }
  }
}

// Reads all rounds of a whole tile before any of them is looked at.
template <int Threads, class Stored, class T, int Rounds, int N>
__device__ __forceinline__ void load_rounds(const Stored *from, T (&to)[Rounds][N]) {
#pragma unroll
  for (int round = 0; round < Rounds; ++round)
    load<true, false, Threads>(true, from, Rounds * N * Threads, to[round], round);
}

// Writes this thread's elements of the tile at `to`.
template <bool InOrder, bool Passing, int Threads, class Stored, class T, int N>
__device__ __forceinline__ void store(bool whole, Stored *to, int count, const T (&from)[N], int round = 0) {
  constexpr int width = per_access<Stored, N>;
  using vector = pack<Stored, width>;
  if (whole) {
    vector *at = reinterpret_cast<vector *>(to + place<true, Threads, N>(true, 0, round));
#pragma unroll
    for (int v = 0; v < N / width; ++v) {
      vector given;
#pragma unroll
      for (int k = 0; k < width; ++k)
        given.element[k] = convert<Stored>(from[v * width + k]);
      if (Passing)
        write_passing(at + v, given);
      else
        at[v] = given;
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (const int at = place<InOrder, Threads, N>(false, k, round); at < count)
        to[at] = convert<Stored>(from[k]);
  }
}

} // namespace heddle
