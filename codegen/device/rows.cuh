// rows.cuh: rows that threads hold in registers.
//
// A group of threads loads all elements of a row before it uses any. The number of its
// threads follows from the columns alone, because it fixes the order of reductions. The
// constants mirror codegen/layout/RowsForm.h.
#pragma once
#include "access.cuh"
#include "branchless.cuh"
#include "reduce.cuh"
#include "row_parts.cuh"
#include "row_vectors.cuh"
#include "tables.cuh"

namespace heddle {

// The elements of a row that a thread holds, and those of a narrow row, which one thread
// has.
constexpr int held_items = 8;
constexpr int narrow_items = 4;

// The threads that hold a row are the least power of two that is enough; this is its
// binary logarithm.
template <int Threads> __device__ __forceinline__ int lane_bits_of_row(int columns) {
  int bits = 0;
#pragma unroll
  for (int wider = 2; wider <= Threads; wider *= 2)
    bits += columns > wider / 2 * held_items;
  return bits;
}

// The group of this thread. A block has `count` groups of `lanes` threads; this thread
// is number `lane` of group `index`. The group has the columns from `first` to `end` - 1
// of a row, and this thread `present` of them: lane l has l, l + lanes, ..., or, if it has
// `Adjacent` columns (row_vectors.cuh), 4 l to 4 l + 3, then those 4 * lanes further on; one
// thread may have both columns of a row of two.
// `Items`, the elements that a thread holds, are at most narrow_items for narrow rows,
// held_items for other rows, and more for wide rows and for parts of rows. Every thread
// has at least `Sure` columns: half in a whole row that is not narrow, because fewer threads
// would be enough otherwise; nearly half in a part of a row whose blocks are a cluster; most
// in a long part; perhaps none in the last part of another row. A row has at most `Lanes`
// threads if that is not 0.
template <int Threads, int Items = held_items, int Sure = Items / 2, int Lanes = 0, bool Adjacent = false> struct row_group {
  static constexpr int most_lanes = Lanes ? Lanes : Threads, adjacent = !Adjacent ? 1 : Items < adjacent_in_row ? Items : adjacent_in_row,
                       vector = adjacent;
  int first, end, lanes, lane, index, count, present, turn = 0;

  __device__ __forceinline__ explicit row_group(int columns)
      : row_group(0, columns, Items <= narrow_items ? 0 : Items == held_items ? lane_bits_of_row<most_lanes>(columns) : lane_bits_of_row<most_lanes>(most_lanes * held_items)) {}
  // All threads of the block have a part of a row that has several.
  template <bool Clusters> __device__ __forceinline__ explicit row_group(const row_parts<Clusters> &parts)
      : row_group(static_cast<int>(parts.begin(parts.first)), static_cast<int>(parts.end(parts.first)),
                  Items <= narrow_items ? 0 : lane_bits_of_row<most_lanes>(Items <= held_items ? static_cast<int>(parts.columns) : most_lanes * held_items)) {}
  __device__ __forceinline__ row_group(int first, int end, int lane_bits) : first(first), end(end), lanes(1 << lane_bits) {
    if (Items == held_items)
      lanes = reread(lanes); // a multiplication is faster than a shift
    lane = threadIdx.x & (lanes - 1);
    index = threadIdx.x >> lane_bits;
    count = Threads >> lane_bits;
    const int left = static_cast<int>(static_cast<unsigned>(end - first) / adjacent) - lane;
    present = left > 0 ? ((left + lanes - 1) >> lane_bits) * adjacent : 0;
  }
  // The k-th column of a lane, and of this thread.
  __device__ __forceinline__ int column(int k, int of_lane) const {
    return first + of_lane * adjacent + k / adjacent * adjacent * lanes + k % adjacent;
  }
  __device__ __forceinline__ int column(int k) const { return column(k, lane); }
  // The same, or the first column of the group if this thread has no k-th one.
  __device__ __forceinline__ int nearest(int k) const { return k < present ? column(k) : first; }
  // Whether this thread has a k-th column. It takes `present` as a parameter, because the
  // compiler would keep the results of all comparisons from one phase to the next.
  static __device__ __forceinline__ bool has(int k, int present) { return k < Sure || k / adjacent * adjacent < present; }
  // Whether this thread has no adjacent columns from the k-th one on, or whether no thread
  // has a k-th column or a later one. Only a few k are asked, so that the elements between
  // are computed without branches. Groups of a few threads are faster
  // with fewer branches.
  __device__ __forceinline__ bool ends_before(int k, int present) const {
    if (Adjacent && most_lanes >= 32)
      return k >= Sure && k % adjacent == 0 && k >= present;
    constexpr int from = Items <= narrow_items ? Items : Sure ? Items / 4 * 3 : 4, every = Adjacent || !Sure ? 4 : 2;
    return k >= from && k % every == 0 && column(k, 0) >= end;
  }
};

// All threads of the block as one group, which has the first of `left` columns.
template <int Threads, int Items, bool Adjacent = false> struct group_of_block : row_group<Threads, Items, 0, 0, Adjacent> {
  __device__ __forceinline__ explicit group_of_block(long long left)
      : row_group<Threads, Items, 0, 0, Adjacent>(0, left < Threads * Items ? static_cast<int>(left) : Threads * Items,
                                                  lane_bits_of_row<Threads>(Threads * held_items)) {}
};

// The columns of a thread of a block that goes along the columns from `first` to `end` - 1
// of a row, `Items` at a time: those of a row_group of the block.
template <int Threads, int Items, bool Adjacent> struct walked_columns {
  static constexpr int adjacent = Adjacent ? adjacent_in_row : 1, vector = adjacent < Items ? adjacent : Items;
  long long first, end;

  __device__ __forceinline__ walked_columns(long long first, long long end) : first(first + threadIdx.x * adjacent), end(end) {}
  __device__ __forceinline__ long long column(long long n) const {
    return first + (n & ~(adjacent - 1ll)) * Threads + (n & (adjacent - 1));
  }
  __device__ __forceinline__ bool has(long long n, int = 0) const { return column(n) < end; }
};

// The words that the threads of a block hold in shared memory, of any type: a block has
// elements of one segment.
template <int Words> __device__ __forceinline__ unsigned *words_in_shared() {
  __shared__ unsigned long long pairs[(Words + 1) / 2];
  return reinterpret_cast<unsigned *>(pairs);
}

// The elements that a thread holds of a row: in registers, except those of a long part,
// of which it holds the first `Registers`, and the others in shared memory.
template <class T, int Items, int Threads, int LongItems, int Registers> struct held_elements {
  static constexpr int in_registers = Items == LongItems ? Registers : Items;
  T mine[in_registers];

  __device__ __forceinline__ T &operator[](int k) {
    if constexpr (Items > in_registers) {
      static_assert(sizeof(T) <= sizeof(unsigned), "an element has one word");
      if (k >= in_registers)
        return reinterpret_cast<T *>(words_in_shared<(Items - in_registers) * Threads>())[(k - in_registers) * Threads + threadIdx.x];
    }
    return mine[k];
  }
};

// The states of a thread. If a warp has a row of more than 32 * held_items columns, it takes
// the place of two or four warps of the other entries, and each thread has a state for each
// of them.
template <class Kind, int Items, int Lanes, bool Adjacent> struct chains {
  static constexpr int count = Lanes && Items > held_items ? Items / held_items : 1;
  typename Kind::state states[count];

  __device__ __forceinline__ chains() {
#pragma unroll
    for (int k = 0; k < count; ++k)
      states[k] = Kind::neutral();
  }
  __device__ __forceinline__ typename Kind::state &operator[](int k) { return states[k / (Adjacent ? adjacent_in_row : 1) % count]; }
};

// Combines one state of each thread of a group; all of them have the result. All threads
// of the block call it. Loops over states of several words are not unrolled, because a
// logsumexp would take seconds to compile.
template <class Kind, int Threads, class Group>
__device__ __forceinline__ typename Kind::state over_row(typename Kind::state mine, Group &group) {
  using state = typename Kind::state;
  constexpr int unrolled = __is_class(typename Kind::state) ? 1 : 32;
  const int lanes = group.lanes;
  if (lanes < 32) {
#pragma unroll unrolled
    for (int mask = 8; mask; mask /= 2)
      if (const state other = shuffle_xor(mine, mask); mask < lanes)
        mine = Kind::combine(mine, other);
    return mine;
  }
#pragma unroll unrolled
  for (int mask = 16; mask; mask /= 2)
    mine = Kind::combine(mine, shuffle_xor(mine, mask));
  if (lanes == 32)
    return mine;
  // Two places in turn: other threads may still read the previous states. Between two uses
  // of a place, all threads meet at the barrier of the other one.
  __shared__ state of_warp[2][Threads / 32];
  state *const states = of_warp[group.turn];
  group.turn ^= 1;
  if (threadIdx.x % 32 == 0)
    states[threadIdx.x / 32] = mine;
  __syncthreads();
  const state *const own = states + static_cast<int>(threadIdx.x & ~(lanes - 1)) / 32;
  state all = Kind::combine(own[0], own[1]);
#pragma unroll
  for (int warps = 4; warps <= Threads / 32; warps *= 2)
    if (lanes >= 32 * warps)
#pragma unroll unrolled
      for (int warp = warps / 2; warp < warps; ++warp)
        all = Kind::combine(all, own[warp]);
  return all;
}

template <class Kind, int Threads, int Items, int Lanes, bool Adjacent, class Group>
__device__ __forceinline__ typename Kind::state over_row(const chains<Kind, Items, Lanes, Adjacent> &mine, Group &group) {
  typename Kind::state all[chains<Kind, Items, Lanes, Adjacent>::count];
  if (mine.count == 1)
    return over_row<Kind, Threads>(mine.states[0], group);
#pragma unroll
  for (int k = 0; k < mine.count; ++k)
    all[k] = mine.states[k];
#pragma unroll
  for (int mask = 16; mask; mask /= 2)
#pragma unroll
    for (int k = 0; k < mine.count; ++k)
      all[k] = Kind::combine(all[k], shuffle_xor(all[k], mask));
#pragma unroll
  for (int k = 1; k < mine.count; ++k)
    all[0] = Kind::combine(all[0], all[k]);
  return all[0];
}

// Two states of every thread. A kernel has several forms of held rows, which share them.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state (&shared_states())[Threads / 32][2][32] {
  __shared__ typename Kind::state of_warp[Threads / 32][2][32];
  return of_warp;
}

