// row_parts.cuh: wide rows that blocks divide.
//
// A wide row has a fixed number of parts, which follows from its columns alone. Its
// reductions combine the columns of each part, then the parts, as a block combines the
// states of its threads. One block has all parts, or each of several blocks has one or more
// and exchanges the states of parts with the others: through memory, or through shared memory
// if the blocks of a row are a cluster. The constants mirror runtime/binding/Tables.h.
#pragma once
#include "reduce.cuh"
#include "tables.cuh"

namespace heddle {

// The number of parts of a row; partsOfRow in runtime/binding/Tables.h. A row of at most
// `whole_columns` columns, which follows from the program, has one part. Otherwise, a part
// has at most `part_columns` columns, unless the row has more than held_parts_columns.
constexpr int held_parts_columns = 1 << 20;
// The columns of a part are a multiple of this number, except in the last one.
constexpr int part_multiple = 64;

// The most parts of a row whose blocks are a cluster.
constexpr int most_cluster_parts = 16;

// With `long_parts`, rows of more parts than a cluster has have longer parts.
__device__ __forceinline__ int parts_of_row(long long columns, int whole_columns, bool long_parts = false) {
  if (columns <= whole_columns)
    return 1;
  const int short_columns = whole_columns / 2 > 4096 ? whole_columns / 2 : 4096;
  const int part_columns = long_parts && columns > most_cluster_parts * short_columns ? short_columns / 2 * 5 : short_columns;
  const long long parts = (columns + part_columns - 1) / part_columns;
  const int most_parts = (held_parts_columns - 1) / part_columns + 1;
  return parts < most_parts ? static_cast<int>(parts) : most_parts;
}

// The parts of a row that a block has, if `blocks` blocks divide its `parts` parts.
__device__ __forceinline__ int parts_of_block(int parts, int blocks) {
  if (blocks == 1 || blocks >= parts)
    return blocks == 1 ? parts : 1;
  return static_cast<unsigned>(parts + blocks - 1) / static_cast<unsigned>(blocks);
}

// The number of blocks that process a tile: one, or as many as have parts of its rows.
__device__ __forceinline__ int blocks_of_rows(const table &table, long long columns, int whole_columns, bool long_parts = false) {
  if (table.blocks_per_tile == 1)
    return 1;
  const int parts = parts_of_row(columns, whole_columns, long_parts), own = parts_of_block(parts, table.blocks_per_tile);
  return own == 1 ? parts : static_cast<unsigned>(parts + own - 1) / static_cast<unsigned>(own);
}

// Whether each block holds the only part that it has of a row in registers, `items`
// elements a thread.
__device__ __forceinline__ bool holds_parts(const table &table, long long columns, int whole_columns, int items, bool long_parts = false) {
  const int parts = parts_of_row(columns, whole_columns, long_parts);
  return columns <= static_cast<long long>(parts) * items * 256 && (parts == 1 || table.blocks_per_tile > 1);
}

#if HEDDLE_HAS_CLUSTERS
// Two barriers in turn, which count the bytes of the states that this block receives.
__device__ __forceinline__ arrival *received_bytes() {
  __shared__ arrival bytes[2];
  return bytes;
}
#endif

// The number of blocks that started before this one. A block of a row waits for those of
// the other parts, so tiles are assigned in the order in which blocks start: the parts of
// a row are then on the device as soon as no other block may start. The blocks of a
// cluster start together.
template <bool Clusters = false> __device__ __forceinline__ int blocks_started(unsigned *started) {
#if HEDDLE_HAS_CLUSTERS
  if constexpr (Clusters) {
    if (threadIdx.x == 0) {
      arrival_init(&received_bytes()[0], 1);
      arrival_init(&received_bytes()[1], 1);
      arrival_init_fence();
    }
    cluster_arrive();
    return blockIdx.x;
  }
#endif
  __shared__ int before;
  if (threadIdx.x == 0)
    before = static_cast<int>(count_arrival(started, gridDim.x));
  __syncthreads();
  return before;
}

// The parts of a row that this block has: `first`, and every `step`-th after it. A row
// that is `narrow` has one part.
template <bool Clusters = false> struct row_parts {
  long long columns, length;
  int count, first, step, blocks, turn;
  unsigned exchange; // the number of the current row's exchanges; in a cluster, that of the next exchange

  __device__ __forceinline__ row_parts(long long columns, int whole_columns, int blocks, int part, bool narrow = false, bool long_parts = false)
      : columns(columns), count(narrow ? 1 : parts_of_row(columns, whole_columns, long_parts)), first(narrow ? 0 : part), blocks(blocks), turn(0), exchange(Clusters ? 0 : 1) {
    length = count == 1 ? columns : (quotient(columns + count - 1, count) + part_multiple - 1) / part_multiple * part_multiple;
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
  __device__ __forceinline__ void next_row() {
    turn ^= 1;
    if (!Clusters)
      ++exchange;
  }
  // The first word that the block of a part sends.
  template <class State> __device__ __forceinline__ long long place(int tile_index, int part) const {
    return ((tile_index * 2ll + turn) * blocks + part) * (sizeof(State) / 4);
  }
};

// The parts of a row, of which a block may have several, also if blocks divide them: from
// `first` to `last` - 1.
struct several_parts : row_parts<> {
  int last;
  bool has_several() const = delete; // only of row_parts

  __device__ __forceinline__ several_parts(long long columns, int whole_columns, const table &table, int part)
      : row_parts(columns, whole_columns, table.blocks_per_tile, part) {
    const int own = parts_of_block(count, table.blocks_per_tile);
    first = part * own;
    last = count - first < own ? count : first + own;
    blocks = table.parts_per_tile; // a state is sent for each part
  }
  __device__ __forceinline__ int own() const { return last - first; }
};

// The number of parts for which a block sends states, and the nth of them.
template <bool Clusters> __device__ __forceinline__ int sent_parts(const row_parts<Clusters> &) { return 1; }
template <bool Clusters> __device__ __forceinline__ int nth_part(const row_parts<Clusters> &parts, int) { return parts.first; }
__device__ __forceinline__ int sent_parts(const several_parts &parts) { return parts.own(); }
__device__ __forceinline__ int nth_part(const several_parts &parts, int nth) { return parts.first + nth; }
template <class Parts> constexpr bool is_in_cluster = false;
template <> constexpr bool is_in_cluster<row_parts<true>> = true;

// Begins the exchanges of a tile. Each counts on from the number that the previous launch
// left. States are sent to two places in turn, because a block may still read those of the
// previous row.
template <class State, bool Clusters>
__device__ __forceinline__ void begin_exchanges(row_parts<Clusters> &parts, const numbered *sent, int tile_index) {
  if (!Clusters && parts.is_divided())
    parts.exchange = read_now(sent + parts.template place<State>(tile_index, parts.first)).number + 1;
}

#if HEDDLE_HAS_CLUSTERS
// As over_parts() below, in a cluster: each block writes its state to the shared memory
// of those that receive, into two places in turn, because a block may still read the
// previous states.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_cluster(typename Kind::state mine, row_parts<true> &parts, bool all_receive) {
  using state = typename Kind::state;
  __shared__ state received[2][most_cluster_parts];
  if (parts.exchange == 0)
    cluster_wait(); // all blocks have their barriers
  const unsigned place = parts.exchange & 1, phase = parts.exchange >> 1 & 1;
  ++parts.exchange;
  const int part = threadIdx.x;
  arrival *const bytes = received_bytes() + place;
  const bool receives = all_receive || cluster_rank() == 0;
  if (part == 0 && receives)
    arrival_expect(bytes, parts.count * sent_bytes<state>);
  if (part < (all_receive ? parts.count : 1))
    send(&received[place][cluster_rank()], mine, bytes, part);
  state other = Kind::neutral();
  if (receives)
    arrival_wait(bytes, phase);
  if (receives && part < parts.count)
    other = received[place][part];
  return over_block<Kind, Threads>(other);
}
#endif

// Sends the states of this block's parts to the other blocks of the row, and combines the
// states of all parts; every thread has the result. The nth thread has the state of the nth
// part of the block. If not all blocks receive, only that of the first part has the result,
// and the others need not wait.
template <class Kind, int Threads, class Parts>
__device__ __forceinline__ typename Kind::state
over_parts(typename Kind::state mine, numbered *sent, Parts &parts, int tile_index, bool all_receive = true) {
#if HEDDLE_HAS_CLUSTERS
  if constexpr (is_in_cluster<Parts>)
    return over_cluster<Kind, Threads>(mine, parts, all_receive);
#endif
  using state = typename Kind::state;
  static_assert(sizeof(state) % 4 == 0, "words are sent");
  constexpr int words = sizeof(state) / 4;
  union { state value; unsigned word[words]; } own = {mine}, other = {Kind::neutral()};
  const int part = threadIdx.x;
  if (part < sent_parts(parts))
#pragma unroll
    for (int w = 0; w < words; ++w)
      write_now(sent + parts.template place<state>(tile_index, nth_part(parts, part)) + w, numbered{own.word[w], parts.exchange});
  if ((all_receive || parts.first == 0) && part < parts.count)
#pragma unroll
    for (int w = 0; w < words; ++w) {
      numbered received;
      do
        received = read_now(sent + parts.template place<state>(tile_index, part) + w);
      while (received.number != parts.exchange);
      other.word[w] = received.word;
    }
  return over_block<Kind, Threads>(other.value);
}

// A word of shared memory for each warp and part. All reductions of a kernel share them: a
// block reduces the rows of one segment, which has one reduction.
template <int Threads, int Parts> __device__ __forceinline__ unsigned (&words_of_parts())[Parts][Threads / 32] {
  __shared__ unsigned words[Parts][Threads / 32];
  return words;
}

// The states of the parts that a block has of a row, if it keeps them until it has reduced
// all of them. Between two parts is no barrier, so its loads do not wait for each other.
template <class Kind, int Threads, int Parts> struct states_of_parts {
  using state = typename Kind::state;
  static_assert(sizeof(state) == sizeof(unsigned), "a state has one word");

  // Keeps the state that each thread has of the nth part.
  __device__ __forceinline__ void put(int nth, state mine) {
    mine = over_warp<Kind>(mine);
    if (threadIdx.x % 32 == 0)
      reinterpret_cast<state &>(words_of_parts<Threads, Parts>()[nth][threadIdx.x / 32]) = mine;
  }
  // The state of the nth of `count` parts in the nth thread. All threads must meet at another
  // barrier before the next put().
  __device__ __forceinline__ state of_thread(int count) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= count)
      return Kind::neutral();
    const state *const own = reinterpret_cast<const state *>(words_of_parts<Threads, Parts>()[threadIdx.x]);
    state all = own[0];
#pragma unroll
    for (int warp = 1; warp < Threads / 32; ++warp)
      all = Kind::combine(all, own[warp]);
    return all;
  }
};

} // namespace heddle
