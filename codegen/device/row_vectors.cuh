// row_vectors.cuh: adjacent columns of a row, accessed as one vector.
//
// A reduction of a row fixes the columns that a thread has. If the row has a multiple of
// four columns, and not too many for the segment (mostAdjacentColumns() of
// codegen/layout/RowsForm.h), these are four adjacent ones, then the four of the next turn,
// so that a thread can access them as vectors. Otherwise, consecutive threads have
// consecutive columns, so that their accesses coalesce. One thread has a narrow row, and
// accesses four columns, or two of doubles, as a vector.
#pragma once
#include "access.cuh"

namespace heddle {

// The adjacent columns that a thread of such a row has. Mirrors codegen/layout/RowsForm.h.
constexpr int adjacent_in_row = 4;

__device__ __forceinline__ bool has_adjacent(long long columns) { return (columns & (adjacent_in_row - 1)) == 0; }

template <class T> constexpr bool is_half = false;
template <> constexpr bool is_half<f16> = true;
template <> constexpr bool is_half<bf16> = true;

// Whether N elements from `row` on can be accessed as vectors.
template <int N, class T> __device__ __forceinline__ bool is_aligned(const T *row) {
  return N == 1 || (reinterpret_cast<unsigned long long>(row) & (per_access<T, N> * sizeof(T) - 1)) == 0;
}

// Whether all columns of a matrix can be accessed as vectors of `N` elements.
template <int N, class T>
__device__ __forceinline__ bool has_vectors(long long columns, const T *matrix, long long stride) {
  static_assert((N & (N - 1)) == 0, "a power of two");
  return ((columns | stride) & (N - 1)) == 0 && is_aligned<N>(matrix);
}

// `N` adjacent elements, as they are stored.
template <class T, int N, bool InWords = is_half<T> && (N > 1)> struct adjacent_elements {
  static constexpr int width = per_access<T, N>;
  pack<T, width> part[N / width];

  __device__ __forceinline__ void load(const T *from) {
#pragma unroll
    for (int v = 0; v < N / width; ++v)
      part[v] = reinterpret_cast<const pack<T, width> *>(from)[v];
  }
  __device__ __forceinline__ void store(T *to) const {
#pragma unroll
    for (int v = 0; v < N / width; ++v)
      reinterpret_cast<pack<T, width> *>(to)[v] = part[v];
  }
  // For elements that the launch accesses once.
  __device__ __forceinline__ void load_once(const T *from) {
#pragma unroll
    for (int v = 0; v < N / width; ++v)
      part[v] = read_evict_first(reinterpret_cast<const pack<T, width> *>(from) + v);
  }
  __device__ __forceinline__ void store_once(T *to) const {
#pragma unroll
    for (int v = 0; v < N / width; ++v)
      write_evict_first(reinterpret_cast<pack<T, width> *>(to) + v, part[v]);
  }
  template <class Real> __device__ __forceinline__ Real get(int k) const { return convert<Real>(part[k / width].element[k % width]); }
  template <class Real> __device__ __forceinline__ void set(int k, Real x) { put(k, convert<T>(x)); }
  __device__ __forceinline__ void put(int k, T x) { part[k / width].element[k % width] = x; }
};

// Floats of 16 bits are in words, because a compiler would access structures of 16 bits one
// by one.
template <class T, int N> struct adjacent_elements<T, N, true> : packed<T, N> {
  using vector = pack<unsigned, N / 2>;

  __device__ __forceinline__ void load(const T *from) { take(*reinterpret_cast<const vector *>(from)); }
  __device__ __forceinline__ void store(T *to) const { *reinterpret_cast<vector *>(to) = words(); }
  __device__ __forceinline__ void load_once(const T *from) { take(read_evict_first(reinterpret_cast<const vector *>(from))); }
  __device__ __forceinline__ void store_once(T *to) const { write_evict_first(reinterpret_cast<vector *>(to), words()); }
  template <class Real> __device__ __forceinline__ Real get(int k) const {
    if constexpr (is_half<Real>)
      return Real{static_cast<unsigned short>(this->word[k / 2] >> (k % 2 * 16))};
    else
      return (*this)[k];
  }
  // In ascending order.
  __device__ __forceinline__ void put(int k, T x) { this->word[k / 2] = k % 2 ? this->word[k / 2] | x.bits << 16 : x.bits; }

private:
  __device__ __forceinline__ void take(const vector &taken) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k)
      this->word[k] = taken.element[k];
  }
  __device__ __forceinline__ vector words() const {
    vector given;
#pragma unroll
    for (int k = 0; k < N / 2; ++k)
      given.element[k] = this->word[k];
    return given;
  }
};

// Loads `Items` of the columns of a row that a thread has, from the one of number `from`
// on; those that the row does not have are zero. `Columns` is a row_group or
// walked_columns.
template <class Real, int Items, class Elements, class T, class Columns, class Number = int>
__device__ __forceinline__ void load_columns(Elements &to, const T *row, const Columns &columns, int present, Number from = 0) {
  constexpr int N = Columns::vector;
  if (N > 1 && is_aligned<N>(row)) {
#pragma unroll
    for (int k = 0; k < Items; k += N) {
      adjacent_elements<T, N> taken = {};
      if (columns.has(from + k, present))
        taken.load(row + columns.column(from + k));
#pragma unroll
      for (int i = 0; i < N; ++i)
        to[k + i] = taken.template get<Real>(i);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < Items; ++k)
    to[k] = columns.has(from + k, present) ? convert<Real>(row[columns.column(from + k)]) : Real();
}

// The columns of a row that a thread has, as they are stored. A conversion directly after
// the loads would wait for them before the loads of the next row begin.
template <class T, int Items, class Columns> struct loaded_columns {
  static constexpr int N = Columns::vector < Items ? Columns::vector : Items;
  adjacent_elements<T, N> part[Items / N];

  __device__ __forceinline__ void load(const T *row, const Columns &columns, int present) {
    if (is_aligned<N>(row)) {
#pragma unroll
      for (int k = 0; k < Items; k += N) {
        part[k / N] = {};
        if (columns.has(k, present))
          part[k / N].load(row + columns.column(k));
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < Items; k += N) {
      part[k / N] = {};
#pragma unroll
      for (int i = 0; i < N; ++i)
        part[k / N].put(i, columns.has(k, present) ? row[columns.column(k + i)] : T());
    }
  }
  __device__ __forceinline__ auto operator[](int k) const {
    if constexpr (is_half<T>)
      return part[k / N].template get<float>(k % N);
    else
      return part[k / N].template get<T>(k % N);
  }
  template <class Elements> __device__ __forceinline__ void convert_to(Elements &to) const {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      to[k] = (*this)[k];
  }
};

// Stores elements of a row one after the other: adjacent ones when all of them are known.
template <class T, class Columns> struct row_writer {
  static constexpr int N = Columns::vector;
  T *row;
  bool aligned;
  adjacent_elements<T, N> given;

  __device__ __forceinline__ explicit row_writer(T *row) : row(row), aligned(is_aligned<N>(row)) {}
  // Stores the element of the thread's k-th column, if it is there.
  template <class Column, class Real> __device__ __forceinline__ void write(int k, Column column, Real x, bool is_there) {
    if constexpr (N == 1) {
      if (is_there)
        row[column] = convert<T>(x);
      return;
    }
    given.set(k % N, x);
    if (k % N < N - 1 || !is_there)
      return;
    T *const first = row + (column - (N - 1));
    if (aligned) {
      given.store(first);
      return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
      first[i] = given.template get<T>(i);
  }
};

} // namespace heddle
