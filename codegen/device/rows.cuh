// rows.cuh: rows that threads hold in registers.
//
// A group of threads loads all elements of a row before it uses any. The number of its
// threads follows from the columns alone, because it fixes the order of reductions. The
// constants mirror codegen/layout/RowsForm.h and runtime/binding/Tables.h.
#pragma once
#include "access.cuh"
#include "reduce.cuh"

namespace heddle {

// The elements of a row that a thread holds.
constexpr int held_items = 8;
// The elements of a whole tile of rows, if the number of columns is rounded up to a power
// of two.
constexpr int held_elements = 4096;

// The rows of a tile; rowsOfTile in runtime/binding/Tables.h.
__device__ __forceinline__ int rows_of_tile(int tile, int held_columns, long long columns) {
  if (columns > held_columns)
    return tile;
  int rows = held_elements;
  for (int wide = 1; wide < columns && rows > tile; wide *= 2)
    rows /= 2;
  return rows > tile ? rows : tile;
}

// The threads that hold a row: the least power of two that is enough.
template <int Threads> __device__ __forceinline__ int lanes_of_row(int columns) {
  int lanes = 1;
#pragma unroll
  for (int wider = 2; wider <= Threads; wider *= 2)
    if (columns > wider / 2 * held_items)
      lanes = wider;
  return lanes;
}

// The group of this thread. A block has `count` groups of `lanes` threads; this thread
// is number `lane` of group `index`.
template <int Threads> struct row_group {
  int columns, lanes, lane, index, count;

  __device__ __forceinline__ explicit row_group(int columns) : columns(columns), lanes(lanes_of_row<Threads>(columns)) {
    lane = threadIdx.x & (lanes - 1);
    index = static_cast<int>(threadIdx.x) / lanes;
    count = Threads / lanes;
  }
};

// Combines one state of each thread of a group of `lanes` threads; all of them have the
// result. All threads of the block call it. Loops are not unrolled, because a logsumexp
// would take seconds to compile.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_row(typename Kind::state mine, int lanes) {
  __shared__ typename Kind::state of_warp[Threads / 32];
#pragma unroll 1
  for (int mask = lanes < 32 ? lanes / 2 : 16; mask; mask /= 2)
    mine = Kind::combine(mine, shuffle_xor(mine, mask));
  if (lanes <= 32)
    return mine;
  __syncthreads(); // other threads may still read the previous states
  if (threadIdx.x % 32 == 0)
    of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  const int first = static_cast<int>(threadIdx.x & ~(lanes - 1)) / 32;
  typename Kind::state all = of_warp[first];
#pragma unroll 1
  for (int warp = 1; warp < lanes / 32; ++warp)
    all = Kind::combine(all, of_warp[first + warp]);
  return all;
}

// Combines the column states of all groups and stores them at `to`: in each warp, then
// over the warps.
template <class Kind, int Threads>
__device__ __forceinline__ void
store_columns(const typename Kind::state (&mine)[held_items], const row_group<Threads> &group, typename Kind::state *to) {
  if (group.count == 1) {
#pragma unroll
    for (int k = 0; k < held_items; ++k)
      if (const int column = group.lane + k * group.lanes; column < group.columns)
        to[column] = mine[k];
    return;
  }
  constexpr int warps = Threads / 32;
  __shared__ typename Kind::state of_warp[warps][2][32];
  const int step = (group.lanes + 31) / 32; // the warps of a group, at least one
#pragma unroll
  for (int k = 0; k < held_items; k += 2) {
    if (k * group.lanes >= group.columns)
      break;
    typename Kind::state first = mine[k], second = mine[k + 1];
#pragma unroll 1
    for (int mask = 16; mask >= group.lanes; mask /= 2) {
      first = Kind::combine(first, shuffle_xor(first, mask));
      second = Kind::combine(second, shuffle_xor(second, mask));
    }
    __syncthreads(); // other threads may still read the previous states
    of_warp[threadIdx.x / 32][0][threadIdx.x % 32] = first;
    of_warp[threadIdx.x / 32][1][threadIdx.x % 32] = second;
    __syncthreads();
    const int thread = threadIdx.x, column = k * group.lanes + thread;
    if (thread < 2 * group.lanes && column < group.columns) {
      const int item = thread >= group.lanes, lane = thread - item * group.lanes;
      typename Kind::state all = of_warp[lane / 32][item][lane % 32];
#pragma unroll 1
      for (int warp = lane / 32 + step; warp < warps; warp += step)
        all = Kind::combine(all, of_warp[warp][item][lane % 32]);
      to[column] = all;
    }
  }
}

} // namespace heddle