// Combines the column states of all groups and stores them at `to`: in each warp, then
// over the warps.
template <class Kind, int Threads, int Items, class Group>
__device__ __forceinline__ void store_columns(const typename Kind::state (&mine)[Items], const Group &group, typename Kind::state *to) {
  if (group.count == 1) {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      if (const int column = group.column(k); column < group.end)
        to[column] = mine[k];
    return;
  }
  constexpr int warps = Threads / 32;
  auto &of_warp = shared_states<Kind, Threads>();
  const int step = (group.lanes + 31) / 32; // the warps of a group, at least one
#pragma unroll
  for (int k = 0; k < Items; k += 2) {
    if (group.column(k, 0) >= group.end)
      break;
    typename Kind::state first = mine[k], second = mine[k + 1 < Items ? k + 1 : k];
#pragma unroll 1
    for (int mask = 16; mask >= group.lanes; mask /= 2) {
      first = Kind::combine(first, shuffle_xor(first, mask));
      second = Kind::combine(second, shuffle_xor(second, mask));
    }
    __syncthreads(); // other threads may still read the previous states
    of_warp[threadIdx.x / 32][0][threadIdx.x % 32] = first;
    of_warp[threadIdx.x / 32][1][threadIdx.x % 32] = second;
    __syncthreads();
    const int thread = threadIdx.x, item = thread >= group.lanes, lane = thread - item * group.lanes, column = group.column(k + item, lane);
    if (thread < 2 * group.lanes && column < group.end) {
      typename Kind::state all = of_warp[lane / 32][item][lane % 32];
#pragma unroll 1
      for (int warp = lane / 32 + step; warp < warps; warp += step)
        all = Kind::combine(all, of_warp[warp][item][lane % 32]);
      to[column] = all;
    }
  }
}

