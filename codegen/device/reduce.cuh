// reduce.cuh: reductions in a fixed order.
//
// Each kind of dialect/ReduceKinds.td has a struct: the type of its state, the neutral
// element, the state of one element (lift), the combination of two states, and the
// value of a state. States are combined in the order of docs/lowering.md, which depends
// on positions only.
#pragma once
#include "math.cuh"
#include "ptx.cuh"
#include "reduce_constants.h"

namespace heddle {

template <class T> struct plain {
  using state = T;
  static __device__ __forceinline__ state lift(T x, long long = 0) { return x; }
  static __device__ __forceinline__ T value(state s) { return s; }
};

// Columns start from their first value: the sum of negative zeros is +0 there too.
template <class T> struct add : plain<T> {
  static __device__ __forceinline__ T neutral() { return 0; }
  static __device__ __forceinline__ T combine(T a, T b) { return a + b; }
  static __device__ __forceinline__ T value(T s) { return s + T(0); }
};
template <class T> struct mul : plain<T> {
  static __device__ __forceinline__ T neutral() { return 1; }
  static __device__ __forceinline__ T combine(T a, T b) { return a * b; }
};
template <class T> struct min : plain<T> {
  static __device__ __forceinline__ T neutral() { return infinity<T>(); }
  static __device__ __forceinline__ T combine(T a, T b) { return minimum(a, b); }
};
template <class T> struct max : plain<T> {
  static __device__ __forceinline__ T neutral() { return -infinity<T>(); }
  static __device__ __forceinline__ T combine(T a, T b) { return maximum(a, b); }
};
template <> struct min<int> : plain<int> {
  static __device__ __forceinline__ int neutral() { return 0x7fffffff; }
  static __device__ __forceinline__ int combine(int a, int b) { return a < b ? a : b; }
};
template <> struct max<int> : plain<int> {
  static __device__ __forceinline__ int neutral() { return -0x7fffffff - 1; }
  static __device__ __forceinline__ int combine(int a, int b) { return a > b ? a : b; }
};
template <> struct min<long long> : plain<long long> {
  static __device__ __forceinline__ long long neutral() { return 0x7fffffffffffffffll; }
  static __device__ __forceinline__ long long combine(long long a, long long b) { return a < b ? a : b; }
};
template <> struct max<long long> : plain<long long> {
  static __device__ __forceinline__ long long neutral() { return -0x7fffffffffffffffll - 1; }
  static __device__ __forceinline__ long long combine(long long a, long long b) { return a > b ? a : b; }
};

// The state of a flag is a word, because shuffles move words.
template <class T> struct any {
  using state = int;
  static __device__ __forceinline__ int lift(bool x, long long = 0) { return x; }
  static __device__ __forceinline__ int neutral() { return 0; }
  static __device__ __forceinline__ int combine(int a, int b) { return a | b; }
  static __device__ __forceinline__ bool value(int s) { return s != 0; }
};
template <class T> struct all {
  using state = int;
  static __device__ __forceinline__ int lift(bool x, long long = 0) { return x; }
  static __device__ __forceinline__ int neutral() { return 1; }
  static __device__ __forceinline__ int combine(int a, int b) { return a & b; }
  static __device__ __forceinline__ bool value(int s) { return s != 0; }
};

// log(sum(exp(x))) about the running maximum.
template <class T> struct log_sum { T most, sum; };
template <class T> struct logsumexp {
  using state = log_sum<T>;
  static __device__ __forceinline__ state neutral() { return {-infinity<T>(), 0}; }
  static __device__ __forceinline__ state lift(T x, long long = 0) { return {x, x == -infinity<T>() ? T(0) : T(1)}; }
  static __device__ __forceinline__ state combine(state a, state b) {
    const T most = maximum(a.most, b.most);
    const T from_a = a.most == most ? a.sum : a.sum * exp(a.most - most);
    const T from_b = b.most == most ? b.sum : b.sum * exp(b.most - most);
    return {most, from_a + from_b};
  }
  static __device__ __forceinline__ T value(state s) { return s.most + log(s.sum); }
};

// The maximum and its first position; NaN is larger than every number.
template <class T> struct at_most { T value; long long position; };
template <> struct at_most<float> { float value; int unused; long long position; };
template <class T> struct argmax {
  using state = at_most<T>;
  static __device__ __forceinline__ state make(T x, long long position) {
    state s = {};
    s.value = x;
    s.position = position;
    return s;
  }
  static __device__ __forceinline__ state neutral() { return make(-infinity<T>(), -1); }
  static __device__ __forceinline__ state lift(T x, long long position) { return make(x, position); }
  static __device__ __forceinline__ state combine(state a, state b) {
    if (a.position < 0)
      return b;
    if (b.position < 0)
      return a;
    const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
    if (nan_a != nan_b)
      return nan_a ? a : b;
    if (!nan_a && a.value != b.value)
      return a.value > b.value ? a : b;
    return a.position < b.position ? a : b;
  }
};

// The minimum and its first position; NaN is smaller than every number.
template <class T> struct argmin : argmax<T> {
  using state = at_most<T>;
  static __device__ __forceinline__ state neutral() { return argmax<T>::make(infinity<T>(), -1); }
  static __device__ __forceinline__ state combine(state a, state b) {
    a.value = -a.value;
    b.value = -b.value;
    state s = argmax<T>::combine(a, b);
    s.value = -s.value;
    return s;
  }
};

// Combines one state of each thread of the warp; every thread has the result.
template <class Kind> __device__ __forceinline__ typename Kind::state over_warp(typename Kind::state mine) {
#pragma unroll
  for (int mask = 16; mask; mask >>= 1)
    mine = Kind::combine(mine, shuffle_xor(mine, mask));
  return mine;
}

// Combines one state of each thread of the block; every thread has the result.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_block(typename Kind::state mine) {
  __shared__ typename Kind::state of_warp[Threads / 32];
  mine = over_warp<Kind>(mine);
  __syncthreads(); // other threads may still read the previous states
  if (threadIdx.x % 32 == 0)
    of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  typename Kind::state all = of_warp[0];
#pragma unroll
  for (int warp = 1; warp < Threads / 32; ++warp)
    all = Kind::combine(all, of_warp[warp]);
  return all;
}

