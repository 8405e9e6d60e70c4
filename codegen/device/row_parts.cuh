// row_parts.cuh: wide rows that blocks divide.
//
// A wide row has a fixed number of parts, which follows from its columns alone. Its
// reductions combine the columns of each part, then the parts in order. One block has all
// parts, or each of several blocks has one and exchanges the states of parts with the
// others through memory. The constants mirror runtime/binding/Tables.h.
#pragma once
#include "grid.cuh"
#include "reduce.cuh"
#include "tables.cuh"

namespace heddle {

// The most parts of a row, and the most columns of a part, unless the row has the most
// parts; partsOfRow in runtime/binding/Tables.h.
constexpr int most_row_parts = 64;
constexpr int part_columns = 4096;

__device__ __forceinline__ int parts_of_row(long long columns) {
  const long long parts = (columns + part_columns - 1) / part_columns;
  return parts < 1 ? 1 : parts < most_row_parts ? static_cast<int>(parts) : most_row_parts;
}

// The number of blocks that process a tile: one, or one for each part of its rows.
__device__ __forceinline__ int blocks_of_rows(const table &table, long long columns) {
  return table.blocks_per_tile == 1 ? 1 : parts_of_row(columns);
}

// The number of blocks that started before this one. A block of a row waits for those of
// the other parts, so tiles are assigned in the order in which blocks start: the parts of
// a row are then on the device as soon as no other block may start.
__device__ __forceinline__ int blocks_started(const table &table, unsigned *started) {
  if (table.blocks_per_tile == 1)
    return blockIdx.x;
  __shared__ int before;
  if (threadIdx.x == 0)
    before = static_cast<int>(count_arrival(started, gridDim.x));
  __syncthreads();
  return before;
}

// The parts of a row that this block has: `first`, and every `step`-th after it.
struct row_parts {
  long long columns, length;
  int count, first, step, blocks, turn;

  __device__ __forceinline__ row_parts(long long columns, int blocks, int part)
      : columns(columns), count(parts_of_row(columns)), first(part), blocks(blocks), turn(0) {
    length = count == 1 ? columns : ((columns + count - 1) / count + 255) / 256 * 256;
    step = blocks > 1 ? count : 1;
  }
  __device__ __forceinline__ long long begin(int part) const { return part * length; }
  __device__ __forceinline__ long long end(int part) const {
    const long long end = (part + 1) * length;
    return end < columns ? end : columns;
  }
  // The place of the states of parts in the scratch area of a reduction. Consecutive
  // exchanges use places in turn, because a block may still read the previous states.
  __device__ __forceinline__ long long place(int tile_index) const { return (tile_index * 2ll + turn) * blocks; }
};

// Combines the states of `count` parts in order; every thread has the result.
template <class Kind> __device__ __forceinline__ typename Kind::state over_parts(const typename Kind::state *states, int count) {
  __shared__ typename Kind::state of_part[most_row_parts];
  __syncthreads(); // other threads may still read the previous states
  if (static_cast<int>(threadIdx.x) < count)
    of_part[threadIdx.x] = states[threadIdx.x];
  __syncthreads();
  typename Kind::state all = of_part[0];
#pragma unroll 1
  for (int part = 1; part < count; ++part)
    all = Kind::combine(all, of_part[part]);
  return all;
}

} // namespace heddle
