// columns.cuh: columns of a thread, in elements of 16 bits.
//
// A sum of a column does not depend on the thread that has the column, nor does a mapped
// element. So a thread may have adjacent columns, and access two, four or eight of them as
// one vector, which costs as many instructions as one element. If a matrix is not aligned,
// consecutive threads have consecutive columns, so that their accesses coalesce.
#pragma once
#include "rows.cuh"
#include "shares.cuh"

namespace heddle {

// All threads of the block, with adjacent columns: each has `Items` of the first `left`
// columns, or none. It has those members of a row_group that walks use.
template <int Threads, int Items> struct adjacent_columns {
  static constexpr int first = 0, lanes = Threads, count = 1;
  int end, present;

  __device__ __forceinline__ explicit adjacent_columns(long long left)
      : end(left < Threads * Items ? static_cast<int>(left) : Threads * Items), present(column(0) < end ? Items : 0) {}
  static __device__ __forceinline__ int column(int k, int lane = threadIdx.x) { return lane * Items + k; }
  static __device__ __forceinline__ bool has(int, int present) { return present > 0; }
  static __device__ __forceinline__ bool ends_before(int, int) { return false; }
};

template <int Threads, int Items, bool Adjacent> __device__ __forceinline__ auto columns_of_block(long long left) {
  if constexpr (Adjacent)
    return adjacent_columns<Threads, Items>(left);
  else
    return group_of_block<Threads, Items>(left);
}

// The elements that a thread has of a row, as they are stored. A group of threads reads
// them; a slice of a row that blocks share is read once, or written.
template <class T, int Items, bool Adjacent> struct columns_of_row {
  T mine[Items];

  __device__ __forceinline__ T operator[](int k) const { return mine[k]; }
  template <class Real> __device__ __forceinline__ void set(int k, Real x) { mine[k] = convert<T>(x); }
  template <class Group> __device__ __forceinline__ void load(const T *row, const Group &group, int present) {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      mine[k] = group.has(k, present) ? row[group.column(k)] : T();
  }
  template <class Slice> __device__ __forceinline__ void load_once(const T *row, const Slice &slice, bool whole) {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      mine[k] = whole || slice.has(k) ? read_evict_first(&row[slice.first + k * slice.step]) : T();
  }
  template <class Slice> __device__ __forceinline__ void store_once(T *row, const Slice &slice, bool whole) const {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      if (whole || slice.has(k))
        write_evict_first(&row[slice.first + k * slice.step], mine[k]);
  }
};

template <class T, int Items> struct columns_of_row<T, Items, true> : packed<T, Items> {
  using vector = pack<unsigned, Items / 2>;

  template <class Group> __device__ __forceinline__ void load(const T *row, const Group &group, int present) {
    take(present > 0 ? *reinterpret_cast<const vector *>(row + group.column(0)) : vector());
  }
  template <class Slice> __device__ __forceinline__ void load_once(const T *row, const Slice &slice, bool whole) {
    take(whole || slice.has(0) ? read_evict_first(reinterpret_cast<const vector *>(row + slice.first)) : vector());
  }
  template <class Slice> __device__ __forceinline__ void store_once(T *row, const Slice &slice, bool whole) const {
    vector given;
#pragma unroll
    for (int k = 0; k < Items / 2; ++k)
      given.element[k] = this->word[k];
    if (whole || slice.has(0))
      write_evict_first(reinterpret_cast<vector *>(row + slice.first), given);
  }

private:
  __device__ __forceinline__ void take(const vector &taken) {
#pragma unroll
    for (int k = 0; k < Items / 2; ++k)
      this->word[k] = taken.element[k];
  }
};

} // namespace heddle
