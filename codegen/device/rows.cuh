// rows.cuh: rows that threads hold in registers.
//
// A group of threads loads all elements of a row before it uses any. The number of its
// threads follows from the columns alone, because it fixes the order of reductions. The
// constants mirror codegen/layout/RowsForm.h and runtime/binding/Tables.h.
#pragma once
#include "access.cuh"
#include "reduce.cuh"

namespace heddle {

// The elements of a row that a thread holds, and the columns of rows that a block
// copies through shared memory.
constexpr int held_items = 8, staged_columns = 64;
// The elements of a whole tile of rows, if the number of columns is rounded up to a power
// of two: of rows that are copied, and of others.
constexpr int staged_elements = 2048, held_elements = 4096;
// The elements of a matrix for which a stage has memory, with those between rows.
constexpr int staged_positions = staged_elements * 5 / 4;

// The rows of a tile; rowsOfTile in runtime/binding/Tables.h.
__device__ __forceinline__ int rows_of_tile(int tile, int held_columns, long long columns) {
  if (columns > held_columns)
    return tile;
  int rows = columns > staged_columns ? held_elements : staged_elements;
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

// The short rows of a tile in shared memory. The block copies them as consecutive
// elements, so that its accesses to memory coalesce for any number of columns.
template <int Threads, int Bytes> struct row_stage {
  int columns, count; // elements
  int pitch;          // elements from one row to the next in shared memory
  int reciprocal;
  bool is_used;

  __device__ __forceinline__ row_stage(long long columns, int rows)
      : columns(static_cast<int>(columns)), is_used(columns > 0 && columns <= staged_columns) {
    if (!is_used)
      return;
    count = rows * this->columns;
    reciprocal = (one + this->columns - 1) / this->columns;
    // An odd multiple of the threads of a row, so that rows do not begin in the same banks.
    // Pairs of columns would not fit.
    const int lanes = lanes_of_row<Threads>(this->columns);
    const int least = (this->columns + lanes - 1) / lanes;
    pitch = this->columns == 2 ? 2 : (least | 1) * lanes;
    is_used = count <= staged_elements && rows * pitch <= staged_positions;
  }

  // Makes `matrix` the copy at byte `at` of the shared memory, and `stride` its stride.
  template <class T> __device__ __forceinline__ void place(T *&matrix, long long &stride, int at) const {
    matrix = reinterpret_cast<T *>(memory() + at);
    stride = pitch;
  }

  // The same, and copies the elements into it.
  template <class T> __device__ __forceinline__ void load(T *&matrix, long long &stride, int at) const {
    using element = typename unqualified<T>::type;
    using vector = pack<element, per_vector<element>>;
    element *const to = reinterpret_cast<element *>(memory() + at);
    if (is_vector(matrix, stride)) {
      constexpr int vectors = (staged_elements / per_vector<element> + Threads - 1) / Threads;
      vector taken[vectors];
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        if (const int first = first_of<element>(v); first + per_vector<element> <= count)
          taken[v] = *reinterpret_cast<const vector *>(matrix + first);
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        if (const int first = first_of<element>(v); first + per_vector<element> <= count)
#pragma unroll
          for (int k = 0; k < per_vector<element>; ++k)
            to[position(first + k)] = taken[v].element[k];
      const int rest = count / per_vector<element> * per_vector<element> + threadIdx.x;
      if (rest < count)
        to[position(rest)] = matrix[rest];
    } else {
      element taken[staged_elements / Threads];
#pragma unroll
      for (int k = 0; k < staged_elements / Threads; ++k)
        if (const int nth = threadIdx.x + k * Threads; nth < count)
          taken[k] = matrix[nth + row_of(nth) * (stride - columns)];
#pragma unroll
      for (int k = 0; k < staged_elements / Threads; ++k)
        if (const int nth = threadIdx.x + k * Threads; nth < count)
          to[position(nth)] = taken[k];
    }
    place(matrix, stride, at);
  }

  // Copies the elements of `from`, in shared memory, to `to`.
  template <class T> __device__ __forceinline__ void store(const T *from, T *to, long long stride) const {
    using vector = pack<T, per_vector<T>>;
    if (is_vector(to, stride)) {
      for (int first = first_of<T>(0); first + per_vector<T> <= count; first += Threads * per_vector<T>) {
        vector given;
#pragma unroll
        for (int k = 0; k < per_vector<T>; ++k)
          given.element[k] = from[position(first + k)];
        *reinterpret_cast<vector *>(to + first) = given;
      }
      const int rest = count / per_vector<T> * per_vector<T> + threadIdx.x;
      if (rest < count)
        to[rest] = from[position(rest)];
    } else {
      for (int nth = threadIdx.x; nth < count; nth += Threads)
        to[nth + row_of(nth) * (stride - columns)] = from[position(nth)];
    }
  }

private:
  static constexpr int one = 1 << 18;
  template <class T> struct unqualified { using type = T; };
  template <class T> struct unqualified<const T> { using type = T; };
  template <class T> static constexpr int per_vector = 16 / sizeof(T);

  static __device__ __forceinline__ char *memory() {
    alignas(16) __shared__ char bytes[Bytes];
    return bytes;
  }
  // The first element of vector v of this thread.
  template <class T> static __device__ __forceinline__ int first_of(int v) {
    return static_cast<int>(threadIdx.x + v * Threads) * per_vector<T>;
  }
  // The quotient is exact, because an element is below 2^18 / columns.
  __device__ __forceinline__ int row_of(int nth) const { return nth * reciprocal / one; }
  __device__ __forceinline__ int position(int nth) const { return nth + row_of(nth) * (pitch - columns); }
  template <class T> __device__ __forceinline__ bool is_vector(const T *matrix, long long stride) const {
    return stride == columns && are_aligned(matrix);
  }
};

} // namespace heddle
