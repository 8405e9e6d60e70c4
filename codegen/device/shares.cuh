// shares.cuh: what a block takes of rows that several blocks share.
//
// Neighbouring blocks take neighbouring columns. A row may begin anywhere, so
// that a part of it begins where a line of memory does: a warp that reads or
// writes across lines needs two of each, and caches must keep what it leaves.
#pragma once
#include "ptx.cuh"
#include "tables.cuh"

namespace heddle {

// Which tile a block takes, counted in the order of launch, and which share of
// it: found without a second division, which a block would wait for.
__device__ __forceinline__ int tile_of_block(const heddle_table &table) { return blockIdx.x / static_cast<unsigned>(table.shares); }
__device__ __forceinline__ int share_of_block(const heddle_table &table, int nth_tile) { return static_cast<int>(blockIdx.x) - nth_tile * table.shares; }

// How many elements of its line lie before the row.
template <class T> __device__ __forceinline__ int before_row(const T *row) {
  constexpr unsigned line = 128;
  return static_cast<unsigned>(reinterpret_cast<unsigned long long>(row)) % line / sizeof(T);
}

// The columns of a row that a thread takes at a time, `Threads` apart from
// `first`: those of `Items * Threads` that begin `before` columns ahead of
// `begin`. A row with no columns gives none. (What it says is computed anew for
// every one: as many conditions as elements are too many to be kept.)
template <int Threads, int Items> struct part_of_row {
  long long first;
  int at;
  unsigned count;

  __device__ __forceinline__ part_of_row(long long begin, int before, long long columns) {
    const int thread = thread_anew();
    const int skipped = begin == 0 ? before : 0;
    const long long left = columns - begin + before;
    const int taken = left <= 0 ? 0 : left < Threads * Items ? static_cast<int>(left) : Threads * Items;
    first = begin - before + thread;
    at = thread - skipped;
    count = taken > skipped ? taken - skipped : 0;
  }
  __device__ __forceinline__ bool has(int k) const { return static_cast<unsigned>(at + k * Threads) < count; }
};

} // namespace heddle
