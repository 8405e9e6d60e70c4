// tables.cuh: the tables through which blocks find their work.
//
// Layouts and the writer of tile rows; docs/plan.md describes them.
#pragma once

// Blocks that are to fit a multiprocessor. Where they leave the compiler too few
// registers, so that it spills, the text is compiled again for fewer.
#ifndef HEDDLE_FEWER_BLOCKS
#define HEDDLE_FEWER_BLOCKS 0
#endif
// How many blocks of 256 threads fit one at all.
#if __CUDA_ARCH__ == 750
#define HEDDLE_MOST_BLOCKS 4
#elif __CUDA_ARCH__ >= 1100 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900)
#define HEDDLE_MOST_BLOCKS 6
#else
#define HEDDLE_MOST_BLOCKS 8
#endif
#define HEDDLE_WANTED_BLOCKS(blocks) ((blocks) < HEDDLE_MOST_BLOCKS ? (blocks) : HEDDLE_MOST_BLOCKS)
#define HEDDLE_BLOCKS(blocks) \
  (HEDDLE_WANTED_BLOCKS(blocks) > HEDDLE_FEWER_BLOCKS ? HEDDLE_WANTED_BLOCKS(blocks) - HEDDLE_FEWER_BLOCKS : 1)

// A kernel's view of the member rows and tile rows of a sweep.
struct heddle_table {
  const void *tiles, *members;
  unsigned *tickets; // one for each member row, one for the whole list
  int tile_count, member_count;
  int shares; // blocks that share a tile of rows
};

namespace heddle {

// A scalar argument: its value, or where the caller keeps it.
template <class T, bool ByValue> struct number {
  T value;
  __device__ __forceinline__ T operator*() const { return value; }
};
template <class T> struct number<T, false> {
  const T *address;
  __device__ __forceinline__ T operator*() const { return __ldg(address); }
};

template <int Pointers, int Rank> struct member_row;
template <int Pointers, int Rank> struct tile_row;

template <int Pointers> struct alignas(16) member_row<Pointers, 1> {
  void *operand[Pointers];
  long long count;
  int first_tile, tiles, segment, index;
};

template <int Pointers> struct alignas(16) tile_row<Pointers, 1> {
  void *operand[Pointers];
  long long first;
  int count, member, segment, tiles;
};

template <int Pointers> struct alignas(16) member_row<Pointers, 2> {
  void *operand[Pointers];
  long long columns, column_base, count;
  int first_tile, tiles, segment, index;
};

template <int Pointers> struct alignas(16) tile_row<Pointers, 2> {
  void *operand[Pointers];
  long long columns, column_base, first;
  int count, member, segment, tiles;
};

// Row `index` of a table, read 16 bytes at a time as pairs of addresses: the
// compiler then keeps them in the registers that a warp shares.
template <class Row> __device__ __forceinline__ Row row_at(const void *rows, int index) {
  constexpr int pairs = sizeof(Row) / 16;
  union {
    ulonglong2 pair[pairs];
    Row row;
  } result;
  const ulonglong2 *const from = static_cast<const ulonglong2 *>(rows) + static_cast<long long>(index) * pairs;
#pragma unroll
  for (int k = 0; k < pairs; ++k)
    result.pair[k] = __ldg(from + k);
  return result.row;
}

} // namespace heddle
