// rows.cuh: rows that threads hold in registers.
//
// A group of threads loads all elements of a row before it uses any. The number of its
// threads follows from the columns alone, because it fixes the order of reductions.
#pragma once
#include "reduce.cuh"

namespace heddle {

// The rows of a tile; rowsOfTile in runtime/binding/Tables.h.
__device__ __forceinline__ int rows_of_tile(int tile, int held_columns, long long columns) {
  if (columns > held_columns)
    return tile;
  int rows = 4096;
  for (int wide = 1; wide < columns && rows > tile; wide *= 2)
    rows /= 2;
  return rows > tile ? rows : tile;
}

// The columns up to which a group takes several rows at a time, and up to which it is
// part of a warp. Mirrors codegen/layout/RowsForm.h.
constexpr int short_columns = 64, warp_columns = 256;

// The group of this thread. A block has `count` groups of `lanes` threads; this thread
// is number `lane` of group `index`.
template <int Threads> struct row_group {
  int columns, lanes, lane, index, count;

  __device__ __forceinline__ explicit row_group(int columns) : columns(columns) {
    int shift = 0;
    while (shift < 5 && 2 << shift < columns)
      ++shift;
    lanes = columns > warp_columns ? Threads : 1 << shift;
    lane = columns > warp_columns ? threadIdx.x : threadIdx.x & (lanes - 1);
    index = columns > warp_columns ? 0 : threadIdx.x >> shift;
    count = columns > warp_columns ? 1 : Threads >> shift;
  }
};

// Combines one state of each thread of a group; all of them have the result. Groups
// that take several rows at a time are part of a warp.
template <class Kind, int Threads, int Rows>
__device__ __forceinline__ typename Kind::state over_row(typename Kind::state mine, int lanes) {
  if (Rows == 1 && lanes > 32)
    return over_block<Kind, Threads>(mine);
  for (int mask = lanes / 2; mask; mask /= 2)
    mine = Kind::combine(mine, shuffle_xor(mine, mask));
  return mine;
}

// Combines the states of the threads that have the same place in their groups, which
// are parts of warps; every thread has the result of its place.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_groups(typename Kind::state mine, int lanes) {
  __shared__ typename Kind::state of_warp[Threads / 32][32];
  for (int mask = 16; mask >= lanes; mask /= 2)
    mine = Kind::combine(mine, shuffle_xor(mine, mask));
  __syncthreads(); // other threads may still read the previous states
  of_warp[threadIdx.x / 32][threadIdx.x % 32] = mine;
  __syncthreads();
  typename Kind::state all = of_warp[0][threadIdx.x % 32];
#pragma unroll
  for (int warp = 1; warp < Threads / 32; ++warp)
    all = Kind::combine(all, of_warp[warp][threadIdx.x % 32]);
  return all;
}

} // namespace heddle
