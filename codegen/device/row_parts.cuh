// row_parts.cuh: wide rows that blocks divide.
//
// A wide row has a fixed number of parts, which follows from its columns alone. Its
// reductions combine the columns of each part, then the parts, as a block combines the
// states of its threads. One block has all parts, or each of several blocks has one and
// exchanges the states of parts with the others through memory. The constants mirror
// runtime/binding/Tables.h.
#pragma once
#include "reduce.cuh"
#include "tables.cuh"

namespace heddle {

// The number of parts of a row; partsOfRow in runtime/binding/Tables.h. A row of at most
// `whole_columns` columns, which follows from the program, has one part. Otherwise, a part
// has at most `part_columns` columns, unless the row has more than held_parts_columns.
constexpr int held_parts_columns = 1 << 20;

__device__ __forceinline__ int parts_of_row(long long columns, int whole_columns) {
  if (columns <= whole_columns)
    return 1;
  const int part_columns = whole_columns / 2 > 4096 ? whole_columns / 2 : 4096;
  const long long parts = (columns + part_columns - 1) / part_columns;
  return parts < held_parts_columns / part_columns ? static_cast<int>(parts) : held_parts_columns / part_columns;
}

// The number of blocks that process a tile: one, or one for each part of its rows.
__device__ __forceinline__ int blocks_of_rows(const table &table, long long columns, int whole_columns) {
  return table.blocks_per_tile == 1 ? 1 : parts_of_row(columns, whole_columns);
}

// Whether each block holds the only part that it has of a row in registers, `items`
// elements a thread.
__device__ __forceinline__ bool holds_parts(const table &table, long long columns, int whole_columns, int items) {
  const int parts = parts_of_row(columns, whole_columns);
  return columns <= static_cast<long long>(parts) * items * 256 && (parts == 1 || table.blocks_per_tile > 1);
}

// The number of blocks that started before this one. A block of a row waits for those of
// the other parts, so tiles are assigned in the order in which blocks start: the parts of
// a row are then on the device as soon as no other block may start.
__device__ __forceinline__ int blocks_started(unsigned *started) {
  __shared__ int before;
  if (threadIdx.x == 0)
    before = static_cast<int>(count_arrival(started, gridDim.x));
  __syncthreads();
  return before;
}

// The parts of a row that this block has: `first`, and every `step`-th after it. A row
// that is `narrow` has one part.
struct row_parts {
  long long columns, length;
  int count, first, step, blocks, turn;
  unsigned exchange; // the number of the current row's exchanges

  __device__ __forceinline__ row_parts(long long columns, int whole_columns, int blocks, int part, bool narrow = false)
      : columns(columns), count(narrow ? 1 : parts_of_row(columns, whole_columns)), first(narrow ? 0 : part), blocks(blocks), turn(0), exchange(1) {
    length = count == 1 ? columns : (quotient(columns + count - 1, count) + 255) / 256 * 256;
    step = blocks > 1 ? count : 1;
  }
  // A division of 64 bits takes about a hundred instructions.
  static __device__ __forceinline__ long long quotient(long long a, int b) {
    return a >> 31 ? a / b : static_cast<unsigned>(a) / static_cast<unsigned>(b);
  }
  // Whether one block has several parts, or several blocks have one each.
  __device__ __forceinline__ bool has_several() const { return step < count; }
  __device__ __forceinline__ bool is_divided() const { return step > 1; }
  __device__ __forceinline__ long long begin(int part) const { return part * length; }
  __device__ __forceinline__ long long end(int part) const {
    const long long end = (part + 1) * length;
    return end < columns ? end : columns;
  }
  // Begins the exchanges of a tile. Each counts on from the number that the previous
  // launch left. States are sent to two places in turn, because a block may still read
  // those of the previous row.
  template <class State> __device__ __forceinline__ void begin_exchanges(const numbered *sent, int tile_index) {
    if (is_divided())
      exchange = read_now(sent + place<State>(tile_index, first)).number + 1;
  }
  __device__ __forceinline__ void next_row() {
    turn ^= 1;
    ++exchange;
  }
  // The first word that the block of a part sends.
  template <class State> __device__ __forceinline__ long long place(int tile_index, int part) const {
    return ((tile_index * 2ll + turn) * blocks + part) * (sizeof(State) / 4);
  }
};

// Sends the state of this block's part to the other blocks of the row, and combines the
// states of all parts; every thread has the result. A block that needs no result does not
// receive, so it need not wait.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state
over_parts(typename Kind::state mine, numbered *sent, const row_parts &parts, int tile_index, bool receives = true) {
  using state = typename Kind::state;
  static_assert(sizeof(state) % 4 == 0, "words are sent");
  constexpr int words = sizeof(state) / 4;
  union { state value; unsigned word[words]; } own = {mine}, other = {Kind::neutral()};
  const int part = threadIdx.x;
  if (part == 0)
#pragma unroll
    for (int w = 0; w < words; ++w)
      write_now(sent + parts.place<state>(tile_index, parts.first) + w, numbered{own.word[w], parts.exchange});
  if (receives && part < parts.count)
#pragma unroll
    for (int w = 0; w < words; ++w) {
      numbered received;
      do
        received = read_now(sent + parts.place<state>(tile_index, part) + w);
      while (received.number != parts.exchange);
      other.word[w] = received.word;
    }
  return over_block<Kind, Threads>(other.value);
}

} // namespace heddle