// The same for several rows, of which each thread has a state.
template <class Kind, int Threads, int Rows> __device__ __forceinline__ void over_block(typename Kind::state (&mine)[Rows]) {
  __shared__ typename Kind::state of_warp[Rows][Threads / 32];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    mine[r] = over_warp<Kind>(mine[r]);
  __syncthreads(); // other threads may still read the previous states
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      of_warp[r][threadIdx.x / 32] = mine[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    mine[r] = of_warp[r][0];
#pragma unroll
    for (int warp = 1; warp < Threads / 32; ++warp)
      mine[r] = Kind::combine(mine[r], of_warp[r][warp]);
  }
}

// Combines `count` states in memory; every thread has the result.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_states(const typename Kind::state *states, int count) {
  // A single state is combined with neutral elements only.
  if (count == 1)
    return Kind::combine(Kind::combine(Kind::neutral(), states[0]), Kind::neutral());
  typename Kind::state mine = Kind::neutral();
#pragma unroll 8
  for (int k = threadIdx.x; k < count; k += Threads)
    mine = Kind::combine(mine, states[k]);
  return over_block<Kind, Threads>(mine);
}

// Combines `count` states of the tiles of a list, as list_threads threads do; every
// thread has the result.
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_list(const typename Kind::state *states, int count) {
  constexpr int turns = list_threads / Threads; // the threads for which this one stands
  __shared__ typename Kind::state of_warp[32];
  typename Kind::state mine[turns];
#pragma unroll
  for (int turn = 0; turn < turns; ++turn)
    mine[turn] = Kind::neutral();
#pragma unroll 8 / turns
  for (int first = 0; first < count; first += list_threads)
#pragma unroll
    for (int turn = 0; turn < turns; ++turn)
      if (const int k = first + turn * Threads + threadIdx.x; k < count)
        mine[turn] = Kind::combine(mine[turn], states[k]);
  __syncthreads(); // other threads may still read the previous states
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const typename Kind::state all = over_warp<Kind>(mine[turn]);
    if (threadIdx.x % 32 == 0)
      of_warp[(turn * Threads + threadIdx.x) / 32] = all;
  }
  __syncthreads();
  return over_warp<Kind>(of_warp[threadIdx.x % 32]);
}