// The states of columns of a tall tile. Its units have the rows of short tiles, and are
// combined pairwise, as tiles are, so that the bits are the same. A thread keeps the states
// that wait for others in shared memory: `Words` words in all, which the segments of a sweep
// share, and `Before` of them for other reductions of the segment.
template <class Kind, int Items, int Units, int Threads, int Before, int Words> struct units_of_tile {
  using state = typename Kind::state;
  static_assert((Units & (Units - 1)) == 0, "pairs of pairs");
  int done = 0;

  static __device__ __forceinline__ state &waiting(int level, int k) {
    unsigned *const own = words_in_shared<Words * Threads>() + Before * Threads;
    return reinterpret_cast<state *>(own)[(level * Items + k) * Threads + threadIdx.x];
  }
  // Adds the states of the next unit, and leaves neutral ones, or the states of a whole tile.
  __device__ __forceinline__ void add(state (&mine)[Items]) {
    bool waits = false;
#pragma unroll
    for (int size = 1, level = 0; size < Units; size *= 2, ++level) {
      if (waits)
        continue;
      waits = !(done & size);
#pragma unroll
      for (int k = 0; k < Items; ++k)
        if (waits) {
          waiting(level, k) = mine[k];
          mine[k] = Kind::neutral();
        } else {
          mine[k] = Kind::combine(waiting(level, k), mine[k]);
        }
    }
    ++done;
  }
  // The states of all units; `mine` if none was added.
  __device__ __forceinline__ void combine(state (&mine)[Items]) const {
    if (done == Units)
      return;
    bool any = false;
#pragma unroll
    for (int size = 1, level = 0; size < Units; size *= 2, ++level)
      if (done & size) {
#pragma unroll
        for (int k = 0; k < Items; ++k)
          mine[k] = any ? Kind::combine(waiting(level, k), mine[k]) : waiting(level, k);
        any = true;
      }
  }
};

