// shares.cuh: row tiles that several blocks divide.
//
// Consecutive blocks process consecutive columns. The columns of a block begin at a
// memory line rather than at the first element of a row: a warp whose accesses cross
// lines needs twice as many lines.
#pragma once
#include "ptx.cuh"
#include "row_vectors.cuh"
#include "tables.cuh"

namespace heddle {

// The tile of this block, in the order of launch, and the index of the block in tile
// `nth_tile`, computed without a second division.
__device__ __forceinline__ int tile_of_block(const table &table) {
  return blockIdx.x / static_cast<unsigned>(table.blocks_per_tile);
}
__device__ __forceinline__ int block_of_tile(const table &table, int nth_tile) {
  return static_cast<int>(blockIdx.x) - nth_tile * table.blocks_per_tile;
}

// The columns that block `block` of a tile has, of `table.blocks_per_tile` blocks that take
// ranges of `Range` columns in turn. One block has all columns of held rows.
template <int Range> struct column_ranges {
  long long skipped, first;

  __device__ __forceinline__ column_ranges(const table &table, int block, bool held)
      : skipped(held ? 0 : static_cast<long long>(Range) * (table.blocks_per_tile - 1)), first(static_cast<long long>(Range) * block) {}
  __device__ __forceinline__ long long column(long long nth) const { return first + nth + nth / Range * skipped; }
};

// The number of elements between the beginning of a memory line and the row.
template <class T> __device__ __forceinline__ int before_row(const T *row) {
  constexpr unsigned line = 128;
  return static_cast<unsigned>(reinterpret_cast<unsigned long long>(row)) % line / sizeof(T);
}

// The columns of a row that a thread processes at a time: of the `ItemsPerThread *
// Threads` columns from `begin - before` on, every `step`-th from `first` on; none in a
// row without columns. Adjacent columns need a row for which each thread has all of its
// columns or none. The conditions are recomputed for each use, because one per element
// would take too many registers.
template <int Threads, int ItemsPerThread, bool Adjacent = false> struct column_slice {
  static constexpr int step = Adjacent ? 1 : Threads;
  long long first;
  int at;
  unsigned count;

  __device__ __forceinline__ column_slice(long long begin, int before, long long columns) {
    const int thread = reread_thread_index() * (Adjacent ? ItemsPerThread : 1);
    const int skipped = begin == 0 ? before : 0;
    const long long left = columns - begin + before;
    const int taken = left <= 0 ? 0 : left < Threads * ItemsPerThread ? static_cast<int>(left) : Threads * ItemsPerThread;
    first = begin - before + thread;
    at = thread - skipped;
    count = taken > skipped ? taken - skipped : 0;
  }
  __device__ __forceinline__ bool has(int k) const { return static_cast<unsigned>(at + (Adjacent ? 0 : k * Threads)) < count; }
};

// The elements of a tile of at most `Rows` rows as vectors of `Items` elements, row after
// row. Each thread has one in every turn, and consecutive threads have consecutive ones, so
// no thread is idle where a row ends. 32 bits count the elements, because rows have at most
// mostVectorColumns() columns (codegen/layout/RowsForm.h).
template <int Threads, int Rows, int Items> struct tile_vectors {
  unsigned of_row, count;

  struct place {
    int row, column;
    bool is_there;
  };

  __device__ __forceinline__ tile_vectors(long long columns, int rows)
      : of_row(static_cast<unsigned>(columns) / Items), count(rows * of_row) {}
  // Whether any thread has a vector in the turn.
  __device__ __forceinline__ bool has(unsigned turn) const { return turn * Threads < count; }
  __device__ __forceinline__ place at(unsigned turn) const {
    const unsigned nth = turn * Threads + threadIdx.x;
    int row = 0;
#pragma unroll
    for (int next = 1; next < Rows; ++next)
      row += nth >= next * of_row;
    return {row, static_cast<int>(nth - row * of_row) * Items, nth < count};
  }
};

} // namespace heddle