// The tiles of a segment; segments follow each other.
struct tile_range { int first, count; };
template <int Threads, class Member>
__device__ __forceinline__ tile_range
tiles_of_segment(const Member *members, int member_count, int tile_count, int segment) {
  __shared__ int bounds[2];
  __syncthreads(); // other threads may still read the previous bounds
  if (threadIdx.x < 2)
    bounds[threadIdx.x] = tile_count;
  __syncthreads();
  for (int k = threadIdx.x; k < member_count; k += Threads) {
    const int before = k > 0 ? members[k - 1].segment : -1, own = members[k].segment;
    if (before < segment && own >= segment)
      bounds[0] = members[k].first_tile;
    if (before <= segment && own > segment)
      bounds[1] = members[k].first_tile;
  }
  __syncthreads();
  return {bounds[0], bounds[1] - bounds[0]};
}
template <class Kind, int Threads>
__device__ __forceinline__ typename Kind::state over_list(const typename Kind::state *states, tile_range tiles) {
  return over_list<Kind, Threads>(states + tiles.first, tiles.count);
}

// Combines the states of the members of one segment.
template <class Kind, int Threads, class Member>
__device__ __forceinline__ typename Kind::state
over_members(const typename Kind::state *states, const Member *members, int count, int segment) {
  typename Kind::state mine = Kind::neutral();
  for (int k = threadIdx.x; k < count; k += Threads)
    if (members[k].segment == segment)
      mine = Kind::combine(mine, states[k]);
  return over_block<Kind, Threads>(mine);
}

// The tiles of a member are combined in groups, then groups in groups, and so on. `step` is
// the distance between the tiles that a group combines. `first` is the first tile of the
// group that contains tile `own`, and `count` the number of its tiles. No two groups with
// two or more tiles, of any step, have the same tile `first + step`. `step`, less than
// `tiles`, and `most` are powers of two.
struct group_of_tiles {
  int first, count;
  __device__ __forceinline__ group_of_tiles(int own, long long step, int tiles, int most) : first(static_cast<int>(own & -(step * most))) {
    const unsigned left = (tiles - first + static_cast<unsigned>(step) - 1) / static_cast<unsigned>(step); // 32 bits are faster
    count = left < static_cast<unsigned>(most) ? static_cast<int>(left) : most;
  }
};

// A thread combines the states of at most so many tiles at a time.
constexpr int tiles_combined = 8;

// Combines the first `count` of `all` states pairwise into the first one, so that the
// rounding error grows with the logarithm of their number.
template <class Kind> __device__ __forceinline__ void pairwise(typename Kind::state (&all)[tiles_combined], int count) {
#pragma unroll
  for (int step = 1; step < tiles_combined; step *= 2)
#pragma unroll
    for (int k = 0; k + step < tiles_combined; k += 2 * step)
      if (k + step < count)
        all[k] = Kind::combine(all[k], all[k + step]);
}

// The same for states in memory, `stride` apart. All loads are issued at once.
template <class Kind>
__device__ __forceinline__ typename Kind::state pairwise(const typename Kind::state *states, long long stride, int count) {
  typename Kind::state all[tiles_combined];
#pragma unroll
  for (int k = 0; k < tiles_combined; ++k)
    all[k] = states[(k < count ? k : 0) * stride];
  keep_order(); // all loads before the first combination
  pairwise<Kind>(all, count);
  return all[0];
}

// Whether this block is the last of `expected` to arrive at `ticket`. If so, all
// its threads see the writes that the other blocks made before they arrived.
__device__ __forceinline__ bool arrives_last(unsigned *ticket, int expected) {
  __shared__ bool last;
  __syncthreads();
  if (expected == 1)
    return true;
  if (threadIdx.x == 0) {
    fence();
    last = take_ticket(ticket, expected);
    if (last)
      fence();
  }
  __syncthreads();
  return last;
}

// Counts this block before its work is done. The block's reads of the member's own
// scalars must be complete; `seen`, which is computed from them, ensures this. True in
// the first thread of the last of `expected` blocks, which overwrites those scalars after
// its stores. The count has relaxed order: no block reads data because of it, and a
// release here costs 2 to 5 % of a step.
__device__ __forceinline__ bool arrive_early(unsigned *ticket, int expected, bool seen) {
  __syncthreads_or(seen);
  const unsigned before = threadIdx.x == 0 && expected > 1 ? count_arrival(ticket, expected) : 0;
  return threadIdx.x == 0 && before == static_cast<unsigned>(expected - 1);
}

} // namespace heddle