// The threads that combine each column of a member's tiles: several if it has few columns.
// Then a group has more tiles, so that there are fewer groups, one after the other. All
// groups have a power of two of tiles, so their number does not change the order.
template <int Threads> struct threads_by_column {
  int wide = 1, of_column = 1, tiles;

  __device__ __forceinline__ explicit threads_by_column(long long columns) {
    while (wide < columns && wide < Threads)
      wide *= 2;
    of_column = Threads / wide;
    tiles = tiles_combined * of_column;
  }
};

// All columns of a tile, which one block has.
struct all_columns {
  __device__ __forceinline__ long long column(long long nth) const { return nth; }
};

// Combines the states of columns of `count` tiles, `step` apart, into those of the first
// tile: each thread two columns at a time, if their states leave registers to other code,
// so that the loads of one do not wait for the other. With four columns, the code is
// longer; a block runs it once, and waits for its instructions.
template <class Kind, int Threads, class Columns = all_columns>
__device__ __forceinline__ void combine_tiles(typename Kind::state *states, long long columns, long long step, int count, const Columns &own = {}) {
  using state = typename Kind::state;
  constexpr int at_once = sizeof(state) <= 4 ? 2 : 1;
  const long long stride = step * columns;
  for (long long nth = threadIdx.x, column; (column = own.column(nth)) < columns; nth += at_once * Threads) {
    state all[at_once][tiles_combined];
    long long at[at_once];
#pragma unroll
    for (int n = 0; n < at_once; ++n)
      at[n] = n ? own.column(nth + n * Threads) : column;
    const state *from = states;
#pragma unroll
    for (int k = 0; k < tiles_combined; ++k) {
#pragma unroll
      for (int n = 0; n < at_once; ++n)
        all[n][k] = from[at[n] < columns ? at[n] : column];
      from += k + 1 < count ? stride : 0;
    }
    keep_order(); // all loads before the first combination
#pragma unroll
    for (int n = 0; n < at_once; ++n) {
      pairwise<Kind>(all[n], count);
      if (at[n] < columns)
        states[at[n]] = all[n][0];
    }
  }
}

// Combines the states of all columns of `count` tiles, `step` apart, into those of the
// first tile: each thread eight tiles, then the threads of a column.
template <class Kind, int Threads>
__device__ __forceinline__ void combine_columns(typename Kind::state *states, long long columns, long long step, int count,
                                                const threads_by_column<Threads> &threads) {
  constexpr int unrolled = __is_class(typename Kind::state) ? 1 : 32;
  const int thread = threadIdx.x, nth = thread / threads.wide, column = thread % threads.wide;
  const long long first = nth * tiles_combined;
  typename Kind::state mine = Kind::neutral();
  if (column < columns && first < count) {
    const long long left = count - first;
    mine = pairwise<Kind>(states + first * step * columns + column, step * columns, left < tiles_combined ? static_cast<int>(left) : tiles_combined);
  }
  // The threads of a column that are in one warp.
  int together = 1;
#pragma unroll unrolled
  for (int mask = threads.wide; mask < 32; mask *= 2, together *= 2) {
    const typename Kind::state other = shuffle_xor(mine, mask);
    if (!(nth & together) && (nth + together) * tiles_combined < count)
      mine = Kind::combine(mine, other);
  }
  typename Kind::state *const of_threads = &shared_states<Kind, Threads>()[0][0][0];
  __syncthreads(); // other threads may still read the previous states
  if (nth % together == 0)
    of_threads[nth / together * threads.wide + column] = mine;
  __syncthreads();
  if (thread < columns)
    states[thread] = pairwise<Kind>(of_threads + thread, threads.wide, (count + together * tiles_combined - 1) / (together * tiles_combined));
}

} // namespace heddle
